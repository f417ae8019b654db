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
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
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

// decideRecord plans a client's write or deletion of a Record, or decides a stored Record again in a cascade. A client
// gets a refusal. In a cascade, the refusal becomes the reason to wait, except while names are locked.
func (d *recordDecision) decideRecord() (*law.Plan, *law.Refusal) {
	ask := &d.ask
	plan := &law.Plan{WaitingBefore: ask.WaitingBefore}
	current, currentHolding := d.findZone()
	d.currentZone = current
	// A deletion always passes (S2.4).
	if ask.After == nil {
		return d.leaveZone(plan, current, currentHolding)
	}

	if !ask.Cascade && !ask.SamePlace && current == nil && (ask.HadZone || ask.Before != nil) {
		return nil, law.NewLater(law.ReasonMoving, "the record is moving to another zone, and keeps its name (S1.7; try again after the "+
			"move, or delete and recreate it)")
	}

	// 1. Find the zone of the name. A zone under deletion keeps its records, but takes none in (S8.2).
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

	// Finalizers may keep a deleted Record for days. No zone takes it in meanwhile.
	if p.zone != nil && ask.After.Terminating && (current == nil || current.UID != p.zone.UID) {
		p.zone, p.holding = nil, nil
		p.reason, p.rule = law.ReasonTerminating, "S2.6"
		p.message = "the record or its namespace is being deleted, so no zone adopts it"
	}

	// 2. Compare with the present zone. No edit of a client moves the record to another zone (S1.7).
	if current != nil && !ask.Cascade && (p.zone == nil || current.UID != p.zone.UID) {
		return nil, d.refuseMove(current, p)
	}
	if p.zone == nil {
		// No zone has the name yet: the record waits (S2.3).
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

	// 3. The record enters the zone, or stays there.
	return d.changeZone(plan, p.zone, p.holding, p, current)
}

// refuseMove refuses a client's edit of a record in zone current whose place p is in another zone or in none.
func (d *recordDecision) refuseMove(current *law.Zone, p *place) *law.Refusal {
	switch {
	case !d.ask.SamePlace:
		return law.NewInvalid("spec.domainName", d.ask.After.DomainName, law.ReasonInvalid,
			"the record is in zone %s, and no change of its name moves it to another zone (S1.7; to move it, delete and recreate it)",
			current.FQDN())
	// The name is the same. A zone was made or ended, and the move of the records is still under way.
	case p.zone != nil:
		return law.NewLater(law.ReasonMoving, "the record is moving to zone %s from zone %s (S2.10; try again after the "+
			"move)", p.zone.FQDN(), current.FQDN())
	// Mostly, the zone of zoneRef is gone, or gives the namespace nothing any more.
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
	// That namespace may replace its Record before this Record gets the name (S2.15).
	if awaited != "" {
		plan.Waiting.KeptOut = awaited
	}
	plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Reason: refusal.Reason, Message: refusal.Message}
	return d.leaveZone(plan, current, currentHolding)
}

// changeZone plans the change of zone z: the record leaves (p is nil), enters (current is nil), or is edited there. If
// no rule allows the record in its current zone, the period begins, or the record leaves and waits.
func (d *recordDecision) changeZone(plan *law.Plan, z *law.Zone, holding *law.Holding, p *place, current *law.Zone) (
	*law.Plan, *law.Refusal) {
	// 1. Collect the data before and after.
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

	// 2. Uncount the former data, or a record would conflict with itself.
	change.dataOwners = len(change.owners)
	change.readFacts()
	change.uncountRemoved()

	// 3. Decide the new data.
	if change.added != nil {
		// In a cascade, a record in a zone stays there until the lock ends. Any other record waits.
		if locked := change.refuseLocked(); locked != nil && d.ask.Cascade && d.ask.Before != nil {
			return nil, locked
		}
		refusal, awaited := change.admitAdded(plan), ""
		var waits law.Warning
		if refusal != nil {
			if awaited = change.awaitedClaim(refusal); awaited != "" {
				refusal, waits = change.explainWait(refusal, awaited)
				// A cascade keeps all waiting records, however many.
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
		// The rules changed. The record keeps its name for the grace period (S2.12).
		case refusal != nil && current != nil && refusal.Kind == law.Forbidden && !change.signsAnother():
			return d.withdrawRecord(plan, holding, p, refusal)
		case refusal != nil:
			// Warnings about data outside of all zones would mislead.
			plan.Warnings = nil
			if !d.ask.Cascade {
				plan.Warnings = append(plan.Warnings, waits)
			}
			return d.waitForAdoption(plan, current, holding, p, refusal, awaited)
		}
	}

	// 4. Count the new data, and compute the changed rows.
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
	// Without a change, a cascade makes no step and no serial.
	if change.changesNothing() {
		plan.Record = change.adoptedPlacement(z, z.Served && holding.Settled())
		plan.Record.Stays = true
		return plan, nil
	}

	return change.planStep(plan, after)
}

// admitAdded refuses added, or counts its values at the owner and the record in newCount.
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

// planStep completes the plan with the zone's next step and serial, its hold after a mass deletion, and the record's
// status. holding is the Holding with the hosts after the write.
func (d *delta) planStep(plan *law.Plan, holding *law.Holding) (*law.Plan, *law.Refusal) {
	z, ask := d.zone, &d.ask
	plan.Writes = d.keys // drops UpdateWithdrawal's write: the period is over
	plan.Rule = d.rule
	plan.Awaited = d.isAwaited()
	change := &law.ZoneChange{Zone: z, Holding: holding.WithWork(ask.MarkID, z.Namespace, ask.CausedBy, ask.Now.Unix()), Notices: d.notices}
	if !d.diff.empty() {
		record := &content.RecordRef{Namespace: ask.Namespace, Name: ask.Name, UID: ask.UID,
			Was: ask.Before != nil && ask.Before.Zone.UID == z.UID, Left: d.place == nil}
		// The history names a Record that leaves by its former name.
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
		// The record may be the last missing address of a name server.
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
		// The zone keeps the data, so neither serial nor Ready change.
		plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Zone: &z.Ref, Serial: z.Serial, Stays: true, EndsAt: w.EndsAt(),
			Admission: ask.Before.Admission, Reason: law.ReasonDelegationWithdrawn,
			Message: refusal.Message + "; it stays until about status.endsAt (S2.12)"}
		return plan, nil
	}
	// After a period, the release is no surprise, and counts towards no mass deletion (S7.7).
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

// updateNameServers judges Servable again, and has the parent list NS and glue again, if the write concerns the zone's
// name servers: NS at the apex, or A, AAAA or CNAME at one of their hosts.
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

// locateRecord returns the record's name, and the zone with the longest name at or above (S2.1), with the rules for the
// record's namespace. Without a zone, the place has the reason.
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

	// DS at shop.example.org. are data of example.org., also if there is a zone shop.example.org.
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
		// zoneRef restricts the choice, and puts no record into a zone above.
		return nil, law.NewForbidden(law.ReasonBelowZoneCut, "%s lies in the longer zone %s, and zoneRef names %s (drop zoneRef, "+
			"or refer to the longer zone)", p.fqdn, at, target.FQDN())
	}

	p.owner, _ = p.fqdn.Rel(z.FQDN())
	// Delegations may give the namespace further rules.
	given := d.WithRulesFor(z, r.Namespace)
	p.zone, p.holding = given, holding
	return p, nil
}
