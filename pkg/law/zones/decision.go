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

// Waiting returns where a pending zone is indexed: at the target of zoneRef, else at the wanted name.
func (s *ZoneSpec) Waiting() *law.Waiting {
	w := &law.Waiting{View: s.View, Zone: s.ZoneRef}
	if s.ZoneRef == nil {
		w.FQDN, _ = name.Parse(s.DomainName)
	}
	return w
}

// ZoneAsk is the input of DecideZone.
type ZoneAsk struct {
	// Before is the zone in force, or a zone with Pending set; nil: the write creates the zone.
	Before *law.Zone
	// Waits is the present index entry of a pending zone.
	Waits *law.Waiting
	// After is the new spec; nil: the object is removed.
	After *ZoneSpec
	// Renames is the path of a changed field that determines the zone's name: "spec.domainName", "spec.view" or
	// "spec.zoneRef"; "": none.
	Renames string
	// MayEstablish is the result of the authorization review for zones/establish (S3.3).
	MayEstablish bool
	// Annotated is set if the annotation kubi.zone/delete has the uid of the zone (S8.1).
	Annotated bool
	// Behind is a secondary ahead of the zone (S6.11); nil: none is known.
	Behind *Behind
	// Cascade is set if no client made the request: a refusal then becomes the reason for which the zone stays
	// pending.
	Cascade bool
	Now     time.Time
	By      string
	WorkID  string
}

type zoneDecision struct {
	*law.Reading
	ask ZoneAsk
	// by is the namespace that caused the decision; "": the zone's own.
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

// zonePlace is the name, view and parent of a zone under decision, and the data already at the name.
type zonePlace struct {
	fqdn    name.Name
	view    string
	pending bool
	// parent encloses the zone; nil: standalone.
	parent        *law.Zone
	parentHolding *law.Holding
	owner         name.Rel // relative to parent
	// yielding are the tenants with a CNAME or NS at the name that rules no longer allow. Their records at and below
	// yieldsAt are released first (S2.13).
	yielding []string
	yieldsAt name.Rel
	// taken is the number of names at or below the zone's name with records of the parent.
	taken int
	// zones is set if there are zones below.
	zones bool
}
