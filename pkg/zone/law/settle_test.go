// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// settleAll executes works until none is left, and panics if they never end.
func (w *world) settleAll() {
	for n := 0; len(w.outbox) > 0 || w.sweepDue() || w.tryWaiting(); n++ {
		if n > 500 {
			panicInvariant("the cascades feed each other without end: %s", w.outbox[0].Reason)
		}
		w.carryOutNext()
	}
}

// carryOutNext executes the first work. If a lock of another cascade is in the way, the work is tried again after all
// others.
func (w *world) carryOutNext() {
	work := w.outbox[0]
	through := w.processWork(work)
	if w.outbox = w.outbox[1:]; !through {
		w.outbox = append(w.outbox, work)
	}
}

// sweepDue enqueues the work of the first namespace with an expired record.
func (w *world) sweepDue() bool {
	first := ""
	for k := range w.facts {
		if k.Kind == law.KindDue && k.At <= w.now.Unix() && (first == "" || k.Namespace < first) {
			first = k.Namespace
		}
	}
	if first != "" {
		w.outbox = append(w.outbox, law.ExpiryWork(first, w.now.Unix()))
	}
	return first != ""
}

// dueAt returns the time that the record's due key should have.
func (r *recordObject) dueAt() int64 {
	if r.placed.Reason == law.ReasonExpired {
		return 0
	}
	return r.record.ExpiresAt
}

// tryWaiting stands for the ledger's periodic retry. The result is true if works were enqueued for waiting objects.
func (w *world) tryWaiting() bool {
	for _, o := range slices.SortedFunc(maps.Keys(w.records), compareObjects) {
		r := w.records[o]
		if r.placed.Zone != nil || r.record.Terminating {
			continue
		}
		ask := w.askAgain(o, nil)
		out := w.decideAll(func(s *law.Facts) law.Outcome { return records.DecideRecord(s, ask) })
		switch p := out.Plan; {
		case p.Record == nil: // expired, and due
		case p.Record.Zone == nil && p.Work != nil:
			w.outbox = append(w.outbox, p.Work)
			return true
		case p.Record.Zone != nil || p.Record.Reason != r.placed.Reason && !p.Record.FQDN.IsZero():
			work := &law.Work{ID: w.makeUID("waits"), View: p.Record.View, By: o.Namespace, Since: w.now.Unix(),
				Scans: []law.Scan{{Kind: law.ScanWaiting, View: p.Record.View, Name: p.Record.FQDN, Exact: true}}}
			if p.Zone != nil {
				z := p.Zone.Zone
				work.Zones = []law.Place{{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}}
			}
			if at := r.waits; at != nil && at.Zone != nil && (at.View != p.Record.View || at.FQDN != p.Record.FQDN) {
				work.Scans = append(work.Scans, law.Scan{Kind: law.ScanReferring, Target: at.Zone})
			}
			w.outbox = append(w.outbox, work)
			return true
		}
	}
	for _, o := range slices.SortedFunc(maps.Keys(w.zones), compareObjects) {
		z := w.zones[o]
		if !z.zone.Pending || z.spec.Terminating || z.waits == nil {
			continue
		}
		if out := w.decideAgain(z); !out.Plan.Zone.Zone.Pending {
			scan := law.Scan{Kind: law.ScanPending, Target: z.spec.ZoneRef}
			if scan.Target == nil {
				scan = law.Scan{Kind: law.ScanWaiting, View: z.waits.View, Name: z.waits.FQDN, Exact: true}
			}
			w.outbox = append(w.outbox, &law.Work{ID: w.makeUID("waits"), View: z.spec.View, By: o.Namespace, Since: w.now.Unix(),
				Scans: []law.Scan{scan}})
			return true
		}
	}
	return false
}

type candidate struct {
	zone bool
	object
	uid     string
	created int64
	came    bool
	exists  bool      // the zone has it
	first   bool      // its namespace held the name when the wait began (S2.15)
	at      name.Name // in the removed zone
}

// processWork reports whether the work is through.
func (w *world) processWork(work *law.Work) bool {
	w.beginWork(work)
	moving := true
	for _, c := range w.listCandidates(work) {
		if moving && !c.came {
			moving = false
			w.unlockNames(work)
		}
		if c.zone {
			w.reconsiderZone(work, c)
		} else if !w.reconsiderRecord(work, c) {
			return false
		}
	}
	if moving {
		w.unlockNames(work)
	}
	w.finishWork(work)
	return true
}

