// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// Writes of one zone queue at its head, in order. The first of them commits by itself; those that come meanwhile go together in
// the next transaction. The lock of a zone is this process's own: it commits one batch at a time there, since two would
// only fail each other's compares. Nothing rests on it but time.

const (
	// batchTimeout bounds a batch: it belongs to many requests and ends with none of them.
	batchTimeout = 20 * time.Second
	// rivalry is how long another server is reckoned with that was met at a zone. After each commit it is left so long as yieldTrips of them
	// take, to read what it has to decide on anew and commit, one more for each time that it has asked and still lost, and maxYield at most.
	rivalry    = time.Second
	yieldTrips = 2
	maxYield   = 200 * time.Millisecond
	// Where a commit takes slowCommit, a batch of companyOf or more is followed by a pause of at most maxPause for the callers that it
	// answered: they come back together, and half of them would miss the next transaction.
	slowCommit = 4 * time.Millisecond
	companyOf  = 4
	maxPause   = 10 * time.Millisecond
)

// queue is that of a zone.
type queue struct {
	*head
	sem chan struct{} // the lock of the zone

	// The rest is guarded by Ledger.mu.
	// waiting are the writes that wait here; committing: a committer sees to them.
	waiting    []*request
	committing bool
	// enough is closed when want of them wait; nil: nothing waits for that.
	enough chan struct{}
	want   int
	// rival is when another server was met at the zone, asked how often one has asked since for the next commit there, yield how long that is
	// left to it.
	rival time.Time
	asked int
	yield time.Duration
	// trimming is that of its journal.
	trimming trimming
}

// queueAt returns the queue of a zone. The caller holds com.mem.mu.
func (com *committer) queueAt(key string) *queue {
	q := com.queues[key]
	if q == nil {
		if len(com.queues) >= maxHeads {
			for k, old := range com.queues { // any that is not in use
				if len(old.sem) == 0 && len(old.waiting) == 0 {
					old.pinned = false
					delete(com.queues, k)
					break
				}
			}
		}
		q = &queue{head: com.mem.head(key), sem: make(chan struct{}, 1)}
		q.pinned = true
		com.queues[key] = q
	}
	return q
}

// request is a write that waits at a zone.
type request struct {
	w      *write
	answer chan answer // of one
	// order: this write and others are to go in, in order.
	order *order
	// deciding is held while the write is decided, which reads the object of its caller. A caller that has gone may change that,
	// so gone has the write left out.
	deciding sync.Mutex
	gone     bool
}

// order is of writes of which none goes in once one before it has not.
type order struct{ broken atomic.Bool }

// answer to a request: an outcome, or what the write needs first. locks are those of zones that its plan changes too;
// later: a refusal that may not stand for long; behind: a write before it in its order did not go in. sent: the write may be committed all the same.
type answer struct {
	out    outcome
	err    error
	sent   bool
	locks  []string
	later  *law.Refusal
	behind bool
}

func newRequest(w *write) *request { return &request{w: w, answer: make(chan answer, 1)} }

func (r *request) reply(a answer) {
	if r.order != nil && !a.out.ok {
		r.order.broken.Store(true)
	}
	r.answer <- a
}

// leave waits until nothing reads the caller's object, and sees to it that nothing will again.
func (r *request) leave() {
	r.deciding.Lock()
	r.gone = true
	r.deciding.Unlock()
}

// acquire takes the locks of zones beside those that the write has, in key order so that two
// writes never wait for each other.
func (com *committer) acquire(ctx context.Context, w *write, keys ...string) error {
	for _, h := range w.locks {
		if !slices.Contains(keys, h.key) {
			keys = append(keys, h.key)
		}
	}
	com.release(w.locks...)
	w.locks = nil
	slices.Sort(keys)
	for _, key := range keys {
		com.mem.mu.Lock()
		h := com.queueAt(key)
		com.mem.mu.Unlock()
		select {
		case h.sem <- struct{}{}:
			w.locks = append(w.locks, h)
		case <-ctx.Done():
			com.release(w.locks...)
			w.locks = nil
			return ctx.Err()
		}
	}
	return nil
}

// release gives locks up. Of a zone where another server was met it does so later, once after each commit, so that the other one
// has the next round trips (the replicas' turn rule).
func (com *committer) release(locks ...*queue) {
	for _, h := range locks {
		com.mem.mu.Lock()
		wait := h.yield
		h.yield = 0
		com.mem.mu.Unlock()
		if wait > 0 {
			time.AfterFunc(wait, func() { <-h.sem })
		} else {
			<-h.sem
		}
	}
}

// enqueue puts requests behind those that wait at a zone. The first caller that finds none there takes the lock itself; where others
// have come by then, a goroutine goes on, so that a write that is decided waits for no other.
func (com *committer) enqueue(ctx context.Context, h *queue, requests ...*request) {
	com.mem.mu.Lock()
	h.waiting = append(h.waiting, requests...)
	first := !h.committing
	h.committing = true
	if h.enough != nil && len(h.waiting) >= h.want {
		close(h.enough)
		h.enough = nil
	}
	com.mem.mu.Unlock()
	if !first {
		return
	}
	select {
	case h.sem <- struct{}{}:
	case <-ctx.Done():
		com.resign(ctx, h)
		return
	}
	batch := com.take(h)
	if !slices.ContainsFunc(batch, func(r *request) bool { return !slices.Contains(requests, r) }) { // its own, if they are not answered yet (overtake)
		com.carry(ctx, []*queue{h}, batch)
		com.release(h)
		com.resign(ctx, h)
		return
	}
	com.mem.spawn(func() { com.commitQueue(paidBy(context.WithoutCancel(ctx)), h, batch) })
}

