// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

func DecideRecord(seen *law.Facts, ask RecordInput) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		d := &recordDecision{Reading: r, ask: ask}
		if refusal := d.endExpired(); refusal != nil {
			return nil, refusal
		}
		plan, refusal := d.decideRecord()
		if plan != nil && plan.Zone != nil {
			plan.Zone.Zone = plan.Zone.Zone.WithoutDelegated()
		}
		if plan != nil {
			d.planDue(plan)
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

	if d.isBetweenZones() && !ask.Cascade && !ask.SamePlace {
		return nil, law.NewLater(law.ReasonMoving, "the record is moving to another zone, and keeps its name (S1.7; try again after the "+
			"move, or delete and recreate it)")
	}

	// 1. Find the zone of the name.
	p, refusal := d.findPlace()
	if refusal != nil {
		if !ask.Cascade {
			return nil, refusal
		}
		return d.waitForAdoption(plan, current, currentHolding, p, refusal, "")
	}

	// 2. Compare with the present zone.
	switch stays := current == nil || d.isInZone(p.zone); {
	// No edit of a client moves the record to another zone (S1.7).
	case !stays && !ask.Cascade && p.reason != law.ReasonExpired:
		return nil, d.refuseMove(current, p)
	// No zone has the name yet, or the record has expired: the record waits (S2.3).
	case p.zone == nil:
		plan.Waiting = ask.waitingAt(p)
		plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Reason: p.reason, Message: law.Cite(p.rule, p.message)}
		plan.WarnOf(cmp.Or(p.rule, "S2.3"), p.reason, "%s", p.message)
		return d.leaveZone(plan, current, currentHolding)
	// Only the cascade with the lock brings the record.
	case !stays && p.holding.HasLock(p.fqdn) && !p.holding.HasLockOf(ask.MarkID):
		return nil, law.RefuseMoving(p.fqdn, p.zone.FQDN())
	// A transaction changes one zone (I1); the next adds the record to the other zone.
	case !stays:
		plan.Waiting = ask.waitingAt(p)
		plan.Waiting.Moves = true
		plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Reason: law.ReasonMoving, Message: fmt.Sprintf("moves to zone %s",
			p.zone.FQDN())}
		return d.leaveZone(plan, current, currentHolding)
	}

	// 3. The record enters the zone, or stays there.
	return d.changeZone(plan, p.zone, p.holding, p, current)
}

// isBetweenZones reports whether the record has left its zone, or the zone is gone, and a cascade has yet to decide.
func (d *recordDecision) isBetweenZones() bool {
	return d.currentZone == nil && (d.ask.HadZone || d.ask.Before != nil)
}

// findPlace locates the record. A zone under deletion keeps its records, but takes none in (S8.2), and no zone takes in
// a record under deletion, whose finalizers may keep it for days.
func (d *recordDecision) findPlace() (*place, *law.Refusal) {
	p, refusal := d.locateRecord(d.ask.After)
	enters := refusal == nil && p.zone != nil && !d.isInZone(p.zone)
	switch {
	case d.ask.After.IsExpired(d.ask.Now.Unix()) && (refusal == nil || d.ask.Cascade):
		return d.expiredPlace(p), nil
	case !enters:
		return p, refusal
	case p.zone.Terminating:
		return p, law.NewForbidden(law.ReasonZoneTerminating, "zone %s is being deleted and adopts nothing new", p.zone.FQDN())
	case d.ask.After.Terminating:
		return &place{fqdn: p.fqdn, view: p.view, reason: law.ReasonTerminating, rule: "S2.6",
			message: "the record or its namespace is being deleted, so no zone adopts it"}, nil
	}
	return p, nil
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

// waitForAdoption plans that the record leaves its current zone, if any, and waits for a zone. The namespace awaited
// has the data in the way, or is "".
func (d *recordDecision) waitForAdoption(plan *law.Plan, current *law.Zone, currentHolding *law.Holding, p *place, refusal *law.Refusal,
	awaited string) (*law.Plan,
	*law.Refusal) {
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
		if !change.keepsOwner() {
			change.owners = append(change.owners, ownerChange{owner: change.added.Owner})
		}
	}

	// 2. Uncount the former data, or a record would conflict with itself.
	change.dataOwners = len(change.owners)
	change.readFacts()
	change.uncountRemoved()

	// 3. Decide the new data, and count them.
	if change.added != nil {
		// In a cascade, a record in a zone stays there until the lock ends. Any other record waits.
		if locked := change.refuseLocked(); locked != nil && d.ask.Cascade && d.ask.Before != nil {
			return nil, locked
		}
		if refusal := change.admitAdded(plan); refusal != nil {
			return change.answerRefusal(plan, current, refusal)
		}
		change.countClaim(change.added, change.admission, 1)
	}

	// 4. Compute the changed rows.
	change.countPointers()
	change.noticeTakenHosts()
	change.noticeHiddenNames(plan)
	for i := range change.dataOwners {
		o := &change.owners[i]
		derived, hiding := rehidePTR(d.Reading, z, o)
		change.hiding = append(change.hiding, hiding...)
		change.diff.compareOwner(o, change.removed, change.added, derived)
	}
	change.derivePTR(plan)
	// Without a change, a cascade makes no step and no serial.
	if change.changesNothing() {
		plan.Record = change.adoptedPlacement(z, z.Served && holding.Settled())
		plan.Record.Stays = true
		return plan, nil
	}

	return change.planStep(plan, change.apexNames())
}