func (w *world) beginWork(work *law.Work) {
	w.decideDelegations(work)
	for _, scan := range work.Scans {
		switch scan.Kind {
		case law.ScanZones:
			w.reparentZones(work, scan)
		case law.ScanReferring:
			w.reparentReferring(work, scan)
		}
	}
}

func (w *world) finishWork(work *law.Work) {
	for i := len(work.Zones) - 1; i >= 0; i-- {
		place := work.Zones[i]
		out := w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideCascadeDone(s, place, work.ID) })
		w.applyPlan(object{place.Namespace, place.Name}, true, out.Plan, nil)
	}
	for ; len(work.Releases) > 0; work.Releases = work.Releases[min(len(work.Releases), records.MaxReleases):] {
		out := w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideReleaseDone(s, work) })
		w.applyPlan(object{}, true, out.Plan, nil)
	}
	if work.Purge == "" {
		return
	}
	for k := range w.facts {
		if k.Zone == work.Purge || k.Kind == law.KindWithdrawal && k.Object == work.Purge {
			delete(w.facts, k)
		}
	}
	delete(w.views, work.Purge)
	delete(w.journal, work.Purge)
	if work.Ended != nil {
		out := w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideEndingDone(s, work, w.now.Unix()) })
		w.applyPlan(object{work.Ended.Namespace, work.Ended.Name}, true, out.Plan, nil)
	}
}

// S2.11.
func (w *world) unlockNames(work *law.Work) {
	for _, place := range work.Zones {
		out := w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideUnlock(s, place, work.ID) })
		w.applyPlan(object{place.Namespace, place.Name}, true, out.Plan, nil)
	}
}

// passTime simulates servers that run for d: each withdrawal advances, and objects are released after their period.
func (w *world) passTime(d time.Duration) {
	for _, k := range w.listWithdrawals() {
		withdrawal := *w.facts[k].(*law.Withdrawal)
		for _, z := range w.zones {
			if z.zone.UID == k.Object && !z.zone.Pending {
				place := law.Place{Ref: z.zone.Ref, View: z.zone.View, FQDN: z.zone.FQDN()}
				out := w.decideAll(func(s *law.Facts) law.Outcome {
					return zones.DecideElapsed(s, place, k.Namespace, withdrawal, int64(d.Seconds()), "work-due-"+k.Object+k.Namespace,
						w.now.Unix())
				})
				w.applyPlan(object{}, true, out.Plan, nil)
			}
		}
	}
}

func (w *world) listWithdrawals() (keys []law.Key) {
	for k := range w.facts {
		if k.Kind == law.KindWithdrawal {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(x, y law.Key) int {
		return cmp.Or(cmp.Compare(x.Object, y.Object), cmp.Compare(x.Namespace, y.Namespace))
	})
	return keys
}

// listCandidates returns the objects of a work in the order of S2.8. Moving records come in the order of the gaining
// zone's namespace, the holders of their names in the losing zone, and other namespaces. Waiting objects begin with
// zones, since zones adopt records, and continue with records of the zone's own namespace, of the namespace that held
// the name, and of others. Each group is sorted by age and UID.
func (w *world) listCandidates(work *law.Work) []candidate {
	found := map[candidate]bool{}
	for _, scan := range work.Scans {
		switch scan.Kind {
		case law.ScanNamespaces:
			for _, c := range w.ofNamespaces(scan) {
				found[c] = true
			}
		case law.ScanDue:
			for k, v := range w.facts {
				if k.Kind == law.KindDue && k.At <= w.now.Unix() && scan.Covers(k.Namespace) {
					found[candidate{object: object{k.Namespace, k.Object}, uid: v.(*law.Due).UID, created: k.At, exists: true}] = true
				}
			}
		case law.ScanMembers, law.ScanAddresses:
			for k, v := range w.facts {
				if k.Kind == law.KindMember && k.Zone == scan.Zone && isBelow(k.Owner, scan.Owner) && scan.Covers(k.Namespace) {
					m := v.(*law.Member)
					c := candidate{object: object{k.Namespace, k.Object}, uid: m.UID, created: m.Created}
					if scan.Kind == law.ScanMembers && (len(work.Zones) == 0 || work.Zones[0].UID != scan.Zone) {
						c.came = true
					}
					if c.exists = !c.came; !scan.Name.IsZero() {
						c.at, _ = k.Owner.In(scan.Name)
					}
					found[c] = true
				}
			}
		case law.ScanWaiting, law.ScanReferring, law.ScanPending:
			for k := range w.waiting {
				if scan.Kind == law.ScanPending && !k.zone || !scan.Covers(k.object.Namespace) {
					continue
				}
				if scan.Kind != law.ScanWaiting && k.ref != (object{scan.Target.Namespace, scan.Target.Name}) {
					continue
				}
				if scan.Kind == law.ScanWaiting && (k.fqdn.IsZero() || k.view != scan.View || !scan.Name.Encloses(k.fqdn) ||
					scan.Exact && k.fqdn != scan.Name) {
					continue
				}
				c := candidate{zone: k.zone, object: k.object}
				if k.zone {
					z := w.zones[k.object]
					c.uid, c.created = z.spec.UID, z.created
				} else {
					r := w.records[k.object]
					c.uid, c.created, c.came = r.record.UID, r.record.Created, r.waits.Moves
					c.first = r.waits.KeptOut == k.object.Namespace
				}
				found[c] = true
			}
		}
	}
	var all []candidate
	for c := range found {
		all = append(all, c)
	}
	own := ""
	if len(work.Zones) > 0 {
		own = work.Zones[0].Namespace
	} else if work.Unmarked {
		own = work.By
	}
	rank := func(c candidate) int {
		switch {
		case c.came && c.Namespace == own:
			return 0
		case c.came:
			return 1
		case c.zone:
			return 2
		case c.exists:
			return 3
		case c.Namespace == own:
			return 4
		case c.first:
			return 5
		}
		return 6
	}
	slices.SortFunc(all, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.created, y.created), cmp.Compare(len(x.uid), len(y.uid)),
			cmp.Compare(x.uid, y.uid))
	})
	return all
}

