// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"testing"

	"kubi.zone/kubizone/test/must"
)

// BIND 9.18, Knot 3.2, NSD 4.6 and PowerDNS 4.7 must read the zone file in the same way (S5.11). Each line here failed
// in one of the servers in another form, and is written in the form that all of them read.
func TestMasterFile_isReadByAll(t *testing.T) {
	for _, tc := range []struct{ typ, text, rtype, data string }{
		{"MX", "10 mail.example.", "MX", "10 mail.example."},
		{"SOA", `ns.example. john\.doe+dns.example. 1 2 1 4 5`, "SOA", `ns.example. john\046doe\043dns.example. 1 2 1 4 5`},
		{"PTR", `*.a_b/c\!.example.`, "PTR", `*.a_b/c\033.example.`},
		{"NAPTR", `1 1 "u+x" "s" "!^\\+(.*)$!\\1!" a\@b.example.`, "NAPTR", `1 1 "u+x" "s" "!^\\+(.*)$!\\1!" a\064b.example.`},
		{"CSYNC", "66 3 A NS AAAA", "CSYNC", "66 3 A NS AAAA"},
		{"CSYNC", "66 3 A MD TYPE65280", "CSYNC", "66 3 A TYPE3 TYPE65280"},
		{"TYPE65280", `\# 2 ABCD`, "TYPE65280", `\# 2 ABCD`},
		{"HTTPS", `1 . alpn="h2,h3" port="8443"`, "HTTPS", `1 . alpn="h2,h3" port=8443`},
		{"HTTPS", `16 a.example. alpn="h2" no-default-alpn`, "HTTPS", `16 a.example. alpn="h2" no-default-alpn`},
		{"HTTPS", "1 . key65280", "HTTPS", `1 . key65280=""`},
		{"HTTPS", "1 . ohttp", "HTTPS", `1 . key8=""`},
		{"SVCB", `1 . alpn="h2" dohpath="/q{?dns}"`, "SVCB", `1 . alpn="h2" key7="/q{?dns}"`},
		{"TXT", `"+ (a) ; \"b\""`, "TXT", `"+ (a) ; \"b\""`},
	} {
		rt := must.Get(ParseType(tc.typ))(t)
		v := Value{Type: rt, Text: tc.text}
		rtype, data, err := v.MasterFile()
		if rtype != tc.rtype || data != tc.data || err != nil {
			t.Errorf("%s %s: %s %s, %v; want %s %s", tc.typ, tc.text, rtype, data, err, tc.rtype, tc.data)
		}
	}
	if _, _, err := (Value{Type: 65280, Text: "x"}).MasterFile(); err == nil {
		t.Error("what is no rdata is written")
	}
}
