// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// A parent without a delegation for the zone answers that no DS exists, also for a name that does not exist. A server
// that is not authoritative for the parent gives an error, since its answer would prove nothing (S12.6).
func TestAskDSOfANameThatIsGone(t *testing.T) {
	const parent = `$TTL 60
@ IN SOA ns host 1 60 60 60 60
@ IN NS ns
ns IN A 192.0.2.53
a IN NS ns
a 30 IN DS 12345 13 2 49FD46E6C4B45C55D4AC69CBD3CD34AC1AFE51DE0123456789ABCDEF01234567
b IN NS ns
`
	bind := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Primaries: []rig.PrimaryZone{{Zone: "example.", Text: parent}}}))(t)
	for zone, want := range map[string][]string{
		"a.example.": {"12345 13 2 49FD46E6C4B45C55D4AC69CBD3CD34AC1AFE51DE0123456789ABCDEF01234567"}, "b.example.": nil, "gone.example.": nil,
	} {
		got, err := AskDS(t.Context(), dial.New(true).DialContext, bind.Addr, name.MustParse(zone))
		if err != nil || !slices.Equal(got.Data, want) || (got.TTL == 30*time.Second) != (want != nil) || got.NoName != (zone == "gone.example.") {
			t.Errorf("%s: %+v, %v", zone, got, err)
		}
	}
	if got, err := AskDS(t.Context(), dial.New(true).DialContext, bind.Addr, name.MustParse("example.net.")); err == nil {
		t.Errorf("a server without the zone above says %+v", got)
	}
}

// A varying text would cost a status write at every attempt.
func TestAskDS_isTheSameErrorEachTime(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}()
	var texts []string
	for range 2 {
		_, err := AskDS(t.Context(), dial.New(true).DialContext, netip.MustParseAddrPort(listener.Addr().String()), name.MustParse("example."))
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
		texts = append(texts, err.Error())
	}
	if texts[0] != texts[1] {
		t.Errorf("%q", texts)
	}
}

// AskKeys returns the time at which the first signature of the zone ends. Servers send signatures only if the question
// asks for them (the DO bit).
func TestAskKeys_hasTheFirstEndOfSignatures(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ends := map[uint16]uint32{mdns.TypeDNSKEY: 1_900_000_000, mdns.TypeSOA: 1_800_000_000}
	server := &mdns.Server{Listener: listener, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, question *mdns.Msg) {
		answer := new(mdns.Msg).SetReply(question)
		answer.Authoritative = true
		of := question.Question[0].Qtype
		header := mdns.RR_Header{Name: "example.", Rrtype: mdns.TypeRRSIG, Class: mdns.ClassINET, Ttl: 300}
		if option := question.IsEdns0(); option != nil && option.Do() && ends[of] != 0 {
			answer.Answer = []mdns.RR{&mdns.RRSIG{Hdr: header, TypeCovered: of, Algorithm: 13, SignerName: "example.", Expiration: ends[of],
				Signature: "AwEAAQ=="}}
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	ask := func() ServedKeys {
		return must.Get(AskKeys(t.Context(), dial.New(true).DialContext,
			Secondary{Addr: netip.MustParseAddrPort(listener.Addr().String())}, name.MustParse("example.")))(t)
	}
	if got := ask().Expires; got.Unix() != 1_800_000_000 {
		t.Errorf("a signed zone: %s", got)
	}
	clear(ends)
	if got := ask().Expires; !got.IsZero() {
		t.Errorf("an unsigned zone: %s", got)
	}
}
