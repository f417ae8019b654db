// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Prerequisite is what a message requires of a name, or of one RRset there (RFC 2136 §2.4).
type Prerequisite struct {
	Name name.Name
	// Type is ANY where the name itself is meant: that it has some RRset, or none.
	Type rdata.Type
	// Exists says whether it is to be there. Values are all that the RRset is to have; nil: any.
	Exists bool
	Values []string
}

// ListPrerequisites returns what a checked message requires, in its order; the values of one RRset are one.
func (m *Message) ListPrerequisites() []Prerequisite {
	var all []Prerequisite
	at := map[setKey]int{}
	for _, rr := range m.Prerequisites {
		p := Prerequisite{Name: rr.Name, Type: rr.Type, Exists: rr.Class != ClassNONE}
		if rr.Class == ClassIN {
			if i, known := at[setKey{rr.Name, rr.Type}]; known {
				if !slices.Contains(all[i].Values, rr.Data) {
					all[i].Values = append(all[i].Values, rr.Data)
				}
				continue
			}
			at[setKey{rr.Name, rr.Type}] = len(all)
			p.Values = []string{rr.Data}
		}
		all = append(all, p)
	}
	return all
}

// Judge returns NoError where a name with these RRsets is as required, else the RCODE of the answer (RFC 2136 §3.2.5).
func (p Prerequisite) Judge(sets []RRset) RCode {
	var there *RRset
	for i := range sets {
		if sets[i].Type == p.Type || p.Type == rdata.ANY {
			there = &sets[i]
		}
	}
	switch {
	case p.Exists && there == nil && p.Type == rdata.ANY:
		return NXDomain
	case !p.Exists && there != nil && p.Type == rdata.ANY:
		return YXDomain
	case p.Exists && there == nil:
		return NXRRset
	case !p.Exists && there != nil:
		return YXRRset
	case p.Values != nil && !sameValues(p.Values, there.Values):
		return NXRRset
	}
	return NoError
}

// sameValues compares two lists as sets, each value once in either.
func sameValues(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}
