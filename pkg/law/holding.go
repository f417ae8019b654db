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

// Holding is the value in etcd under a zone's name and view: the zone's state that writes of other zones read or
// change. Every write of the zone compares the Holding's revision.
type Holding struct {
	// Ref is the Zone with the name.
	Ref
	// Target is the zone of spec.zoneRef, or nil. When that zone is created or removed, a background job decides this
	// zone's name and parent again.
	Target   *Ref `json:"target,omitempty"`
	Ancestry      // parent and rights to the name
	ApexNames
	SerialMarks
	Outstanding // unfinished background jobs
	Deliverable // delays of delivery to name servers
	// Delegations counts the Delegations (objects with rules) in force. At 0 decisions need not look for them.
	Delegations int `json:"delegations,omitempty"`
}

// Ancestry says how a zone depends on the zones whose names enclose its own. A write that changes one field sets all.
type Ancestry struct {
	// Parent is the nearest zone above if it delegates this zone, or during the grace period of Withdrawn; else nil. It
	// lists this zone's name servers.
	Parent *Ref `json:"parent,omitempty"`
	// Established is true if the zone was created when no zone was above. No zone above can then end it (S3.5).
	Established bool `json:"established,omitempty"`
	// Withdrawn is the uid of Parent if its rules no longer allow this zone. The zone ends after a grace period (S3.5).
	Withdrawn string `json:"withdrawn,omitempty"`
	// Enclosed is the uid of the nearest zone above, whether it delegates this zone or not; "" for none.
	Enclosed string `json:"enclosed,omitempty"`
	// DS is true if the zone above also lists this zone's DS records, because its rule has ds: true (S6.16).
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

// CascadeMark notes in a zone that a cascade, a change of many records in steps, is not finished there. It may lock a
// name, so that no namespace takes the name while its records move between zones. A cascade that locks several names
// has a mark for each.
type CascadeMark struct {
	ID string `json:"id"`
	// Losing is the uid of another zone, whose records move to this zone; "" for none.
	Losing string `json:"losing,omitempty"`
	// Locks is a name, locked with all names below, until its records have moved (S2.10). Zero locks nothing.
	Locks name.Name `json:"locks,omitzero"`
	// Since is in Unix seconds.
	Since int64 `json:"since"`
	// By is the namespace that caused the cascade. Own is true if By is the zone's own namespace.
	By  string `json:"by,omitempty"`
	Own bool   `json:"own,omitempty"`
	// Replaces is true if the lock keeps the name of a deleted Record for a Record waiting there (S2.14).
	Replaces bool `json:"replaces,omitempty"`
	// TakesIn is true for a new zone until the waiting Delegations are decided. They may reserve names (S4.22).
	TakesIn bool `json:"takesIn,omitempty"`
}

func (h *Holding) HasPendingDelegations() bool {
	return slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.TakesIn })
}

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

// WithOrigins locks the names of the removed zones in "from" against writes, until the cascade id has moved their
// records here. It returns h if h lacks the cascade's mark (WithMove).
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

// WithMove notes that a cascade, caused by namespace "by", brings records at and below a name (locks) from a zone
// (losing); both may be zero. Delivery waits for the cascade; the first, or the first of the own namespace, starts the
// time limit. If id is "" or has a mark, the result is h.
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

// BecomesOverdue reports whether cascades have delayed delivery for timeoutOwn, or if all are foreign for
// timeoutForeign (0 while waived), at now (unix seconds). The result is false if the zone is overdue already.
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

// Held is set while a zone is not delivered, because its own namespace has deleted too much at once (S7.5). Name
// servers keep the content before the deletion.
type Held struct {
	// Serial is the serial that name servers keep. Since is the begin of the hold, in Unix seconds.
	Serial serial.Serial `json:"serial"`
	Since  int64         `json:"since"`
	// Had counts the zone's RRsets before the deletion.
	Had Stock `json:"had"`
	// NameServers is true if the last NS at the apex was deleted, and none put back (S7.6).
	NameServers bool `json:"nameServers,omitempty"`
}

// HostsNamedByApex returns the hosts in the zone, without the apex, that apex records name, so that tenants keep off
// (S4.10): own MX, SVCB and HTTPS, and NS, tenants' too, since a rule must name this type (S4.5).
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

// CountHosts adds n (1 or -1) to ApexHosts for each host of c, an own record at the apex, if c is MX, SVCB or HTTPS.
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
