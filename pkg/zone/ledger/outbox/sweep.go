// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
)

// seenKeys holds the keys of a room at the last sweep. A key is due when unchanged for a time by this server's clock.
type seenKeys map[string]seenKey

type seenKey struct {
	mod       int64
	firstSeen time.Time
}

const fromStart, noLimit = "", 0

// sweepRoom visits the keys of a room, each with the time since this server first saw the present revision. The result
// is for the next sweep. After an error the result is last, so that no key's time begins anew.
func (ob *Outbox) sweepRoom(ctx context.Context, room string, last seenKeys,
	visit func(kv *mvccpb.KeyValue, unchangedFor time.Duration)) seenKeys {
	now := seenKeys{}
	if _, err := etcd.Scan(ctx, ob.Mem.Client, ob.Mem.Layout.Room(room), fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
		key := string(kv.Key)
		seen, ok := last[key]
		if !ok || seen.mod != kv.ModRevision {
			seen = seenKey{kv.ModRevision, time.Now()}
		}
		now[key] = seen
		visit(kv, time.Since(seen.firstSeen))
		return ctx.Err()
	}); err != nil {
		return last
	}
	return now
}
