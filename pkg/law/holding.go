// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"maps"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Holding is what the store has at (view, fqdn): the zone that has the name, and the little about that zone that
// changes rarely. Every write of the zone compares it, so each decision about the zone knows it.
//
// It is stored as one flat JSON object. The embedded structs say what each field is for.
type Holding struct {
	Ref
	// Target is the zone object that the zone's zoneRef names; nil: none. When that is made anew, the zone is told
	// (sayRenamed).
	Target *Ref `json:"target,omitempty"`
	Ancestry
	ApexNames
	SerialMarks
	Outstanding
	Deliverable
	// Delegations is how many Delegations are in force here (S4.3).
	Delegations int `json:"delegations,omitempty"`
}

// Ancestry says where a zone stands among the zones above it. A write that delegates the zone or makes it standalone
// sets all of it (setParent).
type Ancestry struct {
	// Parent is the enclosing zone that lists the name servers of this one; nil: standalone or not delegated.
	Parent *Ref `json:"parent,omitempty"`
	// Established says that the zone came to its name by the right to establish it, so no zone above ends it (S3.5).
	Established bool `json:"established,omitempty"`
	// Withdrawn is the uid of the zone above whose rules allow this zone no more, while its period runs; "": none
	// (S3.5). That zone is the Parent until then.
	Withdrawn string `json:"withdrawn,omitempty"`
	// Enclosed is the uid of the enclosing zone, whether that delegates this one or not; "": no zone encloses it.
	Enclosed string `json:"enclosed,omitempty"`
	// DS says that a rule of the enclosing zone which delegates this one has that zone contain its DS (S6.16).
	DS bool `json:"ds,omitempty"`
}

// ApexNames are the names in the data of records at the apex: they follow from these records alone (apexNames).
type ApexNames struct {
	// ApexNS are the values of the apex NS records as defined, sorted: they make
	// the cut in the parent, the SOA's mname (S6.5) and Servable.
	ApexNS []string `json:"apexNS,omitempty"`
	// ApexHosts are the hosts that MX, SVCB and HTTPS records of the zone's own namespace
	// at the apex name, as defined, each with the number of values that name it: those
	// and ApexNS are that namespace's (S4.10).
	ApexHosts map[string]int `json:"ownHosts,omitempty"`
}

// SerialMarks say which demands on the serial were met.
type SerialMarks struct {
	// MinimumConsumed is the spec.minimumSerial that was last used (S6.8).
	MinimumConsumed *uint32 `json:"minimumConsumed,omitempty"`
	// Repaired is when (unix seconds) the serial was last raised after a secondary (S6.11), 0 for never.
	Repaired int64 `json:"repaired,omitempty"`
}

// Outstanding is what later transactions have still to do here: each work is an outbox item.
type Outstanding struct {
	// Works are the cascades that stand against this zone: while there are any the zone is unsettled (S7.2).
	Works []StandingWork `json:"works,omitempty"`
}

// Deliverable says whether and since when the zone's content may be delivered (Settled).
type Deliverable struct {
	// Unsettled is since when some cascade has stood without a break: one after
	// the other must not hold the zone back longer than one alone (S7.2).
	Unsettled int64 `json:"unsettled,omitempty"`
	// Waived says until when (unix seconds) the cascades of other namespaces do not
	// unsettle this zone, because one of them took too long (S7.2).
	Waived int64 `json:"waived,omitempty"`
	// Overdue says that the standing works took too long: the zone is delivered as it is until they are through.
	Overdue bool `json:"overdue,omitempty"`
	// Held is set while the zone is not delivered because its own namespace removed too much of it; else nil (S7.5).
	Held *Held `json:"held,omitempty"`
}

