// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
)

// delta is what the write of one record changes in one zone. changeZone fills it in this order: read the facts, judge
// what comes, account for both contributions, plan the writes. A step reads what the steps before it
// left here and changes no fact.
type delta struct {
	*recordDecision
	zone    *Zone
	holding *Holding
	// place is where the record is to stand in the zone; nil: it leaves the zone.
	place *place
	// gone is the contribution that leaves the zone, come the one that comes; nil: none does.
	gone, come *Contribution
	// owners has those of gone and come, each once, that of gone first. After these named ones it has the owners above
	// them that the write changes, too.
	owners ownerChanges
	named  int
	// count is stored, and records is the number of the namespace's records in the zone afterwards.
	count   *Count
	records int64
	// memberBefore and member are the record's place in the zone, and rule is the pattern that admits it.
	memberBefore, member *Member
	rule                 string
	// others is the owner of come without the record.
	others *Owner
	// evicts is the namespace that has the name of come and is allowed it no more; "": none (S2.13).
	evicts string

	// conflicts says that what comes may not stand beside what is at its name or above it.
	conflicts bool
	// claimedBy is the namespace that has the base name which what comes is refused: a tenant, else the zone's own; "":
	// none has it.
	claimedBy string

	diff diff
	keys keys
}

// changeZone takes the record's contribution out of zone z where it stands there (ask.Before) and puts the new one in
// (p, unless nil): one step of z. home is the zone that the record stands in, nil for none.
func (d *recordDecision) changeZone(plan *Plan, z *Zone, holding *Holding, p *place, home *Zone) (*Plan, *Refusal) {
	x := &delta{recordDecision: d, zone: z, holding: holding, place: p}
	if b := d.ask.Before; b != nil && (p == nil || home != nil) { // else it stands nowhere yet, or in a zone that is gone
		x.gone = &b.Contribution
		x.owners = append(x.owners, ownerChange{at: x.gone.Owner})
	}
	if p != nil {
		come := d.ask.After.ContributionAt(p.owner)
		x.come = &come
		if x.gone == nil || x.gone.Owner != x.come.Owner {
			x.owners = append(x.owners, ownerChange{at: x.come.Owner})
		}
	}
	x.named = len(x.owners)
	x.readFacts()
	x.takeOut()
	if x.come != nil {
		refusal, awaited := x.judgeComing(plan), ""
		if refusal != nil {
			if awaited = x.awaitedClaim(refusal); awaited != "" {
				refusal = x.explainWait(refusal, awaited)
			}
		}
		switch {
		case refusal != nil && !d.ask.Cascade && awaited == "":
			if b := d.ask.Before; b != nil && b.EndsAt != 0 {
				refusal.Message += fmt.Sprintf("; as it stands it stays until about %s", time.Unix(b.EndsAt, 0).UTC().Format(time.RFC3339))
			}
			return nil, refusal
		case refusal != nil && home != nil && refusal.Kind == Forbidden:
			return d.withdrawRecord(plan, holding, p, refusal)
		case refusal != nil:
			plan.Warnings = nil
			if !d.ask.Cascade {
				plan.Warnings = []string{refusal.Message}
			}
			return d.leaveUnadopted(plan, home, holding, p, refusal, awaited)
		}
		if x.evicts != "" {
			return x.awaitEviction(plan, x.evicts), nil
		}
	}
	if x.member != nil {
		x.changeUpper(Base(x.come.Owner)).CountClaim(d.ask.Namespace, d.ask.Namespace == z.Namespace, x.member.Admission, 1)
	}
	for i := range x.named {
		x.diff.compareOwner(&x.owners[i], x.gone, x.come)
	}
	x.writeKeys()
	after := holding.apexNames(x.gone, x.come, x.owners.after(name.Apex), d.ask.Namespace == z.Namespace)
	if x.changesNothing() { // nothing to write, and the zone need not be touched
		plan.Record = x.adoptedPlacement(z, z.Served && holding.Settled())
		plan.Record.Stays = true
		return plan, nil
	}
	return x.planStep(plan, after)
}

// readFacts asks for what most decisions need, in one round, and puts it into the delta.
func (x *delta) readFacts() {
	x.askAll(x.firstKeys(make([]Key, 0, 8)))
	for i := range x.owners {
		o := &x.owners[i]
		o.before = x.storedOwner(o.at)
		o.after = o.before.clone()
	}
	if x.count = get[Count](x.reading, CountKey(x.zone.UID, x.ask.Namespace)); x.count != nil {
		x.records = x.count.Records
	}
}

// firstKeys adds the keys of the facts that most decisions need.
func (x *delta) firstKeys(ks []Key) []Key {
	z := x.zone
	if x.gone != nil {
		ks = append(ks, MemberKey(z.UID, x.gone.Owner, x.ask.Namespace, x.ask.Name))
	}
	comesCut := x.come != nil && x.come.Type == rdata.NS && !x.come.Owner.IsApex()
	for _, o := range x.owners {
		owner := o.at
		ks = append(ks, OwnerKey(z.UID, owner))
		if comesCut && x.come.Owner == owner { // all that it occludes
			ks = append(ks, ZonesBelowKey(z.View, x.nameOf(owner)), OwnersBelowKey(z.UID, owner))
		}
		for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
			ks = append(ks, OwnerKey(z.UID, up))
		}
	}
	return append(ks, CountKey(z.UID, x.ask.Namespace))
}

