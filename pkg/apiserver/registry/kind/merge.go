// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Conditions merges a client's status write into the conditions. The types in kept stay as before, because only the API
// server sets them.
func Conditions(before, written []metav1.Condition, kept ...string) []metav1.Condition {
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

// withDeliveryFinalizer returns the finalizers with kubi.zone/delivery if held, and without it otherwise. It never
// modifies its argument.
func withDeliveryFinalizer(finalizers []string, held bool) []string {
	switch slices.Contains(finalizers, v1alpha1.FinalizerDelivery) {
	case held:
		return finalizers
	case true:
		return slices.DeleteFunc(slices.Clone(finalizers), func(finalizer string) bool { return finalizer == v1alpha1.FinalizerDelivery })
	}
	return append(slices.Clone(finalizers), v1alpha1.FinalizerDelivery)
}

// keepParentLabel gives after the label of before, or none: a client could otherwise claim to be in a zone.
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
