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

// Holding is the value stored under a zone's name (view, fqdn): the zone's identity, and the state that writes of other
// zones need or change. Every write of the zone compares its revision.
type Holding struct {
	Ref
	// Target is the zone of zoneRef, or nil. If removed or created, this zone is decided again (Scan.RefersFrom).
	Target *Ref `json:"target,omitempty"`
	Ancestry
	ApexNames
	SerialMarks
	Outstanding
	Deliverable
	// Delegations counts the Delegations in force. At 0 no decision reads their keys.
	Delegations int `json:"delegations,omitempty"`
}

// Ancestry relates a zone to the zones above. A write that changes the relation sets all fields.
type Ancestry struct {
	// Parent is the enclosing zone if it lists this zone's name servers, else nil.
	Parent *Ref `json:"parent,omitempty"`
	// Established is true if no zone above can end this zone (S3.5).
	Established bool `json:"established,omitempty"`
	// Withdrawn is the uid of a Parent whose rules no longer allow this zone, until the period ends (S3.5).
	Withdrawn string `json:"withdrawn,omitempty"`
	// Enclosed is the uid of the enclosing zone, delegating or not; "" means none.
	Enclosed string `json:"enclosed,omitempty"`
	// DS is true if a delegating rule of the enclosing zone has ds: true (S6.16).
	DS bool `json:"ds,omitempty"`
}

// ApexNames has the hosts in records at the apex (S4.10).
type ApexNames struct {
	// ApexNS are the values of apex NS records, sorted, also for the SOA's mname (S6.5).
	ApexNS []string `json:"apexNS,omitempty"`
	// ApexHosts counts, by host, the values of own MX, SVCB and HTTPS records.
	ApexHosts map[string]int `json:"ownHosts,omitempty"`
}

type SerialMarks struct {
	// MinimumConsumed is the minimumSerial last used (NextSerial).
	MinimumConsumed *uint32 `json:"minimumConsumed,omitempty"`
	// Repaired is the last repair of the serial (S6.11), unix seconds.
	Repaired int64 `json:"repaired,omitempty"`
}

type Outstanding struct {
	// Works mark unfinished cascades (decisions in steps after a change): the zone is not settled (S7.2).
	Works []CascadeMark `json:"works,omitempty"`
}

type Deliverable struct {
	// Unsettled is the start (unix seconds) of a series of cascades, which together delay delivery as long as one
	// (S7.2).
	Unsettled int64 `json:"unsettled,omitempty"`
	// Waived is the time (unix seconds) until which others' cascades delay no delivery (S7.2).
	Waived int64 `json:"waived,omitempty"`
	// Overdue is true if the zone is delivered although cascades are unfinished.
	Overdue bool `json:"overdue,omitempty"`
	// Held is nil unless a mass deletion stops deliveries.
	Held *Held `json:"held,omitempty"`
}

// CascadeMark marks an unfinished cascade (Work) at a zone, for each name that it locks there.
type CascadeMark struct {
	ID string `json:"id"`
	// Losing is the uid of a zone losing records to this zone.
	Losing string `json:"losing,omitempty"`
	// Locks is the name locked, with all below, until all records have moved (S2.10); zero locks nothing.
	Locks name.Name `json:"locks,omitzero"`
	// Since is in unix seconds.
	Since int64 `json:"since"`
	// By is the namespace that caused the cascade, Own true for the zone's own.
	By  string `json:"by,omitempty"`
	Own bool   `json:"own,omitempty"`
	// Replaces marks a lock of WithReplacement (S2.14).
	Replaces bool `json:"replaces,omitempty"`
	// TakesIn is true until the Delegations that waited for this new zone are decided (S4.22).
	TakesIn bool `json:"takesIn,omitempty"`
}

// HasPendingDelegations reports whether any mark has TakesIn.
func (h *Holding) HasPendingDelegations() bool {
	return slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.TakesIn })
}

// Settled reports whether the content of the zone may be delivered.
func (h *Holding) Settled() bool { return h.Held == nil && (len(h.Works) == 0 || h.Overdue) }

type ZoneBelow struct {
	FQDN name.Name
	Holding
}

type ZonesBelow struct{ Zones []ZoneBelow }

// Origin is the uid and name of a removed zone.
type Origin struct {
	Zone string    `json:"zone"`
	Name name.Name `json:"name"`
}

// Origins returns the removed zones whose records move here.
func (h *Holding) Origins() (from []Origin) {
	for _, w := range h.Works {
		// The enclosing zone loses records, too, but exists.
		o := Origin{w.Losing, w.Locks}
		if o.Zone != "" && o.Zone != h.Enclosed && !o.Name.IsZero() && !slices.Contains(from, o) {
			from = append(from, o)
		}
	}
	return from
}

// WithOrigins adds marks of the cascade id that lock the names of the removed zones in "from". It returns h if id has
// no mark.
func (h *Holding) WithOrigins(id string, from []Origin) *Holding {
	i := slices.IndexFunc(h.Works, func(w CascadeMark) bool { return w.ID == id })
	if i < 0 || len(from) == 0 {
		return h
	}
	out := *h
	out.Works = slices.Clone(h.Works)
	for _, o := range from {
		w := h.Works[i]
		w.Losing, w.Locks = o.Zone, o.Name
		out.Works = append(out.Works, w)
	}
	return &out
}

// HasLock reports whether n, or a name above or below, is locked (S2.10).
func (h *Holding) HasLock(n name.Name) bool { return h.HasLockAt(n) || h.HasLockBelow(n) }

