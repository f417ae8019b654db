// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"kubi.zone/kubizone/pkg/registry/fromcache"
)

// Decide makes the decision of a commit. It fills the status of after or returns the API error of the commit, and
// changes nothing else. before is nil for a creation, after is nil for a removal.
type Decide[T runtime.Object] func(ctx context.Context, before, after T) error

// Store is a generic store of objects of type T (a pointer) whose dry runs are decided.
type Store[T runtime.Object] struct {
	*genericregistry.Store
	Decide Decide[T]
}

var (
	_ rest.Creater         = (*Store[runtime.Object])(nil)
	_ rest.Updater         = (*Store[runtime.Object])(nil)
	_ rest.GracefulDeleter = (*Store[runtime.Object])(nil)
)

// Create creates an object, or decides a dry run.
func (s *Store[T]) Create(ctx context.Context, obj runtime.Object, validation rest.ValidateObjectFunc, options *metav1.CreateOptions) (
	runtime.Object, error) {
	out, err := s.Store.Create(ctx, obj, validation, options)
	if err != nil || !dryrun.IsDryRun(options.DryRun) {
		return out, err
	}
	return s.decideDryRun(ctx, nil, out)
}

// Update updates an object, creates it for a server-side apply, or decides a dry run.
func (s *Store[T]) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	if !dryrun.IsDryRun(options.DryRun) {
		return s.Store.Update(ctx, name, info, createValidation, updateValidation, forceAllowCreate, options)
	}
	seen := &remember{UpdatedObjectInfo: info}
	out, created, err := s.Store.Update(ctx, name, seen, createValidation, updateValidation, forceAllowCreate, options)
	if err != nil {
		return nil, false, err
	}
	if created {
		out, err = s.decideDryRun(ctx, nil, out)
		return out, created, err
	}
	if removed(out) {
		// The update took the last finalizer of an object that is being deleted.
		_, err = s.decideDryRun(ctx, seen.existing, nil)
		return out, false, err
	}
	out, err = s.decideDryRun(ctx, seen.existing, out)
	return out, false, err
}

// Delete deletes an object, marks it as being deleted, or decides a dry run.
func (s *Store[T]) Delete(ctx context.Context, name string, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (
	runtime.Object, bool, error) {
	if !dryrun.IsDryRun(options.DryRun) {
		return fromcache.Delete(ctx, s.Store, name, validation, options)
	}
	before, err := s.Store.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	out, immediately, err := s.Store.Delete(ctx, name, validation, options)
	if err != nil || !immediately {
		return out, immediately, err
	}
	_, err = s.decideDryRun(ctx, before, nil)
	return out, immediately, err
}

func (s *Store[T]) decideDryRun(ctx context.Context, before, after runtime.Object) (runtime.Object, error) {
	var typedBefore, typedAfter T
	if before != nil {
		typedBefore = before.(T)
	}
	if after != nil {
		typedAfter = after.(T)
	}
	if err := s.Decide(ctx, typedBefore, typedAfter); err != nil {
		return nil, err
	}
	return after, nil
}

func removed(obj runtime.Object) bool {
	accessor, err := meta.Accessor(obj)
	return err != nil || (accessor.GetDeletionTimestamp() != nil && len(accessor.GetFinalizers()) == 0)
}

// remember keeps the object that an update started from.
type remember struct {
	rest.UpdatedObjectInfo
	existing runtime.Object
}

func (r *remember) UpdatedObject(ctx context.Context, existing runtime.Object) (runtime.Object, error) {
	r.existing = existing.DeepCopyObject()
	return r.UpdatedObjectInfo.UpdatedObject(ctx, existing)
}
