// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"

	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/store"
)

// Each event of a watch contains the former value, with the version at which it was written. Only creations have none.
func TestWatcher_saysWhatWasBefore(t *testing.T) {
	w := newWorld(t)
	first := w.commitWrites(write{resource: "pods", name: "ns/a", value: "1"}, write{resource: "pods", name: "ns/b", value: "1"})
	second := w.commitWrites(write{resource: "pods", name: "ns/b", value: "2"}, write{resource: "pods", name: "ns/a"},
		write{resource: "pods", name: "ns/c", value: "1"})
	var got []string
	for r := range w.client.Watch(t.Context(), w.prefixOf("pods"), clientv3.WithPrefix(), clientv3.WithPrevKV(),
		clientv3.WithRev(first-1)) {
		for _, e := range r.Events {
			was := ""
			if e.PrevKv != nil {
				was = fmt.Sprintf("%s@%d", e.PrevKv.Value, e.PrevKv.ModRevision-first)
			}
			got = append(got, fmt.Sprintf("%s@%d was %q, created %v", strings.TrimPrefix(string(e.Kv.Key), w.prefixOf("pods")),
				e.Kv.ModRevision-first, was, e.IsCreate()))
		}
		if r.Header.Revision != second {
			t.Errorf("header %d, not %d", r.Header.Revision, second)
		}
		if len(got) >= 5 {
			break
		}
	}
	if want := []string{
		`ns/a@-1 was "", created true`, `ns/b@0 was "", created true`,
		`ns/b@126 was "1@0", created false`, `ns/a@127 was "1@-1", created false`, `ns/c@128 was "", created true`,
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A watch from a version inside a compacted revision delivers either all later events, or ErrCompacted and nothing
// else.
func TestWatcher_saysWhatIsCompacted(t *testing.T) {
	w := worldAlone(t)
	w.fillWorld(4, 3, 10)
	first := w.commitWrites(write{resource: "pods", name: "ns/a", value: "1"}, write{resource: "pods", name: "ns/b", value: "1"},
		write{resource: "pods", name: "ns/c", value: "1"})
	header := w.commitWrites(write{resource: "pods", name: "ns/a"}, write{resource: "pods", name: "ns/d", value: "1"},
		write{resource: "pods", name: "ns/b", value: "2"}, write{resource: "pods", name: "ns/c"})
	w.commitWrites(write{resource: "pods", name: "ns/e", value: "1"})
	watch := func(after int64) (got, want []string) {
		want = w.listWritesAfter("pods", "", after)
		return w.watchEvents(w.client, after+1, len(want), w.prefixOf("pods"), clientv3.WithPrefix()), want
	}
	revision, _ := subrev.Split(header)
	for _, c := range []struct {
		compacted int64
		whole     []int64 // versions with a whole watch after
		isRefused []int64
	}{
		{revision - 1, []int64{first, header - 4, header - 3, header - 1, header}, []int64{first - 1}},
		{revision, []int64{header}, []int64{first, header - 4, header - 3, header - 1}},
	} {
		store.Must(w.connectRaw().Compact(t.Context(), c.compacted, clientv3.WithCompactPhysical()))
		for _, after := range c.whole {
			if got, want := watch(after); !slices.Equal(got, want) {
				t.Errorf("compacted at %d, after %d: %q, not %q", c.compacted, after, got, want)
			}
		}
		for _, after := range c.isRefused {
			if got, _ := watch(after); !slices.Equal(got, []string{rpctypes.ErrCompacted.Error()}) {
				t.Errorf("compacted at %d, after %d: %q", c.compacted, after, got)
			}
		}
	}
}

func TestWatcher_joinsFragments(t *testing.T) {
	w := newWorld(t)
	big := strings.Repeat("x", 30_000)
	txn := func(value string) (out []write) {
		for i := range 40 {
			out = append(out, write{resource: "pods", name: fmt.Sprintf("big/%02d", i), value: value + big})
		}
		return out
	}
	before := w.commitWrites(txn("old")...)
	w.commitWrites(txn("new")...)
	want := w.listWritesAfter("pods", "", before)
	if got := w.watchEvents(w.client, before+1, 40, w.prefixOf("pods"), clientv3.WithPrefix(), clientv3.WithFragment()); !slices.Equal(got,
		want) {
		t.Errorf("%.60q", got)
	}
}

func TestWatcher_refuses(t *testing.T) {
	w := newWorld(t)
	for what, c := range map[string]struct {
		key  string
		opts []clientv3.OpOption
	}{
		"no deletions":        {w.prefixOf("pods"), []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithFilterDelete()}},
		"deletions alone":     {w.root, []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithFilterPut()}},
		"half of one of two":  {w.root + "/others/a", []clientv3.OpOption{clientv3.WithRange(w.root + "/pods0")}},
		"a part, and another": {w.root + "/pods/a", []clientv3.OpOption{clientv3.WithRange(w.root + "/z")}},
	} {
		r, ok := <-w.client.Watch(t.Context(), c.key, c.opts...)
		if !ok || r.Err() == nil {
			t.Errorf("%s: %v", what, r)
		}
	}
	// Filters are allowed only in a watch of keys outside the objects, and a watch of the store covers whole resources.
	journal := w.client.Watch(t.Context(), w.root+"/journal/", clientv3.WithPrefix(), clientv3.WithFilterDelete())
	all := w.client.Watch(t.Context(), w.root+"/", clientv3.WithPrefix(), clientv3.WithRev(store.Must(w.client.KV.Put(t.Context(), w.root+"/journal/0", "x")).Header.Revision))
	header := store.Must(w.client.KV.Put(t.Context(), w.root+"/journal/1", "x")).Header.Revision
	for what, in := range map[string]clientv3.WatchChan{"journal": journal, "all": all} {
		for r := range in {
			if r.Err() != nil {
				t.Errorf("%s: %v", what, r.Err())
			} else if at := r.Events[len(r.Events)-1].Kv.ModRevision; at == header {
				break
			}
		}
	}
}

