// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
)

// Record is a Record object as the law sees it; its values are parsed.
type Record struct {
	Namespace, Name, UID string
	View                 string
	DomainName           string
	ZoneRef              *Ref
	Type                 rdata.Type
	TTL                  *uint32
	Values               []rdata.Value
	// Created is the object's creation time, unix seconds.
	Created int64
	// Terminating: it is being deleted, or its namespace is, so no zone takes it in (S2.8).
	Terminating bool
}

// Absolute reports whether the record's name is absolute (S1.1).
func (r *Record) Absolute() bool { return name.IsAbsolute(r.DomainName) }

// Adopted is the contribution of a record that stands in a zone.
type Adopted struct {
	Zone Ref
	// FQDN says where when the contribution's Owner is not given: the owner of a
	// relative name is known by itself and survives a rename, that of an absolute
	// name follows from the zone.
	FQDN name.Name
	Contribution
}

// RecordAsk is the request to decide one record write.
type RecordAsk struct {
	// Namespace, Name and UID of the record.
	Namespace, Name, UID string
	// Before is what the record contributes now; nil when it is not adopted.
	Before *Adopted
	// Waits is where it waits unadopted now; nil when it does not.
	Waits *Waiting
	// After is the record as it shall be; nil when it goes.
	After *Record
	// Cascade: nobody asks; a refusal becomes the reason why it is not adopted (S2.5, S2.7).
	Cascade bool
	// Stood: it is between two zones, or in one that is gone (S2.7). Held: it held its base name there.
	Stood, Held bool
	Now         time.Time
	// By is who asks, for the journal.
	By string
	// WorkID names the outbox item this decision may need.
	WorkID string
	// Work is the standing cascade that makes this step, "" for a client's write.
	Work string
	// WorkBy is the namespace that caused that cascade.
	WorkBy string
	// Uncounted: what goes is not removed by a write in the namespace: that is being deleted, or an
	// upgrade is carried out (S7.5).
	Uncounted bool
	// Move is the outbox item that this step ends, nil for none: the record arrives (S2.6).
	Move *Work
	// Set is the zone as it was before the writes that are decided before this one and committed with it, as one step
	// (S10.1); nil: this one is a step by itself.
	Set *Zone
}

// DecideRecord decides a write of one record (S1–S5).
func DecideRecord(seen *Seen, ask RecordAsk) Outcome {
	d := &recordDecision{reading: read(seen), ask: ask}
	plan, refusal := d.decide()
	if ask.Move != nil && plan != nil && len(d.needs) == 0 {
		d.arrive(plan, ask.Move, ask.WorkID)
	}
	if plan != nil && plan.Zone != nil {
		plan.Zone.Zone = plan.Zone.Zone.plain()
	}
	if len(d.needs) > 0 {
		return Outcome{Need: d.needs}
	}
	if refusal != nil {
		return Outcome{Refusal: refusal}
	}
	return Outcome{Plan: plan}
}

type recordDecision struct {
	reading
	ask RecordAsk
	// standsBelow: what it was refused for stands strictly below its name.
	standsBelow bool
	// yielded is the claim of another namespace that gave way: to a rule that names the record's name literally
	// (S4.7), or to a record that held the name in the zone it comes from (S2.7).
	yielded claim
	// stood: a cascade brings it from another zone, where it stood at its name until now.
	stood bool
}

// place is where a record belongs by its name alone.
type place struct {
	fqdn    name.Name
	view    string
	zone    *Zone
	holding *Holding
	owner   name.Rel
	// reason why no zone takes it, with zone nil.
	reason, message string
}

func (p *place) waiting(r *Record) *Waiting {
	return &Waiting{View: p.view, FQDN: p.fqdn, Zone: r.ZoneRef}
}

