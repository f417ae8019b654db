// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
)

func DecideRecord(seen *law.Facts, ask RecordInput) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		plan, refusal := (&recordDecision{Reading: r, ask: ask}).decideRecord()
		if plan != nil && plan.Zone != nil {
			plan.Zone.Zone = plan.Zone.Zone.WithoutDelegated()
		}
		return plan, refusal
	})
}

func (d *recordDecision) decideRecord() (*law.Plan, *law.Refusal) {
	ask := &d.ask
	plan := &law.Plan{WaitingBefore: ask.WaitingBefore}
	current, currentHolding := d.findZone()
	d.currentZone = current
	if ask.After == nil {
		return d.leaveZone(plan, current, currentHolding)
	}

	if !ask.Cascade && !ask.SamePlace && current == nil && (ask.HadZone || ask.Before != nil) {
		return nil, law.NewLater(law.ReasonMoving, "the record is moving to another zone, and keeps its name (S1.7; try again after the "+
			"move, or delete and recreate it)")
	}

	p, refusal := d.locateRecord(ask.After)
	if refusal == nil && p.zone != nil && p.zone.Terminating && (current == nil || current.UID != p.zone.UID) {
		refusal = law.NewForbidden(law.ReasonZoneTerminating, "zone %s is being deleted and adopts nothing new", p.zone.FQDN())
	}
	if refusal != nil {
		if !ask.Cascade {
			return nil, refusal
		}
		return d.waitForAdoption(plan, current, currentHolding, p, refusal, "")
	}

	if p.zone != nil && ask.After.Terminating && (current == nil || current.UID != p.zone.UID) {
		p.zone, p.holding = nil, nil
		p.reason, p.rule = law.ReasonTerminating, "S2.6"
		p.message = "the record or its namespace is being deleted, so no zone adopts it"
	}

	if current != nil && !ask.Cascade && (p.zone == nil || current.UID != p.zone.UID) {
		return nil, d.refuseMove(current, p)
	}
	if p.zone == nil {
		plan.Waiting = ask.waitingAt(p)
		plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Reason: p.reason, Message: law.Cite(p.rule, p.message)}
		if !ask.Cascade {
			plan.WarnOf(cmp.Or(p.rule, "S2.3"), p.reason, "%s", p.message)
		}
		return d.leaveZone(plan, current, currentHolding)
	}

	if current != nil && current.UID != p.zone.UID {
		// Only the cascade with the lock brings the record.
		if p.holding.HasLock(p.fqdn) && !p.holding.HasLockOf(ask.MarkID) {
			return nil, law.RefuseMoving(p.fqdn, p.zone.FQDN())
		}
		// A transaction changes one zone (I1); the next adds the record to the other zone.
		plan.Waiting = ask.waitingAt(p)
		plan.Waiting.Moves = true
		plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Reason: law.ReasonMoving, Message: fmt.Sprintf("moves to zone %s",
			p.zone.FQDN())}
		return d.leaveZone(plan, current, currentHolding)
	}

	return d.changeZone(plan, p.zone, p.holding, p, current)
}

func (d *recordDecision) refuseMove(current *law.Zone, p *place) *law.Refusal {
	switch {
	case !d.ask.SamePlace:
		return law.NewInvalid("spec.domainName", d.ask.After.DomainName, law.ReasonInvalid,
			"the record is in zone %s, and no change of its name moves it to another zone (S1.7; to move it, delete and recreate it)",
			current.FQDN())
	case p.zone != nil:
		return law.NewLater(law.ReasonMoving, "the record is moving to zone %s from zone %s (S2.10; try again after the "+
			"move)", p.zone.FQDN(), current.FQDN())
	default:
		return law.NewForbidden(p.reason, "%s; until then it stays as it is", strings.TrimSuffix(p.message, "; the record is adopted when "+
			"that changes"))
	}
}

func (d *recordDecision) leaveZone(plan *law.Plan, current *law.Zone, holding *law.Holding) (*law.Plan, *law.Refusal) {
	if current == nil {
		return plan, nil
	}
	return d.changeZone(plan, current, holding, nil, nil)
}

// waitForAdoption plans that the record leaves its current zone, if any, and waits for a zone. The place p is nil if
// unknown. The namespace awaited has the data that is in the way, or is "".
func (d *recordDecision) waitForAdoption(plan *law.Plan, current *law.Zone, currentHolding *law.Holding, p *place, refusal *law.Refusal,
	awaited string) (*law.Plan,
	*law.Refusal) {
	r := d.ask.After
	if p == nil { // wait under the name, as far as known
		p = &place{view: r.View}
		if r.Absolute() {
			p.fqdn, _ = name.Parse(r.DomainName)
		} else if r.ZoneRef != nil {
			if z := law.Get[law.Zone](d.Reading, law.ZoneKey(r.ZoneRef.Namespace, r.ZoneRef.Name)); z != nil && !z.Pending {
				p.view = z.View
				p.fqdn, _ = name.ParseIn(r.DomainName, z.FQDN())
			}
		}
	}
	plan.Waiting = d.ask.waitingAt(p)
	if awaited != "" {
		plan.Waiting.KeptOut = awaited
	}
	plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Reason: refusal.Reason, Message: refusal.Message}
	return d.leaveZone(plan, current, currentHolding)
}

