// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// Promise 1: an RRset that another client replaced stays. A foreign RRset equal to the zone's counts as delivered.
func TestDeliver_overwritesNothingUnseen(t *testing.T) {
	runAtServers(t, zoneText, func(t *testing.T, s server) {
		p := s.makeProvider(t)
		s.updateForeign(t, "add taken.example.org. 60 A 203.0.113.1", "add equal.example.org. 60 A 192.0.2.2", "add beside.example.org. "+
			"60 TXT theirs", "add over.example.org. 60 CNAME www.example.net.")
		first := makeZone(t, "taken 60 A 192.0.2.1", "equal 60 A 192.0.2.2", "beside 60 CNAME www", "over 60 A 192.0.2.3",
			"free 60 A 192.0.2.4", "changed 60 A 192.0.2.5", "grown 60 A 192.0.2.6")
		conflicts := []string{"beside.example.org. CNAME Conflict", "over.example.org. A Conflict", "taken.example.org. A Conflict"}
		again := first.planSince(first, 2, 2)
		again.Uncertain, again.History = true, []dns.Change{}
		for _, one := range first {
			again.Changes = append(again.Changes, delivery.Change{Before: one, After: one})
			again.Unconfirmed = append(again.Unconfirmed, one.Key())
		}
		for how, plan := range map[string]delivery.Plan{"the first delivery": first.planFull(2), "nothing before": first.planSince(nil, 0,
			2), "owed, after a restart": again} {
			p := s.makeProvider(t)
			if got := failedKeys(deliverPlan(t, p, plan)); !slices.Equal(got, conflicts) {
				t.Fatalf("%s: set aside: %q", how, got)
			}
			s.expectRecords(t, "taken.example.org. 60 A 203.0.113.1", "equal.example.org. 60 A 192.0.2.2",
				`beside.example.org. 60 TXT "theirs"`, "over.example.org. 60 CNAME www.example.net.",
				"free.example.org. 60 A 192.0.2.4", "changed.example.org. 60 A 192.0.2.5", "grown.example.org. 60 A 192.0.2.6")
		}
		// Another client changes delivered records, then the zone changes.
		s.updateForeign(t, "delete changed.example.org. A", "add changed.example.org. 60 A 203.0.113.5", "add grown.example.org. "+
			"60 A 203.0.113.6")
		second := makeZone(t, "equal 60 A 192.0.2.2", "free 60 A 192.0.2.40", "changed 60 A 192.0.2.50")
		if got := failedKeys(deliverPlan(t, p, second.planSince(first, 2, 3))); !slices.Equal(got,
			[]string{"changed.example.org. A Conflict"}) {
			t.Errorf("set aside: %q", got)
		}
		s.expectRecords(t, "taken.example.org. 60 A 203.0.113.1", "equal.example.org. 60 A 192.0.2.2",
			`beside.example.org. 60 TXT "theirs"`, "over.example.org. 60 CNAME www.example.net.",
			"free.example.org. 60 A 192.0.2.40", "changed.example.org. 60 A 203.0.113.5", "grown.example.org. 60 A 203.0.113.6")
		// The report is the same after a partial write and after a restart, until the foreign records go.
		again = second.planSince(first, 2, 3)
		again.Uncertain, again.History = true, makeHistory(first, second)
		p = s.makeProvider(t)
		if got := failedKeys(deliverPlan(t, p, again)); !slices.Contains(got, "changed.example.org. A Conflict") {
			t.Errorf("set aside: %q", got)
		}
		s.updateForeign(t, "delete changed.example.org. A")
		deliverPlan(t, p, again)
		if got := s.listRecords(t); !slices.Contains(got, "changed.example.org. 60 A 192.0.2.50") {
			t.Errorf("the name is free and the zone's record is not there: %q", got)
		}
	})
}

