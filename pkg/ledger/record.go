// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// Records decorates the raw storage of Records: every write of one goes through
// the law and takes its zone along. raw must be built with a client from StorageClient.
func (l *Ledger) Records(raw storage.Interface) storage.Interface {
	return &records{Interface: raw, l: l}
}

type records struct {
	storage.Interface
	l *Ledger
}

// recordWrite is the committer of one Record write; the storage calls fill it in
// as they learn what is written. after is the caller's: it is read, and copied
// where it is placed.
type recordWrite struct {
	l             *Ledger
	before, after *v1alpha1.Record
	committed     *v1alpha1.Record
	// reached says that the store wrote what the last update gave it; else that changed nothing.
	reached bool
}

func (s *records) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if ttl != 0 {
		return errLease
	}
	w := &recordWrite{l: s.l, after: obj.(*v1alpha1.Record)}
	// Without out: what the store encoded is not what was committed, so it need not decode it.
	if err := s.Interface.Create(withCommitter(ctx, w), key, obj, nil, 0); err != nil {
		return err
	}
	w.copyTo(out)
	return nil
}

func (s *records) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc, cached runtime.Object, opts storage.DeleteOptions) error {
	w := &recordWrite{l: s.l}
	v := func(ctx context.Context, obj runtime.Object) error {
		if err := validate(ctx, obj); err != nil {
			return err
		}
		w.before, _ = obj.(*v1alpha1.Record)
		return nil
	}
	return s.Interface.Delete(withCommitter(ctx, w), key, out, preconditions, v, cached, opts)
}

func (s *records) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	w := &recordWrite{l: s.l}
	try := func(in runtime.Object, meta storage.ResponseMeta) (runtime.Object, *uint64, error) {
		w.before, w.reached = nil, false
		if meta.ResourceVersion != 0 {
			w.before = in.(*v1alpha1.Record).DeepCopy() // tryUpdate may change in
		}
		out, ttl, err := tryUpdate(in, meta)
		if err != nil {
			return out, ttl, err
		}
		if ttl != nil && *ttl != 0 {
			return nil, nil, errLease
		}
		w.after = out.(*v1alpha1.Record)
		return out, ttl, nil
	}
	for {
		if err := s.Interface.GuaranteedUpdate(withCommitter(ctx, w), key, destination, ignoreNotFound, preconditions, try, cached); err != nil {
			return err
		}
		set, index := setOf(ctx)
		if set == nil || w.reached {
			w.copyTo(destination)
			return nil
		}
		// It changes nothing, and that is to hold when the others of the set are committed.
		if out, err := w.compareOnly(ctx, set, index, s.l.mem.Layout.Record(w.before.Namespace, w.before.Name)); err != nil || out.OK {
			return err
		}
		cached = nil
	}
}

// copyTo gives the caller the object as committed, which is not what it encoded.
func (w *recordWrite) copyTo(out runtime.Object) {
	if w.committed != nil && out != nil {
		*out.(*v1alpha1.Record) = *w.committed
	}
}

func (w *recordWrite) commitWrite(ctx context.Context, key string, expected int64, put []byte) (commit.Outcome, error) {
	l := w.l
	if namespace, _, ok := l.mem.Layout.ObjectName(key); ok {
		ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: namespace, Weight: 1})
	}
	w.committed = nil
	if put == nil {
		w.after = nil
		if w.before == nil {
			return commit.Outcome{}, fmt.Errorf("%s cannot be decoded, and deleting it unseen would leave its data in the zone: restore it from a backup, then run kubizone fsck", key)
		}
	}
	if put != nil && expected != 0 && w.before == nil {
		return commit.Outcome{}, fmt.Errorf("update of %s without its present state", key)
	}
	w.reached = true
	if set, index := setOf(ctx); set != nil {
		return w.inSet(ctx, set, index, key, expected, put)
	}
	if w.after != nil && objects.SameContent(w.before, w.after) { // S2.4
		if w.after.Generation == w.before.Generation {
			return l.com.Plain(ctx, key, expected, put)
		}
		o := w.after.DeepCopy()
		o.Status.ObservedGeneration = o.Generation
		data, err := l.mem.Records.Encode(ctx, key, o)
		if err != nil {
			return commit.Outcome{}, err
		}
		out, err := l.com.Plain(ctx, key, expected, data)
		if err == nil && out.OK {
			w.commitAs(o, out.Rev)
		}
		return out, err
	}
	l.com.Clients.Add(1)
	ask, hint, err := l.recordAsk(ctx, w.before, w.after)
	if err != nil {
		return commit.Outcome{}, err
	}
	var placed *v1alpha1.Record
	id := w.before
	if w.after != nil {
		id = w.after
	}
	tx := l.com.WriteOf("records", id, expected)
	tx.Hint, tx.Guess = hint, w.before == nil
	tx.Ask = func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) }
	tx.Primary = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
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
	if err != nil || !out.OK {
		return out, err
	}
	commit.Warn(ctx, tx.Plan.Warnings)
	if tx.Plan.Move != nil { // before the pending cuts: what it left may be owed to the zone it comes to, whose serial is foretold (S7.3)
		out, placed = l.box.ArriveNow(ctx, tx.Plan.Move, out, placed)
	}
	l.box.PayNow(ctx, tx.Plan.PendingCuts)
	if placed != nil {
		w.commitAs(placed, out.Rev)
	}
	return out, nil
}

func (w *recordWrite) commitAs(o *v1alpha1.Record, rev int64) {
	_ = (storage.APIObjectVersioner{}).UpdateObject(o, uint64(rev))
	w.committed = o
}

// recordAsk makes the request to the law of a client's write. hint is the zone
// that will probably change.
func (l *Ledger) recordAsk(ctx context.Context, before, after *v1alpha1.Record) (law.RecordAsk, string, error) {
	ask := law.RecordAsk{Now: l.mem.Now(), WorkID: etcd.NewID(), By: commit.User(ctx)}
	var hint string
	if before != nil {
		ask.Uncounted = l.box.Terminates(before.Namespace)
		ask.Namespace, ask.Name, ask.UID = before.Namespace, before.Name, string(before.UID)
		var err error
		if ask.Before, ask.Waits, err = objects.Adopted(before); err != nil {
			return ask, "", err
		}
		if ask.Before != nil {
			hint = l.mem.Layout.Zone(ask.Before.Zone.Namespace, ask.Before.Zone.Name)
		}
	}
	if after != nil {
		ask.Namespace, ask.Name, ask.UID = after.Namespace, after.Name, string(after.UID)
		r, err := objects.LawRecord(after)
		if err != nil {
			return ask, "", commit.Status("records", after.Name, &law.Refusal{Kind: law.Invalid, Message: err.Error()})
		}
		ask.After = r
		if hint == "" {
			hint = l.mem.GuessZone(r)
		}
	}
	return ask, hint, nil
}