// HasLockAt reports whether n or a name above is locked.
func (h *Holding) HasLockAt(n name.Name) bool {
	return slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return !w.Locks.IsZero() && w.Locks.Encloses(n) })
}

func (h *Holding) HasLockBelow(n name.Name) bool {
	return slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return !w.Locks.IsZero() && w.Locks != n && n.Encloses(w.Locks) })
}

// HasLockOf reports whether the cascade id has a lock, and so brings records to locked names (S2.9), even if they were
// moving to a zone removed meanwhile (Origins).
func (h *Holding) HasLockOf(id string) bool {
	return slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.ID == id && !w.Locks.IsZero() })
}

// MayGainRecords reports whether a cascade may bring records to n: n has a lock, or the zone's own namespace caused a
// cascade.
func (h *Holding) MayGainRecords(n name.Name) bool {
	return h.HasLock(n) || slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.Own })
}

// WithReplacement locks a name that namespace "by" has left, until the cascade id has decided the Records waiting there
// (S2.14).
func (h *Holding) WithReplacement(id, by string, locks name.Name, now int64) *Holding {
	out := h.WithMove(id, h.Namespace, by, "", locks, now)
	if out != h {
		out.Works[len(out.Works)-1].Replaces = true
	}
	return out
}

// CountReplacements counts a namespace's replacement locks.
func (h *Holding) CountReplacements(by string) (n int) {
	for _, w := range h.Works {
		if w.By == by && w.Replaces {
			n++
		}
	}
	return n
}

// WithoutReplacement removes the cascade's replacement lock, which must not refuse its own cascade.
func (h *Holding) WithoutReplacement(id string) *Holding {
	if !slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.Replaces && w.ID == id }) {
		return h
	}
	return h.WithoutWork(id)
}

// WithWork adds the mark of a cascade that namespace "by" caused (S7.2). It returns h if id is "" or has a mark.
func (h *Holding) WithWork(id, zoneNamespace, by string, now int64) *Holding {
	return h.WithMove(id, zoneNamespace, by, "", name.Name{}, now)
}

// WithMove is WithWork for a cascade that brings records at and below a name (locks) from a zone (losing); both may be
// zero.
func (h *Holding) WithMove(id, zoneNamespace, by, losing string, locks name.Name, now int64) *Holding {
	if id == "" || slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.ID == id }) {
		return h
	}
	out := *h
	own := by == zoneNamespace
	switch first := !slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.Own }); {
	case own && first: // may delay delivery again, for timeoutOwn
		out.Unsettled, out.Overdue = now, false
	case len(h.Works) == 0: // begins a series
		out.Unsettled, out.Overdue = now, h.IsWaived(now)
	}
	out.Works = append(slices.Clone(h.Works), CascadeMark{ID: id, Losing: losing, Locks: locks, Since: now, By: by, Own: own})
	return &out
}

// MaxRemovals bounds a namespace's cascades of removed zones, and its replacement locks, at a zone: a change writes all
// marks.
const MaxRemovals = 16

// MaxEnds bounds removed and ended zones together: removals must not keep zones from ending (S3.5).
const MaxEnds = 2 * MaxRemovals

// CountIncomingZones counts the zones whose records move here by cascades of namespace "by".
func (h *Holding) CountIncomingZones(by string) (n int) {
	for _, w := range h.Works {
		if w.By == by && w.Losing != "" {
			n++
		}
	}
	return n
}

func (h *Holding) WithoutWork(id string) *Holding {
	out := *h
	out.Works = slices.DeleteFunc(slices.Clone(h.Works), func(w CascadeMark) bool { return w.ID == id })
	if len(out.Works) == 0 {
		out.Works = nil
	}
	return &out
}

// Seconds until a zone is delivered in spite of foreign or own cascades. For Waiver seconds afterwards, foreign
// cascades delay no delivery (S7.2).
const (
	timeoutForeign = 60
	timeoutOwn     = 600
	Waiver         = 3600
)

// IsWaived reports whether foreign cascades delay no delivery. A time beyond Waiver is of a wrong clock.
func (h *Holding) IsWaived(now int64) bool { return now < h.Waived && h.Waived <= now+Waiver }

// BecomesOverdue reports whether cascades have delayed delivery for too long at now (unix seconds).
func (h *Holding) BecomesOverdue(now int64) bool {
	if h.Overdue || len(h.Works) == 0 {
		return false
	}
	timeout := int64(timeoutForeign)
	switch {
	case slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.Own }):
		timeout = timeoutOwn
	case h.IsWaived(now):
		timeout = 0
	}

	since := now - h.Unsettled
	return since >= timeout || -since > timeout // the latter if a clock was ahead
}

// Held is a hold after a mass deletion (S7.5): the serial delivered meanwhile, the start (unix seconds), and the stock
// before (Had).
type Held struct {
	Serial serial.Serial `json:"serial"`
	Since  int64         `json:"since"`
	Had    Stock         `json:"had"`
	// NameServers is true if the last apex NS was removed, and none put back (S7.6).
	NameServers bool `json:"nameServers,omitempty"`
}

// HostsNamedByApex returns the names of ApexHosts and ApexNS in the zone (S4.10), without the apex. Tenants' NS count,
// since a rule must name this type (S4.5), tenants' MX do not.
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

// CountHosts adds n (1 or -1) for each host of c, the own namespace's MX, SVCB or HTTPS record at the apex.
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