// F22, F23: a repetition changes nothing, not even the serial, and a plan after a crash replaces records, also by those
// of another type.
func TestDeliver_isRepeated(t *testing.T) {
	runAtServers(t, zoneText, func(t *testing.T, s server) {
		p := s.makeProvider(t)
		first := makeZone(t, "@ 300 NS elsewhere.example.net.", "www 60 A 192.0.2.1", "gone 60 A 192.0.2.2", "alias 60 CNAME www",
			"host 60 A 192.0.2.5", "svc 60 HTTPS 1|.|alpn=h2", `old 60 TYPE65280 \#|2|abcd`)
		second := makeZone(t, "www 60 A 192.0.2.3", "alias 90 A 192.0.2.6", "host 60 CNAME www", "new 60 A 192.0.2.4")
		deliverPlan(t, p, first.planFull(1))
		after := s.readSerial(t)
		deliverPlan(t, p, first.planFull(1))
		deliverPlan(t, p, first.planSince(nil, 0, 1))
		if got := s.readSerial(t); got != after {
			t.Errorf("repeating went from serial %s to %s", after, got)
		}
		if drift, err := p.Verify(t.Context(), first.planFull(1)); err != nil || !drift.Empty() || len(drift.Foreign) != 1 {
			t.Errorf("after the first delivery: %+v, %v", drift, err)
		}
		// A crash left www in neither version.
		s.updateForeign(t, "delete www.example.org. A", "add www.example.org. 60 A 192.0.2.99")
		plan := second.planSince(first, 1, 3)
		between := makeZone(t, "www 60 A 192.0.2.99", "gone 60 A 192.0.2.2", "alias 60 CNAME www", "host 60 A 192.0.2.5")
		plan.Uncertain, plan.History = true, makeHistory(first, between, second)
		if report := deliverPlan(t, s.makeProvider(t), plan); len(report.Failed) > 0 {
			t.Errorf("%v", failedKeys(report))
		}
		s.expectRecords(t, "www.example.org. 60 A 192.0.2.3", "alias.example.org. 90 A 192.0.2.6",
			"host.example.org. 60 CNAME www.example.org.", "new.example.org. 60 A 192.0.2.4")
	})
}

// If the server has other data at a name, the RRset is in conflict and left out. To look for conflicts takes a zone
// transfer. A known conflict is not looked for again at each change, but its end is still noticed.
func TestDeliver_transfersNothingForAConflictThatIsKnown(t *testing.T) {
	runAtServers(t, zoneText, func(t *testing.T, s server) {
		p := s.makeProvider(t)
		s.updateForeign(t, "add taken.example.org. 60 A 203.0.113.1", "add beside.example.org. 60 TXT theirs")
		first := makeZone(t, "taken 60 A 192.0.2.1", "beside 60 CNAME www", "www 60 A 192.0.2.2")
		second := makeZone(t, "taken 60 A 192.0.2.1", "beside 60 CNAME www", "www 60 A 192.0.2.3")
		conflicts := []string{"beside.example.org. CNAME Conflict", "taken.example.org. A Conflict"}
		if got := failedKeys(deliverPlan(t, p, first.planFull(1))); !slices.Equal(got, conflicts) {
			t.Errorf("set aside: %q", got)
		}
		plan := second.planSince(first, 1, 2)
		plan.Uncertain, plan.History = true, makeHistory(first, second)
		for _, one := range second {
			if one.Name.String() != "www.example.org." {
				plan.Changes = append(plan.Changes, delivery.Change{Before: one, After: one})
				plan.Unconfirmed = append(plan.Unconfirmed, one.Key())
			}
		}
		at := p.config.TransferServer
		p.config.TransferServer = "192.0.2.99:53" // unreachable
		for range 2 {
			if got := failedKeys(deliverPlan(t, p, plan)); !slices.Equal(got, conflicts) {
				t.Errorf("set aside: %q", got)
			}
			plan.Changes = plan.Changes[1:] // without www
			if plan.Changes[0].After.Name.String() == "www.example.org." {
				t.Fatal("the order is another")
			}
		}
		s.expectRecords(t, "taken.example.org. 60 A 203.0.113.1", `beside.example.org. 60 TXT "theirs"`, "www.example.org. 60 A 192.0.2.3")
		p.config.TransferServer = at
		s.updateForeign(t, "delete taken.example.org. A", "delete beside.example.org. TXT")
		plan = second.planSince(second, 2, 2)
		plan.Uncertain, plan.History = true, makeHistory(second, second)
		for _, one := range second {
			plan.Changes = append(plan.Changes, delivery.Change{Before: one, After: one})
		}
		if got := failedKeys(deliverPlan(t, p, plan)); len(got) > 0 {
			t.Errorf("set aside: %q", got)
		}
		s.expectRecords(t, "taken.example.org. 60 A 192.0.2.1", "beside.example.org. 60 CNAME www.example.org.",
			"www.example.org. 60 A 192.0.2.3")
	})
}

