// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

var (
	foes     = []string{"a", "b", "c"} // c acts where a or b let it in
	foeNames = []string{"x", "y", "y.x", "z.x", "z.y", "z.y.x", "y.z.x", "x.z.y.x", "y.y.y.x", "x.x.z.y.x", "w.x.x.z.y.x", "w.w"}
	graces   = []int64{0, 3600, 86400, 30 * 86400}
	// The owner's rules for zones and Records change independently.
	foeZones   = [][]string{{"x"}, {"*"}, {"x", "*.x"}, {"*.x", "y"}, {"x", "z.y.x"}, {"**"}}
	foeRecords = [][]string{{"*"}, {"x", "*.x"}, {"w.w", "y"}}
)

// siege is a world where an owner withdraws rules while other namespaces try to keep their objects. A siege records the
// promises made to both sides. All times are the running time of the servers in seconds (ran).
type siege struct {
	*world
	t   *rapid.T
	ran int64

	zones, records bool // allowed now
	lacks          int  // leading patterns missing from both rules
	byDelegation   bool
	zoneRule       rules.Rule
	recordRule     rules.Rule
	grace          int64

	// gone is the time when no withdrawn object is left: a period after the cascade of the last withdrawal.
	gone int64
	// starts holds the cascades that begin a period, with the length.
	starts map[string]int64
	// safe holds the objects under a promise, by UID.
	safe    map[string]*safety
	through map[string]bool
}

// safety is a promise to keep an object until a certain time.
type safety struct {
	object
	record bool
	at     name.Name
	from   string // the zone of a Record
	until  int64
	above  []string // zones above except the owner's
	why    []string // works that execute the withdrawal, with their grace; nil during the write
}

func newSiege(t *rapid.T) *siege {
	s := &siege{world: newWorld(), t: t, starts: map[string]int64{}, safe: map[string]*safety{}, through: map[string]bool{},
		byDelegation: rapid.Bool().Draw(t, "by Delegation")}
	s.quick = true
	to := slices.Clone(rapid.SampledFrom([][]string{{"a"}, {"a", "b"}}).Draw(t, "to"))
	s.zoneRule = rules.Rule{Namespaces: to, Zones: s.parsePatterns(rapid.SampledFrom(foeZones).Draw(t, "zones"))}
	s.recordRule = rules.Rule{Namespaces: to}
	texts := rapid.SampledFrom(foeRecords).Draw(t, "records")
	for i, p := range s.parsePatterns(texts) {
		s.recordRule.Records = append(s.recordRule.Records, rules.RecordRule{Pattern: p, Text: texts[i]})
	}
	s.writeRules(true, true, 0, rapid.SampledFrom(graces[1:]).Draw(t, "grace"), nil)
	return s
}

func (s *siege) parsePatterns(texts []string) (out []pattern.Pattern) {
	for _, text := range texts {
		out = append(out, mustParse(pattern.Parse(strings.Replace(text, "**", "*", 1))))
	}
	return out
}

func (s *siege) findTop() *law.Zone { return s.world.zones[object{"owner", "top"}].zone }

