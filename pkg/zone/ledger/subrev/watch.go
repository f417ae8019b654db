// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const burst = 8

const pause = time.Millisecond

type watcher struct {
	clientv3.Watcher
	kv      *kv
	closed  chan struct{}
	mu      sync.Mutex
	ended   bool
	watches sync.WaitGroup
}

type view struct {
	m                *Mapping
	requested        span
	narrow           bool  // the watch at etcd is wider than requested
	firstVersion     int64 // 0 for the present
	objects          bool  // the span may have objects
	wantsPrevKV      bool
	begun            bool
	lastRevision     int64
	eventsSincePause int
	lastPause        time.Time
}

// Watch delivers changes from a version on. At etcd it watches whole resources from the start of a revision, as only
// whole revisions can be numbered.
func (w *watcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	out := make(chan clientv3.WatchResponse, 1)
	op := clientv3.OpWatch(key, opts...)
	// 1. Widen the watch to whole resources.
	v := &view{m: w.kv.m, requested: spanOf(op), firstVersion: op.Rev(), wantsPrevKV: op.IsPrevKV()}
	opts = opts[:len(opts):len(opts)] // the last option of a kind counts
	touched, in := v.m.resourcesIn(v.requested)
	if v.objects = len(touched) > 0; v.objects {
		if op.IsFilterDelete() || op.IsFilterPut() {
			return refusedWatch(out, errors.New("a watch of objects has no filter, since a deletion is numbered by the writes that "+
				"follow it"))
		}
		for _, r := range touched {
			if resource := v.m.resources[r]; in && !v.requested.covers(resource) {
				// For example, a namespace's Records: the events of other namespaces are counted, and then dropped.
				v.narrow = true
				key, opts = resource, append(opts, clientv3.WithPrefix())
			} else if !v.requested.covers(resource) {
				return refusedWatch(out, errors.New("a watch is of whole resources, of a part of one, or of none"))
			}
		}
	}

	// 2. Begin at the revision of the first version. Its earlier writes are dropped later.
	if v.firstVersion > 0 {
		revision, _ := Split(v.firstVersion)
		opts = append(opts, clientv3.WithRev(max(1, revision)))
	}

	if !w.beginWatch() {
		close(out)
		return out
	}

	// 3. Map the responses in a goroutine, the only user of v.
	ctx, cancel := context.WithCancel(ctx)
	answers := w.Watcher.Watch(ctx, key, opts...)
	go func() {
		defer w.watches.Done()
		defer cancel()
		defer close(out)
		for r := range answers {
			if !w.kv.mapWatchResponse(ctx, v, &r) {
				// No event is left, or ctx has ended.
				continue
			}
			if !w.sendParts(ctx, v, out, r) || r.Err() != nil {
				return
			}
		}
	}()

	return out
}

func (w *watcher) beginWatch() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.watches.Add(1)
	}
	return !w.ended
}

func refusedWatch(out chan clientv3.WatchResponse, err error) clientv3.WatchChan {
	out <- clientv3.WatchResponse{Canceled: true, CancelReason: err.Error()}
	close(out)
	return out
}

// sendParts sends a response in parts of at most burst events of transactions, with a pause between. It returns false
// if the watch ends before.
func (w *watcher) sendParts(ctx context.Context, v *view, out chan<- clientv3.WatchResponse, r clientv3.WatchResponse) bool {
	send := func(events []*clientv3.Event) bool {
		part := r
		part.Events = events
		select {
		case out <- part:
			return true
		case <-ctx.Done():
		case <-w.closed:
		}
		return false
	}

	revision := func(i int) int64 { return r.Events[i].Kv.ModRevision / Objects }
	from := 0
	for i := range r.Events {
		if (i == 0 || revision(i) != revision(i-1)) && (i == len(r.Events)-1 || revision(i) != revision(i+1)) {
			// The only event of its revision needs no pause.
			continue
		}
		if i == 0 && time.Since(v.lastPause) >= pause {
			// The last response was long enough ago for the watch cache to catch up.
			v.eventsSincePause = 0
		}

		if v.eventsSincePause == burst {
			if i > from && !send(r.Events[from:i]) {
				return false
			}
			from, v.eventsSincePause = i, 0
			if !w.waitPause(ctx) {
				return false
			}
		}

		v.eventsSincePause++
	}

	defer func() { v.lastPause = time.Now() }()
	return send(r.Events[from:])
}