// Replace overwrites foreign records of the zone's own RRsets only.
func TestDeliver_replacesIfConfigured(t *testing.T) {
	runAtServers(t, zoneText, func(t *testing.T, s server) {
		p := s.makeProvider(t)
		p.config.Replace = true
		s.updateForeign(t, "add taken.example.org. 60 A 203.0.113.1", "add beside.example.org. 60 TXT theirs", "add else.example.org. "+
			"60 A 203.0.113.2", "add alias.example.org. 60 CNAME www.example.net.")
		first := makeZone(t, "taken 60 A 192.0.2.1", "beside 60 A 192.0.2.2", "alias 60 A 192.0.2.3")
		if got := failedKeys(deliverPlan(t, p, first.planFull(1))); !slices.Equal(got, []string{"alias.example.org. A Conflict"}) {
			t.Errorf("set aside: %q", got)
		}
		remote := []string{`beside.example.org. 60 TXT "theirs"`, "else.example.org. 60 A 203.0.113.2", "alias.example.org. 60 CNAME www.example.net."}
		s.expectRecords(t, append(remote, "taken.example.org. 60 A 192.0.2.1", "beside.example.org. 60 A 192.0.2.2")...)
		plan := first.planFull(1)
		plan.Since, plan.Uncertain, plan.Changes, plan.History = 1, true, []delivery.Change{}, []dns.Change{}
		must.Get(p.Remove(t.Context(), plan, passFence))(t)
		s.expectRecords(t, remote...)
	})
}

// An update overwrites only data of Kubizone, as the zone's history shows. If the history does not reach back far
// enough, records at the server count as Kubizone's, except RRsets refused before. At a server without a former
// delivery, no record counts as Kubizone's.
func TestDeliver_withoutAHistory(t *testing.T) {
	runAtServers(t, zoneText, func(t *testing.T, s server) {
		first, second := makeZone(t, "www 60 A 192.0.2.1", "taken 60 A 192.0.2.2"), makeZone(t, "www 60 A 192.0.2.3",
			"taken 60 A 192.0.2.4")
		s.updateForeign(t, "add taken.example.org. 60 A 203.0.113.1")
		deliverPlan(t, s.makeProvider(t), first.planFull(1))
		plan := second.planFull(90)
		plan.Delivered, plan.Uncertain, plan.Unconfirmed = true, true, []delivery.RRsetKey{first[0].Key()}
		if first[0].Name.String() != "taken.example.org." {
			t.Fatal(first[0].Name)
		}
		if got := failedKeys(deliverPlan(t, s.makeProvider(t), plan)); !slices.Equal(got, []string{"taken.example.org. A Conflict"}) {
			t.Errorf("set aside: %q", got)
		}
		s.expectRecords(t, "www.example.org. 60 A 192.0.2.3", "taken.example.org. 60 A 203.0.113.1")
		// To a new server nothing was ever delivered.
		third := makeZone(t, "www 60 A 192.0.2.5")
		if got := failedKeys(deliverPlan(t, s.makeProvider(t), third.planFull(91))); !slices.Equal(got,
			[]string{"www.example.org. A Conflict"}) {
			t.Errorf("set aside: %q", got)
		}
	})
}

