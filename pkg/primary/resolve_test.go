// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"
)

// Answers follow the RFCs. test/interop/transfers compares many more with BIND and Knot.
func TestLookup(t *testing.T) {
	zone := makeSnapshot(t, "u", "", "example.org.", 7,
		"www A 192.0.2.1", "www A 192.0.2.2", "a.b.c A 192.0.2.3",
		"*.wild TXT \"x\"", "deep.host.wild A 192.0.2.4",
		"alias CNAME www", "out CNAME www.example.net.", "gone CNAME nothing", "one CNAME two", "two CNAME one", "viawild CNAME any.wild",
		"cut NS ns.cut", "cut NS ns.beside", "cut NS ns.example.net.", "cut DS 1 13 2 "+strings.Repeat("ab", 32), "ns.cut A 192.0.2.53", "ns.beside A 192.0.2.54",
		"old DNAME new", "x.new A 192.0.2.5")
	child := makeSnapshot(t, "c", "", "kid.example.org.", 3, "www A 192.0.2.6")
	r := testResponder(t, serveZones(zone, child), Rules(local, nil))
	for _, test := range []struct {
		question string // name and type
		want     string // rcode, aa, then the records of each section: short owner, type, data
	}{
		{"www A", "NOERROR aa | www A 192.0.2.1, www A 192.0.2.2 | |"},
		{"WwW A", "NOERROR aa | WwW A 192.0.2.1, WwW A 192.0.2.2 | |"}, // the query's spelling
		{"www MX", "NOERROR aa | | @ SOA |"},
		{"b.c A", "NOERROR aa | | @ SOA |"},                     // an empty non-terminal exists
		{"x.b.c A", "NXDOMAIN aa | | @ SOA |"},                  // and has no wildcard
		{"any.wild TXT", "NOERROR aa | any.wild TXT \"x\" | |"}, // RFC 4592
		{"a.any.wild TXT", "NOERROR aa | a.any.wild TXT \"x\" | |"},
		{"any.wild A", "NOERROR aa | | @ SOA |"},
		{"host.wild TXT", "NOERROR aa | | @ SOA |"}, // exists, so the closest encloser differs
		{"x.host.wild TXT", "NXDOMAIN aa | | @ SOA |"},
		{`odd\.one.wild TXT`, `NOERROR aa | odd\.one.wild TXT "x" | |`}, // impossible in a Record, but matched by a wildcard
		{"alias A", "NOERROR aa | alias CNAME www.example.org., www A 192.0.2.1, www A 192.0.2.2 | |"},
		{"alias CNAME", "NOERROR aa | alias CNAME www.example.org. | |"},
		{"alias MX", "NOERROR aa | alias CNAME www.example.org. | @ SOA |"},
		{"out A", "NOERROR aa | out CNAME www.example.net. | |"},
		{"gone A", "NXDOMAIN aa | gone CNAME nothing.example.org. | @ SOA |"}, // RFC 6604
		{"viawild TXT", "NOERROR aa | viawild CNAME any.wild.example.org., any.wild TXT \"x\" | |"},
		{"cut A", "NOERROR | | cut NS ns.cut.example.org., cut NS ns.beside.example.org., cut NS ns.example.net. | ns.cut A 192.0.2.53, ns.beside A 192.0.2.54"},
		{"x.y.cut A", "NOERROR | | cut NS ns.cut.example.org., cut NS ns.beside.example.org., cut NS ns.example.net. | ns.cut A 192.0.2.53, ns.beside A 192.0.2.54"},
		{"cut DS", "NOERROR aa | cut DS 1 13 2 " + strings.Repeat("AB", 32) + " | |"}, // the parent's (RFC 4035 §3.1.4.1)
		{"x.old A", "NOERROR aa | old DNAME new.example.org., x.old CNAME x.new.example.org., x.new A 192.0.2.5 | |"},
		{"old A", "NOERROR aa | | @ SOA |"}, // a DNAME covers names below it
		{"www.kid A", "NOERROR aa | www.kid A 192.0.2.6 | |"},
		{"kid DS", "NXDOMAIN aa | | @ SOA |"}, // a query to the parent, which has no delegation there
	} {
		short, qtype, _ := strings.Cut(test.question, " ")
		query := packMessage(t, makeQuery(short+".example.org.", mdns.StringToType[qtype]))
		m := unpackMessage(t, r.answerMessage(query, sentBy(loopback, true)).msg)
		if got := summarizeMessage(m); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.question, got, test.want)
		}
	}
	// A loop ends.
	one := packMessage(t, makeQuery("one.example.org.", mdns.TypeA))
	if m := unpackMessage(t, r.answerMessage(one, sentBy(loopback, true)).msg); m.Rcode != mdns.RcodeSuccess || len(m.Answer) > maxChain {
		t.Errorf("a circle of CNAMEs: %v", m)
	}
}

func summarizeMessage(m *mdns.Msg) string {
	out := mdns.RcodeToString[m.Rcode]
	if m.Authoritative {
		out += " aa"
	}
	for _, section := range [][]mdns.RR{m.Answer, m.Ns, m.Extra} {
		var list []string
		for _, rr := range section {
			f := strings.SplitN(rr.String(), "\t", 5)
			owner := strings.TrimSuffix(strings.TrimSuffix(f[0], "example.org."), ".")
			if owner == "" {
				owner = "@"
			}
			text := owner + " " + f[3] + " " + f[4]
			if f[3] == "SOA" {
				text = owner + " SOA"
			}
			list = append(list, text)
		}
		out += " | " + strings.Join(list, ", ")
	}
	return strings.TrimSuffix(strings.ReplaceAll(out, "|  |", "| |"), " ")
}

// A resolver would take a partial RRset for the whole. Therefore an answer that does not fit into UDP has no records
// and the TC bit, and is complete over TCP (RFC 2181 §9). A referral without its glue is truncated too (RFC 9471 §3).
func TestLookup_truncates(t *testing.T) {
	rows := makeHosts(0)
	for i := range 60 {
		rows = append(rows, fmt.Sprintf("big A 192.0.2.%d", i), fmt.Sprintf("cut NS ns%d.cut", i), fmt.Sprintf("ns%d.cut A 192.0.2.%d", i, i))
	}
	r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7, rows...)), Rules(local, nil))
	for _, qname := range []string{"big.example.org.", "x.cut.example.org."} {
		for _, size := range []uint16{0, 512, 1232, 4096} {
			q := makeQuery(qname, mdns.TypeA)
			if size > 0 {
				q.SetEdns0(size, false)
			}
			wire := r.answerMessage(packMessage(t, q), sentBy(loopback, false)).msg
			m := unpackMessage(t, wire)
			if limit := min(max(512, int(size)), udpLimit); len(wire) > limit {
				t.Errorf("%s: %d octets for a size of %d", qname, len(wire), size)
			}
			whole := unpackMessage(t, r.answerMessage(packMessage(t, q), sentBy(loopback, true)).msg)
			if len(whole.Answer)+len(whole.Ns) != 60 || whole.Truncated {
				t.Errorf("%s over TCP: %d records", qname, len(whole.Answer)+len(whole.Ns))
			}
			if m.Truncated && len(m.Answer)+len(m.Ns) > 0 || !m.Truncated && !slices.EqualFunc(m.Answer, whole.Answer, func(x, y mdns.RR) bool { return x.String() == y.String() }) {
				t.Errorf("%s, %d: TC %v with %d records", qname, size, m.Truncated, len(m.Answer)+len(m.Ns))
			}
			if size == 0 && !m.Truncated {
				t.Errorf("%s: %d octets are not cut to 512", qname, len(wire))
			}
		}
	}
}
