// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Names that move from one zone to another are locked from the write that moves them until the last Record that stood
// there has come (S2.10). So nothing has to be decided as if they had come already.

// hasLocked reports whether names at n or below it move here, or names above it.
func (h *Holding) hasLocked(n name.Name) bool { return h.hasLockedAt(n) || h.hasLockedBelow(n) }

// hasLockedAt reports whether names move here that n is one of.
func (h *Holding) hasLockedAt(n name.Name) bool {
	return slices.ContainsFunc(h.Works, func(w StandingWork) bool { return !w.Locks.IsZero() && w.Locks.Encloses(n) })
}

// hasLockedBelow reports whether names below n move here.
func (h *Holding) hasLockedBelow(n name.Name) bool {
	return slices.ContainsFunc(h.Works, func(w StandingWork) bool { return !w.Locks.IsZero() && w.Locks != n && n.Encloses(w.Locks) })
}

// Gains reports whether a standing cascade may bring records to a name here: one of the zone's own namespace, whose
// rules may have come back (S7.5 counts that as its act), or one that moves names at it, above it or below it (S2.10).
func (h *Holding) Gains(n name.Name) bool {
	return h.hasLocked(n) || slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.Own })
}

// refuseLocked refuses a change at a name that moves here, or above such a name, for now. The zone's own namespace
// changes what is above, but for a DNAME: only that would keep names below from coming. What the zone's rules do not
// allow is refused for that. A cascade brings what stood, here or where it comes from; what waits goes on waiting.
func (x *delta) refuseLocked() *Refusal {
	z, p := x.zone, x.place
	if x.ask.Cascade && (x.ask.Stood || !x.isNew()) {
		return nil
	}
	base, err := Base(x.come.Owner).In(z.FQDN())
	above := err == nil && (x.ask.Namespace != z.Namespace || x.come.Type == rdata.DNAME) && x.holding.hasLockedBelow(base)
	if !above && !x.holding.hasLockedAt(p.fqdn) || len(z.RuleSet().findGrants(p.fqdn, x.come.Type, x.ask.Namespace)) == 0 {
		return nil
	}
	return refuseMoving(p.fqdn, z.FQDN())
}

// refuseLocked refuses a zone at, above or below names that move to the zone that encloses it. One made anew at the
// very name joins the move (joinMove), where it is of that zone's own namespace or of the one that had the name: in a
// zone of another one its rules would decide what becomes of others' Records (S4.15).
func (s *zonePlace) refuseLocked(namespace string, last *LastSerial) *Refusal {
	if s.parent == nil || !s.parentHolding.hasLocked(s.fqdn) {
		return nil
	}
	joins := namespace == s.parent.Namespace || last != nil && last.By == namespace
	if joins && !s.parentHolding.hasLockedBelow(s.fqdn) && !slices.ContainsFunc(s.parentHolding.Works, func(w StandingWork) bool {
		return !w.Locks.IsZero() && w.Locks != s.fqdn && w.Locks.Encloses(s.fqdn)
	}) {
		return nil
	}
	return refuseMoving(s.fqdn, s.parent.FQDN())
}

// refuseMoving is for now. Where a cascade is refused so, the object waits as any: the reason Moving is of what stood.
func refuseMoving(n, zone name.Name) *Refusal {
	return &Refusal{Kind: Later, Reason: ReasonNameHeld, Message: fmt.Sprintf("names at, above or below %s are moving to zone %s "+
		"(S2.10; try again when that is done)", n, zone)}
}

// DecideUnlocked ends the lock of a cascade in one zone that it touches: all that stood has come (S2.11). Plan.Zone is
// nil where there is none.
func DecideUnlocked(seen *Seen, place Place, id string) Outcome {
	return decide(seen, func(r *reading) (*Plan, *Refusal) {
		plan := &Plan{}
		z, h := r.standingAt(place)
		if z == nil || !slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.ID == id && !w.Locks.IsZero() }) {
			return plan, nil
		}
		after := *h
		after.Works = slices.Clone(h.Works)
		for i := range after.Works {
			if after.Works[i].ID == id {
				after.Works[i].Locks = name.Name{}
			}
		}
		plan.Zone = &ZoneChange{Zone: z, Holding: &after}
		plan.Writes = []Write{{Key: HoldingKey(z.View, z.FQDN()), Value: &after}}
		return plan, nil
	})
}
