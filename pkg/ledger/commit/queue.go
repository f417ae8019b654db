// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// Writes of one zone queue at its head, in order. The first commits by itself; those that come meanwhile go together
// in the next transaction. The lock of a zone is local to this process: it commits one batch at a time there, because
// two would fail each other's compares. Only time rests on the lock.

const (
	// batchTimeout bounds a batch. A batch belongs to many requests and ends with none of them.
	batchTimeout = 20 * time.Second
	// contention is the time for which a server counts another one that it met at a zone. After each commit it leaves
	// the zone to that server for yieldTrips round trips, in which that one reads what it has to decide anew and
	// commits. It adds one for each time that the other server has asked and still lost, up to maxYield.
	contention = time.Second
	yieldTrips = 2
	maxYield   = 200 * time.Millisecond
	// Where a commit takes slowCommit, the callers of a batch of largeBatch or more get a pause of at most maxPause
	// to come back: they come together, and half of them would miss the next transaction.
	SlowCommit = 4 * time.Millisecond
	largeBatch = 4
	maxPause   = 10 * time.Millisecond
)

// queue is the queue of a zone.
type queue struct {
	*facts.Head
	sem chan struct{} // the lock of the zone, and of read and apart

	// read has the withdrawals that were read last for writes here (facts.Overlay.Read).
	read map[law.Key]facts.Read
	// apart is the time until which its batches commit by themselves (together.go).
	apart time.Time

	// Memory.Mu guards the rest. waiting are the writes that wait here. committing says that a committer takes them.
	waiting    []*request
	committing bool
	// enough is closed when want writes wait; nil: no batch waits for writes.
	enough chan struct{}
	want   int
	// met is the time at which another server was met at the zone, asked the number of times that one has asked since
	// for the next commit there, and yield the time that is left to it.
	met   time.Time
	asked int
	yield time.Duration
	// trimming is the state of the trimming of its journal.
	trimming journal.Trimming
}

// queueAt returns the queue of a zone. The caller holds Memory.Mu.
func (com *Committer) queueAt(key string) *queue {
	q := com.queues[key]
	if q == nil {
		if len(com.queues) >= facts.MaxHeads {
			for k, old := range com.queues { // any that is not in use
				if len(old.sem) == 0 && len(old.waiting) == 0 {
					com.mem.Unpin(old.Head)
					delete(com.queues, k)
					break
				}
			}
		}
		q = &queue{Head: com.mem.Head(key), sem: make(chan struct{}, 1), read: map[law.Key]facts.Read{}}
		q.Pinned = true
		com.queues[key] = q
	}
	return q
}

