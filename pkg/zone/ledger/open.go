// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
	"kubi.zone/kubizone/pkg/zone/ledger/outbox"
)

// Open writes the format of an empty store, runs missing migrations or waits for the server that does, and loads the
// names of zones. The error is ErrFormat or ErrEncrypted if this program cannot read the store.
func Open(ctx context.Context, config Config) (*Ledger, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	limits := config.bounds()
	if config.Delegations.Codec == nil {
		config.Delegations = config.Records
	}

	now := config.Now
	if now == nil {
		now = time.Now
	}
	// 1. Open the store, which may be empty, encrypted, or of another format.
	s := newStore(config.Client, config.Prefix, config.Records.Transformer, limits.migrations)
	opened, err := s.openStore(ctx)
	if err != nil {
		return nil, err
	}

	// 2. Make the parts, each with the parts before.
	placer := &objects.Placer{Now: now, HasDefaultClass: config.HasDefaultClass, HasNameServers: config.HasNameServers}
	l := &Ledger{config: config, bounds: limits, placer: placer, startedUnencrypted: opened == s.client}
	// FollowFormat stops the writes of this client.
	client := clientv3.NewCtxClient(opened.Ctx())
	client.KV, client.Watcher = fencedKV{opened.KV, &l.superseded}, opened.Watcher
	l.mem = facts.New(facts.Config{Client: client, Layout: layout.Keys{Prefix: config.Prefix}, Zones: config.Zones, Records: config.Records,
		Delegations: config.Delegations, Now: now, OnFault: config.OnFault, DropCompares: limits.dropCompares,
		CheckEvery: limits.checkEvery})
	l.jr = &journal.Journal{Client: client, Layout: l.mem.Layout, Zones: config.Zones, Deliveries: config.Deliveries,
		KeptSteps: cmp.Or(config.JournalSteps, journal.JournalSteps), Octets: limits.journalOctets, Spawn: l.mem.Spawn, Fault: l.mem.Fault}
	l.archive = &history.Archive{Client: client, Layout: l.mem.Layout, Read: l.jr.SentValues.Read, Retention: config.historyRetention(),
		Quota: config.Quota, Now: now, Fault: l.mem.Fault}
	l.jr.Archive = l.archive
	l.com = commit.New(commit.Config{Mem: l.mem, Journal: l.jr, Placer: placer, OnHold: config.OnHold,
		Notify: config.Notify, Retention: l.archive.Retention, SlowCommit: limits.slowCommit})
	l.outbox = outbox.New(outbox.Config{Mem: l.mem, Journal: l.jr, Committer: l.com, Placer: placer,
		IsTerminating: config.IsTerminating, Announce: config.OnWithdrawal, MaxSerials: limits.maxSerials,
		SerialsEvery: limits.serialsEvery, UsageEvery: limits.usageEvery,
		TryEvery: cmp.Or(config.TryEvery, outbox.TryEvery), Traces: config.Traces})
	// 3. Migrate, then load the zone names: the stored form is the present one from here on.
	if err := l.migrateStore(ctx, s); err != nil {
		return nil, err
	}

	rev, err := l.mem.LoadNames(ctx)
	if err != nil {
		return nil, err
	}
	go l.mem.FollowNames(client.Ctx(), rev)
	go l.com.FollowYieldRequests(client.Ctx(), rev)
	return l, nil
}
