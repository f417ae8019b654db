// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law/content"
)

// PendingCut is a child zone whose name servers, glue or DS changed, so its parent has to list them. The child's
// transaction stores it, and a transaction of the parent deletes it.
type PendingCut struct {
	Parent Ref    `json:"parent"`
	Child  Ref    `json:"child"`
	View   string `json:"view,omitempty"`
	// FQDN is the child's name at the change.
	FQDN name.Name `json:"fqdn"`
	// Own is true for an act of the parent's own namespace: removed RRsets count towards a mass deletion (S7.7).
	Own bool `json:"own,omitempty"`
}

func (d PendingCut) Same(other PendingCut) bool {
	return d.Parent.UID == other.Parent.UID && d.Child.UID == other.Child.UID
}

// Waiting has the index keys of a Record or Zone that is in no zone yet. A new zone finds waiting objects by the name,
// by the Zone in spec.zoneRef, or both.
type Waiting struct {
	View string
	FQDN name.Name // zero: only by Zone
	Zone *Ref      // nil: only by FQDN
	// Moves is true while a cascade moves the object from one zone to another.
	Moves bool
	// KeptOut is the namespace whose data kept the record out, if it waits by the annotation kubi.zone/on-conflict
	// (S2.15). No client may read it.
	KeptOut string
}

// Work is an outbox item: records and zones to decide again.
type Work struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	View   string `json:"view"`
	Scans  []Scan `json:"scans"`
	// Zones have a CascadeMark of this ID until the work is done.
	Zones []Place `json:"zones,omitempty"`
	// Unmarked is true if no zone has a mark: each step is delivered when written (S7.2). By is then the zone's
	// namespace.
	Unmarked bool `json:"unmarked,omitempty"`
	// Purge is the uid of a removed zone whose internal keys go at the end.
	Purge string `json:"purge,omitempty"`
	// Ended is that zone, if pending: a rule may recreate it afterwards (S3.7).
	Ended *Place `json:"ended,omitempty"`
	// Ends is true if the zone ended, or its end was due. Zones below without a rule end, too (S3.8).
	Ends bool `json:"ends,omitempty"`
	// Releases are the namespaces whose withdrawals in the zone with uid Releasing end with the work (S2.5).
	Releasing string   `json:"releasing,omitempty"`
	Releases  []string `json:"releases,omitempty"`
	// Yields is a base name where data without a rule gives way to another namespace (S2.13).
	Yields name.Rel `json:"yields,omitzero"`
	// Had is the header of the ended zone.
	Had *content.Header `json:"had,omitempty"`
	// Left is a terminating namespace: the work waits for a new one of this name (S2.6).
	Left string `json:"left,omitempty"`
	// Times counts extensions by later writes. After each, the cascade scans again.
	Times int `json:"times,omitempty"`
	// Damaged are unreadable records; with any, the item stays.
	Damaged []Ref `json:"damaged,omitempty"`
	TakesIn bool  `json:"takesIn,omitempty"` // CascadeMark.TakesIn
	// By is the causing namespace (elsewhere, By is a user). Since is in unix seconds.
	By    string `json:"by,omitempty"`
	Since int64  `json:"since"`
	// Runner is the ID of the server with the lease, or "".
	Runner string `json:"runner,omitempty"`
	// Trace is the traceparent of the causing span, or "".
	Trace  string  `json:"tp,omitempty"`
	Cursor *Cursor `json:"cursor,omitempty"`
}

// Cursor has the sort key of the last decided candidate (object to decide).
type Cursor struct {
	Times   int    `json:"times,omitempty"`
	Moved   bool   `json:"moved,omitempty"`
	Rank    int    `json:"rank,omitempty"`
	Created int64  `json:"created,omitempty"`
	UID     string `json:"uid,omitempty"`
}

// Cause identifies the write that caused or last extended the work: an extension may begin a tenant's period again
// (S3.6).
func (w *Work) Cause() string { return fmt.Sprintf("%s@%d.%d", w.ID, w.Since, w.Times) }

type Place struct {
	Ref
	View string    `json:"view,omitempty"`
	FQDN name.Name `json:"fqdn"`
}

type ScanKind string

const (
	// ScanMembers: the records of the zone with uid Zone at or below Owner. Name is a removed zone's.
	ScanMembers ScanKind = "members"
	// ScanWaiting: objects waiting at (View, Name) and, unless Exact, below.
	ScanWaiting ScanKind = "waiting"
	// ScanReferring: objects waiting for the zone object Target, and zones elsewhere referring to it by (View, Name)
	// (RefersFrom).
	ScanReferring ScanKind = "referring"
	// ScanPending: the zones waiting for Target.
	ScanPending ScanKind = "pending"
	// ScanNamespaces: the records of Namespaces in the zone with uid Zone, and those waiting at or below (View, Name)
	// or for Target.
	ScanNamespaces ScanKind = "namespaces"
	// ScanZones: the zones strictly below (View, Name), whose parent may have changed, with At also the zone there.
	ScanZones ScanKind = "zones"
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

// Concerns reports whether a scan of zones includes b. above is the nearest zone above b in the scan, or nil. If above
// encloses b already, b is decided with above (S3.4).
func (s *Scan) Concerns(b, above *ZoneBelow) bool {
	if above != nil {
		return b.Enclosed != above.UID
	}
	return s.Covers(b.Namespace)
}

// RefersFrom reports whether the scan includes the zone at (view, fqdn), which refers to Target from outside the
// subtree (S1.6).
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
