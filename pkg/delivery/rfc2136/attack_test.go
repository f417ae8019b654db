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

// serveHostile hands out these records, in one message, as the zone. It has the key.
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

// Attacks 39 and 56: what the primary says that it has is compared and never applied. A zone that seems empty or
// another party's loses nothing, names outside of it belong to no zone here, and a part of a zone is none.
func TestAttack39_56_aHostilePrimary(t *testing.T) {
	const soa = "example.org. 300 IN SOA ns.example.org. host.example.org. 9 3600 600 86400 300"
	runAtServers(t, zoneText, func(t *testing.T, s server) {
		first := makeZone(t, "www 60 A 192.0.2.1", "mail 60 A 192.0.2.2")
		deliverPlan(t, s.makeProvider(t), first.planFull(1))
		stands := []string{"www.example.org. 60 A 192.0.2.1", "mail.example.org. 60 A 192.0.2.2"}
		told := func(lines ...string) *Provider {
			return must.Get(New(Config{Server: s.addr.String(), TransferServer: serveHostile(t, s, lines...), Key: keyOf(t, s.key),
				Dial: anywhere}))(t)
		}
		// Empty: what seems to be missing is put there under the prerequisite that it is not, which does not hold. The
		// primary contradicts itself, and that is an error and no reason to write.
		var e *delivery.Error
		if _, err := told(soa, soa).Deliver(t.Context(), first.planFull(2), passFence); !errors.As(err, &e) ||
			e.Reason != delivery.ReasonServerError {
			t.Errorf("a zone that seems empty: %v", err)
		}
		s.expectRecords(t, stands...)
		// Another party's, and names of no zone of ours.
		report := deliverPlan(t, told(soa, "www.example.org. 60 IN A 203.0.113.1", "mail.example.org. 60 IN A 192.0.2.2",
			"www.example.net. 60 IN A 203.0.113.2", "other.example.org. 60 IN A 203.0.113.3", soa), first.planFull(2))
		if got := failedKeys(report); !slices.Equal(got, []string{"www.example.org. A Conflict"}) {
			t.Errorf("a zone that seems another party's: %q", got)
		}
		drift, err := told(soa, "www.example.net. 60 IN A 203.0.113.2", "other.example.org. 60 IN A 203.0.113.3", soa).Verify(t.Context(),
			first.planFull(2))
		if err != nil || len(drift.Foreign) != 1 || drift.Foreign[0].Name.String() != "other.example.org." || len(drift.Missing) != 2 {
			t.Errorf("compared with names outside: %+v, %v", drift, err)
		}
		s.expectRecords(t, stands...)
		// Withdrawn from what seems empty: nothing is there to go.
		if _, err := told(soa, soa).Remove(t.Context(), first.planFull(2), passFence); err != nil {
			t.Errorf("withdrawn: %v", err)
		}
		s.expectRecords(t, stands...)
		for what, lines := range map[string][]string{
			"another zone":   {"example.net. 300 IN SOA a. b. 1 1 1 1 1", "example.net. 300 IN SOA a. b. 1 1 1 1 1"},
			"another serial": {soa, "www.example.org. 60 IN A 192.0.2.1", "example.org. 300 IN SOA ns.example.org. host.example.org. 8 3600 600 86400 300"},
			"no SOA":         {"www.example.org. 60 IN A 203.0.113.1"},
		} {
			if _, err := told(lines...).Deliver(t.Context(), first.planFull(2), passFence); !errors.As(err, &e) ||
				e.Reason != delivery.ReasonServerError {
				t.Errorf("%s: %v", what, err)
			}
		}
		s.expectRecords(t, stands...)
	})
}
