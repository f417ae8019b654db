// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"encoding/base64"
	"errors"
	"net"
	"slices"
	"testing"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/test/must"
)

// serveHostile serves the lines as a transfer of the zone, signed with the key of s.
func serveHostile(t *testing.T, s server, lines ...string) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	key := keyOf(t, s.key)
	octets := must.Get(base64.StdEncoding.DecodeString(s.key.Secret))(t)
	server := &mdns.Server{
		Listener: listener, TsigSecret: map[string]string{key.Name: base64.StdEncoding.EncodeToString(octets)},
		Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, question *mdns.Msg) {
			answer := new(mdns.Msg).SetReply(question)
			answer.Authoritative = true
			for _, line := range lines {
				rr, err := mdns.NewRR(line)
				if err != nil {
					t.Errorf("%s: %v", line, err)
					return
				}
				answer.Answer = append(answer.Answer, rr)
			}
			if signed := question.IsTsig(); signed != nil {
				answer.SetTsig(signed.Hdr.Name, signed.Algorithm, 300, int64(signed.TimeSigned))
			}
			if err := w.WriteMsg(answer); err != nil {
				t.Errorf("answer: %v", err)
			}
		}),
	}
	go server.ActivateAndServe()
	t.Cleanup(func() { server.Shutdown() })
	return listener.Addr().String()
}

// Attacks 39 and 56: a primary that transfers an empty zone, foreign data, names outside the zone or a truncated zone
// causes no loss.
func TestAttack39_56_aHostilePrimary(t *testing.T) {
	const soa = "example.org. 300 IN SOA ns.example.org. host.example.org. 9 3600 600 86400 300"
	runAtServers(t, zoneText, func(t *testing.T, s server) {
		first := makeZone(t, "www 60 A 192.0.2.1", "mail 60 A 192.0.2.2")
		deliverPlan(t, s.makeProvider(t), first.planFull(1))
		existing := []string{"www.example.org. 60 A 192.0.2.1", "mail.example.org. 60 A 192.0.2.2"}
		hostile := func(lines ...string) *Provider {
			return must.Get(New(Config{Server: s.addr.String(), TransferServer: serveHostile(t, s, lines...), Key: keyOf(t, s.key),
				Dial: anywhere}))(t)
		}
		// The missing RRsets would be added under the prerequisite of their absence, which fails: an error, and no
		// write.
		var e *delivery.Error
		if _, err := hostile(soa, soa).Deliver(t.Context(), first.planFull(2), passFence); !errors.As(err, &e) ||
			e.Reason != delivery.ReasonServerError {
			t.Errorf("a zone that seems empty: %v", err)
		}
		s.expectRecords(t, existing...)
		// Foreign data, and names in no zone of Kubizone.
		report := deliverPlan(t, hostile(soa, "www.example.org. 60 IN A 203.0.113.1", "mail.example.org. 60 IN A 192.0.2.2",
			"www.example.net. 60 IN A 203.0.113.2", "other.example.org. 60 IN A 203.0.113.3", soa), first.planFull(2))
		if got := failedKeys(report); !slices.Equal(got, []string{"www.example.org. A Conflict"}) {
			t.Errorf("a zone that seems another party's: %q", got)
		}
		drift, err := hostile(soa, "www.example.net. 60 IN A 203.0.113.2", "other.example.org. 60 IN A 203.0.113.3", soa).
			Verify(t.Context(), first.planFull(2))
		if err != nil || len(drift.Foreign) != 1 || drift.Foreign[0].Name.String() != "other.example.org." || len(drift.Missing) != 2 {
			t.Errorf("compared with names outside: %+v, %v", drift, err)
		}
		s.expectRecords(t, existing...)
		if _, err := hostile(soa, soa).Remove(t.Context(), first.planFull(2), passFence); err != nil {
			t.Errorf("withdrawn: %v", err)
		}
		s.expectRecords(t, existing...)
		for what, lines := range map[string][]string{
			"another zone":   {"example.net. 300 IN SOA a. b. 1 1 1 1 1", "example.net. 300 IN SOA a. b. 1 1 1 1 1"},
			"another serial": {soa, "www.example.org. 60 IN A 192.0.2.1", "example.org. 300 IN SOA ns.example.org. host.example.org. 8 3600 600 86400 300"},
			"no SOA":         {"www.example.org. 60 IN A 203.0.113.1"},
		} {
			if _, err := hostile(lines...).Deliver(t.Context(), first.planFull(2), passFence); !errors.As(err, &e) ||
				e.Reason != delivery.ReasonServerError {
				t.Errorf("%s: %v", what, err)
			}
		}
		s.expectRecords(t, existing...)
	})
}
