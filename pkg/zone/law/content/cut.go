// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// MaxGlue limits the addresses of a delegation in its parent and of spec.nameServers, because one transaction of 128
// operations replaces them all.
const MaxGlue = 48

// Cut returns the RRsets that the zone parent lists for a delegated child, in the order of RRset.Compare:
//
//   - the child's NS records, except for hosts at or below the cut without an address
//   - the addresses of hosts at or below the cut, at most MaxGlue, with an equal part for each RRset
//
// The result is nil if the child has no NS records. The function childSets looks up an RRset of the child, without
// spec.nameServers. In the result, owners are relative to parent, data is absolute, and TTLs are explicit.
func Cut(parent name.Name, child Header, childSets func(owner name.Rel, t rdata.Type) (RRset, bool)) []RRset {
	cutOwner, ok := child.FQDN.Rel(parent)
	if !ok || cutOwner.IsApex() {
		return nil
	}
	made := child.NameServerRRsets()
	// spec.nameServers adds to the child's Records.
	lookup := func(owner name.Rel, t rdata.Type) (RRset, bool) {
		set, ok := childSets(owner, t)
		for _, other := range made {
			if other.Owner == owner && other.Type == t {
				if ok {
					return set.Merge(other), true
				}
				return other, true
			}
		}
		return set, ok
	}

	servers, ok := lookup(name.Apex, rdata.NS)
	if !ok {
		return nil
	}

	// List the hosts outside the child, and those below with their addresses as glue.
	seen := map[name.Name]bool{}
	var glue []RRset
	reached := RRset{Type: rdata.NS, TTL: servers.TTL}
	for _, data := range servers.Data {
		host, ok := rdata.Value{Type: rdata.NS, Text: data}.Target(child.FQDN)
		if !ok || seen[host] {
			continue
		}
		seen[host] = true
		inChild, below := host.Rel(child.FQDN)
		inParent, _ := host.Rel(parent) // parent encloses the child
		before := len(glue)
		for _, t := range []rdata.Type{rdata.A, rdata.AAAA} {
			if set, ok := lookup(inChild, t); below && ok && len(glue) < MaxGlue {
				glue = appendAbsolute(glue, inParent, child, set)
			}
		}

		if !below || len(glue) > before { // else no resolver reaches the host
			reached.Data = append(reached.Data, data)
		}
	}

	// Each RRset of glue has an equal part of MaxGlue, so no host is left without an address.
	cut := appendAbsolute(nil, cutOwner, child, reached)
	for _, set := range glue {
		if most := MaxGlue / len(glue); len(set.Data) > most {
			set.Data = set.Data[:most]
		}
		cut = append(cut, set)
	}

	slices.SortFunc(cut, RRset.Compare)
	return cut
}

// appendAbsolute appends set with absolute data and an explicit TTL. Values of excessive length are left out, and so is
// an RRset without values.
func appendAbsolute(cut []RRset, owner name.Rel, child Header, set RRset) []RRset {
	absolute := RRset{Owner: owner, Type: set.Type, TTL: ExplicitTTL(set.TTL.Resolve(child.TTL))}
	for _, data := range set.Data {
		if text, err := (rdata.Value{Type: set.Type, Text: data}).Resolve(child.FQDN); err == nil {
			absolute.Data = append(absolute.Data, text)
		}
	}
	if len(absolute.Data) == 0 {
		return cut
	}
	slices.Sort(absolute.Data)
	absolute.Data = slices.Compact(absolute.Data)
	return append(cut, absolute)
}
