// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/deliverytest"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/transfer"
	"kubi.zone/kubizone/pkg/webhookserver"
	"kubi.zone/kubizone/test/rig"
)

var updateKey = rig.TSIGKey{Name: "update.example.", Algorithm: "hmac-sha256", Secret: "dXBkYXRlcy1hcmUtc2lnbmVkLXdpdGgtdGhpcy0wMDE="}

func keyOf(t *testing.T, k rig.TSIGKey) transfer.Key {
	t.Helper()
	keys, err := primary.ParseKeys(k.Statement())
	if err != nil {
		t.Fatal(err)
	}
	return transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}
}

// startBIND has zones zone0.example. and on.
func startBIND(t *testing.T, zones int) *rig.BIND {
	t.Helper()
	// Without integrity checks: they refuse an MX to a host of the zone that has no address.
	config := rig.BINDConfig{Keys: []rig.TSIGKey{updateKey}, Options: "check-integrity no;"}
	for i := range zones {
		zone := fmt.Sprintf("zone%d.example.", i)
		config.Primaries = append(config.Primaries, rig.PrimaryZone{
			Zone: zone, UpdateKey: updateKey.Name,
			Text: fmt.Sprintf("%[1]s 3600 IN SOA ns.%[1]s host.%[1]s 1 3600 600 86400 300\n%[1]s 3600 IN NS ns.example.net.\n", zone),
		})
	}
	bind, err := rig.StartBIND(t.Context(), config)
	rig.SkipMissing(t, err)
	t.Cleanup(func() { bind.Close() })
	return bind
}

