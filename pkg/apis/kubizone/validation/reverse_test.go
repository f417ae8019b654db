// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func numbered(format string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return all
}

func TestZone_reverse(t *testing.T) {
	type rule = *v1alpha1.ZoneReverse
	for _, test := range []struct {
		sentence string
		change   func(rule)
		want     string
	}{
		{"S16.1 zones alone", func(rule) {}, ""},
		{"S16.1 all fields", func(r rule) {
			r.Namespaces, r.Prefixes, r.All = []string{"dns", "team-a"}, []string{"192.0.2.0/28", "2001:db8::/32", "0.0.0.0/0"}, true
		}, ""},
		{"S16.1 no zones", func(r rule) { r.Zones = nil }, required + "spec.reverse.zones"},
		{"S16.1 itself", func(r rule) { r.Zones = []string{"forward", "example-org"} }, invalid + "spec.reverse.zones[1]"},
		{"S16.1 a DNS name of a zone", func(r rule) { r.Zones = []string{"example.org."} }, invalid + "spec.reverse.zones[0]"},
		{"S16.1 another namespace's zone", func(r rule) { r.Zones = []string{"team-a/forward"} }, invalid + "spec.reverse.zones[0]"},
		{"S16.1 a zone twice", func(r rule) { r.Zones = []string{"a", "a"} }, duplicate + "spec.reverse.zones[1]"},
		{"S16.1 17 zones", func(r rule) { r.Zones = numbered("z%d", 17) }, tooMany + "spec.reverse.zones"},
		{"S16.1 a namespace that is none", func(r rule) { r.Namespaces = []string{"Team_A"} }, invalid + "spec.reverse.namespaces[0]"},
		{"S16.1 101 namespaces", func(r rule) { r.Namespaces = numbered("n%d", 101) }, tooMany + "spec.reverse.namespaces"},
		{"S16.1 101 prefixes", func(r rule) { r.Prefixes = numbered("192.0.2.%d/32", 101) }, tooMany + "spec.reverse.prefixes"},
		{"S16.1 an address", func(r rule) { r.Prefixes = []string{"192.0.2.7"} }, invalid + "spec.reverse.prefixes[0]"},
		{"S16.1 bits behind the length", func(r rule) { r.Prefixes = []string{"192.0.2.7/28"} }, invalid + "spec.reverse.prefixes[0]"},
		{"S16.1 IPv4 mapped into IPv6", func(r rule) { r.Prefixes = []string{"::ffff:192.0.2.0/124"} },
			invalid + "spec.reverse.prefixes[0]"},
		{"S16.1 a prefix twice", func(r rule) { r.Prefixes = []string{"192.0.2.0/28", "192.0.2.0/28"} },
			duplicate + "spec.reverse.prefixes[1]"},
	} {
		t.Run(test.sentence, func(t *testing.T) {
			wantErrors(t, Zone(newZone(func(s *v1alpha1.ZoneSpec) {
				s.DomainName, s.Reverse = "2.0.192.in-addr.arpa.", &v1alpha1.ZoneReverse{Zones: []string{"forward"}}
				test.change(s.Reverse)
			})), test.want)
		})
	}
}
