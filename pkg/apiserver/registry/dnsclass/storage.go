// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsclass

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// NewKind returns the kind of DNSClasses. It has no category, because kubectl get kubizone would fail for tenants, who
// may not list classes. The text of describeWithdrawn is about the zones that a change withdraws from servers; for a
// deletion, after is nil.
func NewKind(inlineSecrets bool, describeWithdrawn func(before, after *v1alpha1.DNSClass) string) *kind.Kind[*v1alpha1.DNSClass] {
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
		Validate: func(c *v1alpha1.DNSClass) field.ErrorList { return validation.DNSClass(c, inlineSecrets) },
		ValidateUpdate: func(after, before *v1alpha1.DNSClass) field.ErrorList {
			return validation.DNSClassUpdate(after, before, inlineSecrets)
		},
		Warn: validation.DNSClassWarnings,
		WarnUpdate: func(ctx context.Context, after, before *v1alpha1.DNSClass) []string {
			var warnings []string
			if kind.SpecChanged(after, before) {
				warnings = validation.DNSClassUpdateWarnings(after, before)
			}
			if narrowed(before, after) {
				if what := describeWithdrawn(before, after); what != "" {
					warning.AddWarning(ctx, v1alpha1.WarningTakesAway, refusal.Warning("S2.16", fmt.Sprintf("the class no longer "+
						"selects zones that it delivers, and withdraws them from its servers now: %s", what)))
				}
			}
			return warnings
		},
		IsProtected: func(c *v1alpha1.DNSClass) bool { return c.Spec.DeletionProtection },
		CheckDeletion: func(ctx context.Context, c *v1alpha1.DNSClass, _ bool) error {
			if c.DeletionTimestamp != nil || !slices.Contains(c.Finalizers, v1alpha1.FinalizerDelivery) {
				return nil
			}
			if what := describeWithdrawn(c, nil); what != "" {
				warning.AddWarning(ctx, v1alpha1.WarningTakesAway, refusal.Warning("S2.16", fmt.Sprintf("the class delivers zones, and "+
					"withdraws them from its servers now: %s (kubectl get deliveries -A lists them); spec.deletionProtection "+
					"refuses a deletion", what)))
			}
			return nil
		},
		Subresources: map[string]kind.Subresource[*v1alpha1.DNSClass]{
			"status":     kind.Status(validation.DNSClassStatusUpdate),
			"finalizers": kind.Finalizers[*v1alpha1.DNSClass](),
		},

		Columns: columns, Row: row,
	}
}

func narrowed(before, after *v1alpha1.DNSClass) bool {
	return class.IsDefault(before) && !class.IsDefault(after) || !equality.Semantic.DeepEqual(before.Spec.Views, after.Spec.Views) ||
		!equality.Semantic.DeepEqual(before.Spec.Namespaces, after.Spec.Namespaces)
}
