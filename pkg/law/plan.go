// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/rules"
)

// Outcome is the result of a decision: exactly one of Plan, Refusal and Need.
type Outcome struct {
	Plan    *Plan
	Refusal *Refusal
	Need    []Key
}

// Plan lists the writes that store an accepted request, all in one transaction. A nil field writes nothing, but see
// Record and Delegation.
type Plan struct {
	// Record is the status of the Record in the request; nil deletes the Record.
	Record *Placement
	Zone   *ZoneChange
	// Writes are internal keys.
	Writes []Write
	// Work is a background job (cascade) for other records and zones.
	Work *Work
	// PendingCuts are changed child zones, with NS, glue and DS for the parent to list.
	PendingCuts []PendingCut
	// Waiting has index keys to add, so that a later zone finds an object in no zone; WaitingBefore has keys to delete.
	Waiting, WaitingBefore *Waiting
	// Delegation is like Record, for a Delegation.
	Delegation *DelegationPlacement
	// Rule is the pattern that allowed the record, such as "*.dev", for the audit log.
	Rule     string
	Warnings []Warning
}

type Warning struct {
	Rule string
	// Reason is set if another write may resolve the warning.
	Reason, Text string
	// Host is a name where any data resolves the warning.
	Host name.Name
}

func (p *Plan) Warn(rule, format string, args ...any) { p.WarnOf(rule, "", format, args...) }

func (p *Plan) WarnOf(rule, reason, format string, args ...any) {
	p.Warnings = append(p.Warnings, Warning{Rule: rule, Reason: reason, Text: fmt.Sprintf(format, args...)})
}

func (p *Plan) WarnOfHost(rule string, host name.Name, format string, args ...any) {
	p.Warnings = append(p.Warnings, Warning{Rule: rule, Reason: WarningAbsentHost, Text: fmt.Sprintf(format, args...), Host: host})
}

// Write sets an internal key. A nil Value deletes it.
type Write struct {
	Key   Key
	Value any
}

// Placement is the new status of a decided Record: the zone that contains it, or the reason why none does.
type Placement struct {
	FQDN      name.Name // zero if unknown
	View      string
	Zone      *Ref            // nil: no zone contains the record
	Admission rules.Admission // kind of the allowing rule
	Serial    serial.Serial   // of the zone, after the decision
	// Reason and Message are for the condition Adopted.
	Reason  string
	Message string
	// HasClass and Served are the fields of the Zone. Served is also false while name servers do not yet get the
	// record.
	HasClass, Served bool
	// Stays is true if the zone's content stays the same, as after a change of labels: Ready is kept.
	Stays bool
	// EndsAt estimates when the record leaves the zone because no rule allows it any more, in Unix seconds; 0 for
	// never.
	EndsAt int64
}

// ZoneChange is the new state of a zone by a decision about the zone, its records or its rules. A nil Step leaves the
// content and serial.
type ZoneChange struct {
	Zone *Zone
	// Holding is the state under the zone's name that other zones read.
	Holding *Holding
	// Delegated and Servable are new conditions; nil leaves them.
	Delegated, Servable *Condition
	Step                *content.Step
	Removed             bool
	// TakesOver is true if a new zone takes names or zones from the zone above.
	TakesOver bool
	// EndedZone is the former state of a zone that loses its name, as no rule delegates it any more.
	EndedZone *Zone

	// BeginsHold is true if the step is a mass deletion, so name servers keep the former content (S7.5).
	BeginsHold bool
	// YoungExcess counts removals that begin no hold only because the RRsets were younger than ten minutes. It is for a
	// warning; nil for none.
	YoungExcess *Excess
	// Notices are for namespaces whose names are affected.
	Notices []Notice
	// EndsAt estimates when the zone ends, in Unix seconds; 0 leaves the former estimate.
	EndsAt int64
}

const (
	// NoticeNameHidden reports that guests hide the name from a wildcard (S4.25).
	NoticeNameHidden = "NameHidden"
	// NoticeHostTaken reports that another namespace gets a host to which own records lead (S4.26).
	NoticeHostTaken = "HostTaken"
)

// Notice tells a namespace, by a Kubernetes Event, that a write of another namespace affects one of its names.
type Notice struct {
	// Reason is NoticeNameHidden or NoticeHostTaken. Name is the affected name.
	Reason string
	Name   name.Name
	// Wildcard is the name, such as "*.apps", that no longer answers for Name. Namespace is the tenant of the wildcard;
	// "" if it is the zone's own namespace, which gets the Event.
	Wildcard  name.Rel
	Namespace string
}

func (c *ZoneChange) Settled() bool { return c.Holding != nil && c.Holding.Settled() }

// Condition has a Status "True", "False" or "Unknown".
type Condition struct{ Status, Reason, Message string }

func (p *Plan) AddPendingCut(parent *Ref, child Ref, view string, fqdn name.Name) {
	if parent != nil {
		p.PendingCuts = append(p.PendingCuts, PendingCut{Parent: *parent, Child: child, View: view, FQDN: fqdn})
	}
}

// DelegationPlacement has the zone where a Delegation is in force; nil for none.
type DelegationPlacement struct {
	Zone            *Ref
	Reason, Message string
}
