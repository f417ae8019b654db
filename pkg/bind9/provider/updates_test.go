// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/transfertest"
)

func newUpdater(instances func() []Instance) *Updater {
	return NewUpdater(UpdateConfig{Instances: func([]string) ([]Instance, error) { return instances(), nil }, Dial: dial.New(true).DialContext})
}

func (s *server) readZone(t *testing.T, zone name.Name) []delivery.RRset {
	t.Helper()
	if !s.HasZone(t, zone.String()) {
		return nil
	}
	text, err := rig.Dig{Server: s.Addr, Key: &transfertest.Key}.Run(t.Context(), "+tcp", "+onesoa", "+nocomments", "+nostats", "+nocmd", "AXFR", zone.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Log())
	}
	return deliverytest.ReadRRsets(t, strings.NewReader(text), zone)
}

func (s *server) updateRRset(t *testing.T, zone name.Name, set delivery.RRset) {
	t.Helper()
	script := fmt.Sprintf("zone %s\nupdate delete %s %s\n", zone, set.Name, set.Type)
	for _, data := range set.Data {
		script += fmt.Sprintf("update add %s %d %s %s\n", set.Name, set.TTL, set.Type, data)
	}
	must.Get(rig.Nsupdate(t.Context(), s.Addr, &transfertest.Key, script+"send\n"))(t)
}

// Updater passes the test suite of delivery providers on a server without an agent. Without an agent nothing can create
// or remove zones, so the zones exist before, and stay with their original name servers after removal.
func TestUpdater_passesTheExam(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	s := w.startServer(t, "one", "kubizone", freePort(t))
	agent := s.instance.Agent
	s.instance.Agent = nil
	used := 0
	deliverytest.Run(t, deliverytest.Subject{
		New: func(*testing.T) delivery.Provider {
			return newUpdater(func() []Instance { return []Instance{s.instance} })
		},
		Zone: func(t *testing.T) name.Name {
			used++
			zone := name.MustParse(fmt.Sprintf("zone-%d.example.", used))
			ttl := uint32(3600)
			must.Succeed(t, agent.Ensure(t.Context(), zone, protocol.CreateZone{ZoneType: protocol.Primary, UpdateKeyName: transfertest.Key.Name,
				ZoneConfig: protocol.ZoneConfig{
					TTL: &ttl, SOA: &protocol.SOA{PrimaryNS: "ns1.provider.example.", AdminEmail: "h.example.", Serial: &ttl, Refresh: &ttl,
						Retry: &ttl, Expire: &ttl, NegativeTTL: &ttl}, NameServers: []string{"ns1.provider.example."},
				}}, passFence))
			return zone
		},
		Inspect: s.readZone,
		Disturb: s.updateRRset,
	})
}

func fullPlan(zone string, at serial.Serial, host string) delivery.Plan {
	plan := transfertest.PlanOf("u", zone, at)
	plan.SOA = delivery.RRset{Name: plan.Zone, Type: rdata.SOA, TTL: 3600, Data: []string{fmt.Sprintf("ns1.%s hostmaster.%[1]s %d 86400 7200 3600000 360", zone, at)}}
	in := func(label string, t rdata.Type, data string) delivery.RRset {
		owner := plan.Zone
		if label != "@" {
			owner = name.MustParse(label + "." + zone)
		}
		return delivery.RRset{Name: owner, Type: t, TTL: 300, Data: []string{data}}
	}
	plan.All = slices.Values([]delivery.RRset{in("@", rdata.NS, "ns1."+zone), in("ns1", rdata.AAAA, "2001:db8::1"), in("www", rdata.A, host)})
	return plan
}

func hostOf(t *testing.T, s *server, zone string) string {
	for _, set := range s.readZone(t, name.MustParse(zone)) {
		if set.Name.String() == "www."+zone {
			return set.Data[0]
		}
	}
	return ""
}

// In the mode Update a server that lacks a zone gets it whole, and a server that leaves the class loses it. A zone that
// also has records of others is not removed.
func TestUpdater_makesZonesWhereTheyAreMissing(t *testing.T) {
	for _, kind := range []string{"kubizone", "0.7.3", "0.9.0", "bindcar"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			makeWhereMissing(t, kind)
		})
	}
}

func makeWhereMissing(t *testing.T, kind string) {
	const zone = "example.org."
	w := beginWorld(t)
	two := w.startServer(t, "two", kind, freePort(t))
	instances := []Instance{two.instance}
	u := newUpdater(func() []Instance { return instances })
	first := fullPlan(zone, 1, "192.0.2.1")
	report, err := u.Deliver(t.Context(), first, passFence)
	if err != nil || report.Confirmed != 1 || hostOf(t, two, zone) != "192.0.2.1" {
		t.Fatalf("%+v, %v", report, err)
	}
	three := w.startServer(t, "three", kind, freePort(t))
	instances = append(instances, three.instance)
	second := changedPlan(zone, 2, "192.0.2.1", "192.0.2.2")
	if drift, err := u.Verify(t.Context(), first); err != nil || len(drift.Missing) != 3 || len(drift.Servers) != 2 {
		t.Errorf("with an empty instance: %+v, %v", drift, err)
	}
	report, err = u.Deliver(t.Context(), second, passFence)
	if err != nil || report.Confirmed != 2 || len(report.Servers) != 2 || hostOf(t, two, zone) != "192.0.2.2" || hostOf(t, three, zone) != "192.0.2.2" {
		t.Fatalf("%+v, %v", report, err)
	}
	if drift, err := u.Verify(t.Context(), second); err != nil || !drift.Empty() || len(drift.Foreign) != 0 {
		t.Errorf("%+v, %v", drift, err)
	}

	instances[0].Leaving = true
	if report, err = u.Deliver(t.Context(), second, passFence); err != nil || report.Confirmed != 2 || len(report.Servers) != 1 ||
		two.HasZone(t, zone) {
		t.Errorf("with an instance that leaves: %+v, %v", report, err)
	}
	instances = instances[1:]
	three.Stop()
	if report, err = u.Deliver(t.Context(), second, passFence); err != nil || report.Confirmed != 0 || report.Servers[0].Err == nil ||
		!strings.Contains(report.Servers[0].Err.Message, "dns/three") {
		t.Errorf("with an instance that is away: %+v, %v", report, err)
	}
	must.Succeed(t, three.Start(t.Context()))
	foreign := delivery.RRset{Name: name.MustParse("other." + zone), Type: rdata.A, TTL: 60, Data: []string{"192.0.2.99"}}
	three.updateRRset(t, second.Zone, foreign)
	if _, err := u.Remove(t.Context(), second, passFence); err != nil || !three.HasZone(t, zone) || hostOf(t, three, zone) != "" {
		t.Errorf("with a record of others: %v", err)
	}
	foreign.Data = nil
	three.updateRRset(t, second.Zone, foreign)
	lost := errors.New("lost")
	if _, err := u.Remove(t.Context(), second, func(context.Context) error { return lost }); !errors.Is(err, lost) ||
		!three.HasZone(t, zone) {
		t.Errorf("without a fence: %v", err)
	}
	if _, err := u.Remove(t.Context(), second, passFence); err != nil || three.HasZone(t, zone) {
		t.Errorf("withdrawn: %v", err)
	}
	if two.Bindcar != nil && two.Bindcar.Destroyed()+three.Bindcar.Destroyed() != 0 {
		t.Error("a zone was destroyed")
	}
	if err := u.Health(t.Context()); err != nil && !errors.Is(err, delivery.ErrNotProven) {
		t.Error(err)
	}
}
