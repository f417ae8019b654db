// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

var Kind = kind.Kind[*v1alpha1.Record]{
	GroupVersion: v1alpha1.SchemeGroupVersion, Resource: "records", Singular: "record",
	ShortNames: []string{"rec"}, Categories: []string{"kubizone"},
	New:     func() *v1alpha1.Record { return &v1alpha1.Record{} },
	NewList: func() runtime.Object { return &v1alpha1.RecordList{} },

	KeepsParentLabel: true,
	Validate:         validation.Record, ValidateUpdate: validation.RecordUpdate, Warn: validation.RecordWarnings,
	Subresources: map[string]kind.Subresource[*v1alpha1.Record]{"status": {
		Copy: takeStatus, Validate: validation.RecordStatusUpdate, ResetFields: kind.ResetFieldsOfStatus(serverFields, serverConditions),
	}},

	Fields: recordFields, Columns: columns, Row: recordRow,
	Indexes: []kind.Index[*v1alpha1.Record]{
		{Field: v1alpha1.FieldRecordReady, Values: []string{string(metav1.ConditionFalse), string(metav1.ConditionUnknown)}, Get: readyOf},
		{Field: v1alpha1.FieldRecordAdopted, Values: []string{string(metav1.ConditionFalse)}, Get: adoptedOf},
		{Field: v1alpha1.FieldRecordWithdrawn, Values: []string{string(metav1.ConditionTrue)}, Get: withdrawnOf},
	},
}

var (
	serverFields     = []string{"observedGeneration", "fqdn", "view", "zoneRef", "serial", "endsAt", "admission", "lastDeliveryError"}
	serverConditions = []string{v1alpha1.ConditionAdopted, v1alpha1.ConditionReady, v1alpha1.ConditionStalled}
)

// takeStatus copies only the conditions that the server does not set.
func takeStatus(after, written *v1alpha1.Record) {
	after.Status.Conditions = kind.Conditions(after.Status.Conditions, written.Status.Conditions, serverConditions...)
}

var recordFields = map[string]func(*v1alpha1.Record) string{
	v1alpha1.FieldRecordType:        rrtype,
	v1alpha1.FieldRecordZoneRefName: zoneRefName,
	v1alpha1.FieldRecordFQDN:        func(record *v1alpha1.Record) string { return record.Status.FQDN },
	v1alpha1.FieldRecordZone:        zoneOf,
	v1alpha1.FieldRecordAdopted:     adoptedOf,
	v1alpha1.FieldRecordReady:       readyOf,
	v1alpha1.FieldRecordWithdrawn:   withdrawnOf,
}

func zoneRefName(record *v1alpha1.Record) string {
	if record.Spec.ZoneRef == nil {
		return ""
	}
	return record.Spec.ZoneRef.Name
}

func zoneOf(record *v1alpha1.Record) string {
	if record.Status.ZoneRef == nil {
		return ""
	}
	return zoneKey(record.Status.ZoneRef)
}

func readyOf(record *v1alpha1.Record) string {
	ready := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.ObservedGeneration >= record.Generation {
		return string(ready.Status)
	}
	return string(metav1.ConditionUnknown)
}

func adoptedOf(record *v1alpha1.Record) string {
	return statusOf(record.Status.ZoneRef != nil)
}

func withdrawnOf(record *v1alpha1.Record) string {
	return statusOf(record.Status.EndsAt != nil)
}

func statusOf(is bool) string {
	if is {
		return string(metav1.ConditionTrue)
	}
	return string(metav1.ConditionFalse)
}

func zoneKey(ref *v1alpha1.AdoptingZone) string { return ref.Namespace + "/" + ref.Name }

// rrtype is canonical. The spec may have any case, or a number.
func rrtype(record *v1alpha1.Record) string {
	t, err := rdata.ParseType(record.Spec.Type)
	if err != nil {
		return strings.ToUpper(record.Spec.Type)
	}
	return t.String()
}
