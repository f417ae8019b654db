// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// Outcome is the result of a decision. Exactly one of Plan, Refusal and Need is set.
type Outcome struct {
	Plan    *Plan
	Refusal *Refusal
	Need    []Key
}

// Plan lists the writes that store an accepted request, all in one transaction. A nil field writes nothing, except
// Record and Delegation.
type Plan struct {
	// Record is the new status if the request writes a Record. Nil deletes the Record.
	Record *Placement
	Zone   *ZoneChange
	Writes []Write
	// Work is the background job (cascade) to enqueue, for other records and zones.
	Work *Work
	// Derivations lists the content of other zones to derive again, such as a child's NS in its parent.
	Derivations []Derivation
	// Waiting has index keys by which a later zone finds an object in no zone. WaitingBefore has keys to delete.
	Waiting, WaitingBefore *Waiting
	Delegation             *DelegationPlacement
	// Awaited is true if a Record leaves a name where Records of its namespace wait (S2.14).
	Awaited bool
	// Rule is the pattern that allowed the record, such as "*.dev", for the audit log.
	Rule     string
	Warnings []Warning
}

type Warning struct {
	Rule string
	// Reason is set if another write may resolve the warning.
	Reason, Text string
	// Host is a name; data there resolves the warning.
	Host name.Name
}

func (p *Plan) Warn(rule, format string, args ...any) { p.WarnOf(rule, "", format, args...) }

func (p *Plan) WarnOf(rule, reason, format string, args ...any) {
	p.Warnings = append(p.Warnings, Warning{Rule: rule, Reason: reason, Text: fmt.Sprintf(format, args...)})
}

func (p *Plan) WarnOfHost(rule string, host name.Name, format string, args ...any) {
	p.Warnings = append(p.Warnings, Warning{Rule: rule, Reason: WarningAbsentHost, Text: fmt.Sprintf(format, args...), Host: host})
}

// Write sets an internal key. A nil Value deletes the key.
type Write struct {
	Key   Key
	Value any
}

// Placement is the new status of a Record after a decision: the zone that contains the Record, or the reason why none
// does.
type Placement struct {
	FQDN      name.Name // zero if unknown
	View      string
	Zone      *Ref            // nil: no zone contains the record
	Admission rules.Admission // the kind of rule that allows the record
	Serial    serial.Serial   // of the zone, after the decision
	// Reason and Message are for the condition Adopted.
	Reason  string
	Message string
	// HasClass and Served are from the Zone. Served is also false while name servers do not get the record yet.
	HasClass, Served bool
	// Stays is true if the zone's content stays the same, as after a change of labels. Ready then keeps its status.
	Stays bool
	// EndsAt estimates, in Unix seconds, when the record leaves the zone because no rule allows it any more. 0 means
	// never.
	EndsAt int64
}

// ZoneChange is the new state of a zone after a decision about the zone, its records or its rules. If Step is nil,
// content and serial stay the same.
type ZoneChange struct {
	Zone    *Zone
	Holding *Holding
	// Delegated and Servable are the new conditions, or nil to leave a condition.
	Delegated, Servable *Condition
	Step                *content.Step
	Removed             bool
	// TakesOver is true if a new zone takes names or zones from the zone above.
	TakesOver bool
	// EndedZone is the former state of a zone that loses its name because no rule delegates it any more.
	EndedZone *Zone

	// BeginsHold is true if the step is a mass deletion, so that name servers keep the former content.
	BeginsHold bool
	// YoungExcess describes, for a warning, removals of RRsets too young to stop deliveries.
	YoungExcess *Excess
	Notices     []Notice
	// EndsAt estimates, in Unix seconds, when the zone ends. 0 keeps the former estimate.
	EndsAt int64
}

const (
	// NoticeNameHidden reports that names below hide the name from a wildcard.
	NoticeNameHidden = "NameHidden"
	// NoticeHostTaken reports that another namespace takes a host named in records of the zone's own namespace.
	NoticeHostTaken = "HostTaken"
)

// Notice tells a namespace, by a Kubernetes Event, that a write of another namespace affects a name.
type Notice struct {
	// Reason is NoticeNameHidden or NoticeHostTaken.
	Reason string
	Name   name.Name
	// Namespace is the tenant to notify. Wildcard is a wildcard of this tenant, such as "*.apps", that no longer
	// answers for Name. Both are zero if the Event is for the zone's own namespace.
	Wildcard  name.Rel
	Namespace string
}

func (c *ZoneChange) Settled() bool { return c.Holding != nil && c.Holding.Settled() }

type Condition struct{ Status, Reason, Message string }

func (p *Plan) AddPendingCut(parent *Ref, child Ref, view string, fqdn name.Name) {
	if parent != nil {
		p.Derivations = append(p.Derivations, Derivation{Into: *parent, From: child, View: view, FQDN: fqdn})
	}
}

// DerivePTR has the zone into derive the PTR of a name of the zone from or, if owner is zero, of all its names. The
// Derivation as given has the author.
func (p *Plan) DerivePTR(into Ref, from *Zone, owner name.Rel, as Derivation) {
	as.Into, as.From, as.View, as.FQDN, as.PTR, as.Owner = into, from.Ref, from.View, from.FQDN(), true, owner
	p.Derivations = append(p.Derivations, as)
}

// DelegationPlacement is the new status of a Delegation. Zone is nil if the Delegation is not in force.
type DelegationPlacement struct {
	Zone            *Ref
	Reason, Message string
}
