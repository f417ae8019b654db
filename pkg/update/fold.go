// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Present is the data at a name that the namespace of the key answers for.
type Present struct {
	// Share are the RRsets that updates made: one for each type.
	Share []RRset
	// Records are the RRsets of the other Records of the namespace, one for each Record.
	Records []RRset
	// Made are the RRsets of spec.nameServers of the Zone; nil in a zone of another namespace.
	Made []RRset
	// ForeignNS reports that another namespace has NS at the name, which is the apex.
	ForeignNS bool
}

// Has reports whether the namespace has a value.
func (p *Present) Has(t rdata.Type, value string) bool {
	return slices.ContainsFunc(slices.Concat(p.Share, p.Records, p.Made), func(set RRset) bool {
		return set.Type == t && slices.Contains(set.Values, value)
	})
}

// Change is an RRset of the dynamic share as it is to be. Without values it is to go.
type Change struct {
	Name name.Name
	RRset
}

// Fold carries the updates of a checked message out in their order (RFC 2136 §3.4.2) and returns the RRsets of the
// dynamic share that differ afterwards, in the order in which the message names them. present has the data of all names
// of the message (UpdatedNames). The message changes nothing where it fails.
func (m *Message) Fold(present map[name.Name]Present) ([]Change, *Failure) {
	f := folding{zone: m.Zone, names: map[name.Name]*foldedName{}}
	for i := range m.Updates {
		rr := &m.Updates[i]
		n := f.names[rr.Name]
		if n == nil {
			n = newFoldedName(present[rr.Name])
			f.names[rr.Name], f.order = n, append(f.order, rr.Name)
		}
		if failure := f.foldRecord(n, rr); failure != nil {
			return nil, failure
		}
	}
	return f.listChanges(), nil
}

// folding is the contents of the names of a message as its updates so far leave them.
type folding struct {
	zone  name.Name
	names map[name.Name]*foldedName
	order []name.Name
}

// foldedName is the data at one name. before and now are the dynamic share before the message and after the updates so
// far, by type; order has the types as they came. fixed is the data that updates do not change.
type foldedName struct {
	before, now map[rdata.Type]RRset
	order       []rdata.Type
	fixed       []fixedRRset
	foreignNS   bool
}

// fixedRRset is an RRset that updates do not change, with the reason, which names the next step.
type fixedRRset struct {
	RRset
	reason string
}

const (
	hasRecord = "a Record of the namespace that no update made has it; change that Record with kubectl"
	hasZone   = "spec.nameServers of the Zone makes it; change the Zone with kubectl"
)

func newFoldedName(p Present) *foldedName {
	n := &foldedName{before: map[rdata.Type]RRset{}, now: map[rdata.Type]RRset{}, foreignNS: p.ForeignNS}
	for _, set := range p.Share {
		n.before[set.Type] = set
		n.put(RRset{set.Type, set.TTL, slices.Clone(set.Values)})
	}
	for _, set := range p.Records {
		n.fixed = append(n.fixed, fixedRRset{set, hasRecord})
	}
	for _, set := range p.Made {
		n.fixed = append(n.fixed, fixedRRset{set, hasZone})
	}
	return n
}

// put has an RRset stand at the name, or go where it has no values.
func (n *foldedName) put(set RRset) {
	if !slices.Contains(n.order, set.Type) {
		n.order = append(n.order, set.Type)
	}
	if n.now[set.Type] = set; len(set.Values) == 0 {
		delete(n.now, set.Type)
	}
}

// findFixed returns why updates may not change a value of a type, or any value of it if value is ""; "": they may.
func (n *foldedName) findFixed(t rdata.Type, value string) (reason string) {
	for _, set := range n.fixed {
		if set.Type == t && (value == "" || slices.Contains(set.Values, value)) {
			return set.reason
		}
	}
	return ""
}

func (f *folding) foldRecord(n *foldedName, rr *RR) *Failure {
	apexNS := rr.Name == f.zone && rr.Type == rdata.NS
	if rr.Type == rdata.SOA {
		return rr.Fail(Refused, "the SOA is made of the Zone; change its spec")
	}
	fixed := n.findFixed(rr.Type, rr.Data)
	switch {
	case rr.Class == ClassANY && rr.Type == rdata.ANY:
		for _, t := range slices.Clone(n.order) {
			if rr.Name != f.zone || t != rdata.NS { // RFC 2136 §3.4.2.3
				n.put(RRset{Type: t})
			}
		}
	case rr.Class == ClassANY && apexNS: // RFC 2136 §3.4.2.3 has it ignored
		return rr.Fail(Refused, "the NS of a zone are deleted value by value, and one is left")
	case rr.Class != ClassIN && fixed != "":
		return rr.Fail(Refused, "%s", fixed)
	case rr.Class == ClassANY:
		n.put(RRset{Type: rr.Type})
	case rr.Class == ClassNONE:
		set := n.now[rr.Type]
		left := slices.DeleteFunc(slices.Clone(set.Values), func(v string) bool { return v == rr.Data })
		if apexNS && len(left) == 0 && len(set.Values) > 0 && n.findFixed(rr.Type, "") == "" && !n.foreignNS {
			return rr.Fail(Refused, "it is the last NS of the zone; add another one before") // §3.4.2.4 has it ignored
		}
		set.Type, set.Values = rr.Type, left
		n.put(set)
	case fixed != "": // the name has the value already
	case n.isBesideCNAME(rr.Type): // RFC 2136 §3.4.2.2 has it ignored
		return rr.Fail(Refused, "a CNAME stands alone at its name; delete what is there by an update before this one")
	default:
		set := n.now[rr.Type]
		if set.Type, set.TTL = rr.Type, rr.TTL; rr.Type.Single() {
			set.Values = nil // one takes the place of the other
		}
		if !slices.Contains(set.Values, rr.Data) {
			set.Values = append(slices.Clone(set.Values), rr.Data)
		}
		n.put(set)
	}
	return nil
}

// isBesideCNAME reports whether a record of the type would stand beside a CNAME, or is one beside other data.
func (n *foldedName) isBesideCNAME(t rdata.Type) bool {
	beside := func(other rdata.Type) bool { return other != t && (other == rdata.CNAME || t == rdata.CNAME) }
	for other := range n.now {
		if beside(other) {
			return true
		}
	}
	return slices.ContainsFunc(n.fixed, func(set fixedRRset) bool { return beside(set.Type) })
}

func (f *folding) listChanges() (changes []Change) {
	for _, fqdn := range f.order {
		n := f.names[fqdn]
		for _, t := range n.order {
			before, now := n.before[t], n.now[t]
			if sameValues(before.Values, now.Values) && (before.TTL == now.TTL || len(now.Values) == 0) {
				continue
			}
			now.Type = t
			changes = append(changes, Change{fqdn, now})
		}
	}
	return changes
}
