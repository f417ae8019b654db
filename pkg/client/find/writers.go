// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/dns/name"
)

// EveryNamespace among writers means a rule without namespaces.
const EveryNamespace = "*"

// Writers returns the namespaces that a zone's rules allow to write Records of a type at a name. A type "" or a zero
// name means any. If the user may not list Delegations, hidden is true, and the namespaces of Delegations are missing.
func (s *Search) Writers(ctx context.Context, z *v1alpha1.Zone, owner name.Name, rrtype string) (writers []string, hidden bool, err error) {
	writers = []string{}
	apex, _ := name.Parse(z.Status.FQDN)
	allows := func(rule v1alpha1.RecordDelegation) bool { return allowsWrite(rule, apex, owner, rrtype) }
	for i := range z.Spec.Delegations {
		rule := &z.Spec.Delegations[i]
		if slices.ContainsFunc(rule.Records, allows) {
			writers = append(writers, namespacesOf(rule)...)
		}
	}

	ofZone := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldDelegationZoneRefName, z.Name).String()}
	err = load.EachItem(ctx, s.API.Delegations(z.Namespace).List, ofZone, func(d *v1alpha1.Delegation) error {
		if slices.ContainsFunc(d.Spec.Records, allows) {
			writers = append(writers, d.Spec.Namespaces...)
		}
		return nil
	})
	hidden = apierrors.IsForbidden(err)
	if err != nil && !hidden {
		return nil, false, fmt.Errorf("delegations: %w", err)
	}
	slices.Sort(writers)
	return slices.Compact(writers), hidden, nil
}

func allowsWrite(rule v1alpha1.RecordDelegation, apex, owner name.Name, rrtype string) bool {
	p, err := pattern.Parse(rule.Pattern)
	if err != nil {
		return false
	}
	allowsName := owner.IsZero() || p.Match(owner, apex)
	allowsType := rrtype == "" || len(rule.Types) == 0 || slices.ContainsFunc(rule.Types, func(listed string) bool {
		return strings.EqualFold(listed, rrtype)
	})
	return allowsName && allowsType
}

func namespacesOf(rule *v1alpha1.DelegationRule) []string {
	namespaces := slices.Clone(rule.Namespaces)
	if rule.Namespace != "" {
		namespaces = append(namespaces, rule.Namespace)
	}
	if len(namespaces) == 0 {
		return []string{EveryNamespace}
	}
	return namespaces
}
