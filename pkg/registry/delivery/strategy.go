// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/registry/status"
)

// strategy creates and updates objects of kind Delivery.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

var (
	_ rest.RESTCreateStrategy = strategy{}
	_ rest.RESTUpdateStrategy = strategy{}
	_ rest.RESTDeleteStrategy = strategy{}
	_ status.Strategy         = statusStrategy{}
)

func (strategy) NamespaceScoped() bool { return true }

// PrepareForCreate clears the status, which only the server sets.
func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	delivery := obj.(*v1alpha1.Delivery)
	delivery.Status = v1alpha1.DeliveryStatus{}
	delivery.Generation = 1
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.Delivery(obj.(*v1alpha1.Delivery))
}

func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

func (strategy) Canonicalize(runtime.Object) {}

func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate: never, since it would overwrite the intent of another worker.
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return false }

// PrepareForUpdate leaves status alone. The generation stays: spec is immutable.
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.Delivery), old.(*v1alpha1.Delivery)
	after.Status = before.Status
	after.Generation = before.Generation
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.DeliveryUpdate(obj.(*v1alpha1.Delivery), old.(*v1alpha1.Delivery))
}

func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// GetResetFields keeps server-side apply from owning fields that it cannot set.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
	}
}

// statusStrategy updates the status of a Delivery.
type statusStrategy struct{ strategy }

// PrepareForUpdate changes the status alone, which the controller owns.
func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.Delivery), old.(*v1alpha1.Delivery)
	after.Spec = before.Spec
	status.KeepMetadata(&after.ObjectMeta, &before.ObjectMeta)
}

func (statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.DeliveryStatusUpdate(obj.(*v1alpha1.Delivery), old.(*v1alpha1.Delivery))
}

func (statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return status.NotOwnedOfStatus(nil, nil)
}
