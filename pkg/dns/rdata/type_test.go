// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"strings"
	"testing"
)

// ParseType accepts mnemonics in any case and TYPE with a number, and String returns one spelling of each type (S4.5).
func TestParseType_normalised(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"A", "A"}, {"a", "A"}, {"aaaa", "AAAA"}, {"TYPE1", "A"}, {"type28", "AAAA"}, {"Type65280", "TYPE65280"},
		{"TYPE0", "TYPE0"}, {"TYPE65535", "TYPE65535"}, {"nsap-ptr", "NSAP-PTR"}, {"nsec3param", "NSEC3PARAM"}, {"TYPE00001", "A"},
	} {
		rt, err := ParseType(tc.text)
		if err != nil || rt.String() != tc.want {
			t.Errorf("S4.5: ParseType(%q) = %s, %v; want %s", tc.text, rt, err, tc.want)
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
			t.Errorf("S4.5: ParseType(%.20q) = %s; want an error", text, rt)
		} else if !strings.Contains(err.Error(), "RFC 3597") {
			t.Errorf("S4.5: ParseType(%.20q): %v; want it to say what would be right", text, err)
		}
	}
	for _, text := range []string{"ALIAS", "aname", "AWS"} {
		if _, err := ParseType(text); err == nil || !strings.Contains(err.Error(), "for an alias write A and AAAA with the addresses") {
			t.Errorf("%s: %v", text, err)
		}
	}
	var rt Type
	if err := rt.UnmarshalText([]byte("nope")); err == nil {
		t.Errorf("an unknown type became %s", rt)
	}
}

// Of all 65,536 type numbers, a Record may have the listed types, and types that no name server treats specially. All
// others are refused, with the type in the message (S5.4).
func TestCheckRecord_everyNumber(t *testing.T) {
	list := "A AAAA AFSDB CAA CDNSKEY CDS CERT CNAME CSYNC DHCID DNAME DNSKEY DS EUI48 EUI64 HINFO HTTPS IPSECKEY KX L32 L64 LOC LP MX NAPTR NID NS OPENPGPKEY PTR RP SMIMEA SPF SRV SSHFP SVCB TLSA TXT URI"
	listed := map[string]bool{}
	for _, mnemonic := range strings.Fields(list) {
		listed[mnemonic] = true
	}
	if len(judged) < 80 {
		t.Fatalf("the judges know only %d types", len(judged))
	}
	for number := 0; number <= 65535; number++ {
		rt := Type(number)
		err := rt.CheckRecord()
		free := !judged[rt] && number != 0 && number != 65535 && (number < 128 || number > 255)
		if want := listed[rt.String()] || free; (err == nil) != want {
			t.Errorf("S5.4: %s: %v", rt, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "type "+rt.String()+" cannot be a Record: ") || rt.String() != "SOA" && !rt.ByNumber()) {
			t.Errorf("S5.4: %s: %v; want it to name the type", rt, err)
		}
		if listed[rt.String()] == rt.ByNumber() && rt != SOA {
			t.Errorf("S4.5: %s is by number: %t", rt, rt.ByNumber())
		}
	}
	for _, gone := range []string{"HIP", "APL", "RESINFO", "ZONEMD", "TYPE66", "WKS"} {
		rt, err := ParseType(gone)
		if err == nil {
			err = rt.CheckRecord()
		}
		if err == nil {
			t.Errorf("S5.4: %s may be a Record", gone)
		}
	}
}

// FromRR returns the data of other types with single blanks, but does not parse it. Callers refuse, skip or report such
// lines.
func TestFromRR_otherTypes(t *testing.T) {
	for _, tc := range []struct{ typ, text, want string }{
		{"HIP", "2  2001 AwEAAbdx\trvs", "2 2001 AwEAAbdx rvs"},
		{"RRSIG", "A 8 3 3600 20260101000000 20251201000000 12345 example.org. AAAA", "A 8 3 3600 20260101000000 20251201000000 12345 example.org. AAAA"},
		{"AVC", `"a\"\255" b`, `"a\"\255" b`},
		{"APL", `\# 4 0001 0000`, `\# 4 00010000`},
	} {
		if got, err := FromRR(mustType(t, tc.typ), tc.text, origin); err != nil || got != tc.want {
			t.Errorf("%s %q is %q, %v; want %q", tc.typ, tc.text, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ typ, text string }{{"HIP", ""}, {"AVC", `"a`}, {"AVC", "a\nb"}, {"TYPE65280", "x"}} {
		if got, err := FromRR(mustType(t, tc.typ), tc.text, origin); err == nil {
			t.Errorf("%s %q is %q", tc.typ, tc.text, got)
		}
	}
}
