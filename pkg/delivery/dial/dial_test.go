// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"net"
	"net/netip"
	"testing"
)

// Attack 51: however an address is written, what it stands for decides.
func TestCheck_findsTheAddressInEveryForm(t *testing.T) {
	for text, kind := range map[string]string{
		"127.0.0.1":                "a loopback",
		"127.255.3.4":              "a loopback",
		"::1":                      "a loopback",
		"::ffff:127.0.0.1":         "a loopback",
		"::127.0.0.1":              "a loopback",
		"64:ff9b::127.0.0.1":       "a loopback",
		"2002:7f00:1::":            "a loopback",
		"169.254.169.254":          "a link-local",
		"::ffff:a9fe:a9fe":         "a link-local",
		"64:ff9b::a9fe:a9fe":       "a link-local",
		"::ffff:0:169.254.169.254": "a link-local",
		"fe80::1":                  "a link-local",
		"fe80::1%eth0":             "a link-local",
		"fd00:ec2::254":            "a metadata",
		"100.100.100.200":          "a metadata",
		"::ffff:168.63.129.16":     "a metadata",
		"0.0.0.0":                  "an unspecified",
		"0.1.2.3":                  "an unspecified",
		"::":                       "an unspecified",
		"224.0.0.251":              "a multicast",
		"255.255.255.255":          "a multicast",
		"ff02::1":                  "a multicast",
		"10.0.0.1":                 "",
		"192.168.1.1":              "",
		"100.100.100.201":          "",
		"fd00::1":                  "",
		"2001:db8::1":              "",
		"64:ff9b::192.0.2.1":       "",
	} {
		err := Check(netip.MustParseAddr(text))
		local, refused := AsLocal(err)
		if refused != (kind != "") || refused && local.Kind != kind {
			t.Errorf("%s: %v, expected kind %q", text, err, kind)
		}
	}
}

// Attacks 51 and 52: the judgement is on what the resolver answered, when it answered.
func TestNew_judgesAfterResolution(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		var target string
		if network == "tcp" {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			target = listener.Addr().String()
		} else {
			packets, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer packets.Close()
			target = packets.LocalAddr().String()
		}
		_, port, err := net.SplitHostPort(target)
		if err != nil {
			t.Fatal(err)
		}
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