// locate finds the zone of a record (S2.1, S2.3). nil place: facts are needed.
func (d *recordDecision) locate(r *Record) (*place, *Refusal) {
	p := &place{view: r.View}
	var target *Zone
	if r.ZoneRef != nil {
		z, ok := get[Zone](&d.reading, ZoneKey(r.ZoneRef.Namespace, r.ZoneRef.Name))
		if !ok {
			return nil, nil
		}
		knows := false
		if z != nil && !z.Pending {
			var known bool
			if knows, known = d.knows(z, r.Namespace); !known {
				return nil, nil
			}
		}
		if !knows {
			if r.Absolute() {
				p.fqdn, _ = name.Parse(r.DomainName)
			}
			p.reason = ReasonZoneNotFound
			p.message = absent(r.ZoneRef, r.Namespace) + "; the record is adopted when that changes"
			return p, nil
		}
		target = z
		if r.View != "" && r.View != z.View {
			return nil, invalid("spec.view", r.View, ReasonInvalid, "%s", viewOf(z))
		}
		p.view = z.View
		n, err := name.ParseIn(r.DomainName, z.FQDN())
		if err != nil {
			return nil, invalid("spec.domainName", r.DomainName, ReasonNameTooLong, "%v", err)
		}
		if !z.FQDN().Encloses(n) {
			return nil, invalid("spec.domainName", r.DomainName, ReasonInvalid, "is not at or below %s, the zone that zoneRef names (S1.1)", z.FQDN())
		}
		p.fqdn = n
	} else {
		n, err := name.Parse(r.DomainName)
		if err != nil {
			return nil, invalid("spec.domainName", r.DomainName, ReasonInvalid, "%v", err)
		}
		p.fqdn = n
	}
	if target != nil && r.Type == rdata.DS && p.fqdn == target.FQDN() {
		return nil, invalid("spec.domainName", r.DomainName, ReasonCNAMEConflict, "DS stands at a delegation, in the parent of %s, not at the zone's own apex (S5.5; drop zoneRef or refer to the parent zone)", target.FQDN())
	}
	start, ok := p.fqdn, true
	if r.Type == rdata.DS {
		if start, ok = start.Parent(); !ok {
			p.reason, p.message = ReasonNoEnclosingZone, "the root has no parent that could hold a DS"
			return p, nil
		}
	}
	at, holding, known := d.longest(p.view, start)
	if !known {
		return nil, nil
	}
	if holding == nil {
		p.reason = ReasonNoEnclosingZone
		p.message = fmt.Sprintf("no zone%s encloses %s yet; the record is adopted when one does", inView(p.view), p.fqdn)
		return p, nil
	}
	z, ok := get[Zone](&d.reading, ZoneKey(holding.Namespace, holding.Name))
	if !ok {
		return nil, nil
	}
	if z == nil || z.UID != holding.UID || z.Pending {
		// The name and the object disagree: the facts are of two moments. Ask again.
		d.stale()
		return nil, nil
	}
	if target != nil && z.UID != target.UID {
		return nil, forbidden(ReasonBelowZoneCut, "%s lies in the longer zone %s, and zoneRef names %s (drop zoneRef, or refer to the longer zone)", p.fqdn, at, target.FQDN())
	}
	p.owner, _ = p.fqdn.Rel(z.FQDN())
	given, known := d.ruledFor(z, r.Namespace)
	if known {
		given, known = d.listing(given, holding, Base(p.owner), speaksBelow(p.owner, r.Type))
	}
	if !known {
		return nil, nil
	}
	p.zone, p.holding = given, holding
	return p, nil
}

// viewOf says which view an object with a zoneRef to z may name (S1.6).
func viewOf(z *Zone) string {
	if z.View == "" {
		return "must be empty: the zone that zoneRef names is in the default view (S1.6)"
	}
	return fmt.Sprintf("must be empty or %q, the view of the zone that zoneRef names (S1.6)", z.View)
}

func inView(view string) string {
	if view == "" {
		return ""
	}
	return fmt.Sprintf(" of view %q", view)
}

