// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
)

type object[T any] interface {
	*T
	runtime.Object
	DeepCopy() *T
}

type objectStorage[T any, P object[T]] struct {
	storage.Interface
	newStoreWrite func(*objectWrite[T, P]) storeWrite
}

// objectWrite is a write of an object on its way through Kubernetes' storage (etcd3.store).
type objectWrite[T any, P object[T]] struct {
	before    P // nil for a creation
	after     P // nil for a deletion; the caller's object, or a copy if copies is set
	committed P // after, with the status of the decision
	copies    bool
	reached   bool   // false if the last update changed nothing, so that the storage did not write
	release   func() // called when the storage's call ends
}

func (s *objectStorage[T, P]) begin() (*objectWrite[T, P], storeWrite) {
	w := &objectWrite[T, P]{release: func() {}}
	return w, s.newStoreWrite(w)
}

func (s *objectStorage[T, P]) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if ttl != 0 {
		return errLease
	}
	w, c := s.begin()
	defer w.release()
	w.setAfter(obj)
	if err := s.Interface.Create(withStoreWrite(ctx, c), key, obj, nil, 0); err != nil {
		return err
	}
	w.copyTo(out)
	return nil
}

func (s *objectStorage[T, P]) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, opts storage.DeleteOptions) error {
	w, c := s.begin()
	defer w.release()
	v := func(ctx context.Context, obj runtime.Object) error {
		if err := validate(ctx, obj); err != nil {
			return err
		}
		w.before, _ = obj.(P)
		return nil
	}
	return s.Interface.Delete(withStoreWrite(ctx, c), key, out, preconditions, v, cached, opts)
}

func (s *objectStorage[T, P]) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	w, c := s.begin()
	defer w.release()
	if err := s.Interface.GuaranteedUpdate(withStoreWrite(ctx, c), key, destination, ignoreNotFound, preconditions, w.wrapUpdate(tryUpdate),
		cached); err != nil {
		return err
	}
	w.copyTo(destination)
	return nil
}

func (w *objectWrite[T, P]) wrapUpdate(update storage.UpdateFunc) storage.UpdateFunc {
	return func(in runtime.Object, meta storage.ResponseMeta) (runtime.Object, *uint64, error) {
		w.before, w.reached = nil, false
		if meta.ResourceVersion != 0 {
			w.before = in.(P).DeepCopy() // update may change in
		}
		out, ttl, err := update(in, meta)
		if err != nil {
			return out, ttl, err
		}
		if ttl != nil && *ttl != 0 {
			return nil, nil, errLease
		}
		w.setAfter(out)
		return out, ttl, nil
	}
}

func (w *objectWrite[T, P]) setAfter(o runtime.Object) {
	if w.after = o.(P); w.copies {
		w.after = w.after.DeepCopy()
	}
}

func (w *objectWrite[T, P]) copyTo(out runtime.Object) {
	if w.committed != nil && out != nil {
		*out.(P) = *w.committed
	}
}

func (w *objectWrite[T, P]) startCommit(ctx context.Context, l *Ledger, key string, expected int64, put []byte, leaves string) (
	context.Context, error) {
	if namespace, _, ok := l.mem.Layout.ObjectName(key); ok {
		ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: namespace, Weight: 1})
	}
	w.committed, w.reached = nil, true
	if put == nil {
		w.after = nil
	}
	switch {
	case w.before != nil || put != nil && expected == 0:
		return ctx, nil
	case put == nil:
		return ctx, fmt.Errorf("%s cannot be decoded, and deleting it unseen would leave its %s: restore it from a backup, "+
			"then run kubizone fsck", key, leaves)
	}
	return ctx, fmt.Errorf("update of %s without its present state", key)
}

func originOf[T any, P interface {
	*T
	metav1.Object
}](ctx context.Context, before, after P) content.Origin {
	switch {
	case after == nil:
		return commit.OriginOf(ctx, nil, nil)
	case before == nil:
		return commit.OriginOf(ctx, nil, after)
	}
	return commit.OriginOf(ctx, before, after)
}

func (w *objectWrite[T, P]) commitAs(o P, out commit.Outcome) {
	setVersion(o, out.Rev)
	w.committed = o
}

func setVersion(o runtime.Object, revision int64) {
	_ = (storage.APIObjectVersioner{}).UpdateObject(o, uint64(revision))
}
