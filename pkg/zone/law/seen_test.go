// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// countFacts returns the number of facts read by a decision, and how many of them need a guard of their own at the
// commit, because neither the zone's revision nor the range of the names above covers them (I5).
func (w *world) countFacts(seen *law.Facts, zone string) (all, guarded int) {
	for k := range seen.All() {
		all++
		if seen.IsUsed(k) && k.Zone != zone && k.Kind != law.KindHolding {
			guarded++
		}
	}
	return all, guarded
}

func (w *world) decideCreation(r law.Record) (*law.Facts, law.Outcome) {
	return w.lookUpFacts(records.RecordInput{Namespace: r.Namespace, Name: r.Name, UID: r.UID, After: &r, Now: w.now, By: r.Namespace,
		WorkID: "work"})
}

func (w *world) lookUpFacts(ask records.RecordInput) (*law.Facts, law.Outcome) {
	seen := law.NewFacts()
	for {
		out := records.DecideRecord(seen, ask)
		if len(out.Need) == 0 {
			return seen, out
		}
		for _, k := range out.Need {
			seen.Put(k, w.answerKey(k))
		}
	}
}

func makeSettings(rules []rules.Rule, grace, maxDeletePercent int64) law.ZoneSettings {
	return law.ZoneSettings{ZoneRules: law.ZoneRules{Rules: rules}, Grace: grace, MaxDeletePercent: maxDeletePercent}
}

func specOf(ns, object, domain string) zones.ZoneSpec {
	return zones.ZoneSpec{Ref: law.Ref{Namespace: ns, Name: object}, DomainName: domain, Header: someHeader,
		ZoneSettings: makeSettings(allowEverything(), 3600, 100)}
}

func recordOf(ns, object, domain string, t rdata.Type, values ...string) law.Record {
	r := law.Record{Namespace: ns, Name: object, UID: object, DomainName: domain, Type: t}
	for _, text := range values {
		r.Values = append(r.Values, mustParse(rdata.Parse(t, text)))
	}
	return r
}

// While records move, a decision also reads facts of the zones being removed, and the transaction compares each of
// them. A transaction has at most 90 compares, but the PTR of an IPv6 address has 34 labels. A deep name must therefore
// not need more compares than a shallow one.
func TestSeen_guardsNoLabelOfADeepName_S2_7(t *testing.T) {
	for _, removed := range []int{1, 4, 15} {
		w := newWorld()
		w.quick = true
		put := func(s zones.ZoneSpec) {
			mustAccept(w.putZone(s, true))(t)
			w.settleAll()
		}
		put(specOf("owner", "org", "org."))
		below := "org."
		var gone []object
		for i := range removed {
			below = "a." + below
			gone = append(gone, object{"a", fmt.Sprint("z", i)})
			put(specOf("a", gone[i].Name, below))
		}
		for _, o := range gone {
			w.deleteZone(o)
		}
		few, _ := w.decideCreation(recordOf("b", "few", "x."+below, rdata.A, "192.0.2.1"))
		zone := w.zoneOf("", name.MustParse("org.")).UID
		_, most := w.countFacts(few, zone)
		for _, labels := range []int{34, 120} {
			deep, out := w.decideCreation(recordOf("b", "deep", strings.Repeat("x.", labels-removed-1)+below, rdata.A, "192.0.2.1"))
			if out.Plan == nil {
				t.Fatal(out.Refusal)
			}
			all, guarded := w.countFacts(deep, zone)
			t.Logf("%d zones removed, %d labels: %d facts, %d guarded", removed, labels, all, guarded)
			if guarded > most {
				t.Errorf("%d zones removed, %d labels: %d facts of other zones are guarded, and %d at a name of %d labels",
					removed, labels, guarded, most, removed+2)
			}
		}
	}
}

// The decision about a tenant's name reads the same number of facts below names of the zone's own namespace as
// elsewhere, although the names must be found.
func TestSeen_ofOwnNamesIsWhatClaimsNeed_S4_9(t *testing.T) {
	w := newWorld()
	spec := specOf("owner", "org", "org.")
	spec.Rules = append(spec.Rules, rules.Rule{Namespaces: []string{"b"}, Records: []rules.RecordRule{makeRecordRule("*.x", nil, false)}})
	mustAccept(w.putZone(spec, true))(t)
	w.settleAll()
	count := func() (owners, all int) {
		seen, out := w.decideCreation(recordOf("b", "new", "new.y.x.org.", rdata.A, "192.0.2.1"))
		if out.Plan == nil {
			t.Fatal(out.Refusal)
		}
		for k := range seen.All() {
			if k.Owner.IsWildcard() { // of a name that the record may hide
				continue
			}
			if all++; k.Kind == law.KindOwner {
				owners++
			}
		}
		return owners, all
	}
	owners, all := count()
	t.Logf("%d facts, %d of them owners", all, owners)
	if owners != 4 {
		t.Errorf("%d owners are looked at for a name of three labels", owners)
	}
	for i, n := range []string{"x.org.", "_sip._tcp.y.x.org.", "*._domainkey.x.org.", "wpad.org."} {
		mustAccept(w.putRecord(recordOf("owner", fmt.Sprint("own", i), n, rdata.TXT, "own")))(t)
	}
	w.settleAll()
	if o, a := count(); o != owners || a != all {
		t.Errorf("%d facts with %d owners below own names, %d with %d elsewhere", a, o, all, owners)
	}
}

