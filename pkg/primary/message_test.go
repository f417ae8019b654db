// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zoneview"
)

// collect runs the transfer that answers m and returns its messages without length octets.
func collect(t testing.TB, r *responder, wire []byte) [][]byte {
	t.Helper()
	a := r.respond(wire, loopback, true)
	if a.transfer == nil {
		t.Fatalf("no transfer: %v", unpack(t, a.msg))
	}
	var out [][]byte
	s, err := a.transfer.run(newMessage(), r.clock, func(framed []byte) error {
		if got := int(binary.BigEndian.Uint16(framed)); got != len(framed)-2 {
			t.Errorf("length octets say %d of %d", got, len(framed)-2)
		}
		out = append(out, bytes.Clone(framed[2:]))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.messages != len(out) {
		t.Errorf("counted %d messages of %d", s.messages, len(out))
	}
	return out
}

// transferred are the records of a transfer in order, read by miekg/dns, as text.
func transferred(t testing.TB, messages [][]byte) []string {
	t.Helper()
	var out []string
	for _, b := range messages {
		m := unpack(t, b)
		if m.Rcode != mdns.RcodeSuccess || !m.Authoritative || m.Truncated {
			t.Fatalf("header %+v", m.MsgHdr)
		}
		for _, rr := range m.Answer {
			out = append(out, strings.ToLower(rr.String()))
		}
	}
	return out
}

// wanted are the entries of a snapshot and the SOA again, through miekg/dns's own reader.
func wanted(t testing.TB, s *zoneview.Snapshot) []string {
	t.Helper()
	var out []string
	for e := range s.Entries() {
		rr, err := mdns.NewRR(e.String())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.ToLower(rr.String()))
	}
	return append(out, out[0])
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: record %d is\n%s\nwant\n%s", what, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
}

// RFC 5936 §2.2, coredns/coredns#7859: wherever the edge of a message falls, no record is
// lost, doubled or moved, and no message is longer than 65,535 octets. Sizes near the edge
// are met by growing one record octet by octet.
func TestTransfer_messageEdgesLoseNothing(t *testing.T) {
	k := testKey(t, "transfer.example.", HMACSHA512)
	for _, withKey := range []bool{false, true} {
		var rules []Rule
		if withKey {
			rules = Rules(local, []Key{k})
		} else {
			rules = Rules(local, nil)
		}
		longest := 0
		for pad := 0; pad < 300; pad += 7 {
			var records []string
			for i := range 36 {
				records = append(records, fmt.Sprintf("t%02d TXT \"%s\"", i, strings.Repeat("a", 250)+"\" \""+strings.Repeat(fmt.Sprintf("%c", 'a'+i%26), 250)))
				for j := range 5 {
					records = append(records, fmt.Sprintf("t%02d TXT \"%d%s\"", i, j, strings.Repeat("c", 250)+"\" \""+strings.Repeat("d", 250)))
				}
			}
			records = append(records, fmt.Sprintf("a TXT \"%s\"", strings.Repeat("p", pad%255+1)))
			s := snapshot(t, "u", "", "example.org.", 9, records...)
			r := newResponder(t, served(s), rules, k)
			m := query("example.org.", mdns.TypeAXFR)
			m.SetEdns0(1232, false)
			wire := pack(t, m)
			if withKey {
				wire, _ = signed(t, m, k, time.Now())
			}
			messages := collect(t, r, wire)
			if len(messages) < 2 {
				t.Fatal("one message: no edge is met")
			}
			for _, b := range messages {
				longest = max(longest, len(b))
			}
			same(t, fmt.Sprintf("pad %d", pad), transferred(t, messages), wanted(t, s))
		}
		if longest > maxMessage || longest < maxMessage-600 {
			t.Errorf("longest message %d; want it just under %d", longest, maxMessage)
		}
	}
}

// A record whose size makes a message full to the octet is still sent once.
func TestMessage_limitIsExact(t *testing.T) {
	e := dns.Entry{Name: name.MustParse("a.example."), Type: rdata.A, TTL: 1, Data: "192.0.2.1"}
	m := newMessage()
	m.begin(1, 0, nil, name.Name{}, maxMessage)
	if _, err := m.add(e); err != nil {
		t.Fatal(err)
	}
	whole := m.size()
	m.begin(1, 0, nil, name.Name{}, whole)
	if fits, err := m.add(e); !fits || err != nil {
		t.Errorf("at its own size: %v %v", fits, err)
	}
	m.begin(1, 0, nil, name.Name{}, whole-1)
	if _, err := m.add(e); err == nil {
		t.Error("one octet less: taken")
	}
	m.begin(1, 0, nil, name.Name{}, 2*whole)
	m.add(e)
	for size := m.size(); ; size = m.size() {
		fits, err := m.add(e)
		if err != nil {
			t.Fatal(err)
		}
		if !fits {
			if m.size() != size {
				t.Errorf("a record that did not fit left %d octets behind", m.size()-size)
			}
			break
		}
	}
}

// RFC 8945 §5.3.1: every message of a signed transfer is signed, in a chain that miekg/dns verifies.
func TestTransfer_everyMessageSigned(t *testing.T) {
	k := testKey(t, "transfer.example.", HMACSHA256)
	s := snapshot(t, "u", "", "example.org.", 9, hosts(8000)...)
	r := newResponder(t, served(s), Rules(local, []Key{k}), k)
	wire, mac := signed(t, query("example.org.", mdns.TypeAXFR), k, time.Now())
	messages := collect(t, r, wire)
	if len(messages) < 3 {
		t.Fatalf("%d messages", len(messages))
	}
	for i, b := range messages {
		if err := mdns.TsigVerify(bytes.Clone(b), base64Of(k.secret), mac, i > 0); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		mac = unpack(t, b).IsTsig().MAC
	}
	same(t, "signed", transferred(t, messages), wanted(t, s))
}

// A record that cannot be packed ends the transfer before its closing SOA.
func TestTransfer_endsVisiblyWhenARecordCannotBeSent(t *testing.T) {
	m := newMessage()
	m.begin(1, 0, nil, name.Name{}, maxMessage)
	for _, e := range []dns.Entry{
		{Name: name.MustParse("a.example."), Type: rdata.A, Data: "2001:db8::1"},
		{Name: name.MustParse("a.example."), Type: rdata.A, Data: "nonsense"},
		{Name: name.MustParse("a.example."), Type: rdata.NS, Data: "relative"},
		{Name: name.MustParse("a.example."), Type: rdata.NS, Data: strings.Repeat("a.", 127) + "b."},
		{Name: name.MustParse("a.example."), Type: rdata.NS, Data: strings.Repeat("a", 64) + "."},
		{Name: name.MustParse("a.example."), Type: rdata.NS, Data: `a\25.`},
		{Name: name.MustParse("a.example."), Type: rdata.MX, Data: "65536 a."},
		{Name: name.MustParse("a.example."), Type: rdata.SOA, Data: "a. b. 1 2 3 4"},
		{Name: name.MustParse("a.example."), Type: rdata.SOA, Data: "a. b. 1 2 3 4 5 6"},
	} {
		size := m.size()
		if fits, err := m.add(e); err == nil {
			t.Errorf("%s: fits %v, no error", e, fits)
		}
		if m.size() != size {
			t.Errorf("%s: left %d octets behind", e, m.size()-size)
		}
	}
}

// The types packed here are packed as rdata packs them, but for compression.
func TestPackData_sameAsRdata(t *testing.T) {
	for _, e := range []dns.Entry{
		{Type: rdata.A, Data: "192.0.2.1"}, {Type: rdata.AAAA, Data: "2001:db8::1"}, {Type: rdata.AAAA, Data: "::ffff:192.0.2.1"},
		{Type: rdata.NS, Data: "ns.example."}, {Type: rdata.CNAME, Data: "."}, {Type: rdata.PTR, Data: `a\.b\032\255\\.example.`},
		{Type: rdata.MX, Data: "0 ."}, {Type: rdata.MX, Data: "65535 mail.example."},
		{Type: rdata.SOA, Data: `ns.example. john\.doe.example. 4294967295 1 2 3 4`},
		{Type: rdata.TXT, Data: `"a" "b c"`}, {Type: rdata.SRV, Data: "1 2 3 host.example."},
	} {
		m := newMessage()
		m.begin(0, 0, nil, name.Name{}, maxMessage)
		m.offsets = map[string]uint16{}
		at := len(m.buf)
		if err := m.packData(e); err != nil {
			t.Errorf("%s: %v", e.Data, err)
			continue
		}
		rr, err := mdns.NewRR(fmt.Sprintf(". 0 IN %s %s", e.Type, e.Data))
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1024)
		off, err := mdns.PackRR(rr, buf, 0, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		got, want := m.buf[at:], buf[11:off]
		if e.Type == rdata.SOA || e.Type == rdata.MX { // these have a suffix of their own to point at
			got = []byte(expanded(t, e.Type, m.finish(), at-lengthOctets))
			want = []byte(rr.String())
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s %s: %q, want %q", e.Type, e.Data, got, want)
		}
	}
}

// expanded reads rdata out of a message by miekg/dns.
func expanded(t testing.TB, rt rdata.Type, msg []byte, at int) string {
	t.Helper()
	head := mdns.RR_Header{Name: ".", Rrtype: uint16(rt), Class: mdns.ClassINET, Rdlength: uint16(len(msg) - at)}
	rr, _, err := mdns.UnpackRRWithHeader(head, msg, at)
	if err != nil {
		t.Fatal(err)
	}
	return rr.String()
}

// RFC 1035 §4.1.4: names are compressed, no pointer leaves its reach, and a question in
// other case does not colour the owners.
func TestMessage_compression(t *testing.T) {
	s := snapshot(t, "u", "", "example.org.", 9, hosts(3000)...)
	r := newResponder(t, served(s), Rules(local, nil))
	total := 0
	for _, q := range []string{"example.org.", "ExAmPlE.oRg."} {
		messages := collect(t, r, pack(t, query(q, mdns.TypeAXFR)))
		total = 0
		for i, b := range messages {
			total += len(b)
			m := unpack(t, b)
			if i == 0 && m.Question[0].Name != q {
				t.Errorf("question %q echoed as %q", q, m.Question[0].Name)
			}
			for _, rr := range m.Answer {
				if owner := rr.Header().Name; owner != strings.ToLower(owner) {
					t.Fatalf("owner %q", owner)
				}
			}
		}
		same(t, q, transferred(t, messages), wanted(t, s))
	}
	plain := 0
	for e := range s.Entries() {
		plain += e.Name.WireLen() + 14
	}
	if total > plain {
		t.Errorf("%d octets with compression, %d without", total, plain)
	}
}

// The first design promise of a transfer: memory does not grow with the zone. One message
// is packed again and again in the same buffer.
func TestTransfer_flatMemory(t *testing.T) {
	m := newMessage()
	first := &m.buf[:1][0]
	s := snapshot(t, "u", "", "example.org.", 9, hosts(20000)...)
	r := newResponder(t, served(s), Rules(local, nil))
	a := r.respond(pack(t, query("example.org.", mdns.TypeAXFR)), loopback, true)
	names := 0
	_, err := a.transfer.run(m, r.clock, func(framed []byte) error {
		if &framed[0] != first {
			t.Error("a message in another buffer")
		}
		names = max(names, len(m.offsets))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if names > pointerReach/2 {
		t.Errorf("%d names remembered", names)
	}
}
