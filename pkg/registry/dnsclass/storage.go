// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsclass

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/registry/kind"
)

// NewKind makes the kind of DNSClasses. With inlineSecrets it accepts secrets in the class itself, where every user
// with read permission for classes sees them. The kind is in no category: tenants may not list classes, and `kubectl
// get kubizone` is theirs.
func NewKind(inlineSecrets bool) *kind.Kind[*v1alpha1.DNSClass] {
	return &kind.Kind[*v1alpha1.DNSClass]{
		GroupVersion: v1alpha1.SchemeGroupVersion, Resource: "dnsclasses", Singular: "dnsclass", ShortNames: []string{"dc"},
		ClusterScoped: true,
		New:           func() *v1alpha1.DNSClass { return &v1alpha1.DNSClass{} },
		NewList:       func() runtime.Object { return &v1alpha1.DNSClassList{} },

		Keep: func(_ context.Context, after, before *v1alpha1.DNSClass) {
			if kind.SpecChanged(after, before) { // S7.4
				meta.RemoveStatusCondition(&after.Status.Conditions, v1alpha1.ConditionStalled)
			}
		},
		Validate: func(class *v1alpha1.DNSClass) field.ErrorList { return validation.DNSClass(class, inlineSecrets) },
		ValidateUpdate: func(after, before *v1alpha1.DNSClass) field.ErrorList {
			return validation.DNSClassUpdate(after, before, inlineSecrets)
		},
		Warn: validation.DNSClassWarnings,
		WarnUpdate: func(after, before *v1alpha1.DNSClass) []string {
			if !kind.SpecChanged(after, before) {
				return nil
			}
			return validation.DNSClassUpdateWarnings(after, before)
		},
		Protected:     func(class *v1alpha1.DNSClass) bool { return class.Spec.DeletionProtection },
		CheckDeletion: warnOfUse,
		Subresources: map[string]kind.Subresource[*v1alpha1.DNSClass]{
			"status":     kind.Status(validation.DNSClassStatusUpdate),
			"finalizers": kind.Finalizers[*v1alpha1.DNSClass](),
		},

		Columns: columns, Row: row,
	}
}

// warnOfUse warns of the effects of deleting a class in use.
func warnOfUse(ctx context.Context, class *v1alpha1.DNSClass, _ bool) error {
	if class.DeletionTimestamp == nil && slices.Contains(class.Finalizers, v1alpha1.FinalizerDelivery) {
		warning.AddWarning(ctx, "", "zones are delivered by the class: all of them are withdrawn from its servers now (kubectl get "+
			"deliveries -A lists them); spec.deletionProtection refuses a deletion")
	}
	return nil
}
