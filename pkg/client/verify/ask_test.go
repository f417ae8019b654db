// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

// startServer answers at UDP and TCP of one address.
func startServer(t *testing.T, answer func(network string, asked *mdns.Msg) *mdns.Msg) string {
	t.Helper()
	packets := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	listener := must.Get(net.Listen("tcp", packets.LocalAddr().String()))(t)
	for network, server := range map[string]*mdns.Server{"udp": {PacketConn: packets}, "tcp": {Listener: listener}} {
		server.Handler = mdns.HandlerFunc(func(w mdns.ResponseWriter, asked *mdns.Msg) {
			if m := answer(network, asked); m != nil {
				_ = w.WriteMsg(m)
			}
		})
		go func() { _ = server.ActivateAndServe() }()
		t.Cleanup(func() { _ = server.Shutdown() })
	}
	return packets.LocalAddr().String()
}

func makeAnswer(asked *mdns.Msg, texts ...string) *mdns.Msg {
	m := new(mdns.Msg).SetReply(asked)
	for _, text := range texts {
		rr, err := mdns.NewRR(text)
		if err != nil {
			panic(err)
		}
		m.Answer = append(m.Answer, rr)
	}
	return m
}

// Ask repeats a lost question, takes a long answer over TCP, and ends with ctx. An unreadable record hides no other.
func TestAsk_repeatsAndChangesToTCP(t *testing.T) {
	t.Parallel()
	var lost, recursive atomic.Int32
	long := `www.example.org. 60 IN TXT "` + strings.Repeat(`\027[31m`, 30) + `"`
	server := startServer(t, func(network string, asked *mdns.Msg) *mdns.Msg {
		if asked.RecursionDesired {
			recursive.Add(1)
		}
		switch asked.Question[0].Name {
		case "lost.example.org.":
			if lost.Add(1) == 1 {
				return nil
			}
			return makeAnswer(asked, "lost.example.org. 60 IN A 192.0.2.1")
		case "silent.example.org.":
			return nil
		case "refused.example.org.":
			return new(mdns.Msg).SetRcode(asked, mdns.RcodeRefused)
		}
		m := makeAnswer(asked)
		if m.Truncated = network == "udp"; !m.Truncated {
			for range 100 {
				m.Answer = append(m.Answer, makeAnswer(asked, long, "www.example.org. 60 IN SOA . . 1 1 1 1 1").Answer...)
			}
		}
		return m
	})
	ask := func(of string, recursive bool) (*Answer, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return Ask(ctx, Question{Server: server, Name: name.MustParse(of), Type: rdata.TXT, Recursive: recursive})
	}
	if a := must.Get(ask("lost.example.org.", true))(t); len(a.Answer) != 1 || a.Answer[0].Data != "192.0.2.1" || recursive.Load() == 0 {
		t.Errorf("%+v", a)
	}
	if a := must.Get(ask("www.example.org.", false))(t); len(a.Answer) < 100 || recursive.Load() > 2 {
		t.Errorf("%d answers", len(a.Answer))
	}
	if a := must.Get(ask("refused.example.org.", false))(t); a.RCode != "REFUSED" || a.Authoritative {
		t.Errorf("%+v", a)
	}
	began := time.Now()
	if a, err := ask("silent.example.org.", false); err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("%+v, %v after %s", a, err, time.Since(began))
	}
}