// A DNS message has at most 64 KiB. A larger zone is sent in several updates. A single RRset beyond 64 KiB cannot be
// sent at all, and fails without the others (promise 3).
func TestDeliver_splitsWhatOneMessageDoesNotHold(t *testing.T) {
	runAtServers(t, zoneText, func(t *testing.T, s server) {
		p := s.makeProvider(t)
		var texts []string
		for i := range 3000 {
			texts = append(texts, fmt.Sprintf("host-%d 60 A 10.0.%d.%d", i, i>>8, i&255))
		}
		calls := 0
		report, err := p.Deliver(t.Context(), makeZone(t, texts...).planFull(1), func(context.Context) error { calls++; return nil })
		if err != nil || len(report.Failed) > 0 || calls < 3 || calls > 10 {
			t.Fatalf("%v, %v, %d calls", failedKeys(report), err, calls)
		}
		if n := len(s.listRecords(t)); n != 3001 {
			t.Errorf("%d records", n)
		}
		large := func(c string) string {
			return "large 60 TXT " + strings.Join(slices.Collect(func(yield func(string) bool) {
				for i := range 20 {
					if !yield(fmt.Sprintf("%d%s", i, strings.Repeat(c, 2000))) {
						return
					}
				}
			}), " ")
		}
		before, after := append(makeZone(t, texts...), makeZone(t, large("a"))...), append(makeZone(t, texts...),
			makeZone(t, large("b"), "small 60 A 192.0.2.1")...)
		report = deliverPlan(t, p, after.planSince(before, 1, 2))
		if got := failedKeys(report); !slices.Equal(got, []string{"large.example.org. TXT ValidationFailed"}) {
			t.Errorf("%q", got)
		}
		if got := s.listRecords(t); !slices.Contains(got, "small.example.org. 60 A 192.0.2.1") {
			t.Error("the RRset beside it is not there")
		}
	})
}

// Attack 8: any number of refused records leaves the rest confirmed within a few attempts, a new change within the
// first.
func TestDeliver_isThroughWithAZoneOfWhichMuchIsRefused(t *testing.T) {
	s := startBIND(t, rig.PrimaryZone{Zone: "example.org.", Text: zoneText, UpdateKey: rigKey.Name})
	p := s.makeProvider(t)
	const poison, good = 300, 60
	var lines, arrive []string
	for n := range poison {
		lines = append(lines, fmt.Sprintf("a_%03d 60 A 192.0.2.66", n))
	}
	for n := range good {
		lines, arrive = append(lines, fmt.Sprintf("n%02d 60 A 192.0.2.1", n)), append(arrive, fmt.Sprintf("n%02d.example.org. 60 A 192.0.2.1", n))
	}
	whole := makeZone(t, lines...)
	calls := 0
	counted := func(context.Context) error { calls++; return nil }
	var report delivery.Report
	var err error
	for attempt := range 20 {
		if report, err = p.Deliver(t.Context(), whole.planFull(1), counted); err == nil && len(report.Failed) == poison {
			t.Logf("confirmed with attempt %d, %d updates in all", attempt+1, calls)
			break
		}
		var e *delivery.Error
		if err != nil && (!errors.As(err, &e) || e.RetryAfter != soon) {
			t.Fatalf("attempt %d: %v", attempt, err)
		}
	}
	if err != nil || len(report.Failed) != poison {
		t.Fatalf("%d are set aside: %v", len(report.Failed), err)
	}
	s.expectRecords(t, arrive...)
	// The Loop's next plan: one change, and a part of the pending RRsets.
	calls = 0
	changed := makeZone(t, append(slices.Clone(lines[:poison+good-1]), fmt.Sprintf("n%02d 60 A 192.0.2.2", good-1))...)
	plan := changed.planSince(whole, 1, 2)
	plan.Uncertain, plan.Delivered, plan.History = true, true, makeHistory(whole, changed)
	for _, one := range whole[:64] {
		plan.Unconfirmed = append(plan.Unconfirmed, one.Key())
		plan.Changes = append(plan.Changes, delivery.Change{Before: one, After: one})
	}
	if report, err = p.Deliver(t.Context(), plan, counted); err != nil || report.Confirmed != 2 || len(report.Failed) != 64 {
		t.Errorf("%d failed: %v", len(report.Failed), err)
	}
	if calls > 1+2*maxIsolating {
		t.Errorf("%d updates beside one change", calls)
	}
	s.expectRecords(t, append(arrive[:good-1], fmt.Sprintf("n%02d.example.org. 60 A 192.0.2.2", good-1))...)
}