func (w *watcher) waitPause(ctx context.Context) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
	case <-w.closed:
	}
	return false
}

// mapWatchResponse rewrites a response of an etcd watch, and drops events outside the requested keys. If none is left,
// the result is false, because the client would take an empty response for a progress report.
func (k *kv) mapWatchResponse(ctx context.Context, v *view, r *clientv3.WatchResponse) bool {
	// Copy the header, because etcd's client shares headers between watches and resumes by their revision.
	if h := r.Header; h != nil {
		r.Header = &etcdserverpb.ResponseHeader{ClusterId: h.ClusterId, MemberId: h.MemberId, Revision: Version(h.Revision, Last),
			RaftTerm: h.RaftTerm}
	}

	r.CompactRevision = Version(r.CompactRevision, 0)
	if len(r.Events) == 0 {
		// A lagging member may report progress before the first version.
		return !r.IsProgressNotify() || r.Header.GetRevision() >= v.firstVersion-1
	}

	// At the first revision of the watch, a compaction may have removed deleted keys and previous values, and so
	// falsified the versions. If the revision before still exists, no such compaction precedes the response.
	if begins, _ := Split(v.firstVersion); v.objects && !v.begun && r.Events[0].Kv.ModRevision == begins && begins > 1 {
		switch _, err := k.KV.Get(ctx, v.requested.key, clientv3.WithRev(begins-1), clientv3.WithCountOnly()); {
		case errors.Is(err, rpctypes.ErrCompacted):
			*r = compactedResponse(r, begins)
			return true
		case ctx.Err() != nil:
			return false
		case err != nil:
			*r = clientv3.WatchResponse{Header: r.Header, Canceled: true, CancelReason: err.Error()}
			return true
		}
	}

	v.begun = true
	if v.objects && v.wantsPrevKV {
		k.readPrevious(ctx, r.Events)
	}

	shown, unnumbered := v.mapEvents(r.Events)
	if unnumbered > 0 {
		*r = compactedResponse(r, unnumbered+1)
		return true
	}
	r.Events = shown
	return len(shown) > 0
}

// mapEvents numbers events, a revision at a time, and returns the requested ones with versions. A revision in two
// responses, or without numbers, has no versions: then that revision is returned, and the caller lists again.
func (v *view) mapEvents(events []*clientv3.Event) (shown []*clientv3.Event, unnumbered int64) {
	var room [8]int64
	for rest := events; len(rest) > 0; {
		revision, n := rest[0].Kv.ModRevision, 1
		for n < len(rest) && rest[n].Kv.ModRevision == revision {
			n++
		}
		subs, ok := v.m.countEvents(rest[:n], room[:0])
		if !ok || revision == v.lastRevision {
			return nil, revision
		}

		for i, e := range rest[:n] {
			if Version(revision, subs[i]) < v.firstVersion || v.narrow && !v.requested.contains(string(e.Kv.Key)) {
				continue
			}
			v.m.mapKV(e.Kv, subs[i])
			// A previous value has its own sub-revision.
			v.m.mapKV(e.PrevKv, -1)
			shown = append(shown, e)
		}

		v.lastRevision, rest = revision, rest[n:]
	}
	return shown, 0
}

// readPrevious adds missing previous values to events. Etcd leaves them out if the watch begins before etcd notes that
// the client wants them, and the storage would then end a client's watch.
func (k *kv) readPrevious(ctx context.Context, events []*clientv3.Event) {
	for _, e := range events {
		if e.IsCreate() || e.PrevKv != nil {
			continue
		}
		if r, err := k.KV.Get(ctx, string(e.Kv.Key), clientv3.WithRev(e.Kv.ModRevision-1)); err == nil && len(r.Kvs) > 0 {
			// After a compaction the value stays missing, as etcd itself would leave it.
			e.PrevKv = r.Kvs[0]
		}
	}
}

func compactedResponse(r *clientv3.WatchResponse, revision int64) clientv3.WatchResponse {
	return clientv3.WatchResponse{Header: r.Header, Canceled: true, CompactRevision: Version(revision, 0)}
}

// Close ends this watcher's watches, and waits for them.
func (w *watcher) Close() error {
	w.mu.Lock()
	if !w.ended {
		w.ended = true
		close(w.closed)
	}
	w.mu.Unlock()
	err := w.Watcher.Close()
	w.watches.Wait()
	return err
}
