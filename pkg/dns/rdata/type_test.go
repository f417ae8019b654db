// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"strings"
	"testing"
)

// TestParseType_normalised proves S4.3: case-insensitive mnemonics or TYPE123, normalised.
func TestParseType_normalised(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"A", "A"}, {"a", "A"}, {"aaaa", "AAAA"}, {"TYPE1", "A"}, {"type28", "AAAA"}, {"Type65280", "TYPE65280"},
		{"TYPE0", "TYPE0"}, {"TYPE65535", "TYPE65535"}, {"nsap-ptr", "NSAP-PTR"}, {"nsec3param", "NSEC3PARAM"}, {"TYPE00001", "A"},
	} {
		rt, err := ParseType(tc.text)
		if err != nil || rt.String() != tc.want {
			t.Errorf("S4.3: ParseType(%q) = %s, %v; want %s", tc.text, rt, err, tc.want)
			continue
		}
		var back Type
		text, _ := rt.MarshalText()
		if err := back.UnmarshalText(text); err != nil || back != rt {
			t.Errorf("%s marshals to %q, which reads as %s, %v", rt, text, back, err)
		}
	}
	for _, text := range []string{"", "FOO", "TYPE", "TYPE65536", "TYPE-1", "TYPE+1", "TYPE1x", "None", "Reserved", "A ", "ſrv", strings.Repeat("A", 1000)} {
		rt, err := ParseType(text)
		if err == nil {
			t.Errorf("S4.3: ParseType(%.20q) = %s; want an error", text, rt)
		} else if !strings.Contains(err.Error(), "RFC 3597") {
			t.Errorf("S4.3: ParseType(%.20q): %v; want it to say what would be right", text, err)
		}
	}
	var rt Type
	if err := rt.UnmarshalText([]byte("nope")); err == nil {
		t.Errorf("an unknown type became %s", rt)
	}
}

// TestCheckRecord_everyNumber proves S5.3 for every number there is.
func TestCheckRecord_everyNumber(t *testing.T) {
	refused := map[string]bool{}
	for _, mnemonic := range []string{
		"SOA", "RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "TSIG", "TKEY", "OPT", "ANY", "AXFR", "IXFR", "MAILA", "MAILB", // S5.3
		"SIG", "NXT", "NULL", "NXNAME", "MD", "MF", "ATMA", "MB", "MG", "MR", "DLV", "RKEY", // what these were before, or no server loads (S5.7)
		"TYPE0", "TYPE65535", "TYPE11", "TYPE38", "TYPE40", "TYPE259", "TYPE65400", "TYPE65401", "TYPE65402",
	} {
		refused[mnemonic] = true
	}
	for number := 0; number <= 65535; number++ {
		rt := Type(number)
		err := rt.CheckRecord()
		want := refused[rt.String()] || 128 <= number && number <= 255
		if (err != nil) != want {
			t.Errorf("S5.3: %s: %v", rt, err)
		}
		if err != nil && !strings.Contains(err.Error(), rt.String()) {
			t.Errorf("S5.3: %s: %v; want it to name the type", rt, err)
		}
	}
}
