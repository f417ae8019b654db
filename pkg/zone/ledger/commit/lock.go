// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
)

// queueAt returns the queue of the zone stored under a key, after creating a missing queue. The caller holds Memory.Mu
// until the queue is in use, because an idle queue may be dropped.
func (com *Committer) queueAt(key string) *queue {
	q := com.queues[key]
	if q == nil {
		if len(com.queues) >= facts.MaxCachedZones {
			// Any idle queue will do: a new queue of the zone costs a read at most.
			for k, old := range com.queues {
				if !old.isInUse() {
					com.Mem.Unpin(old.CachedZone)
					delete(com.queues, k)
					break
				}
			}
		}
		q = &queue{CachedZone: com.Mem.CachedZone(key), sem: make(chan struct{}, 1), cachedFacts: map[law.Key]facts.ProvenFact{}}
		// Not evicted while the queue exists: a second CachedZone of the zone would miss this queue's commits.
		q.Pinned = true
		com.queues[key] = q
	}
	return q
}

func (q *queue) isInUse() bool { return q.committing || q.acquiring > 0 || len(q.sem) > 0 }

func (com *Committer) LockKey(ctx context.Context, key string) (unlock func(), err error) {
	w := &Write{}
	err = com.Acquire(ctx, w, key)
	return func() { com.releaseAll(w) }, err
}

// Acquire locks further zones, by key. To avoid deadlocks, it releases the locks of the write, then takes all locks in
// the order of the keys. So the caller must decide the write afterwards. After an error the write has no locks.
func (com *Committer) Acquire(ctx context.Context, w *Write, keys ...string) error {
	for _, h := range w.Locks {
		if !slices.Contains(keys, h.Key) {
			keys = append(keys, h.Key)
		}
	}
	com.releaseAll(w)
	slices.Sort(keys)

	for _, key := range keys {
		com.Mem.Mu.Lock()
		h := com.queueAt(key)
		// Counted as use, so queueAt drops no queue on which a write waits.
		h.acquiring++
		com.Mem.Mu.Unlock()
		var err error
		select {
		case h.sem <- struct{}{}:
			w.Locks = append(w.Locks, h)
		case <-ctx.Done():
			err = ctx.Err()
		}
		com.Mem.Mu.Lock()
		h.acquiring--
		com.Mem.Mu.Unlock()
		if err != nil {
			com.releaseAll(w)
			return err
		}
	}
	return nil
}

func (com *Committer) releaseAll(w *Write) {
	com.Release(w.Locks...)
	w.Locks = nil
}

// Release unlocks zones, and returns at once. If another server writes to a zone too, the lock opens only after the
// queue's yieldFor, so that the other server can commit.
func (com *Committer) Release(locks ...*queue) {
	for _, h := range locks {
		com.Mem.Mu.Lock()
		wait := h.yieldFor
		h.yieldFor = 0
		com.Mem.Mu.Unlock()
		if wait > 0 {
			// The caller goes on now, and the timer opens the lock.
			time.AfterFunc(wait, func() { <-h.sem })
		} else {
			<-h.sem
		}
	}
}

// requestYield asks the other servers, after two lost races, to let this server commit at a zone. Without the request,
// a server that always wins would not notice the others.
func (com *Committer) requestYield(zone string) {
	ctx, cancel := context.WithTimeout(com.Mem.Client.Ctx(), batchTimeout)
	defer cancel()
	asked := etcd.OpPut(com.Mem.Layout.YieldRequest(), []byte(com.Mem.ID+" "+zone))
	_, _ = com.Mem.Client.Txn(ctx).Then(asked).Commit()
}

// FollowYieldRequests follows other servers' requestYield until ctx ends.
func (com *Committer) FollowYieldRequests(ctx context.Context, rev int64) {
	for ctx.Err() == nil {
		_ = etcd.Watch(ctx, com.Mem.Client, com.Mem.Layout.YieldRequest(), rev, func(events []*clientv3.Event) error {
			com.Mem.Mu.Lock()
			defer com.Mem.Mu.Unlock()
			for _, e := range events {
				// The value is the server's ID and the key of the zone. This server's own requests come back, too.
				id, zone, _ := strings.Cut(string(e.Kv.Value), " ")
				if h := com.queues[zone]; h != nil && id != com.Mem.ID {
					h.lastContention, h.yieldRequests = time.Now(), h.yieldRequests+1
				}
			}
			return nil
		})
		// Compacted: older requests no longer matter.
		if r, err := com.Mem.Client.Get(ctx, com.Mem.Layout.YieldRequest()); err == nil {
			rev = r.Header.Revision
		} else {
			etcd.Pause(ctx, time.Second)
		}
	}
}

func (com *Committer) isContended(h *queue) bool {
	com.Mem.Mu.Lock()
	defer com.Mem.Mu.Unlock()
	return time.Since(h.lastContention) < contentionPeriod
}

// After a conflict with another server at a zone, or a request of that server (requestYield), this server pauses after
// each commit there, for the contentionPeriod. A pause lasts yieldTrips round trips, and a round trip more for each
// request, up to maxYield.
const (
	contentionPeriod = time.Second
	yieldTrips       = 2
	maxYield         = 200 * time.Millisecond
)