func (d *recordDecision) decide() (*Plan, *Refusal) {
	ask := &d.ask
	plan := &Plan{OrphanBefore: ask.Waits}
	// The zone the record stands in now; nil when that zone is gone with its keys.
	var home *Zone
	var homeHolding *Holding
	if ask.Before != nil {
		z, ok := get[Zone](&d.reading, ZoneKey(ask.Before.Zone.Namespace, ask.Before.Zone.Name))
		if !ok {
			return nil, nil
		}
		if z != nil && z.UID == ask.Before.Zone.UID && !z.Pending {
			home = z
			if homeHolding, ok = get[Holding](&d.reading, HoldingKey(z.View, z.FQDN())); !ok {
				return nil, nil
			}
			if homeHolding == nil || homeHolding.UID != z.UID {
				d.stale()
				return nil, nil
			}
			if ask.Before.Owner.IsZero() {
				before := *ask.Before
				if before.Owner, ok = before.FQDN.Rel(z.FQDN()); !ok {
					d.stale()
					return nil, nil
				}
				ask.Before = &before
			}
		}
		// Where the zone is gone its keys go with it: its own cascade purges them.
	}
	if ask.After == nil {
		if home != nil {
			return d.change(plan, home, homeHolding, nil, nil)
		}
		return plan, nil
	}
	p, refusal := d.locate(ask.After)
	if len(d.needs) > 0 {
		return nil, nil
	}
	if refusal == nil && p.zone != nil && p.zone.Terminating && (home == nil || home.UID != p.zone.UID) {
		refusal = forbidden(ReasonZoneTerminating, "zone %s is being deleted and adopts nothing new", p.zone.FQDN())
	}
	if refusal != nil {
		if !ask.Cascade {
			return nil, refusal
		}
		return d.lose(plan, home, homeHolding, p, refusal, marks{})
	}
	if p.zone != nil && ask.After.Terminating && ask.Move == nil && (home == nil || home.UID != p.zone.UID) {
		p.zone, p.holding = nil, nil
		p.reason, p.message = ReasonTerminating, "the record or its namespace is being deleted, so no zone takes it in (S2.8)"
	}
	if p.zone == nil {
		plan.Orphan = p.waiting(ask.After)
		plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Reason: p.reason, Message: p.message}
		if !ask.Cascade {
			plan.Warnings = append(plan.Warnings, p.message)
		}
		if home != nil {
			return d.change(plan, home, homeHolding, nil, nil)
		}
		return plan, nil
	}
	if home != nil && home.UID != p.zone.UID {
		if !ask.Cascade {
			return d.move(plan, home, homeHolding, p)
		}
		// I1: one zone a transaction. It leaves now and is taken in by the next step.
		was, ok := get[Member](&d.reading, MemberKey(home.UID, ask.Before.Owner, ask.Namespace, ask.Name))
		if !ok {
			return nil, nil
		}
		plan.Orphan = p.waiting(ask.After)
		if was != nil {
			plan.Orphan.Left = was.Admission
		}
		plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Reason: ReasonMoving, Message: fmt.Sprintf("moves to zone %s", p.zone.FQDN())}
		return d.change(plan, home, homeHolding, nil, nil)
	}
	d.stood = ask.Cascade && ask.Stood && home == nil && ask.stoodAt() == p.fqdn
	return d.change(plan, p.zone, p.holding, p, home)
}

// stoodAt is the name of the record before the decision, the zero Name where it had none.
func (a *RecordAsk) stoodAt() (n name.Name) {
	switch {
	case a.Before != nil:
		n = a.Before.FQDN
	case a.Waits != nil:
		n = a.Waits.FQDN
	}
	return n
}

// lose makes the record stand unadopted because of a refusal met by a cascade.
// mark are the keys of what stood in its way: the write that removes that finds
// the mark there and owes the record another decision (S2.7).
func (d *recordDecision) lose(plan *Plan, home *Zone, homeHolding *Holding, p *place, why *Refusal, mark marks) (*Plan, *Refusal) {
	r := d.ask.After
	if p == nil {
		p = &place{view: r.View}
		if r.Absolute() {
			p.fqdn, _ = name.Parse(r.DomainName)
		} else if r.ZoneRef != nil {
			if z, _ := get[Zone](&d.reading, ZoneKey(r.ZoneRef.Namespace, r.ZoneRef.Name)); z != nil && !z.Pending {
				p.view = z.View
				p.fqdn, _ = name.ParseIn(r.DomainName, z.FQDN())
			}
		}
	}
	plan.Orphan = p.waiting(r)
	plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Reason: why.Reason, Message: why.Message}
	if home != nil {
		plan, refusal := d.change(plan, home, homeHolding, nil, nil)
		if plan != nil {
			d.mark(plan, homeHolding, mark)
		}
		return plan, refusal
	}
	if len(mark.keys) > 0 && d.mark(plan, p.holding, mark) {
		// The mark is a key of the zone, and every key of a zone changes with the zone (I5).
		plan.Zone = d.untouched(p.zone, p.holding)
	}
	return plan, nil
}

