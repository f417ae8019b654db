// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

var example = name.MustParse("example.org.")

func TestReaches_onlyByATailAtOrBelowTheName_S4_20(t *testing.T) {
	for _, row := range []struct{ pattern, reaches, not string }{
		{"*", "@", "pay x.pay"},
		{"*.pay", "@ pay", "x.pay"},
		{"*.apps", "@ apps", "pay.apps"},
		{"*-x.apps", "@ apps", "pay.apps"},
		{"*x", "@", "x"},
		{"x.*", "@", "x y"},
		{"a.*.b", "@ b", "a.b x.b"},
		{"*.a.b", "@ b a.b", "c.a.b"},
		// A literal pattern is its own tail.
		{"pay", "@ pay", ""},
		{"x.pay", "@ pay x.pay", ""},
		// Labels of the zone's own name do not count as a tail, however they are written.
		{"*.example.org.", "@", "pay"},
		{"*.pay.example.org.", "@ pay", "x.pay"},
		{"*.org.", "@", "pay"},
		{"pay.*.org.", "@", "pay"},
		{"*.pay.@", "@ pay", "x.pay"},
	} {
		p := must.Get(pattern.Parse(row.pattern))(t)
		for list, want := range map[string]bool{row.reaches: true, row.not: false} {
			for _, named := range strings.Fields(list) {
				if got := hasMinTail(p, name.MustRel(named).NumLabels(), example); got != want {
					t.Errorf("%q reaches what %s names: %v, want %v", row.pattern, named, got, want)
				}
			}
		}
	}
}

// Among the patterns that match a name at or below a reserved name, hasMinTail accepts exactly the patterns whose tail
// is at or below the reserved name, although it only counts labels.
func FuzzReaches(f *testing.F) {
	f.Add("*", "x.pay", "pay", "example.org.")
	f.Add("*.apps", "y.apps", "apps", "example.org.")
	f.Add("*-x.apps.example.org.", "a-x.apps", "apps", "example.org.")
	f.Add("a.*.b", "a.x.b", "x.b", ".")
	f.Fuzz(func(t *testing.T, text, owner, named, zone string) {
		p, err1 := pattern.Parse(text)
		z, err2 := name.Parse(zone)
		up, err3 := name.ParseRel(named)
		if err1 != nil || err2 != nil || err3 != nil {
			return
		}
		n, err1 := name.ParseIn(owner, z)
		above, err2 := up.In(z)
		if err1 != nil || err2 != nil || !above.Encloses(n) || !p.Match(n, z) {
			return
		}
		// The expected tail comes from the text: the labels after the last "*", in the zone.
		full := p.String()
		if full = strings.TrimSuffix(strings.TrimSuffix(full, "@"), "."); !strings.HasSuffix(p.String(), ".") {
			full = strings.Trim(full+"."+z.String(), ".")
		}
		labels := strings.Split(full, ".")
		tail := strings.Join(labels[lastStar(labels)+1:], ".") + "."
		at, err := name.Parse(tail)
		if err != nil {
			t.Fatalf("%q: the tail %q is no name: %v", p, tail, err)
		}
		if got, want := hasMinTail(p, up.NumLabels(), z), above.Encloses(at); got != want {
			t.Fatalf("%q in %s, whose tail is %s, reaches what %s names: %v", p, z, at, above, got)
		}
	})
}

func hasStar(label string) bool { return strings.Contains(label, "*") }

func lastStar(labels []string) int {
	for i, label := range slices.Backward(labels) {
		if hasStar(label) {
			return i
		}
	}
	return -1
}

