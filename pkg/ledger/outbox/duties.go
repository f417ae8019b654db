// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"maps"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/pkg/ledger/etcd"
)

// A duty goes through a room of keys again and again and acts on those that are due. It remembers nothing else than
// since when it knows each key as it stands. So a key that a server does not change may be due, by the clock of this
// server alone: none of a client or of another server counts.

// sightings are the keys of a room as a duty met them last.
type sightings map[string]sighting

// sighting is the revision of a key, and the time at which this server first met the key at it.
type sighting struct {
	mod int64
	at  time.Time
}

// sweepRoom hands over what stands in a room, and for how long this server knows it so. It returns the sightings for
// the next sweep, which are those of the last one where the room could not be read to its end.
func (box *Outbox) sweepRoom(ctx context.Context, room string, last sightings, f func(kv *mvccpb.KeyValue, known time.Duration)) sightings {
	now := sightings{}
	if _, err := etcd.Scan(ctx, box.mem.Client, box.mem.Layout.Room(room), "", 0, func(kv *mvccpb.KeyValue) error {
		key := string(kv.Key)
		seen, ok := last[key]
		if !ok || seen.mod != kv.ModRevision {
			seen = sighting{kv.ModRevision, time.Now()}
		}
		now[key] = seen
		f(kv, time.Since(seen.at))
		return ctx.Err()
	}); err != nil {
		return last
	}
	return now
}

// repeatDuty does something now and each time after a pause, until ctx ends.
func repeatDuty(ctx context.Context, every time.Duration, do func(context.Context, sightings) sightings) {
	for seen := do(ctx, nil); etcd.Pause(ctx, every); {
		seen = do(ctx, seen)
	}
}

const (
	// A work that failed rests before it is tried again, each time twice as long. longestWait is the longest rest of
	// one that has not failed, and waits for Delivery.
	firstRest   = time.Second
	longestRest = 5 * time.Minute
	longestWait = 10 * time.Second
)

// retries are the rests of works that failed at this server and have not gone through since.
type retries struct {
	mu sync.Mutex
	of map[string]retry
}

type retry struct {
	rest  time.Duration
	until time.Time
}

// countFailure counts one more failure, and returns how long the work rests.
func (f *retries) countFailure(id string, longest time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := max(firstRest, min(2*f.of[id].rest, longest))
	f.of[id] = retry{rest, time.Now().Add(rest)}
	return rest
}

// isResting reports whether a work failed, and whether it still rests.
func (f *retries) isResting(id string) (failed, rests bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, failed := f.of[id]
	return failed, time.Now().Before(last.until)
}

// keepOnly drops works that are not in the outbox any longer.
func (f *retries) keepOnly(known map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.of, func(id string, _ retry) bool { return !known[id] })
}
