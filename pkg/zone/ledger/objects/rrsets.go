// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

func MakeRRset(owner name.Rel, r *law.Record) content.RRset {
	s := content.RRset{Owner: owner, Type: r.Type, TTL: content.InheritTTL()}
	if r.TTL != nil {
		s.TTL = content.ExplicitTTL(*r.TTL)
	}
	for _, v := range r.Values {
		s.Data = append(s.Data, v.Text)
	}
	slices.Sort(s.Data)
	return s
}

// AddSet merges an RRset into the RRset of its type, or appends it.
func AddSet(sets []content.RRset, s content.RRset) []content.RRset {
	for i := range sets {
		if sets[i].Type == s.Type {
			sets[i] = sets[i].Merge(s)
			return sets
		}
	}
	return append(sets, s)
}
