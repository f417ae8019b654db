// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package odd_zones

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

type oddZone struct {
	spec    v1alpha1.ZoneSpec
	records []v1alpha1.RecordSpec
}

type sample struct{ rtype, data string }

func readSamples(t *testing.T) (all []sample) {
	t.Helper()
	text := must.Get(os.ReadFile("../../../pkg/dns/rdata/testdata/values.txt"))(t)
	for line := range strings.Lines(string(text)) {
		rtype, data, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		if rt, err := rdata.ParseType(rtype); err != nil {
			t.Fatal(err)
		} else if rt.CheckRecord() == nil {
			all = append(all, sample{rtype, data})
		}
	}
	return all
}

// generator makes zone number i of a run. The seed determines each zone, regardless of their number.
type generator struct {
	*rand.Rand
	seed    uint64
	i       int
	samples []sample
	*oddZone
}

func (g *generator) makeZone(i int) oddZone {
	g.Rand, g.i, g.oddZone = rand.New(rand.NewPCG(g.seed, uint64(i))), i, &oddZone{}
	g.addNames()
	parts := []func(){g.addOwners, g.addTexts, g.addCuts, g.addAliases, g.addRedirections, g.addRRsets, g.addTTLs, g.addGaps, g.addApex}
	for _, part := range parts {
		if g.IntN(3) > 0 {
			part()
		}
	}
	parts[i%len(parts)]()
	g.Shuffle(len(g.records), func(i, j int) { g.records[i], g.records[j] = g.records[j], g.records[i] })
	return *g.oddZone
}

func makeLabel(n int) string { return strings.Repeat("x", n-1) + "z" }

// addNames sets the zone's name, name servers and SOA. Zone 0 is the root, which delegates the others.
func (g *generator) addNames() {
	s := &g.spec
	var numbered []string // a type by number needs an explicit rule
	for n := range 100 {
		numbered = append(numbered, fmt.Sprintf("TYPE%d", 65280+n))
	}
	s.Delegations = []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}, {Pattern: "*", Types: numbered}, {Pattern: "@", Types: numbered}}, Zones: []string{"*"}}}
	forms := []string{
		"plain%d.example.", "Büro-%d.Example.", "%d.2.0.192.in-addr.arpa.", "0/25.%d.0.192.in-addr.arpa.", "_sub.u%d.example.",
		"%d.0.8.b.d.0.1.0.0.2.ip6.arpa.", makeLabel(63) + ".n%d.example.", "r%d---x.example.", "x-%d." + strings.Repeat("d.", 60) +
			"example.",
		makeLabel(63) + "." + makeLabel(63) + ".m%d.example.", "%d.", "z.-%d-.example.", "例え%d.テスト.", "_%d._tcp.example.",
	}
	s.DomainName = fmt.Sprintf(forms[g.i%len(forms)], g.i)
	if g.i == 0 {
		s.DomainName = "."
	}
	s.NameServers = []v1alpha1.NameServer{{Name: "a.gtld-servers.net."}}
	hostZone := !strings.ContainsAny(s.DomainName, "_/") && !strings.Contains(s.DomainName, ".-")
	if hostZone {
		s.NameServers = append(s.NameServers, v1alpha1.NameServer{Name: "ns", Addresses: []string{"192.0.2.53", "2001:db8::53"}})
		if g.i == 0 {
			s.NameServers = s.NameServers[1:]
		} else if g.IntN(4) == 0 {
			s.NameServers = append(s.NameServers, v1alpha1.NameServer{Name: "@", Addresses: []string{"192.0.2.54"}})
		}
	}
	s.Contact = []string{"", "john.doe+dns@example.org", `john\.doe.example.org.`, "x_y@example.org", "a-b.c@example.org"}[g.IntN(5)]
	if hostZone && g.IntN(3) == 0 {
		s.Contact = "hostmaster"
	}
	s.TTL = []*int32{nil, ptr.To[int32](0), ptr.To[int32](2147483647), ptr.To[int32](60)}[g.IntN(4)]
	s.NegativeResponseCache = []*int32{nil, ptr.To[int32](0), ptr.To[int32](2147483647)}[g.IntN(3)]
	if g.IntN(4) == 0 {
		s.Refresh, s.Retry, s.Expire = ptr.To[int32](2), ptr.To[int32](1), ptr.To[int32](2147483647)
		s.MinimumSerial = ptr.To[int64](4294967290)
	}
}

