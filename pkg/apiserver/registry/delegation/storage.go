// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

var Kind = kind.Kind[*v1alpha1.Delegation]{
	GroupVersion: v1alpha1.SchemeGroupVersion, Resource: "delegations", Singular: "delegation",
	ShortNames: []string{"zdel"}, Categories: []string{"kubizone"},
	New:     func() *v1alpha1.Delegation { return &v1alpha1.Delegation{} },
	NewList: func() runtime.Object { return &v1alpha1.DelegationList{} },

	Validate: validation.Delegation, ValidateUpdate: validation.DelegationUpdate,
	Warn: validation.DelegationWarnings,

	Fields: map[string]func(*v1alpha1.Delegation) string{
		v1alpha1.FieldDelegationZoneRefName: func(delegation *v1alpha1.Delegation) string { return delegation.Spec.ZoneRef.Name },
	},
	Columns: columns, Row: delegationRow,
}

const namespacesWidth = 40

var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "metadata.name of the Delegation."},
	{Name: "Zone", Type: "string", Description: "The Zone that the rule is for, in the same namespace."},
	{Name: "Namespaces", Type: "string", Description: "The namespaces that the rule holds for, cut where they are many."},
	{Name: "Records", Type: "integer", Format: "int64", Description: "How many Records these have in the zone, " +
		"by this rule or another one."},
	{Name: "Accepted", Type: "string", Description: "Whether the rule is in force."},
	{Name: "Age", Type: "string", Description: "Time since the creation of the Delegation."},
	{Name: "Patterns", Type: "string", Priority: 1, Description: "What the rule allows: patterns of records, then of zones."},
	{Name: "Message", Type: "string", Priority: 1, Description: "Why the rule is not in force."},
}

// delegationRow returns the cells of columns, in their order.
func delegationRow(delegation *v1alpha1.Delegation) []any {
	accepted := string(metav1.ConditionUnknown)
	if c := meta.FindStatusCondition(delegation.Status.Conditions, v1alpha1.ConditionAccepted); c != nil {
		accepted = string(c.Status)
	}
	var patterns []string
	for i := range delegation.Spec.Records {
		patterns = append(patterns, delegation.Spec.Records[i].Pattern)
	}
	patterns = append(patterns, delegation.Spec.Zones...)
	return []any{
		delegation.Name, delegation.Spec.ZoneRef.Name, kind.Shorten(strings.Join(delegation.Spec.Namespaces, ","), namespacesWidth),
		delegation.Status.Records, accepted, kind.Age(delegation.CreationTimestamp),
		kind.OrNone(kind.Shorten(strings.Join(patterns, ","), namespacesWidth)), kind.Message(delegation.Status.Conditions,
			v1alpha1.ConditionAccepted),
	}
}