// untouched is a write of the zone object that changes nothing in it: it moves
// the revision that guards the zone's keys.
func (d *recordDecision) untouched(z *Zone, h *Holding) *ZoneChange {
	return &ZoneChange{Zone: z, Holding: h}
}

// keys collects the writes of one zone's keys, the last value of each.
type keys []Write

func (k *keys) put(key Key, v any) {
	for i := range *k {
		if (*k)[i].Key == key {
			(*k)[i].Value = v
			return
		}
	}
	if *k == nil {
		*k = make(keys, 0, 8)
	}
	*k = append(*k, Write{Key: key, Value: v})
}

// change takes the record's contribution out of zone z where it stands there
// (ask.Before) and puts the new one in (p, unless nil): one step of z.
func (d *recordDecision) change(plan *Plan, z *Zone, holding *Holding, p *place, home *Zone) (*Plan, *Refusal) {
	ask := &d.ask
	leaving := ask.Before
	if p != nil && home == nil {
		leaving = nil // it stands nowhere yet, or in a zone that is gone
	}
	var gone, come *Contribution
	owners := map[name.Rel]*Owner{} // before
	asked := make([]Key, 0, 8)
	if leaving != nil {
		gone = &leaving.Contribution
		asked = append(asked, OwnerKey(z.UID, gone.Owner), HoldersKey(z.UID, Base(gone.Owner)), MemberKey(z.UID, gone.Owner, ask.Namespace, ask.Name))
	}
	if p != nil {
		come = &Contribution{Owner: p.owner, Type: ask.After.Type, TTL: ask.After.TTL, Values: ask.After.Values}
		asked = append(asked, OwnerKey(z.UID, come.Owner), HoldersKey(z.UID, Base(come.Owner)))
	}
	cuts := gone != nil && gone.Type == rdata.NS || come != nil && come.Type == rdata.NS
	for _, owner := range affected(gone, come) {
		if n, err := owner.In(z.FQDN()); cuts && err == nil && !owner.IsApex() {
			if asked = append(asked, Key{Kind: KindZonesBelow, View: z.View, Name: n}); come != nil && come.Type == rdata.NS && come.Owner == owner {
				asked = append(asked, Key{Kind: KindOwnersBelow, Zone: z.UID, Owner: owner}) // all that it occludes
			}
		}
		for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
			if asked = append(asked, OwnerKey(z.UID, up)); cuts && !up.IsApex() {
				asked = append(asked, HoldersKey(z.UID, up))
			}
		}
	}
	if come != nil && ask.Namespace != z.Namespace && speaksBelow(come.Owner, come.Type) && !d.stands(z, come) {
		asked = append(asked, HeldBelowKey(z.UID, Base(come.Owner)))
		if n, err := Base(come.Owner).In(z.FQDN()); err == nil {
			asked = append(asked, Key{Kind: KindZonesBelow, View: z.View, Name: n})
		}
	}
	asked = append(asked, CountKey(z.UID, ask.Namespace))
	if !d.all(asked) {
		return nil, nil
	}

	after := map[name.Rel]*Owner{}
	for _, c := range []*Contribution{gone, come} {
		if c == nil {
			continue
		}
		o, _ := get[Owner](&d.reading, OwnerKey(z.UID, c.Owner))
		owners[c.Owner] = o
		if after[c.Owner] == nil {
			after[c.Owner] = o.clone()
		}
	}
	holders := map[name.Rel]*Holders{}
	heldBefore := map[name.Rel]*Holders{}
	for _, c := range []*Contribution{gone, come} {
		if c == nil || holders[Base(c.Owner)] != nil {
			continue
		}
		h, _ := get[Holders](&d.reading, HoldersKey(z.UID, Base(c.Owner)))
		heldBefore[Base(c.Owner)] = h
		holders[Base(c.Owner)] = h.clone()
	}
	count, _ := get[Count](&d.reading, CountKey(z.UID, ask.Namespace))
	var records int64
	if count != nil {
		records = count.Records
	}

	var was *Member
	if gone != nil {
		was, _ = get[Member](&d.reading, MemberKey(z.UID, gone.Owner, ask.Namespace, ask.Name))
		if was == nil {
			d.stale() // the object says it is a member: facts of two moments
			return nil, nil
		}
		after[gone.Owner].remove(gone)
		records--
	}
	n := stepOf(z, ask.Set)
	var member *Member
	var rule string
	if come != nil {
		refusal, mark := come.kind(), marks{}
		if refusal == nil {
			refusal, mark = d.admissible(z, holding, p, come, holding.with(after[come.Owner], come.Owner, ask.UID), records, &rule, &member, plan)
		}
		if refusal != nil && refusal.Reason == ReasonNameHeld && d.stood && len(d.needs) == 0 {
			// It waits as any other from now on, and leaves the marks that those leave.
			d.stood = false
			if again, its := d.admissible(z, holding, p, come, holding.with(after[come.Owner], come.Owner, ask.UID), records, &rule, &member, plan); again != nil {
				refusal, mark = again, its
			}
		}
		if len(d.needs) > 0 {
			return nil, nil
		}
		var sizes []int
		if refusal == nil {
			sizes, refusal = packed(z.FQDN(), come)
		}
		if refusal == nil {
			after[come.Owner].add(come, sizes)
			refusal, mark = d.limits(z, come, holding.with(after[come.Owner], come.Owner, ask.UID), holding.with(owners[come.Owner], come.Owner, ask.UID))
		}
		if refusal != nil {
			if !ask.Cascade {
				return nil, refusal
			}
			plan.Warnings = nil
			if home != nil {
				return d.lose(plan, home, holding, p, refusal, mark)
			}
			return d.lose(plan, nil, nil, p, refusal, mark)
		}
		member.N = n
		if was != nil && gone.Owner == come.Owner {
			member.N, member.Unknown = was.N, was.Unknown
		} else if r := holding.reservation(ask.UID); was == nil && r != nil && r.Owner == come.Owner {
			member.N = r.N // its turn at the name is that of the reservation
		}
		records++
	}

	// Holders: a change at the same base by a record that may still hold keeps its turn.
	if was != nil && was.Admission == AdmittedPlain && !(member != nil && member.Admission == AdmittedPlain && Base(gone.Owner) == Base(come.Owner)) {
		holders[Base(gone.Owner)].leave(ask.Namespace)
	}
	if member != nil && member.Admission == AdmittedPlain && !(was != nil && was.Admission == AdmittedPlain && Base(gone.Owner) == Base(come.Owner)) {
		late := false
		if at, err := Base(come.Owner).In(z.FQDN()); err == nil && (!ask.Cascade || ask.Move != nil) && ask.Namespace != z.Namespace && holding.gaining() {
			var known bool
			if late, known = d.holdsElsewhereBelow(holding, z.View, at, ask.Namespace); !known {
				return nil, nil
			}
			if !late {
				if late, known = d.zonesBelow(z.UID, z.View, at, ask.Namespace, 0); !known {
					return nil, nil
				}
			}
		}
		holders[Base(come.Owner)].join(ask.Namespace, member.N, late)
	}

	var k keys
	var df diff
	var retry []Scan
	at := func(owner name.Rel) name.Name {
		n, _ := owner.In(z.FQDN()) // it stands in the zone, so it is short enough
		return n
	}
	for _, owner := range affected(gone, come) {
		o := after[owner]
		df.compare(owner, owners[owner], o, gone, come)
		if fact := owners[owner]; fact != nil && fact.Waited && freed(fact, o) {
			o.Waited = false
			retry = append(retry, Scan{Kind: ScanWaiting, View: z.View, Name: at(owner), Exact: !fact.hasType(rdata.DNAME) || o.hasType(rdata.DNAME)})
		}
	}
	if gone != nil && (come == nil || come.Owner != gone.Owner) {
		// A DNAME or NS above may have waited for the names below it to go.
		for up, ok := gone.Owner.Parent(); ok; up, ok = up.Parent() {
			if fact, _ := get[Owner](&d.reading, OwnerKey(z.UID, up)); fact != nil && fact.Waited {
				if after[up] == nil {
					after[up] = fact.clone()
					k.put(OwnerKey(z.UID, up), nil)
				}
				after[up].Waited = false
				retry = append(retry, Scan{Kind: ScanWaiting, View: z.View, Name: at(up), Exact: true})
			}
		}
	}
	above := func(owner name.Rel) *Owner { // one that is written, too
		if after[owner] == nil {
			fact, _ := get[Owner](&d.reading, OwnerKey(z.UID, owner))
			after[owner] = fact.clone()
			k.put(OwnerKey(z.UID, owner), nil)
		}
		return after[owner]
	}
	var opened []name.Rel // names with the names below them that may be somebody else's now
	if was != nil {
		if up, ok := HoldsBelow(z.Namespace, ask.Namespace, was.Admission, gone.Owner); ok {
			above(up).CountWild(ask.Namespace, -1)
		}
	}
	if member != nil {
		if up, ok := HoldsBelow(z.Namespace, ask.Namespace, member.Admission, come.Owner); ok {
			above(up).CountWild(ask.Namespace, 1)
		}
	}
	for _, owner := range affected(gone, come) {
		base := Base(owner)
		first, now := heldBefore[base].Holder(), holders[base].Holder()
		if first == now && (now == "" || heldBefore[base].List[0].First == holders[base].List[0].First) {
			continue
		}
		// What speaks for names below may have waited for this one to lose its holder,
		// and a wildcard above ends where somebody else holds a name (S4.6, S4.7).
		below, ended := base, false
		for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
			fact, _ := get[Owner](&d.reading, OwnerKey(z.UID, up))
			if fact != nil && fact.WaitedBelow {
				above(up).WaitedBelow = false
				retry = append(retry, Scan{Kind: ScanWaiting, View: z.View, Name: at(up)})
			}
			if ns := fact.wild(); ns != "" && !ended {
				if ended = true; now != "" && now != ns {
					h, known := get[Holders](&d.reading, HoldersKey(z.UID, up))
					if !known {
						return nil, nil
					}
					if h != nil && h.Waited {
						retry = append(retry, Scan{Kind: ScanWaiting, View: z.View, Name: at(below)})
					}
					opened = append(opened, below)
				}
			}
			below = up
		}
	}
	var recut []name.Rel // bases the names below which another may hold now
	for _, owner := range affected(gone, come) {
		base := Base(owner)
		was, _ := get[Owner](&d.reading, OwnerKey(z.UID, base))
		is := after[base]
		if is == nil {
			is = was
		}
		if base.IsApex() || slices.Contains(recut, base) || was.cutBy(heldBefore[base], z.Namespace) == is.cutBy(holders[base], z.Namespace) {
			continue
		}
		recut, opened = append(recut, base), append(opened, base)
		// What lost there to a cut further up has left its mark at that one.
		var ks []Key
		for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
			ks = append(ks, HoldersKey(z.UID, up))
		}
		if !d.all(ks) {
			return nil, nil
		}
		waits := false
		for _, k := range ks {
			h, _ := get[Holders](&d.reading, k)
			waits = waits || h != nil && h.Waited
		}
		if waits {
			retry = append(retry, Scan{Kind: ScanWaiting, View: z.View, Name: at(base)})
		}
	}
	if come != nil && d.yielded.namespace != "" {
		base := Base(come.Owner)
		if heldBefore[base].Holder() == "" && holders[base].Holder() == ask.Namespace {
			// What its namespace has there, or what speaks for the name, lost to the claim that is no more.
			above, known := get[Holders](&d.reading, HoldersKey(z.UID, d.yielded.above))
			if !known {
				return nil, nil
			}
			if _, ok := z.decides(holding, base); ok {
				opened = append(opened, base)
				retry = append(retry, Scan{Kind: ScanWaiting, View: z.View, Name: at(topmost(base))})
			} else if above != nil && above.Waited {
				retry = append(retry, Scan{Kind: ScanWaiting, View: z.View, Name: at(base)})
			}
		}
	}
	for i := range k {
		k[i].Value = ownerFact(after[k[i].Key.Owner])
	}
	for _, owner := range affected(gone, come) {
		k.put(OwnerKey(z.UID, owner), ownerFact(after[owner]))
		base := Base(owner)
		h := holders[base]
		fewer := heldBefore[base] != nil && len(h.List) < len(heldBefore[base].List)
		if o := after[base]; o != nil && o.wild() == "" {
			fact, _ := get[Owner](&d.reading, OwnerKey(z.UID, base))
			fewer = fewer || fact.wild() != ""
		}
		if h.Waited && (fewer || slices.Contains(recut, base)) {
			h.Waited = false
			retry = append(retry, Scan{Kind: ScanWaiting, View: z.View, Name: at(base)})
		}
		k.put(HoldersKey(z.UID, base), holdersFact(h))
	}
	next := count.clone()
	if next.Records = records; next.Waited && count.Records > records {
		next.Waited = false
		retry = append(retry, Scan{Kind: ScanWaiting, View: z.View, Name: z.FQDN()})
	}
	if next.Records == 0 && !next.Waited {
		k.put(CountKey(z.UID, ask.Namespace), nil)
	} else {
		k.put(CountKey(z.UID, ask.Namespace), next)
	}
	if gone != nil {
		k.put(MemberKey(z.UID, gone.Owner, ask.Namespace, ask.Name), nil)
	}
	if member != nil {
		k.put(MemberKey(z.UID, come.Owner, ask.Namespace, ask.Name), member)
	}
	for _, owner := range affected(gone, come) {
		// An external cut, or a DNAME, that comes or goes changes what delegated zones below it are (S3.5).
		was, is := owners[owner], after[owner]
		if was.hasType(rdata.DNAME) == is.hasType(rdata.DNAME) && (owner.IsApex() || was.hasType(rdata.NS) == is.hasType(rdata.NS)) {
			continue
		}
		below, known := get[ZonesBelow](&d.reading, Key{Kind: KindZonesBelow, View: z.View, Name: at(owner)})
		if !known {
			return nil, nil
		}
		if below != nil && slices.ContainsFunc(below.Zones, func(b ZoneBelow) bool { return b.UID != z.UID }) {
			retry = append(retry, Scan{Kind: ScanZones, View: z.View, Name: at(owner)})
		}
	}
	left := holding.apexNames(gone, come, after[name.Apex], ask.Namespace == z.Namespace)
	for _, host := range holding.unnamed(z, left) {
		// It is the zone's no longer: records that wait there, or for what is taken for it, may come.
		opened = append(opened, host)
		if scan := (Scan{Kind: ScanWaiting, View: z.View, Name: at(topmost(host))}); !slices.ContainsFunc(retry, func(s Scan) bool { return reflect.DeepEqual(s, scan) }) {
			retry = append(retry, scan)
		}
	}
	for _, owner := range opened {
		var waits bool
		if left, waits = left.letGo(owner); waits {
			retry = append(retry, pendingBelow(z.Ref, z.View, z.FQDN()))
		}
	}
	if gone != nil && (come == nil || come.Owner != gone.Owner || come.Type != gone.Type) {
		var waits bool
		if left, waits = left.letGo(gone.Owner); waits {
			retry = append(retry, pendingBelow(z.Ref, z.View, z.FQDN()))
		}
	}
	if ask.Cascade && was != nil && member != nil && gone.Owner == come.Owner && df.empty() && *was == *member {
		// It stays as it is: nothing to write, and the zone need not be touched.
		plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Zone: &z.Ref, Serial: z.Serial, Reason: ReasonAdopted, HasClass: z.HasClass, Served: z.Served && holding.Settled(),
			Message: fmt.Sprintf("in zone %s by delegation pattern %q", z.FQDN(), rule)}
		return plan, nil
	}
	plan.Writes = append(plan.Writes, k...)
	plan.Rule = rule
	if len(retry) > 0 {
		by := ask.Namespace
		if ask.Cascade {
			by = ask.WorkBy // what a cascade sets off is its causer's too: nobody freezes another's delivery (S7.2)
		}
		// The zone is named for its own namespace to come first (S2.7); it is not marked before a step touches it.
		plan.Work = &Work{ID: ask.WorkID, Reason: fmt.Sprintf("names in zone %s became free or are cut differently", z.FQDN()), View: z.View, Scans: retry,
			Zones: []Place{{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}}, By: by, Since: ask.Now.Unix()}
	}

	holdingAfter := d.standing(z, left)
	change := &ZoneChange{Zone: z, Holding: holdingAfter}
	if !df.empty() {
		record := &content.RecordRef{Namespace: ask.Namespace, Name: ask.Name, UID: ask.UID}
		if r := advance(change, z, ask.Set, &df, ask.Now, record, ask.By); r != nil {
			return nil, r
		}
	}
	m := moved{of: ask.Namespace, cascade: ask.Cascade}
	if come != nil && (gone == nil || gone.Owner != come.Owner || gone.Type != come.Type) {
		m.put = []rrset{{come.Owner, come.Type}}
	}
	if slices.ContainsFunc(df.ttls, func(t content.TTLChange) bool { return t.After == nil }) {
		var known bool
		if m.own, known = d.deletes(z, gone, p != nil); !known {
			return nil, nil
		}
	}
	delivered := z
	if ask.Set != nil {
		delivered = ask.Set // no content between two writes of one step is ever delivered
	}
	if !d.brake(plan, change, delivered, m, ask.Now.Unix()) {
		return nil, nil
	}
	if !d.nameServers(plan, change, holding, z, gone, come, after) {
		return nil, nil
	}
	if change.Holding != holding {
		plan.Writes = append(plan.Writes, Write{Key: HoldingKey(z.View, z.FQDN()), Value: change.Holding})
	}
	plan.Zone = change
	if p != nil {
		plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Zone: &z.Ref, Serial: change.Zone.Serial, Reason: ReasonAdopted, HasClass: z.HasClass,
			Served:  z.Served && change.Settled() && (change.Servable == nil || change.Servable.Status == "True"),
			Message: fmt.Sprintf("in zone %s by delegation pattern %q", z.FQDN(), rule)}
	}
	return plan, nil
}

