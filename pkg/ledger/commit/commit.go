// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/ledger/etcd"
)

// Commit decides and commits a write. The outcome is not OK where the object is at another revision than the expected
// one. A write whose plan changes more zones than the one it waited at takes the locks of all of them.
func (com *Committer) Commit(ctx context.Context, w *Write) (Outcome, error) {
	if !w.Keep {
		defer func() { com.Release(w.Locks...); w.Locks = nil }()
	}
	for postponed := time.Duration(0); ; {
		a := com.submitWrite(ctx, w)
		switch {
		case a.sent:
			w.Sent = true
			return Outcome{}, unknownOutcome(fmt.Sprintf("%s %q", w.Resource, w.Name), a.Err)
		case a.Err != nil:
			return Outcome{}, com.Late(w, a.Err)
		case len(a.Locks) > 0:
			if err := com.Acquire(ctx, w, a.Locks...); err != nil {
				return Outcome{}, com.Late(w, err)
			}
		case a.Later != nil:
			if postponed += laterPause; postponed > maxPostponed {
				return Outcome{}, Status(w.Resource, w.Name, a.Later)
			}
			com.Release(w.Locks...)
			w.Locks = nil
			etcd.Pause(ctx, laterPause)
		default:
			return a.Out, nil
		}
	}
}

// submitWrite puts a write into the queue of its zone. A write commits by itself where it has its locks, changes more
// than a Record, or concerns no zone that is known.
func (com *Committer) submitWrite(ctx context.Context, w *Write) Answer {
	r := newRequest(w)
	if w.goesAlone() && w.Hint != "" && len(w.Locks) == 0 {
		if err := com.Acquire(ctx, w, w.Hint); err != nil {
			return Answer{Err: err}
		}
	}
	if len(w.Locks) > 0 || w.Hint == "" {
		com.carryOut(ctx, w.Locks, []*request{r})
		return <-r.answer
	}
	com.mem.Mu.Lock()
	h := com.queueAt(w.Hint)
	com.mem.Mu.Unlock()
	com.enqueueRequests(ctx, h, r)
	return com.awaitAnswer(ctx, h, r)
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

// carryOut decides and commits requests under the caller's locks of zones, in order, as many at a time as go
// together, until each is answered.
func (com *Committer) carryOut(ctx context.Context, locks []*queue, requests []*request) {
	bound := MaxBatchOctets
	for try := 0; len(requests) > 0; {
		b := &batch{com: com, locks: locks, try: try, bound: bound}
		if len(locks) > 0 {
			b.head = locks[0]
		}
		again, rest := b.carryOnce(ctx, requests)
		switch {
		case len(again) == 0:
			try = 0
		case b.raced:
			try++
		}
		bound = b.bound
		if requests = append(again, rest...); ctx.Err() != nil {
			replyAll(requests, Answer{Err: ctx.Err()})
			return
		}
	}
}

// carryOnce decides and commits as many requests as go together. It returns those that are to be decided anew, and
// those left over. A panic is the answer to its request, and no more than that.
func (b *batch) carryOnce(ctx context.Context, requests []*request) (again, rest []*request) {
	var err error
	all := slices.Clone(requests)
	defer func() {
		if err != nil {
			again, rest = b.answerPanic(err, all), nil
		}
	}()
	defer b.com.Recover(ctx, &b.sent, &err)
	rest = b.decideRequests(ctx, requests)
	again = b.commitOnce(ctx)
	return again, b.answerOvertaken(rest)
}

// Plain writes an object whose content does not change. It compares the object's own revision alone, and no zone
// waits for it.
func (com *Committer) Plain(ctx context.Context, key string, expected int64, data []byte) (Outcome, error) {
	op := clientv3.OpDelete(key)
	if data != nil {
		op = etcd.OpPut(key, data)
	}
	r, err := com.mem.Client.Txn(ctx).If(etcd.RevisionIs(key, expected)).Then(op).Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return Outcome{}, unknownOutcome("the write", err)
	}
	if !r.Succeeded {
		return Outcome{Rev: r.Header.Revision, KV: etcd.One(r.Responses[0])}, nil
	}
	return Outcome{OK: true, Rev: etcd.VersionAt(r, 0)}, nil
}

// A write that may pass when cascades are through is decided anew every laterPause, for maxPostponed in all. Then the
// client is told to come again. Meanwhile the write has no turn in the queue, which the cascades need.
const (
	laterPause   = 50 * time.Millisecond
	maxPostponed = time.Second
)

// goesAlone reports whether the write is a batch by itself. A write of a zone's own object, or of objects beside it,
// is decided on the zone as it stands.
func (w *Write) goesAlone() bool { return w.Resource != "records" || w.Keep }

// commitOnce sends the batch and answers the requests that it settles. It returns the requests that are to be decided
// anew.
func (b *batch) commitOnce(ctx context.Context) (again []*request) {
	if len(b.members) == 0 {
		return nil
	}
	then, err := b.buildTransaction(ctx)
	if err != nil {
		b.answerAll(Answer{Err: err})
		return nil
	}
	var o outcome
	if b.isShared() {
		o = b.sendShared(ctx, then)
	} else {
		var orelse []clientv3.Op
		if b.try > 0 { // the first try will do, mostly
			orelse = b.readCompared()
		}
		o = b.sendTransaction(b.paidContext(ctx), b.cmps, then, orelse)
	}
	return b.settleSent(ctx, o, then)
}

// settleSent answers the requests of the batch that its transaction settles, and returns those that are to be decided
// anew.
func (b *batch) settleSent(ctx context.Context, o outcome, then []clientv3.Op) (again []*request) {
	switch {
	case o.err == nil && o.r.Succeeded:
		b.com.latency.note(o.trip)
		b.applyResult(o.r, o.trip)
	case o.shared && !b.sent: // it commits by itself next
		b.raced = true
		return b.requests()
	case o.err == nil:
		b.raced = true
		b.keepApart()
		if again = b.resolveConflicts(ctx, o.r); b.set != nil && len(again) < len(b.members) {
			replyAll(again, Answer{behind: true})
			return nil
		}
		return again
	case isRefusedByEtcd(o.err):
		return b.shrinkNext(o.err, then)
	default:
		if b.sent {
			b.dropFacts()
		}
		b.answerAll(Answer{Err: o.err, sent: b.sent})
	}
	return nil
}
