// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

func TestRespond_toAllowedPeer(t *testing.T) {
	r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 100, "www A 192.0.2.1"), makeSnapshot(t, "root", "", ".", 5)),
		Rules(local, nil))
	update, notify := new(mdns.Msg), new(mdns.Msg)
	update.SetUpdate("example.org.")
	notify.SetNotify("example.org.")
	chaos := makeQuery("version.bind.", mdns.TypeTXT)
	chaos.Question[0].Qclass = mdns.ClassCHAOS
	chaosSOA := makeQuery("example.org.", mdns.TypeSOA)
	chaosSOA.Question[0].Qclass = mdns.ClassCHAOS
	status := makeQuery("example.org.", mdns.TypeSOA)
	status.Opcode = mdns.OpcodeStatus
	two := makeQuery("example.org.", mdns.TypeSOA)
	two.Question = append(two.Question, two.Question[0])
	bareIXFR := makeQuery("example.org.", mdns.TypeIXFR)
	version1 := makeQuery("example.org.", mdns.TypeSOA)
	version1.SetEdns0(1232, false)
	version1.IsEdns0().SetVersion(1)

	const transfer, soa, data, none, nx = -1, -2, -3, -4, -5
	tests := []struct {
		what string
		msg  *mdns.Msg
		// The wanted answer is an RCODE, or transfer, or soa: NOERROR with only the SOA, or data: NOERROR with an
		// answer, or none: NOERROR without data, or nx: NXDOMAIN. The last two have the SOA in the authority section.
		udp, tcp int
	}{
		{"SOA", makeQuery("example.org.", mdns.TypeSOA), soa, soa},
		{"SOA in other case", makeQuery("EXAMPLE.org.", mdns.TypeSOA), soa, soa},
		{"SOA of the root", makeQuery(".", mdns.TypeSOA), soa, soa},
		{"SOA below a zone", makeQuery("www.example.org.", mdns.TypeSOA), none, none},
		{"SOA of a zone not here", makeQuery("example.net.", mdns.TypeSOA), nx, nx},
		{"SOA of no zone name", makeQuery(`a\.b.example.`, mdns.TypeSOA), nx, nx},
		{"AXFR", makeQuery("example.org.", mdns.TypeAXFR), mdns.RcodeFormatError, transfer},
		{"AXFR of a zone not here", makeQuery("example.net.", mdns.TypeAXFR), mdns.RcodeFormatError, mdns.RcodeNotAuth},
		{"IXFR from an older serial", makeIXFR("example.org.", 99), soa, transfer},
		{"IXFR from the same serial", makeIXFR("example.org.", 100), soa, soa},
		{"IXFR from a newer serial", makeIXFR("example.org.", 101), soa, soa},
		{"IXFR from far behind", makeIXFR("example.org.", 100+1<<31+1), soa, transfer},
		{"IXFR from an incomparable serial", makeIXFR("example.org.", 100+1<<31), soa, transfer},
		{"IXFR without a serial", bareIXFR, mdns.RcodeFormatError, mdns.RcodeFormatError},
		{"IXFR of a zone not here", makeIXFR("example.net.", 1), mdns.RcodeNotAuth, mdns.RcodeNotAuth},
		{"A", makeQuery("mail.example.org.", mdns.TypeA), nx, nx},
		{"A at the apex", makeQuery("example.org.", mdns.TypeA), none, none},
		{"A of no Record's name", makeQuery(`a\.b.example.org.`, mdns.TypeA), nx, nx},
		{"ANY", makeQuery("example.org.", mdns.TypeANY), data, data},
		{"A of a zone not here", makeQuery("www.example.net.", mdns.TypeA), nx, nx}, // inside the root zone
		{"MAILA", makeQuery("example.org.", mdns.TypeMAILA), mdns.RcodeRefused, mdns.RcodeRefused},
		{"UPDATE", update, mdns.RcodeRefused, mdns.RcodeRefused},
		{"NOTIFY", notify, mdns.RcodeRefused, mdns.RcodeRefused},
		{"STATUS", status, mdns.RcodeNotImplemented, mdns.RcodeNotImplemented},
		{"CHAOS", chaos, mdns.RcodeRefused, mdns.RcodeRefused},
		{"SOA in class CHAOS", chaosSOA, mdns.RcodeRefused, mdns.RcodeRefused},
		{"two questions", two, mdns.RcodeFormatError, mdns.RcodeFormatError},
		{"EDNS version 1", version1, mdns.RcodeBadVers, mdns.RcodeBadVers},
	}
	for _, test := range tests {
		for _, over := range []struct {
			tcp  bool
			want int
		}{{false, test.udp}, {true, test.tcp}} {
			a := r.answerMessage(packMessage(t, test.msg), sentBy(loopback, over.tcp))
			if over.want == transfer {
				if a.transfer == nil {
					t.Errorf("%s, TCP: no transfer", test.what)
				}
				continue
			}
			if a.transfer != nil || a.msg == nil {
				t.Errorf("%s, TCP %v: %+v", test.what, over.tcp, a)
				continue
			}
			m := unpackMessage(t, a.msg)
			if m.Id != test.msg.Id || !m.Response || m.Opcode != test.msg.Opcode {
				t.Errorf("%s, TCP %v: header %+v", test.what, over.tcp, m.MsgHdr)
			}
			if edns := m.IsEdns0(); (edns != nil) != (test.msg.IsEdns0() != nil) || edns != nil && edns.Version() != 0 {
				t.Errorf("%s, TCP %v: EDNS answered %v", test.what, over.tcp, edns)
			}
			denied := len(m.Answer) == 0 && len(m.Ns) == 1 && m.Ns[0].Header().Rrtype == mdns.TypeSOA && m.Authoritative
			switch over.want {
			case data:
				if m.Rcode != mdns.RcodeSuccess || !m.Authoritative || len(m.Answer) == 0 {
					t.Errorf("%s, TCP %v: %v", test.what, over.tcp, m)
				}
				continue
			case none, nx:
				if want := map[int]int{none: mdns.RcodeSuccess, nx: mdns.RcodeNameError}[over.want]; m.Rcode != want || !denied {
					t.Errorf("%s, TCP %v: %v; want rcode %d", test.what, over.tcp, m, want)
				}
				continue
			}
			if over.want == soa {
				if m.Rcode != mdns.RcodeSuccess || !m.Authoritative || len(m.Answer) != 1 || m.Answer[0].Header().Rrtype != mdns.TypeSOA {
					t.Errorf("%s, TCP %v: %v", test.what, over.tcp, m)
				}
			} else if m.Rcode != over.want || m.Authoritative || len(m.Answer)+len(m.Ns) > 0 {
				t.Errorf("%s, TCP %v: %v; want rcode %d", test.what, over.tcp, m, over.want)
			}
		}
	}
}

