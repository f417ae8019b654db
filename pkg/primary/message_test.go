// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

func (m *message) size() int { return len(m.buf) - lengthOctets }

func collectTransfer(t testing.TB, r *responder, wire []byte) [][]byte {
	t.Helper()
	a := r.answerMessage(wire, sentBy(loopback, true))
	if a.transfer == nil {
		t.Fatalf("no transfer: %v", unpackMessage(t, a.msg))
	}
	var out [][]byte
	s := must.Get(a.transfer.sendTransfer(newMessage(), r.clock, func(framed []byte) error {
		if got := int(binary.BigEndian.Uint16(framed)); got != len(framed)-2 {
			t.Errorf("length octets say %d of %d", got, len(framed)-2)
		}
		out = append(out, bytes.Clone(framed[2:]))
		return nil
	}))(t)
	if s.messages != len(out) {
		t.Errorf("counted %d messages of %d", s.messages, len(out))
	}
	return out
}

func readTransfer(t testing.TB, messages [][]byte) []string {
	t.Helper()
	var out []string
	for _, b := range messages {
		m := unpackMessage(t, b)
		if m.Rcode != mdns.RcodeSuccess || !m.Authoritative || m.Truncated {
			t.Fatalf("header %+v", m.MsgHdr)
		}
		for _, rr := range m.Answer {
			out = append(out, strings.ToLower(rr.String()))
		}
	}
	return out
}

func listWanted(t testing.TB, s *zoneview.Snapshot) []string {
	t.Helper()
	var out []string
	for e := range s.Entries() {
		rr := must.Get(mdns.NewRR(e.String()))(t)
		out = append(out, strings.ToLower(rr.String()))
	}
	return append(out, out[0])
}

func expectSame(t testing.TB, what string, got, want []string) {
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

// No record is lost, duplicated or moved where one message of a transfer ends and the next begins, and no message
// exceeds 65,535 octets (RFC 5936 §2.2, coredns/coredns#7859). Every message is signed if the query was: miekg/dns
// verifies the chain of signatures (RFC 8945 §5.3.1). The question in the answer keeps the client's case, and the
// owners of the records are in lower case.
func TestTransfer_messageEdgesLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: messages are made by one goroutine, of which the race detector learns nothing")
	}
	k := testKey(t, "transfer.example.", tsig.HMACSHA512)
	const question = "ExAmPlE.oRg."
	for _, withKey := range []bool{false, true} {
		var rules []Rule
		if withKey {
			rules = Rules(local, []tsig.Key{k})
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
			s := makeSnapshot(t, "u", "", "example.org.", 9, records...)
			r := testResponder(t, serveZones(s), rules, k)
			m := makeQuery(question, mdns.TypeAXFR)
			m.SetEdns0(1232, false)
			wire, mac := packMessage(t, m), ""
			if withKey {
				wire, mac = signQuery(t, m, k, time.Now())
			}
			messages := collectTransfer(t, r, wire)
			if len(messages) < 2 {
				t.Fatal("one message: no edge is met")
			}
			for i, b := range messages {
				longest = max(longest, len(b))
				m := unpackMessage(t, b)
				if owner := m.Answer[0].Header().Name; owner != strings.ToLower(owner) || i == 0 && m.Question[0].Name != question {
					t.Fatalf("owner %q, the question is echoed as %v", owner, m.Question)
				}
				if withKey {
					if err := mdns.TsigVerifyWithProvider(bytes.Clone(b), macBy{k}, mac, i > 0); err != nil {
						t.Fatalf("message %d: %v", i, err)
					}
					mac = m.IsTsig().MAC
				}
			}
			expectSame(t, fmt.Sprintf("pad %d", pad), readTransfer(t, messages), listWanted(t, s))
		}
		if longest > maxMessage || longest < maxMessage-600 {
			t.Errorf("longest message %d; want it just under %d", longest, maxMessage)
		}
	}
}

