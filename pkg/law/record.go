// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"strings"
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
	// Terminating says that it is being deleted, or its namespace is, so no zone takes it in (S2.6).
	Terminating bool
	// WaitsOnConflict says that a create which the data at its name refuses is stored and waits (S2.14).
	WaitsOnConflict bool
}

// Absolute reports whether the record's name is absolute (S1.1).
func (r *Record) Absolute() bool { return name.IsAbsolute(r.DomainName) }

// Adopted is the contribution of a record that stands in a zone.
type Adopted struct {
	Zone Ref
	// FQDN is the record's name where the contribution's Owner is not given. The owner of a relative name is known by
	// itself, that of an absolute name follows from the zone.
	FQDN name.Name
	// EndsAt is when about its period is over, unix seconds; 0: the rules of the zone allow it (S2.12).
	EndsAt int64
	Contribution
}

// RecordAsk is the request to decide one record write.
type RecordAsk struct {
	// Namespace, Name and UID of the record.
	Namespace, Name, UID string
	// Before is what the record contributes now; nil: it is not adopted.
	Before *Adopted
	// Waits says where the record waits for adoption; nil: it does not wait.
	Waits *Waiting
	// After is the record as it is to be; nil: it goes.
	After *Record
	// Cascade says that no client made this request, so a refusal becomes the reason why the record is not adopted
	// (S2.5, S2.7).
	Cascade bool
	// Stood says that the record is between two zones, or in one that is gone (S2.9).
	Stood bool
	Now   time.Time
	// By is the user of the request, for the journal.
	By string
	// WorkID is the id of the outbox item that the decision may owe.
	WorkID string
	// Work is the id of the cascade that makes this step; "" for a client's write.
	Work string
	// WorkBy is the namespace that caused that cascade, and Cause tells it from others.
	WorkBy, Cause string
	// Yields is the base name at which records give way at once where the rules of the zone allow them no more (S2.13).
	Yields name.Rel
	// Uncounted says that a mass deletion does not count what goes: the namespace is being deleted, or an upgrade is
	// carried out (S7.5).
	Uncounted bool
	// ByRules says that the cascade carries out a change of rules (Work.RulesChanged).
	ByRules bool
	// SamePlace says that what decides about the record's zone is as it was: domainName, view, zoneRef, and whether it
	// is a DS. A client cannot take a record that stands out of its zone (S1.7).
	SamePlace bool
	// Set is the zone as it was before the earlier writes of the same step, which are committed with this one
	// (S10.1); nil: this write is a step by itself.
	Set *Zone
}

// DecideRecord decides a write of one record (S1–S5).
func DecideRecord(seen *Seen, ask RecordAsk) Outcome {
	return decide(seen, func(r *reading) (*Plan, *Refusal) {
		plan, refusal := (&recordDecision{reading: r, ask: ask}).decideRecord()
		if plan != nil && plan.Zone != nil {
			plan.Zone.Zone = plan.Zone.Zone.withoutGiven()
		}
		return plan, refusal
	})
}

type recordDecision struct {
	*reading
	ask RecordAsk
	// home is the zone that the record stands in; nil: none.
	home *Zone
	// absent is the message that its zoneRef leads to no zone, where that is the zone that it stands in and the rules
	// of that have nothing for its namespace any more.
	absent string
}

// place is where a record belongs by its name alone.
type place struct {
	fqdn    name.Name
	view    string
	zone    *Zone
	holding *Holding
	owner   name.Rel
	// reason says why no zone takes the record; zone is nil then.
	reason, message string
}

// waitingAt says where the record waits. While no zone takes it in, what kept it out stays noted.
func (a *RecordAsk) waitingAt(p *place) *Waiting {
	w := &Waiting{View: p.view, FQDN: p.fqdn, Zone: a.After.ZoneRef}
	if a.Cascade && a.Waits != nil {
		w.KeptOut = a.Waits.KeptOut
	}
	return w
}

// locateRecord finds the zone of a record (S2.1, S2.3).
func (d *recordDecision) locateRecord(r *Record) (*place, *Refusal) {
	p := &place{view: r.View}
	target, refusal := d.resolveName(p, r)
	if refusal != nil {
		return nil, refusal
	}
	if p.reason != "" {
		return p, nil
	}
	if target != nil && r.Type == rdata.DS && p.fqdn == target.FQDN() {
		return nil, invalid("spec.domainName", r.DomainName, ReasonCNAMEConflict, "DS stands at a delegation, in the parent of %s, "+
			"not at the zone's own apex (S5.6; drop zoneRef or refer to the parent zone)", target.FQDN())
	}
	start, ok := p.fqdn, true
	if r.Type == rdata.DS {
		if start, ok = start.Parent(); !ok {
			p.reason, p.message = ReasonNoEnclosingZone, "the root has no parent that could hold a DS"
			return p, nil
		}
	}
	at, holding := d.findEnclosing(p.view, start)
	if holding == nil {
		p.reason = ReasonNoEnclosingZone
		p.message = fmt.Sprintf("no zone%s encloses %s yet; the record is adopted when one does", inView(p.view), p.fqdn)
		return p, nil
	}
	z := d.zoneOf(holding)
	if target != nil && z.UID != target.UID {
		return nil, forbidden(ReasonBelowZoneCut, "%s lies in the longer zone %s, and zoneRef names %s (drop zoneRef, "+
			"or refer to the longer zone)", p.fqdn, at, target.FQDN())
	}
	p.owner, _ = p.fqdn.Rel(z.FQDN())
	given := d.ruledFor(z, r.Namespace)
	p.zone, p.holding = given, holding
	return p, nil
}

