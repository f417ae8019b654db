// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
)

type ZoneSpec struct {
	law.Ref
	DomainName string
	View       string
	ZoneRef    *law.Ref
	// Header has no FQDN: the decision computes it.
	Header content.Header
	law.ZoneSettings
}

func (s *ZoneSpec) Waiting() *law.Waiting {
	w := &law.Waiting{View: s.View, Zone: s.ZoneRef}
	if s.ZoneRef == nil {
		w.FQDN, _ = name.Parse(s.DomainName)
	}
	return w
}

// ZoneInput is the input of DecideZone. By is the user.
type ZoneInput struct {
	// Before is nil for a creation.
	Before        *law.Zone
	WaitingBefore *law.Waiting
	After         *ZoneSpec
	// Renames is the path of a changed field with the name, as "spec.domainName".
	Renames string
	// MayEstablish is the result of the review for zones/establish (S3.3).
	MayEstablish bool
	// Annotated is true if kubi.zone/delete has the zone's uid (S8.1).
	Annotated bool
	Ahead     *Ahead
	// Cascade is true without a client (RecordInput.Cascade).
	Cascade bool
	Now     time.Time
	By      string
	WorkID  string
}

type zoneDecision struct {
	*law.Reading
	ask ZoneInput
	// causedBy is the namespace behind the decision; "" for the zone's own.
	causedBy string
}

func (d *zoneDecision) keepPending(plan *law.Plan, reason, message string) *law.Plan {
	spec := d.ask.After
	plan.Waiting = spec.Waiting()
	z := &law.Zone{Ref: spec.Ref, View: spec.View, Pending: true, ZoneRef: spec.ZoneRef, WantedName: plan.Waiting.FQDN, Header: spec.Header,
		ZoneSettings: spec.ZoneSettings}
	z.DS = nil // without a name there are no keys
	z.Ending = d.ask.Before != nil && d.ask.Before.Ending
	plan.Zone = &law.ZoneChange{Zone: z, Delegated: &law.Condition{Status: "False", Reason: reason, Message: message}}
	return plan
}

type zonePlace struct {
	fqdn          name.Name
	view          string
	pending       bool
	parent        *law.Zone
	parentHolding *law.Holding
	owner         name.Rel // relative to parent
	// yielding are tenants with a CNAME or NS at the name that no rule allows any more. Their records at and below
	// yieldedName go first (S2.13).
	yielding    []string
	yieldedName name.Rel
	// takenNames counts the parent's names with records at or below the zone's name.
	takenNames    int
	hasZonesBelow bool
}
