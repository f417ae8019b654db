// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

type ZoneSpec struct {
	law.Ref
	DomainName string
	View       string
	ZoneRef    *law.Ref
	// Header has no FQDN, because the decision computes it.
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

type ZoneInput struct {
	// Before is the stored zone, or nil for a creation. WaitingBefore holds the index keys of a pending zone.
	Before        *law.Zone
	WaitingBefore *law.Waiting
	// After is nil for a deletion.
	After *ZoneSpec
	// Renames is the path of a changed field that would rename the zone, or "".
	Renames string
	// MayEstablish is true if the user may create zones/establish: zones that no zone encloses.
	MayEstablish bool
	// Annotated is true if the annotation kubi.zone/delete confirms the deletion by the zone's UID.
	Annotated bool
	// Ahead is a secondary with a later serial, or nil.
	Ahead   *Ahead
	Cascade bool
	Now     time.Time
	By      string // user
	WorkID  string // ID for a new cascade
}

type zoneDecision struct {
	*law.Reading
	ask ZoneInput
	// causedBy is the namespace behind the decision, or "" for the zone's own.
	causedBy string
}

func (d *zoneDecision) keepPending(plan *law.Plan, reason, message string) *law.Plan {
	spec := d.ask.After
	plan.Waiting = spec.Waiting()
	z := &law.Zone{Ref: spec.Ref, View: spec.View, Pending: true, ZoneRef: spec.ZoneRef, WantedName: plan.Waiting.FQDN, Header: spec.Header,
		ZoneSettings: spec.ZoneSettings}
	z.DS = nil
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
	// takenNames counts the parent's names with records at or below the zone's name.
	takenNames    int
	hasZonesBelow bool
}
