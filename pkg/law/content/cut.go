// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// MaxGlue is how many addresses a delegation has at most in its parent (S6.1), and the nameServers of one zone
// (S6.2). One transaction of the parent, of 128 operations by default, replaces all of them, each at a name of its own.
const MaxGlue = 48

// Cut is what the zone named parent counts for a delegated child (S6.1): the
// child's apex NS (those of its nameServers and its NS Records at "@") and the
// addresses of those NS at or below the cut. An NS there without an address is
// left out: no resolver could use it, and it would stand in the parent all the
// same. childSets looks up the RRsets of the child's definition, without what its
// nameServers make.
//
// Owners are relative to parent, Data is absolute and TTLs are explicit, so
// that the parent needs nothing of the child to resolve them and a change of
// the child's ttl or fqdn shows. Where there are more than MaxGlue addresses,
// each host and type has its share of them, the first in order. The order is that of RRset.Compare; two cuts
// are equal exactly when the slices are (RRset.Equal). A child without apex NS,
// or with none that is left, cuts nothing: nil.
func Cut(parent name.Name, child Header, childSets func(owner name.Rel, t rdata.Type) (RRset, bool)) []RRset {
	cutOwner, ok := child.FQDN.Rel(parent)
	if !ok || cutOwner.IsApex() {
		return nil
	}
	made := child.NameServerRRsets()
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
		inParent, _ := host.Rel(parent) // which encloses the child
		before := len(glue)
		for _, t := range []rdata.Type{rdata.A, rdata.AAAA} {
			if set, ok := lookup(inChild, t); below && ok && len(glue) < MaxGlue {
				glue = appendAbsolute(glue, inParent, child, set)
			}
		}
		if !below || len(glue) > before {
			reached.Data = append(reached.Data, data)
		}
	}
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

// appendAbsolute appends set as the parent counts it, or nothing where none of
// its values resolves.
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