// A client without permission cannot find out whether a zone exists. The refusals for an existing and a missing zone
// differ only in the question. No refusal is longer than the query, so it is of no use for amplification.
func TestRespond_outsiderLearnsNothing(t *testing.T) {
	k := testKey(t, "transfer.example.", tsig.HMACSHA256)
	stranger := testKey(t, "stranger.example.", tsig.HMACSHA256)
	for what, r := range map[string]*responder{
		"by address": testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), Rules(local, nil)),
		"by key":     testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), []Rule{{Key: k.Name}}, k),
		"by both":    testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), Rules(local, []tsig.Key{k}), k),
		"nobody":     testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), nil),
	} {
		r.clock = func() time.Time { return time.Unix(1700000000, 0) }
		for _, qtype := range []uint16{mdns.TypeSOA, mdns.TypeAXFR, mdns.TypeIXFR, mdns.TypeA, mdns.TypeANY, mdns.TypeNS} {
			for _, overTCP := range []bool{false, true} {
				for _, withKey := range []bool{false, true} {
					ask := func(zone string) []byte {
						m := makeQuery(zone, qtype)
						m.Id = 4711
						m.SetEdns0(4096, true)
						wire := packMessage(t, m)
						if withKey {
							wire, _ = signQuery(t, m, stranger, r.clock())
						}
						a := r.answerMessage(wire, sentBy(outside, overTCP))
						if a.transfer != nil {
							t.Fatalf("%s: a transfer", what)
						}
						if len(a.msg) > len(wire) {
							t.Errorf("%s, type %d: %d octets for %d", what, qtype, len(a.msg), len(wire))
						}
						got := unpackMessage(t, a.msg)
						if want := map[bool]int{false: mdns.RcodeRefused, true: mdns.RcodeNotAuth}[withKey]; got.Rcode != want {
							t.Errorf("%s, type %d: rcode %d, want %d", what, qtype, got.Rcode, want)
						}
						return a.msg
					}
					here, absent := ask("example.org."), ask("example.net.")
					if !bytes.Equal(bytes.ReplaceAll(here, []byte("\x03org"), []byte("\x03net")), absent) {
						t.Errorf("%s, type %d, TCP %v: the answers differ:\n%x\n%x", what, qtype, overTCP, here, absent)
					}
				}
			}
		}
	}
}

