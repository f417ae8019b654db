// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/registry/status"
)

// strategy creates and updates objects of a kind.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind  *kind
	rules validation.FleetRules
}

var (
	_ rest.RESTCreateStrategy = strategy{}
	_ rest.RESTUpdateStrategy = strategy{}
	_ rest.RESTDeleteStrategy = strategy{}
	_ status.Strategy         = statusStrategy{}
)

func (s strategy) NamespaceScoped() bool { return s.kind.namespaced }

// PrepareForCreate clears the status, which only the controller sets.
func (s strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	reset(s.kind.partsOf(obj).status)
	obj.(metav1.Object).SetGeneration(1)
	metaOf(obj).Finalizers = status.KeepHeld(nil, metaOf(obj).Finalizers)
}

func (s strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return s.kind.validate(obj, nil, s.rules)
}

func (s strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return s.kind.warn(obj)
}

func (strategy) Canonicalize(runtime.Object) {}

func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate: a PUT without resourceVersion replaces what is there, as with built-in kinds.
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return true }

// PrepareForUpdate keeps the status and counts changes of spec. The finalizer of delivery stays as it is (S11.30).
func (s strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	metaOf(obj).Finalizers = status.KeepHeld(metaOf(old).Finalizers, metaOf(obj).Finalizers)
	after, before := s.kind.partsOf(obj), s.kind.partsOf(old)
	replace(after.status, before.status)
	generation := old.(metav1.Object).GetGeneration()
	if !equality.Semantic.DeepEqual(after.spec, before.spec) {
		generation++
	}
	obj.(metav1.Object).SetGeneration(generation)
}

func (s strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.kind.validate(obj, old, s.rules)
}

// WarningsOnUpdate warns about a changed spec alone.
func (s strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if !specChanged(obj, old) {
		return nil
	}
	return s.kind.warn(obj)
}

// specChanged reports whether PrepareForUpdate has counted a change.
func specChanged(obj, old runtime.Object) bool {
	return obj.(metav1.Object).GetGeneration() != old.(metav1.Object).GetGeneration()
}

// GetResetFields keeps server-side apply from owning fields that it cannot set.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(bind9.SchemeGroupVersion.String()): fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
	}
}

// statusStrategy updates the status of an object.
type statusStrategy struct{ strategy }

// PrepareForUpdate changes the status alone, which the controller owns.
func (s statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	replace(s.kind.partsOf(obj).spec, s.kind.partsOf(old).spec)
	status.KeepMetadata(metaOf(obj), metaOf(old))
}

func (s statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	after, before := s.kind.partsOf(obj), s.kind.partsOf(old)
	return validation.FleetStatusUpdate(metaOf(obj), metaOf(old), after.conditions, after.status.Size(), before.status.Size())
}

func (statusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(bind9.SchemeGroupVersion.String()): status.OutsideOfStatus()}
}

// finalizersStrategy updates the finalizer of delivery: the controller adds its own without permission for the spec.
type finalizersStrategy struct{ strategy }

// PrepareForUpdate changes that finalizer alone.
func (s finalizersStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := s.kind.partsOf(obj), s.kind.partsOf(old)
	replace(after.spec, before.spec)
	replace(after.status, before.status)
	held := status.HeldBy(metaOf(old).Finalizers, metaOf(obj).Finalizers)
	status.KeepMetadata(metaOf(obj), metaOf(old))
	metaOf(obj).Finalizers = held
}

func (finalizersStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(metaOf(obj), metaOf(old), field.NewPath("metadata"))
}

func (finalizersStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (finalizersStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(bind9.SchemeGroupVersion.String()): status.OutsideOfFinalizers()}
}

func metaOf(obj runtime.Object) *metav1.ObjectMeta {
	return obj.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}