// Lock takes the lock of a key for something other than a write, and returns the function that releases it.
func (com *Committer) Lock(ctx context.Context, key string) (unlock func(), err error) {
	com.mem.Mu.Lock()
	q := com.queueAt(key)
	com.mem.Mu.Unlock()
	select {
	case q.sem <- struct{}{}:
		return func() { <-q.sem }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// SubmitInOrder puts writes into the queue of a zone, "" for none, of which none is committed unless those before it
// are.
func (com *Committer) SubmitInOrder(ctx context.Context, zone string, writes []*Write) []Answer {
	requests, in := make([]*request, len(writes)), &order{}
	for i, w := range writes {
		requests[i] = newRequest(w)
		requests[i].order = in
	}
	answers := make([]Answer, len(writes))
	if zone == "" {
		com.carryOut(ctx, nil, slices.Clone(requests)) // which takes out of them what is overtaken
		for i, r := range requests {
			answers[i] = <-r.answer
		}
		return answers
	}
	com.mem.Mu.Lock()
	q := com.queueAt(zone)
	com.mem.Mu.Unlock()
	com.enqueueRequests(ctx, q, requests...)
	for i, r := range requests {
		answers[i] = com.awaitAnswer(ctx, q, r)
	}
	return answers
}

// request is a write that waits at a zone.
type request struct {
	w      *Write
	answer chan Answer // of one
	// order is set where this write is one of several that are committed in order.
	order *order
	// set is the change set that this is a write of; nil: of none.
	set *Set
	// answered says that it has its answer, and alone that a batch with it ended in a panic, so it is decided by
	// itself. Only the goroutine that carries it out reads and writes both.
	answered, alone bool
	// deciding is held while the write is decided, which reads the caller's object. A caller that has left may change
	// that object, so gone has the write left out.
	deciding sync.Mutex
	gone     bool
}

// goesAlone reports whether the request is decided by itself, in a batch of its own.
func (r *request) goesAlone() bool { return r.w.goesAlone() || r.alone }

// isBehind reports whether a write before this one in its order was not committed.
func (r *request) isBehind() bool { return r.order != nil && r.order.broken.Load() }

// order is shared by writes of which none is committed once one before it was not.
type order struct{ broken atomic.Bool }

// Answer is what a request gets: an outcome, or what the write needs first. Locks are those of zones that its plan
// changes too. Later is a refusal that may not stand for long. behind says that it was not committed because of another
// write of its order or its change set, or is a dry run. sent says that the write may be committed all the same.
type Answer struct {
	Out    Outcome
	Err    error
	sent   bool
	Locks  []string
	Later  *law.Refusal
	behind bool
}

func newRequest(w *Write) *request { return &request{w: w, answer: make(chan Answer, 1)} }

func (r *request) reply(a Answer) {
	if r.order != nil && !a.Out.OK {
		r.order.broken.Store(true)
	}
	r.answered = true
	r.answer <- a
}

// withdraw waits until nothing reads the caller's object, and keeps the request from being decided.
func (r *request) withdraw() {
	r.deciding.Lock()
	r.gone = true
	r.deciding.Unlock()
}

// Acquire takes the locks of zones beside those that the write has. It takes them in the order of their keys, so that
// two writes never wait for each other.
func (com *Committer) Acquire(ctx context.Context, w *Write, keys ...string) error {
	for _, h := range w.Locks {
		if !slices.Contains(keys, h.Key) {
			keys = append(keys, h.Key)
		}
	}
	com.Release(w.Locks...)
	w.Locks = nil
	slices.Sort(keys)
	for _, key := range keys {
		com.mem.Mu.Lock()
		h := com.queueAt(key)
		com.mem.Mu.Unlock()
		select {
		case h.sem <- struct{}{}:
			w.Locks = append(w.Locks, h)
		case <-ctx.Done():
			com.Release(w.Locks...)
			w.Locks = nil
			return ctx.Err()
		}
	}
	return nil
}

// Release gives locks up. It keeps the lock of a zone where another server was met a little longer, once after each
// commit, so that the other server has the next round trips (the replicas' turn rule).
func (com *Committer) Release(locks ...*queue) {
	for _, h := range locks {
		com.mem.Mu.Lock()
		wait := h.yield
		h.yield = 0
		com.mem.Mu.Unlock()
		if wait > 0 {
			time.AfterFunc(wait, func() { <-h.sem })
		} else {
			<-h.sem
		}
	}
}

// enqueueRequests puts requests into the queue of a zone. The first caller that finds no other there takes the lock
// and commits. Where others have come by then, a goroutine commits those, so that a write that is decided waits for
// no other.
func (com *Committer) enqueueRequests(ctx context.Context, h *queue, requests ...*request) {
	com.mem.Mu.Lock()
	h.waiting = append(h.waiting, requests...)
	first := !h.committing
	h.committing = true
	if h.enough != nil && len(h.waiting) >= h.want {
		close(h.enough)
		h.enough = nil
	}
	com.mem.Mu.Unlock()
	if !first {
		return
	}
	select {
	case h.sem <- struct{}{}:
	case <-ctx.Done():
		com.resignQueue(ctx, h)
		return
	}
	batch := com.takeBatch(h)
	if !slices.ContainsFunc(batch, func(r *request) bool { return !slices.Contains(requests, r) }) { // its own, if they are not answered yet (overtake)
		defer com.resignQueue(ctx, h)
		defer com.Release(h)
		com.carryOut(ctx, []*queue{h}, batch)
		return
	}
	com.mem.Spawn(func() { com.commitQueue(etcd.PaidBy(context.WithoutCancel(ctx)), h, batch) })
}

// awaitAnswer waits for the answer to a request, and takes the request out of the queue where its time ends first.
func (com *Committer) awaitAnswer(ctx context.Context, h *queue, r *request) Answer {
	select {
	case a := <-r.answer:
		return a
	case <-ctx.Done():
	}
	com.mem.Mu.Lock()
	waiting := len(h.waiting)
	h.waiting = slices.DeleteFunc(h.waiting, func(x *request) bool { return x == r })
	waiting -= len(h.waiting)
	com.mem.Mu.Unlock()
	if waiting > 0 {
		return Answer{Err: ctx.Err()}
	}
	r.withdraw()
	select {
	case a := <-r.answer:
		return a
	default:
		return Answer{Err: ctx.Err(), sent: true}
	}
}

// resignQueue leaves the writes that wait at a zone to a goroutine.
func (com *Committer) resignQueue(ctx context.Context, h *queue) {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	if h.committing = len(h.waiting) > 0; h.committing {
		com.mem.Spawn(func() { com.commitQueue(etcd.PaidBy(context.WithoutCancel(ctx)), h, nil) })
	}
}

// commitQueue carries one batch after the other, beginning with one for which it has the lock, until no write waits.
func (com *Committer) commitQueue(ctx context.Context, h *queue, batch []*request) {
	for {
		if len(batch) == 0 {
			h.sem <- struct{}{}
			if batch = com.takeBatch(h); len(batch) == 0 {
				com.mem.Mu.Lock()
				h.committing = len(h.waiting) > 0
				more := h.committing
				com.mem.Mu.Unlock()
				<-h.sem
				if !more {
					return
				}
				continue
			}
		}
		started := time.Now()
		com.carryLocked(ctx, h, batch)
		com.waitForBatch(h, len(batch), started)
		batch = nil
	}
}

// carryLocked carries a batch out within its time, and gives up the lock of its zone.
func (com *Committer) carryLocked(ctx context.Context, h *queue, batch []*request) {
	defer com.Release(h)
	within, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	com.carryOut(within, []*queue{h}, batch)
}

// takeBatch returns the next batch, in order.
func (com *Committer) takeBatch(h *queue) []*request {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	batch := h.waiting
	if len(batch) > layout.MaxSteps {
		batch = batch[:layout.MaxSteps:layout.MaxSteps]
	}
	h.waiting = slices.Clone(h.waiting[len(batch):])
	return batch
}

// waitForBatch waits for as many writes as the last batch had, where a commit takes long.
func (com *Committer) waitForBatch(h *queue, size int, started time.Time) {
	if size < largeBatch || com.latency.least() < com.slowCommit {
		return
	}
	com.mem.Mu.Lock()
	if len(h.waiting) >= size {
		com.mem.Mu.Unlock()
		return
	}
	enough := make(chan struct{})
	h.want, h.enough = size, enough
	com.mem.Mu.Unlock()
	timer := time.NewTimer(min(time.Since(started)/2, maxPause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-enough:
	}
}

// askFor asks the other servers to leave this one the next commit at a zone. A server that always wins meets no
// other, so one that has lost twice asks.
func (com *Committer) askFor(zone string) {
	ctx, cancel := context.WithTimeout(com.mem.Client.Ctx(), batchTimeout)
	defer cancel()
	_, _ = com.mem.Client.Txn(ctx).Then(etcd.OpPut(com.mem.Layout.Asked(), []byte(com.mem.ID+" "+zone))).Commit() // the next loss asks again
}

// FollowAsked notes which zones other servers ask for.
func (com *Committer) FollowAsked(ctx context.Context, rev int64) {
	for ctx.Err() == nil {
		_ = etcd.Watch(ctx, com.mem.Client, com.mem.Layout.Asked(), rev, func(events []*clientv3.Event) error {
			com.mem.Mu.Lock()
			defer com.mem.Mu.Unlock()
			for _, e := range events {
				id, zone, _ := strings.Cut(string(e.Kv.Value), " ")
				if h := com.queues[zone]; h != nil && id != com.mem.ID {
					h.met, h.asked = time.Now(), h.asked+1
				}
			}
			return nil
		})
		// The revision is compacted: what was asked before is through.
		if r, err := com.mem.Client.Get(ctx, com.mem.Layout.Asked()); err == nil {
			rev = r.Header.Revision
		} else {
			etcd.Pause(ctx, time.Second)
		}
	}
}

// latencies are the commit latencies of the last transactions.
type latencies struct {
	mu   sync.Mutex
	last [manyLatencies]time.Duration
	n    int
}

// manyLatencies are those of a second or two in a hot zone. Among few latencies there may be none of a transaction
// that found a processor free.
const manyLatencies = 256

func (t *latencies) note(trip time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.n%len(t.last)] = trip
	t.n++
}

// least returns the least of the latencies: what exceeds the disk's share is CPU time, which waiting does not reduce.
// 0: none is known.
func (t *latencies) least() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return 0
	}
	return slices.Min(t.last[:min(t.n, len(t.last))])
}