func TestRule_namesWhatItGivesLiterally_S4_21(t *testing.T) {
	for text, want := range map[string]string{
		"pay": "pay", "PAY": "pay", "x.pay": "x.pay", "pay.@": "pay", "pay.example.org.": "pay", "a,b,a": "a b",
		"zone:d": "d", "zone:*.d": "", "a,zone:d": "a d",
		"@": "", "example.org.": "", "*": "", "*.pay": "", "p*": "", "pay.other.org.": "",
		"_dmarc.pay": "", "_acme-challenge": "", "x._tcp.pay": "",
		"pay TXT": "", "pay TXT+CAA+DS+TLSA+SSHFP": "", "pay TXT+A": "pay", "pay MX": "pay",
	} {
		var r Rule
		for _, part := range strings.Split(text, ",") {
			part, types, _ := strings.Cut(part, " ")
			if zone, ok := strings.CutPrefix(part, "zone:"); ok {
				r.Zones = append(r.Zones, must.Get(pattern.Parse(zone))(t))
				continue
			}
			rr := RecordRule{Pattern: must.Get(pattern.Parse(part))(t), Text: part}
			for _, one := range strings.FieldsFunc(types, func(c rune) bool { return c == '+' }) {
				rr.Types = append(rr.Types, must.Get(rdata.ParseType(one))(t))
			}
			r.Records = append(r.Records, rr)
		}
		if got := r.ListNamed(example); len(got) > 0 {
			t.Errorf("%q for every namespace names %v", text, got)
		}
		r.Namespaces = []string{"b"}
		var got []string
		for _, n := range r.ListNamed(example) {
			got = append(got, n.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
		set := &Set{Zone: example, OwnNamespace: "own", Lists: [2][]Rule{{r}}}
		for _, n := range []string{"pay", "x.pay", "a", "c.b", "d", "other", "notpay"} {
			owner := name.MustRel(n)
			deepest := 0
			for _, named := range r.ListNamed(example) {
				if named.Encloses(owner) {
					deepest = max(deepest, named.NumLabels())
				}
			}
			for ns, want := range map[string]int{"a": deepest, "b": 0, "own": 0} {
				if got := set.MinTailFor(owner, ns); got != want {
					t.Errorf("%q: a pattern of %s needs a tail of %d labels at %s, want %d", text, ns, got, n, want)
				}
			}
		}
	}
}

// Of several reserved names above a name, the nearest decides.
func TestMinTailFor_nearestReservedName_S4_20(t *testing.T) {
	given := func(namespace string, patterns ...string) Rule {
		r := Rule{Namespaces: []string{namespace}}
		for _, text := range patterns {
			r.Records = append(r.Records, RecordRule{Pattern: must.Get(pattern.Parse(text))(t), Text: text})
		}
		return r
	}
	set := &Set{Zone: example, OwnNamespace: "own", Lists: [2][]Rule{{given("b", "pay", "*.pay", "q.x.pay"), given("a", "*", "x.pay")}}}
	for n, want := range map[string]map[string]int{
		"pay":         {"a": 1, "b": 0, "c": 1},
		"z.pay":       {"a": 1, "b": 0, "c": 1},
		"x.pay":       {"a": 0, "b": 2, "c": 2},
		"y.x.pay":     {"a": 0, "b": 2, "c": 2},
		"q.x.pay":     {"a": 3, "b": 0, "c": 3},
		"_t.x.pay":    {"a": 0, "b": 2, "c": 2},
		"*.y.x.pay":   {"a": 0, "b": 2, "c": 2},
		"r.q.x.pay":   {"a": 3, "b": 0, "c": 3},
		"other":       {"a": 0, "b": 0, "c": 0},
		"xpay.x.xpay": {"a": 0, "b": 0, "c": 0},
	} {
		for namespace, labels := range want {
			if got := set.MinTailFor(name.MustRel(n), namespace); got != labels {
				t.Errorf("a pattern of %s needs a tail of %d labels at %s, want %d", namespace, got, n, labels)
			}
		}
	}
}

// A rule gives DS only to zones that it delegates.
func TestDelegatesDS_onlyWhereItsRuleDelegates_S6_16(t *testing.T) {
	parse := func(text string) []pattern.Pattern { return []pattern.Pattern{must.Get(pattern.Parse(text))(t)} }
	s := &Set{Zone: example, OwnNamespace: "dns", Lists: [2][]Rule{{
		{Namespaces: []string{"team"}, Zones: parse("_sip"), DS: false},
		{Namespaces: []string{"team"}, Zones: parse("*"), DS: true},
		{Namespaces: []string{"team"}, Zones: parse("_x.*"), DS: true},
	}}}
	for zone, want := range map[string][2]bool{ // delegated, with DS
		"_sip.example.org.":   {true, false},
		"_tcp.example.org.":   {false, false},
		"dev.example.org.":    {true, true},
		"_x.dev.example.org.": {true, true},
	} {
		n := name.MustParse(zone)
		if got := [2]bool{s.DelegatesZone(n, "team"), s.DelegatesDS(n, "team")}; got != want {
			t.Errorf("%s: delegated and with DS %v, want %v", zone, got, want)
		}
	}
}
