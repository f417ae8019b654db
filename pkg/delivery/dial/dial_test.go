// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/test/must"
)

// Attack 51: no spelling and no embedding in IPv6 hides an address.
func TestCheck_findsTheAddressInEveryForm(t *testing.T) {
	for text, kind := range map[string]string{
		"127.0.0.1":                     "a loopback",
		"127.255.3.4":                   "a loopback",
		"::1":                           "a loopback",
		"::ffff:127.0.0.1":              "a loopback",
		"::127.0.0.1":                   "a loopback",
		"64:ff9b::127.0.0.1":            "a loopback",
		"2002:7f00:1::":                 "a loopback",
		"169.254.169.254":               "a link-local",
		"::ffff:a9fe:a9fe":              "a link-local",
		"64:ff9b::a9fe:a9fe":            "a link-local",
		"::ffff:0:169.254.169.254":      "a link-local",
		"fe80::1":                       "a link-local",
		"fe80::1%eth0":                  "a link-local",
		"fd00:ec2::254":                 "a metadata",
		"fd00:ec2::23":                  "a metadata", // attack 80, up to the last
		"64:ff9b:1::a9fe:a9fe":          "a link-local",
		"64:ff9b:1:a9fe:a9:fe00::":      "a link-local",
		"64:ff9b:1:7f:0:100::":          "a loopback",
		"64:ff9b:1:1:a9:fea9:fe00:0":    "a link-local",
		"64:ff9b:1::192.0.2.1":          "",
		"2001:0:a9fe:a9fe::":            "a link-local",
		"2001:0:c000:201:0:0:5601:5601": "a link-local", // 169.254.169.254, bits inverted (Teredo)
		"2001:0:c000:201:0:0:3fff:fdfe": "",
		"2001:db8::5efe:a9fe:a9fe":      "a link-local",
		"2001:db8::200:5efe:7f00:1":     "a loopback",
		"2001:db8::5efe:c000:201":       "",
		"fec0::a9fe:a9fe":               "a site-local",
		"feff::1":                       "a site-local",
		"2002:a9fe:a9fe::1":             "a link-local",
		"100.100.100.200":               "a metadata",
		"::ffff:168.63.129.16":          "a metadata",
		"0.0.0.0":                       "an unspecified",
		"0.1.2.3":                       "an unspecified",
		"::":                            "an unspecified",
		"224.0.0.251":                   "a multicast",
		"255.255.255.255":               "a multicast",
		"ff02::1":                       "a multicast",
		"10.0.0.1":                      "",
		"192.168.1.1":                   "",
		"100.100.100.201":               "",
		"fd00::1":                       "",
		"2001:db8::1":                   "",
		"64:ff9b::192.0.2.1":            "",
	} {
		err := Check(netip.MustParseAddr(text))
		local, refused := AsLocal(err)
		if refused != (kind != "") || refused && local.Kind != kind {
			t.Errorf("%s: %v, expected kind %q", text, err, kind)
		}
	}
}

// Whether a host is local is judged by the addresses to which its name resolves when the connection is made, so that
// names such as localhost cannot bypass the check (attacks 51 and 52).
func TestNew_judgesAfterResolution(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		var target string
		if network == "tcp" {
			listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			defer listener.Close()
			target = listener.Addr().String()
		} else {
			packets := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
			defer packets.Close()
			target = packets.LocalAddr().String()
		}
		_, port, err := net.SplitHostPort(target)
		must.Succeed(t, err)
		for _, host := range []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1"} {
			conn, err := New(false).DialContext(context.Background(), network, net.JoinHostPort(host, port))
			if _, refused := AsLocal(err); !refused {
				t.Errorf("%s %s: %v", network, host, err)
			}
			if conn != nil {
				conn.Close()
			}
		}
		conn, err := New(true).DialContext(context.Background(), network, net.JoinHostPort("localhost", port))
		if err != nil {
			t.Errorf("%s: allowed and refused: %v", network, err)
			continue
		}
		conn.Close()
	}
}

// serveAddresses starts an attacker's DNS server. Each A question gets the next answer; the last repeats.
func serveAddresses(t *testing.T, answers ...[]string) *net.Resolver {
	t.Helper()
	packets := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	var mu sync.Mutex
	server := &mdns.Server{PacketConn: packets, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, question *mdns.Msg) {
		answer := new(mdns.Msg).SetReply(question)
		if question.Question[0].Qtype == mdns.TypeA {
			mu.Lock()
			for _, text := range answers[0] {
				answer.Answer = append(answer.Answer, &mdns.A{Hdr: mdns.RR_Header{Name: question.Question[0].Name, Rrtype: mdns.TypeA, Class: mdns.ClassINET}, A: net.ParseIP(text)})
			}
			answers = answers[min(1, len(answers)-1):]
			mu.Unlock()
		}
		w.WriteMsg(answer)
	})}
	go server.ActivateAndServe()
	t.Cleanup(func() { server.Shutdown() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", packets.LocalAddr().String())
	}}
}

// A class without allowLocalAddresses must not connect to a local address. A hostile name server may answer the check
// with a public address and the connection with loopback, or with both at once (DNS rebinding). No local connection is
// made in any of these cases (attack 52).
func TestNew_isNotFooledByRebinding(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	must.Succeed(t, err)
	dialer := New(false)
	dialer.Timeout = 300 * time.Millisecond
	for what, answers := range map[string][][]string{
		"fine first":     {{"192.0.2.1"}, {"127.0.0.1"}},
		"both at once":   {{"192.0.2.1", "127.0.0.1"}},
		"local first":    {{"127.0.0.1", "192.0.2.1"}},
		"metadata later": {{"192.0.2.1"}, {"169.254.169.254"}},
	} {
		dialer.Resolver = serveAddresses(t, answers...)
		for range 3 {
			conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("rebinding.example.", port))
			if conn != nil {
				conn.Close()
				t.Errorf("%s: connected to %s", what, conn.RemoteAddr())
			}
			if err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		if last := answers[len(answers)-1]; len(last) == 1 {
			if _, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("rebinding.example.", port)); err == nil {
				t.Errorf("%s: no error", what)
			} else if _, refused := AsLocal(err); !refused {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
