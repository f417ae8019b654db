// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Present is what stands at a name, of the namespace of the key alone.
type Present struct {
	// Share is what updates made, Others what else there is.
	Share, Others []RRset
}

// Change is an RRset of the dynamic share as it is to be. Without values it is to go.
type Change struct {
	Name name.Name
	RRset
}

// Fold carries the updates of a checked message out in their order (RFC 2136 §3.4.2) and returns the RRsets of the
// dynamic share that differ afterwards, in the order in which the message names them. present is asked once a name. The
// message changes nothing where it fails.
func (m *Message) Fold(present func(name.Name) (Present, error)) ([]Change, *Failure, error) {
	f := folding{zone: m.Zone, names: map[name.Name]*foldedName{}}
	for i := range m.Updates {
		rr := &m.Updates[i]
		n := f.names[rr.Name]
		if n == nil {
			p, err := present(rr.Name)
			if err != nil {
				return nil, nil, err
			}
			n = newFoldedName(p)
			f.names[rr.Name], f.order = n, append(f.order, rr.Name)
		}
		if failure := f.foldRecord(n, rr); failure != nil {
			return nil, failure, nil
		}
	}
	return f.listChanges(), nil, nil
}

// folding is the contents of the names of a message as its updates so far leave them.
type folding struct {
	zone  name.Name
	names map[name.Name]*foldedName
	order []name.Name
}

// foldedName is the dynamic share at one name before the message, and now, by type. order has the types as they came.
type foldedName struct {
	before, now, others map[rdata.Type]RRset
	order               []rdata.Type
}

func newFoldedName(p Present) *foldedName {
	n := &foldedName{before: map[rdata.Type]RRset{}, now: map[rdata.Type]RRset{}, others: map[rdata.Type]RRset{}}
	for _, set := range p.Share {
		n.before[set.Type] = set
		n.put(RRset{set.Type, set.TTL, slices.Clone(set.Values)})
	}
	for _, set := range p.Others {
		n.others[set.Type] = set
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

func (f *folding) foldRecord(n *foldedName, rr *RR) *Failure {
	apex := rr.Name == f.zone
	if rr.Type == rdata.SOA {
		return rr.Fail(Refused, "the SOA is made of the Zone; change its spec")
	}
	others, stands := n.others[rr.Type]
	switch {
	case rr.Class == ClassANY && rr.Type == rdata.ANY:
		for _, t := range slices.Clone(n.order) {
			if !apex || t != rdata.NS { // RFC 2136 §3.4.2.3
				n.put(RRset{Type: t})
			}
		}
	case rr.Class == ClassANY && stands:
		return rr.Fail(Refused, "a Record of the namespace that no update made has such values; delete it with kubectl")
	case rr.Class == ClassANY:
		n.put(RRset{Type: rr.Type})
	case rr.Class == ClassNONE && slices.Contains(others.Values, rr.Data):
		return rr.Fail(Refused, "a Record of the namespace that no update made has the value; change it with kubectl")
	case rr.Class == ClassNONE:
		set := n.now[rr.Type]
		set.Type, set.Values = rr.Type, slices.DeleteFunc(slices.Clone(set.Values), func(v string) bool { return v == rr.Data })
		n.put(set)
	case slices.Contains(others.Values, rr.Data): // it stands
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
	for _, sets := range []map[rdata.Type]RRset{n.now, n.others} {
		for other := range sets {
			if other != t && (other == rdata.CNAME || t == rdata.CNAME) {
				return true
			}
		}
	}
	return false
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