// A record that fills a message exactly is sent once.
func TestMessage_limitIsExact(t *testing.T) {
	zone, owner, data := name.MustParse("example."), name.MustRel("a"), []byte{192, 0, 2, 1}
	m := newMessage()
	m.beginMessage(1, 0, nil, zone, maxMessage)
	must.Get(m.addAnswer(owner, rdata.A, 1, data))(t)
	whole := m.size()
	m.beginMessage(1, 0, nil, zone, whole)
	if fits, err := m.addAnswer(owner, rdata.A, 1, data); !fits || err != nil {
		t.Errorf("at its own size: %v %v", fits, err)
	}
	m.beginMessage(1, 0, nil, zone, whole-1)
	if _, err := m.addAnswer(owner, rdata.A, 1, data); !errors.Is(err, errTooLarge) {
		t.Errorf("one octet less: %v", err)
	}
	m.beginMessage(1, 0, nil, zone, 2*whole)
	m.addAnswer(owner, rdata.A, 1, data)
	for size := m.size(); ; size = m.size() {
		fits := must.Get(m.addAnswer(owner, rdata.A, 1, data))(t)
		if !fits {
			if m.size() != size {
				t.Errorf("a record that did not fit left %d octets behind", m.size()-size)
			}
			if fits, err := m.addAnswer(name.Apex, rdata.TXT, 1, nil); fits || err != nil {
				t.Errorf("behind a record that did not fit stands another: %v %v", fits, err)
			}
			break
		}
	}
	m.beginMessage(1, 0, nil, zone, maxMessage)
	if _, err := m.addAnswer(owner, rdata.TXT, 1, make([]byte, maxMessage+1)); !errors.Is(err, errTooLarge) {
		t.Errorf("rdata longer than its length field can say: %v", err)
	}
}

// A record that cannot be sent ends the transfer before its final SOA, so that the secondary discards the transfer
// instead of serving an incomplete zone. Data that the zone's listing omits are not sent, and end no transfer.
func TestTransfer_endsVisiblyWhenARecordCannotBeSent(t *testing.T) {
	listed := func(s *zoneview.Snapshot) (n int) {
		for range s.Entries() {
			n++
		}
		return n
	}
	for _, tc := range []struct {
		set  content.RRset
		sent bool
	}{
		{content.RRset{Type: rdata.A, Data: []string{"2001:db8::1"}}, false},
		{content.RRset{Type: rdata.A, Data: []string{"nonsense"}}, false},
		{content.RRset{Type: rdata.NS, Data: []string{strings.Repeat("a", 64) + "."}}, false},
		{content.RRset{Type: rdata.NS, Data: []string{strings.Repeat("a.", 127) + "b."}}, false},
		{content.RRset{Type: rdata.MX, Data: []string{"65536 a."}}, false},
		{content.RRset{Type: rdata.TXT, Data: []string{`"` + strings.Repeat("x", 65500) + `"`}}, false},
		{content.RRset{Type: rdata.NS, Data: []string{strings.Repeat("a.", 126) + "b"}}, true},
		{content.RRset{Type: rdata.MX, Data: []string{"0 a", "65536 a."}}, true},
	} {
		tc.set.Owner, tc.set.TTL = name.MustRel("x"), content.InheritTTL()
		z := zoneview.Zone{UID: "u", Namespace: "default", Name: "z"}
		s := zoneview.NewSnapshot(z, makeHeader("example.org."), 1, 1, sethash.State{}, slices.Values([]content.RRset{tc.set}))
		a := testResponder(t, serveZones(s), Rules(local, nil)).answerMessage(packMessage(t, makeQuery("example.org.", mdns.TypeAXFR)),
			sentBy(loopback, true))
		octets := 0
		sent, err := a.transfer.sendTransfer(newMessage(), time.Now, func(b []byte) error { octets += len(b); return nil })
		switch {
		case (err == nil) != tc.sent:
			t.Errorf("%s %.40q: %v", tc.set.Type, tc.set.Data, err)
		case errors.Is(err, errTooLarge): // after whole messages
		case err != nil && octets > 0:
			t.Errorf("%s %.40q: %d octets went out", tc.set.Type, tc.set.Data, octets)
		case err == nil && sent.records != listed(s)+1:
			t.Errorf("%s %.40q: %d records sent, %d listed", tc.set.Type, tc.set.Data, sent.records, listed(s))
		}
	}
}

