// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

type items struct {
	mu    sync.Mutex
	byKey map[string]*cachedItem
	seen  int64 // revision up to which byKey has all items
}

// firstSeen is when this server first saw the item's revision.
type cachedItem struct {
	commit.Item
	createRev int64
	firstSeen time.Time
}

// noteItem caches the item of a key unless a newer one is cached, and returns the cached item, or nil if the value does
// not parse.
func (t *items) noteItem(ctx context.Context, kv *mvccpb.KeyValue) *cachedItem {
	one := &cachedItem{Item: commit.Item{Mod: kv.ModRevision}, createRev: kv.CreateRevision, firstSeen: time.Now()}
	if err := layout.Decode(kv.Value, &one.Work); err != nil {
		klog.FromContext(ctx).Error(err, "an outbox item does not parse; run kubizone fsck", "key", string(kv.Key))
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if have := t.byKey[string(kv.Key)]; have != nil && have.Mod >= one.Mod {
		return have
	}
	t.byKey[string(kv.Key)] = one
	return one
}

// maxUnseen bounds the items after the cached ones that an answer reads.
const maxUnseen = 1000

// IsRemoving reports whether the removal of a matching zone is unfinished, and so not yet in the history. Items after
// the cached ones, such as of a deletion by another server, are read from etcd. If more than maxUnseen are there, the
// result is true, and the client asks again.
func (ob *Outbox) IsRemoving(ctx context.Context, matches func(*law.Place) bool) (bool, error) {
	seen, found := ob.items.findRemoval(matches)
	if found {
		// The usual case of a removal by this server, without a read.
		return true, nil
	}
	r, err := ob.Mem.Client.Get(ctx, ob.Mem.Layout.Room("outbox"), clientv3.WithPrefix(),
		clientv3.WithMinModRev(seen+1), clientv3.WithLimit(maxUnseen))
	if err != nil {
		return false, err
	}
	for _, kv := range r.Kvs {
		var w law.Work
		if layout.Decode(kv.Value, &w) == nil && w.Removed != nil && matches(w.Removed) {
			return true, nil
		}
	}
	return r.More, nil
}

func (t *items) findRemoval(matches func(*law.Place) bool) (seen int64, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, item := range t.byKey {
		if item.Work.Removed != nil && matches(item.Work.Removed) {
			return t.seen, true
		}
	}
	return t.seen, false
}

func (t *items) noteSeen(events []*clientv3.Event) {
	if len(events) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = max(t.seen, events[len(events)-1].Kv.ModRevision)
}

// loadItems reads the revision before the items, so a watch from this revision misses nothing.
func (ob *Outbox) loadItems(ctx context.Context) (rev int64, err error) {
	room := ob.Mem.Layout.Room("outbox")
	_, rev, err = etcd.ReadKey(ctx, ob.Mem.Client, room)
	if err != nil {
		return 0, err
	}
	there := map[string]bool{}
	if _, err := etcd.Scan(ctx, ob.Mem.Client, room, fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
		there[string(kv.Key)] = true
		ob.items.noteItem(ctx, kv)
		return ctx.Err()
	}); err != nil {
		return 0, err
	}

	// Items deleted since the last load are still cached, unless a watch has reported the deletion.
	ob.items.mu.Lock()
	defer ob.items.mu.Unlock()
	for key := range ob.items.byKey {
		if !there[key] {
			delete(ob.items.byKey, key)
		}
	}
	ob.items.seen = max(ob.items.seen, rev)

	return rev, nil
}

func (ob *Outbox) beginItems(ctx context.Context) int64 {
	for {
		rev, err := ob.loadItems(ctx)
		if err == nil || ctx.Err() != nil {
			return rev
		}
		klog.FromContext(ctx).Error(err, "the outbox cannot be read; it is tried again")
		etcd.Pause(ctx, time.Second)
	}
}

// followItems keeps the cached items up to date, by a watch for changes after revision rev. It wakes the outbox for
// items of this server, because a wakeup by the writer may come before the item is cached.
func (ob *Outbox) followItems(ctx context.Context, rev int64) {
	for ctx.Err() == nil {
		_ = etcd.Watch(ctx, ob.Mem.Client, ob.Mem.Layout.Room("outbox"), rev, func(events []*clientv3.Event) error {
			for _, e := range events {
				if e.Type == clientv3.EventTypeDelete {
					ob.items.mu.Lock()
					delete(ob.items.byKey, string(e.Kv.Key))
					ob.items.mu.Unlock()
				} else if item := ob.items.noteItem(ctx, e.Kv); item != nil && ob.Committer.OwnsItem(item.Work.ID) {
					ob.Committer.WakeOutbox()
				}
			}
			// After the items: a reader of seen must find all items up to there.
			ob.items.noteSeen(events)
			return nil
		})
		rev = ob.beginItems(ctx) // after a compaction, load all items again
	}
}
