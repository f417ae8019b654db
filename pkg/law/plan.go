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

// Plan has the writes of a decision. A nil field writes nothing, but deletes the decided Record or Delegation.
type Plan struct {
	Record      *Placement
	Zone        *ZoneChange
	Writes      []Write
	Work        *Work
	PendingCuts []PendingCut
	// Waiting has a waiting record's or pending zone's index keys, WaitingBefore the former.
	Waiting, WaitingBefore *Waiting
	Delegation             *DelegationPlacement
	// Rule is the pattern that allowed the record, for the audit log.
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

// Placement is a record's place after a decision.
type Placement struct {
	FQDN      name.Name // zero if unknown
	View      string
	Zone      *Ref // nil: not adopted
	Admission rules.Admission
	Serial    serial.Serial
	Reason    string
	Message   string
	// HasClass is the Zone's. Served too, but false until the content with the record is settled.
	HasClass, Served bool
	// Stays is true if the zone's content does not change.
	Stays bool
	// EndsAt estimates the end of the record's period, unix seconds; 0 for none (S2.12).
	EndsAt int64
}

// ZoneChange is the new state of a zone. A nil Step leaves its content and serial.
type ZoneChange struct {
	Zone    *Zone
	Holding *Holding
	// Delegated and Servable are new conditions; nil leaves them.
	Delegated, Servable *Condition
	Step                *content.Step
	Removed             bool
	// TakesOver is true if a new zone takes names or zones from the zone above.
	TakesOver bool
	// EndedZone is the former state, if the zone ends (S3.5).
	EndedZone  *Zone
	BeginsHold bool
	// YoungExcess has removals that would begin a hold with older RRsets (S7.5).
	YoungExcess *Excess
	Notices     []Notice
	// EndsAt estimates the zone's end, unix seconds; 0 leaves the former.
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
