// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Conditions merges the conditions that a controller writes: those of the types in server stay as before, the others
// are as written. stale: the writer saw an older serial, so Ready and Stalled stay as before, too.
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

// Stale reports that a status written for a serial is older than the object's (S6.13). A status without serial is not
// stale. If the serials cannot be compared (RFC 1982 §3.2) it is: a wrong True is worse than a late one.
func Stale(written, now int64) bool {
	if written == 0 || written == now {
		return false
	}
	return !serial.Serial(uint32(written)).Ahead(serial.Serial(uint32(now)))
}

// keepMetadata restores the metadata that a write of the status must not change. The generic server writes the managed
// fields.
func keepMetadata(after, before *metav1.ObjectMeta) {
	after.Labels = before.Labels
	after.Annotations = before.Annotations
	after.Finalizers = before.Finalizers
	after.OwnerReferences = before.OwnerReferences
	after.Generation = before.Generation
}

// heldBy returns the finalizers of an object after a write of its subresource finalizers: ours as written, others as
// before.
func heldBy(before, written []string) []string {
	return withOurs(before, slices.Contains(written, v1alpha1.FinalizerDelivery))
}

// KeepHeld returns the finalizers of an object after a write of the object itself: ours as before, others as written.
// before is nil for a new object. So permission to write an object does not let its deletion finish while a provider
// has its data (S8.3).
func KeepHeld(before, written []string) []string {
	return withOurs(written, slices.Contains(before, v1alpha1.FinalizerDelivery))
}

// withOurs returns finalizers with kubi.zone/delivery if held, else without it.
func withOurs(finalizers []string, held bool) []string {
	switch slices.Contains(finalizers, v1alpha1.FinalizerDelivery) {
	case held:
		return finalizers
	case true:
		return slices.DeleteFunc(slices.Clone(finalizers), func(finalizer string) bool { return finalizer == v1alpha1.FinalizerDelivery })
	}
	return append(slices.Clone(finalizers), v1alpha1.FinalizerDelivery)
}

// keepParentLabel keeps the label of the adopting zone, which only the server sets (S6.12).
func keepParentLabel(after, before *metav1.ObjectMeta) {
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
