// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
)

// Commit decides and commits a write. Outcome.OK is false if the object has another revision.
func (com *Committer) Commit(ctx context.Context, w *Write) (Outcome, error) {
	a, _ := com.commitGroup(ctx, newGroup(w))
	return a.Out, a.apiError(w.String())
}

// Run commits the change set. The error concerns all writes; SetWrite.Refusal has the refusal of a single write. If Run
// returns true, objects have changed since their callers read them: their writes must begin again, in a new Set.
func (t *Set) Run(ctx context.Context) (moved bool, err error) {
	a, g := t.Committer.commitGroup(etcd.PaidBy(ctx, etcd.Payer{Namespace: t.Writes[0].Namespace(), Weight: 1}), t.newGroup())
	if t.Sent = a.sent || a.Out.OK; a.Err != nil { // set before readOutcome may panic
		return false, a.apiError("the change set")
	}
	return t.readOutcome(g), nil
}

// commitGroup submits a group (a write or a change set) to its zone's queue, again and again until the answer is final.
// If background work at the zone (a cascade) delays the group, the group waits outside the queue, because the cascade
// needs the queue. Each try has its own copy of the group, and commitGroup returns the last copy.
func (com *Committer) commitGroup(ctx context.Context, g *group) (a Answer, last *group) {
	ctx, span := traces.Start(ctx, "Commit")
	defer func() { traces.End(span, a.Err != nil, "refused or failed") }() // also after a panic
	g.commit = span
	if !g.firstWrite().KeepLocks {
		defer com.releaseAll(g.firstWrite())
	}
	com.packStates(g.firstWrite().LikelyZone, g)

	var locks []string
	postponed := time.Duration(0)
	for {
		// 1. Take the locks that the try before has found missing.
		// A group with a batch of its own locks the zone at once.
		w := g.firstWrite()
		hasLocks := len(w.Locks)+len(locks) > 0
		if g.goesAlone() && w.LikelyZone != "" && !hasLocks {
			locks = []string{w.LikelyZone}
		}
		if len(locks) > 0 {
			if err := com.Acquire(ctx, w, locks...); err != nil {
				return Answer{Err: err}, g
			}
		}

		// 2. Submit a single group, which gets a single answer.
		answer := com.submit(ctx, w.Locks, w.LikelyZone, g)[0]
		locks = answer.Locks // for the next try
		needsLocks := len(locks) > 0
		isDelayed := answer.Later != nil
		isFinal := !needsLocks && !isDelayed
		if answer.Err != nil || isFinal {
			return answer, g
		}

		// 3. Wait outside the queue, for at most a second in sum.
		if !needsLocks {
			com.releaseAll(w)
			etcd.Pause(ctx, laterPause)
			postponed += laterPause
			g.finalRefusal = postponed >= maxPostponed
		}
		// A try that lacks only locks goes on without a pause.
		g = g.renew()
	}
}

// A temporary refusal is decided again every laterPause, up to maxPostponed; then the client gets 429.
const (
	laterPause   = 50 * time.Millisecond
	maxPostponed = time.Second
)

// submit commits groups through the queue of the zone with the key zoneKey. If the caller holds locks, or zoneKey is
// empty, submit commits them at once.
func (com *Committer) submit(ctx context.Context, locks []*queue, zoneKey string, groups ...*group) []Answer {
	if len(locks) == 0 && zoneKey != "" {
		return com.queueGroups(ctx, zoneKey, groups...)
	}
	// The locks keep the queue's goroutine out, so this goroutine commits instead.
	com.commitAll(ctx, locks, slices.Clone(groups)) // commitGroups deletes from the slice
	answers := make([]Answer, len(groups))
	for i, g := range groups {
		answers[i] = <-g.answer
	}
	return answers
}

// SubmitInOrder commits writes one after the other, and none after a failed or refused write. The writes go through the
// queue of the zone with the key zoneKey, unless the key is empty.
func (com *Committer) SubmitInOrder(ctx context.Context, zoneKey string, writes []*Write) []Answer {
	groups, shared := make([]*group, len(writes)), &order{}
	for i, w := range writes {
		groups[i] = newGroup(w)
		groups[i].order = shared
	}
	com.packStates(zoneKey, groups...)
	return com.submit(ctx, nil, zoneKey, groups...)
}

// commitAll commits groups in batches until each group has an answer. When ctx ends, the groups left get the error of
// ctx. The caller holds the locks, of the groups' zone or of several.
func (com *Committer) commitAll(ctx context.Context, locks []*queue, groups []*group) {
	try := attempt{locks: locks, bound: MaxBatchOctets}
	for len(groups) > 0 {
		// Groups of a caller with several locks may concern another of the zones than the batch before.
		try.queue = queueOf(locks, groups[0].firstWrite().LikelyZone)
		b := &batch{com: com, attempt: try}
		again, rest := b.commitGroups(ctx, groups)
		switch {
		case len(again) == 0:
			// The next batch begins with memory as it is, and may guess again.
			try.retries = 0
		case b.raced:
			// Only a failed compare counts. A batch that was only too large had no race.
			try.retries++
		}
		// Halved if etcd found the transaction too large: the groups behind are probably as long.
		try.bound = b.bound
		for _, g := range again {
			g.endTry(b.raced)
		}
		if groups = append(again, rest...); ctx.Err() != nil {
			replyAll(groups, Answer{Err: ctx.Err()})
			return
		}
	}
}

