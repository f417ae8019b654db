// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
)

// The history may leave out a Record's values only if the step has them, and no others, at the name and type: not if
// another Record keeps a value, or loses one of the same RRset.
func TestHasValues_S7_13(t *testing.T) {
	www := must.Get(name.ParseRel("www"))(t)
	row := func(data string) content.Row { return content.Row{Owner: www, Type: rdata.A, Data: data} }
	one, two, three := row("192.0.2.1"), row("192.0.2.2"), row("192.0.2.3")
	for what, x := range map[string]struct {
		own, step []content.Row
		left      bool
		want      bool
	}{
		"all gone":                         {[]content.Row{one, two}, []content.Row{one, two}, true, true},
		"changed":                          {[]content.Row{one, two}, []content.Row{one, two}, false, false},
		"another Record keeps a value":     {[]content.Row{one}, []content.Row{one}, true, false},
		"the set adds a value again":       {[]content.Row{one, two}, []content.Row{one}, true, false},
		"another Record of the RRset goes": {[]content.Row{one, two}, []content.Row{one, two, three}, true, false},
	} {
		m := &member{Write: &Write{RecordBefore: &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Values: []string{"192.0.2.1", "192.0.2.2"}}}},
			plan: &law.Plan{Zone: &law.ZoneChange{Step: &content.Step{Record: &content.RecordRef{Was: true, Left: x.left},
				Removed: x.own}}}}
		if got := hasValues(&content.Step{Removed: x.step}, m); got != x.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
