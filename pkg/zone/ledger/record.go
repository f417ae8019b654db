// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

type recordWrite = objectWrite[v1alpha1.Record, *v1alpha1.Record]

// Records returns a storage whose writes of Records go through the ledger. It reads from stored.
func (l *Ledger) Records(stored storage.Interface) storage.Interface {
	return &objectStorage[v1alpha1.Record, *v1alpha1.Record]{Interface: stored, mayTouch: l.refuseSuperseded,
		begin: func() (committer[v1alpha1.Record, *v1alpha1.Record], func()) { return l.commitRecord, func() {} }}
}

// commitRecord decides a try and commits the Record with its zone. An update that keeps the content needs no decision.
func (l *Ledger) commitRecord(ctx context.Context, w *recordWrite) (*v1alpha1.Record, commit.Outcome, error) {
	if lawform.SameContent(w.before, w.after) {
		data, err := l.encodeSame(ctx, w)
		if err != nil {
			return nil, commit.Outcome{}, err
		}
		out, err := l.com.WriteObjectOnly(ctx, l.mem.Layout.Record(w.after.Namespace, w.after.Name), w.expected, data)
		return nil, out, err
	}

	// 1. Ask the law. Cascades pause for clients, and see here that a client writes.
	l.com.Clients.Store(time.Now().UnixNano())
	ask, hint, err := l.recordAsk(ctx, w.before, w.after, lawform.Record)
	if err != nil {
		return nil, commit.Outcome{}, err
	}
	var placed *v1alpha1.Record
	tx := l.com.NewWrite("records", w.eitherObject(), w.expected)
	// A new name usually has no data, so the first decision guesses.
	tx.LikelyZone, tx.Guess = hint, w.before == nil
	tx.RecordBefore, tx.Origin = w.before, originOf(ctx, w.before, w.after)
	tx.Decide = func(seen *law.Facts) law.Outcome { return records.DecideRecord(seen, ask) }
	tx.ObjectOp = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		if plan.Awaited {
			// A Record of the namespace waits for the name, and the same transaction adopts it (S2.14).
			return nil, nil, errAwaited
		}
		if plan.Record == nil {
			op := clientv3.OpDelete(tx.Key)
			return &op, nil, nil
		}
		placed = w.after.DeepCopy()
		l.placer.PlaceRecord(placed, plan.Record)
		data, err := l.mem.Records.Encode(ctx, tx.Key, placed)
		op := etcd.OpPut(tx.Key, data)
		return &op, nil, err
	}

	// 2. Commit.
	out, err := l.com.Commit(ctx, tx)
	if errors.Is(err, errAwaited) {
		return l.commitReplacement(ctx, w)
	}
	if err != nil || !out.OK {
		return nil, out, err
	}
	// 3. Warn, and bring changed NS and glue to the parent.
	commit.Warn(ctx, tx.Plan.Warnings...)
	commit.WarnOfDeletions(ctx, tx.Plan.Zone)
	l.outbox.CountCuts(ctx, tx.Plan.Derivations)
	return placed, out, nil
}

// encodeSame encodes an update without a decision.
func (l *Ledger) encodeSame(ctx context.Context, w *recordWrite) ([]byte, error) {
	if w.after.Generation != w.before.Generation {
		w.after.Status.ObservedGeneration = w.after.Generation
	}
	return l.mem.Records.Encode(ctx, l.mem.Layout.Record(w.after.Namespace, w.after.Name), w.after)
}

// errAwaited ends the commit of a single write that leaves a name where Records wait.
var errAwaited = errors.New("records wait at the name")

// maxMoved bounds the tries with a waiting Record that other writes, such as of its labels, change meanwhile.
const maxMoved = 4

// commitReplacement commits a write that leaves a name, and in the same transaction the adoption of the first Record of
// its namespace that waits there and fits. Without such a Record, the write commits alone. The error is the refusal of
// the write.
func (l *Ledger) commitReplacement(ctx context.Context, w *recordWrite) (*v1alpha1.Record, commit.Outcome, error) {
	found, err := l.outbox.ListReplacements(ctx, w.before)
	if err != nil {
		return nil, commit.Outcome{}, err
	}
	for _, r := range found {
		for range maxMoved {
			waiting, err := r.Read(ctx)
			if err != nil {
				return nil, commit.Outcome{}, err
			}
			if waiting == nil {
				// Gone, damaged or adopted by now: try the next waiting Record.
				break
			}
			stored, out, isDone, err := l.commitWith(ctx, w, waiting)
			if err != nil || isDone {
				return stored, out, err
			}
			if waiting.Refusal != nil {
				break // does not fit
			}
		}
	}
	stored, out, _, err := l.commitWith(ctx, w)
	return stored, out, err
}

