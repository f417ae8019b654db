// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromcache

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
)

// errOutdated: the object differs from the cached one. Metrics of writes count it as a conflict.
var errOutdated error = apierrors.NewConflict(schema.GroupResource{}, "", errors.New("the object is not as the cache has it"))

// beginning is the object that a deletion started from.
type beginning struct {
	cached metav1.Object // nil: it was read from etcd
}

type contextKey struct{}

// Delete deletes from store, whose storage is one of Storage.
func Delete(ctx context.Context, store rest.GracefulDeleter, name string, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if options == nil || options.Preconditions == nil {
		b := &beginning{}
		// The store changes the options.
		out, immediately, err := store.Delete(context.WithValue(ctx, contextKey{}, b), name, b.checkUnchanged(validation), options.DeepCopy())
		if !errors.Is(err, errOutdated) {
			return out, immediately, err
		}
	}
	return store.Delete(ctx, name, validation, options)
}

// checkUnchanged wraps validation with a check that uid, deletionTimestamp and finalizers are as in the cache: the
// store decides by nothing else of the object.
func (b *beginning) checkUnchanged(validation rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if b.cached != nil {
			now, err := meta.Accessor(obj)
			if err != nil {
				return err
			}
			was := b.cached
			if now.GetUID() != was.GetUID() || !now.GetDeletionTimestamp().Equal(was.GetDeletionTimestamp()) || !slices.Equal(now.GetFinalizers(), was.GetFinalizers()) {
				return errOutdated
			}
		}
		if validation == nil {
			return nil
		}
		return validation(ctx, obj)
	}
}

// Storage wraps cached, a storage with a watch cache, for the stores that are passed to Delete.
func Storage(cached storage.Interface) storage.Interface { return &reader{cached} }

type reader struct {
	storage.Interface
}

func (r *reader) Get(ctx context.Context, key string, options storage.GetOptions, out runtime.Object) error {
	b, ok := ctx.Value(contextKey{}).(*beginning)
	if !ok || options.ResourceVersion != "" {
		return r.Interface.Get(ctx, key, options, out)
	}
	recent := options
	recent.ResourceVersion = "0"
	if err := r.Interface.Get(ctx, key, recent, out); err != nil {
		return r.Interface.Get(ctx, key, options, out)
	}
	cached, err := meta.Accessor(out)
	b.cached = cached
	return err
}
