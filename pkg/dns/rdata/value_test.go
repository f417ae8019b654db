// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"
	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

var origin = name.MustParse("zone.example.")

func mustType(t testing.TB, text string) Type {
	t.Helper()
	return must.Get(ParseType(text))(t)
}

func eachSample(t *testing.T, do func(t *testing.T, rt Type, text string)) {
	for _, mnemonic := range slices.Sorted(maps.Keys(samples)) {
		for i, text := range samples[mnemonic] {
			t.Run(fmt.Sprintf("%s/%d", mnemonic, i), func(t *testing.T) { do(t, mustType(t, mnemonic), text) })
		}
	}
}

func TestSamples_everyType(t *testing.T) {
	for _, f := range formats {
		if len(samples[f.name]) == 0 {
			t.Errorf("S5.4: %s has no sample", f.name)
		}
	}
	for mnemonic := range samples {
		if rt := mustType(t, mnemonic); rt != SOA && rt.CheckRecord() != nil {
			t.Errorf("S5.4: %s has samples and is no Record", mnemonic)
		}
	}
}

// Every sample value is converted from text to Value to wire form and back. There is a single spelling, relative names
// stay relative, and miekg/dns reads the same value.
func TestParse_everyType(t *testing.T) {
	eachSample(t, func(t *testing.T, rt Type, text string) {
		v, err := Parse(rt, text)
		if err != nil {
			t.Fatalf("S5.3: %v", err)
		}
		checkValue(t, v)
		wire := must.Get(v.Pack(origin))(t)
		if rt.ByNumber() || v.Text == `1 . ipv6hint="::ffff:198.51.100.100,2001:db8::1"` { // miekg/dns refuses both
			return
		}
		rr, _, err := mdns.UnpackRRWithHeader(mdns.RR_Header{Name: ".", Rrtype: uint16(rt), Class: 1, Rdlength: uint16(len(wire))},
			slices.Clone(wire), 0)
		if err != nil {
			t.Fatalf("the library does not read %x: %v", wire, err)
		}
		buffer := make([]byte, 65535)
		end, err := mdns.PackRR(rr, buffer, 0, nil, false)
		if err != nil || !bytes.Equal(buffer[11:end], wire) {
			t.Fatalf("the library packs %x as %x, %v", wire, buffer[11:end], err)
		}
		resolved := must.Get(v.Resolve(origin))(t)
		if rt == LOC {
			return // floating point: see loc.go
		}
		rr, err = mdns.NewRR(". 0 IN " + rt.String() + " " + resolved)
		if err != nil {
			t.Fatalf("the library does not read %q: %v", resolved, err)
		}
		end, err = mdns.PackRR(rr, buffer, 0, nil, false)
		if err != nil || !bytes.Equal(buffer[11:end], wire) {
			t.Fatalf("the library reads %q as %x, %v; want %x", resolved, buffer[11:end], err, wire)
		}
	})
}

func checkValue(t interface{ Fatalf(string, ...any) }, v Value) {
	again, err := Parse(v.Type, v.Text)
	if err != nil || again != v {
		t.Fatalf("promise 1: %s %q parses to %q, %v", v.Type, v.Text, again.Text, err)
	}
	if strings.ContainsAny(v.Text, "\n\r\t") || strings.HasPrefix(v.Text, " ") || strings.HasSuffix(v.Text, " ") {
		t.Fatalf("%s %q is not one line of fields", v.Type, v.Text)
	}
	for i := range len(v.Text) {
		if v.Text[i] < ' ' || v.Text[i] > '~' {
			t.Fatalf("%s %q is not printable ASCII", v.Type, v.Text)
		}
	}
	v.Target(origin)
	for _, zone := range []name.Name{origin, name.Root, name.MustParse(strings.Repeat("a.", 120))} {
		resolved, err := v.Resolve(zone)
		if err != nil {
			if !strings.Contains(err.Error(), "255") || zone.WireLen() < 3 && !strings.Contains(v.Text, ".") {
				t.Fatalf("%s %q in %s: %v", v.Type, v.Text, zone, err)
			}
			continue
		}
		wire, err := v.Pack(zone)
		if err != nil {
			t.Fatalf("%s %q in %s: %v", v.Type, v.Text, zone, err)
		}
		if len(wire) > maxValue+3*255 {
			t.Fatalf("S5.8: %s of %d octets", v.Type, len(wire))
		}
		if len(wire) > maxValue {
			continue
		}
		// Text and octets must be the same in any zone.
		absolute, err := Parse(v.Type, resolved)
		if err != nil || absolute.Text != resolved {
			t.Fatalf("%s %q in %s is %q, which parses to %q, %v", v.Type, v.Text, zone, resolved, absolute.Text, err)
		}
		if anywhere, err := absolute.Resolve(name.MustParse("elsewhere.")); err != nil || anywhere != resolved {
			t.Fatalf("%s %q depends on its zone: %q, %v", v.Type, resolved, anywhere, err)
		}
		generic, err := absolute.generic()
		if err != nil {
			t.Fatalf("%s %q: %v", v.Type, resolved, err)
		}
		if back, err := Parse(v.Type, generic); err != nil || back != absolute {
			t.Fatalf("RFC 3597: %s %q is %s, which reads as %q, %v", v.Type, resolved, generic, back.Text, err)
		}
		if fromFile, err := FromRR(v.Type, resolved, name.Name{}); err != nil || fromFile != resolved {
			t.Fatalf("%s %q in a file reads as %q, %v", v.Type, resolved, fromFile, err)
		}
	}
}