// Knot gives the same answer, NOTAUTH with BADKEY, to an unknown key and to a known key that may not write the name. If
// the key works for other updates, only the name is refused. Its removal is then not pending, because it never got to
// the server (promise 4).
func TestDeliver_setsAsideWhatKnotDeniesTheKey(t *testing.T) {
	knot := rig.NeedServer(rig.StartKnot(t.Context(), rig.KnotConfig{
		Key: &sha512, UpdateOwners: []string{"ns", "ok", "www"},
		Zones: []rig.PrimaryZone{{Zone: "example.org.", Text: zoneText + "there.example.org. 60 IN A 192.0.2.5\n", UpdateKey: sha512.Name}},
	}))(t)
	s := server{"Knot", knot.Addr, sha512, knot.Log}
	p := s.makeProvider(t)
	lines := []string{"forbidden 60 A 192.0.2.1", "ok 60 A 192.0.2.2", "www 60 A 192.0.2.3", "a.www 60 A 192.0.2.4"}
	first, second := makeZone(t, lines...), makeZone(t, lines[1:]...)
	report := deliverPlan(t, p, first.planFull(1))
	if got := failedKeys(report); !slices.Equal(got, []string{"forbidden.example.org. A ValidationFailed"}) || report.Failed[0].Err.Code != "BADKEY" || report.Failed[0].Err.WholeClass {
		t.Errorf("%q: %v", got, report.Failed)
	}
	s.expectRecords(t, "ok.example.org. 60 A 192.0.2.2", "www.example.org. 60 A 192.0.2.3", "a.www.example.org. 60 A 192.0.2.4",
		"there.example.org. 60 A 192.0.2.5")
	for _, p := range []*Provider{p, s.makeProvider(t)} {
		removal := second.planSince(first, 1, 2)
		removal.Uncertain, removal.Unconfirmed, removal.Delivered = true, []delivery.RRsetKey{{Name: name.MustParse("forbidden.example.org."), Type: rdata.A}}, true
		if report := deliverPlan(t, p, removal); len(report.Failed) > 0 {
			t.Errorf("owed: %q", failedKeys(report))
		}
	}
	// Existing records that the key may no longer remove stay pending.
	report = deliverPlan(t, p, second.planSince(makeZone(t, append(slices.Clone(lines[1:]), "there 60 A 192.0.2.5")...), 2, 3))
	if got := failedKeys(report); !slices.Equal(got, []string{"there.example.org. A ValidationFailed"}) {
		t.Errorf("what stands there is not owed: %q", got)
	}
	// An unknown key fails the whole class.
	other := sha512
	other.Secret = "YW5vdGhlciBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3Q="
	var e *delivery.Error
	if _, err := (server{"Knot", knot.Addr, other, knot.Log}).makeProvider(t).Deliver(t.Context(), second.planSince(first, 1, 2),
		passFence); !errors.As(err, &e) || e.Reason != delivery.ReasonAuthenticationFailed || !e.WholeClass {
		t.Errorf("another key: %v", err)
	}
}

// Of a zone to be removed, the server refuses 200 removals. Each attempt starts from the beginning, yet the removals
// that the server permits are done after a few attempts (attack 8).
func TestRemove_isThroughWithAZoneOfWhichMuchIsRefused(t *testing.T) {
	const denied = 200
	text, lines := zoneText, []string{"ok 60 A 192.0.2.2"}
	for n := range denied {
		text += fmt.Sprintf("a%03d 60 IN A 192.0.2.66\n", n)
		lines = append(lines, fmt.Sprintf("a%03d 60 A 192.0.2.66", n))
	}
	knot := rig.NeedServer(rig.StartKnot(t.Context(), rig.KnotConfig{Key: &sha512, UpdateOwners: []string{"ok"},
		Zones: []rig.PrimaryZone{{Zone: "example.org.", Text: text + "ok 60 IN A 192.0.2.2\n", UpdateKey: sha512.Name}}}))(t)
	s := server{"Knot", knot.Addr, sha512, knot.Log}
	p := s.makeProvider(t)
	for attempt := range 20 {
		report, err := p.Remove(t.Context(), makeZone(t, lines...).planFull(1), passFence)
		if err == nil && len(report.Failed) == 0 {
			t.Fatal("the server refuses nothing")
		}
		if !slices.Contains(s.listRecords(t), "ok.example.org. 60 A 192.0.2.2") {
			t.Logf("removed by attempt %d", attempt+1)
			return
		}
	}
	t.Error("the refused removals keep the other back")
}

