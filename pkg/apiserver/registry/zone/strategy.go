// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// newKind returns the rules of Zones for package kind: fields, checks, subresources and columns.
func newKind(r *REST) *kind.Kind[*v1alpha1.Zone] {
	return &kind.Kind[*v1alpha1.Zone]{
		GroupVersion: v1alpha1.SchemeGroupVersion, Resource: "zones", Singular: "zone",
		ShortNames: []string{"zn"}, Categories: []string{"kubizone"},
		New:     func() *v1alpha1.Zone { return &v1alpha1.Zone{} },
		NewList: func() runtime.Object { return &v1alpha1.ZoneList{} },

		KeepsParentLabel: true,
		Keep:             keepFinalizers,
		Validate:         validation.Zone, ValidateUpdate: validation.ZoneUpdate,
		Warn:        validation.NewZoneWarnings,
		WarnUpdate:  warnOfUpdate,
		Check:       r.checkReferences,
		IsProtected: func(zone *v1alpha1.Zone) bool { return zone.Spec.DeletionProtection },
		CheckDeletion: func(ctx context.Context, zone *v1alpha1.Zone, dry bool) error {
			if !dry {
				return nil // the commit decides
			}
			// A dry run has no commit, so ask the ledger for the decision about the deletion.
			marked := zone.DeepCopy()
			marked.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			return r.Decide(ctx, zone, marked)
		},
		Subresources: map[string]kind.Subresource[*v1alpha1.Zone]{
			"status": {Copy: takeStatus, Validate: validation.ZoneStatusUpdate,
				ResetFields: kind.ResetFieldsOfStatus(serverFields, serverConditions)},
			"finalizers": kind.Finalizers[*v1alpha1.Zone](),
			"dnssec": {
				// dnssec becomes content of the parent zone, so the right to write status does not suffice.
				Copy:     func(after, written *v1alpha1.Zone) { after.Status.DNSSEC = written.Status.DNSSEC },
				Validate: validation.ZoneDNSSECUpdate,
				ResetFields: kind.ResetFieldsOfStatus(append(slices.DeleteFunc(slices.Clone(serverFields), func(field string) bool {
					return field == "dnssec"
				}), "conditions"), nil),
			},
		},

		Fields: map[string]func(*v1alpha1.Zone) string{
			v1alpha1.FieldZoneFQDN: func(zone *v1alpha1.Zone) string { return zone.Status.FQDN },
			v1alpha1.FieldZoneView: func(zone *v1alpha1.Zone) string { return zone.Spec.View },
		},
		Columns: columns, Row: zoneRow,
	}
}

// keepFinalizers keeps the delivery finalizer, with a Warning, if an update would remove it: the zone's data would stay
// at the provider for ever. The subresource finalizers has the way out (S8.3).
func keepFinalizers(ctx context.Context, after, before *v1alpha1.Zone) {
	held := kind.KeepDeliveryFinalizer(before.Finalizers, after.Finalizers)
	if len(held) > len(after.Finalizers) {
		warning.AddWarning(ctx, "", refusal.Warning("S8.3", fmt.Sprintf("metadata.finalizers: %s stays until the zone is withdrawn from "+
			"the classes that deliver it; a cluster admin who accepts that its data stays at a provider removes the finalizer with "+
			"kubectl patch zone %s -n %s --subresource=finalizers --type=merge -p '{\"metadata\":{\"finalizers\":null}}'",
			v1alpha1.FinalizerDelivery, before.Name, before.Namespace)))
	}
	after.Finalizers = held
}

// warnOfUpdate returns the Warnings of an update. A write of metadata alone, for example by a GitOps tool each minute,
// has none of the spec's.
func warnOfUpdate(_ context.Context, after, before *v1alpha1.Zone) []string {
	warnings := validation.PublishWarnings(after, before)
	if kind.SpecChanged(after, before) {
		warnings = append(warnings, validation.ZoneWarnings(after)...)
		warnings = append(warnings, validation.OpenRuleWarnings(after, before)...)
		warnings = append(warnings, validation.RetentionWarnings(after, before)...)
	}
	return warnings
}

var (
	serverFields = []string{
		"observedGeneration", "fqdn", "view", "serial", "settledSerial", "hash", "contentState",
		"contentGeneration", "entryCount", "parentRef", "endsAt", "rrsetCount", "dnssec", "deletions",
		"serialTime",
	}
	serverConditions = []string{v1alpha1.ConditionDelegated, v1alpha1.ConditionServable, v1alpha1.ConditionSettled,
		v1alpha1.ConditionReady, v1alpha1.ConditionStalled}
)

// takeStatus copies only the conditions that the server does not set.
func takeStatus(after, written *v1alpha1.Zone) {
	after.Status.Conditions = kind.Conditions(after.Status.Conditions, written.Status.Conditions, serverConditions...)
}
