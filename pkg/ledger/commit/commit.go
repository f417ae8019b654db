// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/traces"
)

// Commit decides and commits a write. Outcome.OK is false if the object has another revision.
func (com *Committer) Commit(ctx context.Context, w *Write) (Outcome, error) {
	if !w.KeepLocks {
		defer com.releaseAll(w)
	}
	a, _ := com.commitGroup(ctx, newGroup(w))
	return a.Out, a.apiError(w.String())
}

// Run commits the change set. err concerns all writes, SetWrite.Refusal a single one. If moved is true, writes of
// changed objects must begin again, in a new set.
func (t *Set) Run(ctx context.Context) (moved bool, err error) {
	g := t.newGroup()
	defer t.Committer.releaseAll(g.firstWrite())
	a, g := t.Committer.commitGroup(etcd.PaidBy(ctx, etcd.Payer{Namespace: t.Writes[0].Namespace(), Weight: 1}), g)
	if t.Sent = a.sent || a.Out.OK; a.Err != nil { // set before readOutcome may panic
		return false, a.apiError("the change set")
	}
	return t.readOutcome(g), nil
}

// commitGroup submits a group (a write or a change set) to its zone's queue, again and again until the answer is final.
// Between tries it locks the zones that the answer asks for. If background work at the zone (a cascade) delays the
// group, the group waits outside the queue, because the cascade needs the queue. last is the copy of the group in the
// last try, as each try has its own.
func (com *Committer) commitGroup(ctx context.Context, g *group) (a Answer, last *group) {
	ctx, span := traces.Start(ctx, "Commit")
	defer func() { traces.End(span, a.Err != nil, "refused or failed") }() // also after a panic
	g.commit = span
	com.packStates(g.firstWrite().LikelyZone, g)

	var locks []string
	for postponed := time.Duration(0); ; g = g.renew() {
		// A group with a batch of its own locks the zone at once.
		w := g.firstWrite()
		if g.goesAlone() && w.LikelyZone != "" && len(w.Locks)+len(locks) == 0 {
			locks = []string{w.LikelyZone}
		}
		if len(locks) > 0 {
			if err := com.Acquire(ctx, w, locks...); err != nil {
				return Answer{Err: err}, g
			}
		}

		a := com.submitGroup(ctx, g)
		switch locks = a.Locks; {
		case a.Err != nil:
			return a, g
		case len(locks) > 0:
		case a.Later != nil:
			com.releaseAll(w)
			etcd.Pause(ctx, laterPause)
			postponed += laterPause
			g.finalRefusal = postponed >= maxPostponed
		default:
			return a, g
		}
	}
}

// A temporary refusal is decided again every laterPause, up to maxPostponed; then the client gets 429.
const (
	laterPause   = 50 * time.Millisecond
	maxPostponed = time.Second
)

func (com *Committer) submitGroup(ctx context.Context, g *group) Answer {
	w := g.firstWrite()
	if len(w.Locks) > 0 || w.LikelyZone == "" {
		com.commitAll(ctx, w.Locks, []*group{g})
		return <-g.answer
	}
	return com.queueGroups(ctx, w.LikelyZone, g)[0]
}

// SubmitInOrder commits writes in order, none after a failed or refused write, through the zone's queue unless zone is
// "".
func (com *Committer) SubmitInOrder(ctx context.Context, zone string, writes []*Write) []Answer {
	groups, in := make([]*group, len(writes)), &order{}
	for i, w := range writes {
		groups[i] = newGroup(w)
		groups[i].order = in
	}
	com.packStates(zone, groups...)
	if zone != "" {
		return com.queueGroups(ctx, zone, groups...)
	}
	com.commitAll(ctx, nil, slices.Clone(groups)) // commitGroups deletes from the slice
	answers := make([]Answer, len(groups))
	for i, g := range groups {
		answers[i] = <-g.answer
	}
	return answers
}

// Callers hold the locks.
func (com *Committer) commitAll(ctx context.Context, locks []*queue, groups []*group) {
	at := attempt{locks: locks, bound: MaxBatchOctets}
	for len(groups) > 0 {
		at.head = headOf(locks, groups[0].firstWrite().LikelyZone)
		b := &batch{com: com, attempt: at}
		again, rest := b.commitGroups(ctx, groups)
		switch {
		case len(again) == 0:
			at.retries = 0
		case b.raced:
			at.retries++
		}
		at.bound = b.bound
		for _, g := range again {
			g.endTry(b.raced)
		}
		if groups = append(again, rest...); ctx.Err() != nil {
			replyAll(groups, Answer{Err: ctx.Err()})
			return
		}
	}
}

