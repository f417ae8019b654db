// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/registry/status"
)

// strategy creates and updates objects of kind Zone.
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
	zone := obj.(*v1alpha1.Zone)
	zone.Status = v1alpha1.ZoneStatus{}
	zone.Generation = 1
	zone.Finalizers = status.KeepHeld(nil, zone.Finalizers)
	delete(zone.Labels, v1alpha1.LabelParentZone)
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.Zone(obj.(*v1alpha1.Zone))
}

func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return validation.NewZoneWarnings(obj.(*v1alpha1.Zone))
}

func (strategy) Canonicalize(runtime.Object) {}

func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate: a PUT without resourceVersion replaces what is there.
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return true }

// PrepareForUpdate keeps the status and counts changes of spec (S7.4). The finalizer of delivery stays as it is
// (S8.3).
func (strategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.Zone), old.(*v1alpha1.Zone)
	after.Status = before.Status
	if held := status.KeepHeld(before.Finalizers, after.Finalizers); len(held) > len(after.Finalizers) {
		after.Finalizers = held
		warning.AddWarning(ctx, "", fmt.Sprintf("metadata.finalizers: %s stays until the zone is withdrawn from the classes that deliver "+
			"it (S8.3); a cluster admin who accepts that its data stays at a provider removes it with "+
			"kubectl patch zone %s -n %s --subresource=finalizers --type=merge -p '{\"metadata\":{\"finalizers\":null}}'",
			v1alpha1.FinalizerDelivery, before.Name, before.Namespace))
	} else {
		after.Finalizers = held
	}
	status.KeepParentLabel(&after.ObjectMeta, &before.ObjectMeta)
	after.Generation = before.Generation
	if !equality.Semantic.DeepEqual(after.Spec, before.Spec) {
		after.Generation++
	}
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ZoneUpdate(obj.(*v1alpha1.Zone), old.(*v1alpha1.Zone))
}

// WarningsOnUpdate warns about changed spec and annotations alone.
func (strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	after, before := obj.(*v1alpha1.Zone), old.(*v1alpha1.Zone)
	warnings := validation.PublishWarnings(after, before)
	if after.Generation != before.Generation {
		warnings = append(warnings, validation.ZoneWarnings(after)...)
	}
	return warnings
}

// GetResetFields keeps server-side apply from owning fields that it cannot set.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return status.NotOwned(fieldpath.MakePathOrDie("status"))
}

// The fields of the status that a write of zones/status leaves alone: the server sets them, and dnssec has a
// subresource of its own.
var (
	serverFields = []string{
		"observedGeneration", "fqdn", "view", "serial", "settledSerial", "hash", "contentState",
		"contentGeneration", "entryCount", "parentRef", "endsAt", "rrsetCount", "dnssec", "deletions",
	}
	serverConditions = []string{v1alpha1.ConditionDelegated, v1alpha1.ConditionServable, v1alpha1.ConditionSettled}
)

// statusStrategy updates the status of a Zone.
type statusStrategy struct{ strategy }

// PrepareForUpdate takes over the conditions that are not the server's (S7.4).
func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.Zone), old.(*v1alpha1.Zone)
	written := after.Status
	after.Spec = before.Spec
	after.Status = before.Status
	status.KeepMetadata(&after.ObjectMeta, &before.ObjectMeta)
	stale := status.Stale(written.Serial, before.Status.Serial)
	after.Status.Conditions = status.Conditions(before.Status.Conditions, written.Conditions, stale, serverConditions...)
	if saysBehind(&written, &before.Status) {
		after.Status.Serial = written.Serial // the ledger reads it as a request for that serial, and replaces it
	}
}

// saysBehind reports that Ready is False with reason SerialBehind, at a serial ahead of the zone's: that of a secondary
// (S6.11).
func saysBehind(written, before *v1alpha1.ZoneStatus) bool {
	ready := meta.FindStatusCondition(written.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == v1alpha1.ReasonSerialBehind &&
		before.Serial != 0 && written.Serial >= 1 && written.Serial <= math.MaxUint32 &&
		serial.Serial(written.Serial).Ahead(serial.Serial(before.Serial))
}

func (statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ZoneStatusUpdate(obj.(*v1alpha1.Zone), old.(*v1alpha1.Zone))
}

func (statusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return status.NotOwnedOfStatus(serverFields, serverConditions)
}

// finalizersStrategy updates the finalizers: a controller adds its own without permission for the spec.
type finalizersStrategy struct{ strategy }

func (finalizersStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.Zone), old.(*v1alpha1.Zone)
	held := status.HeldBy(before.Finalizers, after.Finalizers)
	after.Spec, after.Status = before.Spec, before.Status
	status.KeepMetadata(&after.ObjectMeta, &before.ObjectMeta)
	after.Finalizers = held
}

func (finalizersStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(&obj.(*v1alpha1.Zone).ObjectMeta, &old.(*v1alpha1.Zone).ObjectMeta,
		field.NewPath("metadata"))
}

func (finalizersStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (finalizersStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return status.NotOwnedOfFinalizers()
}

// dnssecStrategy updates status.dnssec: what a zone's parent contains follows from it, so the right to write the other
// status is no right to write it (S12.2).
type dnssecStrategy struct{ strategy }

func (dnssecStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	after, before := obj.(*v1alpha1.Zone), old.(*v1alpha1.Zone)
	written := after.Status.DNSSEC
	after.Spec, after.Status = before.Spec, before.Status
	after.Status.DNSSEC = written
	status.KeepMetadata(&after.ObjectMeta, &before.ObjectMeta)
}

func (dnssecStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ZoneDNSSECUpdate(obj.(*v1alpha1.Zone), old.(*v1alpha1.Zone))
}

func (dnssecStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (dnssecStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	others := slices.DeleteFunc(slices.Clone(serverFields), func(field string) bool { return field == "dnssec" })
	return status.NotOwnedOfStatus(append(others, "conditions"), nil)
}
