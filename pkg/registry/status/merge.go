// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Conditions is what becomes of the conditions when a controller writes a status: those of the types in server stay
// as they were, the others are as written. stale says that the writer spoke of an older serial; then its Ready, and
// the Stalled beside it, are dropped and those before stay.
func Conditions(before, written []metav1.Condition, stale bool, server ...string) []metav1.Condition {
	kept := slices.Clone(server)
	if stale {
		kept = append(kept, v1alpha1.ConditionReady, v1alpha1.ConditionStalled)
	}
	var out []metav1.Condition
	for _, condition := range before {
		if slices.Contains(kept, condition.Type) {
			out = append(out, condition)
		}
	}
	for _, condition := range written {
		if !slices.Contains(kept, condition.Type) {
			out = append(out, condition)
		}
	}
	return out
}

// Stale says that a status which names the serial written speaks of a time before the serial of the object (S6.7). A
// writer that names none is not stale. Where serials cannot be compared (RFC 1982 §3.2) it is: a wrong True is worse
// than a late one.
func Stale(written, now int64) bool {
	if written == 0 || written == now {
		return false
	}
	return !serial.Serial(uint32(written)).Ahead(serial.Serial(uint32(now)))
}

// KeepMetadata leaves in an object whose status is written all that does not belong to the status. Managed fields are
// the generic server's to write.
func KeepMetadata(after, before *metav1.ObjectMeta) {
	after.Labels = before.Labels
	after.Annotations = before.Annotations
	after.Finalizers = before.Finalizers
	after.OwnerReferences = before.OwnerReferences
	after.Generation = before.Generation
}

// HeldBy are the finalizers of an object after a write of its subresource finalizers: ours as it was written, those
// of others as they stood before.
func HeldBy(before, written []string) []string {
	return withOurs(before, slices.Contains(written, v1alpha1.FinalizerDelivery))
}

// KeepHeld are the finalizers of an object after a write of the object itself, nil before for a new one: those of
// others as they were written, ours as it stood. So the right to write an object is no right to free it while a
// provider has its data (S8.2).
func KeepHeld(before, written []string) []string {
	return withOurs(written, slices.Contains(before, v1alpha1.FinalizerDelivery))
}

// withOurs are finalizers with kubi.zone/delivery, or without it.
func withOurs(finalizers []string, held bool) []string {
	switch slices.Contains(finalizers, v1alpha1.FinalizerDelivery) {
	case held:
		return finalizers
	case true:
		return slices.DeleteFunc(slices.Clone(finalizers), func(finalizer string) bool { return finalizer == v1alpha1.FinalizerDelivery })
	}
	return append(slices.Clone(finalizers), v1alpha1.FinalizerDelivery)
}

// NotOwnedOfFinalizers are the fields that no server-side apply of the subresource finalizers may own: all but those.
func NotOwnedOfFinalizers() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): fieldpath.NewSet(
		fieldpath.MakePathOrDie("spec"),
		fieldpath.MakePathOrDie("status"),
		fieldpath.MakePathOrDie("metadata", "labels"),
		fieldpath.MakePathOrDie("metadata", "annotations"),
		fieldpath.MakePathOrDie("metadata", "ownerReferences"),
	)}
}

// KeepParentLabel keeps the label that names the adopting zone: it is output (S3.8).
func KeepParentLabel(after, before *metav1.ObjectMeta) {
	value, adopted := before.Labels[v1alpha1.LabelParentZone]
	if !adopted {
		delete(after.Labels, v1alpha1.LabelParentZone)
		return
	}
	if after.Labels == nil {
		after.Labels = map[string]string{}
	}
	after.Labels[v1alpha1.LabelParentZone] = value
}

// NotOwned are the fields that no server-side apply of a resource may own, beside further ones: the label that is
// output.
func NotOwned(further ...fieldpath.Path) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "labels", v1alpha1.LabelParentZone))
	for _, path := range further {
		set.Insert(path)
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): set}
}

// NotOwnedOfStatus are the fields that no server-side apply of a status may own: everything outside of status, the
// server's fields and the server's conditions.
func NotOwnedOfStatus(fields, server []string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet(
		fieldpath.MakePathOrDie("spec"),
		fieldpath.MakePathOrDie("metadata", "labels"),
		fieldpath.MakePathOrDie("metadata", "annotations"),
		fieldpath.MakePathOrDie("metadata", "finalizers"),
		fieldpath.MakePathOrDie("metadata", "ownerReferences"),
	)
	for _, field := range fields {
		set.Insert(fieldpath.MakePathOrDie("status", field))
	}
	for _, condition := range server {
		set.Insert(fieldpath.MakePathOrDie("status", "conditions", fieldpath.KeyByFields("type", condition)))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): set}
}