// The canonical text of a value must never change, because hashes and stored objects contain it.
func TestParse_spelling(t *testing.T) {
	for _, tc := range []struct{ typ, text, want, resolved string }{
		{"MX", "10\t Mail ", "10 mail", "10 mail.zone.example."},
		{"MX", "010 @", "10 @", "10 zone.example."},
		{"MX", `10 \@`, `10 \@`, `10 \@.zone.example.`},
		{"MX", `10 m\097il`, "10 mail", "10 mail.zone.example."},
		{"MX", `10 m\065il`, "10 mail", "10 mail.zone.example."},
		{"CNAME", `a\.`, `a\.`, `a\..zone.example.`},
		{"CNAME", `a\\.`, `a\\.`, `a\\.`},
		{"CNAME", `mail.\001.`, `mail.\001.`, `mail.\001.`},
		{"CNAME", `mail.\001`, `mail.\001`, `mail.\001.zone.example.`},
		{"CNAME", `mail.\001.\002`, `mail.\001.\002`, `mail.\001.\002.zone.example.`},
		{"CNAME", ".", ".", "."},
		{"CNAME", `\$x`, `\$x`, `\$x.zone.example.`},
		{"TXT", `"mail.\001."`, `"mail.\001."`, `"mail.\001."`},
		{"TXT", `mail.\001.`, `"mail.\\001."`, `"mail.\\001."`},
		{"TXT", "mail", `"mail"`, `"mail"`},
		{"TXT", "@", `"@"`, `"@"`},
		{"AAAA", "2001:DB8:0:0:0:0:0:1", "2001:db8::1", "2001:db8::1"},
		{"NAPTR", `1 1 u s "" Host`, `1 1 "u" "s" "" host`, `1 1 "u" "s" "" host.zone.example.`},
		{"SOA", "ns root 1 1d 2h 3w 4m", "ns root 1 86400 7200 1814400 240", "ns.zone.example. root.zone.example. " +
			"1 86400 7200 1814400 240"},
		{"DS", "1 RSASHA256 9 aabb", "1 8 9 AABB", "1 8 9 AABB"},
		{"CAA", `0 ISSUE x`, `0 issue "x"`, `0 issue "x"`},
		{"TYPE1", `\# 4 c0000201`, "192.0.2.1", "192.0.2.1"},
		{"TYPE65280", `\# 2 ab CD`, `\# 2 ABCD`, `\# 2 ABCD`},
		{"TYPE65280", `\#	0`, `\# 0`, `\# 0`},
		{"CSYNC", "1 0 AAAA NS A aaaa TYPE65280", "1 0 A NS AAAA TYPE65280", "1 0 A NS AAAA TYPE65280"},
		{"CERT", "IPKIX 1 ECCGOST AAAA", "4 1 12 AAAA", "4 1 12 AAAA"},
		{"HTTPS", "1 Svc alpn=h2", `1 svc alpn="h2"`, `1 svc.zone.example. alpn="h2"`},
		{"HTTPS", `1 . key7="/q{?dns}" key3=\001\187 alpn=h2`, `1 . alpn="h2" port="443" dohpath="/q{?dns}"`, `1 . alpn="h2" port="443" ` +
			`dohpath="/q{?dns}"`},
		{"NAPTR", `1 1 u s "!^(\\+[0-9]{2,5}|[^[:alpha:]x]*)(.?)$!sip:\\1@e!i" .`,
			`1 1 "u" "s" "!^(\\+[0-9]{2,5}|[^[:alpha:]x]*)(.?)$!sip:\\1@e!i" .`,
			`1 1 "u" "s" "!^(\\+[0-9]{2,5}|[^[:alpha:]x]*)(.?)$!sip:\\1@e!i" .`},
		{"NID", "10 14:4fff:0:ee64", "10 0014:4fff:0000:ee64", "10 0014:4fff:0000:ee64"},
		{"IPSECKEY", "10 3 2 gw AQNR", "10 3 2 gw AQNR", "10 3 2 gw.zone.example. AQNR"},
		{"LOC", "42 21 54 N 71 06 18 W -24m 30m", "42 21 54.000 N 71 6 18.000 W -24.00m 30.00m 10000.00m 10.00m",
			"42 21 54.000 N 71 6 18.000 W -24.00m 30.00m 10000.00m 10.00m"},
	} {
		v, err := Parse(mustType(t, tc.typ), tc.text)
		if err != nil || v.Text != tc.want {
			t.Errorf("S5.1: %s %q is %q, %v; want %q", tc.typ, tc.text, v.Text, err, tc.want)
			continue
		}
		if resolved, err := v.Resolve(origin); err != nil || resolved != tc.resolved {
			t.Errorf("S5.1: %s %q resolves to %q, %v; want %q", tc.typ, tc.text, resolved, err, tc.resolved)
		}
	}
}