func (d *recordDecision) changeZone(plan *law.Plan, z *law.Zone, holding *law.Holding, p *place, current *law.Zone) (
	*law.Plan, *law.Refusal) {
	change := &delta{recordDecision: d, zone: z, holding: holding, place: p}
	if b := d.ask.Before; b != nil && (p == nil || current != nil) {
		change.removed = &b.Contribution
		change.owners = append(change.owners, ownerChange{owner: change.removed.Owner})
	}

	if p != nil {
		added := d.ask.After.ContributionAt(p.owner)
		change.added = &added
		if change.removed == nil || change.removed.Owner != change.added.Owner {
			change.owners = append(change.owners, ownerChange{owner: change.added.Owner})
		}
	}

	change.dataOwners = len(change.owners)
	change.readFacts()
	change.uncountRemoved()

	if change.added != nil {
		if locked := change.refuseLocked(); locked != nil && d.ask.Cascade && d.ask.Before != nil {
			return nil, locked
		}
		refusal, awaited := change.admitAdded(plan), ""
		var waits law.Warning
		if refusal != nil {
			if awaited = change.awaitedClaim(refusal); awaited != "" {
				refusal, waits = change.explainWait(refusal, awaited)
				if more := change.refuseMoreWaiting(); more != nil && !d.ask.Cascade {
					return nil, more
				}
			}
		}

		switch {
		case refusal != nil && !d.ask.Cascade && awaited == "":
			refusal = change.explainEnding(refusal)
			if b := d.ask.Before; b != nil && b.EndsAt != 0 {
				refusal.Message += fmt.Sprintf("; unchanged, it stays until about %s", time.Unix(b.EndsAt, 0).UTC().Format(time.RFC3339))
			}
			return nil, z.NameContact(refusal, d.ask.Namespace)
		case refusal != nil && current != nil && refusal.Kind == law.Forbidden && !change.signsAnother():
			return d.withdrawRecord(plan, holding, p, refusal)
		case refusal != nil:
			plan.Warnings = nil
			if !d.ask.Cascade {
				plan.Warnings = append(plan.Warnings, waits)
			}
			return d.waitForAdoption(plan, current, holding, p, refusal, awaited)
		}
	}

	if change.added != nil {
		change.countClaim(change.added, change.admission, 1)
	}
	change.countPointers()
	change.noticeTakenHosts()
	change.noticeHiddenNames(plan)
	for i := range change.dataOwners {
		change.diff.compareOwner(&change.owners[i], change.removed, change.added)
	}
	change.writeKeys()
	after := apexNames(holding, change.removed, change.added, change.owners.findAfter(name.Apex), d.ask.Namespace == z.Namespace)
	if change.changesNothing() {
		plan.Record = change.adoptedPlacement(z, z.Served && holding.Settled())
		plan.Record.Stays = true
		return plan, nil
	}

	return change.planStep(plan, after)
}

func (d *delta) admitAdded(plan *law.Plan) *law.Refusal {
	added := d.added
	if refusal := checkType(added); refusal != nil {
		return refusal
	}
	o := d.owners[slices.IndexFunc(d.owners, func(o ownerChange) bool { return o.owner == added.Owner })]
	d.otherData = o.after
	if refusal := d.admitRecord(plan); refusal != nil {
		return refusal
	}

	sizes, refusal := packValues(d.zone.FQDN(), added)
	if refusal != nil {
		return refusal
	}
	o.after.AddContribution(added, sizes, d.countGuest(d.admission))
	if refusal = d.checkLimits(o.after, o.before); refusal != nil {
		return refusal
	}

	d.newCount++
	return nil
}

func (d *delta) planStep(plan *law.Plan, holding *law.Holding) (*law.Plan, *law.Refusal) {
	z, ask := d.zone, &d.ask
	plan.Writes = d.keys // drops UpdateWithdrawal's write: the period is over
	plan.Rule = d.rule
	plan.Awaited = d.isAwaited()
	change := &law.ZoneChange{Zone: z, Holding: holding.WithWork(ask.MarkID, z.Namespace, ask.CausedBy, ask.Now.Unix()), Notices: d.notices}
	if !d.diff.empty() {
		record := &content.RecordRef{Namespace: ask.Namespace, Name: ask.Name, UID: ask.UID,
			Was: ask.Before != nil && ask.Before.Zone.UID == z.UID, Left: d.place == nil}
		if d.place != nil {
			record.Owner = d.added.Owner
		} else {
			record.Owner = d.removed.Owner
		}
		if r := AdvanceZone(change, z, ask.BeforeSet, &d.diff, ask.Now, record, ask.By); r != nil {
			return nil, r
		}
	}

	t := d.ownStep(change.Holding)
	last := z
	if ask.BeforeSet != nil {
		last = ask.BeforeSet // content between writes of a step is never delivered
	}
	change.CountDeletions(plan, z, last, t, ask.Now.Unix())
	d.updateNameServers(plan, change)
	if change.Holding != d.holding {
		plan.Writes = append(plan.Writes, law.Write{Key: law.HoldingKey(z.View, z.FQDN()), Value: change.Holding})
	}

	plan.Zone = change
	if d.place != nil {
		plan.Record = d.adoptedPlacement(change.Zone, z.Served && change.Settled() &&
			(change.Servable == nil || change.Servable.Status == "True"))
	}

	return plan, nil
}

