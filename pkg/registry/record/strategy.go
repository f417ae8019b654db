// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package record

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

// strategy creates and updates objects of kind Record.
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

// PrepareForCreate clears what only the server sets: the status and the label of the adopting zone.
func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	record := obj.(*v1alpha1.Record)
	record.Status = v1alpha1.RecordStatus{}
	record.Generation = 1
	delete(record.Labels, v1alpha1.LabelParentZone)
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.Record(obj.(*v1alpha1.Record))
}

func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return validation.RecordWarnings(obj.(*v1alpha1.Record))
}

func (strategy) Canonicalize(runtime.Object) {}

func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate: a PUT without resourceVersion replaces what is there, as with built-in kinds.
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return true }

// PrepareForUpdate keeps the status and counts changes of spec (S7.4).
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.Record), old.(*v1alpha1.Record)
	after.Status = before.Status
	status.KeepParentLabel(&after.ObjectMeta, &before.ObjectMeta)
	after.Generation = before.Generation
	if !equality.Semantic.DeepEqual(after.Spec, before.Spec) {
		after.Generation++
	}
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.RecordUpdate(obj.(*v1alpha1.Record), old.(*v1alpha1.Record))
}

// WarningsOnUpdate warns about a changed spec alone.
func (strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	after, before := obj.(*v1alpha1.Record), old.(*v1alpha1.Record)
	if after.Generation == before.Generation {
		return nil
	}
	return validation.RecordWarnings(after)
}

// GetResetFields keeps server-side apply from owning fields that it cannot set.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return status.NotOwned(fieldpath.MakePathOrDie("status"))
}

// The fields of the status that the server sets; controllers set the others.
var (
	serverFields     = []string{"observedGeneration", "fqdn", "view", "zoneRef", "serial", "endsAt", "admission"}
	serverConditions = []string{v1alpha1.ConditionAdopted}
)

// statusStrategy updates the status of a Record.
type statusStrategy struct{ strategy }

// PrepareForUpdate takes over the conditions that are not the server's and the last delivery error (S7.4).
func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.Record), old.(*v1alpha1.Record)
	written := after.Status
	after.Spec = before.Spec
	after.Status = before.Status
	status.KeepMetadata(&after.ObjectMeta, &before.ObjectMeta)
	stale := status.Stale(written.Serial, before.Status.Serial)
	after.Status.Conditions = status.Conditions(before.Status.Conditions, written.Conditions, stale, serverConditions...)
	if !stale {
		after.Status.LastDeliveryError = written.LastDeliveryError
	}
}

func (statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.RecordStatusUpdate(obj.(*v1alpha1.Record), old.(*v1alpha1.Record))
}

func (statusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return status.NotOwnedOfStatus(serverFields, serverConditions)
}