// Bare text is a single string, quoted strings are kept, and text over 255 octets is split (S5.3).
func TestParse_TXT(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, tc := range []struct{ text, want string }{
		{"hello", `"hello"`},
		{"  hello   world ", `"hello   world"`},
		{"a\tb", `"a\009b"`},
		{`"hello" "world"`, `"hello" "world"`},
		{`"hello""world"`, `"hello" "world"`},
		{`"hello"  "wor;ld"`, `"hello" "wor;ld"`},
		{`""`, `""`},
		{`"" ""`, `"" ""`},
		{`say "hi"`, `"say \"hi\""`},
		{`it's`, `"it's"`},
		{"v=DMARC1; p=none", `"v=DMARC1; p=none"`},
		{"v=DKIM1; k=rsa; p=MIGf/+==", `"v=DKIM1; k=rsa; p=MIGf/+=="`},
		{"; (", `"; ("`},
		{`C:\temp\`, `"C:\\temp\\"`},
		{`\065\999\;\"`, `"\\065\\999\\;\\\""`},
		{`\#x`, `"\\#x"`},
		{`"say \"hi\"" "\;"`, `"say \"hi\"" ";"`},
		{`"v=DMARC1; p=none"`, `"v=DMARC1; p=none"`},
		{`"(\\)"`, `"(\\)"`},
		{`"\065\010\\"`, `"A\010\\"`},
		{"$5", `"$5"`},
		{"$includes", `"$includes"`},
		{"$INCLUDE /etc/passwd", `"$INCLUDE /etc/passwd"`},
		{`"$INCLUDE x"`, `"$INCLUDE x"`},
		{"grüße", `"gr\195\188\195\159e"`},
		{"\"\x01\x1b\"", `"\001\027"`},
		{"\u00a0", `"\194\160"`},
		{"k=v", `"k=v"`},
		{x(255), `"` + x(255) + `"`},
		{x(256), `"` + x(255) + `" "x"`},
		{`"` + x(511) + `" "y"`, `"` + x(255) + `" "` + x(255) + `" "x" "y"`},
		{`"` + strings.Repeat(`\255`, 256) + `"`, `"` + strings.Repeat(`\255`, 255) + `" "\255"`},
		{strings.Repeat("\xff", 510), `"` + strings.Repeat(`\255`, 255) + `" "` + strings.Repeat(`\255`, 255) + `"`},
		{`\# 4 03616263`, `"abc"`},
	} {
		for _, rt := range []Type{TXT, SPF} {
			v, err := Parse(rt, tc.text)
			if err != nil || v.Text != tc.want {
				t.Errorf("S5.3: %s %.60q is %.60q, %v; want %.60q", rt, tc.text, v.Text, err, tc.want)
			}
		}
	}
	// RFC 1035 §5.1: in a file, each bare word is a separate string.
	if data, err := FromRR(TXT, "hello world", name.Name{}); err != nil || data != `"hello" "world"` {
		t.Errorf("a file's TXT is %q, %v", data, err)
	}
}

func TestParse_TXTOctets(t *testing.T) {
	octets := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 700),
		rapid.SliceOfN(rapid.SampledFrom([]byte("\"\\;()$@ \t\x00\n\r\x1b\x7f\xff.019a")), 0, 80))
	rapid.Check(t, func(t *rapid.T) {
		data := octets.Draw(t, "data")
		// Users escape either all octets or only special octets.
		all, some := []byte{'"'}, []byte{'"'}
		for _, c := range data {
			all = appendDDD(all, c)
			switch {
			case c == '"' || c == '\\':
				some = append(some, '\\', c)
			case c == '\n' || c == '\r':
				some = appendDDD(some, c)
			default:
				some = append(some, c)
			}
		}
		texts := [][]byte{append(all, '"'), append(some, '"')}
		if bare := string(data); bareIsLiteral(bare) {
			texts = append(texts, data)
		}
		for _, text := range texts {
			v, err := Parse(TXT, string(text))
			if err != nil {
				t.Fatalf("S5.3: %q: %v", text, err)
			}
			checkValue(t, v)
			wire, err := v.Pack(origin)
			if err != nil {
				t.Fatal(err)
			}
			back := joinStrings(t, wire)
			if !bytes.Equal(back, data) {
				t.Fatalf("S5.3: %q came back as %q", data, back)
			}
		}
	})
}