// StandingWork marks a cascade at a zone it touches.
type StandingWork struct {
	ID string `json:"id"`
	// Losing is the uid of the zone that records come from; "": they come from none.
	Losing string `json:"losing,omitempty"`
	// Locks is the name at which they stand, and below which, until all have come (S2.10); zero: none is left.
	Locks name.Name `json:"locks,omitzero"`
	Since int64     `json:"since"`
	// By is the namespace that caused the cascade.
	By string `json:"by,omitempty"`
	// Own says that the zone's own namespace caused the cascade.
	Own bool `json:"own,omitempty"`
	// Replaces says that Records wait at Locks which come first there (S2.14). The cascade tries them.
	Replaces bool `json:"replaces,omitempty"`
	// TakesIn says that Delegations waited for the zone when it was made, and that the cascade has yet to take them in
	// (S4.22).
	TakesIn bool `json:"takesIn,omitempty"`
}

// TakesIn reports whether Delegations that waited for the zone are yet to be taken in.
func (h *Holding) TakesIn() bool {
	return slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.TakesIn })
}

// Settled reports whether what the zone contains may be delivered.
func (h *Holding) Settled() bool { return h.Held == nil && (len(h.Works) == 0 || h.Overdue) }

// ZoneBelow is one zone of ZonesBelow.
type ZoneBelow struct {
	FQDN name.Name
	Holding
}

// ZonesBelow lists the zones at or below a name, in key order.
type ZonesBelow struct{ Zones []ZoneBelow }

// Names that move from one zone to another are locked from the write that moves them until the last Record that stood
// there has come (S2.10). So nothing has to be decided as if they had come already.

// HasLocked reports whether names at n or below it move here, or names above it.
func (h *Holding) HasLocked(n name.Name) bool { return h.HasLockedAt(n) || h.HasLockedBelow(n) }

// HasLockedAt reports whether names move here that n is one of.
func (h *Holding) HasLockedAt(n name.Name) bool {
	return slices.ContainsFunc(h.Works, func(w StandingWork) bool { return !w.Locks.IsZero() && w.Locks.Encloses(n) })
}

// HasLockedBelow reports whether names below n move here.
func (h *Holding) HasLockedBelow(n name.Name) bool {
	return slices.ContainsFunc(h.Works, func(w StandingWork) bool { return !w.Locks.IsZero() && w.Locks != n && n.Encloses(w.Locks) })
}

// Gains reports whether a standing cascade may bring records to a name here: one of the zone's own namespace, whose
// rules may have come back (S7.5 counts that as its act), or one that moves names at it, above it or below it (S2.10).
func (h *Holding) Gains(n name.Name) bool {
	return h.HasLocked(n) || slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.Own })
}

// WithReplacement is the holding with a lock of a name that a namespace has left, until a cascade has tried the Records
// that come first there (S2.14).
func (h *Holding) WithReplacement(id, by string, locks name.Name, now int64) *Holding {
	out := h.WithMove(id, h.Namespace, by, "", locks, now)
	if out != h {
		out.Works[len(out.Works)-1].Replaces = true
	}
	return out
}

// CountReplacements counts the names that a namespace has left and that are locked for what comes first there.
func (h *Holding) CountReplacements(by string) (n int) {
	for _, w := range h.Works {
		if w.By == by && w.Replaces {
			n++
		}
	}
	return n
}

// WithoutReplacement is the holding as the cascade of a lock by WithReplacement sees it: without that lock.
func (h *Holding) WithoutReplacement(id string) *Holding {
	if !slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.Replaces && w.ID == id }) {
		return h
	}
	return h.WithoutWork(id)
}

// WithWork is the holding with the mark of a cascade (S7.2); the same holding
// when id is empty or marked already. by is the namespace that caused it.
func (h *Holding) WithWork(id, zoneNamespace, by string, now int64) *Holding {
	return h.WithMove(id, zoneNamespace, by, "", name.Name{}, now)
}