func (s *siege) writeRules(byZones, records bool, lacks int, grace int64, now []string) {
	takes := s.zones && !byZones || s.records && !records || lacks > s.lacks
	if takes {
		s.promiseTime(grace)
	}
	zoneRule, recordRule := s.zoneRule, s.recordRule
	zoneRule.Zones = zoneRule.Zones[min(lacks, len(zoneRule.Zones)):]
	recordRule.Records = recordRule.Records[min(lacks, len(recordRule.Records)):]
	for _, p := range s.safe { // a withdrawal not yet executed takes the current period
		if slices.ContainsFunc(p.why, s.hasPending) {
			p.until = min(p.until, s.ran+grace)
		}
	}
	for id, period := range s.starts {
		s.starts[id] = max(period, grace)
	}
	spec := zones.ZoneSpec{Ref: law.Ref{Namespace: "owner", Name: "top"}, DomainName: "org.", Header: someHeader,
		ZoneSettings: makeSettings(nil, grace, 100)}
	spec.ReleaseNow = now
	every := s.parsePatterns([]string{"*"})
	spec.Rules = append(spec.Rules, rules.Rule{Namespaces: []string{"owner"}, Records: []rules.RecordRule{{Pattern: every[0], Text: "*"}}})
	if records {
		spec.Rules = append(spec.Rules, recordRule)
	}
	if byZones && !s.byDelegation {
		spec.Rules = append(spec.Rules, zoneRule)
	}
	for _, ns := range now {
		s.through[ns] = true
	}
	plan, refusal := s.putZone(spec, true)
	if refusal != nil {
		s.t.Fatal(refusal)
	}
	works := []*law.Work{plan.Work}
	if s.byDelegation && (byZones != s.zones || lacks != s.lacks) {
		given := rules.Rule{Namespaces: s.zoneRule.Namespaces}
		if byZones {
			given = zoneRule
		}
		if plan, refusal = s.putDelegation(object{"owner", "zones"}, zones.DelegationSpec{Zone: "top", Rule: given}); refusal != nil {
			s.t.Fatal(refusal)
		}
		works = append(works, plan.Work)
	}
	s.zones, s.records, s.lacks, s.grace = byZones, records, lacks, grace
	if !takes {
		return
	}
	var ids []string
	for _, w := range works {
		if w != nil {
			ids = append(ids, w.ID)
			s.starts[w.ID] = max(s.starts[w.ID], grace)
		}
	}
	for uid, p := range s.safe {
		switch {
		case p.why != nil:
		case p.record && s.isAllowed(s.world.records[p.object]), !p.record && s.isDelegated(s.world.zones[p.object].zone):
			delete(s.safe, uid)
		default:
			p.why = ids
		}
	}
}

func (s *siege) hasPending(id string) bool {
	return slices.ContainsFunc(s.outbox, func(w *law.Work) bool { return w.ID == id })
}

// promiseTime promises the grace period to all objects that a withdrawal affects. Objects withdrawn earlier keep their
// own period.
func (s *siege) promiseTime(grace int64) {
	for _, o := range sortedObjects(s.world.zones) {
		z := s.world.zones[o].zone
		if z.Pending || o.Namespace == "owner" || s.through[o.Namespace] {
			continue
		}
		h := s.holdingOf(z)
		if h.Withdrawn != "" || !s.isDelegated(z) {
			continue
		}
		if delete(s.safe, z.UID); s.isVacated(z.FQDN()) {
			continue
		}
		s.safe[z.UID] = &safety{object: o, at: z.FQDN(), until: s.ran + grace, above: s.listAbove(z.FQDN(), false)}
	}
	for _, o := range sortedObjects(s.world.records) {
		r := s.world.records[o]
		if in := r.placed.Zone; in == nil || in.UID != s.findTop().UID || o.Namespace == "owner" || r.placed.EndsAt != 0 ||
			!s.isAllowed(r) || s.through[o.Namespace] || len(s.listAbove(r.placed.FQDN, true)) > 0 {
			continue
		}
		delete(s.safe, r.record.UID)
		// If a cascade of another namespace finds the Record first, the Record gets only the rest of a running period.
		if !slices.ContainsFunc(s.outbox, func(w *law.Work) bool { return w.By != "owner" }) {
			s.safe[r.record.UID] = &safety{object: o, record: true, at: r.placed.FQDN, from: s.findTop().UID,
				until: s.ran + grace}
		}
	}
}

// listAbove returns the zones above a name except the owner's; also includes a zone at the name.
func (s *siege) listAbove(at name.Name, also bool) (uids []string) {
	for up, ok := at, true; ok; up, ok = up.Parent() {
		if h := s.zoneOf("", up); h != nil && h.Namespace != "owner" && (also || up != at) {
			uids = append(uids, h.UID)
		}
	}
	return uids
}

