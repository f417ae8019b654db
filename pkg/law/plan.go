// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
)

// Outcome of a decision: exactly one of Plan, Refusal and Need is set.
type Outcome struct {
	Plan    *Plan
	Refusal *Refusal
	// Need lists facts that were not in Seen. Where there are none, Seen.Used tells
	// which facts the plan or the refusal rests on.
	Need []Key
}

// Plan is a decided write. What it changes beside the object asked about is in
// Writes; Zone is set when the zone object changes with it.
type Plan struct {
	// Record is the new place of the record, nil when the record goes.
	Record *Placement
	// Zone is what becomes of the one zone the plan touches.
	Zone *ZoneChange
	// Writes are the internal keys; a nil Value deletes.
	Writes []Write
	// Work is the outbox item the write owes, nil for none (I4).
	Work *Work
	// Move is the outbox item of a record that leaves one zone for another: beside
	// Work, and carried out before the write is answered (S2.6). Arrival is where the
	// record will be.
	Move    *Work
	Arrival *Placement
	// PendingCuts name (parent, child) pairs whose cut must be counted anew.
	PendingCuts []PendingCut
	// Orphan says under which keys the unadopted record (or pending zone) waits; OrphanBefore where it waited.
	Orphan, OrphanBefore *Waiting
	// Delegation is what becomes of the Delegation that was asked about, nil when it goes.
	Delegation *DelegationPlacement
	// Rule is the delegation that allowed it, for the audit annotation.
	Rule     string
	Warnings []string
}

// Write of an internal key: Value nil deletes it.
type Write struct {
	Key   Key
	Value any
}

// Placement is where a record stands after a decision.
type Placement struct {
	FQDN    name.Name // zero when it cannot be computed
	View    string
	Zone    *Ref // nil: not adopted
	Serial  serial.Serial
	Reason  string // condition reason when not adopted, else "Adopted"
	Message string
	// HasClass: some class delivers the zone. Served: the zone is Served, and settled with the record in it.
	HasClass, Served bool
}

// ZoneChange is the new state of a zone; without a Step its definition stays.
type ZoneChange struct {
	// Zone after the change; with Gone as it was.
	Zone    *Zone
	Holding *Holding
	// Delegated and Servable are conditions to set; nil leaves them.
	Delegated, Servable *Condition
	Step                *content.Step
	Gone                bool
	// Ended is the zone as it stood, where it ends and is pending from now on (S3.4).
	Ended *Zone
	// Held says that the change begins a hold (S7.5). Excess is why the zone is held now; nil where it is not, or the
	// change counts nothing.
	Held   bool
	Excess *Excess
	// EndsAt is about when the zone ends, unix seconds; 0 leaves what was said.
	EndsAt int64
}

// Settled reports whether what the zone contains after the change may be delivered.
func (c *ZoneChange) Settled() bool { return c.Holding != nil && c.Holding.Settled() }

// Condition is a decided condition; Status is "True", "False" or "Unknown".
type Condition struct{ Status, Reason, Message string }

// PendingCut names a delegated child whose NS and glue its parent must count anew.
// View and FQDN are the child's name when it was owed.
type PendingCut struct {
	Parent Ref       `json:"parent"`
	Child  Ref       `json:"child"`
	View   string    `json:"view,omitempty"`
	FQDN   name.Name `json:"fqdn"`

	Unknown *Unknown `json:"-"`
}

// oweCut has the parent of a child, if it has one, count the child's NS and glue anew.
func (p *Plan) oweCut(parent *Ref, child Ref, view string, fqdn name.Name) {
	if parent != nil {
		p.PendingCuts = append(p.PendingCuts, PendingCut{Parent: *parent, Child: child, View: view, FQDN: fqdn})
	}
}

// Same reports whether both are about one child and one parent.
func (d PendingCut) Same(other PendingCut) bool {
	return d.Parent.UID == other.Parent.UID && d.Child.UID == other.Child.UID
}

// Waiting says under which keys something unadopted is found again.
type Waiting struct {
	View string
	FQDN name.Name // zero: only by reference
	Zone *Ref      // the zoneRef's target
	// Left: it moves, and was admitted so where it left; "": it does not. Until it is taken
	// in it counts as it did there (S2.7).
	Left Admission
}

// Work is an outbox item: records and zones to decide anew.
type Work struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	View   string `json:"view"`
	Scans  []Scan `json:"scans"`
	// Zones carry a StandingWork with this ID, which goes when the work is through.
	Zones []Place `json:"zones,omitempty"`
	// Unmarked says that it names no zone and its steps leave no mark at any, so that what it changes is delivered as
	// it comes (S7.2). By is the namespace of the zone.
	Unmarked bool `json:"unmarked,omitempty"`
	// Renames says that the zones after the first follow it to another name, parents first (S6.8).
	Renames bool `json:"renames,omitempty"`
	// Purge is the uid of a zone that is gone; its internal keys go at the end.
	Purge string `json:"purge,omitempty"`
	// Ended is that zone where it ended and is pending: it may be made anew after that (S3.4).
	Ended *Place `json:"ended,omitempty"`
	// Had is the header that it had, by which it is known what it has to be withdrawn of.
	Had *content.Header `json:"had,omitempty"`
	// Move is the record that the item brings to another zone; neither such an item nor one with Left has scans.
	Move *Move `json:"move,omitempty"`
	// Left is a namespace that terminated when cascades came by what is in it (S2.8): all of
	// that is decided anew when it does no longer. Times counts those cascades.
	Left  string `json:"left,omitempty"`
	Times int    `json:"times,omitempty"`
	// Damaged are records that could not be read when the rest of the work was done.
	// Such an item has nothing else to do than to decide them anew when they can be.
	Damaged []Ref `json:"damaged,omitempty"`
	// Refused are records that an earlier version took in and that are refused now: decided anew in this order. The
	// owners of those that no zone has then are told (S5.9). Such an item has no scans.
	Refused []Ref `json:"refused,omitempty"`
	// By is the namespace that caused it.
	By    string `json:"by,omitempty"`
	Since int64  `json:"since"`
	// Runner is the server that carries the work out, as it says while that takes longer.
	Runner string `json:"runner,omitempty"`

	Unknown *Unknown `json:"-"`
}