func (w *world) askAgain(o object, work *law.Work) records.RecordInput {
	r := w.records[o]
	record := r.record
	ask := records.RecordInput{Namespace: o.Namespace, Name: o.Name, UID: record.UID, Before: r.readContribution(), WaitingBefore: r.waits,
		After: &record, Cascade: true, Now: w.now, WorkID: w.makeUID("work"), DueAt: r.dueAt()}
	if work != nil {
		ask.Cause, ask.Uncounted = work.Cause(), slices.Contains(work.Releases, o.Namespace)
		ask.RulesChanged, ask.Derives = work.RulesChanged(), work.Derives
		if ask.CausedBy = work.By; !work.Unmarked {
			ask.MarkID = work.ID
		}
	}
	ask.HadZone = ask.Before != nil || r.placed.Reason == law.ReasonMoving
	ask.Succeeds = w.leaving[o.Namespace]
	return ask
}

// reconsiderRecord returns false if the name is locked by another cascade.
func (w *world) reconsiderRecord(work *law.Work, c candidate) bool {
	moves, locked := w.stepRecord(work, c, 3)
	if moves {
		panicInvariant("record %s moves on and on", c.object)
	}
	return !locked
}

// stepRecord executes at most the given number of steps for a record. The results report whether the record has left a
// zone and enters another zone in the next step (I1), and whether another cascade has locked the name.
func (w *world) stepRecord(work *law.Work, c candidate, most int) (moves, locked bool) {
	for range most {
		r := w.records[c.object]
		if r == nil || r.record.UID != c.uid {
			return false, false
		}
		ask := w.askAgain(c.object, work)
		ask.HasFormerName = ask.Before == nil && !c.at.IsZero() && r.placed.FQDN == c.at
		out := w.decideAll(func(s *law.Facts) law.Outcome { return records.DecideRecord(s, ask) })
		if out.Refusal != nil && out.Refusal.Kind == law.Later && ask.Before != nil {
			return false, true
		} else if out.Refusal != nil {
			panicInvariant("a cascade is refused, and would be for ever: %v", out.Refusal)
		}
		plan := out.Plan
		if plan.Record == nil {
			w.applyPlan(c.object, false, plan, work)
			delete(w.records, c.object)
			w.countPendingCuts()
			return false, false
		}
		if plan.Zone == nil && plan.Record.Zone != nil {
			plan.Record.Serial = r.placed.Serial
		}
		if ask.WaitingBefore != nil && w.snatchesName(&r.record, plan, ask.WaitingBefore.KeptOut) {
			panicInvariant("S2.15: %s snatches a name at which it waited", c.object)
		}
		w.applyPlan(c.object, false, plan, work)
		r.placed, r.waits = *plan.Record, plan.Waiting
		w.countPendingCuts()
		if plan.Record.Reason != law.ReasonMoving {
			return false, false
		}
	}
	return true, false
}

