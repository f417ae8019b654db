// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	maxTenants = 25
	maxClaims  = 50
)

type rulesPart struct {
	Grants []grant
	Claims []claims
	Lacks  []*lack
}

type grant struct {
	Who, From, Problem string
	Records            []v1alpha1.RecordDelegation
	Zones              []string
}

type claims struct {
	Namespace string
	Names     []string
	Count     int
	More      bool
}

// readRules lists the rules of a zone, in the Zone and in Delegations, and the names that tenants have claimed by them.
// Each unreadable list is one of the Lacks.
func readRules(ctx context.Context, r *reading, zone *v1alpha1.Zone) *rulesPart {
	part, tenants := &rulesPart{}, map[string]bool{}

	// 1. Rules in the Zone.
	for i := range zone.Spec.Delegations {
		rule := &zone.Spec.Delegations[i]
		namespaces := slices.Clone(rule.Namespaces)
		if rule.Namespace != "" {
			namespaces = append(namespaces, rule.Namespace)
		}
		for _, namespace := range namespaces {
			tenants[namespace] = true
		}
		part.Grants = append(part.Grants, grant{Who: cmp.Or(strings.Join(namespaces, ", "), "every namespace"),
			From: fmt.Sprintf("rule %d of the Zone", i+1), Records: rule.Records, Zones: rule.Zones})
	}

	// 2. Delegations, which are objects of the zone's namespace.
	list, err := r.api.Delegations(zone.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldDelegationZoneRefName, zone.Name).String()})
	if err != nil {
		part.Lacks = append(part.Lacks, lackOf(err, "list", "delegations", zone.Namespace))
	} else {
		for i := range list.Items {
			d := &list.Items[i]
			one := grant{Who: strings.Join(d.Spec.Namespaces, ", "), From: "Delegation " + d.Name, Zones: d.Spec.Zones}
			for _, record := range d.Spec.Records {
				one.Records = append(one.Records, v1alpha1.RecordDelegation{Pattern: record.Pattern, Types: record.Types})
			}
			// The owner of the zone sees here why the Delegation has no effect.
			if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady); c != nil && c.Status == metav1.ConditionFalse {
				one.Problem = c.Reason + ": " + c.Message
			}
			for _, namespace := range d.Spec.Namespaces {
				tenants[namespace] = true
			}
			part.Grants = append(part.Grants, one)
		}
	}

	// 3. Claims of tenants. The zone's own namespace is none.
	delete(tenants, zone.Namespace)
	for i, namespace := range sortedKeys(tenants) {
		// A request for each namespace: a zone with a thousand tenants would delay the page.
		if i == maxTenants {
			break
		}
		part.addClaims(ctx, r, zone, namespace)
	}
	return part
}

// addClaims adds the names of the namespace's Records in the zone, of the first maxClaims Records.
func (p *rulesPart) addClaims(ctx context.Context, r *reading, zone *v1alpha1.Zone, namespace string) {
	list, err := r.api.Records(namespace).List(ctx, metav1.ListOptions{Limit: maxClaims, FieldSelector: fields.OneTermEqualSelector(
		v1alpha1.FieldRecordZone, zone.Namespace+"/"+zone.Name).String()})
	if err != nil {
		p.Lacks = append(p.Lacks, lackOf(err, "list", "records", namespace))
		return
	}
	names := map[string]bool{}
	for i := range list.Items {
		names[list.Items[i].Status.FQDN] = true
	}
	if len(names) > 0 {
		p.Claims = append(p.Claims, claims{namespace, sortedKeys(names), len(list.Items), list.Continue != ""})
	}
}
