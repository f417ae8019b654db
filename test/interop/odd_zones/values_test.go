// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package odd_zones

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

// within is the origin of values before the server judges them in their own zone.
var within = name.MustParse("v0.values.example.")

// listTypes returns all types with a validation, and some types by number: ends of the unassigned ranges, numbers of
// two and five digits, and the maximum.
func listTypes() (all []rdata.Type) {
	for n := 1; n < 65535; n++ {
		t := rdata.Type(n)
		if t.CheckRecord() == nil && (!t.ByNumber() || slices.Contains([]int{54, 127, 263, 9999, 32767, 65279, 65280, 65534}, n)) {
			all = append(all, t)
		}
	}
	return all
}

// ends are the values of a field, from minimum to maximum and beyond, by the kind of field, so that a new type is
// tested too.
var ends = map[string][]string{
	"a number 0-255":        append(numbersTo(255), mnemonics...),
	"a number 0-65535":      append(numbersTo(65535), mnemonics...),
	"a number 0-4294967295": append(numbersTo(4294967295), "20261122000000", "1h", "1W"),
	"a domain name": {
		".", "@", "a", "A.B", "a.", "host.example.net.", "HOST.Example.NET.", "host.v0.values.example.", "1.2.3.4", "1.2.3.4.", "xn--bcher-kva.example.", "_x._tcp.example.",
		"*.example.", "*", "a-.example.", "-", `a\.b.example.`, `a\032b.example.`, `\000.example.`, `\255\254.example.`, `\".example.`, `\;.example.`, `\(\).example.`, `\@.example.`, `\$.example.`, `\\.example.`,
		makeLabel(63) + ".", makeLabel(64) + ".", makeLabel(63), makeLongName(255), makeLongName(256), makeLongName(250) + "x",
		strings.Repeat("a.", 127), strings.Repeat("a.", 128), strings.Repeat("a.", 100) + "a", "", "a..b.", ".a.", `"a."`, `a\`, `\1.`,
		"ü.", "a/b.", "a:b.", "a,b.", "a=b.",
	},
	"an IPv4 address": {"0.0.0.0", "255.255.255.255", "127.0.0.1", "192.0.2.1", "1.2.3", "01.2.3.4", "1.2.3.256", "1.2.3.4.5", "0x7f.0.0.1", "::1", "", `"1.2.3.4"`},
	"an IPv6 address": {"::", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::ffff:192.0.2.1", "::192.0.2.1", "2001:DB8::A", "2001:0db8:0000:0000:0000:0000:0000:0001", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "1::3:4:5:6:7:8", "64:ff9b::1.2.3.4", "1.2.3.4", ":::", ""},
	"a quoted string": append(strs, quoteText(255, "y"), quoteText(256, "y"), quoteText(1000, "y"), quoteText(4000, "y"),
		quoteText(4093, "y"), quoteText(4096, "y"), quoteText(255, `\255`)),
	"quoted strings": append(strs, `""`, `"" ""`, `"a" "" "b"`, `"" "a"`, `"a" ""`, repeatText(64, `""`), repeatText(65, `""`),
		repeatText(4096, `""`), repeatText(4097, `""`),
		quoteText(255, "y")+" "+quoteText(255, "y"), quoteText(256, "y"), quoteText(4080, "y"), quoteText(4096, "y"),
		quoteText(255, `\255`), "bare", "two words", `a"b`, "v=spf1 -all", "v=DMARC1; p=none", "(", ";", "$TTL 1", "@", `\`, "ü", "a\tb",
		`"a"b"`),
	"a tag of letters and digits": {"issue", "ISSUE", "issuewild", "iodef", "issuemail", "contactemail", "a", "0", "x1", makeLabel(15),
		makeLabel(16), makeLabel(255), "a-b", "", "auth", `"issue"`, `\105ssue`},
	"hexadecimal digits": {
		"", "0", "00", "FF", "ff", "0a0B", "00 11 22", "0 0", "xy", `"00"`, makeOctets(19), makeOctets(20), makeOctets(21), makeOctets(31),
		makeOctets(32), makeOctets(33), makeOctets(47), makeOctets(48), makeOctets(49), makeOctets(63), makeOctets(64), makeOctets(65),
		makeOctets(127), makeOctets(128), makeOctets(255), makeOctets(256), makeOctets(1000), makeOctets(4000), makeOctets(4088),
		makeOctets(4090), makeOctets(4096), makeOctets(4097),
	},
	"base64":                                           {"", "AA==", "AA", "AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==", "/w==", "//8=", "////", "AAAA AAAA", "A A A A", "AAAA=", "====", "_w==", strings.Repeat("AAAA", 340), strings.Repeat("/+A9", 1363), strings.Repeat("AAAA", 1365), strings.Repeat("AAAA", 1366), `"AAAA"`, "AWEAAAAA", "BWxhYmVsAAAA", "A2E=", "P2E="},
	"six octets in hex with hyphens":                   {"00-00-00-00-00-00", "ff-ff-ff-ff-ff-ff", "00-00-5E-00-53-2A", "00:00:5e:00:53:2a", "00-00-5e-00-53", "0-0-5e-0-53-2a", "00-00-5e-00-53-2a-00", ""},
	"eight octets in hex with hyphens":                 {"00-00-00-00-00-00-00-00", "ff-ff-ff-ff-ff-ff-ff-ff", "00-00-5E-ef-10-00-00-2A", "00-00-5e-ef-10-00-00", ""},
	"four groups of up to four hex digits with colons": {"0000:0000:0000:0000", "0:0:0:0", "ffff:FFFF:ffff:ffff", "2001:0db8:1140:1000", "1:2:3", "1:2:3:4:5", "::1", "00001:2:3:4", ""},
	"RR types":           {"", "A", "a ns", "A A", "TYPE1", "TYPE0", "TYPE255", "TYPE256", "TYPE65535", "SOA NS A RRSIG NSEC", "TYPE65280 TYPE65281 A", "ANY", "AXFR", "NXT", "TYPE66", "TYPE262", "TYPE128", "OPT", "NULL", "UNSPEC", strings.Join(everyType(), " ")},
	"service parameters": params,
	"a gateway":          {".", "192.0.2.1", "2001:db8::1", "gw", "GW.example.net.", "@", "0.0.0.0", "::", "", makeLabel(63) + "."},
	`latitude, longitude, altitude and sizes, as in "52 22 23 N 4 53 32 E -2m" (RFC 1876)`: {
		"0 N 0 E 0", "0 S 0 W 0m", "90 N 180 E 0m", "90 S 180 W -100000.00m", "90 0 0.001 N 0 E 0m", "89 59 59.999 N 179 59 59.999 W 42849672.95m", "52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m", "1 2 3.4 N 5 6 7.89 E 42849672.96m",
		"1 N 1 E 0m 0m 0m 0m", "1 N 1 E 0m 90000000m 90000000m 90000000m", "1 N 1 E 0m 0.01m 0.09m 0.1m", "1 N 1 E 0m 1m", "1 N 1 E 0m 1m 2m", "1 N 1 E 0m 4000000m 4000001m 5000000m", "1 N 1 E 0m 20000000m 30000000m 40000000m", "1 60 N 1 E 0", "1 N", "1 n 1 e 1.5", "1 N 1 E 1e3m",
	},
}

// mnemonics are words that some servers accept for a number.
var mnemonics = []string{"RSASHA256", "rsasha256", "ED448", "PRIVATEDNS", "PRIVATEOID", "INDIRECT", "DH", "PKIX", "URI", "OID", "ACPKIX", "TCP", "smtp", "ZONE", "NOKEY", "A", "SHA256"}

var strs = []string{`""`, `"a"`, `" "`, `"  a  "`, `"\000"`, `"\255"`, `"\010\013"`, `"\""`, `"\\"`, `"\\\\\""`, `";"`, `"()"`, `"$ORIGIN ."`, `"@"`, `"\@"`, `"\a"`, `"ü"`, `"a	b"`, `"\009"`, `"!^.*$!sip:\\1@example.org!"`, `"!^(.*)$!sip:\\1@example.org!i"`, `"!a!b!"`, "a", `\#`, `"'"`, "\"`\"", `"<script>"`, `"%s%n"`, `"a,b"`, `"a=b"`, `"a;b=c"`, `"\127"`, `"\128"`, `"\032"`}

var params = func() []string {
	keys := []string{"mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint", "dohpath", "ohttp", "key0", "key7", "key8", "key9", "key10", "key1000", "key65280", "key65534", "key65535", "key65536"}
	values := []string{
		"", "=", `=""`, "=h2", `="h2,h3"`, "=a", "=a,b", `=\000`, `=\255`, `="\\,"`, `="a\\,b"`, "=,", "=h2,", "=,h2", "=" + makeLabel(255),
		"=" + makeLabel(256), "=h2,h2", "=0", "=53", "=65535", "=65536", "=192.0.2.1", "=0.0.0.0", "=192.0.2.1,192.0.2.2", "=192.0.2.1,",
		"=2001:db8::1", "=::", "=::ffff:1.2.3.4", "=2001:db8::1,2001:db8::2", "=AA==", "=AEX+DQBBpQAgACB/RU5hAC5mXe3uOZtNY58Bc8UU1cu4QBxQzfK5ktPuOwAEAAEAAQASY2xvdWRmbGFyZS1lY2guY29tAAA=", "=AA", `="/dns-query{?dns}"`, "=/q{?dns}", "=/q", "=/{?dns,x}", "=alpn", "=port", "=alpn,port", "=mandatory", "=key65280", "=ipv4hint,ipv6hint", `="a b"`, `="a;b"`, "=;", `="a;"`, `="a)"`, `="("`, `=" a "`, `="a\\"b"`, `="\\\\"`, "='", `="\""`, `="("`,
		"=" + strings.Repeat("192.0.2.1,", 255) + "192.0.2.1",
	}
	all := []string{"", "alpn=h2 port=443 ipv4hint=192.0.2.1 ipv6hint=2001:db8::1", "mandatory=alpn alpn=h2", "mandatory=port,alpn alpn=h2 port=1", "mandatory=port alpn=h2", "mandatory=alpn", "no-default-alpn alpn=h2", "alpn=h2 alpn=h3", "port=1 alpn=h2", "ALPN=h2", "key1=h2", "key3=\\001\\187", "ipv4hint=192.0.2.1 mandatory=ipv4hint", "key65280=a key65281 key65282=\"\"", "dohpath=/q{?dns} alpn=h2", "mandatory=key65280 key65280=x", "mandatory=key65280"}
	for _, n := range []int{61, 62, 63, 64, 65, 200} {
		var many []string
		for key := range n {
			many = append(many, fmt.Sprintf("key%d=x", 60000+key))
		}
		all = append(all, strings.Join(many, " "))
	}
	for _, key := range keys {
		for _, value := range values {
			all = append(all, key+value)
		}
	}
	return all
}()

func numbersTo(most uint64) (all []string) {
	for _, n := range []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 15, 16, 127, 128, 251, 252, 253, 254, 255, 256, 257, 443, 32767, 32768, 49152, 65534, 65535, 65536, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32} {
		if n <= most+1 {
			all = append(all, fmt.Sprint(n))
		}
	}
	return append(all, "007", "+1", "-1", "1.0", "0x10", "", `"1"`)
}

