// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
)

// WithWork is the holding with the mark of a cascade (S7.2); the same holding
// when id is empty or marked already. by is the namespace that caused it.
func (h *Holding) WithWork(id, zoneNamespace, by string, now int64) *Holding {
	return h.withMove(id, zoneNamespace, by, "", name.Name{}, now)
}

// withMove is WithWork for a cascade that brings records from the zone losing. They stood at locks and below it; zero:
// there are none.
func (h *Holding) withMove(id, zoneNamespace, by, losing string, locks name.Name, now int64) *Holding {
	if id == "" || slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.ID == id }) {
		return h
	}
	out := *h
	own := by == zoneNamespace
	switch first := !slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.Own }); {
	case own && first:
		out.Unsettled, out.Overdue = now, false
	case len(h.Works) == 0:
		out.Unsettled, out.Overdue = now, h.isWaived(now)
	}
	out.Works = append(slices.Clone(h.Works), StandingWork{ID: id, Losing: losing, Locks: locks, Since: now, By: by, Own: own})
	return &out
}

// maxRemovals bounds the cascades of one namespace's removed zones that stand against the
// zone that gains their names: each is a mark in its holding, which each removal and each
// end of a cascade writes anew.
const maxRemovals = 16

// maxEnds bounds these cascades together with those of its zones that end. It is higher than maxRemovals, so that a
// namespace, which can always remove more zones, cannot keep its zones from ending (S3.5).
const maxEnds = 2 * maxRemovals

// countGained counts the marks of cascades that a namespace caused and that bring records from a zone which lost them.
// Those of zones that were made bring none here.
func (h *Holding) countGained(by string) (n int) {
	for _, w := range h.Works {
		if w.By == by && w.Losing != "" {
			n++
		}
	}
	return n
}

// WithoutWork is the holding after the cascade is through.
func (h *Holding) WithoutWork(id string) *Holding {
	out := *h
	out.Works = slices.DeleteFunc(slices.Clone(h.Works), func(w StandingWork) bool { return w.ID == id })
	if len(out.Works) == 0 {
		out.Works = nil
	}
	return &out
}
