// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromcache

import (
	"cmp"
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

// errOutdated makes Delete start again. Metrics count a conflict.
var errOutdated error = apierrors.NewConflict(schema.GroupResource{}, "", errors.New("the object was changed while it was deleted; "+
	"delete it again"))

const attempts = 5

type beginning struct {
	cached bool
	read   metav1.Object // nil before the read
}

type contextKey struct{}

// Delete deletes from a store whose storage is wrapped by Storage. The validation may be nil.
func Delete(ctx context.Context, store rest.GracefulDeleter, name string, validation rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (out runtime.Object, immediately bool, err error) {
	for attempt := range attempts {
		// Begin from the cache, and then from etcd. A client's preconditions may be for a version that the cache lacks.
		b := &beginning{cached: attempt == 0 && (options == nil || options.Preconditions == nil)}
		out, immediately, err = store.Delete(context.WithValue(ctx, contextKey{}, b), name, b.checkUnchanged(validation),
			options.DeepCopy())
		if !errors.Is(err, errOutdated) {
			break
		}
	}
	return out, immediately, err
}

// checkUnchanged returns validation with a check before it: the object at the deletion must be the object that the
// store's decision was about. Otherwise the error is errOutdated.
func (b *beginning) checkUnchanged(validation rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if was := b.read; was != nil {
			now, err := meta.Accessor(obj)
			if err != nil {
				return err
			}
			// Other changes, such as a new serial of a busy zone, do not matter to a deletion.
			if now.GetUID() != was.GetUID() || !now.GetDeletionTimestamp().Equal(was.GetDeletionTimestamp()) ||
				!slices.Equal(now.GetFinalizers(), was.GetFinalizers()) {
				return errOutdated
			}
		}
		if validation == nil {
			return nil
		}
		return validation(ctx, obj)
	}
}

// Storage wraps a watch cache for stores passed to Delete. Only deletions read the cache. Its Delete refuses an object
// with finalizers and no deletionTimestamp, because the generic store has read no finalizers.
func Storage(cached storage.Interface) storage.Interface { return &reader{cached} }

// Within puts a layer between a result of Storage and its watch cache.
func Within(of storage.Interface, layer func(cached storage.Interface) storage.Interface) storage.Interface {
	return Storage(layer(of.(*reader).Interface))
}

type reader struct {
	storage.Interface
}

// Get reads for a deletion, at its first attempt from the cache, and keeps a copy for checkUnchanged. All other reads
// pass unchanged.
func (r *reader) Get(ctx context.Context, key string, options storage.GetOptions, out runtime.Object) (err error) {
	b, ok := ctx.Value(contextKey{}).(*beginning)
	if !ok || options.ResourceVersion != "" {
		return r.Interface.Get(ctx, key, options, out)
	}
	recent := options
	recent.ResourceVersion = "0"
	// An object created just now may be missing in the cache: read etcd before a 404.
	if !b.cached || r.Interface.Get(ctx, key, recent, out) != nil {
		if err := r.Interface.Get(ctx, key, options, out); err != nil {
			return err
		}
	}
	b.read, err = meta.Accessor(out.DeepCopyObject())
	return err
}

func (r *reader) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validation storage.ValidateObjectFunc, existing runtime.Object, options storage.DeleteOptions) error {
	return r.Interface.Delete(ctx, key, out, preconditions, func(ctx context.Context, obj runtime.Object) error {
		// The store read an object without finalizers, which has a finalizer since. The object must only be marked for
		// deletion.
		if now, err := meta.Accessor(obj); err != nil || now.GetDeletionTimestamp() == nil && len(now.GetFinalizers()) > 0 {
			return cmp.Or(err, errOutdated)
		}
		return validation(ctx, obj)
	}, existing, options)
}