// If the server cannot parse a record, it answers an unsigned FORMERR, which could also mean a fault of the connection.
// Still only that record fails, and all others are written (promise 4).
func TestDeliver_setsAsideWhatTheServerCannotRead(t *testing.T) {
	s := startBIND(t, rig.PrimaryZone{Zone: "example.org.", Text: zoneText, UpdateKey: rigKey.Name})
	report := deliverPlan(t, s.makeProvider(t), makeZone(t, "a 60 A 192.0.2.1", `b 60 TYPE66 \#|1|00`, "d 60 A 192.0.2.3",
		`e 60 TYPE67 \#|0`, "f 60 A 192.0.2.4").planFull(1))
	if got := failedKeys(report); !slices.Equal(got, []string{"b.example.org. TYPE66 ValidationFailed", "e.example.org. TYPE67 ValidationFailed"}) || report.Failed[0].Err.Code != "FORMERR" {
		t.Errorf("%q: %v", got, report.Failed)
	}
	s.expectRecords(t, "a.example.org. 60 A 192.0.2.1", "d.example.org. 60 A 192.0.2.3", "f.example.org. 60 A 192.0.2.4")
}

func TestErrors_haveTheReasonsOfTheAnswer(t *testing.T) {
	runAtServers(t, zoneText, func(t *testing.T, s server) {
		wrongSecret, unknown, algorithm := s.key, s.key, s.key
		wrongSecret.Secret = "YW5vdGhlciBzZWNyZXQsIGFzIGxvbmcgYXMgdGhpcyE="
		unknown.Name = "unknown.example"
		algorithm.Algorithm = map[string]string{"hmac-sha256": "hmac-sha512", "hmac-sha512": "hmac-sha256"}[s.key.Algorithm]
		elsewhere := makeZone(t, "www 60 A 192.0.2.1").planFull(1)
		elsewhere.Zone = name.MustParse("example.net.")
		changes := makeZone(t, "www 60 A 192.0.2.1").planSince(nil, 1, 2)
		changesElsewhere := changes
		changesElsewhere.Zone = elsewhere.Zone
		for _, c := range []struct {
			what string
			key  rig.TSIGKey
			plan delivery.Plan
			want delivery.Reason
			code string
		}{
			{"wrong secret, update", wrongSecret, changes, delivery.ReasonAuthenticationFailed, "BADSIG"},
			{"wrong secret, transfer", wrongSecret, makeZone(t, "www 60 A 192.0.2.1").planFull(1), delivery.ReasonAuthenticationFailed,
				"BADSIG"},
			{"unknown key", unknown, changes, delivery.ReasonAuthenticationFailed, "BADKEY"},
			{"another algorithm", algorithm, changes, delivery.ReasonAuthenticationFailed, "BADKEY"},
			{"another zone, update", s.key, changesElsewhere, delivery.ReasonZoneNotFound, "NOTAUTH"},
			{"another zone, transfer", s.key, elsewhere, delivery.ReasonZoneNotFound, "NOTAUTH"},
		} {
			provider := must.Get(New(Config{Server: s.addr.String(), Key: keyOf(t, c.key), Dial: anywhere}))(t)
			_, err := provider.Deliver(t.Context(), c.plan, passFence)
			var e *delivery.Error
			if !errors.As(err, &e) || e.Reason != c.want || e.Code != c.code {
				t.Errorf("%s: %v, want %s (%s)", c.what, err, c.want, c.code)
			}
		}
		provider := s.makeProvider(t)
		deliverPlan(t, provider, makeZone(t).planFull(1))
		must.Succeed(t, provider.Health(t.Context()))
		provider.config.Key = keyOf(t, wrongSecret)
		var e *delivery.Error
		if err := provider.Health(t.Context()); !errors.As(err, &e) || e.Reason != delivery.ReasonAuthenticationFailed || !e.WholeClass {
			t.Errorf("Health with a wrong secret: %v", err)
		}
		s.expectRecords(t)
	})
}