func (w *world) reconsiderZone(work *law.Work, c candidate) {
	z := w.zones[c.object]
	if z == nil || z.spec.UID != c.uid || !z.zone.Pending || z.spec.Terminating {
		return
	}
	out := w.decideAgain(z)
	z.waits = out.Plan.Waiting
	w.applyPlan(c.object, true, out.Plan, work)
	w.countPendingCuts()
}

func (w *world) decideAgain(z *zoneObject) law.Outcome {
	before, spec := *z.zone, z.spec
	ask := zones.ZoneInput{Before: &before, WaitingBefore: z.waits, After: &spec, Cascade: true, Now: w.now, WorkID: w.makeUID("work")}
	out := w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideZone(s, ask) })
	if out.Refusal != nil {
		panicInvariant("a cascade is refused: %v", out.Refusal)
	}
	return out
}

func (w *world) reparentZones(work *law.Work, scan law.Scan) {
	for again := true; again; {
		again = false
		below := w.answerKey(law.Key{Kind: law.KindZonesBelow, View: scan.View, Name: scan.Name}).(*law.ZonesBelow)
		for _, b := range below.Zones {
			o := object{b.Namespace, b.Holding.Name}
			z := w.zones[o]
			if b.FQDN == scan.Name && !scan.At || z == nil || z.zone.UID != b.UID {
				continue
			}
			var above *law.ZoneBelow
			for i, x := range below.Zones {
				if (x.FQDN != scan.Name || scan.At) && x.FQDN != b.FQDN && x.FQDN.Encloses(b.FQDN) {
					above = &below.Zones[i]
				}
			}
			if !scan.Concerns(&b, above) {
				continue
			}
			out := w.decideParent(work, z)
			ended := out.Plan.Zone != nil && out.Plan.Zone.EndedZone != nil
			if ended {
				z.waits = out.Plan.Waiting
			}
			w.applyPlan(o, true, out.Plan, nil)
			w.countPendingCuts()
			if again = ended; ended {
				break
			}
		}
	}
}

// decideParent decides the parent of a zone for a cascade. A nil work stands for a cascade without other changes.
func (w *world) decideParent(work *law.Work, z *zoneObject) law.Outcome {
	zone, spec := *z.zone, z.spec
	spec.DS = zone.DS
	ask := zones.ParentInput{Zone: &zone, Spec: &spec, Work: cmp.Or(work, &law.Work{}), Now: w.now, WorkID: w.makeUID("work")}
	if z.delegated != nil {
		ask.Message = z.delegated.Message
	}
	return w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideParent(s, ask) })
}

func (w *world) reparentReferring(work *law.Work, scan law.Scan) {
	for _, k := range w.listHoldingKeys() {
		if h := w.facts[k].(*law.Holding); scan.RefersFrom(k.View, k.Name, h) {
			o := object{h.Namespace, h.Ref.Name}
			w.applyPlan(o, true, w.decideParent(work, w.zones[o]).Plan, nil)
			w.countPendingCuts()
		}
	}
}

func (w *world) countPendingCuts() {
	for len(w.derivations) > 0 {
		d := w.derivations[0]
		w.derivations = w.derivations[1:]
		o := object{d.Into.Namespace, d.Into.Name}
		p := w.zones[o]
		if p == nil || p.zone.UID != d.Into.UID || p.zone.Pending {
			continue
		}
		if d.PTR {
			w.derivePTR(p, d)
			continue
		}
		parent := *p.zone
		ask := records.CutInput{Parent: &parent, Pending: d, Now: w.now, Own: d.Own || d.From.Namespace == parent.Namespace}
		if h := w.findExisting(d.From); h != nil {
			ask.Own = d.Own || ask.Own && (h.Parent == nil || h.Parent.UID == parent.UID)
			if h.CountedBy(&parent) && h.KeepsCut(w.readCountedCut(parent.UID, d.From.UID)) {
				continue // pending again after the hold
			}
		}
		if ask.Cut = w.computeCut(&parent, d.From); w.countsChild(&parent, d.From) {
			child := w.zones[object{d.From.Namespace, d.From.Name}].zone
			ask.Holding, ask.DS = w.findExisting(d.From), child.DS
		}
		existing := w.findGaining(d)
		if existing != nil {
			ask.MarkID, ask.CausedBy = existing.ID, existing.By
		}
		out := w.decideAll(func(s *law.Facts) law.Outcome { return records.DecideCut(s, ask) })
		if out.Refusal != nil {
			panicInvariant("a cut is refused: %v", out.Refusal)
		}
		w.applyPlan(o, true, out.Plan, existing)
	}
}

