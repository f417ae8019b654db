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
	// Ended is the zone as it stood, where it ends and is pending from now on (S3.5).
	Ended *Zone
	// Held says that the change begins a hold (S7.5).
	Held bool
	// EndsAt is an estimate of the end of the zone, unix seconds; 0 leaves the last one.
	EndsAt int64
}

// Settled reports whether what the zone contains after the change may be delivered.
func (c *ZoneChange) Settled() bool { return c.Holding != nil && c.Holding.Settled() }

// Condition is a decided condition; Status is "True", "False" or "Unknown".
type Condition struct{ Status, Reason, Message string }

// PendingCut names a delegated child of which the parent must count NS and glue anew. View and FQDN are the child's
// name at the time of the change.
type PendingCut struct {
	Parent Ref       `json:"parent"`
	Child  Ref       `json:"child"`
	View   string    `json:"view,omitempty"`
	FQDN   name.Name `json:"fqdn"`
	// Own says that the parent's own namespace takes away what goes (S7.5).
	Own bool `json:"own,omitempty"`
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

// Waiting says under which keys what is not adopted is found again.
type Waiting struct {
	View string
	FQDN name.Name // zero: only by reference
	Zone *Ref      // the zoneRef's target
	// Moves says that the record has left a zone for another one, which takes it in next (S2.14).
	Moves bool
	// KeptOut is the namespace that held the name when the record began to wait there by the annotation (S2.15). It
	// stands in the key alone, which no client reads (S1.8).
	KeptOut string
}

// Work is an outbox item: records and zones to decide anew.
type Work struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	View   string `json:"view"`
	Scans  []Scan `json:"scans"`
	// Zones carry a StandingWork with this ID, which goes when the work is through.
	Zones []Place `json:"zones,omitempty"`
	// Unmarked says that the work names no zone and its steps leave no mark at any, so that each step is delivered as
	// it comes (S7.2). By is the namespace of the zone.
	Unmarked bool `json:"unmarked,omitempty"`
	// Purge is the uid of a zone that is gone. Its internal keys go at the end.
	Purge string `json:"purge,omitempty"`
	// Ended is that zone where it ended and is pending: a rule may make it anew when the work is through (S3.7).
	Ended *Place `json:"ended,omitempty"`
	// Ends says that the zone ended, or went while its end was due. So do the zones below that it leaves without a rule
	// (S3.8).
	Ends bool `json:"ends,omitempty"`
	// Releases are the namespaces whose withdrawals in the zone Releasing are over when the work is through (S2.5).
	Releasing string   `json:"releasing,omitempty"`
	Releases  []string `json:"releases,omitempty"`
	// Yields is the base name at which what the rules allow no more gives way at once, to a rule that names it for
	// another namespace (S2.13).
	Yields name.Rel `json:"yields,omitzero"`
	// Had is the header that the zone had, which says what has to be withdrawn of it.
	Had *content.Header `json:"had,omitempty"`
	// Left is the namespace of the work where that terminates: the work is carried out if it comes back (S2.6).
	Left string `json:"left,omitempty"`
	// Times counts how often the item was extended. The server that carries it out begins again then.
	Times int `json:"times,omitempty"`
	// Damaged are records that could not be read when the rest of the work was done. Such an item stands until they
	// can be read, and decides them anew then.
	Damaged []Ref `json:"damaged,omitempty"`
	// By is the namespace that caused the work.
	By    string `json:"by,omitempty"`
	Since int64  `json:"since"`
	// Runner is the server that carries the work out, as it says where that takes longer.
	Runner string `json:"runner,omitempty"`
}

// Cause tells the work from others, as that which takes something from a namespace (Withdrawal.Cause).
func (w *Work) Cause() string { return fmt.Sprintf("%s@%d", w.ID, w.Since) }

// Place is a zone and the name it is found under.
type Place struct {
	Ref
	View string    `json:"view,omitempty"`
	FQDN name.Name `json:"fqdn"`
}

// ScanKind says what a Scan goes through.
type ScanKind string

const (
	// ScanMembers goes through the records of the zone with uid Zone at or below Owner.
	ScanMembers ScanKind = "members"
	// ScanWaiting goes through what waits for adoption at (or below) (View, Name).
	ScanWaiting ScanKind = "waiting"
	// ScanReferring goes through what waits for the zone object Target, and, where the scan has the (View, Name) of
	// that zone, through the zones that refer to it and stand elsewhere (RefersFrom).
	ScanReferring ScanKind = "referring"
	// ScanPending goes through the zones among those.
	ScanPending ScanKind = "pending"
	// ScanNamespaces goes through the records that Namespaces have in the zone with uid Zone, and through what of
	// them waits at or below (View, Name) or for the zone object Target. Its cost is what is in these namespaces,
	// whatever others have in the zone.
	ScanNamespaces ScanKind = "namespaces"
	// ScanZones goes through the zones strictly below (View, Name), which may have another parent now.
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
	// Namespaces are those that the scan goes through; none: all.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Of reports whether the scan goes through what is in a namespace.
func (s *Scan) Of(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}

// Concerns reports whether the scan of zones goes through the zone b. above is the nearest zone above it that the scan
// goes through as well, nil: that is the zone at the scan's name, or the one that encloses it. What is below another
// zone there is that one's matter, once it is known to be (S3.4).
func (s *Scan) Concerns(b, above *ZoneBelow) bool {
	if above != nil {
		return b.Enclosed != above.UID
	}
	return s.Of(b.Namespace)
}

// RefersFrom reports whether the scan goes through the zone with the holding h, which stands at (view, fqdn) and is not
// below the zone that it refers to, as its name would have it (S1.6).
func (s *Scan) RefersFrom(view string, fqdn name.Name, h *Holding) bool {
	return s.Kind == ScanReferring && !s.Name.IsZero() && h.Target != nil && *h.Target == *s.Target && s.Of(h.Namespace) &&
		(s.View != view || !s.Name.Encloses(fqdn))
}

// RefusalKind is the kind of answer that the client gets.
type RefusalKind int

const (
	// Forbidden is 403: the owner of a zone or an administrator could allow it.
	Forbidden RefusalKind = iota
	// Invalid is 422: the object must be different.
	Invalid
	// Duplicate is 422 with cause FieldValueDuplicate (S1.5).
	Duplicate
	// Later is 429: the same request may pass when cascades are through (S8.1).
	Later
)

// Refusal says which rule refuses a request and what would be right. It is an error so that it can travel. The ledger
// turns it into an API status.
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

// Reasons of the Adopted and Delegated conditions that the law gives (S2.3, S2.5, S2.9, S3.1–S3.11).
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
	ReasonInUse               = "InUse"
	ReasonParentRenamed       = "ParentRenamed"
	ReasonInvalid             = "Invalid"
)
