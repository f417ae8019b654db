// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"encoding/binary"
	"encoding/hex"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/must"
)

// signQuery signs a query with miekg/dns, whose only code in common with package tsig is the MAC.
func signQuery(t testing.TB, m *mdns.Msg, k tsig.Key, at time.Time) (wire []byte, mac string) {
	t.Helper()
	m.SetTsig(k.Name, string(k.Algorithm), 300, at.Unix())
	wire, mac, err := mdns.TsigGenerateWithProvider(m, macBy{k}, "", false)
	must.Succeed(t, err)
	return wire, mac
}

// The answer to a signed query is signed, for each algorithm, and even for a refusal (RFC 8945 §5.3). miekg/dns
// verifies the signatures.
func TestTSIG_signedAnswerVerifiesElsewhere(t *testing.T) {
	for _, algorithm := range []tsig.Algorithm{tsig.HMACSHA256, tsig.HMACSHA384, tsig.HMACSHA512} {
		k := testKey(t, "Transfer.Example.", algorithm)
		r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), Rules(local, []tsig.Key{k}), k)
		wire, mac := signQuery(t, makeQuery("example.org.", mdns.TypeSOA), k, time.Now())
		a := r.answerMessage(wire, sentBy(loopback, false))
		m := unpackMessage(t, a.msg)
		if m.Rcode != mdns.RcodeSuccess || len(m.Answer) != 1 || m.IsTsig() == nil {
			t.Fatalf("%s: %v", algorithm, m)
		}
		if err := mdns.TsigVerifyWithProvider(a.msg, macBy{k}, mac, false); err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
		// A refusal is signed too.
		wire, mac = signQuery(t, makeQuery("example.org.", mdns.TypeA), k, time.Now())
		a = r.answerMessage(wire, sentBy(loopback, false))
		if err := mdns.TsigVerifyWithProvider(a.msg, macBy{k}, mac, false); err != nil {
			t.Errorf("%s, refused: %v", algorithm, err)
		}
	}
}