func everyType() (all []string) {
	for n := 1; n < 300; n++ {
		all = append(all, rdata.Type(n).String())
	}
	return all
}

// makeLongName counts octets on the wire.
func makeLongName(n int) string {
	var b strings.Builder
	for n -= 1; n > 0; {
		k := min(63, n-1)
		if n-k-1 == 1 {
			k--
		}
		b.WriteString(makeLabel(k) + ".")
		n -= k + 1
	}
	return b.String()
}

func repeatText(n int, text string) string {
	return strings.TrimSuffix(strings.Repeat(text+" ", n), " ")
}

func quoteText(n int, c string) string { return `"` + strings.Repeat(c, n) + `"` }

func makeOctets(n int) string { return strings.Repeat("5A", n) }

type value struct {
	rtype rdata.Type
	text  string // as written by a user
	rdata string // as in a zone
}

// makeValues makes values of every type: the samples, each field at its ends, more and fewer fields, other blanks and
// cases, and octets truncated, extended, and changed singly. The results are rdata's distinct accepted values, and
// the number of refused values by type.
func makeValues(t *testing.T, samples []sample, rnd *rand.Rand) (taken map[rdata.Type][]value, refused map[rdata.Type]int) {
	taken, refused = map[rdata.Type][]value{}, map[rdata.Type]int{}
	known := map[value]bool{}
	add := func(rt rdata.Type, text string) {
		v, err := rdata.Parse(rt, text)
		if err != nil {
			refused[rt]++
			return
		}
		resolved, err := v.Resolve(within)
		if err != nil {
			refused[rt]++
			return
		}
		one := value{rtype: rt, rdata: resolved}
		if known[one] {
			return
		}
		known[one] = true
		one.text = text
		taken[rt] = append(taken[rt], one)
		wire, err := v.Pack(within)
		if err != nil {
			t.Errorf("%s %.100s is taken and has no octets: %v", rt, text, err)
			return
		}
		// S5.4: every form of a value gives the same value.
		if generic, err := rdata.Parse(rt, inHex(wire)); err != nil || generic.Text != resolved {
			t.Errorf("%s %.100s is %.200s, and of its octets it is %.200s; %v", rt, text, resolved, generic.Text, err)
		}
	}
	for _, rt := range listTypes() {
		fields := rt.Fields()
		var bases [][]string
		for _, s := range samples {
			if st, err := rdata.ParseType(s.rtype); err == nil && st == rt {
				add(rt, s.data)
				if tokens := tokensOf(s.data, fields); len(tokens) == len(fields) && len(fields) > 0 {
					bases = append(bases, tokens)
				}
			}
		}
		sampled := len(taken[rt])
		if len(fields) == 0 { // by octets only
			for _, n := range []int{0, 1, 2, 3, 4, 6, 16, 255, 256, 4095, 4096, 4097} {
				for _, octet := range []byte{0, 1, 0x3f, 0x40, 0xc0, 0xff} {
					add(rt, inHex(bytes.Repeat([]byte{octet}, n)))
				}
			}
		}
		for _, base := range bases {
			whole := strings.Join(base, " ")
			for i, field := range fields {
				choices, ok := ends[field]
				if !ok {
					t.Fatalf("%s has %s, and no ends of such a field are known: give it some", rt, field)
				}
				for _, choice := range choices {
					changed := slices.Clone(base)
					changed[i] = choice
					add(rt, strings.Join(changed, " "))
				}
			}
			for _, text := range []string{"", "  " + strings.Join(base, " \t ") + "\t", strings.ToUpper(whole), strings.ToLower(whole), whole + " " + whole, whole + " 0", strings.Join(base[:len(base)-1], " "), strings.Join(base[1:], " "), "( " + whole + " )", whole + " ; comment", `\# 0`, `\# 1 00`} {
				add(rt, text)
			}
		}
		for _, one := range slices.Clone(taken[rt][:sampled]) {
			v, err := rdata.Parse(rt, one.rdata)
			if err != nil {
				t.Errorf("%s %.100s is taken, and not as it stands in a zone: %v", rt, one.text, err)
				continue
			}
			wire := must.Get(v.Pack(within))(t)
			mutateOctets(wire, rnd, func(changed []byte) { add(rt, inHex(changed)) })
		}
	}
	return taken, refused
}