// isVacated reports whether a pending cascade visits objects below a removed zone, and may be the first to find them
// withdrawn.
func (s *siege) isVacated(at name.Name) bool {
	return slices.ContainsFunc(s.outbox, func(w *law.Work) bool {
		return w.Purge != "" && slices.ContainsFunc(w.Scans, func(x law.Scan) bool {
			return x.Kind == law.ScanZones && x.Name.Encloses(at)
		})
	})
}

func (s *siege) isDelegated(z *law.Zone) bool {
	up, ok := z.FQDN().Parent()
	h := s.findEnclosing("", up)
	return ok && h != nil && s.uniteRules(s.world.zones[object{h.Namespace, h.Ref.Name}].zone).RuleSet().DelegatesZone(z.FQDN(),
		z.Namespace)
}

func (s *siege) isAllowed(r *recordObject) bool {
	return s.uniteRules(s.findTop()).RuleSet().AllowsRecord(r.placed.FQDN, r.record.Type, r.record.Namespace)
}

// endPromises ends promises below a name after a namespace's change there.
func (s *siege) endPromises(at name.Name, also bool) {
	for uid, p := range s.safe {
		if at.Encloses(p.at) && (also || p.at != at) {
			delete(s.safe, uid)
		}
	}
}

// carryOutNext executes a work. The works of a namespace are executed in order, but the works of different namespaces
// in any order.
func (s *siege) carryOutNext() {
	var by []string
	for _, w := range s.outbox {
		if !slices.Contains(by, w.By) {
			by = append(by, w.By)
		}
	}
	next := by[0]
	if len(by) > 1 {
		next = rapid.SampledFrom(by).Draw(s.t, "of")
	}
	i := slices.IndexFunc(s.outbox, func(w *law.Work) bool { return w.By == next })
	work := s.outbox[i]
	through := s.processWork(work)
	if s.outbox = slices.Delete(s.outbox, i, i+1); !through {
		s.outbox = append(s.outbox, work)
		return
	}
	if period, ok := s.starts[work.ID]; ok {
		s.gone = max(s.gone, s.ran+period)
		delete(s.starts, work.ID)
	}
	if len(s.outbox) == 0 {
		clear(s.through)
	}
}

func (s *siege) settleSiege() {
	for n := 0; len(s.outbox) > 0; n++ {
		if n > 500 {
			s.t.Fatalf("the cascades feed each other without end: %s", s.outbox[0].Reason)
		}
		s.carryOutNext()
	}
}

func (s *siege) checkPromises(what string) {
	for uid, p := range s.safe {
		if s.through[p.Namespace] || s.ran >= p.until {
			delete(s.safe, uid)
			continue
		}
		if !slices.Equal(p.above, s.listAbove(p.at, p.record)) { // a zone that came or went between decides
			delete(s.safe, uid)
			continue
		}
		exists := false
		if r := s.world.records[p.object]; p.record && r != nil && r.record.UID == uid {
			exists = r.placed.Zone != nil && r.placed.Zone.UID == p.from
		} else if z := s.world.zones[p.object]; !p.record && z != nil && z.spec.UID == uid {
			exists = !z.zone.Pending
		}
		if !exists {
			s.t.Fatalf("%s: S3.5: %s at %s ended %d s before its time", what, p.object, p.at, p.until-s.ran)
		}
	}
	if len(s.outbox) > 0 || s.ran < s.gone {
		return
	}
	for o, z := range s.world.zones {
		if !s.zones && !z.zone.Pending && !s.holdingOf(z.zone).Established && !s.isDelegated(z.zone) {
			s.t.Fatalf("%s: S3.5: zone %s stands at %s, and its time was over %d s ago", what, o, z.zone.FQDN(), s.ran-s.gone)
		}
	}
	for o, r := range s.world.records {
		if in := r.placed.Zone; in != nil && in.UID == s.findTop().UID && o.Namespace != "owner" && !s.isAllowed(r) {
			s.t.Fatalf("%s: S2.5: Record %s stands at %s, and its time was over %d s ago", what, o, r.placed.FQDN, s.ran-s.gone)
		}
	}
}

