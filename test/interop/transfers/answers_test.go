// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfers

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const (
	child = "child.example.org."
	// for each server and transport
	questions = 6000
)

// makeZones returns the parent and a child. Few labels make many names, so that all features combine: delegations
// below empty non-terminals, wildcards beside names, chains of CNAMEs with every possible end.
func makeZones(rnd *rand.Rand) (parent, below string) {
	var b strings.Builder
	soa := "SOA ns1 hostmaster 7 3600 600 86400 300\n"
	b.WriteString("$ORIGIN " + apex + "\n$TTL 900\n@ " + soa + "@ NS ns1\n@ NS ns.elsewhere.example.\nns1 A 192.0.2.1\nns1 AAAA 2001:db8::1\n")
	b.WriteString("child NS ns1.child\nchild NS ns1\nns1.child A 192.0.2.53\n@ MX 10 mail\n")
	b.WriteString("mail A 192.0.2.25\n_sip._tcp SRV 0 5 5060 mail\n_dmarc TXT \"v=DMARC1; p=none\"\n")
	for i := range 40 {
		fmt.Fprintf(&b, "big TXT \"%s %d\"\n", strings.Repeat("x", 60), i)
	}
	fmt.Fprintf(&b, "long DNAME %sa\n", strings.Repeat(strings.Repeat("l", 60)+".", 3))
	labels := []string{"a", "b", "c", "d"}
	pick := func() string { return labels[rnd.IntN(len(labels))] }
	names := map[string]string{} // the kind of owner: data, alias, cut, dname
	free := func(n string) bool {
		if names[n] != "" {
			return false
		}
		for have, what := range names {
			// Nothing may be below a cut or a DNAME.
			if (what == "cut" || what == "dname") && strings.HasSuffix(n, "."+have) {
				return false
			}
		}
		return true
	}
	for range 160 {
		parts := make([]string, 1+rnd.IntN(4))
		for i := range parts {
			parts[i] = pick()
		}
		if rnd.IntN(5) == 0 {
			parts[0] = "*"
		}
		n := strings.Join(parts, ".")
		if !free(n) {
			continue
		}
		hasBelow := slices.ContainsFunc(slices.Collect(keysOf(names)), func(have string) bool { return strings.HasSuffix(have, "."+n) })
		switch kind := rnd.IntN(10); {
		case kind < 2:
			names[n] = "alias"
			target := pick() + "." + pick()
			switch rnd.IntN(6) {
			case 0:
				target = "www.elsewhere.example."
			case 1:
				target = pick()
			case 2:
				target = "x." + pick() + "." + pick() + "." + pick()
			case 3:
				target = "www.child"
			}
			fmt.Fprintf(&b, "%s CNAME %s\n", n, target)
		case kind == 2 && parts[0] != "*" && !hasBelow:
			names[n] = "cut"
			fmt.Fprintf(&b, "%s NS ns1.%s\n%s NS ns1\n%s NS far.elsewhere.example.\nns1.%s 60 A 192.0.2.7\nns1.%s AAAA 2001:db8::7\n", n, n, n, n, n, n)
			if rnd.IntN(2) == 0 {
				fmt.Fprintf(&b, "%s DS 12345 13 2 %s\n", n, strings.Repeat("ab", 32))
			}
		case kind == 3 && parts[0] != "*" && !hasBelow:
			names[n] = "dname"
			target := []string{"a.b", "elsewhere.example.", "c", "x.y"}[rnd.IntN(4)]
			fmt.Fprintf(&b, "%s DNAME %s\n%s A 192.0.2.99\n", n, target, n)
		default:
			names[n] = "data"
			fmt.Fprintf(&b, "%s %d A 192.0.2.%d\n", n, 30+rnd.IntN(600), 1+rnd.IntN(250))
			if rnd.IntN(2) == 0 {
				fmt.Fprintf(&b, "%s TXT \"at %s\"\n%s MX 10 mail\n", n, n, n)
			}
		}
	}
	return b.String(), "$ORIGIN " + child + "\n$TTL 900\n@ " + soa + "@ NS ns1\n@ NS ns1.example.org.\nns1 A 192.0.2.53\nwww A 192.0.2.80\n*.w TXT \"wild\"\nback CNAME a.example.org.\n"
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

var types = []uint16{
	mdns.TypeA, mdns.TypeA, mdns.TypeA, mdns.TypeAAAA, mdns.TypeNS, mdns.TypeCNAME, mdns.TypeDNAME, mdns.TypeSOA, mdns.TypeMX,
	mdns.TypeTXT, mdns.TypeTXT, mdns.TypeSRV, mdns.TypeDS, mdns.TypeHTTPS, mdns.TypeANY, 65280,
}

// drawQuestion makes a name of the zones' labels, sometimes with a label that cannot be an owner.
func drawQuestion(rnd *rand.Rand) *mdns.Msg {
	labels := []string{"a", "b", "c", "d", "a", "b", "c", "d", "*", "x", "ns1", "child", "www", "back", "w", "mail", "big", "long", "A", "_tcp", "_sip", `odd\.label`, `\000\255`}
	n := rnd.IntN(6)
	parts := make([]string, n)
	for i := range parts {
		parts[i] = labels[rnd.IntN(len(labels))]
	}
	zone := apex
	if rnd.IntN(8) == 0 {
		zone = child
	}
	if rnd.IntN(60) == 0 { // too long once a DNAME is applied
		parts = append([]string{strings.Repeat("q", 60)}, parts...)
	}
	m := new(mdns.Msg)
	m.SetQuestion(strings.Join(append(parts, zone), "."), types[rnd.IntN(len(types))])
	m.RecursionDesired = false
	return m
}

type answer struct {
	rcode     string
	aa        bool
	answer    string
	authority string // of a denial or a referral; servers may add NS to other answers
	glue      string // below the cut of a referral
}

func readAnswer(m *mdns.Msg) answer {
	s := answer{rcode: mdns.RcodeToString[m.Rcode], aa: m.Authoritative, answer: describeRecords(m.Answer)}
	referral := len(m.Answer) == 0 && !m.Authoritative && m.Rcode == mdns.RcodeSuccess
	var cut string
	var of []mdns.RR
	for _, rr := range m.Ns {
		_, soa := rr.(*mdns.SOA)
		if _, ns := rr.(*mdns.NS); soa || ns && (referral || endsAtCut(m, rr)) {
			of = append(of, rr)
			cut = rr.Header().Name
		}
	}
	s.authority = describeRecords(of)
	var glue []mdns.RR
	for _, rr := range m.Extra {
		if t := rr.Header().Rrtype; (t == mdns.TypeA || t == mdns.TypeAAAA) && cut != "" && mdns.IsSubDomain(cut, rr.Header().Name) {
			glue = append(glue, rr)
		}
	}
	if referral {
		s.glue = describeRecords(glue)
	}
	return s
}

// endsAtCut reports whether the answer is a chain that ends at the cut of the NS.
func endsAtCut(m *mdns.Msg, ns mdns.RR) bool {
	if len(m.Answer) == 0 {
		return false
	}
	last, ok := m.Answer[len(m.Answer)-1].(*mdns.CNAME)
	return ok && mdns.IsSubDomain(ns.Header().Name, last.Target) && ns.Header().Name != apex && ns.Header().Name != child
}

func describeRecords(rrs []mdns.RR) string {
	var out []string
	for _, rr := range rrs {
		c := mdns.Copy(rr)
		c.Header().Name = strings.ToLower(c.Header().Name)
		if cname, ok := c.(*mdns.CNAME); ok {
			cname.Target = strings.ToLower(cname.Target)
		}
		out = append(out, c.String())
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "\n")
}

type server struct {
	name string
	conn *mdns.Conn
}

func dialServer(t *testing.T, what, network string, at netip.AddrPort) *server {
	t.Helper()
	c := must.Get(mdns.DialTimeout(network, at.String(), 5*time.Second))(t)
	c.UDPSize = 4096
	t.Cleanup(func() { c.Close() })
	return &server{what, c}
}

func (s *server) sendQuery(t *testing.T, q *mdns.Msg) *mdns.Msg {
	t.Helper()
	s.conn.SetDeadline(time.Now().Add(time.Minute))
	if err := s.conn.WriteMsg(q); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	m, err := s.conn.ReadMsg()
	if err != nil {
		t.Fatalf("%s: %s: %v", s.name, q.Question[0].String(), err)
	}
	if m.Id != q.Id || len(m.Question) != 1 || m.Question[0].Qtype != q.Question[0].Qtype {
		t.Fatalf("%s: the answer is to another question: %v", s.name, m)
	}
	return m
}

func TestPlainAnswers(t *testing.T) {
	const seed = 20180312
	parent, below := makeZones(rand.New(rand.NewPCG(seed, 1)))
	local := subject.Start(t, primary.Config{}, subject.Zone(t, parent), subject.Zone(t, below))
	var files []rig.PrimaryZone
	for _, s := range []string{apex, child} {
		z, ok := local.ByUID(s)
		if !ok {
			t.Fatalf("no zone %s", s)
		}
		var text strings.Builder
		must.Get(zonefile.Write(&text, z.Entries()))(t)
		files = append(files, rig.PrimaryZone{Zone: s, Text: text.String()})
	}
	bind := rig.NeedServer(rig.StartBIND(rig.Within(t, time.Minute), rig.BINDConfig{Primaries: files, Options: "minimal-responses yes; max-udp-size 1232; zero-no-soa-ttl no;"}))(t)
	knot := rig.NeedServer(rig.StartKnot(rig.Within(t, time.Minute), rig.KnotConfig{Zones: files}))(t)

	counts := map[string]int{}
	for _, network := range []string{"udp", "tcp"} {
		us := dialServer(t, "kubizone", network, local.Addr)
		peers := []*server{dialServer(t, "BIND", network, bind.Addr), dialServer(t, "Knot", network, knot.Addr)}
		rnd := rand.New(rand.NewPCG(seed, 2))
		failures := 0
		for range questions {
			q := drawQuestion(rnd)
			if network == "udp" && rnd.IntN(2) == 0 {
				q.SetEdns0(4096, false)
			}
			if size := q.Len(); size > 300 {
				continue
			}
			m := us.sendQuery(t, q)
			if m.Truncated {
				counts["truncated"]++
				if len(m.Answer)+len(m.Ns) > 0 {
					t.Errorf("half an answer: %v", m)
				}
				continue // TCP gets the same questions
			}
			got := readAnswer(m)
			counts[got.rcode]++
			for _, peer := range peers {
				remote := peer.sendQuery(t, q)
				if remote.Truncated {
					t.Errorf("%s truncates what we do not: %v", peer.name, m)
					continue
				}
				want := readAnswer(remote)
				if why := explainDifference(peer.name, network, q, &want, got); why != "" {
					counts[why]++
				}
				if got != want {
					if failures++; failures < 10 {
						t.Errorf("%s %s\nwe say\n%+v\n%s says\n%+v", network, q.Question[0].String(), got, peer.name, want)
					}
				}
			}
		}
		if failures > 0 {
			t.Errorf("%s: %d answers differ", network, failures)
		}
	}
	t.Log(counts)
	for _, want := range []string{"NOERROR", "NXDOMAIN", "YXDOMAIN", "truncated"} {
		if counts[want] == 0 {
			t.Errorf("no answer was %s: the questions prove less than they claim", want)
		}
	}
}

// explainDifference removes a permitted difference and returns the reason, or "".
func explainDifference(peer, network string, q *mdns.Msg, remote *answer, local answer) string {
	switch {
	case *remote == local:
	case network == "udp" && q.Question[0].Qtype == mdns.TypeANY && local.rcode == "NOERROR" && remote.rcode == "NOERROR":
		*remote = local
		return "ANY over UDP is one RRset, as RFC 8482 §4.1 lets it be, and which one is everybody's own choice"
	case peer != "Knot":
	case q.Question[0].Qtype == mdns.TypeANY && local.rcode == "NOERROR":
		*remote = local
		return "Knot answers ANY with one RRset, as RFC 8482 §4.1 lets it, and follows what DNAME makes"
	case local.rcode == remote.rcode && local.rcode == "YXDOMAIN":
		*remote = local
		return "Knot adds its SOA, or the DNAME's target, to YXDOMAIN, of which RFC 6672 says nothing"
	}
	return ""
}