// The decision about an MX record at the apex reads facts about each host named there, and a host may have 120 labels.
// The number of facts must depend on the number of hosts, not of their labels, because each fact is a read.
func TestSeen_ofHostsAtTheApexIsBounded_S6_15(t *testing.T) {
	w := newWorld()
	w.quick = true
	spec := specOf("owner", "org", "org.")
	for _, rule := range spec.Rules {
		rule.Records[1].Shared = true // at @
	}
	mustAccept(w.putZone(spec, true))(t)
	w.settleAll()
	for _, ns := range []string{"owner", "b"} {
		facts := map[int]int{}
		for _, n := range []int{8, 100} {
			seen, out := w.decideCreation(recordOf(ns, "mx", "org.", rdata.MX, deepHosts(n)...))
			if out.Plan == nil {
				t.Fatal(out.Refusal)
			}
			facts[n], _ = w.countFacts(seen, "")
		}
		t.Logf("facts for hosts: %v", facts)
		if facts[100]-facts[8] > 2*100 { // the data at each host, for the warning of an MX (S5.2)
			t.Errorf("by %s: %d facts for 8 hosts of 110 labels, and %d for 100", ns, facts[8], facts[100])
		}
	}
}

// New NS Records hide the records below their name, so their write reads these records to warn of them. The removal of
// NS Records hides nothing, so the write must not read the records below. There may be very many.
func TestSeen_ofNSThatGoLeavesOutWhatIsBelow_S5_6(t *testing.T) {
	w := newWorld()
	mustAccept(w.putZone(specOf("owner", "org", "org."), true))(t)
	w.settleAll()
	below := law.Key{Kind: law.KindOwnersBelow, Zone: w.zoneOf("", name.MustParse("org.")).UID, Owner: name.MustRel("x")}
	r := recordOf("a", "ns", "x.org.", rdata.NS, "ns.example.net.")
	for _, asks := range []bool{true, false} {
		ask := records.RecordInput{Namespace: "a", Name: "ns", UID: "ns", After: &r, Now: w.now, By: "a", WorkID: "work"}
		if !asks {
			mustAccept(w.putRecord(r))(t)
			was := w.records[object{"a", "ns"}]
			ask.UID, ask.Before, ask.After = was.record.UID, was.readContribution(), nil
		}
		seen, out := w.lookUpFacts(ask)
		if out.Plan == nil {
			t.Fatal(out.Refusal)
		}
		if _, asked := seen.Get(below); asked != asks {
			t.Errorf("NS that come %v: the names below are asked for %v", asks, asked)
		}
	}
}

// A plain record reads no wildcard, and neither does a challenge at a name with data. Any other challenge reads one
// wildcard for each label without data and, if a wildcard answers, the owners below the topmost hidden name.
func TestSeen_ofAChallengeIsFew_S4_23(t *testing.T) {
	w := newWorld()
	spec := specOf("owner", "org", "org.")
	spec.Rules = spec.Rules[:1]
	for _, p := range []string{"_acme-challenge.*", "_acme-challenge.*.*", "_acme-challenge.*.*.*"} {
		spec.Rules = append(spec.Rules, rules.Rule{Namespaces: []string{"guest"},
			Records: []rules.RecordRule{makeRecordRule(p, nil, false)}})
	}
	mustAccept(w.putZone(spec, true))(t)
	w.settleAll()
	for _, n := range []string{"x.org.", "*.wild.org."} {
		mustAccept(w.putRecord(recordOf("owner", n, n, rdata.A, "192.0.2.1")))(t)
	}
	for _, x := range []struct {
		owner             string
		wildcards, ranges int
	}{
		{"_acme-challenge.x.org.", 0, 0},
		{"_acme-challenge.y.x.org.", 1, 0},
		{"_acme-challenge.a.b.c.org.", 3, 0},
		{"_acme-challenge.a.wild.org.", 2, 1},
	} {
		seen, out := w.decideCreation(recordOf("guest", "challenge", x.owner, rdata.TXT, "token"))
		if (out.Refusal != nil) != (x.ranges > 0) {
			t.Errorf("%s: %+v", x.owner, out.Refusal)
		}
		wildcards, ranges := 0, 0
		for k := range seen.All() {
			if k.Kind == law.KindOwner && k.Owner.IsWildcard() {
				wildcards++
			}
			if k.Kind == law.KindOwnersBelow {
				ranges++
			}
		}
		if wildcards != x.wildcards || ranges != x.ranges {
			t.Errorf("%s: %d wildcards and %d ranges", x.owner, wildcards, ranges)
		}
	}
	// A plain record looks for the wildcard that it may hide a name from, and only with one for a name there.
	for plain, want := range map[string][2]int{"a.org.": {0, 0}, "a.x.org.": {0, 0}, "a.b.c.org.": {2, 0}, "a.b.wild.org.": {2, 1}} {
		seen, _ := w.decideCreation(recordOf("owner", "plain", plain, rdata.A, "192.0.2.1"))
		wildcards, touched := 0, 0
		for k := range seen.All() {
			switch {
			case k.Kind == law.KindOwner && k.Owner.IsWildcard():
				wildcards++
			case k.Kind == law.KindTouched:
				touched++
			case k.Kind == law.KindOwnersBelow:
				t.Errorf("%s looks at all of %+v", plain, k)
			}
		}
		if wildcards != want[0] || touched != want[1] {
			t.Errorf("%s: %d wildcards, %d looks for a few names, want %v", plain, wildcards, touched, want)
		}
	}
}

func deepHosts(n int) (values []string) {
	for i := range n {
		values = append(values, fmt.Sprintf("10 %sh%d.org.", strings.Repeat("a.", 108), i))
	}
	return values
}
