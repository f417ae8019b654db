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

// oddZone is a zone as a tenant might write it.
type oddZone struct {
	spec    v1alpha1.ZoneSpec
	records []v1alpha1.RecordSpec
}

// sample is a line of the values that the tests of rdata go by.
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

// generator makes zone number i of a run. The same seed makes the same zones, however many there are.
type generator struct {
	*rand.Rand
	seed    uint64
	i       int
	samples []sample
	*oddZone
}

func (g *generator) zone(i int) oddZone {
	g.Rand, g.i, g.oddZone = rand.New(rand.NewPCG(g.seed, uint64(i))), i, &oddZone{}
	g.names()
	parts := []func(){g.owners, g.texts, g.cuts, g.aliases, g.redirections, g.sets, g.ttls, g.gaps, g.apex}
	for _, part := range parts {
		if g.IntN(3) > 0 {
			part()
		}
	}
	// Every run has each of them, however short it is.
	parts[i%len(parts)]()
	g.Shuffle(len(g.records), func(i, j int) { g.records[i], g.records[j] = g.records[j], g.records[i] })
	return *g.oddZone
}

func label(n int) string { return strings.Repeat("x", n-1) + "z" }

// names gives the zone its own name, its name servers and its SOA. Zone 0 is the root, which delegates the others.
func (g *generator) names() {
	s := &g.spec
	var numbered []string // a type by number needs a rule that names it
	for n := range 100 {
		numbered = append(numbered, fmt.Sprintf("TYPE%d", 65280+n))
	}
	s.Delegations = []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}, {Pattern: "*", Types: numbered}, {Pattern: "@", Types: numbered}}, Zones: []string{"*"}}}
	forms := []string{
		"plain%d.example.", "Büro-%d.Example.", "%d.2.0.192.in-addr.arpa.", "0/25.%d.0.192.in-addr.arpa.", "_sub.u%d.example.",
		"%d.0.8.b.d.0.1.0.0.2.ip6.arpa.", label(63) + ".n%d.example.", "r%d---x.example.", "x-%d." + strings.Repeat("d.", 60) + "example.",
		label(63) + "." + label(63) + ".m%d.example.", "%d.", "z.-%d-.example.", "例え%d.テスト.", "_%d._tcp.example.",
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

// add is a record of the zone, by zoneRef, so that relative names are relative to it.
func (g *generator) add(owner, rtype string, values ...string) *v1alpha1.RecordSpec {
	g.records = append(g.records, v1alpha1.RecordSpec{DomainName: owner, Type: rtype, Values: values})
	return &g.records[len(g.records)-1]
}

// owners: wildcards, underscores, RFC 2317, other scripts, labels of 63 octets, names of up to 255.
func (g *generator) owners() {
	for _, owner := range []string{
		"*", "*.a", "*.b.c", "_dmarc", "*._tcp", "_443._tcp.www", "0/25", "128/26.x", "_", "-", "a-", "0", "r3---x", "xn--bcher-kva", "Größe", "ÄÖÜ.例え",
		"UPPER.lower", "1.2.3.4", "a_b", "gc._msdcs", label(63), label(63) + "." + label(63), strings.Repeat("1.", 40) + "d",
	} {
		g.add(owner, "TXT", fmt.Sprintf("at %s", owner))
	}
	g.add("*.w", "A", "192.0.2.1")
	g.add("*.w", "MX", "10 mail.example.net.")
	g.add("www", "AAAA", "2001:db8::1")
	// As long as it goes: the server says by how much a name is too long, so each length is tried from above.
	for n := 63; n > 0; n -= 1 + g.IntN(5) {
		g.add(label(n)+"."+label(63)+"."+label(50), "TXT", "long")
	}
	// An odd target, where any name may be.
	g.add("target", "PTR", `a\.b\032c.example.`, `\000\255.example.`, "*.example.", label(63)+"."+label(63)+".")
}

// texts: every octet, in strings of every length that matters.
func (g *generator) texts() {
	var every strings.Builder
	for c := range 256 {
		fmt.Fprintf(&every, `\%03d`, c)
		if c == 128 {
			every.WriteString(`" "`)
		}
	}
	g.add("octets", "TXT", `"`+every.String()+`"`)
	g.add("octets", "SPF", `"`+every.String()+`"`)
	g.add("strings", "TXT", `""`, `"" ""`, `"a" "" "b"`, `"\" \\ ; ( ) $ @"`, strings.Repeat("long ", 120), `"`+strings.Repeat("y", 255)+`"`)
	g.add("semicolon", "TXT", "v=DMARC1; p=none; (x) $ORIGIN @")
	g.add("escapes", "CAA", `0 issue "ca.example; a=\"\\\""`, `255 UNKNOWN "\000\001\255"`)
	g.add("escapes", "HINFO", `"\000" "\255"`, `"" ""`)
	g.add("escapes", "NAPTR", `0 0 "" "" "!^.*$!sip:\\1@example.org!" .`)
	g.add("escapes", "URI", `0 65535 "\001\128"`)
}

// cuts: zones that others have, with glue, DS and what is hidden below.
func (g *generator) cuts() {
	g.add("cut", "NS", "ns.cut", "ns.elsewhere.example.net.")
	g.add("ns.cut", "A", "192.0.2.1")
	g.add("ns.cut", "AAAA", "2001:db8::1")
	g.add("cut", "DS", "1 8 2 0000000000000000000000000000000000000000000000000000000000000000")
	if g.IntN(2) == 0 {
		g.add("cut", "TXT", "occluded at the cut")
		g.add("a.cut", "TXT", "occluded below it")
		g.add("*.cut", "TXT", "so is a wildcard")
		g.add("c.cut", "CNAME", "a.cut")
		g.add("b.cut", "NS", "ns.b.cut") // a cut below a cut
		g.add("ns.b.cut", "A", "192.0.2.2")
		g.add("d.cut", "DNAME", "example.net.")
	}
	g.add("self", "NS", "self")
	g.add("self", "A", "192.0.2.3")
	g.add("sibling", "NS", "ns.cut")
	g.add("_cut", "NS", "ns.example.net.")
	g.add("lame", "NS", "nowhere")
}

// aliases: chains, loops, dead ends, wildcards.
func (g *generator) aliases() {
	g.add("c1", "CNAME", "c2")
	g.add("c2", "CNAME", "c3")
	g.add("c3", "CNAME", "c1")
	g.add("self-alias", "CNAME", "self-alias")
	g.add("dead", "CNAME", "does.not.exist")
	g.add("*.alias", "CNAME", "c1")
	g.add("root", "CNAME", ".")
	g.add("apex", "CNAME", "@")
	g.add("mx-at-alias", "MX", "0 c1")
	g.add("_s._tcp", "SRV", "0 0 0 c1", "0 0 0 .", "65535 65535 65535 www")
	g.add("null-mx", "MX", "0 .")
}

// redirections: a DNAME has nothing below it, and may have data beside it.
func (g *generator) redirections() {
	g.add("dn", "DNAME", "example.net.")
	g.add("dn", "A", "192.0.2.1")
	g.add("dn2", "DNAME", "dn2.dn3")
	g.add("_dn", "DNAME", ".")
	g.add("dn4", "DNAME", "www")
	g.add("to-dn", "CNAME", "below.dn")
}

// sets: the largest that S5.6 admits.
func (g *generator) sets() {
	var values []string
	for n := range 100 {
		values = append(values, fmt.Sprintf("198.51.100.%d", n))
	}
	g.add("hundred", "A", values...)
	g.add("hundred", "A", "198.51.100.100") // one too many, for one of the two
	values = nil
	for n := range 15 { // of 4,000 octets each, 60,000 with what stands around them in a message
		values = append(values, fmt.Sprintf("%02d%s", n, strings.Repeat("q", 3900)))
	}
	g.add("big", "TXT", values...)
	g.add("widest", "TXT", strings.Repeat("w", 4070))
	// A name with many types.
	for n := range 90 >> (3 * g.IntN(2)) {
		g.add("types", fmt.Sprintf("TYPE%d", 65280+n), fmt.Sprintf(`\# %d %s`, n, strings.Repeat("AB", n)))
	}
}

// ttls: the ends, and RRsets that several objects feed with different ones (S5.8).
func (g *generator) ttls() {
	for n, ttl := range []int32{0, 1, 2147483647, 86400} {
		g.add(fmt.Sprintf("ttl%d", n), "A", "192.0.2.1").TTL = ptr.To(ttl)
		g.add("ttls", "A", fmt.Sprintf("192.0.2.%d", n)).TTL = ptr.To(ttl)
	}
	g.add("ttls", "A", "192.0.2.77")
	g.add("twice", "A", "192.0.2.1")
	g.add("twice", "A", "192.0.2.1")
	g.add("twice", "MX", "10 Mail", "10 mail.example.net.")
}

// gaps: names that are there only because something is below them.
func (g *generator) gaps() {
	g.add("a.b.c.d.e.gap", "A", "192.0.2.1")
	g.add("x.c.d.e.gap", "TXT", "x")
	g.add("*.y.gap", "TXT", "the wildcard's parent is empty")
	g.add("_a._b._c.gap", "TXT", "x")
}

// apex: what may stand beside the SOA.
func (g *generator) apex() {
	g.add("@", "A", "192.0.2.80")
	g.add("@", "TXT", "v=spf1 -all", "apex")
	g.add("@", "MX", "10 mail.example.net.")
	g.add("@", "CAA", `0 issue ";"`)
	if g.i > 0 { // the root would have to have its address
		g.add("@", "NS", "extra.example.net.")
	}
	g.add("@", "DNSKEY", "257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==")
	g.add("@", "CDS", "0 0 0 00")
	g.add("@", "CDNSKEY", "0 3 0 AA==")
	g.add("@", "CSYNC", "1 3 A NS AAAA")
	g.add("@", "HTTPS", "0 www.example.net.")
	g.add("@", "LOC", "52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m")
	if g.i < 10 || g.IntN(2) == 0 { // as many types as there may be: the server refuses the rest
		for n := range 100 {
			g.add("@", fmt.Sprintf("TYPE%d", 65280+n), `\# 1 00`)
		}
	}
}