func TestRules_neverAllowTheWorld(t *testing.T) {
	for _, c := range []struct {
		allow []Rule
		want  string
	}{
		{[]Rule{{}}, "Allow[0]: neither Prefixes nor Key"},
		{Rules(nil, nil), "Allow[0]: neither Prefixes nor Key"},
		{[]Rule{{Key: "nobody."}}, `no key "nobody."`},
		{[]Rule{{Prefixes: []netip.Prefix{{}}}}, "Allow[0].Prefixes[0]: not a prefix"},
	} {
		_, err := New(Config{Zones: serveZones(), Listen: netip.MustParseAddrPort("127.0.0.1:0"), Allow: c.allow})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.allow, err, c.want)
		}
	}
}

func TestRespond_firstNamedViewServes(t *testing.T) {
	set := serveZones(makeSnapshot(t, "a", "internal", "example.org.", 11), makeSnapshot(t, "b", "", "example.org.", 22),
		makeSnapshot(t, "c", "", "example.net.", 33), makeSnapshot(t, "d", "secret", "example.com.", 44))
	r := testResponder(t, set, Rules(local, nil))
	for _, c := range []struct {
		views  []string
		fqdn   string
		serial uint32
	}{
		{[]string{"internal", ""}, "example.org.", 11}, {[]string{"", "internal"}, "example.org.", 22},
		{[]string{"internal", ""}, "example.net.", 33}, {[]string{"internal", ""}, "example.com.", 0}, {nil, "example.org.", 0},
	} {
		r.classes.registry.Load().classes[0].views = c.views
		m := unpackMessage(t, r.answerMessage(packMessage(t, makeQuery(c.fqdn, mdns.TypeSOA)), sentBy(loopback, false)).msg)
		var got uint32
		if len(m.Answer) == 1 {
			got = m.Answer[0].(*mdns.SOA).Serial
		}
		if got != c.serial {
			t.Errorf("views %q, %s: serial %d, want %d", c.views, c.fqdn, got, c.serial)
		}
	}
}

// steppedZones returns fixed steps from Changes, and counts the calls of Difference.
type steppedZones struct {
	*zoneview.Set
	steps []content.Step
	made  int
}

func (z *steppedZones) Changes(string, serial.Serial, serial.Serial) ([]content.Step, error) {
	return z.steps, nil
}

func (z *steppedZones) Difference(*zoneview.Snapshot, serial.Serial) (zoneview.Difference, error) {
	z.made++
	return zoneview.Difference{}, errors.New("not known")
}