// bareIsLiteral is a second implementation of the rule for unquoted text (S5.3).
func bareIsLiteral(text string) bool {
	if text == "" || strings.Trim(text, " \t") != text || text[0] == '"' || text == `\#` || strings.HasPrefix(text, `\# `) ||
		strings.HasPrefix(text, "\\#\t") {
		return false
	}
	return !slices.ContainsFunc([]byte(text), func(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// Parse refuses malformed values, types that are not allowed and values that are too large (S5.3, S5.4, S5.8). Every
// message names the remedy.
func TestParse_refusals(t *testing.T) {
	for _, tc := range []struct{ typ, text, want string }{
		{"A", "", "empty"},
		{"A", " \t", "empty"},
		{"A", "192.0.2.1\n192.0.2.2", "one line"},
		{"A", "192.0.2.1\r", "one line"},
		{"A", "192.0.2.1 ; comment", "no comments"},
		{"A", "( 192.0.2.1 )", "without parentheses"},
		{"A", "192.0.2.1 192.0.2.2", "2 fields"},
		{"A", `"192.0.2.1"`, "remove them"},
		{"A", "192.0.2.256", "IPv4"},
		{"A", "192.0.2.01", "IPv4"},
		{"A", "::ffff:192.0.2.1", "IPv4"},
		{"A", "www", "IPv4"},
		{"AAAA", "192.0.2.1", "IPv6"},
		{"AAAA", "fe80::1%eth0", "IPv6"},
		{"A", `\# 3 010203`, "middle of a field"},
		{"A", `\# 5 0102030405`, "octets too many"},
		{"A", `\# 4 010203`, "correct the length"},
		{"A", `\# 4 01020`, "an octet has two"},
		{"A", `\# x 00`, "number"},
		{"A", `\#`, "takes the number"},
		{"A", `\# 4 "01020304"`, "hexadecimal"},
		{"A", "$INCLUDE /etc/passwd", "directive"},
		{"TXT", "a\nb", `\010`},
		{"TXT", "\"a\nb\"", `\010`},
		{"TXT", "\"a\rb\"", `\013`},
		{"TXT", `"a`, "not closed"},
		{"TXT", `"a\"`, "not closed"},
		{"TXT", `"a" b`, "outside of the quotes"},
		{"TXT", `"a"; b`, "no comments"},
		{"TXT", `"v=spf1" -all`, "quote this as well"},
		{"TXT", "a\x00b", `\000`},
		{"TXT", "a\x7f", `\127`},
		{"TXT", "a\\\nb", `\010`},
		{"TXT", `\# x`, "length after"},
		{"TXT", `"a\1b"`, `\DDD`},
		{"TXT", `"a\256"`, `\255`},
		{"CAA", "0 issue a; b", "no comments"},
		{"CAA", "0 issue (a)", "quotes"},
		{"CAA", `0 issue a"b"`, "quote the whole"},
		{"CAA", `0 issue a\`, `\\`},
		{"CAA", "$INCLUDE /etc/passwd x", "directive"},
		{"CAA", "$ORIGIN", "directive"},
		{"CAA", "$ttl 5", "directive"},
		{"CAA", "$GENERATE 1-9 a", "directive"},
		{"TXT", `"\999"`, `\255`},
		{"TXT", strings.Repeat("x", 4081), "the limit is 4096"}, // 16 length octets
		{"TXT", strings.Repeat("x", 100000), "at most 4096"},
		{"HINFO", `"` + strings.Repeat("x", 256) + `" ""`, "255"},
		{"HINFO", "a b c", "3 fields"},
		{"MX", "10", "1 field;"},
		{"MX", "mail", "1 field;"},
		{"MX", "-1 mail", "0 to 65535"},
		{"MX", "65536 mail", "0 to 65535"},
		{"MX", "10 a..b", "empty label"},
		{"MX", "10 .a", "empty label"},
		{"MX", "10 " + strings.Repeat("a", 64), "limit is 63"},
		{"MX", "10 " + strings.Repeat("a.", 128), "255"},
		{"MX", "10 bücher", `"xn--bcher-kva"`},
		{"MX", "10 a\x01b", `\001`},
		{"MX", `10 "mail"`, "remove them"},
		{"MX", "10 mail extra", "3 fields"},
		{"CNAME", `\# 2 c000`, "compressed"},
		{"CNAME", `\# 3 016100 00`, "correct the length"},
		{"CAA", "0 is-sue x", "letters and digits"},
		{"CAA", "256 issue x", "0 to 255"},
		{"LOC", "91 N 0 E 0", "up to 90"},
		{"LOC", "0 60 N 0 E 0", "below 60"},
		{"LOC", "0 N 0 E 0 15m", "one digit"},
		{"LOC", "0 N 0 0", "4 fields"},
		{"LOC", "0 N 0 E 0 1 1 1 1", "at most size"},
		{"LOC", `\# 16 01121613800000008000000000989680`, "version"},
		{"LOC", `\# 16 00f21613800000008000000000989680`, "power of ten"},
		{"DS", "1 8 2 AABB", "32 octets"},
		{"CDS", "1 8 1 AABB", "20 octets"},
		{"SSHFP", "1 1 AA", "20 octets"},
		{"TLSA", "3 1 1 " + strings.Repeat("ab", 20), "matching type 1 has digests of 32 octets, this one has 20"},
		{"TLSA", "3 1 2 " + strings.Repeat("ab", 32), "64 octets"},
		{"SMIMEA", "3 0 1 AA", "32 octets"},
		{"TLSA", `\# 4 030101aa`, "32 octets"},
		{"TLSA", "3 1 1 0g", "hexadecimal"},
		{"TLSA", "3 1 1 000", "an octet has two"},
		{"TLSA", "3 1 1", "3 fields"},
		{"DNSKEY", "256 3 8 A", "base64"},
		{"CERT", "1 0 0 VJ==", "no bits after the last octet"},
		{"HTTPS", "1 . ech=VJ==", "no bits after the last octet"},
		{"SOA", "ns root 1 1d2 2h 3w 4m", "not a time"},
		{"DNSKEY", "49152 3 8 AAAA", "flags"},
		{"DNSKEY", "256 3 254 AA==", "254"},
		{"DNSKEY", "256 3 253 BQ==", "253"},
		{"CERT", "NOPE 0 0 AAAA", "number"},
		{"IPSECKEY", "10 0 2 192.0.2.1 AAAA", "gateway"},
		{"IPSECKEY", "10 1 2 ::1 AAAA", "IPv4"},
		{"IPSECKEY", "10 4 2 . AAAA", "0 (none)"},
		{"IPSECKEY", "10 0 0 .", "4 fields"},
		{"CSYNC", `\# 9 000000010000000180`, "type 0"},
		{"IPSECKEY", "10 0 2 . AAAA", "without a gateway"},
		{"IPSECKEY", "10 1 3 192.0.2.1 AAAA", "algorithm"},
		{"CSYNC", "1 0 A NOPE", "not an RR type"},
		{"SVCB", "0 . alpn=h2", "alias form"},
		{"HTTPS", "0 svc port=443", "alias form"},
		{"HTTPS", "0 . key65280", "alias form"},
		{"SVCB", `\# 7 00000000010000`, "alias form"},
		{"TYPE64", `\# 35 000000c05e001c00010000012c001020010db80bad00000000000000000066c00cff00`, "alias form"},
		{"SVCB", `1 . ech=""`, "ech"},
		{"SVCB", "1 . ech", "ech"},
		{"HTTPS", `\# 7 00010000050000`, "ech"},
		{"HTTPS", "1 . ipv4hint=1.2.3.4,", "ipv4hint"},
		{"HTTPS", "1 . ipv4hint=::1", "IPv4"},
		{"HTTPS", "1 . ipv6hint=1.2.3.4", "IPv6"},
		{"HTTPS", "1 . ipv6hint=::1,", "ipv6hint"},
		{"HTTPS", "1 . alpn=h2,", "comma"},
		{"HTTPS", `1 . mandatory="port," port=4`, "comma"},
		{"HTTPS", "1 . ipv4hint=1.2.3.4 ipv4hint=1.2.3.5", "twice"},
		{"CERT", "0 0 0 AAAA", "reserved"},
		{"CERT", `\# 8 0000000000000000`, "reserved"},
		{"L64", "10 0000:0000:0000:0001:0002", "four groups"},
		{"L64", "10 2001:0db8:1140-1000", "four groups"},
		{"NID", "10 0014:4fff:ff20:ee64:1", "four groups"},
		{"IPSECKEY", "10 1 2 192.0.2.1", "4 fields"},
		{"EUI48", "00-00-5e-00-53", "EUI48"},
		{"NID", "10 0014", "NID"},
		{"HTTPS", "1 . no-default-alpn", "add alpn"},
		{"HTTPS", "1 . alpn=2,h3", "IANA"},
		{"SVCB", `1 . alpn="h3,\\\0442"`, "IANA"},
		{"CAA", "0 issueissueissue0 ca.example.net", "more than 15"},
		{"HTTPS", "1 . mandatory=port alpn=h2", "lists port"},
		{"HTTPS", "1 . alpn=h2 alpn=h3", "twice"},
		{"HTTPS", "1 . bogus=1", "dohpath"},
		{"HTTPS", `1 . key7="/q{?dns}" key7=/`, "twice"},
		{"HTTPS", `1 . key3=\001\187 port=443`, "twice"},
		{"HTTPS", `1 . alpn="h2,\255"`, "printable"},
		{"HTTPS", `1 . dohpath="/q"`, "{?dns}"},
		{"HTTPS", `1 . dohpath="/\255{?dns}"`, "{?dns}"},
		{"SVCB", "1 . " + numberParameters(63), "62"},
		{"HTTPS", "1 . alpn=h2 " + numberParameters(62), "62"},
		{"HTTPS", `1 . alpn="(h2"`, "parenthesis"},
		{"HTTPS", `1 . alpn=h2 key65280="a)"`, "parenthesis"},
		{"HTTPS", `1 . key65280="a;b"`, "semicolon"},
		{"HTTPS", `1 . alpn="h\"2"`, "printable"},
		{"HTTPS", `1 . alpn="h\\\\2"`, "backslash"},
		{"SPF", strings.Repeat(`"a" `, 65), "65 strings"},
		{"SVCB", `1 . dohpath="/(){?dns}"`, "parenthesis"},
		{"SVCB", `1 . ohttp="("`, "ohttp"},
		{"URI", `10 1 ""`, "not empty"},
		{"URI", `\# 4 000A0001`, "not empty"},
		{"LOC", "1 N 1 E 0m 5000000m", "4000000m"},
		{"LOC", "1 N 1 E 0m 1m 90000000m", "4000000m"},
		{"LOC", "1 N 1 E 0m 1m 1m 10000000m", "4000000m"},
		{"IPSECKEY", `10 3 2 a\000b. AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==`, "zero octet"},
		{"IPSECKEY", "10 3 2 . AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==", "gateway"},
		{"NAPTR", `1 1 u s "!a!b" .`, "less than three"},
		{"NAPTR", `1 1 u s "!a!b!c!" .`, "more than three"},
		{"NAPTR", `1 1 u s "1a1b1" .`, "delimiter"},
		{"NAPTR", `1 1 u s "!a!\\1!" .`, "0 groups"},
		{"NAPTR", `1 1 u s "!(a!b!" .`, "add )"},
		{"NAPTR", `1 1 u s "!a)!b!" .`, "without an opening"},
		{"NAPTR", `1 1 u s "!a|!b!" .`, "empty alternative"},
		{"NAPTR", `1 1 u s "!a**!b!" .`, "nothing to repeat"},
		{"NAPTR", `1 1 u s "![z-a]!b!" .`, "bracket"},
		{"NAPTR", `1 1 u s "![[:word:]]!b!" .`, ""}, // named refuses a zone with any of the next seven values
		{"NAPTR", `1 1 u s "![[:ascii:]]!b!" .`, ""},
		{"NAPTR", `1 1 u s "![a-z-]!b!" .`, ""},
		{"NAPTR", `1 1 u s "![A-[:alpha:]]!b!" .`, ""},
		{"NAPTR", `1 1 u s "![a-c-e]!b!" .`, ""},
		{"NAPTR", `1 1 u s "![a-z[:digit:]-]!b!" .`, ""},
		{"NAPTR", `1 1 u s "![[:alpha:]-[:digit:]]!b!" .`, ""},
		{"NAPTR", `1 1 u s "!a{2,1}!b!" .`, "repetition"},
		{"NAPTR", `1 1 u s "!a!b!x" .`, "flag"},
		{"HTTPS", `1 . alpn="h2`, "not closed"},
		{"TYPE65280", "10.0.0.1", `\#`},
		{"NULL", "x", `\#`},
		{"ANY", "x", `\#`},
	} {
		v, err := Parse(mustType(t, tc.typ), tc.text)
		if err == nil {
			t.Errorf("S5.3: %s %.60q is %.60q; want an error", tc.typ, tc.text, v.Text)
			continue
		}
		if !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), mustType(t, tc.typ).String()+" rdata ") {
			t.Errorf("S5.3: %s %.60q: %v; want it to name the type and say %q", tc.typ, tc.text, err, tc.want)
		}
		if len(err.Error()) > 800 {
			t.Errorf("%s %.20q: an error of %d bytes", tc.typ, tc.text, len(err.Error()))
		}
	}
}

func numberParameters(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key%d=x", 60000+i)
	}
	return strings.Join(keys, " ")
}

// Parse accepts as many fields as every server reads (S5.11).
func TestParse_mostFields(t *testing.T) {
	for _, tc := range []struct{ typ, text string }{
		{"SVCB", "1 . " + numberParameters(62)},
		{"HTTPS", "1 . alpn=h2 " + numberParameters(61)},
	} {
		if _, err := Parse(mustType(t, tc.typ), tc.text); err != nil {
			t.Errorf("S5.11: %v", err)
		}
	}
}

// A value in generic form (`\# 1 FF`) whose name ends too early is refused. Knot 3.2 reads such a name beyond the end
// of the data: knotd and knotc hang or crash at "TYPE5 \# 1 FF" (S5.11).
func TestParse_cutNames(t *testing.T) {
	for _, f := range formats {
		if !f.hasNames() {
			continue
		}
		for _, generic := range []string{`\# 0`, `\# 1 01`, `\# 1 3F`, `\# 1 C0`, `\# 1 FF`} {
			if v, err := Parse(f.rtype, generic); err == nil {
				t.Errorf("S5.11: %s %s is taken, as %s", f.name, generic, v)
			}
		}
	}
}

// Resolve refuses a value if a name has more than 255 octets in the zone (S1.3).
func TestResolve_length(t *testing.T) {
	v := must.Get(Parse(MX, "10 mail"))(t)
	long := name.MustParse(strings.Repeat("a.", 125)) // 251 octets
	if text, err := v.Resolve(long); err == nil {
		t.Errorf("S1.3: %q", text)
	}
	if text, err := v.Resolve(name.Name{}); err == nil {
		t.Errorf("S5.1: a relative name without a zone is %q", text)
	}
	if text, err := (Value{MX, "10 mail."}).Resolve(name.Name{}); err != nil || text != "10 mail." {
		t.Errorf("S5.1: an absolute name needs no zone: %q, %v", text, err)
	}
	for _, bad := range []string{"", "10", "10 mail x", "10 \"mail", "x\ny"} {
		if text, err := (Value{MX, bad}).Resolve(origin); err == nil {
			t.Errorf("the Text %q, which Parse never returns, resolves to %q", bad, text)
		}
		if _, err := (Value{MX, bad}).Pack(origin); err == nil {
			t.Errorf("the Text %q, which Parse never returns, packs", bad)
		}
	}
}

func TestTarget_types(t *testing.T) {
	for _, tc := range []struct{ typ, text, want string }{
		{"NS", "ns1", "ns1.zone.example."},
		{"CNAME", "www.example.com.", "www.example.com."},
		{"DNAME", "@", "zone.example."},
		{"PTR", "host", "host.zone.example."},
		{"MX", "10 mail", "mail.zone.example."},
		{"MX", "0 .", "."},
		{"SRV", "0 0 443 sip.a", "sip.a.zone.example."},
		{"AFSDB", "1 afs", "afs.zone.example."},
		{"KX", "10 kx", "kx.zone.example."},
		{"NAPTR", `1 1 "s" "a b" "" _sip._udp`, "_sip._udp.zone.example."},
		{"LP", "10 l64", "l64.zone.example."},
		{"RP", "admin people", "people.zone.example."},
		{"IPSECKEY", "10 1 2 192.0.2.1 AQNR", ""},
		{"SVCB", "0 pool", "pool.zone.example."},
		{"HTTPS", "1 .", "."},
		{"HTTPS", `\# 11 0001 0173 00 0003 0002 01bb`, "s."},
		{"HTTPS", "1 svc.example.com. alpn=h2,h3 port=8443", "svc.example.com."},
		{"CNAME", `a\.b`, ""},
		{"CNAME", `a\032b`, ""},
		{"TXT", "mail", ""},
		{"A", "192.0.2.1", ""},
	} {
		v := must.Get(Parse(mustType(t, tc.typ), tc.text))(t)
		if n, ok := v.Target(origin); ok != (tc.want != "") || n.String() != tc.want {
			t.Errorf("the target of %s %s is %q, %t; want %q", tc.typ, v, n, ok, tc.want)
		}
	}
	if n, ok := (Value{NS, ""}).Target(origin); ok {
		t.Errorf("no text names %q", n)
	}
}

// Other tools omit the final dot of names. Absolute adds it for every type that contains names, so a new type must be
// added to this table.
func TestAbsolute_everyName(t *testing.T) {
	want := map[string][2]string{
		"NS":       {"ns1.example.net", "ns1.example.net."},
		"CNAME":    {"LB.example.net", "lb.example.net."},
		"DNAME":    {"example.net.", "example.net."},
		"PTR":      {"host.example.net", "host.example.net."},
		"SOA":      {"ns.example.net root.example.net 1 2 3 4 5", "ns.example.net. root.example.net. 1 2 3 4 5"},
		"MX":       {"010 mail.example.net", "10 mail.example.net."},
		"RP":       {"admin.example.net people.example.net", "admin.example.net. people.example.net."},
		"AFSDB":    {"1 afs.example.net", "1 afs.example.net."},
		"SRV":      {"1 100 5061 sip.example.net", "1 100 5061 sip.example.net."},
		"NAPTR":    {`1 1 "s" "SIP+D2U" "" _sip._udp.example.net`, `1 1 "s" "SIP+D2U" "" _sip._udp.example.net.`},
		"KX":       {"10 kx.example.net", "10 kx.example.net."},
		"IPSECKEY": {"10 3 2 gw.example.net AQNR", "10 3 2 gw.example.net. AQNR"},
		"SVCB":     {"1 svc.example.net port=8443", `1 svc.example.net. port="8443"`},
		"HTTPS":    {"0 cdn.example.net", "0 cdn.example.net."},
		"LP":       {"10 l64.example.net", "10 l64.example.net."},
	}
	for _, f := range formats {
		texts, listed := want[f.name]
		if listed != f.hasNames() {
			t.Errorf("%s has names: %t; the table lacks it", f.name, f.hasNames())
		}
		if got := Absolute(f.rtype, texts[0]); listed && got != texts[1] {
			t.Errorf("%s %q is %q, want %q", f.name, texts[0], got, texts[1])
		}
	}
	for _, kept := range []Value{
		{MX, "0 ."}, {CNAME, "@"}, {TXT, "v=spf1 -all"}, {CAA, `0 issue "ca.example.net"`}, {A, "192.0.2.1"},
		{IPSECKEY, "10 1 2 192.0.2.1 AQNR"}, {SRV, "1 2 sip.example.net"}, {CNAME, ""}, {Type(65280), `\# 1 00`},
	} {
		if got := Absolute(kept.Type, kept.Text); got != kept.Text {
			t.Errorf("%s is %q", kept, got)
		}
	}
}

// Packer converts a value to wire form without first resolving relative names in the text, because this is faster. The
// result must equal that of the slower way, for every sample value and for zones whose names reach the limits (S1.3).
func TestPacker_twin(t *testing.T) {
	eachSample(t, func(t *testing.T, rt Type, text string) {
		v := must.Get(Parse(rt, text))(t)
		for _, zone := range []name.Name{origin, name.Root, name.MustParse("*.a."), name.MustParse(strings.Repeat("a.", 120)),
			name.MustParse(strings.Repeat("a.", 127)), {}} {
			front := []byte("front")
			got, gotErr := NewPacker(zone).Append(front, v)
			resolved, err := v.Resolve(zone)
			if (gotErr != nil) != (err != nil) {
				t.Fatalf("%s %q in %q packs with %v and resolves with %v", rt, v.Text, zone, gotErr, err)
			}
			if err != nil {
				if string(got) != "front" {
					t.Fatalf("%s %q in %q: %v, and %q is left", rt, v.Text, zone, gotErr, got)
				}
				continue
			}
			want, err := encodeText(rt, resolved, oneValue, nil, nil)
			if err != nil || string(got) != "front"+string(want) {
				t.Fatalf("%s %q in %q packs to %q; want %q, %v", rt, v.Text, zone, got, want, err)
			}
		}
	})
}

func TestAppendName_wire(t *testing.T) {
	for _, text := range []string{".", "a.", "www.example.org.", "*._tcp.xn--bcher-kva.example.", strings.Repeat("a.", 127),
		strings.Repeat(strings.Repeat("x", 61)+".", 4)} {
		n := name.MustParse(text)
		want := make([]byte, 256)
		end := must.Get(mdns.PackDomainName(text, want, 0, nil, false))(t)
		if got := AppendName(nil, n); !bytes.Equal(got, want[:end]) || len(got) != n.WireLen() {
			t.Errorf("RFC 1035 §3.1: %s is %q, want %q", text, got, want[:end])
		}
		if text == "." {
			continue
		}
		rel := name.MustRel(strings.TrimSuffix(text, "."))
		if got := AppendLabels(nil, rel); !bytes.Equal(got, want[:end-1]) {
			t.Errorf("RFC 1035 §3.1: the labels of %s are %q, want %q", rel, got, want[:end-1])
		}
	}
	if got := AppendLabels([]byte("x"), name.Apex); string(got) != "x" {
		t.Errorf("the apex has the labels %q", got)
	}
}

// Service parameters of SVCB and HTTPS may be quoted or not, and may be in any order. If Parse accepts them, their wire
// form is the same as in miekg/dns.
func TestParams_twin(t *testing.T) {
	params := []string{
		`mandatory=port`, `alpn="h2,h3"`, `alpn=h\050`, `alpn="a\\,b"`, `no-default-alpn`, `no-default-alpn=""`, `port=8443`, `port="53"`,
		`ipv4hint=192.0.2.1,192.0.2.2`, `ech="AEP+DQA/"`, `ipv6hint="2001:db8::1,::"`, `dohpath="/q{?dns}"`, "ohttp", `key667="hello"`,
		"key65280", `key65281="a\"b"`,
		`mandatory="alpn,port"`, `alpn=h2,`, `alpn`, `port`, `port=65536`, `ech=A`, `"port=1"`, `port="1"x`, `key7=x`, `key007`, `=x`,
		`key65535`, `x=y`, `key1000=\255\;`, `ohttp=1`,
	}
	rapid.Check(t, func(t *rapid.T) {
		rt := rapid.SampledFrom([]Type{SVCB, HTTPS}).Draw(t, "type")
		text := "1 " + rapid.SampledFrom([]string{".", "@", "svc", `a\.b.example.`}).Draw(t, "target")
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(params)-1), 0, 4).Draw(t, "params") {
			text += " " + params[i]
		}
		v, err := Parse(rt, text)
		if err != nil {
			return
		}
		wire, err := v.Pack(origin)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "key7=") {
			return // RFC 9460 §2.1 allows the value, miekg/dns does not
		}
		remote, err := packByLibrary(rt, text, origin)
		if err != nil || !equalButCase(wire, remote) {
			t.Fatalf("RFC 9460 §2.2: %s packs to %x; miekg/dns says %x, %v", text, wire, remote, err)
		}
	})
}