// addRecord adds a record by zoneRef, with names relative to the zone.
func (g *generator) addRecord(owner, rtype string, values ...string) *v1alpha1.RecordSpec {
	g.records = append(g.records, v1alpha1.RecordSpec{DomainName: owner, Type: rtype, Values: values})
	return &g.records[len(g.records)-1]
}

func (g *generator) addOwners() {
	for _, owner := range []string{
		"*", "*.a", "*.b.c", "_dmarc", "*._tcp", "_443._tcp.www", "0/25", "128/26.x", "_", "-", "a-", "0", "r3---x", "xn--bcher-kva", "Größe", "ÄÖÜ.例え",
		"UPPER.lower", "1.2.3.4", "a_b", "gc._msdcs", makeLabel(63), makeLabel(63) + "." + makeLabel(63), strings.Repeat("1.", 40) + "d",
	} {
		g.addRecord(owner, "TXT", fmt.Sprintf("at %s", owner))
	}
	g.addRecord("*.w", "A", "192.0.2.1")
	g.addRecord("*.w", "MX", "10 mail.example.net.")
	g.addRecord("www", "AAAA", "2001:db8::1")
	// The server reports the excess of a long name, so lengths are tried from the top.
	for n := 63; n > 0; n -= 1 + g.IntN(5) {
		g.addRecord(makeLabel(n)+"."+makeLabel(63)+"."+makeLabel(50), "TXT", "long")
	}
	// An odd target, in a type that permits any name.
	g.addRecord("target", "PTR", `a\.b\032c.example.`, `\000\255.example.`, "*.example.", makeLabel(63)+"."+makeLabel(63)+".")
}

func (g *generator) addTexts() {
	var every strings.Builder
	for c := range 256 {
		fmt.Fprintf(&every, `\%03d`, c)
		if c == 128 {
			every.WriteString(`" "`)
		}
	}
	g.addRecord("octets", "TXT", `"`+every.String()+`"`)
	g.addRecord("octets", "SPF", `"`+every.String()+`"`)
	g.addRecord("strings", "TXT", `""`, `"" ""`, `"a" "" "b"`, `"\" \\ ; ( ) $ @"`, strings.Repeat("long ", 120),
		`"`+strings.Repeat("y", 255)+`"`)
	g.addRecord("semicolon", "TXT", "v=DMARC1; p=none; (x) $ORIGIN @")
	g.addRecord("escapes", "CAA", `0 issue "ca.example; a=\"\\\""`, `255 UNKNOWN "\000\001\255"`)
	g.addRecord("escapes", "HINFO", `"\000" "\255"`, `"" ""`)
	g.addRecord("escapes", "NAPTR", `0 0 "" "" "!^.*$!sip:\\1@example.org!" .`)
	g.addRecord("escapes", "URI", `0 65535 "\001\128"`)
}

func (g *generator) addCuts() {
	g.addRecord("cut", "NS", "ns.cut", "ns.elsewhere.example.net.")
	g.addRecord("ns.cut", "A", "192.0.2.1")
	g.addRecord("ns.cut", "AAAA", "2001:db8::1")
	g.addRecord("cut", "DS", "1 8 2 0000000000000000000000000000000000000000000000000000000000000000")
	if g.IntN(2) == 0 {
		g.addRecord("cut", "TXT", "occluded at the cut")
		g.addRecord("a.cut", "TXT", "occluded below it")
		g.addRecord("*.cut", "TXT", "so is a wildcard")
		g.addRecord("c.cut", "CNAME", "a.cut")
		g.addRecord("b.cut", "NS", "ns.b.cut") // a cut below a cut
		g.addRecord("ns.b.cut", "A", "192.0.2.2")
		g.addRecord("b.cut", "DS", "1 8 2 0000000000000000000000000000000000000000000000000000000000000000")
		g.addRecord("d.cut", "DNAME", "example.net.")
	}
	g.addRecord("self", "NS", "self")
	g.addRecord("self", "A", "192.0.2.3")
	g.addRecord("sibling", "NS", "ns.cut")
	g.addRecord("_cut", "NS", "ns.example.net.")
	g.addRecord("lame", "NS", "nowhere")
}

