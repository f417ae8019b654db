// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// CountedCut holds the NS, glue and DS records that a parent zone contains for a delegated child.
type CountedCut struct {
	Sets []content.RRset `json:"sets"`
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