// Place is a zone and the name it is found under.
type Place struct {
	Ref
	View string    `json:"view,omitempty"`
	FQDN name.Name `json:"fqdn"`

	Unknown *Unknown `json:"-"`
}

// ScanKind says what a Scan goes through.
type ScanKind string

const (
	// ScanMembers: the records of the zone with uid Zone at or below Owner.
	ScanMembers ScanKind = "members"
	// ScanWaiting: what waits unadopted at (or below) (View, Name).
	ScanWaiting ScanKind = "waiting"
	// ScanReferring: what waits for the zone object Target.
	ScanReferring ScanKind = "referring"
	// ScanPending: the zones among those, and the zones that wait at or below (View, Name).
	ScanPending ScanKind = "pending"
	// ScanNamespaces: of Namespaces the records that the zone with uid Zone has, and what waits at or below (View,
	// Name) or for the zone object Target. It costs what is in these namespaces, whatever others have in the zone.
	ScanNamespaces ScanKind = "namespaces"
	// ScanZones: the zones strictly below (View, Name), whose parent may be another now.
	ScanZones ScanKind = "zones"
)

// Scan is one range of things to decide anew.
type Scan struct {
	Kind   ScanKind  `json:"kind"`
	Zone   string    `json:"zone,omitempty"`
	Owner  name.Rel  `json:"owner,omitzero"`
	View   string    `json:"view,omitempty"`
	Name   name.Name `json:"name,omitzero"`
	Exact  bool      `json:"exact,omitempty"`
	Target *Ref      `json:"target,omitempty"`
	// Namespaces are those that it goes through; none: all.
	Namespaces []string `json:"namespaces,omitempty"`

	Unknown *Unknown `json:"-"`
}

// Of reports whether it goes through what is in a namespace.
func (s *Scan) Of(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}

// OfZone reports whether it goes through the zone that h is the holding of. That came by the rules for the zones of
// its lineage, too, and one that is withdrawn concerns it whatever became of those (S3.4).
func (s *Scan) OfZone(h *Holding) bool {
	return s.Of(h.Namespace) || slices.ContainsFunc(h.Lineage, func(l Link) bool { return s.Of(l.Namespace) })
}

// RefusalKind is how a refusal is told to the client.
type RefusalKind int

const (
	// Forbidden: 403, somebody else could allow it.
	Forbidden RefusalKind = iota
	// Invalid: 422, the object must be different.
	Invalid
	// Duplicate: 422 with cause FieldValueDuplicate (S1.6).
	Duplicate
	// Later: 429, the same request may pass when cascades are through (S8.1).
	Later
)

// Refusal says no, by which rule, and what would be right. It is an error so
// that it can travel; ledger turns it into an API status at its border.
type Refusal struct {
	Kind RefusalKind
	// Field is the path in the object, for Invalid and Duplicate.
	Field string
	Value any
	// Reason is the condition reason when a cascade meets the refusal.
	Reason  string
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func forbidden(reason, format string, args ...any) *Refusal {
	return &Refusal{Kind: Forbidden, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func invalid(field string, value any, reason, format string, args ...any) *Refusal {
	return &Refusal{Kind: Invalid, Field: field, Value: value, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Reasons of the Adopted and Delegated conditions that the law gives (S2.3, S2.5, S2.7, S3.1–S3.5).
const (
	ReasonAdopted             = "Adopted"
	ReasonAccepted            = "Accepted"
	ReasonZoneNotFound        = "ZoneNotFound"
	ReasonNoEnclosingZone     = "NoEnclosingZone"
	ReasonDelegationWithdrawn = "DelegationWithdrawn"
	ReasonBelowZoneCut        = "BelowZoneCut"
	ReasonZoneTerminating     = "ZoneTerminating"
	ReasonTerminating         = "Terminating"
	ReasonNameHeld            = "NameHeld"
	ReasonCNAMEConflict       = "CNAMEConflict"
	ReasonLimitExceeded       = "LimitExceeded"
	ReasonNameTooLong         = "NameTooLong"
	ReasonValidationFailed    = "ValidationFailed"
	ReasonMoving              = "Moving"
	ReasonStandalone          = "Standalone"
	ReasonDelegated           = "Delegated"
	ReasonNotDelegated        = "NotDelegated"
	ReasonExternalCut         = "ExternalCut"
	ReasonInvalid             = "Invalid"
)