// standing adds the mark of the cascade that makes this step (S7.2).
func (d *recordDecision) standing(z *Zone, h *Holding) *Holding {
	return h.WithWork(d.ask.Work, z.Namespace, d.ask.WorkBy, "", name.Name{}, d.ask.Now.Unix())
}

// stepOf is the number of the step that a change of z belongs to: the next one, or that of the writes since set.
func stepOf(z, set *Zone) uint64 {
	if set != nil && z.N > set.N {
		return z.N
	}
	return z.N + 1
}

// advance fills change with the next serial, state and journal step of z (I3). Where earlier writes of the same step,
// since set, have taken the serial, it is theirs, and the step says what this write adds to them.
func advance(change *ZoneChange, z, set *Zone, df *diff, now time.Time, record *content.RecordRef, by string) *Refusal {
	state, err := df.apply(sethash.State(z.State))
	if err != nil {
		return &Refusal{Kind: Invalid, Field: "status.contentState", Reason: ReasonInvalid, Message: fmt.Sprintf("zone %s: %v; run kubizone fsck", z.FQDN(), err)}
	}
	n, from, next, used := stepOf(z, set), z.Serial, z.Serial, false
	if n == z.N {
		from = set.Serial
	} else {
		next, used = NextSerial(z.Serial, now, z.MinimumSerial, change.Holding.MinimumConsumed)
	}
	if used {
		h := *change.Holding
		m := *z.MinimumSerial
		h.MinimumConsumed = &m
		change.Holding = &h
	}
	after := *z
	after.Serial, after.State, after.Rows, after.RRsets, after.N = next, state, z.Rows+df.rows, z.RRsets+df.rrsets(), n
	change.Zone = &after
	change.Step = &content.Step{N: n, From: from, Serial: next, State: state, Removed: df.removed, Added: df.added, TTLs: df.ttls, Record: record, By: by, Time: now.Unix()}
	return nil
}

// affected are the owners a change touches, each once, where it leaves first.
func affected(gone, come *Contribution) []name.Rel {
	var out []name.Rel
	if gone != nil {
		out = append(out, gone.Owner)
	}
	if come != nil && (gone == nil || come.Owner != gone.Owner) {
		out = append(out, come.Owner)
	}
	return out
}
