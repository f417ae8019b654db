// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/pkg/ledger/etcd"
)

// sightings holds the keys of a room at the last sweep. A key is due when unchanged for a time by this server's clock.
type sightings map[string]sighting

type sighting struct {
	mod       int64
	firstSeen time.Time
}

const fromStart, noLimit = "", 0

func (ob *Outbox) sweepRoom(ctx context.Context, room string, last sightings,
	visit func(kv *mvccpb.KeyValue, unchangedFor time.Duration)) sightings {
	now := sightings{}
	if _, err := etcd.Scan(ctx, ob.mem.Client, ob.mem.Layout.Room(room), fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
		key := string(kv.Key)
		seen, ok := last[key]
		if !ok || seen.mod != kv.ModRevision {
			seen = sighting{kv.ModRevision, time.Now()}
		}
		now[key] = seen
		visit(kv, time.Since(seen.firstSeen))
		return ctx.Err()
	}); err != nil {
		return last
	}
	return now
}
