// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func newDelegation(change func(*v1alpha1.DelegationSpec)) *v1alpha1.Delegation {
	d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Name: "team-a", Namespace: "dns"}}
	d.Spec = v1alpha1.DelegationSpec{ZoneRef: v1alpha1.DelegatedZone{Name: "example-org"}, Namespaces: []string{"team-a"}, Records: []v1alpha1.RecordDelegation{{Pattern: "*.a"}}}
	if change != nil {
		change(&d.Spec)
	}
	return d
}

func TestDelegation_oneObject_S4_3(t *testing.T) {
	type spec = *v1alpha1.DelegationSpec
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint("n", i))
		}
		return out
	}
	for _, test := range []struct {
		sentence string
		change   func(spec)
		want     string // type and field of the only error; "" for none
	}{
		{"an ordinary one", nil, ""},
		{"no zone", func(s spec) { s.ZoneRef.Name = "" }, "Required value: spec.zoneRef.name"},
		{"a zone of no name", func(s spec) { s.ZoneRef.Name = "Example" }, "Invalid value: spec.zoneRef.name"},
		{"for no namespace", func(s spec) { s.Namespaces = nil }, "Required value: spec.namespaces"},
		{"for 16", func(s spec) { s.Namespaces = many(16) }, ""},
		{"for 17", func(s spec) { s.Namespaces = many(17) }, "Too many: spec.namespaces"},
		{"for one twice", func(s spec) { s.Namespaces = []string{"a", "a"} }, "Duplicate value: spec.namespaces[1]"},
		{"for a namespace of no name", func(s spec) { s.Namespaces = []string{"A"} }, "Invalid value: spec.namespaces[0]"},
		{"S4.6 a pattern that does not parse", func(s spec) { s.Records[0].Pattern = "a..b" }, "Invalid value: spec.records[0].pattern"},
		{"S4.6 of zones, too", func(s spec) { s.Zones = []string{""} }, "Required value: spec.zones[0]"},
		{"S4.5 a type that is none", func(s spec) { s.Records[0].Types = []string{"B"} }, "Invalid value: spec.records[0].types[0]"},
		{"with shared", func(s spec) { s.Records[0].Shared = true }, "Invalid value: spec.records[0].shared"},
		{"an absolute name", func(s spec) { s.Records[0].Pattern = "feed.example.org." }, ""},
		{"S5.10 too large", func(s spec) {
			for i := range 700 {
				s.Records = append(s.Records, v1alpha1.RecordDelegation{Pattern: strings.Repeat("x", 50) + fmt.Sprint(i)})
			}
		}, "Too long: spec"},
	} {
		var got []string
		for _, err := range Delegation(newDelegation(test.change)) {
			got = append(got, err.Type.String()+": "+err.Field)
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%s: %q, want %q", test.sentence, text, test.want)
		}
	}
}

func TestDelegationUpdate_S4_3(t *testing.T) {
	before, after := newDelegation(nil), newDelegation(func(s *v1alpha1.DelegationSpec) { s.ZoneRef.Name = "other" })
	before.ResourceVersion, after.ResourceVersion = "1", "1"
	errs := DelegationUpdate(after, before)
	wantRules(t, errs)
	if len(errs) != 1 || errs[0].Field != "spec.zoneRef.name" || !strings.Contains(errs[0].Detail, "make another Delegation") {
		t.Errorf("another zone: %v", errs)
	}
	before.Spec.Records[0].Pattern = "a..b" // from an earlier version
	after.Spec = *before.Spec.DeepCopy()
	after.Spec.Namespaces = []string{"team-b"}
	if errs := DelegationUpdate(after, before); len(errs) != 0 {
		t.Errorf("what stood may stand: %v", errs)
	}
}

// The warning is for names of other namespaces only (F10).
func TestDelegationWarnings(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.DelegationSpec){
		"S4.1: spec: lists neither records nor zones":   func(s *v1alpha1.DelegationSpec) { s.Records = nil },
		"where no child can be":                         func(s *v1alpha1.DelegationSpec) { s.Zones = []string{"@"} },
		"S5.4: spec.records[0].types[0]: no Record can": func(s *v1alpha1.DelegationSpec) { s.Records[0].Types = []string{"SOA"} },
	} {
		if got := DelegationWarnings(newDelegation(change)); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for pattern, want := range map[string]string{
		"*.a": "", "_acme-challenge.www": "", "_acme-challenge": "", "*._domainkey": "", "*": "",
		"_acme-challenge.*":      `"_acme-challenge.*" matches below the names of all namespaces, the zone's own included: the tenant can get`,
		"_acme-challenge.*.apps": "the tenant can get certificates for them;",
		"_443._tcp.*":            "its records there affect those names;",
	} {
		for _, own := range []bool{false, true} {
			got := DelegationWarnings(newDelegation(func(s *v1alpha1.DelegationSpec) {
				s.Records[0].Pattern = pattern
				if own {
					s.Namespaces = []string{"dns"}
				}
			}))
			if text := strings.Join(got, "; "); want == "" || own {
				if text != "" {
					t.Errorf("%s, own %t: %q, want none", pattern, own, got)
				}
			} else if !strings.HasPrefix(text, "S4.14: spec.records[0].pattern: ") || !strings.Contains(text, want) {
				t.Errorf("%s: %q, want %q", pattern, got, want)
			}
		}
	}
}

// The annotation kubi.zone/release-now lists namespaces whose grace period ends at once. On Zones and Delegations, a
// list that is malformed or too long is refused (S3.6). An invalid list that is already stored does not block an update
// that leaves the list unchanged.
func TestReleaseNow_namesNamespaces_S3_6(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("a,", MaxReleaseNow), ",")
	for value, want := range map[string]string{
		"team-a": "", "team-a,team-b": "", "team-a, team-b": "", many: "",
		many + ",a": "Too many", "": "team-a,team-b", "team-a,": "commas", "team-a team-b": "commas", "Team": "commas", "*": "commas",
		strings.Repeat("a", 64): "commas",
	} {
		annotations := map[string]string{v1alpha1.AnnotationReleaseNow: value}
		d, z := newDelegation(nil), newZone(nil)
		d.Annotations, z.Annotations, d.ResourceVersion, z.ResourceVersion = annotations, annotations, "1", "1"
		plainD, plainZ := d.DeepCopy(), z.DeepCopy()
		plainD.Annotations, plainZ.Annotations = nil, nil
		for _, errs := range []field.ErrorList{Zone(z), ZoneUpdate(z, plainZ), Delegation(d), DelegationUpdate(d, plainD)} {
			wantRules(t, errs)
			if (want == "") != (len(errs) == 0) || want != "" &&
				(errs[0].Field != "metadata.annotations[kubi.zone/release-now]" || !strings.Contains(errs[0].Error(), want)) {
				t.Errorf("%q: %v", value, errs)
			}
		}
		if errs := append(ZoneUpdate(z, z), DelegationUpdate(d, d)...); len(errs) > 0 {
			t.Errorf("%q that stays: %v", value, errs)
		}
	}
}
