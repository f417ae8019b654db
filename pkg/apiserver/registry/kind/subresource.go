// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type Subresource[T Object] struct {
	// Copy copies the fields of the subresource from the request's object to the stored object after.
	Copy     func(after, written T)
	Validate func(after, before T) field.ErrorList
	// ResetFields lists fields that server-side apply cannot own here, besides spec and most metadata.
	ResetFields []fieldpath.Path
	// Check checks other objects and rights, after admission. Optional.
	Check func(ctx context.Context, after, before T) error
	// AfterWrite is called after each stored write. Optional.
	AfterWrite func(after, before T)
}

// Status returns the subresource status of a kind whose controller sets the whole status.
func Status[T Object](validate func(after, before T) field.ErrorList) Subresource[T] {
	return Subresource[T]{Copy: func(after, written T) { statusOf(after).Set(statusOf(written)) }, Validate: validate,
		ResetFields: ResetFieldsOfStatus(nil, nil)}
}

// ResetFieldsOfStatus returns ResetFields for a status whose given fields and conditions the server sets.
func ResetFieldsOfStatus(fields, conditions []string) []fieldpath.Path {
	paths := []fieldpath.Path{fieldpath.MakePathOrDie("metadata", "finalizers")}
	for _, name := range fields {
		paths = append(paths, fieldpath.MakePathOrDie("status", name))
	}
	for _, condition := range conditions {
		paths = append(paths, fieldpath.MakePathOrDie("status", "conditions", fieldpath.KeyByFields("type", condition)))
	}
	return paths
}

// Finalizers returns the subresource finalizers, for controllers without the right to write spec.
func Finalizers[T Object]() Subresource[T] {
	return Subresource[T]{
		Copy: func(after, written T) {
			after.SetFinalizers(setDeliveryFinalizer(after.GetFinalizers(), written.GetFinalizers()))
		},
		Validate: func(after, before T) field.ErrorList {
			return apivalidation.ValidateObjectMetaUpdate(metaOf(after), metaOf(before), field.NewPath("metadata"))
		},
		ResetFields: []fieldpath.Path{fieldpath.MakePathOrDie("status")},
	}
}

func (s Strategy[T]) Sub(name string) SubStrategy[T] {
	return SubStrategy[T]{s, s.Kind.Subresources[name]}
}

// SubStrategy updates only the fields of a subresource.
type SubStrategy[T Object] struct {
	Strategy[T]
	sub Subresource[T]
}

// PrepareForUpdate takes all from the stored object except the fields that the subresource copies.
func (s SubStrategy[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before, written := obj.(T), old.(T), obj.DeepCopyObject().(T)
	specOf(after).Set(specOf(before))
	statusOf(after).Set(statusOf(before))
	keepMetadata(metaOf(after), metaOf(before))
	s.sub.Copy(after, written)
}

func (s SubStrategy[T]) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return noteErrors(ctx, s.sub.Validate(obj.(T), old.(T)))
}

func (SubStrategy[T]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (s SubStrategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet(s.sub.ResetFields...)
	set.Insert(fieldpath.MakePathOrDie("spec"))
	for _, name := range []string{"labels", "annotations", "ownerReferences"} {
		set.Insert(fieldpath.MakePathOrDie("metadata", name))
	}
	return s.inVersion(set)
}

type partStore interface {
	rest.Storage
	rest.Patcher
	rest.ResetFieldsStrategy
	rest.TableConvertor
}

type subresource[T Object] struct {
	partStore
	of         *Kind[T]
	check      func(ctx context.Context, after, before T) error
	afterWrite func(after, before T)
}

func newSubresource[T Object](of *genericregistry.Store, strategy SubStrategy[T]) *subresource[T] {
	store := *of
	store.UpdateStrategy, store.ResetFieldsStrategy = strategy, strategy
	return &subresource[T]{&store, strategy.Kind, strategy.sub.Check, strategy.sub.AfterWrite}
}

func (*subresource[T]) Destroy() {}

// Update answers Conflict if the request has another object's UID, because a patch has no preconditions, and validation
// would answer Invalid.
func (s *subresource[T]) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, onCreate rest.ValidateObjectFunc,
	onUpdate rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	var before T
	info = rest.WrapUpdatedObjectInfo(explained{info}, func(_ context.Context, written, stored runtime.Object) (runtime.Object, error) {
		before = stored.(T)
		requestUID, storedUID := written.(T).GetUID(), stored.(T).GetUID()
		if requestUID != "" && storedUID != "" && requestUID != storedUID {
			return nil, apierrors.NewConflict(s.of.resource(), name,
				fmt.Errorf("precondition failed: the uid in the request is %s, that of the object is %s", requestUID, storedUID))
		}
		return written, nil
	})
	ctx, errs := withErrors(ctx)
	// Server-side apply of a subresource does not create the object.
	after, created, err := s.partStore.Update(ctx, name, info, onCreate, checkUpdate(s.check, onUpdate), false, options)
	errs.addRules(err)
	// For example an Event, which a dry run must not send.
	if err == nil && s.afterWrite != nil && len(options.DryRun) == 0 {
		s.afterWrite(after.(T), before)
	}
	return after, created, err
}