// resolveName finds the name and the view of a record. target is the zone of its zoneRef; where the record's namespace
// does not know it, the place says so.
func (d *recordDecision) resolveName(p *place, r *Record) (*Zone, *Refusal) {
	if r.ZoneRef == nil {
		n, err := name.Parse(r.DomainName)
		if err != nil {
			return nil, invalid("spec.domainName", r.DomainName, ReasonInvalid, "%v", err)
		}
		p.fqdn = n
		return nil, nil
	}
	z := get[Zone](d.reading, ZoneKey(r.ZoneRef.Namespace, r.ZoneRef.Name))
	knows := z != nil && !z.Pending && d.zoneKnownTo(z, r.Namespace)
	switch {
	case !knows && d.home != nil && z != nil && d.home.UID == z.UID:
		d.absent = absentMessage(r.ZoneRef, r.Namespace)
	case !knows:
		if r.Absolute() {
			p.fqdn, _ = name.Parse(r.DomainName)
		}
		p.reason = ReasonZoneNotFound
		p.message = absentMessage(r.ZoneRef, r.Namespace) + "; the record is adopted when that changes"
		return nil, nil
	}
	if r.View != "" && r.View != z.View {
		return nil, invalid("spec.view", r.View, ReasonInvalid, "%s", viewOf(z))
	}
	p.view = z.View
	n, err := name.ParseIn(r.DomainName, z.FQDN())
	if err != nil {
		return nil, invalid("spec.domainName", r.DomainName, ReasonNameTooLong, "%v", err)
	}
	if !z.FQDN().Encloses(n) {
		return nil, invalid("spec.domainName", r.DomainName, ReasonInvalid, "is not at or below %s, "+
			"the zone that zoneRef names (S1.1)", z.FQDN())
	}
	p.fqdn = n
	return z, nil
}

// viewOf says which view an object with a zoneRef to z may name (S1.4).
func viewOf(z *Zone) string {
	if z.View == "" {
		return "must be empty: the zone that zoneRef names is in the default view (S1.4)"
	}
	return fmt.Sprintf("must be empty or %q, the view of the zone that zoneRef names (S1.4)", z.View)
}

func inView(view string) string {
	if view == "" {
		return ""
	}
	return fmt.Sprintf(" of view %q", view)
}

func (d *recordDecision) decideRecord() (*Plan, *Refusal) {
	ask := &d.ask
	plan := &Plan{OrphanBefore: ask.Waits}
	home, homeHolding := d.findHome()
	d.home = home
	if ask.After == nil {
		return d.leaveHome(plan, home, homeHolding)
	}
	if !ask.Cascade && !ask.SamePlace && home == nil && (ask.Stood || ask.Before != nil) {
		return nil, &Refusal{Kind: Later, Reason: ReasonMoving, Message: "the record moves from one zone to another, and " +
			"stays under its name (S1.7; try again when that is done, or delete it and make it anew)"}
	}
	p, refusal := d.locateRecord(ask.After)
	if refusal == nil && p.zone != nil && p.zone.Terminating && (home == nil || home.UID != p.zone.UID) {
		refusal = forbidden(ReasonZoneTerminating, "zone %s is being deleted and adopts nothing new", p.zone.FQDN())
	}
	if refusal != nil {
		if !ask.Cascade {
			return nil, refusal
		}
		return d.leaveUnadopted(plan, home, homeHolding, p, refusal, "")
	}
	if p.zone != nil && ask.After.Terminating && (home == nil || home.UID != p.zone.UID) {
		p.zone, p.holding = nil, nil
		p.reason, p.message = ReasonTerminating, "the record or its namespace is being deleted, so no zone takes it in (S2.6)"
	}
	if home != nil && !ask.Cascade && (p.zone == nil || home.UID != p.zone.UID) {
		return nil, d.refuseMove(home, p)
	}
	if p.zone == nil {
		plan.Orphan = ask.waitingAt(p)
		plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Reason: p.reason, Message: p.message}
		if !ask.Cascade {
			plan.Warnings = append(plan.Warnings, p.message)
		}
		return d.leaveHome(plan, home, homeHolding)
	}
	if home != nil && home.UID != p.zone.UID {
		// A transaction changes one zone (I1): the record leaves now, and the next step takes it in.
		plan.Orphan = ask.waitingAt(p)
		plan.Orphan.Moves = true
		plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Reason: ReasonMoving, Message: fmt.Sprintf("moves to zone %s", p.zone.FQDN())}
		return d.leaveHome(plan, home, homeHolding)
	}
	return d.changeZone(plan, p.zone, p.holding, p, home)
}