type scriptedWatcher struct {
	clientv3.Watcher
	in   chan clientv3.WatchResponse
	once *sync.Once
}

func (x scriptedWatcher) Watch(context.Context, string, ...clientv3.OpOption) clientv3.WatchChan {
	return x.in
}
func (x scriptedWatcher) Close() error {
	x.once.Do(func() { close(x.in) })
	return x.Watcher.Close()
}

// connectReporting returns a wrapped client and the channel that feeds its watch.
func (w *world) connectReporting() (*kubernetes.Client, chan clientv3.WatchResponse) {
	c, in := w.connectRaw(), make(chan clientv3.WatchResponse, 100)
	c.Watcher = scriptedWatcher{c.Watcher, in, new(sync.Once)}
	w.makeMapping().Wrap(c.Client)
	return c, in
}

func (w *world) makePutEvents(revision int64, n int) (out []*clientv3.Event) {
	for i := range n {
		value := "x"
		if i < n-1 {
			value = string([]byte{0x80 | byte(128-n+i), 'x'})
		}
		out = append(out, &clientv3.Event{Type: mvccpb.Event_PUT,
			Kv: &mvccpb.KeyValue{Key: []byte(w.keyOf("pods", fmt.Sprintf("ns/%03d", i))), Value: []byte(value), ModRevision: revision}})
	}
	return out
}

// etcd may send the first events of a watch without the previous values that were requested. The watch must then read
// the previous value itself, because the storage would report its absence as a compaction.
func TestWatcher_readsThePreviousValueThatEtcdLeavesOut(t *testing.T) {
	w := newWorld(t)
	first := w.commitWrites(write{resource: "pods", name: "ns/a", value: "1"})
	w.commitWrites(write{resource: "pods", name: "ns/a", value: "2"})
	raw := store.Must(w.connectRaw().KV.Get(t.Context(), w.keyOf("pods", "ns/a"))).Kvs[0]
	client, in := w.connectReporting()
	watch := client.Watch(t.Context(), w.prefixOf("pods"), clientv3.WithPrefix(), clientv3.WithPrevKV())
	in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: raw.ModRevision},
		Events: []*clientv3.Event{{Type: mvccpb.Event_PUT, Kv: raw}}}
	e := (<-watch).Events[0]
	if e.PrevKv == nil || string(e.PrevKv.Value) != "1" || e.PrevKv.ModRevision != first {
		t.Errorf("before %s was %s, not 1 of version %d", e.Kv, e.PrevKv, first)
	}
}

// The watch cache has room for ten events for each watcher, and closes slow watchers. A revision with more events must
// therefore be delivered in parts of about eight.
func TestWatcher_handsARevisionOverInParts(t *testing.T) {
	w := newWorld(t)
	client, in := w.connectReporting()
	watch := client.Watch(t.Context(), w.prefixOf("pods"), clientv3.WithPrefix())
	in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 12}, Events: slices.Concat(w.makePutEvents(10, 1),
		w.makePutEvents(11, 40), w.makePutEvents(12, 8))}
	var parts []int
	last, n := int64(0), 0
	for r := range watch {
		parts = append(parts, len(r.Events))
		for _, e := range r.Events {
			if e.Kv.ModRevision <= last {
				t.Errorf("%d follows %d", e.Kv.ModRevision, last)
			}
			last = e.Kv.ModRevision
		}
		if n += len(r.Events); n == 49 {
			break
		}
	}
	// The first part also contains the lone event of the revision before.
	if want := []int{9, 8, 8, 8, 8, 8}; !slices.Equal(parts, want) {
		t.Errorf("parts of %v, not %v", parts, want)
	}
}

