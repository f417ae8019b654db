// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"maps"
	"slices"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// delegationObject is a Delegation with its spec, the zone where it is in force, and the keys under which it waits.
type delegationObject struct {
	spec   zones.DelegationSpec
	uid    string
	in     string // uid of the zone, or ""
	reason string
	waits  *law.Waiting
}

func (w *world) putDelegation(o object, spec zones.DelegationSpec) (*law.Plan, *law.Refusal) {
	was := w.delegations[o]
	ask := zones.DelegationInput{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name}, After: &spec, Now: w.now, WorkID: w.makeUID("work")}
	if was != nil {
		ask.UID, ask.Before, ask.InZone, ask.WaitingBefore = was.uid, &was.spec, was.in, was.waits
	} else {
		ask.UID = w.makeUID("delegation")
	}
	return w.decideDelegation(o, ask)
}

func (w *world) deleteDelegation(o object) *law.Plan {
	was := w.delegations[o]
	plan, refusal := w.decideDelegation(o, zones.DelegationInput{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name, UID: was.uid},
		Before: &was.spec, InZone: was.in, WaitingBefore: was.waits, Now: w.now})
	if refusal != nil {
		panicInvariant("S2.4: deleting Delegation %s is refused: %v", o, refusal)
	}
	return plan
}

func (w *world) decideDelegation(o object, ask zones.DelegationInput) (*law.Plan, *law.Refusal) {
	out := w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideDelegation(s, ask) })
	if out.Refusal != nil {
		return nil, out.Refusal
	}
	plan := *out.Plan
	plan.Waiting, plan.WaitingBefore = nil, nil // the ledger assigns the letters
	w.applyPlan(o, false, &plan, nil)
	w.countPendingCuts()
	if ask.After == nil {
		delete(w.delegations, o)
		return out.Plan, nil
	}
	d := &delegationObject{spec: *ask.After, uid: ask.UID, waits: out.Plan.Waiting, reason: out.Plan.Delegation.Reason}
	if z := out.Plan.Delegation.Zone; z != nil {
		d.in = z.UID
	}
	w.delegations[o] = d
	return out.Plan, nil
}

// decideDelegations decides the Delegations of a work: those of the purged zone, and those that wait for a zone.
func (w *world) decideDelegations(work *law.Work) {
	for _, o := range sortedObjects(w.delegations) {
		d := w.delegations[o]
		waits := d.waits != nil && slices.ContainsFunc(work.Scans, func(s law.Scan) bool {
			return s.Kind == law.ScanReferring && s.Target.Namespace == d.waits.Zone.Namespace && s.Target.Name == d.waits.Zone.Name
		})
		if !waits && (work.Purge == "" || d.in != work.Purge) {
			continue
		}
		spec := d.spec
		ask := zones.DelegationInput{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name, UID: d.uid}, Before: &spec, InZone: d.in,
			WaitingBefore: d.waits, After: &spec, Cascade: true, Covered: work.Purge == "", Now: w.now}
		if _, refusal := w.decideDelegation(o, ask); refusal != nil {
			panicInvariant("a cascade is refused: %v", refusal)
		}
	}
	if !work.TakesIn {
		return
	}
	for _, place := range work.Zones {
		out := w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideDelegationsDone(s, place, work.ID) })
		w.applyPlan(object{place.Namespace, place.Name}, true, out.Plan, nil)
	}
}

func (w *world) ofNamespaces(scan law.Scan) (out []candidate) {
	target := object{scan.Target.Namespace, scan.Target.Name}
	for o, r := range w.records {
		if !slices.Contains(scan.Namespaces, o.Namespace) {
			continue
		}
		in := r.placed.Zone != nil && r.placed.Zone.UID == scan.Zone
		if x := r.waits; x != nil {
			in = !x.FQDN.IsZero() && x.View == scan.View && scan.Name.Encloses(x.FQDN) || x.Zone != nil &&
				(object{x.Zone.Namespace, x.Zone.Name}) == target
		}
		if in {
			out = append(out, candidate{object: o, uid: r.record.UID, created: r.record.Created, exists: r.waits == nil})
		}
	}
	for o, z := range w.zones {
		if x := z.waits; x != nil && slices.Contains(scan.Namespaces, o.Namespace) &&
			(x.Zone != nil && (object{x.Zone.Namespace, x.Zone.Name}) == target || !x.FQDN.IsZero() && x.View == scan.View &&
				scan.Name.Encloses(x.FQDN)) {
			out = append(out, candidate{zone: true, object: o, uid: z.spec.UID, created: z.created})
		}
	}
	return out
}