// Only the server for updates can prove the end of a zone. If the transfer server alone lacks the zone, the
// configuration is wrong, and nothing is proved (S8.4).
func TestWithdraw_asksTheServerThatTakesUpdatesForAZoneThatIsGone_S8_4(t *testing.T) {
	key := rigKey
	bind := func(zone string) string {
		text := strings.ReplaceAll(zoneText, "example.org.", zone)
		return startBIND(t, rig.PrimaryZone{Zone: zone, Text: text, UpdateKey: key.Name}).addr.String()
	}
	has, lacks := bind("example.org."), bind("example.net.")
	for _, c := range []struct {
		server, transfers string
		want              delivery.Reason
	}{{lacks, lacks, delivery.ReasonZoneNotFound}, {lacks, "", delivery.ReasonZoneNotFound}, {has, lacks, delivery.ReasonInvalidConfiguration}, {lacks, has, ""}} {
		p := must.Get(New(Config{Server: c.server, TransferServer: c.transfers, Key: keyOf(t, key), Dial: anywhere}))(t)
		_, err := p.Remove(t.Context(), makeZone(t, "www 60 A 192.0.2.1").planFull(1), passFence)
		var e *delivery.Error
		if errors.As(err, &e) != (c.want != "") || e != nil && e.Reason != c.want {
			t.Errorf("updates at one that has it %v, transfers %v: %v, want %s", c.server == has, c.transfers == has, err, c.want)
		}
	}
}

func TestErrors_ofWhoMayNotUpdateOrIsNotThere(t *testing.T) {
	key := rigKey
	bind := startBIND(t, rig.PrimaryZone{Zone: "example.org.", Text: zoneText})
	gone := must.Get(rig.FreePort())(t)
	for _, c := range []struct {
		config Config
		want   delivery.Reason
	}{
		{Config{Server: bind.addr.String(), Dial: anywhere}, delivery.ReasonInvalidConfiguration},
		{Config{Server: gone.String(), Dial: anywhere}, delivery.ReasonServerUnreachable},
		// Attack 51: a loopback address needs the class's permission.
		{Config{Server: bind.addr.String()}, delivery.ReasonInvalidConfiguration},
	} {
		c.config.Key = keyOf(t, key)
		p := must.Get(New(c.config))(t)
		for what, plan := range map[string]delivery.Plan{"update": makeZone(t, "www 60 A 192.0.2.1").planSince(nil, 1, 2),
			"transfer": makeZone(t).planFull(2)} {
			if what == "transfer" && c.config.Dial != nil && c.want == delivery.ReasonInvalidConfiguration {
				continue // transfers are open to any local client
			}
			_, err := p.Deliver(t.Context(), plan, passFence)
			var e *delivery.Error
			if !errors.As(err, &e) || e.Reason != c.want {
				t.Errorf("%s, %s: %v, want %s", c.config.Server, what, err, c.want)
			}
		}
	}
}

func TestNew_refusesWhatCannotWork(t *testing.T) {
	key := keyOf(t, rigKey)
	weak := key
	weak.Algorithm = "hmac-md5.sig-alg.reg.int."
	for _, c := range []Config{{Key: key}, {Server: "192.0.2.1", Key: weak}, {Server: "192.0.2.1"}} {
		var e *delivery.Error
		if _, err := New(c); !errors.As(err, &e) || e.Reason != delivery.ReasonInvalidConfiguration {
			t.Errorf("%q %q: %v", c.Server, c.Key.Algorithm, err)
		}
	}
	for server, want := range map[string]string{"192.0.2.1": "192.0.2.1:53", "[2001:db8::1]": "[2001:db8::1]:53", "2001:db8::1": "[2001:db8::1]:53", "ns.example:5353": "ns.example:5353"} {
		if p, err := New(Config{Server: server, Key: key}); err != nil || p.config.Server != want || p.config.TransferServer != want {
			t.Errorf("%s: %v, %v", server, p.config.Server, err)
		}
	}
}
