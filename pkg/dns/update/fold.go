// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Present contains the RRsets of a namespace at a name before a DNS UPDATE message.
type Present struct {
	// Share contains the RRsets made by earlier updates, the dynamic share of the name. Updates may change no others.
	Share []RRset
	// Records contains the RRsets of other Records. Updates may not change them.
	Records []RRset
	// Derived contains the RRsets of the Zone's spec.nameServers, if the namespace owns the zone.
	Derived []RRset
	// ForeignNS is true if another namespace has NS at the apex. An update may then delete this namespace's last NS.
	ForeignNS bool
}

func (p *Present) HasValue(t rdata.Type, value string) bool {
	return slices.ContainsFunc(slices.Concat(p.Share, p.Records, p.Derived), func(set RRset) bool {
		return set.Type == t && slices.Contains(set.Values, value)
	})
}

// Change is a changed RRset of the dynamic share. It is deleted if it has no values.
type Change struct {
	Name name.Name
	RRset
}

// Fold applies a checked message's updates in order (RFC 2136 §3.4.2), and returns the changed RRsets or the first
// failure. The map existing has the data at UpdatedNames before the message.
func (m *Message) Fold(existing map[name.Name]Present) ([]Change, *Failure) {
	f := folding{names: map[name.Name]*foldedName{}}

	// In order, and one record at a time: a message may delete the A of www and add another.
	for i := range m.Updates {
		rr := &m.Updates[i]
		folded := f.names[rr.Name]
		if folded == nil {
			folded = newFoldedName(existing[rr.Name])
			folded.isApex = rr.Name == m.Zone
			f.names[rr.Name], f.order = folded, append(f.order, rr.Name)
		}
		if failure := folded.foldRecord(rr); failure != nil {
			return nil, failure
		}
	}
	return f.listChanges(), nil
}

type folding struct {
	names map[name.Name]*foldedName
	order []name.Name
}

type foldedName struct {
	before, after map[rdata.Type]RRset
	order         []rdata.Type // of first use
	fixedSets     []fixedRRset
	isApex        bool
	foreignNS     bool
}

type fixedRRset struct {
	RRset
	reason string
}

const (
	hasRecord = "a Record of the namespace has it that no update created; change that Record with kubectl"
	hasZone   = "it is derived from spec.nameServers of the Zone; change the Zone with kubectl"
)

// newFoldedName returns the state of a name before the message. fixedSets are RRsets out of reach for updates, each
// with the reason for the client.
func newFoldedName(p Present) *foldedName {
	n := &foldedName{before: map[rdata.Type]RRset{}, after: map[rdata.Type]RRset{}, foreignNS: p.ForeignNS}
	for _, set := range p.Share {
		n.before[set.Type] = set
		n.setRRset(RRset{set.Type, set.TTL, slices.Clone(set.Values)})
	}
	for _, set := range p.Records {
		n.fixedSets = append(n.fixedSets, fixedRRset{set, hasRecord})
	}
	for _, set := range p.Derived {
		n.fixedSets = append(n.fixedSets, fixedRRset{set, hasZone})
	}
	return n
}

func (n *foldedName) setRRset(set RRset) {
	if !slices.Contains(n.order, set.Type) {
		n.order = append(n.order, set.Type)
	}
	if n.after[set.Type] = set; len(set.Values) == 0 {
		delete(n.after, set.Type)
	}
}

func (n *foldedName) findFixedReason(t rdata.Type, value string) (reason string) {
	for _, set := range n.fixedSets {
		if set.Type == t && (value == "" || slices.Contains(set.Values, value)) {
			return set.reason
		}
	}
	return ""
}

// foldRecord applies a record to a name, or returns a failure. n.after has the dynamic share with all earlier records
// of the message.
func (n *foldedName) foldRecord(rr *RR) *Failure {
	if rr.Type == rdata.SOA {
		return rr.Fail(Refused, "the SOA is derived from the Zone; change its spec")
	}
	switch rr.Class {
	case ClassANY:
		return n.deleteRRset(rr)
	case ClassNONE:
		return n.deleteValue(rr)
	}
	return n.addValue(rr)
}

