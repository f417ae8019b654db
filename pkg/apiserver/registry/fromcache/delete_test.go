// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromcache

import (
	"context"
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// etcd has a record or none, and a watch cache that may lag.
type etcd struct {
	storage.Interface
	cached, stored *v1alpha1.Record
	asked          []string
}

func (e *etcd) Get(_ context.Context, key string, options storage.GetOptions, out runtime.Object) error {
	from := e.stored
	e.asked = append(e.asked, "etcd")
	if options.ResourceVersion == "0" {
		from = e.cached
		e.asked[len(e.asked)-1] = "cache"
	}
	if from == nil {
		return storage.NewKeyNotFoundError(key, 0)
	}
	*out.(*v1alpha1.Record) = *from
	return nil
}

// store deletes the object as read, and only marks an object with finalizers, like the generic store.
type store struct {
	storage storage.Interface
	etcd    *etcd
	marks   bool
}

func (s *store) Delete(ctx context.Context, name string, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	read := &v1alpha1.Record{}
	if err := s.storage.Get(ctx, name, storage.GetOptions{}, read); err != nil {
		return nil, false, err
	}
	if s.etcd.stored == nil {
		return nil, false, storage.NewKeyNotFoundError(name, 0)
	}
	if err := validation(ctx, s.etcd.stored); err != nil {
		return nil, false, err
	}
	s.marks = len(read.Finalizers) > 0
	return s.etcd.stored, !s.marks, nil
}

func TestDelete_goesByWhatIsDeleted(t *testing.T) {
	of := func(uid string, finalizers ...string) *v1alpha1.Record {
		return &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: types.UID(uid), Finalizers: finalizers}}
	}
	changed := of("a")
	changed.Spec.Values = []string{"192.0.2.1"}
	marked := of("a")
	marked.DeletionTimestamp = &metav1.Time{}
	refused := errors.New("refused")
	var precondition metav1.DeleteOptions
	precondition.Preconditions = metav1.NewUIDPreconditions("a")
	for what, c := range map[string]struct {
		cached, stored *v1alpha1.Record
		options        *metav1.DeleteOptions
		refuses        bool
		asked          []string
		marks          bool
		err            error
	}{
		"as cached":                    {cached: of("a"), stored: of("a"), options: &metav1.DeleteOptions{}, asked: []string{"cache"}},
		"without options":              {cached: of("a"), stored: of("a"), asked: []string{"cache"}},
		"another spec":                 {cached: of("a"), stored: changed, asked: []string{"cache"}},
		"a finalizer since":            {cached: of("a"), stored: of("a", "example.org/x"), asked: []string{"cache", "etcd"}, marks: true},
		"a finalizer gone since":       {cached: of("a", "example.org/x"), stored: of("a"), asked: []string{"cache", "etcd"}},
		"another of that name since":   {cached: of("a"), stored: of("b"), asked: []string{"cache", "etcd"}},
		"marked since":                 {cached: of("a"), stored: marked, asked: []string{"cache", "etcd"}},
		"made since":                   {stored: of("a"), asked: []string{"cache", "etcd"}},
		"gone since":                   {cached: of("a"), asked: []string{"cache"}, err: storage.NewKeyNotFoundError("r", 0)},
		"never there":                  {asked: []string{"cache", "etcd"}, err: storage.NewKeyNotFoundError("r", 0)},
		"refused":                      {cached: of("a"), stored: of("a"), refuses: true, asked: []string{"cache"}, err: refused},
		"with a precondition, as ever": {cached: of("a"), stored: of("a"), options: &precondition, asked: []string{"etcd"}},
	} {
		t.Run(what, func(t *testing.T) {
			e := &etcd{cached: c.cached, stored: c.stored}
			s := &store{storage: Storage(e), etcd: e}
			_, immediately, err := Delete(t.Context(), s, "r", func(context.Context, runtime.Object) error {
				if c.refuses {
					return refused
				}
				return nil
			}, c.options)
			if (err == nil) != (c.err == nil) || err != nil && err.Error() != c.err.Error() {
				t.Errorf("%v, want %v", err, c.err)
			}
			if !slices.Equal(e.asked, c.asked) {
				t.Errorf("asked %v, want %v", e.asked, c.asked)
			}
			if err == nil && (immediately == c.marks || s.marks != c.marks) {
				t.Errorf("gone at once: %t, want %t", immediately, !c.marks)
			}
		})
	}
}

// Other reads go to the store.
func TestStorage_readsOfOthersAreAsTheyWere(t *testing.T) {
	e := &etcd{stored: &v1alpha1.Record{}}
	if err := Storage(e).Get(t.Context(), "r", storage.GetOptions{}, &v1alpha1.Record{}); err != nil || !slices.Equal(e.asked, []string{"etcd"}) {
		t.Errorf("%v, asked %v", err, e.asked)
	}
}
