// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law/content"
)

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
	// TakesIn says that Delegations waited for the zone which the work is of when that was made (StandingWork.TakesIn).
	TakesIn bool `json:"takesIn,omitempty"`
	// By is the namespace that caused the work.
	By    string `json:"by,omitempty"`
	Since int64  `json:"since"`
	// Runner is the server that carries the work out, as it says where that takes longer.
	Runner string `json:"runner,omitempty"`
	// Cursor is how far it has come then, nil: it begins. Another server goes on behind it.
	Cursor *Cursor `json:"cursor,omitempty"`
}

// Cursor is the place of the last candidate that is decided in the order of all candidates of a work.
type Cursor struct {
	// Times is that of the item for which it holds: what was extended since is gone through from the beginning.
	Times int `json:"times,omitempty"`
	// Moved says that what moves from one zone to another has moved. The place is one among the rest then.
	Moved   bool   `json:"moved,omitempty"`
	Rank    int    `json:"rank,omitempty"`
	Created int64  `json:"created,omitempty"`
	UID     string `json:"uid,omitempty"`
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
	// ScanZones goes through the zones strictly below (View, Name), or at it with At, which may have another parent
	// now.
	ScanZones ScanKind = "zones"
)

// Scan is one range of things to decide anew.
type Scan struct {
	Kind  ScanKind  `json:"kind"`
	Zone  string    `json:"zone,omitempty"`
	Owner name.Rel  `json:"owner,omitzero"`
	View  string    `json:"view,omitempty"`
	Name  name.Name `json:"name,omitzero"`
	Exact bool      `json:"exact,omitempty"`
	// At has a scan of zones go through the one at Name, too.
	At     bool `json:"at,omitempty"`
	Target *Ref `json:"target,omitempty"`
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

// For reports whether a scan of namespaces looks for what waits so.
func (w *Waiting) For(s *Scan) bool {
	return w.Zone != nil && s.Target != nil && w.Zone.Namespace == s.Target.Namespace && w.Zone.Name == s.Target.Name ||
		!w.FQDN.IsZero() && w.View == s.View && s.Name.Encloses(w.FQDN)
}

// Release has the work release what the rules of z allow some namespaces no more.
func (w *Work) Release(z *Zone, namespaces []string) {
	w.Releasing = z.UID
	w.Releases = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(w.Releases), namespaces...))))
	w.Scans = append(w.Scans,
		Scan{Kind: ScanNamespaces, Zone: z.UID, View: z.View, Name: z.FQDN(), Target: &Ref{Namespace: z.Namespace, Name: z.Name},
			Namespaces: namespaces},
		Scan{Kind: ScanZones, View: z.View, Name: z.FQDN(), Namespaces: namespaces})
}

// RulesChanged reports whether the work decides anew what stands in a zone whose rules changed.
func (w *Work) RulesChanged() bool {
	return w.Purge == "" && slices.ContainsFunc(w.Scans, func(s Scan) bool { return s.Kind == ScanMembers || s.Kind == ScanNamespaces })
}
