// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
)

type object[T any] interface {
	*T
	runtime.Object
	metav1.Object
	DeepCopy() *T
}

// objectStorage writes the objects of a resource by the ledger, and reads them from Interface.
type objectStorage[T any, P object[T]] struct {
	storage.Interface
	// begin returns the committer of a write, which may take several tries, and the function that ends the write.
	begin func() (c committer[T, P], end func())
	// mayTouch allows writes of unchanged objects by Interface, which encrypts them anew if their key is old. If it is
	// nil, the committer has these writes, too.
	mayTouch func() error
}

// committer commits a try, and returns the object as stored; nil is the object after. If the object has changed since
// the read, Outcome.OK is false.
type committer[T any, P object[T]] func(ctx context.Context, w *objectWrite[T, P]) (stored P, out commit.Outcome, err error)

// objectWrite is a try to write an object.
type objectWrite[T any, P object[T]] struct {
	before, after P     // nil for an absent object
	expected      int64 // version of before, 0 for none
}

// Create implements storage.Interface. The error is KeyExists if the object exists, and the law's refusal otherwise.
func (s *objectStorage[T, P]) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	after := obj.(P)
	if ttl != 0 {
		return errLease
	}
	if version, err := s.Versioner().ObjectResourceVersion(after); err == nil && version != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	commit, end := s.begin()
	defer end()
	w, err := newObjectWrite(nil, after)
	if err != nil {
		return err
	}
	isStored, err := w.commitBy(ctx, commit, out)
	if err == nil && !isStored {
		return storage.NewKeyExistsError(key, 0)
	}
	return err
}

func (s *objectStorage[T, P]) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, _ storage.DeleteOptions) error {
	return s.writeCurrent(ctx, key, out, false, cached, func(before P) (after P, err error) {
		if err := preconditions.Check(key, before); err != nil {
			return nil, err
		}
		return nil, validate(ctx, before)
	})
}

// GuaranteedUpdate implements storage.Interface: update may be called several times, and the last result is written.
func (s *objectStorage[T, P]) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object) error {
	return s.writeCurrent(ctx, key, out, ignoreNotFound, cached, func(before P) (after P, err error) {
		if err := preconditions.Check(key, before); err != nil {
			return nil, err
		}
		version, err := s.Versioner().ObjectResourceVersion(before)
		if err != nil {
			return nil, err
		}
		updated, ttl, err := update(P(before.DeepCopy()), storage.ResponseMeta{ResourceVersion: version}) // update may change its input
		switch {
		case err != nil:
			return nil, err
		case ttl != nil && *ttl != 0:
			return nil, errLease
		}
		return updated.(P), nil
	})
}

// writeCurrent writes the object that prepare returns for the stored object, again if others write it meanwhile. The
// first try may use a cached object; an error of prepare counts if that is current. If mayLack is true, prepare gets an
// empty object for an absent one.
func (s *objectStorage[T, P]) writeCurrent(ctx context.Context, key string, out runtime.Object, mayLack bool, cached runtime.Object,
	prepare func(before P) (after P, err error)) error {
	commit, end := s.begin()
	defer end()
	current, isCached := cached.(P)
	isCached = isCached && current != nil
	var failed error // of prepare, with the cached object
	for {
		if !isCached {
			// From etcd, as the cache lagged or the write lost a race.
			read := P(new(T))
			if err := s.Get(ctx, key, storage.GetOptions{IgnoreNotFound: mayLack}, read); err != nil {
				return err
			}
			// The cached object was current, so another try would fail alike.
			if failed != nil && read.GetUID() == current.GetUID() && read.GetResourceVersion() == current.GetResourceVersion() {
				return failed
			}
			current = read
		}
		// prepare checks the client's preconditions, and admission runs inside.
		after, err := prepare(current)
		if err != nil && !isCached {
			return err
		}
		if failed = err; failed == nil {
			w, err := newObjectWrite(current, after)
			if err != nil {
				return err
			}
			isStored := false
			if s.mayTouch != nil && w.isUnchanged() {
				// Nothing to decide, but the object may be encrypted by an old key.
				isStored, err = s.touchObject(ctx, key, w, out)
			} else {
				isStored, err = w.commitBy(ctx, commit, out)
			}
			if err != nil || isStored {
				return err
			}
		}
		isCached = false // others wrote meanwhile, or the cache lagged
	}
}

