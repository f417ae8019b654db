// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// Exchange returns an answer of BIND, over UDP and TCP, without a key or with a key that BIND knows. If BIND does not
// know the key, the error is a Refusal.
func TestExchange_returnsWhatTheKeyVouchesFor(t *testing.T) {
	primaries := []rig.PrimaryZone{{Zone: zoneName.String(), Text: soa + "\nexample.org. 60 IN NS ns.example.net.\n"}}
	bind := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{rigKey}, Primaries: primaries}))(t)
	other := rigKey
	other.Name = "other.example"
	ask := func(network string, key *Key) (*mdns.Msg, error) {
		conn := must.Get(net.Dial(network, bind.Addr.String()))(t)
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		question := new(mdns.Msg)
		question.SetQuestion(zoneName.String(), mdns.TypeSOA)
		return Exchange(t.Context(), conn, question, key)
	}
	for _, network := range []string{"udp", "tcp"} {
		for _, key := range []*Key{nil, keyOf(t, rigKey.Statement())} {
			if m, err := ask(network, key); err != nil || len(m.Answer) != 1 || (m.IsTsig() != nil) != (key != nil) {
				t.Errorf("%s, key %v: %v, %v", network, key != nil, m, err)
			}
		}
		m, err := ask(network, keyOf(t, other.Statement()))
		var refusal *Refusal
		if m != nil || !errors.As(err, &refusal) || refusal.TSIG != mdns.RcodeBadKey || refusal.Signed {
			t.Errorf("%s, unknown key: %v, %v", network, m, err)
		}
	}
}

// Exchange accepts as answer to a signed question neither an unsigned message, nor a message with another ID, nor
// noise, because an attacker can send all of them to the client's port.
func TestExchange_takesNoAnswerOfOthers(t *testing.T) {
	conn := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer conn.Close()
	go func() {
		buf := make([]byte, 4096)
		n, from, err := conn.ReadFrom(buf)
		question := new(mdns.Msg)
		if err != nil || question.Unpack(buf[:n]) != nil {
			return
		}
		answer := new(mdns.Msg)
		answer.SetReply(question)
		answer.Extra = nil
		raw, _ := answer.Pack()
		conn.WriteTo([]byte("no message"), from)
		raw[0] ^= 1
		conn.WriteTo(raw, from)
		raw[0] ^= 1
		conn.WriteTo(raw, from)
	}()
	asking := must.Get(net.Dial("udp", conn.LocalAddr().String()))(t)
	defer asking.Close()
	question := new(mdns.Msg)
	question.SetQuestion(zoneName.String(), mdns.TypeSOA)
	m, err := Exchange(t.Context(), asking, question, keyOf(t, rigKey.Statement()))
	var refusal *Refusal
	if m != nil || !errors.As(err, &refusal) || refusal.Signed || refusal.Rcode != mdns.RcodeSuccess {
		t.Errorf("%v, %v", m, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if m, err := Exchange(ctx, asking, question, nil); m != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer comes: %v, %v", m, err)
	}
}

// The buffer for an answer has the default size, or the announced EDNS size if that is larger. It is not 64 KiB,
// because thousands of questions may be waiting at the same time.
func TestPacketSize_isWhatMayCome(t *testing.T) {
	for size, want := range map[uint16]uint16{0: leastPacket, 1232: leastPacket, 8192: 8192} {
		question := new(mdns.Msg).SetQuestion("example.org.", mdns.TypeSOA)
		if size > 0 {
			question.SetEdns0(size, false)
		}
		if got := packetSize(question); got != want {
			t.Errorf("%d octets asked for: room for %d, want %d", size, got, want)
		}
	}
}