// Names with any suffixes in common are the same after compression and parsing.
func TestCompressor_namesSurvive(t *testing.T) {
	labels := []string{"a", "b", "c", "example", "org", "www", "*", "_tcp", strings.Repeat("x", 63)}
	rapid.Check(t, func(t *rapid.T) {
		relative := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(labels), 1, 3).Draw(t, "labels"), ".")
		})
		zone := name.MustParse(rapid.SampledFrom([]string{".", "org.", "example.org.", "a.example.org.", "org.org."}).Draw(t, "zone"))
		m := newMessage()
		if rapid.Bool().Draw(t, "small") {
			m = newSmallMessage()
			m.buf = make([]byte, lengthOctets, 1<<20)
		}
		var question []byte
		if rapid.Bool().Draw(t, "question") {
			question = append(rdata.AppendName(nil, zone), 0, typeAXFR, 0, classIN)
		}
		m.beginMessage(1, flagQR, question, zone, maxMessage)
		var want []string
		for range rapid.IntRange(1, 40).Draw(t, "records") {
			owner := name.Apex
			if text := relative.Draw(t, "owner"); text[0] != '*' || rapid.Bool().Draw(t, "wild") {
				if parsed, err := name.ParseRel(text); err == nil {
					owner = parsed
				}
			}
			value := rdata.Value{Type: rapid.SampledFrom([]rdata.Type{rdata.NS, rdata.CNAME, rdata.PTR, rdata.MX, rdata.SOA, rdata.SRV, rdata.TXT}).Draw(t, "type")}
			host := func() string {
				return relative.Draw(t, "host") + rapid.SampledFrom([]string{"", "."}).Draw(t, "dot")
			}
			switch value.Type {
			case rdata.MX:
				value.Text = "10 " + host()
			case rdata.SRV:
				value.Text = "1 2 3 " + host()
			case rdata.SOA:
				value.Text = host() + " " + host() + " 1 2 3 4 5"
			case rdata.TXT: // moves later names out of the reach of pointers
				value.Text = `"` + strings.Repeat("t", rapid.IntRange(0, 4000).Draw(t, "length")) + `"`
			default:
				value.Text = host()
			}
			data, err := value.Pack(zone)
			if err != nil {
				t.Fatal(err)
			}
			if fits, err := m.addAnswer(owner, value.Type, 5, data); err != nil || !fits {
				break
			}
			text, err := value.Resolve(zone)
			absolute, errIn := owner.In(zone)
			if err != nil || errIn != nil {
				t.Fatal(err, errIn)
			}
			rr, err := mdns.NewRR(fmt.Sprintf("%s 5 IN %s %s", absolute, value.Type, text))
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, rr.String())
		}
		read := new(mdns.Msg)
		if err := read.Unpack(m.finishMessage()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, rr := range read.Answer {
			got = append(got, rr.String())
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Names in rdata are compressed only for the types of RFC 1035, because receivers need not expand pointers in other
// types (RFC 3597 §4).
func TestMessage_compressesOnlyWhereEverybodyReads(t *testing.T) {
	zone := name.MustParse("example.org.")
	host := rdata.AppendName(nil, zone)
	for _, tc := range []struct {
		t    rdata.Type
		head int // octets before the name
		want bool
	}{{rdata.NS, 0, true}, {rdata.CNAME, 0, true}, {rdata.PTR, 0, true}, {rdata.MX, 2, true}, {rdata.DNAME, 0, false}, {rdata.SRV, 6, false}, {rdata.KX, 2, false}, {65280, 0, false}, {65280, 2, false}} {
		m := newMessage()
		m.beginMessage(1, 0, nil, zone, maxMessage)
		m.addAnswer(name.Apex, rdata.A, 1, []byte{192, 0, 2, 1})
		before := m.size()
		if fits, err := m.addAnswer(name.Apex, tc.t, 1, append(make([]byte, tc.head), host...)); err != nil || !fits {
			t.Fatal(fits, err)
		}
		const pointer, header = 2, 10
		if got := m.size()-before-pointer-header-tc.head == pointer; got != tc.want {
			t.Errorf("RFC 3597 §4: %s compressed: %t", tc.t, got)
		}
	}
}

// The memory for a transfer does not grow with the zone, because all messages are built in the same buffer and the
// table of compressed names is bounded.
func TestTransfer_flatMemory(t *testing.T) {
	m := newMessage()
	first := &m.buf[:1][0]
	s := makeSnapshot(t, "u", "", "example.org.", 9, makeHosts(20000)...)
	r := testResponder(t, serveZones(s), Rules(local, nil))
	a := r.answerMessage(packMessage(t, makeQuery("example.org.", mdns.TypeAXFR)), sentBy(loopback, true))
	names := 0
	must.Get(a.transfer.sendTransfer(m, r.clock, func(framed []byte) error {
		if &framed[0] != first {
			t.Error("a message in another buffer")
		}
		names = max(names, m.names.used)
		return nil
	}))(t)
	if names == 0 || names > transferSlots/2 || len(m.names.slots) != transferSlots {
		t.Errorf("%d names remembered in %d places", names, len(m.names.slots))
	}
	if n := testing.AllocsPerRun(3, func() {
		must.Get(a.transfer.sendTransfer(m, r.clock, func([]byte) error { return nil }))(t)
	}); n > 100 {
		t.Errorf("%.0f allocations for 20,000 records", n)
	}
}
