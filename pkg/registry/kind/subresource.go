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

// Subresource is a part of objects that is written by itself, and what may be written there.
type Subresource[T Object] struct {
	// Take takes into after, which has what the object has, what may be changed of it by the object written.
	Take     func(after, written T)
	Validate func(after, before T) field.ErrorList
	// NotOwned are fields that no server-side apply may own, beside spec and the metadata of every write.
	NotOwned []fieldpath.Path
	// Written is called for each write when it is stored. Optional.
	Written func(after, before T)
}

// Status is the subresource status of a kind whose status is all the controller's.
func Status[T Object](validate func(after, before T) field.ErrorList) Subresource[T] {
	return Subresource[T]{Take: func(after, written T) { statusOf(after).Set(statusOf(written)) }, Validate: validate,
		NotOwned: NotOwnedOfStatus(nil, nil)}
}

// NotOwnedOfStatus are the fields that are not owned by a write of a status of which some fields and conditions are
// the server's.
func NotOwnedOfStatus(fields, conditions []string) []fieldpath.Path {
	paths := []fieldpath.Path{fieldpath.MakePathOrDie("metadata", "finalizers")}
	for _, name := range fields {
		paths = append(paths, fieldpath.MakePathOrDie("status", name))
	}
	for _, condition := range conditions {
		paths = append(paths, fieldpath.MakePathOrDie("status", "conditions", fieldpath.KeyByFields("type", condition)))
	}
	return paths
}

// Finalizers is the subresource finalizers: a controller adds its own without permission for the spec.
func Finalizers[T Object]() Subresource[T] {
	return Subresource[T]{
		Take: func(after, written T) { after.SetFinalizers(heldBy(after.GetFinalizers(), written.GetFinalizers())) },
		Validate: func(after, before T) field.ErrorList {
			return apivalidation.ValidateObjectMetaUpdate(metaOf(after), metaOf(before), field.NewPath("metadata"))
		},
		NotOwned: []fieldpath.Path{fieldpath.MakePathOrDie("status")},
	}
}

// Sub is the strategy of a subresource.
func (s Strategy[T]) Sub(name string) SubStrategy[T] {
	return SubStrategy[T]{s, s.Of.Subresources[name]}
}

// SubStrategy updates what a subresource is for.
type SubStrategy[T Object] struct {
	Strategy[T]
	sub Subresource[T]
}

// PrepareForUpdate changes nothing else. The generic server writes the managed fields.
func (s SubStrategy[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before, written := obj.(T), old.(T), obj.DeepCopyObject().(T)
	specOf(after).Set(specOf(before))
	statusOf(after).Set(statusOf(before))
	keepMetadata(metaOf(after), metaOf(before))
	s.sub.Take(after, written)
}

// ValidateUpdate of the part.
func (s SubStrategy[T]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.sub.Validate(obj.(T), old.(T))
}

// WarningsOnUpdate are none.
func (SubStrategy[T]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// GetResetFields keeps server-side apply from owning fields outside of the part.
func (s SubStrategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet(s.sub.NotOwned...)
	set.Insert(fieldpath.MakePathOrDie("spec"))
	for _, name := range []string{"labels", "annotations", "ownerReferences"} {
		set.Insert(fieldpath.MakePathOrDie("metadata", name))
	}
	return s.inVersion(set)
}

// partStore is what a generic store does that serves a subresource.
type partStore interface {
	rest.Storage
	rest.Patcher
	rest.ResetFieldsStrategy
	rest.TableConvertor
}

// subresource is the storage of a subresource.
type subresource[T Object] struct {
	partStore
	of      *Kind[T]
	written func(after, before T)
}

// newSubresource makes a subresource of the resource in the store of. The resource destroys the store.
func newSubresource[T Object](of *genericregistry.Store, strategy SubStrategy[T]) *subresource[T] {
	store := *of
	store.UpdateStrategy, store.ResetFieldsStrategy = strategy, strategy
	return &subresource[T]{&store, strategy.Of, strategy.sub.Written}
}

// Destroy leaves the store alone.
func (*subresource[T]) Destroy() {}

// Update writes the part of an object that exists. A write that names the uid of another object, such as one that
// was deleted and made anew, is a Conflict, as a precondition of an update is: a patch has no preconditions, and
// validation would answer Invalid, which blames the writer.
func (s *subresource[T]) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, onCreate rest.ValidateObjectFunc,
	onUpdate rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	var before T
	info = rest.WrapUpdatedObjectInfo(explained{info}, func(_ context.Context, written, stored runtime.Object) (runtime.Object, error) {
		before = stored.(T)
		uid, has := written.(T).GetUID(), stored.(T).GetUID()
		if uid != "" && has != "" && uid != has {
			return nil, apierrors.NewConflict(s.of.resource(), name,
				fmt.Errorf("precondition failed: the uid in the request is %s, that of the object is %s", uid, has))
		}
		return written, nil
	})
	// Server-side apply of a part must not create the object.
	after, created, err := s.partStore.Update(ctx, name, info, onCreate, onUpdate, false, options)
	if err == nil && s.written != nil && len(options.DryRun) == 0 {
		s.written(after.(T), before)
	}
	return after, created, err
}
