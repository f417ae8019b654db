// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"
)

// DecideThrough takes the mark of a finished cascade from one zone it touched
// (S7.2). Plan.Zone is nil when the zone is gone or not marked.
func DecideThrough(seen *Seen, place Place, id string) Outcome {
	return decide(seen, func(r *reading) (*Plan, *Refusal) {
		plan := &Plan{}
		z, h := r.standingAt(place)
		if z == nil || !slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.ID == id }) {
			return plan, nil
		}
		after := h.WithoutWork(id)
		plan.Zone = &ZoneChange{Zone: z, Holding: after}
		plan.Writes = []Write{{Key: HoldingKey(z.View, z.FQDN()), Value: after}}
		return plan, nil
	})
}

// A zone waits so many seconds for its cascades, of other namespaces or of its own, before it is delivered as it is.
// For the waiver after that other namespaces do not unsettle it again (S7.2).
const (
	timeoutForeign = 60
	timeoutOwn     = 600
	waiver         = 3600
)

// isWaived reports whether the cascades of other namespaces do not unsettle the zone at now. A mark that is further
// ahead than a new one is of a clock that was ahead, and does not count: a wrong clock must not have effects that
// outlast it.
func (h *Holding) isWaived(now int64) bool { return now < h.Waived && h.Waived <= now+waiver }

// OverdueAt reports whether the cascades that stand against a zone have taken so
// long that it is delivered as it is.
func (h *Holding) OverdueAt(now int64) bool {
	if h.Overdue || len(h.Works) == 0 {
		return false
	}
	timeout := int64(timeoutForeign)
	switch {
	case slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.Own }):
		timeout = timeoutOwn
	case h.isWaived(now):
		timeout = 0
	}
	since := now - h.Unsettled
	return since >= timeout || -since > timeout // the latter by a clock that was ahead
}

// DecideOverdue lets a zone be delivered although cascades stand against it.
func DecideOverdue(seen *Seen, place Place, now int64) Outcome {
	return decide(seen, func(r *reading) (*Plan, *Refusal) {
		plan := &Plan{}
		z, h := r.standingAt(place)
		if z == nil || !h.OverdueAt(now) {
			return plan, nil
		}
		after := *h
		after.Overdue = true
		if !h.isWaived(now) {
			after.Waived = now + waiver
		}
		plan.Zone = &ZoneChange{Zone: z, Holding: &after}
		plan.Writes = []Write{{Key: HoldingKey(z.View, z.FQDN()), Value: &after}}
		return plan, nil
	})
}
