// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

// Writers of one zone queue at its head. Who finds nobody before him goes alone, at the
// cost of one compare; whoever comes meanwhile goes with the others (batch.go).

// Where the disk is slow, a batch of at least companyOf is followed by a pause for those it answered,
// who come back together: without it half of them would miss the next one, and wait for two turns at it. Where it is
// fast, they had better be decided while others are answered: there is a processor to keep busy. oneBatch is
// about as many as one transaction takes.
const (
	companyOf = 4
	oneBatch  = 20
	maxPause  = 10 * time.Millisecond
	// rivalry is how long another server is reckoned with that was met at a zone, and
	// maxYield the longest wait that makes room for it.
	rivalry  = time.Second
	maxYield = 50 * time.Millisecond
)

// request is a write that waits at a zone.
type request struct {
	w      *write
	answer chan answer // of one
	// deciding is held while the write is decided, which reads the object of its caller;
	// who has gone may change that, and his write is not decided any more.
	deciding sync.Mutex
	gone     bool
}

// answer to a request. alone: it is no matter for a batch.
type answer struct {
	out   outcome
	err   error
	alone bool
}

func (r *request) reply(out outcome, err error) { r.answer <- answer{out: out, err: err} }

// batchable: one record of a client, whose zone can be guessed.
func (w *write) batchable() bool {
	return w.resource == "records" && w.standing == nil && w.also == nil && !w.keep && w.hint != "" && len(w.locks) == 0
}

// enqueue waits for the outcome of the batch that takes the write along. done: that is
// it; otherwise the write is alone, and may hold the zone's lock already. Who finds
// nobody at work takes the zone's turn himself, and where he finds others there
// then, leaves it to a goroutine: whose write is decided waits for nobody else's.
func (l *Ledger) enqueue(ctx context.Context, w *write) (out outcome, done bool, err error) {
	r := &request{w: w, answer: make(chan answer, 1)}
	l.mu.Lock()
	h := l.head(w.hint)
	h.queue = append(h.queue, r)
	first := !h.committing
	h.committing = true
	if h.enough != nil && len(h.queue) >= h.want {
		close(h.enough)
		h.enough = nil
	}
	l.mu.Unlock()
	if first {
		select {
		case h.sem <- struct{}{}:
			batch, _ := l.take(h)
			if len(batch) == 1 && batch[0] == r && !l.rivalled(h) {
				w.locks = append(w.locks, h)
				l.resign(ctx, h)
				return outcome{}, false, nil
			}
			if batch == nil { // its record is being written
				<-h.sem
			}
			l.spawn(func() { l.committer(paidBy(context.WithoutCancel(ctx)), h, batch) })
		case <-ctx.Done():
			defer l.resign(ctx, h)
		}
	}
	select {
	case a := <-r.answer:
		return a.out, !a.alone, a.err
	case <-ctx.Done():
	}
	l.mu.Lock()
	waiting := len(h.queue)
	h.queue = slices.DeleteFunc(h.queue, func(x *request) bool { return x == r })
	waiting -= len(h.queue)
	l.mu.Unlock()
	if waiting > 0 {
		return outcome{}, true, l.late(w, ctx.Err())
	}
	r.leave()
	return outcome{}, true, ctx.Err() // somebody carries it: its outcome is unknown
}

// leave waits until nobody reads the caller's object, and sees to it that nobody
// will again.
func (r *request) leave() {
	r.deciding.Lock()
	r.gone = true
	r.deciding.Unlock()
}

// resign leaves the writes that wait at a zone to a goroutine, where there are any.
func (l *Ledger) resign(ctx context.Context, h *head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.committing = len(h.queue) > 0; h.committing {
		l.spawn(func() { l.committer(paidBy(context.WithoutCancel(ctx)), h, nil) })
	}
}

// committer carries one batch after the other, beginning with one for which it has
// the zone's turn already, until nobody waits. The next one is decided while the
// records of the last are written: what those become is settled, and nobody else
// can write them. Beside another server it is not, and lets that one have the next two
// round trips: it reads what it has to decide on anew, and commits (the replicas' turn rule).
func (l *Ledger) committer(ctx context.Context, h *head, batch []*request) {
	for {
		if batch == nil {
			h.sem <- struct{}{}
			var landing <-chan struct{}
			for batch, landing = l.take(h); landing != nil; batch, landing = l.take(h) {
				<-landing
			}
			if batch == nil {
				<-h.sem
				return
			}
		}
		started := time.Now()
		trip := l.carry(ctx, h, batch)
		if l.rivalled(h) {
			l.landed(h, nil)
			time.Sleep(min(2*trip, maxYield))
		} else {
			l.gather(h, len(batch), started)
		}
		batch = nil
	}
}