func queueOf(locks []*queue, zone string) *queue {
	if len(locks) == 0 {
		return nil
	}
	return locks[max(0, slices.IndexFunc(locks, func(q *queue) bool { return q.Key == zone }))]
}

// commitGroups commits as many of the groups as fit into a transaction, and answers them. It returns the groups to
// decide again after a conflict, and the rest, for which the batch had no room. A panic is answered as an error
// (answerPanic).
func (b *batch) commitGroups(ctx context.Context, groups []*group) (again, rest []*group) {
	var fault error
	all := slices.Clone(groups)
	defer func() {
		if fault != nil {
			again, rest = b.answerPanic(fault, all), nil
		}
	}()
	defer b.com.Recover(ctx, &b.sent, &fault)

	// 1. Decide.
	rest, err := b.decideGroups(ctx, groups)
	if err != nil {
		replyAll(all, Answer{Err: err})
		return nil, nil
	}
	if len(b.groups) == 0 {
		// No group needs a transaction: callers have left, or locks are missing.
		return nil, rest
	}

	// 2. Send the transaction.
	ctx, b.span = traces.StartJoint(ctx, "Batch", b.causes)
	defer b.span.End()
	b.describeSpan()
	o := outcome{err: b.buildPuts(ctx)}
	switch { // refusals and dry runs have no puts, but their compares are sent
	case o.err != nil:
	case b.mayShare():
		// Takes waiting batches of other zones along, or goes along with another batch.
		o = b.sendShared(ctx)
	default:
		o = b.sendAlone(ctx)
	}

	// 3. Answer, or find out why the transaction failed.
	switch {
	case o.committed: // all compares held
		// A shared transaction answers with the operations of all batches, so take the slice of this batch.
		b.com.latency.note(o.trip)
		versions := etcd.Versions(o.r.Responses[b.offset:][:len(b.then)])
		b.answerCommitted(o.r.Header.Revision, versions, o.trip)
	case o.err != nil && b.sent: // nothing is sent twice, and memory forgets what may be written
		b.com.Mem.DropFacts(b.readSets...)
		replyAll(b.groups, Answer{Err: o.err, sent: true})
	case o.shared && !b.sent: // other batches may have failed it, so this one commits alone next
		b.raced = true
		again = b.groups
	case o.err == nil: // a fact or an object has changed
		b.raced = true
		b.suspendSharing()
		again = b.resolveConflicts(ctx, o.r.Header.Revision, o.stored)
	case o.refused:
		// etcd's limits of octets or operations: a smaller batch may pass.
		again = b.shrinkNext(o.err)
	default:
		// Nothing can be written: the transaction was not sent, or has compares only.
		replyAll(b.groups, Answer{Err: o.err})
	}
	return again, b.answerOvertaken(rest)
}

// WriteObjectOnly puts an object, or deletes it if data is nil. If the object is no longer at the expected revision (0
// for absent), nothing is written, and Outcome.OK is false. No zone changes, so no lock is needed.
func (com *Committer) WriteObjectOnly(ctx context.Context, key string, expected int64, data []byte) (Outcome, error) {
	op := clientv3.OpDelete(key)
	if data != nil {
		op = etcd.OpPut(key, data)
	}
	// Before the transaction is sent, the error can promise that nothing was written.
	if err := ctx.Err(); err != nil {
		return Outcome{}, TimeoutError("the write", err)
	}
	r, err := com.Mem.Client.Txn(ctx).If(etcd.RevisionIs(key, expected)).Then(op).Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return Outcome{}, unknownOutcome("the write", err)
	}
	if !r.Succeeded {
		return Outcome{Rev: r.Header.Revision, KV: etcd.FirstKV(r.Responses[0])}, nil
	}
	return Outcome{OK: true, Rev: etcd.Versions(r.Responses)[0]}, nil
}

// Preview decides a write for a dry run. A transaction without puts proves that the facts (stored values) read by the
// decision are current. The object is not compared, because the caller has just read it.
func (com *Committer) Preview(ctx context.Context, w *Write) (law.Outcome, error) {
	g := newGroup(&Write{Object: w.Object, Decide: w.Decide})
	// A dry run answers for now: no waiting for a lock of names to end.
	g.preview, g.finalRefusal = true, true
	ctx, g.commit = traces.Start(ctx, "Preview")
	defer g.commit.End()
	a, m := com.submit(ctx, nil, "", g)[0], g.members[0]
	switch {
	case errors.Is(a.Err, facts.ErrMoved):
		// The facts contradicted each other in each try, most likely because other writes changed them in between.
		return law.Outcome{}, TooBusy(w.String(), a.Err)
	case a.Err != nil:
		return law.Outcome{}, a.apiError(w.String())
	}
	refusal, _ := m.refusal.(*law.Refusal)
	return law.Outcome{Plan: m.plan, Refusal: refusal}, nil
}