// An IXFR difference longer than a UDP message is not even computed for a query over UDP. Over TCP the query first
// needs a transfer slot. So no query costs more than the answer (attack 112).
func TestRespond_makesNoLongDifferenceBeforeItsPlace(t *testing.T) {
	var values []string
	for i := range 100 {
		values = append(values, fmt.Sprintf("www A 10.0.0.%d", i))
	}
	row := content.Row{Owner: name.MustRel("www"), Type: rdata.A, Data: "192.0.2.1"}
	ttl := content.Step{TTLs: []content.TTLChange{{Owner: row.Owner, Type: rdata.A}}}
	short, long := []content.Step{{Added: []content.Row{row}}}, []content.Step{ttl, {Removed: slices.Repeat([]content.Row{row}, 200)}}
	for what, test := range map[string]struct {
		steps         []content.Step
		overTCP       bool
		made, inPlace int
	}{
		"short, over UDP": {short, false, 1, 0}, "long, over UDP": {long, false, 0, 0},
		"two TTLs of 100 values, over UDP": {[]content.Step{ttl, ttl}, false, 0, 0},
		"short, over TCP":                  {short, true, 0, 1}, "long, over TCP": {long, true, 0, 1},
		// A step that changes only the serial makes the whole zone necessary (S6.11).
		"over a serial without change, over TCP": {append(short, content.Step{}), true, 0, 0},
		"over a serial without change, over UDP": {append(short, content.Step{}), false, 0, 0},
	} {
		r := testResponder(t, serveZones(), Rules(local, nil))
		zones := &steppedZones{Set: serveZones(makeSnapshot(t, "u", "", "example.org.", 100, values...)), steps: test.steps}
		r.classes.zones = zones
		a := r.answerMessage(packMessage(t, makeIXFR("example.org.", 99)), sentBy(loopback, test.overTCP))
		if zones.made != test.made || (a.transfer != nil) != test.overTCP {
			t.Errorf("%s: made %d times before its place, %+v", what, zones.made, a)
		}
		if zones.made = 0; a.transfer != nil {
			r.classes.readDifference(a.transfer)
		} else if m := unpackMessage(t, a.msg); len(m.Answer) != 1 {
			t.Errorf("%s: %v", what, m)
		}
		if zones.made != test.inPlace {
			t.Errorf("%s: made %d times in its place", what, zones.made)
		}
	}
}

// A query of type ANY at a name with many large RRsets is answered with the smallest. The others are not even read, so
// such a query costs no more than a query for one type (attack 112).
func TestRespond_readsOneRRsetOfANY(t *testing.T) {
	rows := []string{"big A 192.0.2.1"}
	for _, rtype := range []string{"TXT", "SPF"} {
		for i := range 14 {
			rows = append(rows, fmt.Sprintf("big %s %s%02d", rtype, strings.Repeat("x", 4000), i))
		}
	}
	r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7, rows...)), Rules(local, nil))
	cost := func(qtype uint16) float64 {
		wire := packMessage(t, makeQuery("big.example.org.", qtype))
		return testing.AllocsPerRun(10, func() {
			m := unpackMessage(t, r.answerMessage(wire, sentBy(loopback, false)).msg)
			if len(m.Answer) != 1 || m.Answer[0].Header().Rrtype != mdns.TypeA {
				t.Errorf("%v", m)
			}
		})
	}
	if one, all := cost(mdns.TypeA), cost(mdns.TypeANY); all > one+5 {
		t.Errorf("%.0f allocations for A, %.0f for ANY", one, all)
	}
}

// An answer longer than the client's UDP size is empty and has the TC bit, so that the client retries over TCP and gets
// the whole answer (RFC 1035 §4.2.1).
func TestRespond_longSOAIsTruncatedOverUDP(t *testing.T) {
	label := strings.Repeat("l", 60) + "."
	fqdn := label + label + label + "example."
	s := makeSnapshot(t, "u", "", fqdn, 7)
	h := makeHeader(fqdn)
	h.PrimaryNameServer = strings.Repeat("m", 60) + "." + label + strings.Repeat("o", 60) + ".example."
	h.Contact = strings.Repeat("n", 60) + "." + label + strings.Repeat("p", 60) + ".example."
	set := serveZones(replaceHeader(s, h))
	r := testResponder(t, set, Rules(local, nil))
	m := unpackMessage(t, r.answerMessage(packMessage(t, makeQuery(fqdn, mdns.TypeSOA)), sentBy(loopback, false)).msg)
	if !m.Truncated || len(m.Answer) != 0 {
		t.Errorf("512 octets: %v", m)
	}
	if m := unpackMessage(t, r.answerMessage(packMessage(t, makeQuery(fqdn, mdns.TypeSOA)), sentBy(loopback, true)).msg); m.Truncated ||
		len(m.Answer) != 1 {
		t.Errorf("over TCP: %v", m)
	}
}

