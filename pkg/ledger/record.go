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
	"kubi.zone/kubizone/pkg/apis/kubizone/lawform"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

func (l *Ledger) Records(raw storage.Interface) storage.Interface {
	return &objectStorage[v1alpha1.Record, *v1alpha1.Record]{Interface: raw,
		newStoreWrite: func(w *objectWrite[v1alpha1.Record, *v1alpha1.Record]) storeWrite {
			return &recordWrite{w, l}
		}}
}

type recordWrite struct {
	*objectWrite[v1alpha1.Record, *v1alpha1.Record]
	l *Ledger
}

func (w *recordWrite) commitWrite(ctx context.Context, key string, expected int64, put []byte) (commit.Outcome, error) {
	l := w.l
	ctx, err := w.startCommit(ctx, l, key, expected, put, "data in the zone")
	if err != nil {
		return commit.Outcome{}, err
	}

	if w.after != nil && lawform.SameContent(w.before, w.after) { // needs no decision
		placed, data, err := w.observeGeneration(ctx, key, put)
		if err != nil {
			return commit.Outcome{}, err
		}
		out, err := l.com.WriteObjectOnly(ctx, key, expected, data)
		if err == nil && out.OK && placed != nil {
			w.commitAs(placed, out)
		}
		return out, err
	}

	l.com.Clients.Store(time.Now().UnixNano())
	ask, hint, err := l.recordAsk(ctx, w.before, w.after, lawform.Record)
	if err != nil {
		return commit.Outcome{}, err
	}
	var placed *v1alpha1.Record
	id := w.before
	if w.after != nil {
		id = w.after
	}

	tx := l.com.NewWrite("records", id, expected)
	tx.LikelyZone, tx.Guess = hint, w.before == nil
	tx.RecordBefore, tx.Origin = w.before, originOf(ctx, w.before, w.after)
	tx.Decide = func(seen *law.Facts) law.Outcome { return records.DecideRecord(seen, ask) }
	tx.ObjectOp = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		if plan.Awaited {
			return nil, nil, errAwaited
		}
		if plan.Record == nil {
			op := clientv3.OpDelete(key)
			return &op, nil, nil
		}
		placed = w.after.DeepCopy()
		l.placer.PlaceRecord(placed, plan.Record)
		data, err := l.mem.Records.Encode(ctx, key, placed)
		op := etcd.OpPut(key, data)
		return &op, nil, err
	}

	out, err := l.com.Commit(ctx, tx)
	if errors.Is(err, errAwaited) {
		return w.commitReplacement(ctx)
	}
	if err != nil || !out.OK {
		return out, err
	}
	commit.Warn(ctx, tx.Plan.Warnings...)
	commit.WarnOfDeletions(ctx, tx.Plan.Zone)
	l.outbox.CountCuts(ctx, tx.Plan.PendingCuts)
	if placed != nil {
		w.commitAs(placed, out)
	}

	return out, nil
}

// errAwaited ends the commit of a single write that leaves a name where Records wait.
var errAwaited = errors.New("records wait at the name")

// maxMoved bounds the tries with a waiting Record that other writes, such as of its labels, change meanwhile.
const maxMoved = 4

// commitReplacement commits a write that leaves a name, and in the same transaction the adoption of the first Record of
// its namespace that waits there and fits. Without such a Record, the write commits alone. The error is the refusal of
// the write.
func (w *recordWrite) commitReplacement(ctx context.Context) (commit.Outcome, error) {
	found, err := w.l.outbox.ListReplacements(ctx, w.before)
	if err != nil {
		return commit.Outcome{}, err
	}
	for _, r := range found {
		for range maxMoved {
			waiting, err := r.Read(ctx)
			if err != nil {
				return commit.Outcome{}, err
			}
			if waiting == nil {
				break
			}
			out, isDone, err := w.commitWith(ctx, waiting)
			if err != nil || isDone {
				return out, err
			}
			if waiting.Refusal != nil {
				break // does not fit
			}
		}
	}
	out, _, err := w.commitWith(ctx)
	return out, err
}

// commitWith commits the write and the adoption of the waiting Record, if any, in one transaction. The result isDone is
// false if the waiting Record was refused (Refusal), or has changed since it was read.
func (w *recordWrite) commitWith(ctx context.Context, waiting ...*commit.SetWrite) (out commit.Outcome, isDone bool, err error) {
	l := w.l
	first := l.setWrite(ctx, w.before, w.after, "")
	for _, x := range waiting {
		x.Ask.Succeeds = first.Ask.Before
	}
	set := &commit.Set{Committer: l.com, Writes: append([]*commit.SetWrite{first}, waiting...), Commits: true}
	moved, err := set.Run(ctx)
	hasMoved := moved && first.Out.Rev != 0 // otherwise the waiting Record has
	isRefused := slices.ContainsFunc(waiting, func(x *commit.SetWrite) bool { return x.Refusal != nil })
	switch {
	case err != nil || hasMoved:
		return first.Out, true, err
	case moved || isRefused:
		return out, false, nil
	case first.Refusal != nil:
		return out, true, first.Refusal
	}
	l.outbox.CountCuts(ctx, set.PendingCuts)
	if first.Result != nil {
		w.commitAs(first.Result, first.Out)
	}
	return commit.Outcome{OK: true, Rev: first.Out.Rev}, true, nil
}

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
		ask.HadZone = objects.IsMoving(before)
		if ask.Before != nil {
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
		if hint == "" {
			hint = l.mem.GuessZone(r)
		}
	}

	return ask, hint, nil
}

func (w *recordWrite) observeGeneration(ctx context.Context, key string, put []byte) (*v1alpha1.Record, []byte, error) {
	if w.after.Generation == w.before.Generation {
		return nil, put, nil
	}
	placed := w.after.DeepCopy()
	placed.Status.ObservedGeneration = placed.Generation
	data, err := w.l.mem.Records.Encode(ctx, key, placed)
	return placed, data, err
}

// setWrite returns a write of a change set. In the history, a manager other than "" replaces those of the items, which
// differ in a set that gives former Records back.
func (l *Ledger) setWrite(ctx context.Context, before, after *v1alpha1.Record, manager string) *commit.SetWrite {
	x := &commit.SetWrite{Ctx: ctx, Before: before, After: after, Origin: originOf(ctx, before, after)}
	x.Origin.Manager = cmp.Or(manager, x.Origin.Manager)
	if x.Ask, x.LikelyZone, x.AskErr = l.recordAsk(ctx, before, after, lawform.Record); x.Ask.After != nil {
		x.Ask.After.WaitsOnConflict = false // in a set no Record waits
	}
	if before != nil {
		rev, err := (storage.APIObjectVersioner{}).ObjectResourceVersion(before)
		x.Expected, x.AskErr = int64(rev), cmp.Or(x.AskErr, err)
	}
	return x
}