// answerRefusal gives a client the refusal, unless the Record waits for the data in its way (S2.14). A cascade
// withdraws the record from its current zone, or lets the record wait.
func (d *delta) answerRefusal(plan *law.Plan, current *law.Zone, refusal *law.Refusal) (*law.Plan, *law.Refusal) {
	plan.Warnings = nil // about data outside of all zones, they would mislead
	awaited := d.awaitedClaim()
	if awaited != "" {
		var waits law.Warning
		refusal, waits = d.explainWait(refusal, awaited)
		plan.Warnings = append(plan.Warnings, waits)
	}

	switch {
	// The rules changed. The record keeps its name for the grace period (S2.12).
	case d.ask.Cascade && current != nil && refusal.Kind == law.Forbidden && !d.signsAnother():
		return d.withdrawRecord(plan, d.holding, d.place, refusal)
	case d.ask.Cascade: // keeps all waiting records, however many
	case awaited == "":
		return nil, d.explainRefusal(refusal)
	default:
		if more := d.refuseMoreWaiting(); more != nil {
			return nil, more
		}
	}
	return d.waitForAdoption(plan, current, d.holding, d.place, refusal, awaited)
}

// explainRefusal returns the refusal for a client, with the ends of the data in the way and of the record itself, and
// with the zone's contact.
func (d *delta) explainRefusal(refusal *law.Refusal) *law.Refusal {
	refusal = d.explainEnding(refusal)
	if b := d.ask.Before; b != nil && b.EndsAt != 0 {
		refusal.Message += fmt.Sprintf("; unchanged, it stays until about %s", time.Unix(b.EndsAt, 0).UTC().Format(time.RFC3339))
	}
	return d.zone.NameContact(refusal, d.ask.Namespace)
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
	plan.Writes = d.listWrites() // drops UpdateWithdrawal's write: the period is over
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
		p = unplaced(ask.After) // as if the zone did not exist
	}

	return d.waitForAdoption(plan, z, holding, p, refusal, "")
}

// updateNameServers judges Servable again, and has the parent list NS and glue again, if the write concerns the zone's
// name servers: NS at the apex, or data at one of their hosts.
func (d *delta) updateNameServers(plan *law.Plan, change *law.ZoneChange) {
	z, hosts := d.zone, apexHosts(d.zone, d.holding)
	concernsServers := func(c *law.Contribution) bool {
		return c != nil && (c.Type == rdata.NS && c.Owner.IsApex() || slices.Contains(hosts, c.Owner))
	}
	if !concernsServers(d.removed) && !concernsServers(d.added) {
		return
	}
	plan.AddPendingCut(change.Holding.Parent, z.Ref, z.View, z.FQDN())
	change.Servable = JudgeServable(d.Reading, z, change.Holding, d.owners)
}

// locateRecord returns the record's name, and the zone with the longest name at or above (S2.1), with the rules for the
// record's namespace. Without a zone, the place has the reason. With a refusal, the place is as far as known.
func (d *recordDecision) locateRecord(r *law.Record) (*place, *law.Refusal) {
	p := unplaced(r)
	target, refusal := d.resolveName(p, r)
	if refusal != nil {
		return p, refusal
	}
	if p.reason != "" {
		return p, nil
	}

	if target != nil && r.Type == rdata.DS && p.fqdn == target.FQDN() {
		return p, law.NewInvalid("spec.domainName", r.DomainName, law.ReasonCNAMEConflict, "DS belongs to the delegation in the "+
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
		return p, law.NewForbidden(law.ReasonBelowZoneCut, "%s lies in the longer zone %s, and zoneRef names %s (drop zoneRef, "+
			"or refer to the longer zone)", p.fqdn, at, target.FQDN())
	}

	p.owner, _ = p.fqdn.Rel(z.FQDN())
	// Delegations may give the namespace further rules.
	given := d.WithRulesFor(z, r.Namespace)
	p.zone, p.holding = given, holding
	return p, nil
}