// WithMove is WithWork for a cascade that brings records from the zone losing. They stood at locks and below it; zero:
// there are none.
func (h *Holding) WithMove(id, zoneNamespace, by, losing string, locks name.Name, now int64) *Holding {
	if id == "" || slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.ID == id }) {
		return h
	}
	out := *h
	own := by == zoneNamespace
	switch first := !slices.ContainsFunc(h.Works, func(w StandingWork) bool { return w.Own }); {
	case own && first:
		out.Unsettled, out.Overdue = now, false
	case len(h.Works) == 0:
		out.Unsettled, out.Overdue = now, h.IsWaived(now)
	}
	out.Works = append(slices.Clone(h.Works), StandingWork{ID: id, Losing: losing, Locks: locks, Since: now, By: by, Own: own})
	return &out
}

// maxRemovals bounds the cascades of one namespace's removed zones that stand against the
// zone that gains their names: each is a mark in its holding, which each removal and each
// end of a cascade writes anew.
const MaxRemovals = 16

// maxEnds bounds these cascades together with those of its zones that end. It is higher than maxRemovals, so that a
// namespace, which can always remove more zones, cannot keep its zones from ending (S3.5).
const MaxEnds = 2 * MaxRemovals

// CountGained counts the marks of cascades that a namespace caused and that bring records from a zone which lost them.
// Those of zones that were made bring none here.
func (h *Holding) CountGained(by string) (n int) {
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

// A zone waits so many seconds for its cascades, of other namespaces or of its own, before it is delivered as it is.
// For the waiver after that other namespaces do not unsettle it again (S7.2).
const (
	timeoutForeign = 60
	timeoutOwn     = 600
	Waiver         = 3600
)

// IsWaived reports whether the cascades of other namespaces do not unsettle the zone at now. A mark that is further
// ahead than a new one is of a clock that was ahead, and does not count: a wrong clock must not have effects that
// outlast it.
func (h *Holding) IsWaived(now int64) bool { return now < h.Waived && h.Waived <= now+Waiver }

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
	case h.IsWaived(now):
		timeout = 0
	}
	since := now - h.Unsettled
	return since >= timeout || -since > timeout // the latter by a clock that was ahead
}

// Held says why and since when a zone is not delivered: its own namespace removed too much (S7.5).
type Held struct {
	// Serial is what is delivered meanwhile.
	Serial serial.Serial `json:"serial"`
	Since  int64         `json:"since"`
	// Had is what stood throughout the period against which is counted.
	Had Stock `json:"had"`
	// NameServers says that the zone's own namespace took the last NS at the apex, and has not put any back.
	NameServers bool `json:"nameServers,omitempty"`
}

// HostsNamedByApex returns the hosts below the apex that NS records of the apex name, and those that its MX, SVCB and
// HTTPS records of the zone's own namespace name: they answer for the zone, get its mail, or serve at its name
// (S4.10). An MX of another namespace takes no name from a third one. Its NS, which a rule must name (S4.5), has the
// whole zone.
func (h *Holding) HostsNamedByApex(z *Zone) []name.Rel {
	if len(h.ApexHosts)+len(h.ApexNS) == 0 {
		return nil
	}
	var out []name.Rel
	for _, text := range append(slices.Sorted(maps.Keys(h.ApexHosts)), h.ApexNS...) {
		if n, err := name.ParseIn(text, z.FQDN()); err == nil {
			if rel, ok := n.Rel(z.FQDN()); ok && !rel.IsApex() && !slices.Contains(out, rel) {
				out = append(out, rel)
			}
		}
	}
	return out
}

// CountHosts adds n, 1 or -1, to the count of each host that a record of the zone's own
// namespace names at the apex by another type than NS (S4.10).
func (h *Holding) CountHosts(c *Contribution, n int) {
	if c.Type != rdata.MX && c.Type != rdata.SVCB && c.Type != rdata.HTTPS {
		return
	}
	hosts := map[string]int{}
	maps.Copy(hosts, h.ApexHosts)
	for _, v := range c.Values {
		if hosts[v.Host()] += n; hosts[v.Host()] <= 0 {
			delete(hosts, v.Host())
		}
	}
	h.ApexHosts = hosts
}
