// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
)

// Item returns the storage of item i. It reads from stored, a storage of Records. It keeps a write for Commit, and
// answers as if the write were committed; Commit completes the answer.
func (s *Set) Item(i int, stored storage.Interface) storage.Interface {
	t := &itemStorage{set: s, item: &s.items[i]}
	t.Interface = stored
	t.begin = func() (committer[v1alpha1.Record, *v1alpha1.Record], func()) { return t.keepWrite, func() {} }
	return t
}

type itemStorage struct {
	objectStorage[v1alpha1.Record, *v1alpha1.Record]
	set  *Set
	item *setItem
}

func (t *itemStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	t.item.creates, t.item.out = true, out.(*v1alpha1.Record)
	return t.objectStorage.Create(ctx, key, obj, out, ttl)
}

func (t *itemStorage) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, options storage.DeleteOptions) error {
	t.item.out = out.(*v1alpha1.Record)
	return t.objectStorage.Delete(ctx, key, out, preconditions, validate, t.readCached(ctx, key), options)
}

func (t *itemStorage) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, _ runtime.Object) error {
	t.item.out = out.(*v1alpha1.Record)
	return t.objectStorage.GuaranteedUpdate(ctx, key, out, ignoreNotFound, preconditions, update, t.readCached(ctx, key))
}

// readCached returns nil for a Record that is not cached, or has moved, so that the cache may lag.
func (t *itemStorage) readCached(ctx context.Context, key string) runtime.Object {
	cached := &v1alpha1.Record{}
	if t.item.moved || t.Get(ctx, key, storage.GetOptions{ResourceVersion: "0"}, cached) != nil {
		return nil
	}
	return cached.DeepCopy()
}

// keepWrite keeps a write. An unchanged Record is not written, even under an old encryption key.
func (t *itemStorage) keepWrite(ctx context.Context, w *recordWrite) (_ *v1alpha1.Record, kept commit.Outcome, err error) {
	as := t.set.l.setWrite(ctx, w, t.set.Manager)
	as.DryRun = t.set.DryRun
	if as.Unchanged = w.isUnchanged(); !as.Unchanged && lawform.SameContent(w.before, w.after) {
		// Only labels, for example, have changed, so package law has nothing to decide.
		if as.Encoded, err = t.set.l.encodeSame(ctx, w); err != nil {
			return nil, kept, err
		}
	}
	t.item.write = as
	return nil, commit.Outcome{OK: true, Rev: w.expected}, nil
}
