// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"regexp"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// The error for a malformed value names the faulty field and the expected format, and gives an example, so that the
// user can correct the value (S5.3).
func TestParse_namesTheField_S5_3(t *testing.T) {
	for _, test := range []struct{ kind, text, want string }{
		{"MX", "mail.example.org.", `1 field; MX has preference (a number 0-65535), exchange (a domain name), for example: 10 mail.example.org.`},
		{"MX", "mail.example.org. 10", `preference: "mail.example.org." is not a number from 0 to 65535`},
		{"MX", "10 mail..org.", `exchange: name "mail..org." has an empty label; write one dot between labels and none in front`},
		{"SRV", "10 5060 sip.example.org.", `3 fields; SRV has priority (a number 0-65535), weight (a number 0-65535), port (a number 0-65535), target (a domain name), for example: 10 5 5060 sip.example.org.`},
		{"CAA", `0 issue`, `2 fields; CAA has flags (a number 0-255), tag (a tag of letters and digits), value (a quoted string), for example: 0 issue "ca.example.net"`},
		{"DS", "12345 13 2 XYZ", `digest: "XYZ" is not hexadecimal; write the digits 0-9 and a-f`},
		{"TLSA", "3 1 1 abc", `certificate: 3 hexadecimal digits; an octet has two`},
		{"SVCB", "1", `1 field; SVCB has priority (a number 0-65535), target (a domain name), params (service parameters), for example: 1 svc.example.org. port=8443 alpn="h2"`},
		{"NAPTR", `100 "s" "SIP+D2U" "" _sip._udp`, `5 fields; NAPTR has order (a number 0-65535), preference (a number 0-65535), flags (a quoted string), services (a quoted string), regexp (a quoted string), replacement (a domain name), for example: 100 10 "s" "SIP+D2U" "" _sip._udp.example.org.`},
		{"IPSECKEY", "10 9 2 192.0.2.1 AQ==", `gateway: gateway type 9 is not known; it is 0 (none), 1 (IPv4), 2 (IPv6) or 3 (name)`},
		{"A", "192.0.2.300", `"192.0.2.300" is not an IPv4 address; write four decimal numbers 0-255 with dots, as in "192.0.2.1"`},
	} {
		kind := must.Get(ParseType(test.kind))(t)
		if _, err := Parse(kind, test.text); err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s %s: %v\nwant %s", test.kind, test.text, err, test.want)
		}
	}
}

// The example of each format parses. If a format has several fields, each has a name.
func TestFormats(t *testing.T) {
	digits := regexp.MustCompile(`<(\d\d) hexadecimal digits>`)
	for _, f := range formats {
		if len(f.fields) == 1 {
			continue
		}
		for i, field := range f.fields {
			if field.name == "" {
				t.Errorf("%s: field %d has no name", f.name, i)
			}
		}
		example := digits.ReplaceAllStringFunc(f.example, func(text string) string {
			return strings.Repeat("a", int(text[1]-'0')*10+int(text[2]-'0'))
		})
		if _, err := Parse(f.rtype, example); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}
