// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// Derivation is content of the zone Into that follows from the zone From, and has yet to be derived again: the cut (NS,
// glue and DS) of a child zone From in its parent Into, or the PTR of names in From. The transaction of From stores the
// Derivation, and a transaction of Into deletes it.
type Derivation struct {
	Into Ref       `json:"parent"`
	From Ref       `json:"child"`
	View string    `json:"view,omitempty"`
	FQDN name.Name `json:"fqdn"` // of From
	// Own is true if the own namespace of Into made the change. Removed RRsets then count towards a mass deletion.
	Own bool `json:"own,omitempty"`
	// PTR is true for the PTR in Into of the name Owner of From or, if zero, of all its names.
	PTR   bool     `json:"ptr,omitempty"`
	Owner name.Rel `json:"owner,omitzero"`
	// At is the time of the write in Unix nanoseconds, or 0 if the age of the Records decides. By is the namespace that
	// wrote.
	At int64  `json:"at,omitempty"`
	By string `json:"by,omitempty"`
}

// DerivesWith reports whether two derivations of PTR may share a transaction: of the same author, for the same zone.
func (d Derivation) DerivesWith(other Derivation) bool {
	return d.PTR && other.PTR && d.Into.UID == other.Into.UID && d.By == other.By && d.Own == other.Own &&
		d.Owner.IsZero() == other.Owner.IsZero() && (!d.Owner.IsZero() || d.From.UID == other.From.UID)
}

func (d Derivation) Same(other Derivation) bool {
	return d.Into.UID == other.Into.UID && d.From.UID == other.From.UID && d.PTR == other.PTR && d.Owner == other.Owner
}

// Waiting holds the index keys of a Record or Zone in no zone yet. A new zone finds waiting objects by name, by
// spec.zoneRef, or by both.
type Waiting struct {
	View string
	FQDN name.Name // zero: only by Zone
	Zone *Ref      // nil: only by FQDN
	// Moves is true while a cascade moves the object between zones.
	Moves bool
	// KeptOut is the namespace whose data kept the record out, if the record waits by the annotation
	// kubi.zone/on-conflict. No client may read it.
	KeptOut string
}

// Work is an item of the outbox, the stored background jobs: a cascade that decides records and zones again.
type Work struct {
	ID     string `json:"id"`
	Reason string `json:"reason"` // for the history
	View   string `json:"view"`
	Scans  []Scan `json:"scans"` // the objects to decide, empty afterwards
	// Zones have a CascadeMark of this ID during the work.
	Zones []Place `json:"zones,omitempty"`
	// Unmarked is true if no zone has a mark, so that each step is delivered when written. By is then the zone's
	// namespace.
	Unmarked bool `json:"unmarked,omitempty"`
	// Purge is the UID of a removed zone whose internal keys are deleted at the end.
	Purge string `json:"purge,omitempty"`
	// Ended is that zone, if pending. A rule may recreate the zone afterwards.
	Ended *Place `json:"ended,omitempty"`
	// Removed is that zone, if its object was deleted.
	Removed *Place `json:"removed,omitempty"`
	// Ends is true if the zone has ended, or its end was due. Zones below without a rule end, too.
	Ends bool `json:"ends,omitempty"`
	// Releases lists the namespaces whose withdrawals in the zone Releasing (a UID) end with the work.
	Releasing string          `json:"releasing,omitempty"`
	Releases  []string        `json:"releases,omitempty"`
	Had       *content.Header `json:"had,omitempty"` // of the zone Ended
	// Left is the name of a terminating namespace. The work waits for a new namespace of the name.
	Left string `json:"left,omitempty"`
	// Times counts extensions by later writes. After each, the cascade scans again.
	Times int `json:"times,omitempty"`
	// Damaged lists unreadable records. With any, the item stays.
	Damaged []Ref `json:"damaged,omitempty"`
	TakesIn bool  `json:"takesIn,omitempty"` // CascadeMark.TakesIn
	// Derives is true if each step has the PTR of the Record's addresses derived again.
	Derives bool `json:"derives,omitempty"`
	// By is the namespace that caused the work (elsewhere, By is a user). Since is in Unix seconds.
	By    string `json:"by,omitempty"`
	Since int64  `json:"since"`
	// Runner is the ID of the server with the lease, or "".
	Runner string `json:"runner,omitempty"`
	// Trace is the traceparent of the causing span, or "".
	Trace  string  `json:"tp,omitempty"`
	Cursor *Cursor `json:"cursor,omitempty"` // nil at the start
}

// TrialID begins the IDs of trials: works that decide waiting objects again, after nothing that their zone did. No zone
// is marked before the first step.
const TrialID = "waits-"

func (w *Work) IsTrial() bool { return strings.HasPrefix(w.ID, TrialID) }