// Each fault of a signature has its answer (RFC 8945 §5.2), signed or not (§5.3.2).
func TestTSIG_errors(t *testing.T) {
	now := time.Now()
	k := testKey(t, "transfer.example.", tsig.HMACSHA256)
	stranger := testKey(t, "stranger.example.", tsig.HMACSHA256)
	otherAlgorithm := testKey(t, "transfer.example.", tsig.HMACSHA512)
	otherSecret := must.Get(tsig.NewKey("transfer.example.", tsig.HMACSHA256, []byte("another secret, as long as this")))(t)
	r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), Rules(local, []tsig.Key{k}), k)
	r.clock = func() time.Time { return now }

	// truncated returns a request whose MAC has the given length.
	truncated := func(octets int) []byte {
		wire, _ := signQuery(t, makeQuery("example.org.", mdns.TypeAXFR), k, now)
		m := unpackMessage(t, wire)
		record := m.IsTsig()
		mac := append(must.Get(hex.DecodeString(record.MAC))(t), 0)[:octets]
		record.MAC, record.MACSize = hex.EncodeToString(mac), uint16(octets)
		return packMessage(t, m)
	}
	by := func(k tsig.Key, at time.Time) []byte {
		wire, _ := signQuery(t, makeQuery("example.org.", mdns.TypeAXFR), k, at)
		return wire
	}
	flipped := by(k, now)
	flipped[headerLen+1] ^= 0x20 // the question's case: the MAC covers it as sent
	twice := func() []byte {
		wire := by(k, now)
		signature := readOne(t, wire)
		return withArcount(append(wire, wire[signature.Offset:]...), 2)
	}
	notLast := func() []byte {
		wire := by(k, now)
		return withArcount(append(wire, 0, 0, typeOPT, 4, 0, 0, 0, 0, 0, 0, 0), 2)
	}
	tests := []struct {
		what   string
		wire   []byte
		rcode  int
		err    uint16
		signed bool
	}{
		{"unknown key", by(stranger, now), mdns.RcodeNotAuth, tsig.BadKey, false},
		{"known key, other algorithm", by(otherAlgorithm, now), mdns.RcodeNotAuth, tsig.BadKey, false},
		{"wrong secret", by(otherSecret, now), mdns.RcodeNotAuth, tsig.BadSig, false},
		{"changed in transit", flipped, mdns.RcodeNotAuth, tsig.BadSig, false},
		{"clock behind", by(k, now.Add(-301*time.Second)), mdns.RcodeNotAuth, tsig.BadTime, true},
		{"clock ahead", by(k, now.Add(301*time.Second)), mdns.RcodeNotAuth, tsig.BadTime, true},
		{"half a MAC", truncated(16), mdns.RcodeNotAuth, tsig.BadTrunc, true},
		{"less than half a MAC", truncated(15), mdns.RcodeFormatError, 0, false},
		{"no MAC", truncated(0), mdns.RcodeFormatError, 0, false},
		{"more than a MAC", truncated(33), mdns.RcodeFormatError, 0, false},
		{"two signatures", twice(), mdns.RcodeFormatError, 0, false},
		{"signature not last", notLast(), mdns.RcodeFormatError, 0, false},
	}
	for _, test := range tests {
		a := r.answerMessage(test.wire, sentBy(loopback, true))
		if a.transfer != nil {
			t.Errorf("%s: a transfer", test.what)
			continue
		}
		m := unpackMessage(t, a.msg)
		var got uint16
		record := m.IsTsig()
		if record != nil {
			got = record.Error
		}
		if m.Rcode != test.rcode || got != test.err {
			t.Errorf("%s: rcode %d, TSIG error %d; want %d, %d", test.what, m.Rcode, got, test.rcode, test.err)
			continue
		}
		if record == nil {
			continue
		}
		if hasMAC := record.MACSize > 0; hasMAC != test.signed {
			t.Errorf("%s: signed %v, want %v", test.what, hasMAC, test.signed)
		}
		if test.err == tsig.BadTime {
			sent := readOne(t, test.wire)
			if record.TimeSigned != sent.Time || record.OtherLen != 6 {
				t.Errorf("%s: time %d and %d other octets; want the client's %d and 6", test.what, record.TimeSigned, record.OtherLen, sent.Time)
			}
		}
		if test.signed {
			ring := must.Get(tsig.NewKeyring([]tsig.Key{k}))(t)
			s := readOneResponse(t, a.msg)
			v := ring.Verify(a.msg, s, readOne(t, test.wire).MAC, time.Unix(int64(s.Time), 0))
			if v.Err != 0 || v.Malformed {
				t.Errorf("%s: the answer's signature: %+v", test.what, v)
			}
		}
	}
}

func readOne(t testing.TB, wire []byte) *tsig.Signature {
	t.Helper()
	q, state := readRequest(wire)
	if state != readable || q.signature == nil {
		t.Fatalf("no readable signature")
	}
	return q.signature
}

func readOneResponse(t testing.TB, wire []byte) *tsig.Signature {
	t.Helper()
	q, state := readMessage(wire)
	if state != readable || q.signature == nil {
		t.Fatalf("no readable signature")
	}
	return q.signature
}

func withArcount(wire []byte, n uint16) []byte {
	binary.BigEndian.PutUint16(wire[10:], n)
	return wire
}

// A rule admits a single TSIG key. A query signed with another known key is refused, because a valid signature alone
// gives no access to a zone.
func TestTSIG_keyOfAnotherRuleIsRefused(t *testing.T) {
	a, b := testKey(t, "a.example.", tsig.HMACSHA256), testKey(t, "b.example.", tsig.HMACSHA256)
	r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), []Rule{{Key: "A.example"}}, a, b)
	wire, _ := signQuery(t, makeQuery("example.org.", mdns.TypeSOA), a, time.Now())
	if m := unpackMessage(t, r.answerMessage(wire, sentBy(outside, false)).msg); m.Rcode != mdns.RcodeSuccess {
		t.Errorf("key a from anywhere: rcode %d", m.Rcode)
	}
	wire, _ = signQuery(t, makeQuery("example.org.", mdns.TypeSOA), b, time.Now())
	if m := unpackMessage(t, r.answerMessage(wire, sentBy(outside, false)).msg); m.Rcode != mdns.RcodeRefused {
		t.Errorf("key b: rcode %d, want REFUSED", m.Rcode)
	}
}
