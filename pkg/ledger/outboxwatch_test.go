// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/history"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// deaf is a watcher whose first watch of the outbox stays silent until its next revision is compacted.
type deaf struct {
	clientv3.Watcher
	compacted chan struct{}
	watches   atomic.Int64 // of the outbox
	resumedAt atomic.Int64 // revision of the second
}

func (d *deaf) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	if !strings.HasSuffix(key, "/outbox/") {
		return d.Watcher.Watch(ctx, key, opts...)
	}
	if d.watches.Add(1) > 1 {
		d.resumedAt.CompareAndSwap(0, clientv3.OpGet(key, opts...).Rev())
		return d.Watcher.Watch(ctx, key, opts...)
	}
	out := make(chan clientv3.WatchResponse)
	go func() {
		defer close(out)
		select {
		case <-ctx.Done():
		case <-d.compacted:
			out <- clientv3.WatchResponse{Canceled: true, CompactRevision: 1 << 40}
		}
	}()
	return out
}

func runDeaf(t *testing.T) (*store.Store, *store.Server, *deaf) {
	st := store.New(t)
	d := &deaf{compacted: make(chan struct{})}
	s := st.Server(func(c *ledger.Config) {
		d.Watcher = c.Client.Watcher
		client := clientv3.NewCtxClient(c.Client.Ctx())
		client.KV, client.Lease, client.Watcher = c.Client.KV, c.Client.Lease, d
		c.Client = client
	})
	t.Cleanup(s.Run())
	store.Eventually(t, "the watch of the outbox", func() bool { return d.watches.Load() == 1 })
	return st, s, d
}

// etcd compacts revisions that the watch of the outbox still needs. The server then lists the outbox, carries out the
// missed items, and watches from the revision of the list.
func TestRun_readsTheOutboxBehindACompaction(t *testing.T) {
	t.Parallel()
	st, s, d := runDeaf(t)
	for _, domain := range []string{"www.example.org.", "www.example.net."} { // a zone with waiting objects has a work
		store.Must(s.CreateRecord(t.Context(), store.Record("infra", strings.Trim(domain, "."), domain, "A", "192.0.2.1")))
	}
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.")))
	outbox := layout.Keys{Prefix: st.Prefix}.Room("outbox")
	if !strings.HasSuffix(outbox, "/outbox/") {
		t.Fatalf("the outbox is at %s", outbox)
	}
	pending := store.Must(st.Client.Client.Get(t.Context(), outbox, clientv3.WithPrefix()))
	if len(pending.Kvs) != 1 {
		t.Fatalf("%d items", len(pending.Kvs))
	}
	close(d.compacted)
	isEmpty := func() bool {
		return store.Must(st.Client.Client.Get(t.Context(), outbox, clientv3.WithPrefix())).Count == 0
	}
	store.Eventually(t, "the end of the work", isEmpty)
	store.Eventually(t, "the next watch", func() bool { return d.watches.Load() == 2 })
	if at, made := d.resumedAt.Load(), pending.Kvs[0].ModRevision; at <= made {
		t.Errorf("it follows from revision %d on, and the item is of %d", at, made)
	}
	store.Must(s.CreateZone(store.Zone("infra", "other", "example.net.")))
	store.Eventually(t, "the end of the next work", isEmpty)
}

// A zone is deleted, and the watch of the outbox is behind. Its history is pending by object name, DNS name, and for
// all namespaces, and readable once the deletion is carried out.
func TestRemovedHistory_waitsForADeletionBeforeTheWatch(t *testing.T) {
	t.Parallel()
	_, s, d := runDeaf(t)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.")))
	must.Succeed(t, s.DeleteZone("infra", "example"))
	find := map[string]func() (*history.Header, error){
		"by object": func() (*history.Header, error) {
			_, of, err := s.Ledger.RemovedHistory(t.Context(), "infra", "example", history.Ask{Limit: 1})
			return of, err
		},
		"by DNS name": func() (*history.Header, error) {
			_, of, err := s.Ledger.RemovedHistoryOf(t.Context(), "infra", "example.org.", history.Ask{Limit: 1})
			return of, err
		},
		"in all namespaces": func() (*history.Header, error) {
			_, of, err := s.Ledger.RemovedHistoryOf(t.Context(), "", "example.org.", history.Ask{Limit: 1})
			return of, err
		},
	}
	for name, get := range find {
		if of, err := get(); of != nil || !errors.Is(err, ledger.ErrRemoving) {
			t.Errorf("%s: %+v, %v", name, of, err)
		}
	}
	close(d.compacted)
	for name, get := range find {
		store.Eventually(t, "the history "+name, func() bool {
			of, err := get()
			return err == nil && of != nil && of.Name == "example"
		})
	}
}