// takeOut takes the contribution that goes out of what stands at its owner.
func (x *delta) takeOut() {
	if x.gone == nil {
		return
	}
	x.memberBefore = get[Member](x.reading, MemberKey(x.zone.UID, x.gone.Owner, x.ask.Namespace, x.ask.Name))
	if x.memberBefore == nil {
		x.readAnew() // the object says it is a member: facts of two moments
	}
	x.owners.after(x.gone.Owner).removeContribution(x.gone)
	x.changeUpper(Base(x.gone.Owner)).CountClaim(x.ask.Namespace, x.ask.Namespace == x.zone.Namespace, x.memberBefore.Admission, -1)
	x.records--
}

// judgeComing decides whether the zone takes in what comes, and puts it at its owner.
func (x *delta) judgeComing(plan *Plan) *Refusal {
	come := x.come
	if refusal := come.checkType(); refusal != nil {
		return refusal
	}
	o := x.owners[slices.IndexFunc(x.owners, func(o ownerChange) bool { return o.at == come.Owner })]
	x.others = o.after
	refusal := x.admitRecord(plan)
	if refusal != nil || x.evicts != "" {
		return refusal
	}
	sizes, refusal := packValues(x.zone.FQDN(), come)
	if refusal != nil {
		return refusal
	}
	o.after.addContribution(come, sizes)
	if refusal = x.checkLimits(o.after, o.before); refusal != nil {
		return refusal
	}
	x.records++
	return nil
}

// writeKeys writes the zone's keys.
func (x *delta) writeKeys() {
	uid := x.zone.UID
	for _, o := range x.owners {
		x.keys.put(OwnerKey(uid, o.at), ownerFact(o.after))
	}
	var count any
	if x.records > 0 {
		count = &Count{Records: x.records}
	}
	x.keys.put(CountKey(uid, x.ask.Namespace), count)
	if x.gone != nil {
		x.keys.put(MemberKey(uid, x.gone.Owner, x.ask.Namespace, x.ask.Name), nil)
	}
	if x.member != nil {
		x.keys.put(MemberKey(uid, x.come.Owner, x.ask.Namespace, x.ask.Name), x.member)
	}
}

// changesNothing reports whether a cascade decides a record anew that stays as it is.
func (x *delta) changesNothing() bool {
	return x.ask.Cascade && x.memberBefore != nil && x.member != nil && x.gone.Owner == x.come.Owner && x.diff.empty() &&
		*x.memberBefore == *x.member
}

// planStep writes the step of the zone into the plan, and what it owes elsewhere. holding is that of the zone
// afterwards, without the mark of the cascade that makes the step.
func (x *delta) planStep(plan *Plan, holding *Holding) (*Plan, *Refusal) {
	z, ask := x.zone, &x.ask
	plan.Writes = x.keys // the first writes of the plan
	plan.Rule = x.rule
	change := &ZoneChange{Zone: z, Holding: holding.WithWork(ask.Work, z.Namespace, ask.WorkBy, ask.Now.Unix())}
	if !x.diff.empty() {
		record := &content.RecordRef{Namespace: ask.Namespace, Name: ask.Name, UID: ask.UID}
		if r := advanceZone(change, z, ask.Set, &x.diff, ask.Now, record, ask.By); r != nil {
			return nil, r
		}
	}
	t := x.ownStep(change.Holding)
	last := z
	if ask.Set != nil {
		last = ask.Set // no content between two writes of one step is ever delivered
	}
	change.countDeletions(plan, z, last, t, ask.Now.Unix())
	x.updateNameServers(plan, change)
	if change.Holding != x.holding {
		plan.Writes = append(plan.Writes, Write{Key: HoldingKey(z.View, z.FQDN()), Value: change.Holding})
	}
	plan.Zone = change
	if x.place != nil {
		plan.Record = x.adoptedPlacement(change.Zone, z.Served && change.Settled() &&
			(change.Servable == nil || change.Servable.Status == "True"))
	}
	return plan, nil
}

// adoptedPlacement says that the record stands in the zone, which is z after the write.
func (x *delta) adoptedPlacement(z *Zone, served bool) *Placement {
	return &Placement{FQDN: x.place.fqdn, View: x.place.view, Zone: &x.zone.Ref, Serial: z.Serial, Reason: ReasonAdopted,
		HasClass: x.zone.HasClass, Served: served,
		Message: fmt.Sprintf("in zone %s by delegation pattern %q", x.zone.FQDN(), x.rule)}
}

// storedOwner is what is stored of an owner that is known already.
func (x *delta) storedOwner(owner name.Rel) *Owner {
	return get[Owner](x.reading, OwnerKey(x.zone.UID, owner))
}

// ownerAt is what stands at a name without the record, which is known already.
func (x *delta) ownerAt(n name.Rel) *Owner {
	if o := x.owners.after(n); o != nil {
		return o
	}
	return x.storedOwner(n)
}

// changeUpper returns an owner above that the write changes, too.
func (x *delta) changeUpper(owner name.Rel) *Owner {
	if o := x.owners.after(owner); o != nil {
		return o
	}
	before := x.storedOwner(owner)
	x.owners = append(x.owners, ownerChange{owner, before, before.clone()})
	return x.owners[len(x.owners)-1].after
}

// nameOf is the name of an owner that stands in the zone, and is short enough for that.
func (x *delta) nameOf(owner name.Rel) name.Name {
	n, _ := owner.In(x.zone.FQDN())
	return n
}
