// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/tsig"
)

// Other attacks are tested beside their code: 29 TestRespond_outsiderLearnsNothing, 30 and 40
// TestClass_peersSeeTheirOwnZonesAlone and TestClass_namesAndKeysAreOneInEach, 31 TestTSIG_errors, 37
// TestRespond_malformed and FuzzRespond, 38 TestTCP_connectionsAreBounded, TestTCP_slowSendersAreCut and
// TestTCP_readerThatNeverReadsIsCut.

// withCookie returns a query with a cookie (RFC 7873), an EDNS option that the primary does not know.
func withCookie(qname string, qtype uint16) *mdns.Msg {
	m := makeQuery(qname, qtype)
	m.SetEdns0(4096, false)
	m.IsEdns0().Option = append(m.IsEdns0().Option, &mdns.EDNS0_COOKIE{Code: mdns.EDNS0COOKIE, Cookie: "0102030405060708"})
	return m
}

// A query with the forged address of an outsider gets no more octets than it has. Without TSIG, the answer to an
// allowed peer's address has at most 512 octets. An answer to ANY has a single RRset (RFC 8482).
func TestAttack35_forgedSourcesAmplifyLittle(t *testing.T) {
	rows := makeHosts(0)
	for i := range 30 {
		rows = append(rows, fmt.Sprintf("big TXT %s%02d", strings.Repeat("x", 30), i), fmt.Sprintf("any A 192.0.2.%d", i))
	}
	rows = append(rows, "any TXT little", "any AAAA 2001:db8::1")
	k, now := testKey(t, "transfer.example.", tsig.HMACSHA256), time.Now()
	r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7, rows...)),
		append(Rules(local, nil), Rules(local, []tsig.Key{k})...), k)
	r.clock = func() time.Time { return now }
	worst := 0.0
	for _, qtype := range []uint16{mdns.TypeANY, mdns.TypeTXT, mdns.TypeA, mdns.TypeSOA, mdns.TypeNS, mdns.TypeIXFR, mdns.TypeDNSKEY} {
		for _, qname := range []string{"example.org.", "big.example.org.", "any.example.org.", "nowhere.example.org."} {
			q := withCookie(qname, qtype)
			if qtype == mdns.TypeIXFR {
				q.Ns = makeIXFR(qname, 3).Ns
			}
			wire := packMessage(t, q)
			a := r.answerMessage(wire, sentBy(outside, false))
			if len(a.msg) > len(wire) {
				t.Errorf("%s %s to an outsider: %d octets for %d", qname, mdns.TypeToString[qtype], len(a.msg), len(wire))
			}
			a = r.answerMessage(wire, sentBy(loopback, false))
			if len(a.msg) > unsignedLimit {
				t.Errorf("%s %s to a source that nothing proves: %d octets for %d", qname, mdns.TypeToString[qtype], len(a.msg), len(wire))
			}
			worst = max(worst, float64(len(a.msg))/float64(len(wire)))
		}
	}
	t.Logf("at most %.1f octets for one", worst)

	any := unpackMessage(t, r.answerMessage(packMessage(t, makeQuery("any.example.org.", mdns.TypeANY)), sentBy(loopback, false)).msg)
	if any.Truncated || len(any.Answer) != 1 || any.Answer[0].Header().Rrtype != mdns.TypeTXT {
		t.Errorf("ANY over UDP: %v", any)
	}
	any = unpackMessage(t, r.answerMessage(packMessage(t, makeQuery("any.example.org.", mdns.TypeANY)), sentBy(loopback, true)).msg)
	if len(any.Answer) != 32 {
		t.Errorf("ANY over TCP: %d records, want all 32", len(any.Answer))
	}

	// The answer to a signed query may be as long as the client's UDP size.
	question := withCookie("any.example.org.", mdns.TypeA)
	if first := unpackMessage(t, r.answerMessage(packMessage(t, question), sentBy(loopback, false)).msg); !first.Truncated ||
		len(first.Answer) > 0 {
		t.Errorf("30 addresses fit 512 octets: %v", first)
	}
	proven, _ := signQuery(t, question, k, now)
	wire := r.answerMessage(proven, sentBy(loopback, false)).msg
	if m := unpackMessage(t, wire); m.Truncated || len(m.Answer) != 30 || len(wire) > udpLimit {
		t.Errorf("with a key: %d octets, %v", len(wire), m)
	}
}

// Neither a forged nor a replayed NOTIFY or UPDATE changes a zone, even if a transfer key signed it. The answer to an
// unsigned message is no longer than the message.
func TestAttack32_34_36_nobodyWritesToAPrimary(t *testing.T) {
	k := testKey(t, "transfer.example.", tsig.HMACSHA256)
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 7))
	r := testResponder(t, set, Rules(local, []tsig.Key{k}), k)
	now := time.Now()
	r.clock = func() time.Time { return now }
	update := new(mdns.Msg)
	update.SetUpdate("example.org.")
	update.Insert([]mdns.RR{&mdns.A{Hdr: mdns.RR_Header{Name: "evil.example.org.", Rrtype: mdns.TypeA, Class: mdns.ClassINET, Ttl: 60}, A: []byte{192, 0, 2, 66}}})
	notify := new(mdns.Msg)
	notify.SetNotify("example.org.")
	before, _ := set.Settled("u")
	for what, test := range map[string]struct {
		msg  *mdns.Msg
		want int
	}{"UPDATE": {update, mdns.RcodeRefused}, "NOTIFY": {notify, mdns.RcodeRefused}} {
		plain := packMessage(t, test.msg)
		replayed, _ := signQuery(t, test.msg.Copy(), k, now)
		for range 3 {
			for _, from := range []netip.Addr{loopback, outside} {
				a := r.answerMessage(plain, sentBy(from, false))
				if m := unpackMessage(t, a.msg); m.Rcode != test.want || len(a.msg) > len(plain) {
					t.Errorf("%s: %d octets for %d, %v", what, len(a.msg), len(plain), m)
				}
			}
			if m := unpackMessage(t, r.answerMessage(replayed, sentBy(loopback, false)).msg); m.Rcode != test.want {
				t.Errorf("signed %s: %v", what, m)
			}
		}
	}
	if after, _ := set.Settled("u"); after != before {
		t.Error("the zone changed")
	}
}
