// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var updateKey = rig.TSIGKey{Name: "update.example.", Algorithm: "hmac-sha256", Secret: "dXBkYXRlcy1hcmUtc2lnbmVkLXdpdGgtdGhpcy0wMDE="}

func keyOf(t *testing.T, k rig.TSIGKey) transfer.Key {
	t.Helper()
	keys := must.Get(tsig.ParseKeys(k.Statement()))(t)
	return transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}
}

func startBIND(t *testing.T, zones int) *rig.BIND {
	t.Helper()
	// Integrity checks would refuse an MX to an in-zone host without an address.
	config := rig.BINDConfig{Keys: []rig.TSIGKey{updateKey}, Options: "check-integrity no;"}
	for i := range zones {
		zone := fmt.Sprintf("zone%d.example.", i)
		config.Primaries = append(config.Primaries, rig.PrimaryZone{
			Zone: zone, UpdateKey: updateKey.Name,
			Text: fmt.Sprintf("%[1]s 3600 IN SOA ns.%[1]s host.%[1]s 1 3600 600 86400 300\n%[1]s 3600 IN NS ns1.provider.example.\n", zone),
		})
	}
	return rig.NeedServer(rig.StartBIND(t.Context(), config))(t)
}

func inspectZone(t *testing.T, bind *rig.BIND, zone name.Name) []delivery.RRset {
	t.Helper()
	key := keyOf(t, updateKey)
	text := must.Get(transfer.Receive(t.Context(), transfer.Source{Server: bind.Addr.String(), Zone: zone, Key: &key}))(t)
	return deliverytest.ReadRRsets(t, bytes.NewReader(text), name.Name{})
}

// From plan to BIND: client, HTTP, reference server, dynamic update.
func TestBackend_passesTheExamBeforeBIND(t *testing.T) {
	examineBackend(t, func(backend server.Backend) server.Backend { return backend }, false)
}

// The same with notes of the server's writes: foreign records stay.
func TestShared_passesTheExamBeforeBIND(t *testing.T) {
	examineBackend(t, func(backend server.Backend) server.Backend {
		return must.Get(server.NewShared(backend, filepath.Join(t.TempDir(), "notes")))(t)
	}, true)
}

func examineBackend(t *testing.T, before func(server.Backend) server.Backend, keeps bool) {
	bind := startBIND(t, 40)
	backend := must.Get(New(Config{Server: bind.Addr.String(), Key: keyOf(t, updateKey)}))(t)
	secret := func() ([][]byte, error) { return [][]byte{[]byte("s")}, nil }
	handler := must.Get(server.New(server.Config{Backend: before(backend), Algorithm: protocol.SHA256, Secrets: secret}))(t)
	server := httptest.NewServer(handler)
	defer server.Close()
	var zones atomic.Int64
	deliverytest.Run(t, deliverytest.Subject{
		New: func(t *testing.T) delivery.Provider {
			return must.Get(webhook.New(webhook.Config{
				Server: server.URL, AllowLocalAddresses: true, OwnApexNS: keeps,
				HMAC: &webhook.HMAC{Algorithm: protocol.SHA256, Secret: []byte("s")},
			}))(t)
		},
		Zone:    func(t *testing.T) name.Name { return name.MustParse(fmt.Sprintf("zone%d.example.", zones.Add(1)-1)) },
		Inspect: func(t *testing.T, zone name.Name) []delivery.RRset { return inspectZone(t, bind, zone) },
		Disturb: func(t *testing.T, zone name.Name, set delivery.RRset) {
			err := backend.Apply(t.Context(), zone, []protocol.RRset{{Zone: zone, Name: set.Name, Type: set.Type, TTL: set.TTL, Data: set.Data}})[0]
			if err != nil {
				t.Fatal(err)
			}
		},
		Keeps: keeps,
	})
}