// wait returns the answer to a request, and takes it out of the queue where its time ends first.
func (com *committer) wait(ctx context.Context, h *queue, r *request) answer {
	select {
	case a := <-r.answer:
		return a
	case <-ctx.Done():
	}
	com.mem.mu.Lock()
	waiting := len(h.waiting)
	h.waiting = slices.DeleteFunc(h.waiting, func(x *request) bool { return x == r })
	waiting -= len(h.waiting)
	com.mem.mu.Unlock()
	if waiting > 0 {
		return answer{err: ctx.Err()}
	}
	r.leave()
	select {
	case a := <-r.answer:
		return a
	default:
		return answer{err: ctx.Err(), sent: true}
	}
}

// resign leaves the writes that wait at a zone to a goroutine, where there are any.
func (com *committer) resign(ctx context.Context, h *queue) {
	com.mem.mu.Lock()
	defer com.mem.mu.Unlock()
	if h.committing = len(h.waiting) > 0; h.committing {
		com.mem.spawn(func() { com.commitQueue(paidBy(context.WithoutCancel(ctx)), h, nil) })
	}
}

// committer carries one batch after the other, beginning with one for which it has the lock, until no write waits.
func (com *committer) commitQueue(ctx context.Context, h *queue, batch []*request) {
	for {
		if len(batch) == 0 {
			h.sem <- struct{}{}
			if batch = com.take(h); len(batch) == 0 {
				com.mem.mu.Lock()
				h.committing = len(h.waiting) > 0
				more := h.committing
				com.mem.mu.Unlock()
				<-h.sem
				if !more {
					return
				}
				continue
			}
		}
		within, cancel := context.WithTimeout(ctx, batchTimeout)
		started := time.Now()
		com.carry(within, []*queue{h}, batch)
		cancel()
		com.release(h)
		com.gather(h, len(batch), started)
		batch = nil
	}
}

// take is the next batch, in order.
func (com *committer) take(h *queue) []*request {
	com.mem.mu.Lock()
	defer com.mem.mu.Unlock()
	batch := h.waiting
	if len(batch) > layout.MaxSteps {
		batch = batch[:layout.MaxSteps:layout.MaxSteps]
	}
	h.waiting = slices.Clone(h.waiting[len(batch):])
	return batch
}

// gather waits for as many writes as the last batch had, where a commit takes long.
func (com *committer) gather(h *queue, company int, started time.Time) {
	if company < companyOf || com.latency.disk() < com.slowCommit {
		return
	}
	com.mem.mu.Lock()
	if len(h.waiting) >= company {
		com.mem.mu.Unlock()
		return
	}
	enough := make(chan struct{})
	h.want, h.enough = company, enough
	com.mem.mu.Unlock()
	timer := time.NewTimer(min(time.Since(started)/2, maxPause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-enough:
	}
}

// askFor has the other servers leave this one the next commit at a zone. A server that always wins meets no other, so one that has lost twice
// says that it is there.
func (com *committer) askFor(zone string) {
	ctx, cancel := context.WithTimeout(com.mem.client.Ctx(), batchTimeout)
	defer cancel()
	_, _ = com.mem.client.Txn(ctx).Then(opPut(com.mem.layout.Asked(), []byte(com.mem.id+" "+zone))).Commit() // the next loss asks again
}

// followAsked notes which zones other servers ask for.
func (com *committer) followAsked(ctx context.Context, rev int64) {
	for ctx.Err() == nil {
		_ = watch(ctx, com.mem.client, com.mem.layout.Asked(), rev, func(events []*clientv3.Event) error {
			com.mem.mu.Lock()
			defer com.mem.mu.Unlock()
			for _, e := range events {
				id, zone, _ := strings.Cut(string(e.Kv.Value), " ")
				if h := com.queues[zone]; h != nil && id != com.mem.id {
					h.rival, h.asked = time.Now(), h.asked+1
				}
			}
			return nil
		})
		// Compacted: what was asked before is through.
		if r, err := com.mem.client.Get(ctx, com.mem.layout.Asked()); err == nil {
			rev = r.Header.Revision
		} else {
			pause(ctx, time.Second)
		}
	}
}

// latencies are what the last transactions of writes took.
type latencies struct {
	mu   sync.Mutex
	last [manyLatencies]time.Duration
	n    int
}

// manyLatencies are a second or two of a zone that is hot. Among few of them there may be none that found a processor free.
const manyLatencies = 256

func (t *latencies) took(trip time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.n%len(t.last)] = trip
	t.n++
}

// disk is the least of them: what is waited for beside the disk is CPU time, which no waiting makes less. 0: none is known.
func (t *latencies) disk() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return 0
	}
	return slices.Min(t.last[:min(t.n, len(t.last))])
}