// commitWith commits the write and the adoption of the waiting Record, if any, in one transaction. The result isDone is
// false if the waiting Record was refused (Refusal), or has changed since it was read.
func (l *Ledger) commitWith(ctx context.Context, w *recordWrite, waiting ...*commit.SetWrite) (stored *v1alpha1.Record,
	out commit.Outcome, isDone bool, err error) {
	first := l.setWrite(ctx, w, "")
	for _, x := range waiting {
		// The waiting Record keeps the kind of rule that admitted the leaving Record (S4.17).
		x.Ask.Succeeds = first.Ask.Before
	}
	set := &commit.Set{Committer: l.com, Writes: append([]*commit.SetWrite{first}, waiting...), Commits: true}
	moved, err := set.Run(ctx)
	hasMoved := moved && first.Out.Rev != 0 // otherwise the waiting Record has
	isRefused := slices.ContainsFunc(waiting, func(x *commit.SetWrite) bool { return x.Refusal != nil })
	switch {
	case err != nil || hasMoved:
		return nil, first.Out, true, err
	case moved || isRefused:
		return nil, out, false, nil
	case first.Refusal != nil:
		return nil, out, true, first.Refusal
	}
	l.outbox.CountCuts(ctx, set.Derivations)
	return first.Result, commit.Outcome{OK: true, Rev: first.Out.Rev}, true, nil
}

// recordAsk converts a Record's write to the input of a decision, with the key of the likely zone as a hint. The
// function read converts the object after, with or without its data. The error is an API error.
func (l *Ledger) recordAsk(ctx context.Context, before, after *v1alpha1.Record,
	read func(*v1alpha1.Record) (*law.Record, error)) (records.RecordInput, string, error) {
	ask := records.RecordInput{Now: l.mem.Now(), WorkID: etcd.NewID(), By: commit.User(ctx)}
	var hint string
	if before != nil {
		ask.Namespace, ask.Name, ask.UID = before.Namespace, before.Name, string(before.UID)
		var err error
		if ask.Before, ask.WaitingBefore, err = objects.AdoptedOrWaiting(before); err != nil {
			return ask, "", err
		}
		ask.DueAt = lawform.DueAt(before)
		// True while the Record moves from a zone to another (S2.9).
		ask.HadZone = objects.IsMoving(before)
		if ask.Before != nil {
			// The Record's zone stays the same through edits (S1.7).
			hint = l.mem.Layout.Zone(ask.Before.Zone.Namespace, ask.Before.Zone.Name)
		}
	}

	if after != nil {
		ask.Namespace, ask.Name, ask.UID = after.Namespace, after.Name, string(after.UID)
		r, err := read(after)
		if err != nil {
			return ask, "", commit.Status("records", after.Name, &law.Refusal{Kind: law.Invalid, Message: err.Error()})
		}
		ask.After = r
		ask.SamePlace = before != nil && objects.SamePlace(before, after)
		ask.SetsExpiry = before == nil || !after.Spec.ExpiresAt.Equal(before.Spec.ExpiresAt)
		if hint == "" {
			hint = l.mem.GuessZone(r)
		}
	}

	return ask, hint, nil
}

// setWrite returns a write of a change set. In the history, a manager other than "" replaces those of the items, which
// differ in a set that gives former Records back.
func (l *Ledger) setWrite(ctx context.Context, w *recordWrite, manager string) *commit.SetWrite {
	x := &commit.SetWrite{Ctx: ctx, Before: w.before, After: w.after, Expected: w.expected, Origin: originOf(ctx, w.before, w.after)}
	x.Origin.Manager = cmp.Or(manager, x.Origin.Manager)
	// AskErr is about this item alone, so that the others are still decided.
	if x.Ask, x.LikelyZone, x.AskErr = l.recordAsk(ctx, w.before, w.after, lawform.Record); x.Ask.After != nil {
		x.Ask.After.WaitsOnConflict = false // in a set no Record waits
	}
	return x
}
