// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Conditions merges a client's status write into the conditions. The types in serverTypes stay as before, because only
// the API server sets them. If the write is stale (for an earlier serial), Ready and Stalled stay too.
func Conditions(before, written []metav1.Condition, stale bool, serverTypes ...string) []metav1.Condition {
	kept := slices.Clone(serverTypes)
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

// Stale reports whether writtenSerial is older than currentSerial. 0 is not older. Serials without order (RFC 1982
// §3.2) count as older, because a late True is better than a wrong True.
func Stale(writtenSerial, currentSerial int64) bool {
	if writtenSerial == 0 || writtenSerial == currentSerial {
		return false
	}
	return !serial.Serial(uint32(writtenSerial)).Ahead(serial.Serial(uint32(currentSerial)))
}

func keepMetadata(after, before *metav1.ObjectMeta) {
	after.Labels = before.Labels
	after.Annotations = before.Annotations
	after.Finalizers = before.Finalizers
	after.OwnerReferences = before.OwnerReferences
	after.Generation = before.Generation
}

func setDeliveryFinalizer(before, written []string) []string {
	return withDeliveryFinalizer(before, slices.Contains(written, v1alpha1.FinalizerDelivery))
}

// KeepDeliveryFinalizer returns the written finalizers, but keeps or omits kubi.zone/delivery as before, because the
// right to write does not suffice to complete a deletion.
func KeepDeliveryFinalizer(before, written []string) []string {
	return withDeliveryFinalizer(written, slices.Contains(before, v1alpha1.FinalizerDelivery))
}

func withDeliveryFinalizer(finalizers []string, held bool) []string {
	switch slices.Contains(finalizers, v1alpha1.FinalizerDelivery) {
	case held:
		return finalizers
	case true:
		return slices.DeleteFunc(slices.Clone(finalizers), func(finalizer string) bool { return finalizer == v1alpha1.FinalizerDelivery })
	}
	return append(slices.Clone(finalizers), v1alpha1.FinalizerDelivery)
}

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