func inspect(t *testing.T, bind *rig.BIND, zone name.Name) []delivery.RRset {
	t.Helper()
	key := keyOf(t, updateKey)
	text, err := transfer.Receive(t.Context(), transfer.Source{Server: bind.Addr.String(), Zone: zone, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	var sets []delivery.RRset
	for rr, err := range zonefile.Read(strings.NewReader(string(text)), zonefile.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(sets, func(set delivery.RRset) bool { return set.Name == rr.Name && set.Type == rr.Type })
		if at < 0 {
			at = len(sets)
			sets = append(sets, delivery.RRset{Name: rr.Name, Type: rr.Type, TTL: rr.TTL})
		}
		sets[at].Data = append(sets[at].Data, rr.Data)
	}
	return sets
}

// From plan to BIND: client, HTTP, reference server, dynamic update.
func TestBackend_passesTheExamBeforeBIND(t *testing.T) {
	bind := startBIND(t, 40)
	backend, err := New(Config{Server: bind.Addr.String(), Key: keyOf(t, updateKey)})
	if err != nil {
		t.Fatal(err)
	}
	secret := func() ([][]byte, error) { return [][]byte{[]byte("s")}, nil }
	handler, err := webhookserver.New(webhookserver.Config{Backend: backend, Algorithm: protocol.SHA256, Secrets: secret})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	var zones atomic.Int64
	deliverytest.Run(t, deliverytest.Subject{
		New: func(t *testing.T) delivery.Provider {
			provider, err := webhook.New(webhook.Config{
				Server: server.URL, AllowLocalAddresses: true,
				HMAC: &webhook.HMAC{Algorithm: protocol.SHA256, Secret: func(context.Context) ([]byte, error) { return []byte("s"), nil }},
			})
			if err != nil {
				t.Fatal(err)
			}
			return provider
		},
		Zone:    func(t *testing.T) name.Name { return name.MustParse(fmt.Sprintf("zone%d.example.", zones.Add(1)-1)) },
		Inspect: func(t *testing.T, zone name.Name) []delivery.RRset { return inspect(t, bind, zone) },
		Disturb: func(t *testing.T, zone name.Name, set delivery.RRset) {
			err := backend.Apply(t.Context(), zone, []protocol.RRset{{Zone: zone, Name: set.Name, Type: set.Type, TTL: set.TTL, Data: set.Data}})[0]
			if err != nil {
				t.Fatal(err)
			}
		},
		Unlisted: true,
	})
}

func TestBackend_saysWhatStands(t *testing.T) {
	bind := startBIND(t, 1)
	backend, err := New(Config{Server: bind.Addr.String(), Key: keyOf(t, updateKey)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	zone := name.MustParse("zone0.example.")
	set := func(owner string, rrtype rdata.Type, data ...string) protocol.RRset {
		n, err := name.ParseIn(owner, zone)
		if err != nil {
			t.Fatal(err)
		}
		return protocol.RRset{Zone: zone, Name: n, Type: rrtype, TTL: 300, Data: data}
	}
	apply := func(s protocol.RRset) error { return backend.Apply(ctx, zone, []protocol.RRset{s})[0] }
	must := func(s protocol.RRset) {
		t.Helper()
		if err := apply(s); err != nil {
			t.Fatalf("%s %s: %v", s.Name, s.Type, err)
		}
	}
	refused := func(what string, err error, code string, status int) {
		t.Helper()
		var refusal *protocol.Error
		if !errors.As(err, &refusal) || refusal.Code != code || refusal.HTTPStatus() != status {
			t.Errorf("%s: %v, expected %s with %d", what, err, code, status)
		}
	}

	must(set("www", rdata.A, "192.0.2.1"))
	// BIND ignores these in silence (RFC 2136 §3.4.2.2); we do not.
	refused("a CNAME beside an address", apply(set("www", rdata.CNAME, "a.example.")), protocol.CodeInvalidRecord, http.StatusConflict)
	must(set("www", rdata.A))
	must(set("www", rdata.A)) // Twice is no error.
	must(set("www", rdata.CNAME, "a.example."))
	refused("an address beside a CNAME", apply(set("www", rdata.A, "192.0.2.1")), protocol.CodeInvalidRecord, http.StatusConflict)

	// BIND takes no addresses of hosts with an underscore. That is the record's fault, and costs those beside it nothing.
	together := backend.Apply(ctx, zone, []protocol.RRset{set("before", rdata.A, "192.0.2.1"), set("b_c", rdata.A, "192.0.2.2"), set("after", rdata.A, "192.0.2.3")})
	refused("what BIND refuses", together[1], protocol.CodeInvalidRecord, http.StatusBadRequest)
	if together[0] != nil || together[2] != nil {
		t.Errorf("beside what BIND refuses: %v", together)
	}

	refused("no name servers", apply(set("@", rdata.NS)), protocol.CodeInvalidRecord, http.StatusBadRequest)
	must(set("@", rdata.NS, "ns1.example.net.", "ns2.example.net."))
	must(set("@", rdata.NS, "ns2.example.net.", "ns3.example.net."))
	if got, err := backend.Read(ctx, zone, zone, rdata.NS); err != nil || !slices.Equal(got.Data, []string{"ns2.example.net.", "ns3.example.net."}) || got.TTL != 300 {
		t.Errorf("name servers: %+v, %v", got, err)
	}

	must(set("*.wild", rdata.TXT, `"w"`))
	if got, err := backend.Read(ctx, zone, name.MustParse("x.wild.zone0.example."), rdata.TXT); err != nil || len(got.Data) > 0 {
		t.Errorf("what a wildcard answers is taken for a record: %+v, %v", got, err)
	}
	must(set("sub", rdata.NS, "ns.sub."+zone.String()))
	must(set("ns.sub", rdata.A, "192.0.2.53"))
	for _, s := range []protocol.RRset{set("sub", rdata.NS, "ns.sub."+zone.String()), set("ns.sub", rdata.A, "192.0.2.53")} {
		if got, err := backend.Read(ctx, zone, s.Name, s.Type); err != nil || !slices.Equal(got.Data, s.Data) {
			t.Errorf("%s %s, at a delegation: %+v, %v", s.Name, s.Type, got, err)
		}
	}

	other := name.MustParse("other.example.")
	refused("a zone that it does not have", backend.Apply(ctx, other, []protocol.RRset{{Zone: other, Name: other, Type: rdata.A, TTL: 1, Data: []string{"192.0.2.1"}}})[0], protocol.CodeInvalidDomain, http.StatusBadRequest)

	// Who may not update at all is told nothing of records: that is for who runs the server.
	closed, err := rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{updateKey}, Primaries: []rig.PrimaryZone{{
		Zone: zone.String(), Text: "zone0.example. 3600 IN SOA ns.zone0.example. host.zone0.example. 1 3600 600 86400 300\nzone0.example. 3600 IN NS ns.example.net.\n",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed.Close() })
	shut, err := New(Config{Server: closed.Addr.String(), Key: keyOf(t, updateKey)})
	if err != nil {
		t.Fatal(err)
	}
	if err := shut.Apply(ctx, zone, []protocol.RRset{set("www", rdata.A, "192.0.2.1")})[0]; err == nil || errors.As(err, new(*protocol.Error)) || !strings.Contains(err.Error(), "allow updates") {
		t.Errorf("a server that takes no updates: %v", err)
	}

	if err := backend.Health(ctx); err != nil {
		t.Errorf("health: %v", err)
	}
	for what, key := range map[string]rig.TSIGKey{
		"another secret": {Name: updateKey.Name, Algorithm: updateKey.Algorithm, Secret: "YW5vdGhlci1zZWNyZXQtdGhhbi10aGUtc2VydmVycy0x"},
		"another name":   {Name: "other.example.", Algorithm: updateKey.Algorithm, Secret: updateKey.Secret},
	} {
		wrong, err := New(Config{Server: bind.Addr.String(), Key: keyOf(t, key), Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var refusal *protocol.Error
		err = wrong.Apply(ctx, zone, []protocol.RRset{set("evil", rdata.A, "192.0.2.66")})[0]
		if err == nil || errors.As(err, &refusal) || wrong.Health(ctx) == nil {
			t.Errorf("%s: %v, healthy: %v", what, err, wrong.Health(ctx) == nil)
		}
	}
	if got, err := backend.Read(ctx, zone, name.MustParse("evil.zone0.example."), rdata.A); err != nil || len(got.Data) > 0 {
		t.Errorf("an update with a wrong key: %+v, %v", got, err)
	}
}
