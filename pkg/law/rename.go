// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
)

// renameZone moves a zone to another name in one step, and marks those that follow it,
// which a cascade renames (S6.8).
func (d *zoneDecision) renameZone(plan *Plan, s *zonePlace) (*Plan, *Refusal) {
	before := d.ask.Before
	old := before.FQDN()
	holding, ok := d.holdingOf(before)
	last, from, ok1 := d.findLastSerial(s.view, s.fqdn, nil)
	at, above, ok2 := d.findAbove(before.View, old)
	soon := d.askAll([]Key{{Kind: KindZonesBelow, View: before.View, Name: old}, {Kind: KindZonesBelow, View: before.View, Name: s.fqdn}, {Kind: KindRoster, Zone: before.UID}})
	if !ok || !ok1 || !ok2 || !soon {
		return nil, nil
	}
	chain, known, refusal := d.checkFollowers(before, holding, s.fqdn)
	if !known || refusal != nil || len(d.needs) > 0 {
		return nil, refusal
	}
	for _, f := range chain {
		s.along = append(s.along, f.UID)
	}
	cut, refusal := d.checkPlace(plan, s)
	if len(d.needs) > 0 || refusal != nil {
		return nil, refusal
	}
	z := d.wantedZone(s)
	z.Serial, z.SettledSerial, z.N, z.State, z.Rows, z.RRsets = before.Serial, before.SettledSerial, before.N, before.State, before.Rows, before.RRsets
	z.DS = nil // they are of the former name
	if from != 0 && from.Ahead(z.Serial) {
		z.Serial = from
	}
	if refusal := d.nameServersFree(z, before, holding); refusal != nil || len(d.needs) > 0 {
		return nil, refusal
	}
	h := *holding
	h.Follows = s.follows
	h.Works = slices.Clone(h.Works)
	for i := range h.Works {
		h.Works[i].Becomes = name.Name{} // of an earlier rename, which took no zone along
	}
	change := &ZoneChange{Zone: z, Holding: &h, Delegated: d.setParent(&h, s, cut)}
	if !d.publishDeletions(plan, change, before) {
		return nil, nil
	}
	scans := []Scan{
		{Kind: ScanMembers, Zone: z.UID, Owner: name.Apex},
		{Kind: ScanReferring, Target: &Ref{Namespace: z.Namespace, Name: z.Name}},
	}
	d.undottedZone(plan, s.fqdn)
	d.undottedServers(plan, z, before)
	warnOfDeadPatterns(plan, z, z.Rules...)
	recountParent(plan, before.View, at, above)
	d.oweNewName(plan, change, s, holding, before, scans, above, last, fmt.Sprintf("zone %s was renamed to %s", old, s.fqdn))
	d.markFollowers(plan, change, chain)
	header := before.Header
	if r := d.advanceHeader(change, z, &header); r != nil {
		return nil, r
	}
	change.Step.From = before.Serial // also where the new name's last serial is ahead of it
	return d.finishPlan(plan, change)
}

// oweNewName plans what follows from a zone having the name s now and another one before: its parents count it anew,
// what is there and what the zone kept out at its old name is decided anew, and both names remember their serials
// (S6.5).
func (d *zoneDecision) oweNewName(plan *Plan, change *ZoneChange, s *zonePlace, holding *Holding, before *Zone, scans []Scan, above *Holding, last *LastSerial, reason string) {
	z, old := change.Zone, before.FQDN()
	var losing string
	var losingFQDN name.Name
	plan.oweCut(holding.Parent, z.Ref, z.View, z.FQDN())
	d.keepsCut(change.Holding, holding, old)
	if s.parent != nil {
		losing, losingFQDN = s.parent.UID, s.parent.FQDN()
		scans = append(scans, Scan{Kind: ScanMembers, Zone: losing, Owner: s.owner})
		recountParent(plan, s.view, losingFQDN, s.parentHolding)
	}
	if p := change.Holding.Parent; p != nil && (holding.Parent == nil || holding.Parent.UID != p.UID) {
		plan.oweCut(p, z.Ref, s.view, s.fqdn)
	}
	scans = append(scans,
		Scan{Kind: ScanWaiting, View: s.view, Name: s.fqdn},
		Scan{Kind: ScanZones, View: s.view, Name: s.fqdn})
	scans = append(scans, d.scansOfSpeaking(s.view, s.fqdn, s.parentHolding)...)
	scans = append(scans, d.scansOfSpeaking(before.View, old, above)...)
	scans = append(scans, scansOfVacated(before.View, old, above)...)
	d.oweWork(plan, change, reason, s, losing, losingFQDN, append(scans, d.scansOfAwaited(before.View, old)...))
	d.inheritHolders(plan, change, s, last)
	if last != nil {
		plan.Writes = append(plan.Writes, Write{Key: Key{Kind: KindLastSerial, View: s.view, Name: s.fqdn}})
	}
	plan.Writes = append(plan.Writes,
		Write{Key: HoldingKey(before.View, old)},
		Write{Key: Key{Kind: KindLastSerial, View: before.View, Name: old}, Value: Remember(before)})
}

// removeZone frees the name and leaves the records to the cascade (S8.1, S8.2).
func (d *zoneDecision) removeZone(plan *Plan) (*Plan, *Refusal) {
	z := d.ask.Before
	holding, ok := d.holdingOf(z)
	if !ok {
		return nil, nil
	}
	plan.Zone = &ZoneChange{Zone: z, Holding: holding, Gone: true}
	return d.vacateName(plan, holding, fmt.Sprintf("zone %s was removed", z.FQDN()), maxRemovals)
}