func (g *generator) addAliases() {
	g.addRecord("c1", "CNAME", "c2")
	g.addRecord("c2", "CNAME", "c3")
	g.addRecord("c3", "CNAME", "c1")
	g.addRecord("self-alias", "CNAME", "self-alias")
	g.addRecord("dead", "CNAME", "does.not.exist")
	g.addRecord("*.alias", "CNAME", "c1")
	g.addRecord("root", "CNAME", ".")
	g.addRecord("apex", "CNAME", "@")
	g.addRecord("mx-at-alias", "MX", "0 c1")
	g.addRecord("_s._tcp", "SRV", "0 0 0 c1", "0 0 0 .", "65535 65535 65535 www")
	g.addRecord("null-mx", "MX", "0 .")
}

func (g *generator) addRedirections() {
	g.addRecord("dn", "DNAME", "example.net.")
	g.addRecord("dn", "A", "192.0.2.1")
	g.addRecord("dn2", "DNAME", "dn2.dn3")
	g.addRecord("_dn", "DNAME", ".")
	g.addRecord("dn4", "DNAME", "www")
	g.addRecord("to-dn", "CNAME", "below.dn")
}

// addRRsets adds the largest RRsets of S5.8.
func (g *generator) addRRsets() {
	var values []string
	for n := range 100 {
		values = append(values, fmt.Sprintf("198.51.100.%d", n))
	}
	g.addRecord("hundred", "A", values...)
	g.addRecord("hundred", "A", "198.51.100.100") // a value too many, in either of the two Records
	values = nil
	for n := range 15 { // of 4,000 octets each, 60,000 with the overhead in a message
		values = append(values, fmt.Sprintf("%02d%s", n, strings.Repeat("q", 3900)))
	}
	g.addRecord("big", "TXT", values...)
	g.addRecord("widest", "TXT", strings.Repeat("w", 4070))
	for n := range 90 >> (3 * g.IntN(2)) {
		g.addRecord("types", fmt.Sprintf("TYPE%d", 65280+n), fmt.Sprintf(`\# %d %s`, n, strings.Repeat("AB", n)))
	}
}

// addTTLs adds the extreme TTLs, and RRsets of several objects with different TTLs (S5.2).
func (g *generator) addTTLs() {
	for n, ttl := range []int32{0, 1, 2147483647, 86400} {
		g.addRecord(fmt.Sprintf("ttl%d", n), "A", "192.0.2.1").TTL = ptr.To(ttl)
		g.addRecord("ttls", "A", fmt.Sprintf("192.0.2.%d", n)).TTL = ptr.To(ttl)
	}
	g.addRecord("ttls", "A", "192.0.2.77")
	g.addRecord("twice", "A", "192.0.2.1")
	g.addRecord("twice", "A", "192.0.2.1")
	g.addRecord("twice", "MX", "10 Mail", "10 mail.example.net.")
}

func (g *generator) addGaps() {
	g.addRecord("a.b.c.d.e.gap", "A", "192.0.2.1")
	g.addRecord("x.c.d.e.gap", "TXT", "x")
	g.addRecord("*.y.gap", "TXT", "the wildcard's parent is empty")
	g.addRecord("_a._b._c.gap", "TXT", "x")
}

func (g *generator) addApex() {
	g.addRecord("@", "A", "192.0.2.80")
	g.addRecord("@", "TXT", "v=spf1 -all", "apex")
	g.addRecord("@", "MX", "10 mail.example.net.")
	g.addRecord("@", "CAA", `0 issue ";"`)
	if g.i > 0 { // the root would need the server's address
		g.addRecord("@", "NS", "extra.example.net.")
	}
	g.addRecord("@", "DNSKEY", "257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==")
	g.addRecord("@", "CSYNC", "1 3 A NS AAAA")
	g.addRecord("@", "HTTPS", "0 www.example.net.")
	g.addRecord("@", "LOC", "52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m")
	if g.i < 10 || g.IntN(2) == 0 { // as many types as possible: the server refuses the rest
		for n := range 100 {
			g.addRecord("@", fmt.Sprintf("TYPE%d", 65280+n), `\# 1 00`)
		}
	}
}
