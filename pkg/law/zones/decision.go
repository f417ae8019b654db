// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
)

// ZoneSpec is the desired state of a Zone.
type ZoneSpec struct {
	law.Ref
	DomainName string
	View       string
	ZoneRef    *law.Ref
	// Header has no FQDN: the law computes it.
	Header content.Header
	law.ZoneSettings
}

// Waiting returns the index entry of a pending zone: the target of zoneRef, else the wanted name.
func (s *ZoneSpec) Waiting() *law.Waiting {
	w := &law.Waiting{View: s.View, Zone: s.ZoneRef}
	if s.ZoneRef == nil {
		w.FQDN, _ = name.Parse(s.DomainName)
	}
	return w
}

// ZoneAsk is the input of DecideZone.
type ZoneAsk struct {
	// Before is the zone in force or Pending; nil: the write creates the zone.
	Before *law.Zone
	Waits  *law.Waiting
	// After is the new spec; nil: the object is removed.
	After *ZoneSpec
	// Renames is the path of a changed field that determines the name, as "spec.domainName"; "": none.
	Renames string
	// MayEstablish is the result of the review for zones/establish (S3.3).
	MayEstablish bool
	// Annotated: kubi.zone/delete has the zone's uid (S8.1).
	Annotated bool
	// Behind is a secondary ahead of the zone (S6.11); nil: none known.
	Behind *Behind
	// Cascade is true if no client made the request. A refusal is then the reason to stay pending.
	Cascade bool
	Now     time.Time
	By      string
	WorkID  string
}

type zoneDecision struct {
	*law.Reading
	ask ZoneAsk
	// by is the namespace that caused the decision; "": own.
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

type zonePlace struct {
	fqdn    name.Name
	view    string
	pending bool
	// parent encloses the zone; nil: standalone.
	parent        *law.Zone
	parentHolding *law.Holding
	owner         name.Rel // relative to parent
	// yielding are tenants that have a CNAME or NS at the name, which no rule allows any more. Their records at and
	// below yieldsAt go first (S2.13).
	yielding []string
	yieldsAt name.Rel
	// taken is the number of names at or below the zone's with records of the parent.
	taken int
	// zones: there are zones below.
	zones bool
}