func TestBackend_reportsExisting(t *testing.T) {
	bind := startBIND(t, 1)
	backend := must.Get(New(Config{Server: bind.Addr.String(), Key: keyOf(t, updateKey)}))(t)
	ctx := t.Context()
	zone := name.MustParse("zone0.example.")
	set := func(owner string, rrtype rdata.Type, data ...string) protocol.RRset {
		n := must.Get(name.ParseIn(owner, zone))(t)
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
	// BIND ignores these silently (RFC 2136 §3.4.2.2); the server reports them.
	refused("a CNAME beside an address", apply(set("www", rdata.CNAME, "a.example.")), protocol.CodeInvalidRecord, http.StatusConflict)
	must(set("www", rdata.A))
	must(set("www", rdata.A)) // Twice is no error.
	must(set("www", rdata.CNAME, "a.example."))
	refused("an address beside a CNAME", apply(set("www", rdata.A, "192.0.2.1")), protocol.CodeInvalidRecord, http.StatusConflict)

	// BIND refuses addresses of hosts with an underscore: only the record's fault.
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

	// A client without any right to update gets no error about records: its operator has to act.
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
		wrong, err := New(Config{Server: bind.Addr.String(), Key: keyOf(t, key)})
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

// Knot signs nothing about zones that it lacks, such as the root: no fault. An unknown key is a fault.
func TestHealth_beforeKnot(t *testing.T) {
	zone := name.MustParse("zone0.example.")
	knot := rig.NeedServer(rig.StartKnot(t.Context(), rig.KnotConfig{Key: &updateKey, Zones: []rig.PrimaryZone{{
		Zone: zone.String(), UpdateKey: updateKey.Name, Text: "zone0.example. 3600 IN SOA ns.example.net. host.zone0.example. 1 3600 600 86400 300\nzone0.example. 3600 IN NS ns.example.net.\n",
	}}}))(t)
	www := protocol.RRset{Zone: zone, Name: name.MustParse("www.zone0.example."), Type: rdata.A, TTL: 300, Data: []string{"192.0.2.1"}}
	for what, key := range map[string]rig.TSIGKey{
		"":               updateKey,
		"another secret": {Name: updateKey.Name, Algorithm: updateKey.Algorithm, Secret: "YW5vdGhlci1zZWNyZXQtdGhhbi10aGUtc2VydmVycy0x"},
		"another name":   {Name: "other.example.", Algorithm: updateKey.Algorithm, Secret: updateKey.Secret},
	} {
		backend := must.Get(New(Config{Server: knot.Addr.String(), Key: keyOf(t, key)}))(t)
		if err := backend.Health(t.Context()); err != nil {
			t.Errorf("%s: health before the first update: %v", what, err)
		}
		if err := backend.Apply(t.Context(), zone, []protocol.RRset{www})[0]; (err == nil) != (what == "") {
			t.Errorf("%s: an update: %v", what, err)
		}
		if err := backend.Health(t.Context()); (err == nil) != (what == "") {
			t.Errorf("%s: health after an update: %v", what, err)
		}
		gone := name.MustParse("gone.example.")
		if what == "" {
			backend.knownZone.Store(&gone)
		}
		if err := backend.Health(t.Context()); (err == nil) != (what == "") {
			t.Errorf("%s: health where it has the zone no more: %v", what, err)
		}
	}
	knot.Stop()
	backend := must.Get(New(Config{Server: knot.Addr.String(), Key: keyOf(t, updateKey)}))(t)
	if backend.Health(t.Context()) == nil {
		t.Error("a server that is down is healthy")
	}
}

type between struct {
	*Backend
	happens func()
}

func (b between) Read(ctx context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error) {
	set, err := b.Backend.Read(ctx, zone, owner, t)
	b.happens()
	return set, err
}

// Foreign records written by dynamic update stay, over restarts; so do a delegation's NS and glue, which the DNS
// server returns only in referrals.
func TestShared_besideOtherUpdates(t *testing.T) {
	bind := startBIND(t, 1)
	backend := must.Get(New(Config{Server: bind.Addr.String(), Key: keyOf(t, updateKey)}))(t)
	zone, notes := name.MustParse("zone0.example."), filepath.Join(t.TempDir(), "notes")
	others := func(commands ...string) {
		t.Helper()
		must.Get(rig.Nsupdate(t.Context(), bind.Addr, &updateKey, "zone zone0.example.\nupdate "+strings.Join(commands, "\nupdate ")+
			"\nsend\n"))(t)
	}
	others("add theirs.zone0.example. 60 A 192.0.2.1", "add alias.zone0.example. 60 CNAME theirs.zone0.example.", "add d.zone0.example. 60 NS ns.d.zone0.example.", "add ns.d.zone0.example. 60 A 192.0.2.2")
	set := func(owner string, kind rdata.Type, data ...string) protocol.RRset {
		n := must.Get(name.ParseIn(owner, zone))(t)
		return protocol.RRset{Zone: zone, Name: n, Type: kind, TTL: 60, Data: data}
	}
	for round, address := range []string{"192.0.2.10", "192.0.2.11"} {
		shared := must.Get(server.NewShared(backend, notes))(t)
		for _, step := range []struct {
			set  protocol.RRset
			want int
		}{
			{set("www", rdata.A, address), 0},
			{set("mixed", rdata.MX, "10 mail.zone0.example."), 0},
			{set("child", rdata.NS, "ns.child.zone0.example."), 0},
			{set("ns.child", rdata.A, address), 0},
			{set("*.wild", rdata.TXT, `"`+address+`"`), 0},
			{set("theirs", rdata.A, address), http.StatusConflict},
			{set("theirs", rdata.CNAME, "www.zone0.example."), http.StatusConflict},
			{set("alias", rdata.A, address), http.StatusConflict},
			{set("alias", rdata.CNAME, "www.zone0.example."), http.StatusConflict},
			{set("d", rdata.NS, "ns.other.example."), http.StatusConflict},
			{set("ns.d", rdata.A, address), http.StatusConflict},
			{set("theirs", rdata.A), http.StatusNotFound},
			{set("d", rdata.NS), http.StatusNotFound},
		} {
			err := shared.Apply(t.Context(), zone, []protocol.RRset{step.set})[0]
			status := 0
			var refusal *protocol.Error
			if errors.As(err, &refusal) {
				status = refusal.HTTPStatus()
			} else if err != nil {
				status = -1
			}
			if status != step.want {
				t.Errorf("round %d: %s %s %q: %v, want %d", round, step.set.Name, step.set.Type, step.set.Data, err, step.want)
			}
		}
	}
	// Even a record written between the server's read and write.
	for _, race := range []struct {
		set   protocol.RRset
		other string
	}{
		{set("www", rdata.A, "192.0.2.12"), "add www.zone0.example. 60 A 192.0.2.13"}, {set("www", rdata.A), "add www.zone0.example. 60 A 192.0.2.14"}, {set("new", rdata.A, "192.0.2.15"), "add new.zone0.example. 60 A 192.0.2.16"},
	} {
		shared := must.Get(server.NewShared(between{backend, func() { others(race.other) }}, notes))(t)
		var refusal *protocol.Error
		if err := shared.Apply(t.Context(), zone, []protocol.RRset{race.set})[0]; !errors.As(err, &refusal) || refusal.HTTPStatus() != http.StatusConflict {
			t.Errorf("%s %q while another client wrote %s: %v", race.set.Name, race.set.Data, race.other, err)
		}
	}
	got := map[string]string{}
	for _, set := range inspectZone(t, bind, zone) {
		if set.Type != rdata.SOA {
			got[strings.TrimSuffix(set.Name.String(), "zone0.example.")+" "+set.Type.String()] = strings.Join(slices.Sorted(slices.Values(set.Data)), " ")
		}
	}
	want := map[string]string{
		" NS": "ns1.provider.example.", "theirs. A": "192.0.2.1", "alias. CNAME": "theirs.zone0.example.", "d. NS": "ns.d.zone0.example.", "ns.d. A": "192.0.2.2",
		"www. A": "192.0.2.11 192.0.2.13 192.0.2.14", "new. A": "192.0.2.16", "mixed. MX": "10 mail.zone0.example.", "child. NS": "ns.child.zone0.example.", "ns.child. A": "192.0.2.11", "*.wild. TXT": `"192.0.2.11"`,
	}
	if !maps.Equal(got, want) {
		t.Errorf("the server has\n%v\nwant\n%v", got, want)
	}
}