// findGaining returns the cascade that moves the parent's records to the child (S7.2).
func (w *world) findGaining(d law.Derivation) *law.Work {
	h := w.zoneOf(d.View, d.FQDN)
	if h == nil || h.UID != d.From.UID {
		return nil
	}
	for _, x := range h.Works {
		if i := slices.IndexFunc(w.outbox, func(work *law.Work) bool { return work.ID == x.ID }); x.Losing == d.Into.UID && i >= 0 {
			return w.outbox[i]
		}
	}
	return nil
}

func (w *world) findExisting(zone law.Ref) *law.Holding {
	z := w.zones[object{zone.Namespace, zone.Name}]
	if z == nil || z.zone.UID != zone.UID || z.zone.Pending {
		return nil
	}
	if h := w.holdingOf(z.zone); h != nil && h.UID == zone.UID {
		return h
	}
	return nil
}

func (w *world) countsChild(parent *law.Zone, child law.Ref) bool {
	h := w.findExisting(child)
	return h != nil && h.CountedBy(parent)
}

// computeCut returns the cut that parent would count for the child, or nil.
func (w *world) computeCut(parent *law.Zone, child law.Ref) *law.CountedCut {
	if !w.countsChild(parent, child) {
		return nil
	}
	z := w.zones[object{child.Namespace, child.Name}].zone
	sets := w.listRRsets(z)
	cut := &law.CountedCut{Sets: content.Cut(parent.FQDN(), z.Header, func(owner name.Rel, t rdata.Type) (content.RRset, bool) {
		i := slices.IndexFunc(sets, func(s content.RRset) bool { return s.Owner == owner && s.Type == t })
		if i < 0 {
			return content.RRset{}, false
		}
		return sets[i], true
	})}
	if len(cut.Sets) == 0 {
		return nil
	}
	return cut
}

func (w *world) readCountedCut(parent, child string) *law.CountedCut {
	c, _ := w.facts[law.CutKey(parent, child)].(*law.CountedCut)
	return c
}

func (w *world) countChild(parent *law.Zone, child law.Ref) *law.CountedCut {
	if !w.countsChild(parent, child) {
		return nil
	}
	z := w.zones[object{child.Namespace, child.Name}].zone
	return w.findExisting(child).CutWithDS(w.computeCut(parent, child), z.DS)
}

// listRRsets computes the RRsets of a zone from the record objects alone.
func (w *world) listRRsets(z *law.Zone) []content.RRset {
	var sets []content.RRset
	for _, r := range w.records {
		if r.placed.Zone == nil || r.placed.Zone.UID != z.UID {
			continue
		}
		sets = mergeRRset(sets, r.makeRRset(z))
	}
	slices.SortFunc(sets, content.RRset.Compare)
	return sets
}

func (r *recordObject) ownerIn(z *law.Zone) name.Rel {
	n, err := name.ParseIn(r.record.DomainName, z.FQDN())
	if err != nil {
		panicInvariant("record %s/%s: %v", r.record.Namespace, r.record.Name, err)
	}
	owner, ok := n.Rel(z.FQDN())
	if !ok {
		panicInvariant("record %s/%s at %s is in zone %s", r.record.Namespace, r.record.Name, n, z.FQDN())
	}
	return owner
}

func (r *recordObject) makeRRset(z *law.Zone) content.RRset {
	s := content.RRset{Owner: r.ownerIn(z), Type: r.record.Type, TTL: content.InheritTTL()}
	if r.record.TTL != nil {
		s.TTL = content.ExplicitTTL(*r.record.TTL)
	}
	for _, v := range r.record.Values {
		s.Data = append(s.Data, v.Text)
	}
	slices.Sort(s.Data)
	return s
}

func mergeRRset(sets []content.RRset, s content.RRset) []content.RRset {
	for i := range sets {
		if sets[i].Owner == s.Owner && sets[i].Type == s.Type {
			sets[i] = sets[i].Merge(s)
			return sets
		}
	}
	return append(sets, s)
}

func compareObjects(x, y object) int {
	return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
}
