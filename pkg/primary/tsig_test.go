// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"encoding/base64"
	"encoding/binary"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/test/must"
)

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// signQuery returns the query signed by miekg/dns, which shares no code with tsig.go.
func signQuery(t testing.TB, m *mdns.Msg, k Key, at time.Time) (wire []byte, mac string) {
	t.Helper()
	m.SetTsig(k.Name, string(k.Algorithm), 300, at.Unix())
	wire, mac, err := mdns.TsigGenerate(m, base64Of(k.secret), "", false)
	if err != nil {
		t.Fatal(err)
	}
	return wire, mac
}

// RFC 8945 §5.3: a signed request has a signed answer, under either algorithm.
func TestTSIG_signedAnswerVerifiesElsewhere(t *testing.T) {
	for _, algorithm := range []Algorithm{HMACSHA256, HMACSHA384, HMACSHA512} {
		k := testKey(t, "Transfer.Example.", algorithm)
		r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), Rules(local, []Key{k}), k)
		wire, mac := signQuery(t, makeQuery("example.org.", mdns.TypeSOA), k, time.Now())
		a := r.answerMessage(wire, loopback, false)
		m := unpackMessage(t, a.msg)
		if m.Rcode != mdns.RcodeSuccess || len(m.Answer) != 1 || m.IsTsig() == nil {
			t.Fatalf("%s: %v", algorithm, m)
		}
		if err := mdns.TsigVerify(a.msg, base64Of(k.secret), mac, false); err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
		// A refusal is signed too.
		wire, mac = signQuery(t, makeQuery("example.org.", mdns.TypeA), k, time.Now())
		a = r.answerMessage(wire, loopback, false)
		if err := mdns.TsigVerify(a.msg, base64Of(k.secret), mac, false); err != nil {
			t.Errorf("%s, refused: %v", algorithm, err)
		}
	}
}

// RFC 8945 §5.2: what each fault is answered with, and whether the answer is signed (§5.3.2).
func TestTSIG_errors(t *testing.T) {
	now := time.Now()
	k := testKey(t, "transfer.example.", HMACSHA256)
	stranger := testKey(t, "stranger.example.", HMACSHA256)
	otherAlgorithm := testKey(t, "transfer.example.", HMACSHA512)
	otherSecret := must.Get(NewKey("transfer.example.", HMACSHA256, []byte("another secret, as long as this")))(t)
	r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), Rules(local, []Key{k}), k)
	r.clock = func() time.Time { return now }

	truncated := func(octets int) []byte {
		sk := must.Get(newSigningKey(k))(t)
		msg := packMessage(t, makeQuery("example.org.", mdns.TypeAXFR))
		p := stampAt(now)
		mac := sk.computeMAC(nil, msg, binary.BigEndian.Uint16(msg), 0, p, false)
		for len(mac) < octets {
			mac = append(mac, 0)
		}
		return appendTSIG(msg, sk.nameWire, sk.algorithmWire, mac[:octets], p)
	}
	by := func(k Key, at time.Time) []byte {
		wire, _ := signQuery(t, makeQuery("example.org.", mdns.TypeAXFR), k, at)
		return wire
	}
	flipped := by(k, now)
	flipped[headerLen+1] ^= 0x20 // the question's case: the MAC covers it as sent
	twice := func() []byte {
		wire := by(k, now)
		tsig := readOne(t, wire)
		return withArcount(append(wire, wire[tsig.at:]...), 2)
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
		{"unknown key", by(stranger, now), mdns.RcodeNotAuth, tsigBadKey, false},
		{"known key, other algorithm", by(otherAlgorithm, now), mdns.RcodeNotAuth, tsigBadKey, false},
		{"wrong secret", by(otherSecret, now), mdns.RcodeNotAuth, tsigBadSig, false},
		{"changed in transit", flipped, mdns.RcodeNotAuth, tsigBadSig, false},
		{"clock behind", by(k, now.Add(-301*time.Second)), mdns.RcodeNotAuth, tsigBadTime, true},
		{"clock ahead", by(k, now.Add(301*time.Second)), mdns.RcodeNotAuth, tsigBadTime, true},
		{"half a MAC", truncated(16), mdns.RcodeNotAuth, tsigBadTrunc, true},
		{"less than half a MAC", truncated(15), mdns.RcodeFormatError, 0, false},
		{"no MAC", truncated(0), mdns.RcodeFormatError, 0, false},
		{"more than a MAC", truncated(33), mdns.RcodeFormatError, 0, false},
		{"two signatures", twice(), mdns.RcodeFormatError, 0, false},
		{"signature not last", notLast(), mdns.RcodeFormatError, 0, false},
	}
	for _, test := range tests {
		a := r.answerMessage(test.wire, loopback, true)
		if a.transfer != nil {
			t.Errorf("%s: a transfer", test.what)
			continue
		}
		m := unpackMessage(t, a.msg)
		var got uint16
		tsig := m.IsTsig()
		if tsig != nil {
			got = tsig.Error
		}
		if m.Rcode != test.rcode || got != test.err {
			t.Errorf("%s: rcode %d, TSIG error %d; want %d, %d", test.what, m.Rcode, got, test.rcode, test.err)
			continue
		}
		if tsig == nil {
			continue
		}
		if hasMAC := tsig.MACSize > 0; hasMAC != test.signed {
			t.Errorf("%s: signed %v, want %v", test.what, hasMAC, test.signed)
		}
		if test.err == tsigBadTime {
			sent := readOne(t, test.wire)
			if tsig.TimeSigned != sent.time || tsig.OtherLen != 6 {
				t.Errorf("%s: time %d and %d other octets; want the client's %d and 6", test.what, tsig.TimeSigned, tsig.OtherLen, sent.time)
			}
		}
		if test.signed {
			ring := keyring{}
			ring[k.Name], _ = newSigningKey(k)
			s := readOneResponse(t, a.msg)
			v := ring.verifySignature(a.msg, s, readOne(t, test.wire).mac, time.Unix(int64(s.time), 0))
			if v.err != 0 || v.malformed {
				t.Errorf("%s: the answer's signature: %+v", test.what, v)
			}
		}
	}
}

func readOne(t testing.TB, wire []byte) *signature {
	t.Helper()
	q, state := readRequest(wire)
	if state != readable || q.signature == nil {
		t.Fatalf("no readable signature")
	}
	return q.signature
}

func readOneResponse(t testing.TB, wire []byte) *signature {
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

// RFC 8945 §5.2: a key proves the peer, it does not widen what its address may.
func TestTSIG_keyOfAnotherRuleIsRefused(t *testing.T) {
	a, b := testKey(t, "a.example.", HMACSHA256), testKey(t, "b.example.", HMACSHA256)
	r := testResponder(t, serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), []Rule{{Key: "A.example"}}, a, b)
	wire, _ := signQuery(t, makeQuery("example.org.", mdns.TypeSOA), a, time.Now())
	if m := unpackMessage(t, r.answerMessage(wire, outside, false).msg); m.Rcode != mdns.RcodeSuccess {
		t.Errorf("key a from anywhere: rcode %d", m.Rcode)
	}
	wire, _ = signQuery(t, makeQuery("example.org.", mdns.TypeSOA), b, time.Now())
	if m := unpackMessage(t, r.answerMessage(wire, outside, false).msg); m.Rcode != mdns.RcodeRefused {
		t.Errorf("key b: rcode %d, want REFUSED", m.Rcode)
	}
}