func headOf(locks []*queue, zone string) *queue {
	if len(locks) == 0 {
		return nil
	}
	return locks[max(0, slices.IndexFunc(locks, func(q *queue) bool { return q.Key == zone }))]
}

func (b *batch) commitGroups(ctx context.Context, groups []*group) (again, rest []*group) {

	var fault error
	all := slices.Clone(groups)
	defer func() {
		if fault != nil {
			again, rest = b.answerPanic(fault, all), nil
		}
	}()
	defer b.com.Recover(ctx, &b.sent, &fault)

	rest, err := b.decideGroups(ctx, groups)
	if err != nil {
		replyAll(all, Answer{Err: err})
		return nil, nil
	}
	if len(b.groups) == 0 {
		return nil, rest
	}

	ctx, span := b.startBatch(ctx)
	defer span.End()
	o := outcome{err: b.buildPuts(ctx)}
	switch { // refusals and dry runs have no puts, but their compares are sent
	case o.err != nil:
	case b.mayShare():
		o = b.sendShared(ctx)
	default:
		o = b.sendAlone(ctx)
	}

	switch {
	case o.err == nil && o.r.Succeeded: // all compares held
		b.com.latency.note(o.trip)
		b.answerCommitted(o.r, o.trip)
	case o.shared && !b.sent: // other batches may have failed it, so this one commits alone next
		b.raced = true
		again = b.groups
	case o.err == nil: // a fact or an object has changed
		b.raced = true
		b.suspendSharing()
		again = b.resolveConflicts(ctx, o.r)
	case o.refused:
		again = b.shrinkNext(o.err)
	default: // nothing is sent twice, and memory forgets what may be written
		if b.sent {
			b.com.mem.DropFacts(b.sessions...)
		}
		replyAll(b.groups, Answer{Err: o.err, sent: b.sent})
	}
	return again, b.answerOvertaken(rest)
}

func (b *batch) startBatch(ctx context.Context) (context.Context, trace.Span) {
	b.span = traces.None
	for _, g := range b.groups {
		if !g.isRecorded() {
			continue
		}
		if b.span == traces.None {
			ctx, b.span = traces.Start(traces.Within(ctx, g.commit), "Batch")
		} else {
			g.commit.AddLink(trace.Link{SpanContext: b.span.SpanContext()})
		}
		b.span.AddLink(trace.Link{SpanContext: g.commit.SpanContext()})
	}
	if b.span == traces.None {
		return traces.Within(ctx, b.span), b.span
	}
	b.span.SetAttributes(attribute.Int("kubizone.groups", len(b.groups)), attribute.Int("kubizone.try", b.retries))
	if b.Zone != nil {
		b.span.SetAttributes(attribute.String("kubizone.zone", b.Zone.FQDN().String()))
	}
	return ctx, b.span
}

// WriteObjectOnly puts or, if data is nil, deletes an object that is still at the revision expected, 0 for absent.
// Otherwise Outcome.OK is false. The zone does not change, so it needs no lock.
func (com *Committer) WriteObjectOnly(ctx context.Context, key string, expected int64, data []byte) (Outcome, error) {
	op := clientv3.OpDelete(key)
	if data != nil {
		op = etcd.OpPut(key, data)
	}
	if err := ctx.Err(); err != nil {
		return Outcome{}, TimeoutError("the write", err)
	}
	r, err := com.mem.Client.Txn(ctx).If(etcd.RevisionIs(key, expected)).Then(op).Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return Outcome{}, unknownOutcome("the write", err)
	}
	if !r.Succeeded {
		return Outcome{Rev: r.Header.Revision, KV: etcd.FirstKV(r.Responses[0])}, nil
	}
	return Outcome{OK: true, Rev: etcd.VersionAt(r, 0)}, nil
}

// Preview decides a write for a dry run: a transaction without puts proves that the stored values read (facts) are
// current. The object, just read by the caller, is not compared.
func (com *Committer) Preview(ctx context.Context, w *Write) (law.Outcome, error) {
	g := newGroup(&Write{Object: w.Object, Decide: w.Decide})
	g.preview, g.finalRefusal = true, true
	ctx, g.commit = traces.Start(ctx, "Preview")
	defer g.commit.End()
	com.commitAll(ctx, nil, []*group{g})
	a, m := <-g.answer, g.members[0]
	switch {
	case errors.Is(a.Err, facts.ErrMoved):
		return law.Outcome{}, TooBusy(w.String(), a.Err)
	case a.Err != nil:
		return law.Outcome{}, a.apiError(w.String())
	}
	refusal, _ := m.refusal.(*law.Refusal)
	return law.Outcome{Plan: m.plan, Refusal: refusal}, nil
}
