// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const (
	lockSeconds = 10
	// Older servers, which watch the key config, exit within olderEnd before a migration.
	olderEnd = 5 * time.Second
)

var errLockLost = errors.New("another server carries the migration out")

func (l *Ledger) migrateStore(ctx context.Context, s *store) error {
	for {
		_, config, err := s.readConfig(ctx)
		if err != nil || config.Format >= newestFormat(s.migrations) {
			return err
		}
		if err := l.migrateLocked(ctx, s); err != nil && !errors.Is(err, errLockLost) {
			return err
		}
	}
}

// migrateLocked waits for the lock of the store and runs the missing migrations. The error is errLockLost if another
// server has taken the lock over, because this server's lease has ended.
func (l *Ledger) migrateLocked(ctx context.Context, s *store) error {
	// 1. Take the lock. The lock has a lease, so a killed server does not block the others.
	session, err := concurrency.NewSession(s.client, concurrency.WithTTL(l.bounds.lockSeconds))
	if err != nil {
		return fmt.Errorf("locking the store for a migration: %w", err)
	}
	defer session.Close()
	lock := concurrency.NewMutex(session, l.mem.Layout.MigrationLock())
	klog.FromContext(ctx).Info("The store is of an older format; the first server migrates it, and others wait",
		"lock", l.mem.Layout.MigrationLock())
	if err := lock.Lock(ctx); err != nil {
		return fmt.Errorf("locking the store for a migration: %w", err)
	}

	// 2. Read the format again: the server that had the lock may have done the work.
	m := &migrationRun{Ledger: l, lock: lock}
	_, config, err := s.readConfig(ctx)
	if err != nil {
		return err
	}
	if leastReader(s.migrations) > config.Format {
		// tryOpen has raised leastReader in the store: running servers see this and exit.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(l.bounds.olderEnd):
		}
	}

	// 3. Migrate. A format is written after each step, so the next server continues there.
	for _, step := range s.migrations {
		if step.Number <= config.Format {
			continue
		}
		klog.FromContext(ctx).Info("Migrating the store", "to", step.Number, "what", step.Name)
		if m.number = step.Number; step.Run != nil {
			if err := step.Run(ctx, m); err != nil {
				return fmt.Errorf("migration %d (%s): %w", step.Number, step.Name, err)
			}
		}
		if err := m.writeFormat(ctx, s); err != nil {
			return err
		}
	}

	return nil
}

// writeFormat notes in the config key that the migration is done. If the key changes meanwhile, the write is repeated.
func (m *migrationRun) writeFormat(ctx context.Context, s *store) error {
	for {
		kv, config, err := s.readConfig(ctx)
		if err != nil {
			return err
		}
		if kv == nil {
			return fmt.Errorf("%s is gone while the store is migrated: restore a backup", s.layout.Config())
		}
		config.Format = m.number
		if done, err := m.commitLocked(ctx, []clientv3.Cmp{etcd.RevisionIs(s.layout.Config(), kv.ModRevision)},
			etcd.OpPut(s.layout.Config(), layout.Encode(config))); done || err != nil {
			return err
		}
	}
}

var migrations = []migration{
	{Number: 25, Name: "history of steps", Run: beginHistory},
	{Number: 26, Name: "longest TTL of the DS in status.dnssec"},
	{Number: 27, Name: "expiry of Records"},
}

type migrationRun struct {
	*Ledger
	number int
	lock   *concurrency.Mutex
}

// commitLocked commits operations if the compares hold and this server has the lock. The result is false if a compare
// has failed. The error is errLockLost if the lock is gone.
func (m *migrationRun) commitLocked(ctx context.Context, cmps []clientv3.Cmp, ops ...clientv3.Op) (bool, error) {
	m.mem.Fault("migration")
	// The read of the lock's key tells a failed compare from a lost lock.
	r, err := m.mem.Client.Txn(ctx).If(append(cmps, m.lock.IsOwner())...).Then(ops...).Else(clientv3.OpGet(m.lock.Key())).Commit()
	switch {
	case err != nil:
		return false, err
	case r.Succeeded:
		return true, nil
	case etcd.FirstKV(r.Responses[0]) == nil:
		return false, errLockLost
	}
	return false, nil
}

// A migration changes the form of the store (steps: docs/changing.md). Open runs the missing migrations in order,
// before any other read.
//
//   - Run writes by commitLocked, which compares a lock with a lease, so two servers never write at once.
//   - Run is idempotent and skips keys in the new form, because a server may be killed after any transaction.
//   - Run never changes a zone's content: only decisions of package law change serials. To have objects decided again,
//     Run creates outbox items after it has written the zone's keys, since a cascade skips members younger than its
//     item.
//   - OldersMayWrite permits programs of the previous migration to use the store during and after Run. Run then changes
//     no key of a zone, as servers cache those keys at the zone's revision. Otherwise leastReader is raised before Run:
//     older programs refuse the store, and running servers exit within olderEnd.
//   - A new stored field needs OldersMayWrite false, since older programs would drop the field.
type migration struct {
	Number         int    // the format of the migrated store
	Name           string // for logs
	OldersMayWrite bool
	Run            func(context.Context, *migrationRun) error
}

// beginHistory is migration 25. Older programs stored no Records before steps.
func beginHistory(ctx context.Context, m *migrationRun) error {
	return m.beginHistory(ctx, func(ops []clientv3.Op) error {
		_, err := m.commitLocked(ctx, nil, ops...)
		return err
	})
}

func newestFormat(all []migration) int {
	if len(all) == 0 {
		return FirstFormat
	}
	return all[len(all)-1].Number
}

func leastReader(all []migration) int {
	least := FirstFormat
	for _, m := range all {
		if !m.OldersMayWrite {
			least = m.Number
		}
	}
	return least
}