func mutateOctets(wire []byte, rnd *rand.Rand, do func([]byte)) {
	for _, more := range [][]byte{{0}, {1}, {0xc0, 0}, {0xff, 0xff}} {
		do(slices.Concat(wire, more))
	}
	at := func(i int) bool { return i < 12 || i >= len(wire)-2 || rnd.IntN(len(wire)) < 8 }
	for i := range wire {
		if !at(i) {
			continue
		}
		do(wire[:i])
		for _, octet := range []byte{0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff, wire[i] + 1, byte(rnd.IntN(256))} {
			changed := slices.Clone(wire)
			changed[i] = octet
			do(changed)
		}
	}
}

func inHex(wire []byte) string {
	return strings.TrimSuffix(fmt.Sprintf(`\# %d %X`, len(wire), wire), " ")
}

// tokensOf splits a value at the blanks between fields; the last token has the rest.
func tokensOf(text string, fields []string) (tokens []string) {
	for len(tokens) < len(fields)-1 && text != "" {
		end, quotes := 0, false
		for end < len(text) && (quotes || text[end] != ' ') {
			if text[end] == '"' {
				quotes = !quotes
			}
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(text))
		if fields[len(tokens)] == "the discovery bit and the relay type" && !strings.Contains(text[:end], " ") && end < len(text) {
			next := strings.IndexByte(text[end+1:]+" ", ' ')
			end += 1 + next
		}
		tokens = append(tokens, text[:min(end, len(text))])
		text = strings.TrimLeft(text[min(end, len(text)):], " ")
	}
	return append(tokens, text)
}

func sizeOf(t *testing.T, rt rdata.Type, text string) int {
	t.Helper()
	v := must.Get(rdata.Parse(rt, text))(t)
	wire := must.Get(v.Pack(within))(t)
	return len(wire)
}
