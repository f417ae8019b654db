// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// noName means NXDOMAIN.
const noName = -1

// The TTL is one hour.
func startParent(t *testing.T, tags ...int) netip.AddrPort {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &mdns.Server{Listener: listener, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, question *mdns.Msg) {
		answer := new(mdns.Msg).SetReply(question)
		answer.Authoritative = true
		for _, tag := range tags {
			if tag == noName {
				answer.Rcode = mdns.RcodeNameError
				continue
			}
			rr, err := mdns.NewRR(fmt.Sprintf("example.org. 3600 DS %d 13 2 %s", tag, strings.Repeat("AB", 32)))
			if err != nil {
				t.Error(err)
			}
			answer.Answer = append(answer.Answer, rr)
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return netip.MustParseAddrPort(listener.Addr().String())
}

// Each of the parent's servers must answer at some address: an unreachable address, for example IPv6, does not block
// rollovers. A DS at any address is not gone.
func TestAskElsewhere_S12_6(t *testing.T) {
	silent := must.Get(rig.FreePort())(t)
	both, one, none, noName := startParent(t, 1, 2), startParent(t, 1), startParent(t), startParent(t, noName)
	of := func(name string, addresses ...netip.AddrPort) ParentServer {
		return ParentServer{Name: name, Addresses: addresses}
	}
	above := func(server ParentServer) ParentServer {
		server.Missing = name.MustParse("corp.example.")
		return server
	}
	for title, test := range map[string]struct {
		servers              []ParentServer
		everywhere, anywhere []int32
		unknown              string
	}{
		"each address has it":                {[]ParentServer{of("a.", both), of("b.", both, both)}, []int32{1, 2}, []int32{1, 2}, ""},
		"an address beside it is silent":     {[]ParentServer{of("a.", silent, both), of("b.", one, silent)}, []int32{1}, []int32{1, 2}, ""},
		"one address lacks it":               {[]ParentServer{of("a.", both, none)}, nil, []int32{1, 2}, ""},
		"the first server lacks it":          {[]ParentServer{of("a.", none), of("b.", both)}, nil, []int32{1, 2}, ""},
		"no server has it":                   {[]ParentServer{of("a.", none, silent), of("b.", none)}, nil, nil, ""},
		"a server of which none answers":     {[]ParentServer{of("a.", both), of("b.", silent)}, []int32{1, 2}, []int32{1, 2}, fmt.Sprintf("name server b. of the parent: no answer of %s since 2026-11-23T00:00:00Z: ", silent)},
		"a server that has no address":       {[]ParentServer{of("a."), of("b.", both)}, []int32{1, 2}, []int32{1, 2}, "name server a. of the parent: it has no address"},
		"the name is not there":              {[]ParentServer{of("a.", noName)}, nil, nil, ""},
		"the parent is further up":           {[]ParentServer{above(of("a.", none))}, nil, nil, ""},
		"the resolver misses the parent":     {[]ParentServer{of("a.", none), above(of("b.", noName, none))}, nil, nil, "name server b. of the parent answers that example.org. is not there, and the resolver of the controller finds no name servers of corp.example.: "},
		"the first of two is the one silent": {[]ParentServer{of("a.", silent), of("b.", none)}, nil, nil, "name server a. of the parent: no answer"},
	} {
		now := begin
		c := &Controller{memory: memory{zones: map[types.UID]*zoneMemory{}}}
		c.Now = func() time.Time { return now }
		c.ParentServers = func(context.Context, name.Name) ([]ParentServer, error) { return test.servers, nil }
		w := &work{Controller: c, zone: &v1alpha1.Zone{}, fqdn: name.MustParse("example.org."), site: site{class: &v1alpha1.DNSClass{}}}
		w.class.Spec.AllowLocalAddresses = true
		for range 2 { // a stable message at each reconcile
			p := w.askElsewhere(t.Context())
			anywhere := map[int32]bool{}
			for _, ds := range p.dsAtAny {
				anywhere[ds.KeyTag] = true
			}
			var has []int32
			for _, ds := range p.dsAtAll {
				has = append(has, ds.KeyTag)
			}
			if !p.external || !slices.Equal(has, test.everywhere) || len(anywhere) != len(test.anywhere) || !strings.HasPrefix(p.readFailure, test.unknown) || (p.readFailure == "") != (test.unknown == "") {
				t.Errorf("%s: %+v", title, p)
			}
			if len(test.anywhere) > 0 && p.ttl != time.Hour {
				t.Errorf("%s: TTL %s", title, p.ttl)
			}
			now = now.Add(time.Hour)
		}
	}
}

// To ask for a zone's DS, the controller looks up the parent's name servers: those of the nearest name above with NS
// records. A name in between without an answer is reported, because this resolver may not see a zone there (S12.6).
func TestLookupParentServers_S12_6(t *testing.T) {
	listener := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	server := &mdns.Server{PacketConn: listener, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, question *mdns.Msg) {
		answer := new(mdns.Msg).SetReply(question)
		answer.RecursionAvailable = true
		text := map[string]string{"example.org. NS": "example.org. 60 NS ns.example.net.", "ns.example.net. A": "ns.example.net. 60 A 192.0.2.1"}
		switch asked := question.Question[0]; {
		case text[asked.Name+" "+mdns.TypeToString[asked.Qtype]] != "":
			rr, err := mdns.NewRR(text[asked.Name+" "+mdns.TypeToString[asked.Qtype]])
			if err != nil {
				t.Error(err)
			}
			answer.Answer = []mdns.RR{rr}
		case asked.Name != "ns.example.net.":
			answer.Rcode = mdns.RcodeNameError
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", listener.LocalAddr().String())
	}}
	for zone, missing := range map[string]string{"dev.example.org.": "", "dev.corp.example.org.": "corp.example.org.", "a.b.c.example.org.": "b.c.example.org."} {
		servers, err := LookupParentServers(resolver)(t.Context(), name.MustParse(zone))
		if err != nil || len(servers) != 1 || servers[0].Name != "ns.example.net." || !slices.Equal(servers[0].Addresses, []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:53")}) || servers[0].Missing.String() != missing {
			t.Errorf("%s: %+v, %v", zone, servers, err)
		}
	}
}

// Silence of an address counts from its last unanswered streak.
func TestMemory_countsSilence(t *testing.T) {
	var known zoneMemory
	at := netip.MustParseAddrPort("192.0.2.1:53")
	for _, step := range []struct {
		after  time.Duration
		silent bool
		since  time.Duration
	}{{0, true, 0}, {1, true, 0}, {2, false, 0}, {3, true, 3}, {4, true, 3}} {
		var silent []netip.AddrPort
		if step.silent {
			silent = append(silent, at)
		}
		since, ok := known.noteSilent(silent, begin.Add(step.after))[at]
		if ok != step.silent || ok && !since.Equal(begin.Add(step.since)) {
			t.Errorf("after %d: silent %v since %s", step.after, ok, since)
		}
	}
}

func TestIsUnrouted(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.ENETUNREACH: true, syscall.EHOSTUNREACH: true, syscall.EADDRNOTAVAIL: true, syscall.EAFNOSUPPORT: true,
		syscall.ECONNREFUSED: false, context.DeadlineExceeded: false, nil: false,
	} {
		wrapped := err
		if err != nil {
			wrapped = &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)}
		}
		if isUnrouted(wrapped) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}
