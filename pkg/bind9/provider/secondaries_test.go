// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/rfc2136"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/test/must"
)

func changedPlan(zone string, at serial.Serial, before, after string) delivery.Plan {
	plan := fullPlan(zone, at, after)
	www := func(data string) delivery.RRset {
		return delivery.RRset{Name: name.MustParse("www." + zone), Type: rdata.A, TTL: 300, Data: []string{data}}
	}
	plan.Since, plan.Delivered, plan.Changes = at-1, true, []delivery.Change{{Before: www(before), After: www(after)}}
	return plan
}

// A secondary follows another primary with other serials when the first leaves the class; a leaving secondary loses
// the zone (S11.15).
func TestUpdater_secondariesFollowOnePrimary_S11_15(t *testing.T) {
	t.Parallel()
	const zone = "example.org."
	w := beginWorld(t)
	one, two := w.startServer(t, "one", "kubizone", freePort(t)), w.startServer(t, "two", "kubizone", freePort(t))
	follower := w.startServer(t, "three", "kubizone", freePort(t))
	follower.instance.Primary = false
	instances := []Instance{one.instance, two.instance, follower.instance}
	u := newUpdater(func() []Instance { return instances })
	u.notifyTime = 0 // no server sends NOTIFY
	if report := deliverPlan(t, u, fullPlan(zone, 1, "192.0.2.1")); len(report.Servers) != 3 || hostOf(t, follower, zone) != "192.0.2.1" {
		t.Fatalf("%+v", report)
	}
	targets := must.Get(u.readTargets(nil))(t)
	sources, stays := []*server{one, two}, 0
	if chooseSources(targets).primaries["dns/three"].Name == "dns/one" {
		stays = 1
	}
	source, other := sources[1-stays], sources[stays]
	// Foreign records let the primaries' serials diverge: the other primary is behind or ahead.
	for i := range 3 {
		source.updateRRset(t, name.MustParse(zone), delivery.RRset{Name: name.MustParse("count." + zone), Type: rdata.TXT, TTL: 60,
			Data: []string{`"` + strings.Repeat("x", i+1) + `"`}})
	}
	source.updateRRset(t, name.MustParse(zone), delivery.RRset{Name: name.MustParse("count." + zone), Type: rdata.TXT})
	if report := deliverPlan(t, u, changedPlan(zone, 2, "192.0.2.1", "192.0.2.2")); len(report.Servers) != 3 ||
		hostOf(t, follower, zone) != "192.0.2.2" {
		t.Fatalf("%+v", report)
	}
	if drift, err := u.Verify(t.Context(), fullPlan(zone, 2, "192.0.2.2")); err != nil || !drift.Empty() || slices.ContainsFunc(drift.Servers, func(s delivery.Server) bool { return s.Err != nil || s.Serial != 2 }) {
		t.Errorf("%+v, %v", drift, err)
	}

	instances = []Instance{other.instance, follower.instance}
	if report := deliverPlan(t, u, changedPlan(zone, 3, "192.0.2.2", "192.0.2.3")); len(report.Servers) != 2 ||
		hostOf(t, follower, zone) != "192.0.2.3" {
		t.Fatalf("after its primary left: %+v, it has %s", report, hostOf(t, follower, zone))
	}
	leaving := follower.instance
	leaving.Leaving = true
	instances = []Instance{other.instance, leaving}
	if drift, err := u.Verify(t.Context(), fullPlan(zone, 3, "192.0.2.3")); err != nil || len(drift.Servers) != 2 || drift.Servers[1].Serial == 3 || drift.Servers[1].Note == "" {
		t.Errorf("before the zone is removed: %+v, %v", drift, err)
	}
	if report := deliverPlan(t, u, changedPlan(zone, 4, "192.0.2.3", "192.0.2.4")); len(report.Servers) != 1 || follower.HasZone(t, zone) {
		t.Errorf("after it left: %+v", report)
	}
	for _, left := range [][]Instance{{follower.instance}, {}} { // no row for the leaving primary; the others lack the serial
		instances = left
		report, err := u.Deliver(t.Context(), fullPlan(zone, 4, "192.0.2.4"), passFence)
		if err == nil || !strings.Contains(err.Error(), "role Primary") || report.Servers == nil || len(report.Servers) != len(left) {
			t.Errorf("without a primary: %+v, %v", report, err)
		}
		drift, err := u.Verify(t.Context(), fullPlan(zone, 4, "192.0.2.4"))
		if err == nil || !strings.Contains(err.Error(), "role Primary") || drift.Servers == nil || len(drift.Servers) != len(left) || len(left) > 0 && drift.Servers[0].Serial != 0 {
			t.Errorf("compared without a primary: %+v, %v", drift, err)
		}
	}
}

// A new primary takes over some secondaries, and no others move.
func TestChooseSources_movesFew(t *testing.T) {
	targets := func(primaries ...string) (all []target) {
		for _, row := range primaries {
			all = append(all, target{Instance{Name: "dns/" + row, Primary: true}, &rfc2136.Provider{}})
		}
		for i := range 30 {
			all = append(all, target{Instance{Name: fmt.Sprintf("dns/s-%d", i)}, &rfc2136.Provider{}})
		}
		return all
	}
	before, after := chooseSources(targets("p", "q")), chooseSources(targets("p", "q", "r"))
	moved := 0
	for row, primary := range before.primaries {
		switch now := after.primaries[row].Name; {
		case now == "dns/r":
			moved++
		case now != primary.Name:
			t.Errorf("%s moved from %s to %s", row, primary.Name, now)
		}
	}
	if len(before.primaries) != 30 || moved == 0 || moved > 20 {
		t.Errorf("%d of %d moved", moved, len(before.primaries))
	}
}
