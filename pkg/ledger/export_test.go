// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// DropGuards leaves out the compares of zones ("zone"), of single keys ("facts")
// or both ("all"): the controls of the race tests.
func DropGuards(kind string) func(*Config) { return func(c *Config) { c.dropGuards = kind } }

// SlowCommit is from what duration of a commit on a batch waits for company. Always, it does; never, it does not.
func SlowCommit(d time.Duration) func(*Config) { return func(c *Config) { c.slowCommit = d } }

// SerialsEvery is how often last serials are swept, and MaxLeftBy how many of a namespace's are kept.
func SerialsEvery(d time.Duration) func(*Config) { return func(c *Config) { c.serialsEvery = d } }
func UsageEvery(d time.Duration) func(*Config)   { return func(c *Config) { c.usageEvery = d } }
func MaxLeftBy(n int) func(*Config)              { return func(c *Config) { c.maxLeftBy = n } }

// Waiting is how many writes wait at a zone to go together.
func (l *Ledger) Waiting(namespace, zone string) int {
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	return len(l.com.queueAt(l.mem.layout.Zone(namespace, zone)).waiting)
}

// Facts is how many are remembered of a zone; Forget lets go of those of zones not written since.
func (l *Ledger) Facts(namespace, zone string) int {
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	return len(l.mem.head(l.mem.layout.Zone(namespace, zone)).facts)
}

func (l *Ledger) Forget(since time.Time) { l.mem.forget(since) }

// Knows: the server has heard of the zone with this name.
func (l *Ledger) Knows(view, fqdn string) bool {
	n, err := name.Parse(fqdn)
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	return err == nil && l.mem.index[law.HoldingKey(view, n)] != nil
}

// Storage is what a decorated storage of Records is around.
func Storage(s storage.Interface) storage.Interface { return s.(*records).Interface }

// Migrations of a program that knows more than this one.
func Migrations(more ...Migration) func(*Config) {
	return func(c *Config) {
		c.migrations, c.olderEnd, c.lockSeconds = append(slices.Clone(migrations), more...), time.Nanosecond, 1
	}
}

// Known are the migrations of a program that knows no more than the n-th.
func Known(n int) func(*Config) {
	return func(c *Config) {
		c.migrations, c.olderEnd, c.lockSeconds = migrations[:slices.IndexFunc(migrations, func(m migration) bool { return m.Number == n })+1], time.Nanosecond, 1
	}
}

type (
	Migration = migration
	Migrating = migrating
)

// NewestFormat is the number of the last migration.
func NewestFormat() int { return newest(migrations) }

// LeastReader is what the migrations require of programs that read a store.
func LeastReader() int { return leastReader(migrations, 0) }

// Rewrite, Owe and Layout are what a migration works with.
func (m *migrating) Rewrite(ctx context.Context, prefix string, f func(string, []byte) ([]byte, error)) error {
	return m.rewrite(ctx, prefix, f)
}

func (m *migrating) Owe(ctx context.Context, z *law.Zone, reason string, scans ...law.Scan) error {
	return m.owe(ctx, z, reason, scans...)
}

// SetLanes has at most n namespaces' cascades run at a time, for a slice each.
func (l *Ledger) SetLanes(n int, slice time.Duration) { l.box.lanes.most, l.box.lanes.slice = n, slice }

// Condense takes the steps of a held zone up to step n into one.
func (l *Ledger) Condense(ctx context.Context, z *v1alpha1.Zone, n uint64) (uint64, error) {
	return l.jr.condense(ctx, z, n)
}

// SweepCondensed takes away what is condensed and not needed any more.
func (l *Ledger) SweepCondensed(ctx context.Context) error { return l.box.sweepCondensed(ctx) }

// StepTwice has one record decided anew twice, in order, as a cascade does that finds it by two scans, and reports how many times that wrote it
// and how many times it was told what stands there.
func (l *Ledger) StepTwice(ctx context.Context, namespace, name string) (wrote, told int, err error) {
	o, mod, err := l.mem.readRecord(ctx, namespace, name)
	if err != nil {
		return 0, 0, err
	}
	var steps []*step
	for range 2 {
		st := &step{candidate: candidate{letter: layout.WaitingRecord, namespace: namespace, object: name, uid: string(o.UID)}}
		if st.w, err = l.box.stepOf(&standing{item: item{work: law.Work{Unmarked: true}}}, st.candidate, o, mod); err != nil {
			return 0, 0, err
		}
		st.w.item = nil
		steps = append(steps, st)
	}
	for _, a := range l.box.submitInOrder(ctx, "", steps) {
		switch {
		case a.err != nil:
			err = a.err
		case a.out.ok:
			wrote++
		case a.out.kv != nil:
			told++
		}
	}
	return wrote, told, err
}

// Locked reports whether a write has the lock of a zone.
func (l *Ledger) Locked(namespace, name string) bool {
	l.mem.mu.Lock()
	defer l.mem.mu.Unlock()
	return len(l.com.queueAt(l.mem.layout.Zone(namespace, name)).sem) > 0
}
