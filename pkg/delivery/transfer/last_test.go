// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"slices"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/transfertest"
)

// A server restored from an old disk has an older serial of the zone confirmed last, and is found so. A server that
// gives no answer, has a later serial, or is to lose the zone is not reported.
func TestAskLast_findsServersThatLostAZone(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	one, other := newSecondary(t, nil), newSecondary(t, nil)
	p := w.makeProvider(t, Secondary{Name: "one", Addr: one.addr}, Secondary{Name: "other", Addr: other.addr})
	plan := transfertest.PlanOf("u", "example.org.", 10)
	plan.CallTimeout = time.Minute
	w.PutZone(t, plan)
	one.serial.Store(10)
	other.serial.Store(10)
	must.Get(p.Deliver(t.Context(), plan, passFence))(t)
	expect := func(when string, want ...string) {
		t.Helper()
		if lost := p.AskLast(t.Context()); !slices.Equal(lost, want) {
			t.Errorf("%s: %q, want %q", when, lost, want)
		}
	}
	expect("as confirmed")
	one.serial.Store(11)
	expect("a later serial")
	one.silent.Store(true)
	expect("no answer")
	one.silent.Store(false)
	one.serial.Store(9)
	expect("an earlier serial", "one")
	expect("an earlier serial, again")
	one.serial.Store(10)
	must.Get(p.Verify(t.Context(), plan))(t)
	one.serial.Store(0)
	shared := must.Get(p.WithSecondaries(nil))(t)
	if lost := shared.AskLast(t.Context()); !slices.Equal(lost, []string{"one"}) {
		t.Errorf("no zone, by a provider for other secondaries: %q", lost)
	}
	must.Get(p.Remove(t.Context(), plan, passFence))(t)
	other.serial.Store(0)
	expect("withdrawn")
}

// To find a server restored from an old disk, the provider asks for the zone that changed last, because the disk lacks
// just this change. A comparison or repair of another zone does not replace this zone, and after a restart comparisons
// find it again.
func TestAskLast_asksForTheLastChange(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	changed, calm := transfertest.PlanOf("u", "example.org.", 10), transfertest.PlanOf("v", "example.net.", 9)
	w.PutZone(t, changed)
	w.PutZone(t, calm)
	now := time.Now()
	for what, begin := range map[string]func(*Provider, delivery.Plan){
		"delivered": func(p *Provider, plan delivery.Plan) { must.Get(p.Deliver(t.Context(), plan, passFence))(t) },
		"compared": func(p *Provider, plan delivery.Plan) {
			plan.Since, plan.Confirmed = plan.Serial, now
			must.Get(p.Verify(t.Context(), plan))(t)
		},
	} {
		one := newSecondary(t, nil)
		p := w.makeProvider(t, Secondary{Name: "one", Addr: one.addr})
		one.serial.Store(10)
		begin(p.Provider, changed)
		one.serial.Store(9)
		other := calm
		other.Since, other.Confirmed = other.Serial, now.Add(-time.Hour)
		must.Get(p.Verify(t.Context(), other))(t)
		must.Get(p.Deliver(t.Context(), other, passFence))(t)
		if lost := p.AskLast(t.Context()); !slices.Equal(lost, []string{"one"}) {
			t.Errorf("%s: %q", what, lost)
		}
	}
}

// After a change the worker waits a moment until secondaries have transferred the zone. A repair has no change that
// would have them transfer it: a server with an older serial has gone back, and waiting would be in vain.
func TestDeliver_waitsForNoServerThatWentBack(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	one := newSecondary(t, nil)
	p := w.makeProvider(t, Secondary{Name: "one", Addr: one.addr})
	plan := transfertest.PlanOf("u", "example.org.", 10)
	w.PutZone(t, plan)
	one.serial.Store(9)
	plan.Since = plan.Serial
	report := must.Get(p.Deliver(t.Context(), plan, passFence))(t)
	if n := one.asked.Load(); n != 1 || report.Confirmed != 0 || report.Servers[0].Serial != 9 {
		t.Errorf("after %d questions: %+v", n, report)
	}
}

// A secondary confirms each zone once in the drift interval, which may be a week. Between these times the provider asks
// for the zone confirmed last, so this memory has to last as long.
func TestAskLast_outlastsTheDriftInterval(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	one := newSecondary(t, nil)
	for interval, want := range map[time.Duration][]string{0: nil, 7 * 24 * time.Hour: {"one"}} {
		p := w.makeProvider(t, Secondary{Name: "one", Addr: one.addr})
		p.config.DriftInterval = interval
		p.confirmations.noteConfirmed(p.config.Secondaries[0], transfertest.PlanOf("u", "example.org.", 10), 10)
		before := p.confirmations.bySecondary["one"]
		before.confirmedAt = before.confirmedAt.Add(-6 * 24 * time.Hour)
		p.confirmations.bySecondary["one"] = before
		one.serial.Store(9)
		if lost := p.AskLast(t.Context()); !slices.Equal(lost, want) {
			t.Errorf("with driftInterval %s: %q, want %q", interval, lost, want)
		}
	}
}
