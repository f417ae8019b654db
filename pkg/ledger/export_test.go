// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"math"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/outbox"
)

// DropGuards leaves out the compares of zones ("zone"), of single keys ("facts")
// or both ("all"): the controls of the race tests.
func DropGuards(kind string) func(*Config) { return func(c *Config) { c.dropGuards = kind } }

// SlowCommit is from what duration of a commit on a batch waits for more writes. Always, it does; never, it does not.
func SlowCommit(d time.Duration) func(*Config) { return func(c *Config) { c.slowCommit = d } }

// SerialsEvery is how often last serials are swept, and MaxLeftBy how many of a namespace's are kept.
func SerialsEvery(d time.Duration) func(*Config) { return func(c *Config) { c.serialsEvery = d } }
func UsageEvery(d time.Duration) func(*Config)   { return func(c *Config) { c.usageEvery = d } }
func MaxLeftBy(n int) func(*Config)              { return func(c *Config) { c.maxLeftBy = n } }

// Storage is what a decorated storage of Records is around.
func Storage(s storage.Interface) storage.Interface { return s.(*records).Interface }

// Migrations of a program that knows more than this one.
func Migrations(more ...Migration) func(*Config) {
	return func(c *Config) {
		c.migrations, c.olderEnd, c.lockSeconds = append(slices.Clone(migrations), more...), time.Nanosecond, 1
	}
}

type (
	Migration = migration
	Migrating = migrating
)

// MigrationNumbers are those of the migrations, in the order in which they are carried out.
func MigrationNumbers() (numbers []int) {
	for _, m := range migrations {
		numbers = append(numbers, m.Number)
	}
	return numbers
}

// LeastReader is what the migrations require of programs that read a store.
func LeastReader() int { return leastReader(migrations) }

// Rewrite, Owe and Layout are what a migration works with.
func (m *migrating) Rewrite(ctx context.Context, prefix string, f func(string, []byte) ([]byte, error)) error {
	return m.rewriteValues(ctx, prefix, f)
}

func (m *migrating) Owe(ctx context.Context, z *law.Zone, reason string, scans ...law.Scan) error {
	return m.oweWork(ctx, z, reason, scans...)
}

// The rooms tell tests these things, by the names of objects.

func (l *Ledger) Waiting(namespace, zone string) int {
	return l.com.Waiting(l.mem.Layout.Zone(namespace, zone))
}
func (l *Ledger) Locked(namespace, zone string) bool {
	return l.com.Locked(l.mem.Layout.Zone(namespace, zone))
}
func (l *Ledger) Facts(namespace, zone string) int {
	return l.mem.Remembered(l.mem.Layout.Zone(namespace, zone))
}
func (l *Ledger) Stands(namespace, zone string) bool {
	return l.mem.Stands(l.mem.Layout.Zone(namespace, zone))
}
func (l *Ledger) Forget(since time.Time) { l.mem.Forget(since) }
func (l *Ledger) LetGo(namespace, zone string) {
	l.mem.LetGo(l.mem.Layout.Zone(namespace, zone))
}
func (l *Ledger) Trimming(namespace, zone string) bool {
	return l.com.Trimming(l.mem.Layout.Zone(namespace, zone))
}
func (l *Ledger) Ops() int64   { return l.mem.Ops.Load() }
func (l *Ledger) Doubted() int { return l.mem.Doubted() }

func (l *Ledger) Knows(view, fqdn string) bool {
	n, err := name.Parse(fqdn)
	return err == nil && l.mem.Knows(view, n)
}

func (l *Ledger) TakeLate(ctx context.Context, zone string, k law.Key, meanwhile func()) error {
	return l.mem.TakeLate(ctx, zone, k, meanwhile)
}

func (l *Ledger) ReloadLate(ctx context.Context, zone string, meanwhile func()) error {
	return l.mem.ReloadLate(ctx, zone, meanwhile)
}

func (l *Ledger) Condense(ctx context.Context, z *v1alpha1.Zone, n uint64) (uint64, error) {
	return l.jr.Condense(ctx, z, math.MaxInt64, n)
}

func (l *Ledger) SweepCondensed(ctx context.Context) error { return l.box.SweepCondensed(ctx) }
func (l *Ledger) SetLanes(n int, slice time.Duration)      { l.box.SetLanes(n, slice) }
func (l *Ledger) CarryOut(ctx context.Context)             { l.box.CarryOut(ctx) }

func (l *Ledger) StepTwice(ctx context.Context, namespace, name string) (wrote, told int, err error) {
	return l.box.StepTwice(ctx, namespace, name)
}

func JournalOctets(n int) func(*Config) { return func(c *Config) { c.journalOctets = n } }

const KeepsFor = outbox.KeepsFor

var (
	Keep     = outbox.Keep
	TooLarge = etcd.TooLarge
)
