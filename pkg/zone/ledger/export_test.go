// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/outbox"
)

// adjust changes the bounds of a ledger after earlier adjustments.
func adjust(change func(*bounds)) func(*Config) {
	return func(c *Config) {
		earlier := c.adjust
		c.adjust = func(b *bounds) {
			if earlier != nil {
				earlier(b)
			}
			change(b)
		}
	}
}

// DropCompares omits the compares of zones ("zone"), of single keys ("facts") or of both ("all"), as a control of
// tests.
func DropCompares(kind string) func(*Config) {
	return adjust(func(b *bounds) { b.dropCompares = kind })
}

func CheckCovered(c *Config) { adjust(func(b *bounds) { b.checkEvery = 1 })(c) }

// SlowCommit sets the commit latency above which batches wait for more writes, and after which a parked batch commits
// beside another transaction.
func SlowCommit(d time.Duration) func(*Config) { return adjust(func(b *bounds) { b.slowCommit = d }) }

// SerialsEvery sets the interval between sweeps of last serials. MaxLeftBy limits a namespace's serials.
func SerialsEvery(d time.Duration) func(*Config) {
	return adjust(func(b *bounds) { b.serialsEvery = d })
}
func UsageEvery(d time.Duration) func(*Config)  { return adjust(func(b *bounds) { b.usageEvery = d }) }
func TakenWithin(d time.Duration) func(*Config) { return adjust(func(b *bounds) { b.warnTimeout = d }) }
func MaxLeftBy(n int) func(*Config)             { return adjust(func(b *bounds) { b.maxSerials = n }) }

func Migrations(more ...Migration) func(*Config) {
	return adjust(func(b *bounds) {
		b.migrations, b.olderEnd, b.lockSeconds = append(slices.Clone(migrations), more...), time.Nanosecond, 1
	})
}

type (
	Migration = migration
	Migrating = migrationRun
)

func MigrationNumbers() (numbers []int) {
	for _, m := range migrations {
		numbers = append(numbers, m.Number)
	}
	return numbers
}

func LeastReader() int { return leastReader(migrations) }

// Rewrite and Enqueue, with their tests, move into the product with the first migration that needs them.

// Rewrite replaces the values under a prefix by the results of f. f may be called again for a key, and must then return
// the earlier result unchanged.
func (m *migrationRun) Rewrite(ctx context.Context, prefix string, f func(key string, value []byte) ([]byte, error)) error {
	for key, end := prefix, clientv3.GetPrefixRangeEnd(prefix); ; {
		r, err := m.mem.Client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(100))
		if err != nil {
			return err
		}
		var cmps []clientv3.Cmp
		var ops []clientv3.Op
		octets := 0
		for _, kv := range r.Kvs {
			next, err := f(string(kv.Key), kv.Value)
			if err != nil {
				return fmt.Errorf("%s: %w", kv.Key, err)
			}
			if octets < commit.MaxBatchOctets && !bytes.Equal(next, kv.Value) {
				octets += len(kv.Key) + len(next)
				cmps, ops = append(cmps, etcd.RevisionIs(string(kv.Key), kv.ModRevision)), append(ops, etcd.OpPut(string(kv.Key), next))
			}
		}
		if len(ops) > 0 { // read the page again: a key has changed, or more octets are left
			if _, err := m.commitLocked(ctx, cmps, ops...); err != nil {
				return err
			}
			continue
		}
		if !r.More {
			return nil
		}
		key = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}

// Enqueue adds a cascade over the objects of the scans, which belong to z or wait for it. A running server carries out
// the cascade like any other work: in the usual order, with a serial for each change, and with z unsettled meanwhile. A
// migration has one such work for each zone, even after crashes.
func (m *migrationRun) Enqueue(ctx context.Context, z *law.Zone, reason string, scans ...law.Scan) error {
	w := law.Work{ID: fmt.Sprintf("%s%d-%s", outbox.MigrationID, m.number, z.UID), Reason: reason, View: z.View, Scans: scans,
		By: z.Namespace, Since: m.mem.Now().Unix()}
	key := m.mem.Layout.Outbox(w.ID)
	_, err := m.commitLocked(ctx, []clientv3.Cmp{etcd.RevisionIs(key, 0)}, etcd.OpPut(key, layout.Encode(w)))
	return err
}

func (l *Ledger) Waiting(namespace, zone string) int {
	return l.com.Waiting(l.mem.Layout.Zone(namespace, zone))
}

func (l *Ledger) Parked() int { return l.com.Parked() }

// Locked reports whether a zone stays locked for 20 ms. A busy machine may need as long to end a write, so use
// AwaitUnlocked to check that a zone is free.
func (l *Ledger) Locked(namespace, zone string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	return l.AwaitUnlocked(ctx, namespace, zone) != nil
}

func (l *Ledger) AwaitUnlocked(ctx context.Context, namespace, zone string) error {
	unlock, err := l.com.LockKey(ctx, l.mem.Layout.Zone(namespace, zone))
	if err == nil {
		unlock()
	}
	return err
}

