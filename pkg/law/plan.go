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

// Outcome is the result of a decision: exactly one of Plan, Refusal and Need is set.
type Outcome struct {
	Plan    *Plan
	Refusal *Refusal
	// Need lists facts that were not in Seen. Where it is empty, Seen.Used tells which facts the plan or the refusal
	// rests on.
	Need []Key
}

// Plan is a decided write. Writes has what it changes beside the object of the request. Zone is set where the zone
// object changes with it.
type Plan struct {
	// Record is the new place of the record; nil: the record goes.
	Record *Placement
	// Zone is what becomes of the one zone the plan touches.
	Zone *ZoneChange
	// Writes are the internal keys; a nil Value deletes.
	Writes []Write
	// Work is the outbox item the write owes, nil for none (I4).
	Work *Work
	// PendingCuts name (parent, child) pairs whose cut must be counted anew.
	PendingCuts []PendingCut
	// Orphan says under which keys the record, or the pending zone, waits, and OrphanBefore where it waited.
	Orphan, OrphanBefore *Waiting
	// Delegation is what becomes of the Delegation of the request; nil: it goes.
	Delegation *DelegationPlacement
	// Rule is the pattern that allowed the record, for the audit annotation.
	Rule     string
	Warnings []Warning
}

// Warning is for the client that writes.
type Warning struct {
	// Reason is that of a warning that another write may answer, for clients of many writes; "" for others.
	Reason, Text string
	// Host is the name at which any data answers the warning; zero for others.
	Host name.Name
}

// Warn adds a warning.
func (p *Plan) Warn(format string, args ...any) { p.WarnOf("", format, args...) }

// WarnOf adds a warning that another write may answer.
func (p *Plan) WarnOf(reason, format string, args ...any) {
	p.Warnings = append(p.Warnings, Warning{Reason: reason, Text: fmt.Sprintf(format, args...)})
}

// WarnOfHost adds a warning that data at a host answers.
func (p *Plan) WarnOfHost(host name.Name, format string, args ...any) {
	p.Warnings = append(p.Warnings, Warning{Reason: WarningAbsentHost, Text: fmt.Sprintf(format, args...), Host: host})
}

// Write of an internal key: Value nil deletes it.
type Write struct {
	Key   Key
	Value any
}

// Placement is where a record stands after a decision.
type Placement struct {
	FQDN name.Name // zero when it cannot be computed
	View string
	Zone *Ref // nil: not adopted
	// Admission says by which kind of rule the zone has it; "": not adopted.
	Admission rules.Admission
	Serial    serial.Serial
	Reason    string // condition reason when not adopted, else "Adopted"
	Message   string
	// HasClass says that some class delivers the zone, and Served that the zone is Served, and settled with the
	// record in it.
	HasClass, Served bool
	// Stays says that the record stays as it stood, and only what is said of it changes.
	Stays bool
	// EndsAt is when about its period is over, where the rules of its zone allow it no more, unix seconds; else 0
	// (S2.12).
	EndsAt int64
}

// ZoneChange is the new state of a zone; without a Step its definition stays.
type ZoneChange struct {
	// Zone is the zone after the change.
	Zone    *Zone
	Holding *Holding
	// Delegated and Servable are conditions to set; nil leaves them.
	Delegated, Servable *Condition
	Step                *content.Step
	Gone                bool
	// TakesOver says that names or zones of the zone above stand at or below the name of a new zone.
	TakesOver bool
	// Ended is the zone as it stood, where it ends and is pending from now on (S3.5).
	Ended *Zone
	// Held says that the change begins a hold (S7.5). Young is what would have begun one, were it older; nil: nothing.
	Held  bool
	Young *Excess
	// News is for namespaces that no answer tells of the step.
	News []News
	// EndsAt is an estimate of the end of the zone, unix seconds; 0 leaves the last one.
	EndsAt int64
}

// Reasons of News.
const (
	// NewsNameHidden is of a name that records by underscore rules hide from a wildcard (S4.25).
	NewsNameHidden = "NameHidden"
	// NewsHostTaken is of a host to which records of the zone's own namespace send clients, and that another one has
	// (S4.26).
	NewsHostTaken = "HostTaken"
)

// News is what a step of another namespace, or of a cascade, means for a name. Its reason is that of an Event.
type News struct {
	Reason string
	Name   name.Name
	// Wildcard is the one from which the name is hidden, where the news is for a tenant of it, Namespace. Else the news
	// is for the zone's own namespace, and Namespace is "".
	Wildcard  name.Rel
	Namespace string
}

// Settled reports whether what the zone contains after the change may be delivered.
func (c *ZoneChange) Settled() bool { return c.Holding != nil && c.Holding.Settled() }

// Condition is a decided condition; Status is "True", "False" or "Unknown".
type Condition struct{ Status, Reason, Message string }

// OweCut has the parent of a child, if it has one, count the child's NS and glue anew.
func (p *Plan) OweCut(parent *Ref, child Ref, view string, fqdn name.Name) {
	if parent != nil {
		p.PendingCuts = append(p.PendingCuts, PendingCut{Parent: *parent, Child: child, View: view, FQDN: fqdn})
	}
}

// DelegationPlacement says in which zone a Delegation is in force, nil for none, and why.
type DelegationPlacement struct {
	Zone            *Ref
	Reason, Message string
}