// A watch cache concludes from a progress notice that all earlier events have arrived. A notice must therefore carry
// the last version of its revision, and is held back while the watch is still before the version from which it began.
func TestWatcher_reportsProgress(t *testing.T) {
	w := newWorld(t)
	w.fillWorld(8, 10, 1) // etcd has the revisions below, also if this test runs alone
	client, in := w.connectReporting()
	since := subrev.Version(20, 100)
	watch := client.Watch(t.Context(), w.prefixOf("pods"), clientv3.WithPrefix(), clientv3.WithRev(since))
	shared := &etcdserverpb.ResponseHeader{Revision: 30}
	in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 18}, Created: true}
	// This notice comes from a member that lags.
	in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 19}}
	in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 25}, Events: w.makePutEvents(20, 128)[:100]} // all below
	in <- clientv3.WatchResponse{Header: shared}
	in <- clientv3.WatchResponse{Header: shared}
	if r := <-watch; !r.Created || r.Header.Revision != subrev.Version(18, subrev.Last) {
		t.Errorf("created: %v", r)
	}
	for range 2 { // with the same header, from which etcd's client resumes
		if r := <-watch; !r.IsProgressNotify() || r.Header.Revision != subrev.Version(30, subrev.Last) || shared.Revision != 30 {
			t.Errorf("progress: %v, header %d", r, shared.Revision)
		}
	}
	in <- clientv3.WatchResponse{CompactRevision: 40, Canceled: true}
	if r := <-watch; !errors.Is(r.Err(), rpctypes.ErrCompacted) || r.CompactRevision != subrev.Version(40, 0) {
		t.Errorf("compacted: %v", r)
	}
	if r, more := <-watch; more {
		t.Errorf("and the watch goes on: %v", r)
	}
}

// The events of a revision can be numbered only together. etcd never splits a revision over two responses. If a faulty
// client did, the watch must end with ErrCompacted, so that its caller lists again.
func TestWatcher_findsARevisionThatIsCut(t *testing.T) {
	w := newWorld(t)
	client, in := w.connectReporting()
	watch := client.Watch(t.Context(), w.prefixOf("pods"), clientv3.WithPrefix())
	all := w.makePutEvents(20, 4)
	in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 20}, Events: all[:2]}
	in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 20}, Events: all[2:]}
	if r := <-watch; len(r.Events) != 2 || r.Err() != nil {
		t.Errorf("%v", r)
	}
	if r := <-watch; !errors.Is(r.Err(), rpctypes.ErrCompacted) {
		t.Errorf("%v", r)
	}
}

// A watch ends, and Close returns, even if the caller has left in the middle of a revision without reading the rest.
func TestWatcher_ends(t *testing.T) {
	w := newWorld(t)
	client, in := w.connectReporting()
	ctx, cancel := context.WithCancel(t.Context())
	left := client.Watch(ctx, w.prefixOf("pods"), clientv3.WithPrefix())
	in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 20}, Events: w.makePutEvents(20, 128)}
	<-left
	cancel()
	store.Eventually(t, "the watch is closed", func() bool {
		select {
		case _, more := <-left:
			return !more
		default:
			return false
		}
	})
	client.Watch(t.Context(), w.prefixOf("pods"), clientv3.WithPrefix())
	in <- clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 21}, Events: w.makePutEvents(21, 128)}
	done := make(chan error)
	go func() { done <- client.Watcher.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("Close waits for a caller that has gone")
	}
}

// Close waits for earlier watches, and ends later ones.
func TestWatcher_closesBesideWatchesThatBegin(t *testing.T) {
	w := newWorld(t)
	for range 20 {
		client := w.connectWrapped()
		var all sync.WaitGroup
		one := make(chan struct{})
		for i := range 8 {
			all.Go(func() {
				answers := client.Watch(t.Context(), w.keyOf("pods", ""), clientv3.WithPrefix())
				if i == 0 {
					close(one)
				}
				for range answers {
				}
			})
		}
		<-one
		if err := client.Watcher.Close(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		all.Wait()
	}
}
