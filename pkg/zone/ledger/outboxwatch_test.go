// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
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

func runDeaf(t *testing.T, change ...func(*ledger.Config)) (*store.Store, *store.Server, *deaf) {
	st := store.New(t)
	d := &deaf{compacted: make(chan struct{})}
	s := st.Server(append(change, func(c *ledger.Config) {
		d.Watcher = c.Client.Watcher
		client := clientv3.NewCtxClient(c.Client.Ctx())
		client.KV, client.Lease, client.Watcher = c.Client.KV, c.Client.Lease, d
		c.Client = client
	})...)
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

// While a zone's deletion is under way, its history is pending for its namespace, by object name and DNS name, and for
// all namespaces: while the watch of the outbox is behind, and while the work runs. Then the history has the removal.
func TestRemovedHistory_waitsForTheDeletion(t *testing.T) {
	t.Parallel()
	ends := make(chan struct{})
	end := sync.OnceFunc(func() { close(ends) })
	defer end()
	st, s, d := runDeaf(t, func(c *ledger.Config) {
		c.OnFault = func(at string) {
			if at == "archive" {
				<-ends
			}
		}
	})
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.")))
	must.Succeed(t, s.DeleteZone("infra", "example"))
	find := func(namespace, zone string) (*history.Answer, error) {
		read := s.Ledger.RemovedHistoryOf
		if zone == "example" {
			read = s.Ledger.RemovedHistory
		}
		a, _, err := read(t.Context(), namespace, zone, history.Ask{Limit: 1})
		return a, err
	}
	expectPending := func(what string) {
		t.Helper()
		for _, of := range [][2]string{{"infra", "example"}, {"infra", "example.org."}, {"", "example.org."}} {
			if a, err := find(of[0], of[1]); a != nil || !errors.Is(err, ledger.ErrRemoving) {
				t.Errorf("%s, %q: %+v, %v", what, of, a, err)
			}
		}
		for _, zone := range []string{"example", "example.org."} {
			if a, err := find("other", zone); a != nil || err != nil {
				t.Errorf("%s, %s of another namespace: %+v, %v", what, zone, a, err)
			}
		}
	}
	expectPending("before the watch")
	close(d.compacted)
	store.Eventually(t, "the next watch", func() bool { return d.watches.Load() == 2 })
	expectPending("while it is carried out")
	end()
	for _, of := range [][2]string{{"infra", "example"}, {"infra", "example.org."}, {"", "example.org."}} {
		store.Eventually(t, "the history has the removal", func() bool {
			a, err := find(of[0], of[1])
			return err == nil && a != nil && a.Items[0].Removed != nil
		})
	}
	st.Settle()
}