// vacateName frees the name of a zone that stands no longer, and owes the release of what it had. most bounds such
// cascades of its namespace that stand against the zone which gains its name. nil: facts are needed.
func (d *zoneDecision) vacateName(plan *Plan, holding *Holding, reason string, most int) (*Plan, *Refusal) {
	ask, z := &d.ask, d.ask.Before
	by := cmp.Or(d.by, z.Namespace)
	last := Remember(z)
	last.Zone, last.Withdrawn = z.UID, holding.Withdrawn
	plan.Writes = append(plan.Writes,
		Write{Key: HoldingKey(z.View, z.FQDN())},
		Write{Key: Key{Kind: KindLastSerial, View: z.View, Name: z.FQDN()}, Value: last})
	plan.Work = &Work{ID: ask.WorkID, Reason: reason, View: z.View, By: by, Since: ask.Now.Unix(), Purge: z.UID, Scans: []Scan{
		{Kind: ScanMembers, Zone: z.UID, Owner: name.Apex},
		{Kind: ScanReferring, Target: &Ref{Namespace: z.Namespace, Name: z.Name}},
	}}
	plan.oweCut(holding.Parent, z.Ref, z.View, z.FQDN())
	at, gaining, known := d.findAbove(z.View, z.FQDN())
	if !known {
		return nil, nil
	}
	plan.Work.Scans = append(plan.Work.Scans, scansOfVacated(z.View, z.FQDN(), gaining)...)
	plan.Work.Scans = append(plan.Work.Scans, d.scansOfAwaited(z.View, z.FQDN())...)
	plan.Work.Scans = append(plan.Work.Scans, d.scansOfSpeaking(z.View, z.FQDN(), gaining)...)
	recountParent(plan, z.View, at, gaining)
	if gaining != nil && gaining.countGained(by) >= most {
		return nil, &Refusal{Kind: Later, Message: fmt.Sprintf("the records of %d zones that were removed before from namespace %q still go to zone %s; remove this one when they are through", most, by, at)}
	}
	if gaining != nil { // its holders are the gaining zone's until the cascade is through (S2.7)
		h := gaining.WithWork(ask.WorkID, gaining.Namespace, by, z.UID, z.FQDN(), ask.Now.Unix())
		plan.Writes = append(plan.Writes, Write{Key: HoldingKey(z.View, at), Value: h})
		plan.Work.Zones = []Place{{Ref: gaining.Ref, View: z.View, FQDN: at}}
	}
	return plan, nil
}

// recountParent owes the cut of the zone with the holding h, which loses names to a zone below it or gains them.
// Another zone may now give the address of a name server of h, or h itself again (S6.1).
func recountParent(plan *Plan, view string, fqdn name.Name, h *Holding) {
	if h != nil && h.Parent != nil && !h.ExternalCut {
		plan.oweCut(h.Parent, h.Ref, view, fqdn)
	}
}

// findAbove finds the longest zone strictly above a name.
func (d *zoneDecision) findAbove(view string, n name.Name) (name.Name, *Holding, bool) {
	up, ok := n.Parent()
	if !ok {
		return name.Name{}, nil, true
	}
	return d.findEnclosing(view, up)
}

// scansOfAwaited returns the scans for zones that lost because of a zone at fqdn, or of what that holds, wherever
// above it they are to stand (S2.7).
func (d *zoneDecision) scansOfAwaited(view string, fqdn name.Name) (scans []Scan) {
	for n := fqdn; ; {
		at, h, known := d.findAbove(view, n)
		if !known || h == nil {
			return scans
		}
		rel, _ := fqdn.Rel(at)
		if slices.ContainsFunc(h.Awaited, func(a name.Rel) bool { return encloses(a, rel) || a != Base(a) && encloses(Base(a), rel) }) {
			scans = append(scans, pendingBelow(h.Ref, view, at))
		}
		n = at
	}
}

// scansOfSpeaking returns the scans for records of the enclosing zone that wait because they would be taken for a
// zone below. A zone came to fqdn, or left it, so another zone looks after the zones below (S4.7). The marks stay,
// since they are keys of the enclosing zone (I1).
func (d *zoneDecision) scansOfSpeaking(view string, fqdn name.Name, enclosing *Holding) (scans []Scan) {
	if enclosing == nil {
		return nil
	}
	at, above, known := d.findAbove(view, fqdn)
	if !known || above == nil || above.UID != enclosing.UID {
		return nil
	}
	rel, _ := fqdn.Rel(at)
	var ks []Key
	for up, ok := rel.Parent(); ok; up, ok = up.Parent() {
		ks = append(ks, OwnerKey(above.UID, up))
	}
	if !d.askAll(ks) {
		return nil
	}
	for _, k := range ks {
		if o, _ := get[Owner](&d.reading, k); o != nil && o.WaitedBelow {
			n, _ := k.Owner.In(at) // shorter than fqdn
			scans = append(scans, Scan{Kind: ScanWaiting, View: view, Name: n})
		}
	}
	return scans
}

// scansOfVacated returns the scans for what a zone kept out under a name that it leaves: what waits there, pinned to
// a shorter zone or refused by this one (S2.5, S2.7); zones below (S3.3); a DNAME that waits above; and pending zones
// that want the name from the zone that encloses it now.
func scansOfVacated(view string, fqdn name.Name, gaining *Holding) []Scan {
	scans := []Scan{{Kind: ScanZones, View: view, Name: fqdn}, {Kind: ScanWaiting, View: view, Name: fqdn}}
	for up, ok := fqdn.Parent(); ok; up, ok = up.Parent() {
		scans = append(scans, Scan{Kind: ScanWaiting, View: view, Name: up, Exact: true})
	}
	if gaining != nil {
		scans = append(scans, Scan{Kind: ScanReferring, Target: &Ref{Namespace: gaining.Namespace, Name: gaining.Name}})
	}
	return scans
}