func (s *siege) runServers(seconds int64) {
	s.passTime(time.Duration(seconds) * time.Second)
	s.ran += seconds
}

var someHeader = content.Header{TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}

func (s *siege) writeFoeZone(t *rapid.T) {
	o := object{rapid.SampledFrom(foes).Draw(t, "namespace"), fmt.Sprint("z", rapid.IntRange(1, 6).Draw(t, "zone"))}
	given := []rules.Rule{{Records: []rules.RecordRule{{Pattern: s.parsePatterns([]string{"*"})[0], Text: "*"}}}}
	for range rapid.IntRange(0, 2).Draw(t, "rules") {
		text := rapid.SampledFrom([]string{"*", "*", "y", "*.z", "x"}).Draw(t, "pattern")
		given = append(given, rules.Rule{Zones: s.parsePatterns([]string{text}),
			Namespaces: slices.Clone(rapid.SampledFrom([][]string{nil, nil, {"a"}, {"b"}, {"c"}}).Draw(t, "to"))})
	}
	spec := zones.ZoneSpec{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name}, Header: someHeader,
		ZoneSettings: makeSettings(given, rapid.SampledFrom(graces).Draw(t, "grace"), 100),
		DomainName:   rapid.SampledFrom(foeNames).Draw(t, "name") + ".org."}
	if rapid.IntRange(0, 3).Draw(t, "refers") == 0 {
		spec.ZoneRef = &law.Ref{Namespace: "owner", Name: "top"}
	}
	if was := s.world.zones[o]; was != nil {
		spec.DomainName, spec.ZoneRef, spec.Terminating = was.spec.DomainName, was.spec.ZoneRef, was.spec.Terminating
	}
	spec.ReleaseNow = slices.Clone(rapid.SampledFrom([][]string{nil, nil, nil, {"a"}, {"c"}}).Draw(t, "release now"))
	if _, refusal := s.putZone(spec, false); refusal != nil {
		t.Logf("  refused: %s", refusal.Message)
		return
	}
	if z := s.world.zones[o].zone; !z.Pending {
		s.endPromises(z.FQDN(), false)
	}
}

// While an owner withdraws rules, the other namespaces do all they can to keep their objects. A period later no
// withdrawn object is left, the period of no other namespace was shortened, and neither clocks nor stopped servers have
// ended anything (attack 63).
func TestWithdrawal_adversary_S3_8(t *testing.T) {
	for i := range 8 { // a few seconds
		t.Run(fmt.Sprint(i), func(t *testing.T) { rapid.Check(t, besiege) })
	}
}