// A malformed message gets a FORMERR of twelve octets, or no answer, and takes little time.
func TestRespond_malformed(t *testing.T) {
	r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), Rules(local, nil))
	head := func(qd, an, ns, ar uint16) []byte {
		b := []byte{1, 2, 0, 0}
		for _, n := range []uint16{qd, an, ns, ar} {
			b = binary.BigEndian.AppendUint16(b, n)
		}
		return b
	}
	question := []byte("\x07example\x03org\x00\x00\x06\x00\x01")
	chain := head(1, 0, 0, 1)
	chain = append(chain, question...)
	for i := 0; i < 8000; i++ { // each points to the previous one
		chain = binary.BigEndian.AppendUint16(chain, 0xC000|uint16(min(len(chain)-2, 0x3FFF)))
	}
	tests := map[string][]byte{
		"no question":                     head(0, 0, 0, 0),
		"question missing":                head(1, 0, 0, 0),
		"pointer to itself":               append(head(1, 0, 0, 0), 0xC0, 12, 0, 6, 0, 1),
		"pointer ahead":                   append(head(1, 0, 0, 0), 0xC0, 20, 0, 6, 0, 1),
		"label past the end":              append(head(1, 0, 0, 0), 63, 'a'),
		"withdrawn label type":            append(head(1, 0, 0, 0), 0x41, 'a', 0, 0, 6, 0, 1),
		"name without end":                append(head(1, 0, 0, 0), bytes.Repeat([]byte("\x01a"), 140)...),
		"65,535 records promised":         append(head(1, 65535, 65535, 65535), question...),
		"octets left over":                append(append(head(1, 0, 0, 0), question...), 0),
		"RDLENGTH past the end":           append(append(head(1, 0, 0, 1), question...), 0, 0, 1, 0, 1, 0, 0, 0, 0, 255, 255),
		"half a record":                   append(append(head(1, 0, 0, 1), question...), 0, 0, 1, 0),
		"chain of pointers":               chain,
		"TSIG too short":                  append(append(head(1, 0, 0, 1), question...), 0, 0, typeTSIG, 0, classANY, 0, 0, 0, 0, 0, 1, 0),
		"TSIG in the answer section":      append(append(head(1, 1, 0, 0), question...), 0, 0, typeTSIG, 0, classANY, 0, 0, 0, 0, 0, 0),
		"OPT not at the root":             append(append(head(1, 0, 0, 1), question...), 1, 'a', 0, 0, typeOPT, 2, 0, 0, 0, 0, 0, 0, 0),
		"option past its end":             append(append(head(1, 0, 0, 1), question...), 0, 0, typeOPT, 2, 0, 0, 0, 0, 0, 0, 5, 0, 10, 0, 2, 1),
		"SOA of an IXFR with short rdata": append(append(head(1, 0, 1, 0), question...), 0, 0, 6, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0),
	}
	for what, wire := range tests {
		var a answer
		best := time.Hour // a loaded machine may stop one try
		for range 3 {
			start := time.Now()
			a = r.answerMessage(wire, sentBy(loopback, true))
			best = min(best, time.Since(start))
		}
		if best > 50*time.Millisecond {
			t.Errorf("%s: %s", what, best)
		}
		if len(a.msg) != headerLen || unpackMessage(t, a.msg).Rcode != mdns.RcodeFormatError {
			t.Errorf("%s: %x", what, a.msg)
		}
	}
	for what, wire := range map[string][]byte{
		"nothing": {}, "half a header": {1, 2, 3}, "a response": append(append([]byte{1, 2, 0x80, 0}, head(1, 0, 0, 0)[4:]...), question...),
	} {
		if a := r.answerMessage(wire, sentBy(loopback, false)); a.msg != nil || a.transfer != nil {
			t.Errorf("%s: answered with %x", what, a.msg)
		}
	}
}

