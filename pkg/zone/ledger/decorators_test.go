// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// promises checks that writers of an existing object get the guarantees of storage.Interface. clone and touch work on
// the object's type.
func promises[T any, O interface {
	*T
	runtime.Object
	GetResourceVersion() string
	GetUID() types.UID
	SetAnnotations(map[string]string)
}](t *testing.T, s storage.Interface, ctx context.Context, key string, again O, lease O) {
	get := func() O {
		t.Helper()
		o := O(new(T))
		must.Succeed(t, s.Get(ctx, key, storage.GetOptions{}, o))
		return o
	}
	update := func(pre *storage.Preconditions, cached runtime.Object, change func(O)) (O, int, error) {
		out, calls := O(new(T)), 0
		err := s.GuaranteedUpdate(ctx, key, out, false, pre, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
			calls++
			change(in.(O))
			return in, nil, nil
		}, cached)
		return out, calls, err
	}
	annotate := func(text string) func(O) {
		return func(o O) { o.SetAnnotations(map[string]string{"test": text}) }
	}

	if err := s.Create(ctx, key, again, O(new(T)), 0); !storage.IsExist(err) {
		t.Errorf("created twice: %v", err)
	}
	if err := s.Create(ctx, key+"-leased", lease, O(new(T)), 60); err == nil {
		t.Error("an object with a lease was taken: it would vanish unseen")
	}
	stale := get()
	out, _, err := update(nil, nil, annotate("one"))
	if err != nil || !apiequality.Semantic.DeepEqual(out, get()) {
		t.Errorf("what an update returns is not what is stored: %v\n%+v\n%+v", err, out, get())
	}
	before := get()
	if out, _, err = update(nil, nil, annotate("one")); err != nil || out.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("an update that changes nothing went from %s to %s: %v", before.GetResourceVersion(), out.GetResourceVersion(), err)
	}
	// An update that begins with a stale cached object runs again on the current object.
	if out, calls, err := update(nil, stale, annotate("two")); err != nil || calls != 2 || !apiequality.Semantic.DeepEqual(out, get()) {
		t.Errorf("from a stale suggestion: %d calls, %v", calls, err)
	}
	failing := errors.New("no")
	if err := s.GuaranteedUpdate(ctx, key, O(new(T)), false, nil, func(runtime.Object, storage.ResponseMeta) (runtime.Object, *uint64, error) { return nil, nil, failing }, nil); !errors.Is(err, failing) {
		t.Errorf("an update that fails: %v", err)
	}
	uid, version := types.UID("another"), stale.GetResourceVersion()
	for _, pre := range []*storage.Preconditions{{UID: &uid}, {ResourceVersion: &version}} {
		if _, _, err := update(pre, nil, annotate("three")); !storage.IsInvalidObj(err) {
			t.Errorf("update against a precondition: %v", err)
		}
		if err := s.Delete(ctx, key, O(new(T)), pre, func(context.Context, runtime.Object) error { return nil }, nil, storage.DeleteOptions{}); !storage.IsInvalidObj(err) {
			t.Errorf("deletion against a precondition: %v", err)
		}
	}
	if err := s.Delete(ctx, key, O(new(T)), nil, func(context.Context, runtime.Object) error { return failing }, nil, storage.DeleteOptions{}); !errors.Is(err, failing) {
		t.Errorf("a deletion that validation refuses: %v", err)
	}
	last, gone := get(), O(new(T))
	if err := s.Delete(ctx, key, gone, nil, func(context.Context, runtime.Object) error { return nil }, stale, storage.DeleteOptions{}); err != nil {
		t.Errorf("deletion with a stale suggestion: %v", err)
	}
	if gone.GetUID() != last.GetUID() || gone.GetResourceVersion() == last.GetResourceVersion() {
		t.Errorf("a deletion returns the object at its revision: %s after %s", gone.GetResourceVersion(), last.GetResourceVersion())
	}
	if err := s.Get(ctx, key, storage.GetOptions{}, O(new(T))); !storage.IsNotFound(err) {
		t.Errorf("after the deletion: %v", err)
	}
	if _, _, err := update(nil, nil, annotate("late")); !storage.IsNotFound(err) {
		t.Errorf("update of what is gone: %v", err)
	}
	if err := s.Delete(ctx, key, O(new(T)), nil, func(context.Context, runtime.Object) error { return nil }, nil, storage.DeleteOptions{}); !storage.IsNotFound(err) {
		t.Errorf("deletion of what is gone: %v", err)
	}
	// An apply of what a cache still has, unchanged, creates the object again.
	from := O(new(T))
	if err := s.GuaranteedUpdate(ctx, key, from, true, nil, func(runtime.Object, storage.ResponseMeta) (runtime.Object, *uint64, error) {
		return last.DeepCopyObject(), nil, nil
	}, last.DeepCopyObject()); err != nil || from.GetUID() != last.GetUID() || from.GetResourceVersion() == last.GetResourceVersion() {
		t.Errorf("an apply of an object that is gone: %v, %+v", err, from)
	}
	must.Succeed(t, s.Delete(ctx, key, O(new(T)), nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}))
}

// A refusal changes nothing in etcd (S7.1).
func TestDecorators_keepThePromisesOfStorage(t *testing.T) {
	st := store.New(t)
	s := st.Server()
	stop := s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	st.Settle()
	stop()
	www := store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1")
	www.Spec.Class = "IN" // as defaulted before storage
	r := store.Must(s.CreateRecord(s.Ctx, www))
	stored := s.Record("team-a", "www")
	stored.TypeMeta = r.TypeMeta // the codec's, which sets it in every answer
	if !apiequality.Semantic.DeepEqual(r, stored) {
		t.Errorf("what a creation returns is not what is stored:\n%+v\n%+v", r, stored)
	}
	if z := s.Zone("infra", "example"); z.ResourceVersion != r.ResourceVersion {
		t.Errorf("zone at %s, record at %s", z.ResourceVersion, r.ResourceVersion)
	}
	revision := func() int64 { return store.Must(st.Client.Client.Get(s.Ctx, st.Prefix)).Header.Revision }
	before := revision()
	if _, err := s.CreateRecord(s.Ctx, store.Record("team-b", "x", "example.org.", "A", "192.0.2.1")); !apierrors.IsForbidden(err) {
		t.Errorf("creation: %v", err)
	}
	if _, err := s.UpdateRecord(s.Ctx, "team-a", "www", func(r *v1alpha1.Record) { r.Spec.DomainName = "example.org." }); !apierrors.IsForbidden(err) {
		t.Errorf("update: %v", err)
	}
	if _, err := s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.DomainName = "other.org." }); !apierrors.IsInvalid(err) {
		t.Errorf("a rename (S1.6): %v", err)
	}
	if after := revision(); after != before {
		t.Errorf("three refusals took etcd from revision %d to %d", before, after)
	}
	promises[v1alpha1.Record](t, s.Records, s.Ctx, store.Key("records", "team-a", "www"),
		store.Record("team-a", "www", "www.example.org.", "A", "192.0.2.1"), store.Record("team-a", "www-leased", "leased.example.org.", "A", "192.0.2.1"))
	promises[v1alpha1.Zone](t, s.Zones, s.Ledger.WithEstablish(s.Ctx, true), store.Key("zones", "infra", "example"),
		store.Zone("infra", "example", "example.org."), store.Zone("infra", "example-leased", "leased.test."))
	s.Run()
	st.Settle()
}
