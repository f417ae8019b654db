// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
)

// RecordAsk is the request to decide one record write.
type RecordAsk struct {
	// Namespace, Name and UID of the record.
	Namespace, Name, UID string
	// Before is what the record contributes now; nil: it is not adopted.
	Before *law.Adopted
	// Waits says where the record waits for adoption; nil: it does not wait.
	Waits *law.Waiting
	// After is the record as it is to be; nil: it goes.
	After *law.Record
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
	Set *law.Zone
}

type recordDecision struct {
	*law.Reading
	ask RecordAsk
	// home is the zone that the record stands in; nil: none.
	home *law.Zone
	// absent is the message that its zoneRef leads to no zone, where that is the zone that it stands in and the rules
	// of that have nothing for its namespace any more.
	absent string
}

// place is where a record belongs by its name alone.
type place struct {
	fqdn    name.Name
	view    string
	zone    *law.Zone
	holding *law.Holding
	owner   name.Rel
	// reason says why no zone takes the record; zone is nil then.
	reason, message string
}

// waitingAt says where the record waits. While no zone takes it in, what kept it out stays noted.
func (a *RecordAsk) waitingAt(p *place) *law.Waiting {
	w := &law.Waiting{View: p.view, FQDN: p.fqdn, Zone: a.After.ZoneRef}
	if a.Cascade && a.Waits != nil {
		w.KeptOut = a.Waits.KeptOut
	}
	return w
}

// resolveName finds the name and the view of a record. target is the zone of its zoneRef; where the record's namespace
// does not know it, the place says so.
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
	knows := z != nil && !z.Pending && d.ZoneKnownTo(z, r.Namespace)
	switch {
	case !knows && d.home != nil && z != nil && d.home.UID == z.UID:
		d.absent = law.AbsentMessage(r.ZoneRef, r.Namespace)
	case !knows:
		if r.Absolute() {
			p.fqdn, _ = name.Parse(r.DomainName)
		}
		p.reason = law.ReasonZoneNotFound
		p.message = law.AbsentMessage(r.ZoneRef, r.Namespace) + "; the record is adopted when that changes"
		return nil, nil
	}
	if r.View != "" && r.View != z.View {
		return nil, law.NewInvalid("spec.view", r.View, law.ReasonInvalid, "%s", law.ViewOf(z))
	}
	p.view = z.View
	n, err := name.ParseIn(r.DomainName, z.FQDN())
	if err != nil {
		return nil, law.NewInvalid("spec.domainName", r.DomainName, law.ReasonNameTooLong, "%v", err)
	}
	if !z.FQDN().Encloses(n) {
		return nil, law.NewInvalid("spec.domainName", r.DomainName, law.ReasonInvalid, "is not at or below %s, "+
			"the zone that zoneRef names (S1.1)", z.FQDN())
	}
	p.fqdn = n
	return z, nil
}

// findHome finds the zone that the record stands in now; nil where that is gone with its keys, which its own cascade
// purges.
func (d *recordDecision) findHome() (*law.Zone, *law.Holding) {
	b := d.ask.Before
	if b == nil {
		return nil, nil
	}
	z, holding := d.StandingAt(law.Place{Ref: b.Zone})
	if z == nil {
		return nil, nil
	}
	if b.Owner.IsZero() {
		before := *b
		var ok bool
		if before.Owner, ok = b.FQDN.Rel(z.FQDN()); !ok {
			d.ReadAnew()
		}
		d.ask.Before = &before
	}
	return z, holding
}
