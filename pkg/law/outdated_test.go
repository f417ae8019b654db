// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/pattern"
)

// S5.9: of those that cannot stand together the last comer leaves first, the zone's own namespace being first of all,
// and no more leave than must. 20,000 records at one name are as nothing: their owner decides how many there are.
func TestOutdated_whichRecordsLeave_S5_9(t *testing.T) {
	fqdn, err := name.Parse("example.org.")
	if err != nil {
		t.Fatal(err)
	}
	z := &Zone{Ref: Ref{Namespace: "own", Name: "z", UID: "z"}, Header: content.Header{FQDN: fqdn}}
	named := RecordRule{Text: "@"}
	if named.Pattern, err = pattern.Parse("@"); err != nil {
		t.Fatal(err)
	}
	for i := range 97 {
		named.Types = append(named.Types, rdata.Type(20000+i))
	}
	z.Rules = []Rule{{Records: []RecordRule{named}}}
	var o Outdated
	o.AddZone(z)
	d, err := pattern.Parse("d")
	if err != nil {
		t.Fatal(err)
	}
	o.AddRule(z.UID, Rule{Namespaces: []string{"b"}, Records: []RecordRule{{Text: "d", Pattern: d, Types: []rdata.Type{20000}}}})
	n := int64(0)
	add := func(ns, id, owner, typ string, values ...string) {
		t.Helper()
		rel, err := name.ParseRel(owner)
		if err != nil {
			t.Fatal(err)
		}
		at := &Adopted{Zone: z.Ref, Contribution: Contribution{Owner: rel}}
		if at.Type, err = rdata.ParseType(typ); err != nil {
			t.Fatal(err)
		}
		for _, text := range values {
			v, err := rdata.ParseStored(at.Type, text)
			if err != nil {
				t.Fatal(err)
			}
			at.Values = append(at.Values, v)
		}
		n++
		o.AddRecord(Ref{Namespace: ns, Name: id, UID: id}, n, at)
	}
	add("a", "first", "r", "RESINFO", "x=1")
	add("b", "same", "r", "RESINFO", "x=1")
	add("a", "second", "r", "RESINFO", "x=2")
	add("own", "last", "r", "RESINFO", "x=3")
	add("a", "alone", "s", "RESINFO", "x=1")
	add("b", "alike", "s", "RESINFO", "x=1")
	add("own", "cert", "c", "CERT", "0 0 0 AAAA")
	add("own", "fine", "c", "CERT", "1 0 0 AAAA")
	add("own", "unnamed", "n", "TYPE20000", `\# 1 00`)
	add("b", "delegated", "d", "TYPE20000", `\# 1 00`) // by a Delegation (S4.8)
	add("a", "foreign", "d", "TYPE20000", `\# 1 00`)
	// With SOA and NS 100 types, and one more: that of mx, while txtlast has a type that others have.
	for i := range 97 {
		add("own", fmt.Sprintf("t%02d", i), "@", fmt.Sprintf("TYPE%d", 20000+i), `\# 1 00`)
	}
	for i := range 20000 {
		add("own", fmt.Sprintf("txt%d", i), "@", "TXT", "a")
	}
	add("a", "mx", "@", "MX", "10 a.")
	add("a", "txtlast", "@", "TXT", "b")
	add("own", "cds", "@", "CDS", "1 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	var leave, stay []string
	for _, r := range o.Records() {
		if r.Why == nil || r.Why.Message == "" || r.Zone.UID != "z" {
			t.Errorf("%+v", r)
		}
		if r.Stays {
			stay = append(stay, r.Record.Name)
		} else {
			leave = append(leave, r.Record.Name)
		}
	}
	// Refused by themselves, then by name; what is refused by itself takes no place from others.
	if want := []string{"cert", "unnamed", "foreign", "cds", "mx", "second", "same", "first"}; !slices.Equal(leave, want) {
		t.Errorf("%s leave, want %s", leave, want)
	}
	if len(stay) != 97+20001+1 || !slices.Contains(stay, "last") || !slices.Contains(stay, "txtlast") || slices.Contains(stay, "alone") {
		t.Errorf("%d stay", len(stay))
	}
}