func (n *foldedName) isApexNS(t rdata.Type) bool { return n.isApex && t == rdata.NS }

// deleteRRset folds nsupdate's "delete www.example.org. A", or "delete www.example.org." for the name's dynamic share.
// The NS of the apex stay (RFC 2136 §3.4.2.3).
func (n *foldedName) deleteRRset(rr *RR) *Failure {
	switch fixed := n.findFixedReason(rr.Type, ""); {
	case rr.Type == rdata.ANY:
		for _, t := range slices.Clone(n.order) {
			if !n.isApexNS(t) {
				n.setRRset(RRset{Type: t})
			}
		}
		return nil
	case n.isApexNS(rr.Type): // RFC 2136 §3.4.2.3 ignores it
		return rr.Fail(Refused, "the NS of a zone are deleted value by value, and one is left")
	// A Record would keep the value, so NOERROR would be wrong.
	case fixed != "":
		return rr.Fail(Refused, "%s", fixed)
	}
	n.setRRset(RRset{Type: rr.Type})
	return nil
}

// deleteValue folds nsupdate's "delete www.example.org. A 192.0.2.1". A missing value is no error (RFC 2136 §3.4.2.4).
func (n *foldedName) deleteValue(rr *RR) *Failure {
	if fixed := n.findFixedReason(rr.Type, rr.Data); fixed != "" {
		return rr.Fail(Refused, "%s", fixed)
	}
	set := n.after[rr.Type]
	left := slices.DeleteFunc(slices.Clone(set.Values), func(v string) bool { return v == rr.Data })
	if len(left) == 0 && len(set.Values) > 0 && n.hasLastNS(rr.Type) {
		return rr.Fail(Refused, "it is the last NS of the zone; add another one before") // ignored by §3.4.2.4
	}
	set.Type, set.Values = rr.Type, left
	n.setRRset(set)
	return nil
}

// hasLastNS reports whether the dynamic share has all NS of the zone, in the RRset of the type.
func (n *foldedName) hasLastNS(t rdata.Type) bool {
	return n.isApexNS(t) && n.findFixedReason(t, "") == "" && !n.foreignNS
}

// addValue folds nsupdate's "add www.example.org. 300 A 192.0.2.1". A new value joins the RRset, whose TTL becomes the
// new record's. A CNAME replaces the former.
func (n *foldedName) addValue(rr *RR) *Failure {
	if n.findFixedReason(rr.Type, rr.Data) != "" {
		return nil // the value exists already
	}
	if n.isBesideCNAME(rr.Type) { // RFC 2136 §3.4.2.2 ignores it
		return rr.Fail(Refused, "a CNAME is alone at its name; delete the other data by an update before this one")
	}
	set := n.after[rr.Type]
	if set.Type, set.TTL = rr.Type, rr.TTL; rr.Type.Single() {
		set.Values = nil
	}
	if !slices.Contains(set.Values, rr.Data) {
		set.Values = append(slices.Clone(set.Values), rr.Data)
	}
	n.setRRset(set)
	return nil
}

// isBesideCNAME reports whether a new RRset of the type would share the name with a CNAME, fixed RRsets included.
func (n *foldedName) isBesideCNAME(t rdata.Type) bool {
	beside := func(other rdata.Type) bool { return other != t && (other == rdata.CNAME || t == rdata.CNAME) }
	for other := range n.after {
		if beside(other) {
			return true
		}
	}
	return slices.ContainsFunc(n.fixedSets, func(set fixedRRset) bool { return beside(set.Type) })
}

// listChanges returns the changed RRsets in the order of their first record. Records can cancel out.
func (f *folding) listChanges() (changes []Change) {
	for _, fqdn := range f.order {
		n := f.names[fqdn]
		for _, t := range n.order {
			before, now := n.before[t], n.after[t]
			// A deleted RRset has no TTL to compare.
			if sameValues(before.Values, now.Values) && (before.TTL == now.TTL || len(now.Values) == 0) {
				continue
			}
			now.Type = t
			changes = append(changes, Change{fqdn, now})
		}
	}
	return changes
}

func sameValues(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}