// ExpiryWork returns the work that takes the expired records of a namespace from their zones. Records that cannot be
// read are left to the next such work.
func ExpiryWork(namespace string, now int64) *Work {
	return &Work{ID: dueID + namespace, Reason: "expiresAt of the record has passed", By: namespace, Since: now, Unmarked: true,
		Scans: []Scan{{Kind: ScanDue, Namespaces: []string{namespace}}}}
}

const dueID = "due-"

// IsRepeated reports whether another work of the kind decides the objects again that this work leaves out.
func (w *Work) IsRepeated() bool { return w.IsTrial() || strings.HasPrefix(w.ID, dueID) }

// Cursor is the position of a cascade: the sort key of the last object decided.
type Cursor struct {
	Times   int    `json:"times,omitempty"`
	Moved   bool   `json:"moved,omitempty"`
	Rank    int    `json:"rank,omitempty"`
	Created int64  `json:"created,omitempty"`
	UID     string `json:"uid,omitempty"`
}

// Cause identifies the write that caused or last extended the work. An extension may begin a grace period again.
func (w *Work) Cause() string { return fmt.Sprintf("%s@%d.%d", w.ID, w.Since, w.Times) }

type Place struct {
	Ref
	View string    `json:"view,omitempty"`
	FQDN name.Name `json:"fqdn"`
}

type ScanKind string

const (
	// ScanMembers selects the records at or below Owner in the zone with the UID Zone. Name is the name of a removed
	// zone.
	ScanMembers ScanKind = "members"
	// ScanAddresses selects the records in the zone with the UID Zone, whose addresses another zone derives.
	ScanAddresses ScanKind = "addresses"
	// ScanWaiting selects the objects that wait at (View, Name) and, unless Exact is set, below.
	ScanWaiting ScanKind = "waiting"
	// ScanReferring selects the objects waiting for the zone object Target, and zones elsewhere referring to it by
	// (View, Name) (RefersFrom).
	ScanReferring ScanKind = "referring"
	ScanPending   ScanKind = "pending"
	// ScanNamespaces selects the records of Namespaces in the zone with the UID Zone, or waiting at or below (View,
	// Name) or for Target.
	ScanNamespaces ScanKind = "namespaces"
	// ScanZones selects the zones strictly below (View, Name), whose parent may have changed. At includes the zone
	// there.
	ScanZones ScanKind = "zones"
	// ScanDue selects the records of Namespaces that have expired.
	ScanDue ScanKind = "due"
)

// Scan selects objects to decide again.
type Scan struct {
	Kind   ScanKind  `json:"kind"`
	Zone   string    `json:"zone,omitempty"`
	Owner  name.Rel  `json:"owner,omitzero"`
	View   string    `json:"view,omitempty"`
	Name   name.Name `json:"name,omitzero"`
	Exact  bool      `json:"exact,omitempty"`
	At     bool      `json:"at,omitempty"`
	Target *Ref      `json:"target,omitempty"`
	// Namespaces is empty for all.
	Namespaces []string `json:"namespaces,omitempty"`
}

func (o Origin) Scan() Scan {
	return Scan{Kind: ScanMembers, Zone: o.Zone, Owner: name.Apex, Name: o.Name}
}

func (s *Scan) Covers(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}

// Concerns reports whether a scan of zones includes b. The parameter above is the nearest zone above b in the scan, or
// nil. If above already encloses b, the two are decided together.
func (s *Scan) Concerns(b, above *ZoneBelow) bool {
	if above != nil {
		return b.Enclosed != above.UID
	}
	return s.Covers(b.Namespace)
}

func (s *Scan) RefersFrom(view string, fqdn name.Name, h *Holding) bool {
	return s.Kind == ScanReferring && !s.Name.IsZero() && h.Target != nil && *h.Target == *s.Target && s.Covers(h.Namespace) &&
		(s.View != view || !s.Name.Encloses(fqdn))
}

func (w *Waiting) MatchesTarget(s *Scan) bool {
	return w.Zone != nil && s.Target != nil && w.Zone.Namespace == s.Target.Namespace && w.Zone.Name == s.Target.Name ||
		!w.FQDN.IsZero() && w.View == s.View && s.Name.Encloses(w.FQDN)
}

func (w *Work) Release(z *Zone, namespaces []string) {
	w.Releasing = z.UID
	w.Releases = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(w.Releases), namespaces...))))
	w.Scans = append(w.Scans,
		Scan{Kind: ScanNamespaces, Zone: z.UID, View: z.View, Name: z.FQDN(), Target: &Ref{Namespace: z.Namespace, Name: z.Name},
			Namespaces: namespaces},
		Scan{Kind: ScanZones, View: z.View, Name: z.FQDN(), Namespaces: namespaces})
}

func (w *Work) RulesChanged() bool {
	return w.Purge == "" && slices.ContainsFunc(w.Scans, func(s Scan) bool { return s.Kind == ScanMembers || s.Kind == ScanNamespaces })
}
