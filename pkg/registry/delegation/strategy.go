// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/registry/status"
)

// strategy creates and updates objects of kind Delegation.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

var (
	_ rest.RESTCreateStrategy  = strategy{}
	_ rest.RESTUpdateStrategy  = strategy{}
	_ rest.RESTDeleteStrategy  = strategy{}
	_ rest.ResetFieldsStrategy = strategy{}
)

func (strategy) NamespaceScoped() bool { return true }

// PrepareForCreate clears the status, which only the server sets.
func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	delegation := obj.(*v1alpha1.Delegation)
	delegation.Status = v1alpha1.DelegationStatus{}
	delegation.Generation = 1
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.Delegation(obj.(*v1alpha1.Delegation))
}

func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return validation.DelegationWarnings(obj.(*v1alpha1.Delegation))
}

func (strategy) Canonicalize(runtime.Object) {}

func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate: a PUT without resourceVersion replaces what is there, as with built-in kinds.
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return true }

// PrepareForUpdate keeps the status and counts changes of spec (S7.4).
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.Delegation), old.(*v1alpha1.Delegation)
	after.Status = before.Status
	after.Generation = before.Generation
	if !equality.Semantic.DeepEqual(after.Spec, before.Spec) {
		after.Generation++
	}
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.DelegationUpdate(obj.(*v1alpha1.Delegation), old.(*v1alpha1.Delegation))
}

// WarningsOnUpdate warns about a changed spec alone.
func (strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	after, before := obj.(*v1alpha1.Delegation), old.(*v1alpha1.Delegation)
	if after.Generation == before.Generation {
		return nil
	}
	return validation.DelegationWarnings(after)
}

// GetResetFields keeps server-side apply from owning fields that it cannot set.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return status.NotOwned(fieldpath.MakePathOrDie("status"))
}
