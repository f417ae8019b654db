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

// migrations are in the order of their numbers, which go on from FirstFormat without a gap. There is none yet.
var migrations []migration

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
	session, err := concurrency.NewSession(s.client, concurrency.WithTTL(l.config.lockSeconds))
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
		case <-time.After(l.config.olderEnd):
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