func packByLibrary(rt Type, text string, origin name.Name) ([]byte, error) {
	parser := mdns.NewZoneParser(strings.NewReader(". 0 IN "+rt.String()+" "+text+"\n"), origin.String(), "")
	rr, ok := parser.Next()
	if err := parser.Err(); err != nil || !ok {
		return nil, fmt.Errorf("no record: %w", err)
	}
	const header = 11 // root owner, type, class, TTL, length
	buffer := make([]byte, 65535)
	end, err := mdns.PackRR(rr, buffer, 0, nil, false)
	return buffer[header:max(header, end)], err
}

// equalButCase compares octets without regard to ASCII case, because names become lower case.
func equalButCase(a, b []byte) bool {
	lower := func(octets []byte) []byte {
		octets = bytes.Clone(octets)
		for i, c := range octets {
			if 'A' <= c && c <= 'Z' {
				octets[i] = c + 'a' - 'A'
			}
		}
		return octets
	}
	return bytes.Equal(lower(a), lower(b))
}

// A name of 255 octets, the maximum, parses in a value with the final dot. Without the dot it is relative, and fits
// only in the root zone (S1.3).
func TestParse_longestName(t *testing.T) {
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." + strings.Repeat("d", 61)
	for _, rt := range []Type{NS, MX, SRV} {
		front := map[Type]string{NS: "", MX: "10 ", SRV: "0 0 0 "}[rt]
		v, err := Parse(rt, front+long)
		if err != nil {
			t.Errorf("S1.3: %s: %v", rt, err)
			continue
		}
		checkValue(t, v)
		if text, err := v.Resolve(name.Root); err != nil || text != front+long+"." {
			t.Errorf("S1.3: %s resolves to %q, %v", rt, text, err)
		}
		if wire, err := v.Pack(name.Root); err != nil || wire[len(wire)-255] != 63 {
			t.Errorf("S1.3: %s packs to %x, %v", rt, wire, err)
		}
		if _, err := v.Resolve(name.MustParse("a.")); err == nil {
			t.Errorf("S1.3: %s of 255 octets fits below a.", rt)
		}
		if v, err := Parse(rt, front+long+"d"); err == nil {
			t.Errorf("S1.3: %s of 256 octets is %q", rt, v)
		}
		if v, err := Parse(rt, front+long+"d."); err == nil {
			t.Errorf("S1.3: %s of 256 octets is %q", rt, v)
		}
	}
}

