// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsclass

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/registry/status"
)

// strategy creates and updates objects of kind DNSClass.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	inlineSecrets bool
}

var (
	_ rest.RESTCreateStrategy = strategy{}
	_ rest.RESTUpdateStrategy = strategy{}
	_ rest.RESTDeleteStrategy = strategy{}
	_ status.Strategy         = statusStrategy{}
)

func (strategy) NamespaceScoped() bool { return false }

// PrepareForCreate clears the status, which only the server sets.
func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	class := obj.(*v1alpha1.DNSClass)
	class.Status = v1alpha1.DNSClassStatus{}
	class.Generation = 1
}

func (s strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.DNSClass(obj.(*v1alpha1.DNSClass), s.inlineSecrets)
}

func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return validation.DNSClassWarnings(obj.(*v1alpha1.DNSClass))
}

func (strategy) Canonicalize(runtime.Object) {}

func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate: a PUT without resourceVersion replaces what is there, as with built-in kinds.
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return true }

// PrepareForUpdate keeps the status and counts changes of spec, which clear Stalled (S7.4).
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.DNSClass), old.(*v1alpha1.DNSClass)
	after.Status = before.Status
	after.Generation = before.Generation
	if !equality.Semantic.DeepEqual(after.Spec, before.Spec) {
		after.Generation++
		meta.RemoveStatusCondition(&after.Status.Conditions, v1alpha1.ConditionStalled)
	}
}

func (s strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.DNSClassUpdate(obj.(*v1alpha1.DNSClass), old.(*v1alpha1.DNSClass), s.inlineSecrets)
}

// WarningsOnUpdate warns about a changed spec alone.
func (strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	after, before := obj.(*v1alpha1.DNSClass), old.(*v1alpha1.DNSClass)
	if after.Generation == before.Generation {
		return nil
	}
	return validation.DNSClassUpdateWarnings(after, before)
}

// GetResetFields keeps server-side apply from owning fields that it cannot set.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
	}
}

// statusStrategy updates the status of a DNSClass.
type statusStrategy struct{ strategy }

// PrepareForUpdate changes the status alone, which the controller owns.
func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.DNSClass), old.(*v1alpha1.DNSClass)
	after.Spec = before.Spec
	status.KeepMetadata(&after.ObjectMeta, &before.ObjectMeta)
}

func (statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.DNSClassStatusUpdate(obj.(*v1alpha1.DNSClass), old.(*v1alpha1.DNSClass))
}

func (statusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return status.NotOwnedOfStatus(nil, nil)
}

// finalizersStrategy updates the finalizers: a controller adds its own without permission for the spec.
type finalizersStrategy struct{ strategy }

func (finalizersStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.DNSClass), old.(*v1alpha1.DNSClass)
	held := status.HeldBy(before.Finalizers, after.Finalizers)
	after.Spec, after.Status = before.Spec, before.Status
	status.KeepMetadata(&after.ObjectMeta, &before.ObjectMeta)
	after.Finalizers = held
}

func (finalizersStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(&obj.(*v1alpha1.DNSClass).ObjectMeta, &old.(*v1alpha1.DNSClass).ObjectMeta,
		field.NewPath("metadata"))
}

func (finalizersStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (finalizersStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return status.NotOwnedOfFinalizers()
}
