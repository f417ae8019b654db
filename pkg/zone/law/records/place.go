// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"iter"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
)

type RecordInput struct {
	Namespace, Name, UID string
	// Before is nil if the record is in no zone.
	Before        *law.Adoption
	WaitingBefore *law.Waiting
	// After is nil for a deletion.
	After *law.Record
	// Cascade is true if a cascade decides, without a client. A refusal becomes the reason to wait.
	Cascade bool
	// HadZone is true for a record between zones and, in a cascade, for any record in a zone.
	HadZone bool
	// HasFormerName is true, in a cascade, for a record waiting under its name in a removed zone.
	HasFormerName bool
	Now           time.Time
	By            string
	WorkID        string
	// MarkID is the cascade's ID; "" for a client or without marks (Work.Unmarked).
	MarkID string
	// CausedBy is Work.By. Cause and RulesChanged are also from the Work.
	CausedBy, Cause string
	// Uncounted is true if the step never counts as a mass deletion: after a grace period, or in an upgrade.
	Uncounted    bool
	RulesChanged bool
	Derives      bool
	// SamePlace is true if an update keeps domainName, view, zoneRef, and whether the type is DS.
	SamePlace bool
	// DueAt is the time in the record's due key before the write, or 0. SetsExpiry is true if a client sets another
	// time than before.
	DueAt      int64
	SetsExpiry bool
	// Succeeds is the former data of a Record of the namespace that leaves the name in the same transaction, or nil.
	Succeeds *law.Adoption
	// BeforeSet is the zone before the change set, or nil.
	BeforeSet *law.Zone
}

type recordDecision struct {
	*law.Reading
	ask         RecordInput
	currentZone *law.Zone // of the record before the write, or nil
	// absent is the message for a zoneRef to a zone without a rule for the namespace.
	absent string
}

type place struct {
	fqdn    name.Name
	view    string
	zone    *law.Zone
	holding *law.Holding
	owner   name.Rel
	// reason and message explain a nil zone. The rule may be "".
	reason, rule, message string
}

// above yields the names above n, the apex last.
func above(n name.Rel) iter.Seq[name.Rel] {
	return func(yield func(name.Rel) bool) {
		for up, ok := n.Parent(); ok && yield(up); up, ok = up.Parent() {
		}
	}
}

// upToApex yields n and the names above n, without the apex: x.shop and shop for x.shop.
func upToApex(n name.Rel) iter.Seq[name.Rel] {
	return func(yield func(name.Rel) bool) {
		for at, ok := n, true; ok && !at.IsApex() && yield(at); at, ok = at.Parent() {
		}
	}
}

// keptOut returns the namespace that may be replacing its Record at the name for which a Record waits, or "".
func (a *RecordInput) keptOut() string {
	if !a.Cascade || a.WaitingBefore == nil {
		return ""
	}
	return a.WaitingBefore.KeptOut
}

func (a *RecordInput) waitingAt(p *place) *law.Waiting {
	return &law.Waiting{View: p.view, FQDN: p.fqdn, Zone: a.After.ZoneRef, KeptOut: a.keptOut()}
}

// unplaced returns the place of a record in no zone: a relative name is unknown.
func unplaced(r *law.Record) *place {
	p := &place{view: r.View}
	if r.Absolute() {
		p.fqdn, _ = name.Parse(r.DomainName)
	}
	return p
}

// resolveName sets p's name and view, as far as known, and returns the zone of zoneRef. The zone is nil without a
// zoneRef, and if the namespace may not see the zone: then p.reason is set.
func (d *recordDecision) resolveName(p *place, r *law.Record) (*law.Zone, *law.Refusal) {
	if r.ZoneRef == nil {
		n, err := name.Parse(r.DomainName)
		if err != nil {
			return nil, law.NewInvalid("spec.domainName", r.DomainName, law.ReasonInvalid, "%v", err)
		}
		p.fqdn = n
		return nil, nil
	}

	z := law.Get[law.Zone](d.Reading, law.ZoneKey(r.ZoneRef.Namespace, r.ZoneRef.Name))
	knows := z != nil && !z.Pending && d.ZoneVisibleTo(z, r.Namespace)
	switch {
	// The record is in this zone, whose rules for the namespace are gone: the record's period runs here (S2.12).
	case !knows && d.isInZone(z):
		d.absent = law.AbsentMessage(r.ZoneRef, r.Namespace)
	// An absent zone and a zone without a rule read alike, so that zoneRef reveals no zone (S1.8). By an absolute name,
	// the record is found when the name becomes free or gets a zone.
	case !knows:
		p.reason = law.ReasonZoneNotFound
		p.message = law.AbsentMessage(r.ZoneRef, r.Namespace) + "; the record is adopted when that changes"
		return nil, nil
	}

	n, err := name.ParseIn(r.DomainName, z.FQDN())
	p.fqdn = n
	if r.View != "" && r.View != z.View {
		return nil, law.NewInvalid("spec.view", r.View, law.ReasonInvalid, "%s", law.ViewOf(z))
	}
	p.view = z.View
	if err != nil {
		return nil, law.NewInvalid("spec.domainName", r.DomainName, law.ReasonNameTooLong, "%v", err)
	}

	if !z.FQDN().Encloses(n) {
		return nil, law.NewInvalid("spec.domainName", r.DomainName, law.ReasonInvalid, "is not at or below %s, "+
			"the zone that zoneRef names (S1.1)", z.FQDN())
	}
	return z, nil
}

func (d *recordDecision) isInZone(z *law.Zone) bool {
	return d.currentZone != nil && z != nil && d.currentZone.UID == z.UID
}

// findZone returns the record's present zone, and the zone's Holding, or nil. findZone completes ask.Before with the
// owner relative to the zone.
func (d *recordDecision) findZone() (*law.Zone, *law.Holding) {
	b := d.ask.Before
	if b == nil {
		return nil, nil
	}
	z, holding := d.ZoneAt(law.Place{Ref: b.Zone})
	if z == nil {
		return nil, nil
	}
	if b.Owner.IsZero() {
		before := *b
		var ok bool
		if before.Owner, ok = b.FQDN.Rel(z.FQDN()); !ok {
			d.Reread() // status and zone are of two revisions
		}
		d.ask.Before = &before
	}
	return z, holding
}