func (l *Ledger) Facts(namespace, zone string) int {
	l.mem.Mu.Lock()
	defer l.mem.Mu.Unlock()
	return len(l.mem.CachedZone(l.mem.Layout.Zone(namespace, zone)).Facts)
}

func (l *Ledger) Exists(namespace, zone string) bool {
	l.mem.Mu.Lock()
	defer l.mem.Mu.Unlock()
	h := l.mem.CachedZone(l.mem.Layout.Zone(namespace, zone))
	return h.Loaded && h.Zone != nil
}
func (l *Ledger) Forget(since time.Time) { l.mem.DropOldFacts(since) }

func (l *Ledger) CountTrims() (running *atomic.Int64) {
	running = &atomic.Int64{}
	spawn := l.jr.Spawn
	l.jr.Spawn = func(f func()) {
		running.Add(1)
		spawn(func() {
			defer running.Add(-1)
			f()
		})
	}
	return running
}
func (l *Ledger) Ops() int64 { return l.mem.Ops.Load() }

func (l *Ledger) Knows(view, fqdn string) bool {
	n, err := name.Parse(fqdn)
	return err == nil && l.mem.HoldingOf(law.HoldingKey(view, n)) != nil
}

func (l *Ledger) ReadFact(ctx context.Context, k law.Key) error {
	return l.mem.ReadSet(false).ReadFacts(ctx, []law.Key{k})
}

// ReloadLate reads a zone, calls meanwhile, and only then caches the result.
func (l *Ledger) ReloadLate(ctx context.Context, zone string, meanwhile func()) error {
	kv, rev, err := etcd.ReadKey(ctx, l.mem.Client, zone)
	if err != nil {
		return err
	}
	l.mem.Mu.Lock()
	h := l.mem.CachedZone(zone)
	l.mem.Mu.Unlock()
	meanwhile()
	return l.mem.Reload(ctx, h, kv, rev)
}

func (l *Ledger) Condense(ctx context.Context, z *v1alpha1.Zone, n uint64) (uint64, error) {
	return l.jr.Condense(ctx, z, math.MaxInt64, n)
}

func (l *Ledger) SweepHistory(ctx context.Context) error { return l.outbox.SweepHistory(ctx) }

func (l *Ledger) SweepStates(ctx context.Context) error { return l.outbox.SweepStates(ctx) }

func (l *Ledger) SweepCondensed(ctx context.Context) error { return l.outbox.SweepCondensed(ctx) }
func (l *Ledger) SweepDue(ctx context.Context)             { l.outbox.SweepDue(ctx) }
func (l *Ledger) SetLanes(n int, slice time.Duration)      { l.outbox.SetLanes(n, slice) }
func (l *Ledger) Tried() int64                             { return l.mem.Stats.Trials.Load() }

// ProcessOutbox carries out the whole outbox, and then tries waiting objects that could be adopted.
func (l *Ledger) ProcessOutbox(ctx context.Context) {
	for pending := 1; pending > 0; pending, _ = l.TryWaiting(ctx) {
		l.outbox.ProcessOutbox(ctx)
	}
}

// TryWaiting tries all waiting objects once, and returns the number of new works. Nothing else may write to the outbox
// meanwhile.
func (l *Ledger) TryWaiting(ctx context.Context) (pending int, err error) {
	count := func() int {
		r, failed := l.mem.Client.Get(ctx, l.mem.Layout.Room("outbox"), clientv3.WithPrefix(), clientv3.WithCountOnly())
		if failed != nil {
			err = failed
			return 0
		}
		return int(r.Count)
	}
	before := count()
	err = cmp.Or(l.outbox.TryWaiting(ctx), err)
	return count() - before, err
}

// OpenStore opens a store without running migrations.
func OpenStore(ctx context.Context, client *clientv3.Client, prefix string, transformer value.Transformer) (*clientv3.Client, error) {
	return newStore(client, prefix, transformer, migrations).openStore(ctx)
}

// ObjectStorage returns a storage like those of Zones and Records, with commit as the transaction. The argument before
// is nil for a creation, after for a deletion. If the object is not at version expected, commit returns false.
func ObjectStorage[T any, P object[T]](stored storage.Interface, commits func(ctx context.Context, before, after P, expected int64) (
	ok bool, rev int64, err error)) storage.Interface {
	return &objectStorage[T, P]{Interface: stored, mayTouch: func() error { return nil }, begin: func() (committer[T, P], func()) {
		return func(ctx context.Context, w *objectWrite[T, P]) (stored P, out commit.Outcome, err error) {
			out.OK, out.Rev, err = commits(ctx, w.before, w.after, w.expected)
			return nil, out, err
		}, func() {}
	}}
}

func JournalOctets(n int) func(*Config) { return adjust(func(b *bounds) { b.journalOctets = n }) }

const KeepsFor = outbox.RecordKeptEvery

var (
	Keep     = outbox.SubtractElapsed
	TooLarge = etcd.TooLarge
)