// newObjectWrite prepares after for storage. A before without version is absent.
func newObjectWrite[T any, P object[T]](before, after P) (w *objectWrite[T, P], err error) {
	w = &objectWrite[T, P]{after: after}
	if before != nil && before.GetResourceVersion() != "" {
		version, err := (storage.APIObjectVersioner{}).ObjectResourceVersion(before)
		if err != nil {
			return nil, err
		}
		w.before, w.expected = before, int64(version)
	}
	if after != nil {
		err = (storage.APIObjectVersioner{}).PrepareObjectForStorage(after)
	}
	return w, err
}

func (w *objectWrite[T, P]) eitherObject() P {
	if w.after != nil {
		return w.after
	}
	return w.before
}

func (w *objectWrite[T, P]) isUnchanged() bool {
	if w.before == nil || w.after == nil || w.before.GetGeneration() != w.after.GetGeneration() {
		return false
	}
	// A shallow copy is enough: only the version and the kind are set.
	copied := *w.before
	was := P(&copied)
	was.SetResourceVersion("") // as prepared for storage
	was.GetObjectKind().SetGroupVersionKind(w.after.GetObjectKind().GroupVersionKind())
	return apiequality.Semantic.DeepEqual(was, w.after)
}

var errMoved = errors.New("the object has changed meanwhile")

// touchObject has Interface encrypt an unchanged object anew if its key is old. The result is false if the object has
// changed, or is gone.
func (s *objectStorage[T, P]) touchObject(ctx context.Context, key string, w *objectWrite[T, P], out runtime.Object) (bool, error) {
	err := s.Interface.GuaranteedUpdate(ctx, key, out, false, nil, func(stored runtime.Object, _ storage.ResponseMeta) (runtime.Object,
		*uint64, error) {
		if stored.(P).GetResourceVersion() != w.before.GetResourceVersion() {
			return nil, nil, errMoved
		}
		return w.after, nil, s.mayTouch()
	}, nil)
	if errors.Is(err, errMoved) || storage.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// commitBy commits the try. The answer out is the object as stored, or the deleted object with the version of the
// deletion.
func (w *objectWrite[T, P]) commitBy(ctx context.Context, commit committer[T, P], out runtime.Object) (isStored bool, err error) {
	ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: w.eitherObject().GetNamespace(), Weight: 1})
	stored, result, err := commit(ctx, w)
	if err != nil || !result.OK {
		return false, err
	}
	if out != nil {
		*out.(P) = *cmp.Or(stored, w.eitherObject())
		setVersion(out, result.Rev)
	}
	return true, nil
}

// originOf returns the source of a write, for the history: the field manager of the changed entry, and the request's
// audit ID. A deletion has no manager.
func originOf[T any, P interface {
	*T
	metav1.Object
}](ctx context.Context, before, after P) content.Origin {
	id, _ := audit.AuditIDFrom(ctx)
	origin := content.Origin{Audit: string(id)}
	var had []metav1.ManagedFieldsEntry
	if before != nil {
		had = before.GetManagedFields()
	}
	if after != nil {
		origin.Manager = managerOf(had, after.GetManagedFields())
	}
	return origin
}

const maxManager = 128

// managerOf returns the field manager of the first entry added or renewed, cut at maxManager octets, or "" for none.
func managerOf(had, has []metav1.ManagedFieldsEntry) string {
	for _, e := range has {
		isSame := func(x metav1.ManagedFieldsEntry) bool { return isSameEntry(&x, &e) }
		// The manager of a status, for example the judge of Ready, is no author of content.
		if e.Subresource == "" && !slices.ContainsFunc(had, isSame) {
			return e.Manager[:min(len(e.Manager), maxManager)]
		}
	}
	return ""
}

// isSameEntry reports whether a write has neither added nor renewed an entry.
func isSameEntry(x, y *metav1.ManagedFieldsEntry) bool {
	return x.Manager == y.Manager && x.Operation == y.Operation && x.Subresource == y.Subresource && x.Time.Equal(y.Time)
}

func setVersion(o runtime.Object, revision int64) {
	_ = (storage.APIObjectVersioner{}).UpdateObject(o, uint64(revision))
}