// An answer to a request with an unknown key is no longer than the request, even if the request compresses the key's
// name.
func TestRespond_refusedSignatureIsNoAmplifier(t *testing.T) {
	r := testResponder(t, serveZones(), nil)
	label := strings.Repeat("k", 60) + "."
	wire := packMessage(t, makeQuery(label+label+label+"example.", mdns.TypeSOA))
	wire = append(wire, 0xC0, headerLen, 0, typeTSIG, 0, classANY, 0, 0, 0, 0)
	algorithm := must.Get(packName(string(tsig.HMACSHA256)))(t)
	wire = append(wire, 0, byte(len(algorithm)+16))
	wire = append(wire, algorithm...)
	wire = withArcount(append(wire, make([]byte, 16)...), 1)
	a := r.answerMessage(wire, sentBy(outside, false))
	if m := unpackMessage(t, a.msg); m.Rcode != mdns.RcodeNotAuth || len(a.msg) > len(wire) {
		t.Errorf("%d octets for %d: %v", len(a.msg), len(wire), m)
	}
}

func TestRule_coversAddressesWithAZone(t *testing.T) {
	r := Rule{Prefixes: []netip.Prefix{netip.MustParsePrefix("fe80::/10")}}
	if !r.covers(netip.MustParseAddr("fe80::1%eth0")) || r.covers(outside) {
		t.Error("fe80::/10 is judged wrongly")
	}
}

func FuzzRespond(f *testing.F) {
	k := testKey(f, "transfer.example.", tsig.HMACSHA256)
	set := serveZones(makeSnapshot(f, "u", "", "example.org.", 7, "www A 192.0.2.1"), makeSnapshot(f, "root", "", ".", 8))
	r := testResponder(f, set, []Rule{{Prefixes: local}, {Key: k.Name}}, k)
	now := time.Unix(1700000000, 0)
	r.clock = func() time.Time { return now }
	for _, m := range []*mdns.Msg{makeQuery("example.org.", mdns.TypeSOA), makeQuery(".", mdns.TypeAXFR), makeIXFR("example.org.", 3),
		new(mdns.Msg).SetNotify("example.org."), new(mdns.Msg).SetUpdate("example.org.")} {
		f.Add(packMessage(f, m), true)
		m.SetEdns0(4096, true)
		f.Add(packMessage(f, m), false)
		wire, _ := signQuery(f, m, k, now)
		f.Add(wire, true)
		stranger := testKey(f, "stranger.example.", tsig.HMACSHA256)
		wire, _ = signQuery(f, m, stranger, now)
		f.Add(wire, false)
	}
	f.Fuzz(func(t *testing.T, wire []byte, overTCP bool) {
		if len(wire) > maxMessage {
			return
		}
		before := bytes.Clone(wire)
		for _, from := range []netip.Addr{loopback, outside} {
			a := r.answerMessage(wire, sentBy(from, overTCP))
			if !bytes.Equal(before, wire) {
				t.Fatal("the request was written to")
			}
			if a.msg != nil {
				m := unpackMessage(t, a.msg)
				if !m.Response || m.Id != binary.BigEndian.Uint16(wire) {
					t.Errorf("header %+v", m.MsgHdr)
				}
				proved := m.IsTsig() != nil && m.IsTsig().MACSize > 0
				if from == outside && !proved && len(a.msg) > len(wire) {
					t.Errorf("%d octets answered with %d", len(wire), len(a.msg))
				}
				if !overTCP && len(m.Answer) > 1 {
					t.Errorf("UDP answer with %d records", len(m.Answer))
				}
			}
			if a.transfer == nil {
				continue
			}
			if !overTCP {
				t.Error("transfer over UDP")
			}
			if from == outside && a.transfer.key == nil {
				t.Error("transfer to an outsider")
			}
			if _, err := a.transfer.sendTransfer(newMessage(), r.clock, func([]byte) error { return nil }); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestRespond_outsideOfEveryZone(t *testing.T) {
	r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), Rules(local, nil))
	for _, qname := range []string{".", "org.", "example.net.", "www.example.net.", `a\.b.example.`} {
		for _, qtype := range []uint16{mdns.TypeA, mdns.TypeSOA, mdns.TypeDS, mdns.TypeANY} {
			m := unpackMessage(t, r.answerMessage(packMessage(t, makeQuery(qname, qtype)), sentBy(loopback, false)).msg)
			if m.Rcode != mdns.RcodeRefused || m.Authoritative || len(m.Answer)+len(m.Ns) > 0 {
				t.Errorf("%s %s: %v, want REFUSED", qname, mdns.TypeToString[qtype], m)
			}
		}
	}
}
