// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

const hashWidth = 8

const classesWidth = 20

var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "metadata.name of the Zone."},
	{Name: "FQDN", Type: "string", Description: "The absolute name of the zone."},
	{Name: "Serial", Type: "integer", Format: "int64", Description: "The SOA serial."},
	{Name: "Entries", Type: "integer", Format: "int64", Description: "The number of values in the zone."},
	{Name: "Class", Type: "string", Description: "What delivers the zone."},
	{Name: "Parent", Type: "string", Description: "Namespace and name of the Zone that delegates this one."},
	{Name: "Ready", Type: "string", Description: "Whether the zone is delegated, servable, settled and delivered everywhere."},
	{Name: "Age", Type: "string", Description: "Time since the creation of the Zone."},
	{Name: "Domain", Type: "string", Priority: 1, Description: "spec.domainName: absolute with a trailing dot, " +
		"else relative to the parent."},
	{Name: "Hash", Type: "string", Priority: 1, Description: "The first characters of the hash over what the zone contains."},
	{Name: "View", Type: "string", Priority: 1, Description: "The view (split horizon) of the zone."},
	{Name: "Message", Type: "string", Priority: 1, Description: "Why the zone is not ready."},
}

// zoneRow returns the cells of columns, in their order.
func zoneRow(zone *v1alpha1.Zone) []any {
	parent := kind.None
	if ref := zone.Status.ParentRef; ref != nil {
		parent = ref.Namespace + "/" + ref.Name
	}
	var classes []string
	for _, ref := range zone.Spec.DNSClassRefs {
		classes = append(classes, kind.Class(ref))
	}
	hash := zone.Status.Hash
	if len(hash) > hashWidth {
		hash = hash[:hashWidth]
	}
	return []any{
		zone.Name, kind.OrNone(zone.Status.FQDN), zone.Status.Serial, zone.Status.EntryCount,
		kind.Shorten(kind.OrNone(strings.Join(classes, ",")), classesWidth), parent,
		kind.Ready(zone.Status.Conditions), kind.Age(zone.CreationTimestamp),
		zone.Spec.DomainName, kind.OrNone(hash), kind.OrNone(zone.Status.View),
		notReadyMessage(zone),
	}
}

func notReadyMessage(zone *v1alpha1.Zone) string {
	types := []string{v1alpha1.ConditionDelegated, v1alpha1.ConditionServable, v1alpha1.ConditionSettled, v1alpha1.ConditionReady}
	// Of a held zone, Settled has the command that ends the hold, and Ready repeats the rest.
	if settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled); settled != nil &&
		settled.Reason == v1alpha1.ReasonMassDeletion {
		types = []string{v1alpha1.ConditionSettled}
	}
	return kind.Message(zone.Status.Conditions, types...)
}
