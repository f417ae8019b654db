// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// Order, quotes and blanks do not distinguish blocks.
func TestClauses_readWhatNamedShows(t *testing.T) {
	shown, err := parseClauses(`zone "0/25.2.0.192.in-addr.arpa" in internal { type secondary; file "a b.zone"; primaries port 53 { 192.0.2.1 port 1 key "k"; 2001:db8::1; }; allow-transfer  { key "k"; !10.0.0.0/8; }; };`)
	must.Succeed(t, err)
	if got := shown.text(); got != `{ type secondary; file "a b.zone"; primaries port 53 { 192.0.2.1 port 1 key "k" ; 2001:db8::1 ; }; allow-transfer { key "k" ; !10.0.0.0/8 ; }; };` {
		t.Errorf("%s", got)
	}
	if shown.word("file") != "a b.zone" || shown.word("type") != "secondary" || shown.word("none") != "" {
		t.Errorf("%q", shown)
	}
	other := clauses{{"allow-transfer", strings.Fields(`{ key k ; !10.0.0.0/8 ; }`)}, {"type", []string{"secondary"}}, {"primaries", strings.Fields(`port 53 { 192.0.2.1 port 1 key k ; 2001:db8::1 ; }`)}}
	if names := shown.listDifferences(other); len(names) != 0 {
		t.Errorf("differ in %v", names)
	}
	other.setClause("type", []string{"primary"})
	other.setClause("also-notify", []string{"{", "}"})
	if names := shown.listDifferences(other); strings.Join(names, " ") != "also-notify type" {
		t.Errorf("differ in %v", names)
	}
	for _, text := range []string{"", "zone x", "zone x { type primary;", `zone x { file "a; };`, "zone x { a { b; };", "zone x { type primary };"} {
		if got, err := parseClauses(text); err == nil {
			t.Errorf("%q was read as %q", text, got)
		}
	}
}

// A parsed block can be written and parsed again.
func FuzzClauses(f *testing.F) {
	f.Add(`zone "example.org" { type primary; file "x"; allow-update { key "k"; }; };`)
	f.Add(`z { a "\"" ; b { { ; } ; } ; }`)
	f.Fuzz(func(t *testing.T, text string) {
		block, err := parseClauses(text)
		if err != nil {
			return
		}
		again, err := parseClauses("zone x " + block.text())
		if err != nil || again.text() != block.text() {
			t.Errorf("%q became %q: %v", block.text(), again.text(), err)
		}
	})
}
