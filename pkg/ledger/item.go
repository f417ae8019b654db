// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/lawform"
	"kubi.zone/kubizone/pkg/ledger/commit"
)

// Item returns the storage of item i. It reads from stored, a storage of Records. It keeps a write for Commit, and
// answers as if the write were committed; Commit completes the answer.
func (s *Set) Item(i int, stored storage.Interface) storage.Interface {
	return &itemStorage{Interface: stored, set: s, item: &s.items[i]}
}

type itemStorage struct {
	storage.Interface
	set  *Set
	item *setItem
}

func (t *itemStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	after := obj.(*v1alpha1.Record)
	switch {
	case ttl != 0:
		return errLease
	case after.ResourceVersion != "":
		return storage.ErrResourceVersionSetOnCreate
	}
	t.item.creates = true
	return t.keepWrite(ctx, nil, after, out)
}

func (t *itemStorage) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions) error {
	return t.tryStored(ctx, key, false, func(before *v1alpha1.Record) error {
		if err := preconditions.Check(key, before); err != nil {
			return err
		}
		if err := validate(ctx, before); err != nil {
			return err
		}
		return t.keepWrite(ctx, before, nil, out)
	})
}

func (t *itemStorage) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, _ runtime.Object) error {
	return t.tryStored(ctx, key, ignoreNotFound, func(before *v1alpha1.Record) error {
		if err := preconditions.Check(key, before); err != nil {
			return err
		}
		version, err := t.Versioner().ObjectResourceVersion(before)
		if err != nil {
			return err
		}
		after, ttl, err := update(before.DeepCopy(), storage.ResponseMeta{ResourceVersion: version}) // update may change its input
		switch {
		case err != nil:
			return err
		case ttl != nil && *ttl != 0:
			return errLease
		case version == 0:
			before = nil
		}
		return t.keepWrite(ctx, before, after.(*v1alpha1.Record), out)
	})
}

// tryStored calls try with the cached Record, and after an error with the stored one, unless that is the same. A Record
// that has moved is not read from the cache. If mayLack is true, an absent Record is empty.
func (t *itemStorage) tryStored(ctx context.Context, key string, mayLack bool, try func(*v1alpha1.Record) error) error {
	cached, failed := &v1alpha1.Record{}, error(nil)
	if !t.item.moved && t.Get(ctx, key, storage.GetOptions{ResourceVersion: "0"}, cached) == nil {
		if failed = try(cached.DeepCopy()); failed == nil {
			return nil
		}
	}
	stored := &v1alpha1.Record{}
	if err := t.Get(ctx, key, storage.GetOptions{IgnoreNotFound: mayLack}, stored); err != nil {
		return err
	}
	if failed != nil && stored.UID == cached.UID && stored.ResourceVersion == cached.ResourceVersion {
		return failed
	}
	return try(stored)
}

// keepWrite keeps a write, and refuses a deletion that waits for finalizers. An unchanged Record is not written, even
// under an old encryption key.
func (t *itemStorage) keepWrite(ctx context.Context, before, after *v1alpha1.Record, out runtime.Object) error {
	l := t.set.l
	w := l.setWrite(ctx, before, after, t.set.Manager)
	w.DryRun = t.set.DryRun
	t.item.write, t.item.out = nil, out.(*v1alpha1.Record)
	if after == nil {
		*t.item.out, t.item.write = *before, w
		return nil
	}
	after.ResourceVersion = "" // as stored by etcd3
	if *t.item.out = *after; before != nil {
		t.item.out.ResourceVersion = before.ResourceVersion
		if before.DeletionTimestamp == nil && after.DeletionTimestamp != nil {
			return w.Refuse(field.NewPath("metadata", "finalizers"), "has %s, and a change set deletes at once: delete it by itself",
				strings.Join(before.Finalizers, ", "))
		}
		if err := l.encodeSame(ctx, before, after, w); err != nil {
			return err
		}
	}
	t.item.write = w
	return nil
}

// encodeSame completes a write that changes no content, and so needs no decision.
func (l *Ledger) encodeSame(ctx context.Context, before, after *v1alpha1.Record, w *commit.SetWrite) (err error) {
	if !lawform.SameContent(before, after) {
		return nil
	}
	if w.Unchanged, err = sameOctets(before, after); err != nil || w.Unchanged {
		return err
	}
	if after.Generation != before.Generation {
		after.Status.ObservedGeneration = after.Generation
	}
	w.Encoded, err = l.mem.Records.Encode(ctx, l.mem.Layout.Record(after.Namespace, after.Name), after)
	return err
}

func sameOctets(before, after *v1alpha1.Record) (bool, error) {
	unversioned := *before
	unversioned.ResourceVersion = ""
	was, err := unversioned.Marshal()
	if err != nil {
		return false, err
	}
	is, err := after.Marshal()
	return bytes.Equal(was, is), err
}
