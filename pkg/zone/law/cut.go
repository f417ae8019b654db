// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// CountedCut holds the NS, glue and DS records that a parent zone contains for a delegated child or, with Names, the
// PTR records of an address in a reverse zone.
type CountedCut struct {
	Sets []content.RRset `json:"sets,omitempty"`
	// Names are the first names with the address. More is true if there were others.
	Names []PTRName `json:"names,omitempty"`
	More  bool      `json:"more,omitempty"`
}

func (h *Holding) CutWithDS(cut *CountedCut, ds []string) *CountedCut {
	if !h.DS {
		ds = nil
	}
	return cut.withDS(ds)
}

func (h *Holding) KeepsCut(counted *CountedCut) bool { return h.Held != nil && counted != nil }

func (h *Holding) CountedBy(parent *Zone) bool {
	return h.Parent != nil && h.Parent.UID == parent.UID
}

func (c *CountedCut) withDS(ds []string) *CountedCut {
	if c == nil {
		return nil
	}
	out := &CountedCut{Sets: slices.DeleteFunc(slices.Clone(c.Sets), func(s content.RRset) bool { return s.Type == rdata.DS })}
	if i := slices.IndexFunc(out.Sets, func(s content.RRset) bool { return s.Type == rdata.NS }); i >= 0 && len(ds) > 0 {
		out.Sets = append(out.Sets, content.RRset{Owner: out.Sets[i].Owner, Type: rdata.DS, TTL: out.Sets[i].TTL, Data: slices.Clone(ds)})
		slices.SortFunc(out.Sets, content.RRset.Compare)
	}
	return out
}

// WithName returns c with a name, or without the name if x is nil. A name that stays keeps its time. Beyond MaxPTRNames
// the last name is dropped.
func (c *CountedCut) WithName(zone string, fqdn name.Name, x *PTRName) *CountedCut {
	out := &CountedCut{}
	if c != nil {
		out.Sets, out.More, out.Names = c.Sets, c.More, slices.Clone(c.Names)
	}
	i := slices.IndexFunc(out.Names, func(y PTRName) bool { return y.Zone == zone && y.Name == fqdn })
	since := int64(0)
	if i >= 0 {
		since = out.Names[i].Since
		out.Names = slices.Delete(out.Names, i, i+1)
	}
	if x != nil {
		added := *x
		added.Since = cmp.Or(since, x.Since)
		out.Names = append(out.Names, added)
		slices.SortFunc(out.Names, PTRName.compare)
	}
	if len(out.Names) > MaxPTRNames {
		out.Names, out.More = out.Names[:MaxPTRNames], true
	}
	return out
}

// WithPTR returns c with the PTR of its names at an owner. Other data at the owner, or a DNAME above, hide them.
func (c *CountedCut) WithPTR(rule *Reverse, owner name.Rel, isHidden bool) *CountedCut {
	out := *c
	out.Sets = nil
	if rule == nil || isHidden || len(c.Names) == 0 {
		return &out
	}
	set := content.RRset{Owner: owner, Type: rdata.PTR, TTL: content.InheritTTL()}
	for _, x := range c.Names {
		if set.Data = append(set.Data, x.Name.String()); !rule.All {
			break
		}
	}
	slices.Sort(set.Data)
	set.Data = slices.Compact(set.Data)
	out.Sets = []content.RRset{set}
	return &out
}

func (c *CountedCut) Equal(other *CountedCut) bool {
	if c == nil || other == nil {
		return len(c.names())+len(other.names()) == 0
	}
	return c.More == other.More && slices.Equal(c.Names, other.Names) && slices.EqualFunc(c.Sets, other.Sets, content.RRset.Equal)
}

func (c *CountedCut) names() []PTRName {
	if c == nil {
		return nil
	}
	return c.Names
}

// OrNil returns nil instead of a cut without names.
func (c *CountedCut) OrNil() *CountedCut {
	if len(c.names()) == 0 {
		return nil
	}
	return c
}
