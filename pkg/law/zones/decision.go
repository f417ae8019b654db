// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
)

// ZoneSpec is what a Zone object asks for.
type ZoneSpec struct {
	law.Ref
	DomainName string
	View       string
	ZoneRef    *law.Ref
	// Header has no FQDN: the law computes it.
	Header content.Header
	law.ZoneSettings
}

// Waiting says where a pending zone is found again: with the target of its zoneRef, else at the name that it wants.
func (s *ZoneSpec) Waiting() *law.Waiting {
	w := &law.Waiting{View: s.View, Zone: s.ZoneRef}
	if s.ZoneRef == nil {
		w.FQDN, _ = name.Parse(s.DomainName)
	}
	return w
}

// ZoneAsk is the request to decide one zone write.
type ZoneAsk struct {
	// Before is the zone as it stands; nil: it is made. A pending zone has Pending set.
	Before *law.Zone
	// Waits is where a pending zone waits now.
	Waits *law.Waiting
	// After is what the zone is to be; nil: it goes.
	After *ZoneSpec
	// Renames is the path of a field that the request changes and that the zone's name comes from: "spec.domainName",
	// "spec.view" or "spec.zoneRef"; "": none.
	Renames string
	// MayEstablish is the answer to the establish review (S3.3).
	MayEstablish bool
	// Annotated says that the annotation kubi.zone/delete has the uid of the zone (S8.1).
	Annotated bool
	// Behind says that a secondary is ahead of the zone (S6.11); nil: none is known to be.
	Behind *Behind
	// Cascade says that no client made this request, so a refusal becomes the reason why the zone stays pending.
	Cascade bool
	Now     time.Time
	By      string
	WorkID  string
}

type zoneDecision struct {
	*law.Reading
	ask ZoneAsk
	// by is the namespace that caused the decision, "" for the zone's own.
	by string
}

func (d *zoneDecision) stayPending(plan *law.Plan, reason, message string) *law.Plan {
	spec := d.ask.After
	plan.Orphan = spec.Waiting()
	z := &law.Zone{Ref: spec.Ref, View: spec.View, Pending: true, ZoneRef: spec.ZoneRef, Wanted: plan.Orphan.FQDN, Header: spec.Header,
		ZoneSettings: spec.ZoneSettings}
	z.DS = nil // a zone without a name has no keys
	z.Ending = d.ask.Before != nil && d.ask.Before.Ending
	plan.Zone = &law.ZoneChange{Zone: z, Delegated: &law.Condition{Status: "False", Reason: reason, Message: message}}
	return plan
}

// zonePlace is where a zone belongs by its name.
type zonePlace struct {
	fqdn    name.Name
	view    string
	pending bool
	// parent encloses the zone; nil: it is standalone.
	parent        *law.Zone
	parentHolding *law.Holding
	owner         name.Rel // relative to parent
	// yielding are the tenants whose CNAME or NS at the name goes first, with what they have below yieldsAt (S2.13).
	yielding []string
	yieldsAt name.Rel
	// taken is the number of names at or below the zone's name with records of the parent.
	taken int
	// zones says that zones stand below it.
	zones bool
}
