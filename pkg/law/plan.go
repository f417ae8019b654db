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

// Outcome is exactly one of Plan, Refusal and Need.
type Outcome struct {
	Plan    *Plan
	Refusal *Refusal
	// Need lists missing facts. If empty, Seen.Used tells the facts behind the result.
	Need []Key
}

// Plan is the write of the request's object, of Writes, and of the zone's object if Zone is set.
type Plan struct {
	// Record is the placement of the record; nil: deleted.
	Record *Placement
	// Zone is the change of the zone, nil for none.
	Zone   *ZoneChange
	Writes []Write
	// Work is an outbox item to write, nil for none (I4).
	Work *Work
	// PendingCuts name children whose cuts the parents must count again.
	PendingCuts []PendingCut
	// Orphan has the keys of a waiting record or pending zone, OrphanBefore the former ones.
	Orphan, OrphanBefore *Waiting
	// Delegation is the placement of the Delegation; nil: deleted.
	Delegation *DelegationPlacement
	// Rule is the pattern that allowed the record, for the audit annotation.
	Rule     string
	Warnings []Warning
}

// Warning is for the client.
type Warning struct {
	// Rule is the sentence of docs/semantics.md, as S5.14; "": none.
	Rule string
	// Reason: another write may answer the warning.
	Reason, Text string
	// Host is the name where any data answers the warning; zero for others.
	Host name.Name
}

func (p *Plan) Warn(rule, format string, args ...any) { p.WarnOf(rule, "", format, args...) }

// WarnOf adds a warning with Reason.
func (p *Plan) WarnOf(rule, reason, format string, args ...any) {
	p.Warnings = append(p.Warnings, Warning{Rule: rule, Reason: reason, Text: fmt.Sprintf(format, args...)})
}

// WarnOfHost adds a warning with Host.
func (p *Plan) WarnOfHost(rule string, host name.Name, format string, args ...any) {
	p.Warnings = append(p.Warnings, Warning{Rule: rule, Reason: WarningAbsentHost, Text: fmt.Sprintf(format, args...), Host: host})
}

// Write of an internal key: a nil Value deletes.
type Write struct {
	Key   Key
	Value any
}

// Placement is a record's place after a decision.
type Placement struct {
	FQDN name.Name // zero if unknown
	View string
	Zone *Ref // nil: not adopted
	// Admission is the admitting kind of rule; "": not adopted.
	Admission rules.Admission
	Serial    serial.Serial
	Reason    string // reason of the condition Adopted
	Message   string
	// HasClass is Zone.HasClass. Served: the zone is Served, and settled with the record.
	HasClass, Served bool
	// Stays: the record stays, and only its status changes.
	Stays bool
	// EndsAt estimates the end of the record's period, unix seconds; 0: no period (S2.12).
	EndsAt int64
}

// ZoneChange is the new state of a zone. Without Step the definition stays.
type ZoneChange struct {
	Zone    *Zone
	Holding *Holding
	// Delegated and Servable are conditions to set; nil leaves them.
	Delegated, Servable *Condition
	Step                *content.Step
	Gone                bool
	// TakesOver: a new zone has names or zones of the zone above.
	TakesOver bool
	// Ended is the former zone, if it ends and becomes pending (S3.5).
	Ended *Zone
	// Held: the change begins a hold (S7.5). Young removals would, were the RRsets older; nil: none.
	Held  bool
	Young *Excess
	// Notice for namespaces that get no answer.
	Notices []Notice
	// EndsAt estimates the end of the zone, unix seconds; 0 leaves the former estimate.
	EndsAt int64
}

const (
	// NoticeNameHidden: guests hide the name from a wildcard (S4.25).
	NoticeNameHidden = "NameHidden"
	// NoticeHostTaken: another namespace has a host to which own sends clients (S4.26).
	NoticeHostTaken = "HostTaken"
)

// Notice is an Event about the effect of another namespace's step, or of a cascade, on a name.
type Notice struct {
	Reason string
	Name   name.Name
	// Wildcard no longer answers the name, for its tenant Namespace. Both are zero for the zone's own namespace.
	Wildcard  name.Rel
	Namespace string
}

// Settled reports whether the content after the change may be delivered.
func (c *ZoneChange) Settled() bool { return c.Holding != nil && c.Holding.Settled() }

// Condition has a Status "True", "False" or "Unknown".
type Condition struct{ Status, Reason, Message string }

// AddPendingCut adds a child's pending cut, if there is a parent.
func (p *Plan) AddPendingCut(parent *Ref, child Ref, view string, fqdn name.Name) {
	if parent != nil {
		p.PendingCuts = append(p.PendingCuts, PendingCut{Parent: *parent, Child: child, View: view, FQDN: fqdn})
	}
}

// DelegationPlacement is the zone of a Delegation in force, nil for none, and the reason.
type DelegationPlacement struct {
	Zone            *Ref
	Reason, Message string
}