func (d *delta) adoptedPlacement(z *law.Zone, served bool) *law.Placement {
	return &law.Placement{FQDN: d.place.fqdn, View: d.place.view, Zone: &d.zone.Ref, Serial: z.Serial, Reason: law.ReasonAdopted,
		Admission: d.admission, HasClass: d.zone.HasClass, Served: served,
		Message: fmt.Sprintf("in zone %s by delegation pattern %q", d.zone.FQDN(), d.rule)}
}

// withdrawRecord begins the grace period of a record that no rule allows any more. After the period, the record is
// released.
func (d *recordDecision) withdrawRecord(plan *law.Plan, holding *law.Holding, p *place, refusal *law.Refusal) (*law.Plan, *law.Refusal) {
	z, ask := d.currentZone, &d.ask
	plan.Warnings = nil
	begins := ask.Before.EndsAt == 0
	w, release := UpdateWithdrawal(d.Reading, plan, Withdrawn{Zone: z, Namespace: ask.Namespace, Begins: begins,
		ByOwner: begins && ask.CausedBy == z.Namespace, Grace: z.Grace, Cause: ask.Cause, Now: ask.Now})
	if !release {
		plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Zone: &z.Ref, Serial: z.Serial, Stays: true, EndsAt: w.EndsAt(),
			Admission: ask.Before.Admission, Reason: law.ReasonDelegationWithdrawn,
			Message: refusal.Message + "; it stays until about status.endsAt (S2.12)"}
		return plan, nil
	}
	ask.Uncounted = ask.Uncounted || w.Uncounted()

	if d.absent != "" {
		refusal = law.NewForbidden(law.ReasonZoneNotFound, "%s; the record is adopted when that changes", d.absent)
		p = &place{view: ask.After.View} // as if the zone did not exist
		if ask.After.Absolute() {
			p.fqdn, _ = name.Parse(ask.After.DomainName)
		}
	}

	return d.waitForAdoption(plan, z, holding, p, refusal, "")
}

func (d *delta) updateNameServers(plan *law.Plan, change *law.ZoneChange) {
	z := d.zone
	apexNS, address := false, false
	hosts := apexHosts(z, d.holding)
	for _, c := range []*law.Contribution{d.removed, d.added} {
		if c == nil {
			continue
		}
		apexNS = apexNS || c.Owner.IsApex() && c.Type == rdata.NS
		address = address || (c.Type == rdata.A || c.Type == rdata.AAAA || c.Type == rdata.CNAME) && slices.Contains(hosts, c.Owner)
	}
	if !apexNS && !address {
		return
	}
	plan.AddPendingCut(change.Holding.Parent, z.Ref, z.View, z.FQDN())
	change.Servable = JudgeServable(d.Reading, z, change.Holding, d.owners)
}

func (d *recordDecision) locateRecord(r *law.Record) (*place, *law.Refusal) {
	p := &place{view: r.View}
	target, refusal := d.resolveName(p, r)
	if refusal != nil {
		return nil, refusal
	}
	if p.reason != "" {
		return p, nil
	}

	if target != nil && r.Type == rdata.DS && p.fqdn == target.FQDN() {
		return nil, law.NewInvalid("spec.domainName", r.DomainName, law.ReasonCNAMEConflict, "DS belongs to the delegation in the "+
			"parent of %s, not to the zone's own apex (S5.6; drop zoneRef or refer to the parent zone)", target.FQDN())
	}

	start, ok := p.fqdn, true
	if r.Type == rdata.DS {
		if start, ok = start.Parent(); !ok {
			p.reason, p.message = law.ReasonNoEnclosingZone, "the root has no parent that could hold a DS"
			return p, nil
		}
	}

	at, holding := d.FindEnclosing(p.view, start)
	if holding == nil {
		p.reason = law.ReasonNoEnclosingZone
		p.message = fmt.Sprintf("no zone%s encloses %s yet; check the spelling, or create the zone, which then adopts the record",
			law.InView(p.view), p.fqdn)
		return p, nil
	}

	z := d.ZoneOf(holding)
	if target != nil && z.UID != target.UID {
		return nil, law.NewForbidden(law.ReasonBelowZoneCut, "%s lies in the longer zone %s, and zoneRef names %s (drop zoneRef, "+
			"or refer to the longer zone)", p.fqdn, at, target.FQDN())
	}

	p.owner, _ = p.fqdn.Rel(z.FQDN())
	given := d.WithRulesFor(z, r.Namespace)
	p.zone, p.holding = given, holding
	return p, nil
}