// gather waits for company where the disk is slow: as many as the last batch had, and where all who
// write the zone fit into one, for all of them. Two batches beside each other would then be halves of
// one, each of which waits for the other's turns at the disk.
func (l *Ledger) gather(h *head, company int, started time.Time) {
	if company < companyOf || !l.slow() {
		return
	}
	l.mu.Lock()
	if all := len(h.queue) + len(h.aloft) + 1; all <= oneBatch { // who was answered at the commit point comes back too
		company = max(company, all)
	}
	enough := make(chan struct{})
	if len(h.queue) >= company {
		close(enough)
	} else {
		h.want, h.enough = company, enough
	}
	l.mu.Unlock()
	if !l.landed(h, enough) {
		return
	}
	timer := time.NewTimer(min(time.Since(started)/2, maxPause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-enough:
	}
}

// landed waits until the records of the zone's batches are written, or for before.
func (l *Ledger) landed(h *head, before <-chan struct{}) bool {
	for {
		l.mu.Lock()
		landing := h.landing
		l.mu.Unlock()
		if landing == nil {
			return true
		}
		select {
		case <-landing:
		case <-before:
			return false
		}
	}
}

// take is the next batch, in order, one write of a record at most: the second
// would be decided on a revision that the first is about to end. So would one of a
// record that a log still has: where there are only such, landing says when to ask
// again. None: nobody waits, and the caller is no committer any more.
func (l *Ledger) take(h *head) (batch []*request, landing <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rest []*request
	for _, r := range h.queue {
		if len(batch) == maxBatch || h.aloft[r.w.key] || slices.ContainsFunc(batch, func(x *request) bool { return x.w.key == r.w.key }) {
			rest = append(rest, r)
		} else {
			batch = append(batch, r)
		}
	}
	if h.queue = rest; len(batch) > 0 {
		return batch, nil
	}
	if h.committing = len(rest) > 0; h.committing {
		return nil, h.landing
	}
	return nil, nil
}

// carry decides and commits a batch and has its records written; it holds the
// zone's lock and lets go of it. trip is what the last transaction took.
func (l *Ledger) carry(ctx context.Context, h *head, batch []*request) (trip time.Duration) {
	within, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	tries, bound := 0, maxBatchBytes
	for len(batch) > 0 && tries < maxTries {
		b := &assembly{l: l, head: h, bound: bound, guess: tries == 0, stale: tries == 0 && l.rivalled(h)}
		rest := b.decide(within, batch)
		flight, land := context.WithTimeout(ctx, batchTimeout)
		sent := time.Now()
		again := b.commit(within, flight)
		trip, bound = time.Since(sent), b.bound
		if b.at > 0 {
			l.turns.took(trip)
		}
		if len(b.late) > 0 { // and none is decided again
			l.spawn(func() {
				defer land()
				b.finish(flight)
			})
		} else {
			land()
		}
		if len(again) > 0 {
			if tries++; b.knocked {
				time.Sleep(min(trip, maxYield))
			} else if tries > 1 {
				l.knock(within, h, b.zone.UID)
			}
		}
		batch = append(again, rest...)
	}
	alone(batch)
	l.mu.Lock()
	h.foreign = false // rivalled says it
	l.mu.Unlock()
	<-h.sem
	return trip
}

// rivalled reports whether another server has been met at the zone lately.
func (l *Ledger) rivalled(h *head) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(h.rival) < rivalry
}

// knock tells a server whose batches follow each other that another one waits: its
// last log is gone before it takes it away.
func (l *Ledger) knock(ctx context.Context, h *head, zone string) {
	l.landed(h, ctx.Done())
	r, err := l.config.Client.Get(ctx, l.layout.Logs(zone), clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return // the next try meets the same
	}
	var newest *mvccpb.KeyValue
	l.mu.Lock()
	for _, kv := range r.Kvs {
		own := slices.ContainsFunc(h.logs, func(log standingLog) bool { return log.key == string(kv.Key) })
		if !own && (newest == nil || newest.ModRevision < kv.ModRevision) {
			newest = kv
		}
	}
	l.mu.Unlock()
	if newest == nil {
		return
	}
	if err := l.carryOutLog(ctx, string(newest.Key)); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).V(2).Info("a redo log of another server is not carried out; it does that itself", "key", string(newest.Key), "err", err)
	}
}