// refuseMove says why the record, which stands in home, cannot be changed so that it would be at p.
func (d *recordDecision) refuseMove(home *Zone, p *place) *Refusal {
	switch {
	case !d.ask.SamePlace:
		return invalid("spec.domainName", d.ask.After.DomainName, ReasonInvalid,
			"the record stands in zone %s, and stays there under whatever name (S1.7; to have it elsewhere, delete it and make it anew)",
			home.FQDN())
	case p.zone != nil:
		return &Refusal{Kind: Later, Reason: ReasonMoving, Message: fmt.Sprintf("zone %s takes the record over from zone %s (S2.10; "+
			"try again when that is done)", p.zone.FQDN(), home.FQDN())}
	default:
		return forbidden(p.reason, "%s; until then it stays as it is", strings.TrimSuffix(p.message, "; the record is adopted when "+
			"that changes"))
	}
}

// findHome finds the zone that the record stands in now; nil where that is gone with its keys, which its own cascade
// purges.
func (d *recordDecision) findHome() (*Zone, *Holding) {
	b := d.ask.Before
	if b == nil {
		return nil, nil
	}
	z, holding := d.standingAt(Place{Ref: b.Zone})
	if z == nil {
		return nil, nil
	}
	if b.Owner.IsZero() {
		before := *b
		var ok bool
		if before.Owner, ok = b.FQDN.Rel(z.FQDN()); !ok {
			d.readAnew()
		}
		d.ask.Before = &before
	}
	return z, holding
}

// leaveHome takes the record out of the zone that it stands in, if it does in any.
func (d *recordDecision) leaveHome(plan *Plan, home *Zone, holding *Holding) (*Plan, *Refusal) {
	if home == nil {
		return plan, nil
	}
	return d.changeZone(plan, home, holding, nil, nil)
}

// leaveUnadopted plans that the record is not adopted, because of a refusal in a cascade, or of one that the record
// waits for (S2.14): of that, awaited is the namespace that has the name, else it is "".
func (d *recordDecision) leaveUnadopted(plan *Plan, home *Zone, homeHolding *Holding, p *place, why *Refusal, awaited string) (*Plan,
	*Refusal) {
	r := d.ask.After
	if p == nil {
		p = &place{view: r.View}
		if r.Absolute() {
			p.fqdn, _ = name.Parse(r.DomainName)
		} else if r.ZoneRef != nil {
			if z := get[Zone](d.reading, ZoneKey(r.ZoneRef.Namespace, r.ZoneRef.Name)); z != nil && !z.Pending {
				p.view = z.View
				p.fqdn, _ = name.ParseIn(r.DomainName, z.FQDN())
			}
		}
	}
	plan.Orphan = d.ask.waitingAt(p)
	if awaited != "" {
		plan.Orphan.KeptOut = awaited
	}
	plan.Record = &Placement{FQDN: p.fqdn, View: p.view, Reason: why.Reason, Message: why.Message}
	return d.leaveHome(plan, home, homeHolding)
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

// stepOf returns the number of the step that a change of z belongs to: the next one, or that of the writes since set.
func stepOf(z, set *Zone) uint64 {
	if set != nil && z.N > set.N {
		return z.N
	}
	return z.N + 1
}

// advanceZone fills change with the next serial, state and journal step of z (I3). Where an earlier write of the same
// step, since set, has taken the serial, this write has that serial too, and its step says what it adds.
func advanceZone(change *ZoneChange, z, set *Zone, df *diff, now time.Time, record *content.RecordRef, by string) *Refusal {
	state, err := df.applyTo(sethash.State(z.State))
	if err != nil {
		return &Refusal{Kind: Invalid, Field: "status.contentState", Reason: ReasonInvalid,
			Message: fmt.Sprintf("zone %s: %v; run kubizone fsck", z.FQDN(), err)}
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
	after.Serial, after.State, after.Rows, after.RRsets, after.N = next, state, z.Rows+len(df.added)-len(df.removed),
		z.RRsets+df.rrsetGrowth(), n
	change.Zone = &after
	change.Step = &content.Step{N: n, From: from, Serial: next, State: state, Removed: df.removed, Added: df.added, TTLs: df.ttls,
		Record: record, By: by, Time: now.Unix()}
	return nil
}