func besiege(t *rapid.T) {
	s := newSiege(t)
	act := func(what string, do func(*rapid.T)) func(*rapid.T) {
		return func(t *rapid.T) {
			s.t = t
			s.now = s.now.Add(time.Second)
			do(t)
			s.checkPromises(what)
		}
	}
	zone := func(t *rapid.T) object {
		var all []object
		for _, o := range sortedObjects(s.world.zones) {
			if o.Namespace != "owner" {
				all = append(all, o)
			}
		}
		if len(all) == 0 {
			t.Skip("no zones")
		}
		return rapid.SampledFrom(all).Draw(t, "object")
	}
	makes := act("zone", s.writeFoeZone)
	runs := act("run", func(t *rapid.T) {
		s.runServers(rapid.SampledFrom([]int64{60, 1800, 3600, 40000, 86400, 15 * 86400}).Draw(t, "seconds"))
	})
	settles := act("settle", func(*rapid.T) { s.settleSiege() })
	steps := act("step", func(t *rapid.T) {
		if len(s.outbox) == 0 {
			t.Skip("nothing owed")
		}
		s.carryOutNext()
	})
	for range rapid.IntRange(0, 8).Draw(t, "planted") {
		makes(t)
	}
	t.Repeat(map[string]func(*rapid.T){
		"zone": makes, "zone too": makes, "another zone": makes, "run": runs, "run on": runs, "settle": settles,
		"step": steps, "step on": steps,
		"remove": act("remove", func(t *rapid.T) {
			o := zone(t)
			z := s.world.zones[o].zone
			s.world.zones[o].annotated = true
			plan, refusal := s.tryDeleteZone(o)
			if refusal != nil {
				t.Skip("later")
			}
			delete(s.safe, z.UID)
			if !z.Pending {
				s.endPromises(z.FQDN(), true)
			}
			// Before the withdrawal is executed, a removed parent gives a day (S3.5).
			if plan.Work != nil && (s.zones || len(s.starts) > 0) {
				s.starts[plan.Work.ID] = 86400
			}
		}),
		"terminate": act("terminate", func(t *rapid.T) {
			o := zone(t)
			s.world.zones[o].annotated = true
			spec := s.world.zones[o].spec
			spec.Terminating = true
			_, _ = s.putZone(spec, false)
		}),
		"delegation": act("delegation", func(t *rapid.T) {
			o := zone(t)
			d := object{o.Namespace, rapid.SampledFrom([]string{"one", "two"}).Draw(t, "delegation")}
			spec := zones.DelegationSpec{Zone: o.Name, Rule: rules.Rule{Namespaces: []string{"a", "b", "c"},
				Zones: s.parsePatterns([]string{"*"})}}
			if was := s.delegations[d]; was != nil {
				s.endPromisesBelow(was.spec.Zone, d.Namespace)
				s.deleteDelegation(d)
				return
			}
			_, _ = s.putDelegation(d, spec)
		}),
		"record": act("record", func(t *rapid.T) {
			v, _ := rdata.Parse(rdata.A, "192.0.2.1")
			o := object{rapid.SampledFrom(foes).Draw(t, "namespace"), fmt.Sprint("r", rapid.IntRange(1, 4).Draw(t, "record"))}
			if was := s.world.records[o]; was != nil {
				delete(s.safe, was.record.UID)
				s.deleteRecord(o)
			}
			_, _ = s.putRecord(law.Record{Namespace: o.Namespace, Name: o.Name, Type: rdata.A, Values: []rdata.Value{v},
				DomainName: rapid.SampledFrom(foeNames).Draw(t, "owner") + ".org."})
		}),
		"clock": act("clock", func(t *rapid.T) {
			s.now = s.now.Add(time.Duration(rapid.IntRange(-1000, 1000).Draw(t, "days")) * 24 * time.Hour)
		}),
		"owner": act("owner", func(t *rapid.T) {
			var now []string
			if rapid.IntRange(0, 7).Draw(t, "release now") == 0 {
				now = []string{rapid.SampledFrom(foes).Draw(t, "for")}
			}
			s.writeRules(rapid.Bool().Draw(t, "zones"), rapid.Bool().Draw(t, "records"), rapid.IntRange(0, 2).Draw(t, "lacks"),
				rapid.SampledFrom(graces).Draw(t, "grace"), now)
		}),
	})
	s.t = t
	s.writeRules(false, false, 0, s.grace, nil)
	s.settleSiege()
	s.checkPromises("withdrawn")
	s.runServers(max(0, s.gone-s.ran))
	s.settleSiege()
	s.checkPromises("over")
	for o, z := range s.world.zones {
		if o.Namespace != "owner" && !z.zone.Pending {
			t.Fatalf("S3.5: zone %s stands at %s", o, z.zone.FQDN())
		}
	}
	for _, line := range append(s.checkAll(), s.checkSettled()...) {
		t.Errorf("%s", line)
	}
}

func (s *siege) endPromisesBelow(zone, namespace string) {
	if z := s.world.zones[object{namespace, zone}]; z != nil && !z.zone.Pending {
		s.endPromises(z.zone.FQDN(), false)
	}
}