// ParseStored parses stored values even if stricter rules now refuse them, and returns a canonical text.
func TestParseStored_released(t *testing.T) {
	for _, tc := range []struct{ typ, text, want string }{
		{"SVCB", "0 . alpn=h2", `0 . alpn="h2"`},
		{"SVCB", "1 . ech", "1 . ech"},
		{"CERT", "0 0 0 AAAA", "0 0 0 AAAA"},
		{"TXT", "a; b", `"a; b"`},
		{"MX", "10 Mail", "10 mail"},
	} {
		v, err := ParseStored(mustType(t, tc.typ), tc.text)
		if err != nil || v.Text != tc.want {
			t.Errorf("S2.4: %s %q is %q, %v; want %q", tc.typ, tc.text, v.Text, err, tc.want)
			continue
		}
		if again, err := ParseStored(v.Type, v.Text); err != nil || again != v {
			t.Errorf("S2.4: %s %q is %q the second time, %v", tc.typ, v.Text, again, err)
		}
		if _, err := v.Pack(origin); err != nil {
			t.Errorf("S2.4: %s: %v", v, err)
		}
	}
}

//go:embed testdata/values.txt
var sampleText string

var samples = func() map[string][]string {
	byType := map[string][]string{}
	for line := range strings.Lines(sampleText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		mnemonic, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			panic("testdata/values.txt: no tab in " + line)
		}
		byType[mnemonic] = append(byType[mnemonic], text)
	}
	return byType
}()