// uniteRules returns a zone with its Delegations' rules added (S4.3).
func (w *world) uniteRules(z *law.Zone) *law.Zone {
	out := *z
	out.Rules = slices.Clone(z.Rules)
	for _, o := range sortedObjects(w.delegations) {
		if d := w.delegations[o]; d.in == z.UID {
			out.Rules = append(out.Rules, d.spec.Rule)
		}
	}
	return &out
}

func (w *world) checkDelegations(existing map[string]*law.Zone, report func(string, ...any)) {
	rules, inForce := map[law.Key][]law.DelegatedRule{}, map[string]int{}
	for _, o := range sortedObjects(w.delegations) {
		d := w.delegations[o]
		if (d.in == "") != (d.waits != nil) {
			report("S4.3: Delegation %s is in force and waits, or neither", o)
		}
		if d.in == "" {
			if z := w.zones[object{o.Namespace, d.spec.Zone}]; z != nil && !z.zone.Pending && d.reason == law.ReasonZoneNotFound &&
				len(w.outbox) == 0 {
				report("S4.3: Delegation %s was forgotten", o)
			}
			continue
		}
		if existing[d.in] == nil {
			if len(w.outbox) == 0 {
				report("S4.3: Delegation %s is in force in a zone that is gone", o)
			}
			continue
		}
		inForce[d.in]++
		for _, ns := range d.spec.Rule.Namespaces {
			k := law.RulesKey(d.in, ns)
			rules[k] = append(rules[k], law.DelegatedRule{Name: o.Name, UID: d.uid, Rule: d.spec.Rule})
		}
	}
	w.checkNamed(existing, report)
	for k, v := range w.facts {
		if existing[k.Zone] == nil {
			continue
		}
		if fact, ok := v.(*law.NamespaceRules); ok {
			if writeFingerprint(fact.List) != writeFingerprint(rules[k]) {
				report("S4.3: %v says %s, its Delegations %s", k, writeFingerprint(fact.List), writeFingerprint(rules[k]))
			}
			delete(rules, k)
		}
	}
	for k := range maps.Keys(rules) {
		report("S4.3: no key %v", k)
	}
	for uid, z := range existing {
		if h := w.holdingOf(z); h != nil && h.Delegations != inForce[uid] {
			report("S4.3: zone %s has %d Delegations, and says %d", z.FQDN(), inForce[uid], h.Delegations)
		}
	}
}

// checkNamed recomputes the owners' facts about names given literally by Delegations (S4.22).
func (w *world) checkNamed(existing map[string]*law.Zone, report func(string, ...any)) {
	want := map[law.Key]map[string]int{}
	for _, d := range w.delegations {
		z := existing[d.in]
		if z == nil {
			continue
		}
		for n := range listNamed(z, &d.spec.Rule) {
			k := law.OwnerKey(z.UID, n)
			if want[k] == nil {
				want[k] = map[string]int{}
			}
			for _, ns := range d.spec.Rule.Namespaces {
				want[k][ns]++
			}
		}
	}
	for k, v := range w.facts {
		o, ok := v.(*law.Owner)
		if !ok || existing[k.Zone] == nil {
			continue
		}
		have := map[string]int{}
		for _, x := range o.Named {
			have[x.Namespace] = x.Count
		}
		if len(have)+len(want[k]) > 0 && !maps.Equal(have, want[k]) {
			report("S4.22: %v is named for %v, by Delegations for %v", k, have, want[k])
		}
		delete(want, k)
	}
	for k, to := range want {
		report("S4.22: no owner says that Delegations name %v for %v", k, to)
	}
}
