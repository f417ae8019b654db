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
)

// migrations are in the order of their numbers, without a gap.
var migrations = []migration{
	{Number: namesLeastReader, Name: "config names the least reader, and sealing is said by its keys alone"},
	{Number: 4, Name: "wildcards hold names"}, // 15 notes them
	{Number: 5, Name: "zones end after their delegation was withdrawn, and parents count no name server without an address", Run: countGlue},
	{Number: releasesRefused, Name: "records that an earlier version took in and that are refused now leave their zones", Run: releaseRefused},
	{Number: countsWithdrawn, Name: "zones whose delegation was withdrawn by an earlier version end too", Run: countWithdrawn},
	{Number: 8, Name: "hosts that the apex names by MX, SVCB and HTTPS are the zone's"}, // 11 notes them
	{Number: fillsLineage, Name: "zones note by which delegations they came to their names, and which zone encloses them", Run: fillLineage},
	{Number: countsRRsets, Name: "zones say how many RRsets they have, and mass deletions hold them back", Run: countRRsets},
	{Number: countsApexHosts, Name: "of hosts that the apex names by MX, SVCB and HTTPS those alone are the zone's that its own namespace names", Run: countApexHosts},
	{Number: spansDeleted, Name: "marks of removed RRsets say when the zone had them", Run: spanDeleted},
	{Number: mapsVersions, Name: "objects of one transaction have a resourceVersion each, and Delegations give rules beside those of Zones"}, // what was written before is lone, and stays as it is
	{Number: derivesDS, Name: "zones are signed, and contain the DS of their children where a rule says so"},                                 // earlier zones are not
	{Number: countsSpeakers, Name: "wildcards and underscore names hold the names below their base", Run: rebuildHolders},
}

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
	klog.FromContext(ctx).Info("The store is of an older format; the first server migrates it, and others wait", "lock", l.mem.Layout.MigrationLock())
	if err := lock.Lock(ctx); err != nil {
		return fmt.Errorf("locking the store for a migration: %w", err)
	}
	m := &migrating{Ledger: l, lock: lock}
	_, config, err := s.readConfig(ctx)
	if err != nil {
		return err
	}
	if leastReader(s.migrations, config.Format) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(l.config.olderEnd):
		}
	}
	if config.Format < mapsVersions {
		if err := carryOutLogs(ctx, m); err != nil { // the other migrations, and what follows, read this as part of the zones
			return err
		}
	}
	for _, step := range s.migrations {
		if step.Number <= config.Format {
			continue
		}
		klog.FromContext(ctx).Info("Migrating the store", "to", step.Number, "what", step.Name)
		if m.number, m.unread = step.Number, 0; step.Run != nil {
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
		value, err := s.editConfig(kv, config)
		if err != nil {
			return err
		}
		if done, err := m.commitLocked(ctx, []clientv3.Cmp{etcd.RevisionIs(s.layout.Config(), kv.ModRevision)}, etcd.OpPut(s.layout.Config(), value)); done || err != nil {
			return err
		}
	}
}
