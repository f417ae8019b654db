// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/store"
)

// scissors cut each watch after some responses with events, like an etcd member that has lost its leader.
type scissors struct {
	clientv3.Watcher
	after    atomic.Int64 // 0: none
	cut      atomic.Int64 // watches
	progress atomic.Int64 // the last revision of a progress notification to every watch
}

func (s *scissors) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	ctx, cancel := context.WithCancel(ctx)
	in, out := s.Watcher.Watch(ctx, key, opts...), make(chan clientv3.WatchResponse)
	go func() {
		defer cancel()
		defer close(out)
		for had := int64(0); ; {
			select {
			case r, ok := <-in:
				if !ok {
					return
				}
				out <- r
				if r.IsProgressNotify() {
					s.progress.Store(r.Header.Revision)
				}
				if len(r.Events) > 0 {
					had++
				}
			case <-time.After(10 * time.Millisecond):
			}
			if after := s.after.Load(); after > 0 && had >= after || after < 0 {
				if after < 0 {
					s.after.Store(0)
				}
				s.cut.Add(1)
				out <- clientv3.WatchResponse{Canceled: true}
				return
			}
		}
	}()
	return out
}

type counting struct {
	following
	resets atomic.Int64
}

func (c *counting) Reset()                                   { c.resets.Add(1); c.following.Reset() }
func (c *counting) Base(ledger.Base)                         {}
func (c *counting) Apply(uid string, tx content.Transaction) { c.following.Apply(uid, tx) }

func startSnippedServer(t *testing.T, st *store.Store) (*store.Server, *scissors) {
	t.Helper()
	s := &scissors{}
	return st.Server(func(c *ledger.Config) {
		s.Watcher = c.Client.Watcher
		client := clientv3.NewCtxClient(c.Client.Ctx())
		client.KV, client.Lease, client.Watcher = c.Client.KV, c.Client.Lease, s
		c.Client = client
	}), s
}

// All steps arrive in order after the watch is cut off, and nothing is read again.
func TestFollow_resumesWhereItWasCutOff(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s, cut := startSnippedServer(t, st)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	cut.after.Store(1)
	sink := &counting{following: following{listing: listing{ready: func() {}}, steps: make(chan uint64, 100)}}
	ready := make(chan struct{})
	sink.ready = func() { close(ready) }
	go s.Ledger.Follow(t.Context(), sink)
	<-ready
	last := s.Zone("infra", "example").Status.ContentGeneration
	writer := st.Server()
	const n = 20
	want := uint64(last) + 1
	for i := range n { // in sequence, so that each is a response of its own
		store.Must(writer.CreateRecord(t.Context(), store.Record("infra", fmt.Sprint("r", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")))
		if i%5 == 0 { // names/, too
			store.Must(writer.CreateZone(store.Zone("infra", fmt.Sprint("z", i), fmt.Sprintf("z%d.test.", i))))
		}
		for came := false; !came; {
			select {
			case step := <-sink.steps:
				if step == 1 { // of the other zones
					continue
				}
				if step != want {
					t.Fatalf("step %d comes, want %d", step, want)
				}
				came = true
				want++
			case <-time.After(time.Minute):
				t.Fatalf("step %d does not come", want)
			}
		}
	}
	store.Eventually(t, "the names of all zones", func() bool { return s.Ledger.Knows("", "z15.test.") })
	if sink.resets.Load() != 1 {
		t.Errorf("it has read all zones %d times", sink.resets.Load())
	}
	if cut.cut.Load() < 5 {
		t.Errorf("%d watches were cut off only", cut.cut.Load())
	}
	cut.after.Store(0)
}

// A watch without events is cut off, and etcd has compacted the revision of its last event. Because etcd had reported
// progress beyond that revision, Follow resumes from there and need not read all zones again.
func TestFollow_resumesBehindACompactionReportedToIt(t *testing.T) {
	t.Parallel()
	st := store.On(t, store.Fresh(t), "/registry/kubizone") // compacted for itself alone
	s, cut := startSnippedServer(t, st)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	sink := &counting{following: following{listing: listing{ready: func() {}}, steps: make(chan uint64, 100)}}
	ready := make(chan struct{})
	sink.ready = func() { close(ready) }
	go s.Ledger.Follow(t.Context(), sink)
	<-ready
	var rev int64
	for range 10 {
		rev = store.Must(st.Client.Client.Put(t.Context(), st.Prefix+"/elsewhere", "x")).Header.Revision
	}
	store.Eventually(t, "etcd tells progress", func() bool { return cut.progress.Load() >= rev })
	store.Must(st.Client.Client.Compact(t.Context(), rev))
	cut.after.Store(-1)
	store.Eventually(t, "the watch is cut off", func() bool { return cut.cut.Load() > 0 })
	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.PrimaryNameServer = "ns9.example.net." }))
	<-sink.steps
	if sink.resets.Load() != 1 {
		t.Errorf("it has read all zones %d times", sink.resets.Load())
	}
}
