// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Lines prints the steps of a zone's history. The creation of a zone is a single line. The sum of several steps prints
// only their net effect, including that on the zone's own fields such as the ttl.
func TestLines_ofStepsAndOfTheirSum(t *testing.T) {
	first := &v1alpha1.ZoneHeader{FQDN: "example.org.", TTL: 360, Refresh: 1, NameServers: []v1alpha1.NameServer{
		{Name: "ns1", Addresses: []string{"192.0.2.53", "2001:db8::53"}}, {Name: "ns.example.net."}}}
	second := first.DeepCopy()
	second.TTL = 60
	a, b := v1alpha1.Row{Owner: "a", Type: "A", Data: "192.0.2.1"}, v1alpha1.Row{Owner: "b", Type: "A", Data: "192.0.2.2"}
	c := v1alpha1.Row{Owner: "c", Type: "A", Data: "192.0.2.3"}
	ttl := func(before, after string) []v1alpha1.TTLChange {
		return []v1alpha1.TTLChange{{Owner: "c", Type: "A", Before: before, After: after}}
	}
	steps := []v1alpha1.HistoryStep{
		{Added: []v1alpha1.Row{c}, Removed: []v1alpha1.Row{a}},
		{TTLs: ttl("60", "90"), Removed: []v1alpha1.Row{b}},
		{HeaderBefore: first, HeaderAfter: second, Removed: []v1alpha1.Row{c}, TTLs: ttl("30", "60")},
		{Added: []v1alpha1.Row{b}},
		{HeaderAfter: first},
	}
	for i := range steps {
		steps[i].FQDN = "example.org."
	}
	const created = "+ Zone example.org., name servers ns1 192.0.2.53 2001:db8::53, ns.example.net."
	for _, one := range []struct {
		what string
		of   v1alpha1.HistoryStep
		want []string
	}{
		{"a creation", steps[4], []string{created}},
		{"a bare creation", v1alpha1.HistoryStep{HeaderAfter: &v1alpha1.ZoneHeader{FQDN: "example.org.", TTL: 1}},
			[]string{"+ Zone example.org."}},
		{"a change of the zone", steps[2], []string{"- c.example.org. A 192.0.2.3", "~ c.example.org. A: ttl 60 instead of 30",
			"~ Zone ttl 60 instead of 360"}},
		{"the sum", Sum(steps[:4]), []string{"- a.example.org. A 192.0.2.1", "~ c.example.org. A: ttl 90 instead of 30",
			"~ Zone ttl 60 instead of 360"}},
		{"the sum from the creation on", Sum(steps), []string{"- a.example.org. A 192.0.2.1", "~ c.example.org. A: ttl 90 instead of 30",
			"+ Zone example.org., name servers ns1 192.0.2.53 2001:db8::53, ns.example.net."}},
		{"the sum of nothing", Sum(nil), nil},
		{"a removal", v1alpha1.HistoryStep{Zone: &v1alpha1.HistoryZone{Namespace: "team", Name: "z"}}, []string{"- Zone team/z"}},
		{"a condensed step", v1alpha1.HistoryStep{Condensed: true}, []string{"; its values are no longer kept"}},
	} {
		if got := Lines(&one.of); !slices.Equal(got, one.want) {
			t.Errorf("%s: %q", one.what, got)
		}
	}
}
