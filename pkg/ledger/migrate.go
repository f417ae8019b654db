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

	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

const (
	// lockSeconds is the time for which the lock outlives a server that was killed.
	lockSeconds = 10
	// olderEnd is the time that older servers have to end once config says that they must. A watch tells them.
	olderEnd = 5 * time.Second
)

// errLockLost says that the lock went to another server, which goes on.
var errLockLost = errors.New("another server carries the migration out")

// migrateStore carries out what the store lacks, or waits until another server has.
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

func (l *Ledger) migrateLocked(ctx context.Context, s *store) error {
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
	m := &migrating{Ledger: l, lock: lock}
	_, config, err := s.readConfig(ctx)
	if err != nil {
		return err
	}
	if leastReader(s.migrations) > config.Format {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(l.bounds.olderEnd):
		}
	}
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
		if err := m.noteReached(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// noteReached says in config that a migration has been carried out.
func (m *migrating) noteReached(ctx context.Context, s *store) error {
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

// migrations are in the order of their numbers, which go on from FirstFormat without a gap. There is none yet.
var migrations []migration

// migrating is what a migration works with.
type migrating struct {
	*Ledger
	number int
	lock   *concurrency.Mutex
}

// commitLocked sends a transaction that compares the lock too; false: another compare did not hold.
func (m *migrating) commitLocked(ctx context.Context, cmps []clientv3.Cmp, ops ...clientv3.Op) (bool, error) {
	m.mem.Fault("migration")
	r, err := m.mem.Client.Txn(ctx).If(append(cmps, m.lock.IsOwner())...).Then(ops...).Else(clientv3.OpGet(m.lock.Key())).Commit()
	switch {
	case err != nil:
		return false, err
	case r.Succeeded:
		return true, nil
	case etcd.One(r.Responses[0]) == nil:
		return false, errLockLost
	}
	return false, nil
}

// A migration brings the store from one form to the next. Open carries out those that a store lacks, in order, before
// it reads anything else. One server at a time does so, and the others wait. Its lock ends with the server that has it
// (a lease), and each transaction compares the lock, so that two servers never write at once.
//
// How to add one: append it to migrations with the next number, raise Format, and write its Run in a file of its own.
//
//   - Run gets a migrating: client, layout and codecs, and commitLocked for its changes. export_test.go has what
//     rewrites the values under a prefix, and what owes ordinary work: the first that needs one takes it along.
//   - It must change nothing the second time: a server may be killed after any transaction, and the next one begins
//     the migration anew. It writes what is not yet as it shall be, and nothing else.
//   - It never changes what a zone contains: a serial changes in a decision of the law alone (I3). It owes the work
//     that must be decided anew: the cascade that carries the work out releases, adopts and raises serials as after
//     any write. It writes the zone's own keys first and owes then: a cascade passes over members that are younger
//     than its item.
//   - OldersMayWrite says that a program that knows no more than the migration before may go on reading and writing
//     beside and after it. Such a migration changes no key that belongs to a zone: servers remember those while the
//     zone stands at its revision (I5). Where it is false, the store's leastReader is raised before Run begins: older
//     programs refuse the store, and those that run end (FollowFormat) and are given olderEnd to do so.
//   - A new field of a stored object or of an internal value needs a migration with OldersMayWrite false, if only for
//     its number: a program that does not know the field drops it when it writes the value.
//
// How to test one: migrate_test.go has an example of each kind. SetFormat of test/store makes a store say that it is
// of the format before. The test puts the old form there by the raw client, starts a Server and compares keys, and does
// so once more with endsThere, which ends the first server in the middle.
type migration struct {
	Number         int
	Name           string
	OldersMayWrite bool
	// Run is nil where the announcement in the config key is all of it.
	Run func(context.Context, *migrating) error
}

// newestFormat returns the format that a program with these migrations knows.
func newestFormat(all []migration) int {
	if len(all) == 0 {
		return FirstFormat
	}
	return all[len(all)-1].Number
}

// leastReader returns the format that a program must know to read a store after all migrations.
func leastReader(all []migration) int {
	least := FirstFormat
	for _, m := range all {
		if !m.OldersMayWrite {
			least = m.Number
		}
	}
	return least
}
