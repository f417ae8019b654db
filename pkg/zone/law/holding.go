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

// Holding is the part of a zone's state that writes of other zones may read or change, stored in etcd under the zone's
// name and view. Every write of the zone compares the revision of the Holding, and so misses no change.
type Holding struct {
	Ref
	// Target is the zone in spec.zoneRef, or nil. When that zone is created or removed, a background job decides this
	// zone's name and parent again.
	Target      *Ref `json:"target,omitempty"`
	Ancestry         // parent, and rights to the name
	ApexNames        // hosts in records at the apex
	SerialMarks      // used minimum and last repair of the serial
	Outstanding      // unfinished background jobs
	Deliverable      // delays of delivery to name servers
	// Delegations counts the Delegations (objects with rules) in force. At 0, decisions need not look for them.
	Delegations int `json:"delegations,omitempty"`
	// Reverse lists the zones that derive PTR from this zone's addresses.
	Reverse []ReverseLink `json:"reverse,omitempty"`
}

// Ancestry describes how a zone depends on enclosing zones. A write that changes one field sets all.
type Ancestry struct {
	// Parent is the nearest zone above, which lists this zone's name servers. It is nil if that zone does not delegate
	// this zone, except during the grace period of Withdrawn.
	Parent *Ref `json:"parent,omitempty"`
	// Established is true if no zone enclosed this zone at its creation. No later zone above can end this zone.
	Established bool `json:"established,omitempty"`
	// Withdrawn is the UID of Parent if its rules no longer allow this zone, and this zone ends after a grace period.
	Withdrawn string `json:"withdrawn,omitempty"`
	// Enclosed is the UID of the nearest zone above, whether it delegates this zone or not, or "".
	Enclosed string `json:"enclosed,omitempty"`
	// DS is true if the zone above also lists this zone's DS records, because its rule has ds: true.
	DS bool `json:"ds,omitempty"`
}

type ApexNames struct {
	// ApexNS holds the values of NS records at the apex, sorted.
	ApexNS []string `json:"apexNS,omitempty"`
	// ApexHosts counts, by host, the values of the own namespace's MX, SVCB and HTTPS records.
	ApexHosts map[string]int `json:"ownHosts,omitempty"`
}

type SerialMarks struct {
	// MinimumConsumed is the last minimumSerial that NextSerial has used.
	MinimumConsumed *uint32 `json:"minimumConsumed,omitempty"`
	// Repaired is the time of the last serial repair, in Unix seconds.
	Repaired int64 `json:"repaired,omitempty"`
}

type Outstanding struct {
	// Works has a mark for each unfinished cascade. A zone with a mark is not settled.
	Works []CascadeMark `json:"works,omitempty"`
}

type Deliverable struct {
	// Unsettled is the start of a series of cascades, in Unix seconds. Together they delay delivery only as long as
	// one.
	Unsettled int64 `json:"unsettled,omitempty"`
	// Waived is the time, in Unix seconds, until foreign cascades may delay delivery again.
	Waived int64 `json:"waived,omitempty"`
	// Overdue is true if the zone is delivered although cascades are unfinished.
	Overdue bool  `json:"overdue,omitempty"`
	Held    *Held `json:"held,omitempty"`
}

// CascadeMark is stored in a zone while a cascade there is unfinished: a change of many records in several
// transactions. A mark may lock a name, so that no namespace takes the name while its records move between zones. A
// cascade that locks several names has a mark for each.
type CascadeMark struct {
	ID string `json:"id"`
	// Losing is the UID of another zone whose records move to this zone, or "".
	Losing string `json:"losing,omitempty"`
	// Locks is a name that is locked, with all names below it, until its records have moved. The zero value locks
	// nothing.
	Locks name.Name `json:"locks,omitzero"`
	// Since is in Unix seconds.
	Since int64 `json:"since"`
	// By is the namespace that caused the cascade. Own is true for the zone's own namespace.
	By  string `json:"by,omitempty"`
	Own bool   `json:"own,omitempty"`
	// TakesIn is true in a new zone until the cascade has decided the waiting Delegations, since they may reserve
	// names.
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

type Origin struct {
	Zone string    `json:"zone"`
	Name name.Name `json:"name"`
}

func (h *Holding) Origins() (from []Origin) {
	for _, w := range h.Works {
		// The enclosing zone also loses records, but exists.
		o := Origin{w.Losing, w.Locks}
		if o.Zone != "" && o.Zone != h.Enclosed && !o.Name.IsZero() {
			from = appendNew(from, o)
		}
	}
	return from
}

// WithOrigins locks the names of removed zones against writes, until the cascade (background job) with this id has
// moved their records here. Without a mark of the cascade (WithMove), nothing is locked.
func (h *Holding) WithOrigins(id string, origins []Origin) *Holding {
	i := slices.IndexFunc(h.Works, func(w CascadeMark) bool { return w.ID == id })
	if i < 0 || len(origins) == 0 {
		return h
	}
	out := *h
	out.Works = slices.Clone(h.Works)
	for _, origin := range origins {
		w := h.Works[i]
		w.Losing, w.Locks = origin.Zone, origin.Name
		out.Works = append(out.Works, w)
	}
	return &out
}

func (h *Holding) HasLock(n name.Name) bool { return len(h.ListLocks(n)) > 0 }

// ListLocks returns the locked names at, above and below n. A mark without a lock has the zero name, which encloses no
// name.
func (h *Holding) ListLocks(n name.Name) (locked []name.Name) {
	for _, w := range h.Works {
		if w.Locks.Encloses(n) || n.Encloses(w.Locks) {
			locked = append(locked, w.Locks)
		}
	}
	return locked
}

func (h *Holding) HasLockAt(n name.Name) bool {
	return slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.Locks.Encloses(n) })
}

func (h *Holding) HasLockBelow(n name.Name) bool {
	return slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.Locks != n && n.Encloses(w.Locks) })
}

// HasLockOf reports whether the cascade with this id has a lock, and so brings records to locked names.
func (h *Holding) HasLockOf(id string) bool {
	return slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.ID == id && !w.Locks.IsZero() })
}

func (h *Holding) MayGainRecords(n name.Name) bool {
	return h.HasLock(n) || slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.Own })
}

func (h *Holding) WithWork(id, zoneNamespace, causedBy string, now int64) *Holding {
	return h.WithMove(id, zoneNamespace, causedBy, "", name.Name{}, now)
}

// WithMove returns h with a mark of the cascade (background job) with this id. The mark locks lockedName and all names
// below, because the cascade brings their records from the zone losingUID. Both may be zero. Delivery waits for the
// cascade, up to a time limit. If the id is "" or has a mark, the result is h.
func (h *Holding) WithMove(id, zoneNamespace, causedBy, losingUID string, lockedName name.Name, now int64) *Holding {
	if id == "" || slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.ID == id }) {
		return h
	}
	out := *h
	own := causedBy == zoneNamespace
	hasOwn := slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.Own })
	switch {
	case own && !hasOwn:
		// The longer time limit begins.
		out.Unsettled, out.Overdue = now, false
	case len(h.Works) == 0:
		// A series of cascades begins, and may delay delivery unless waived.
		out.Unsettled, out.Overdue = now, h.IsWaived(now)
	}
	out.Works = append(slices.Clone(h.Works), CascadeMark{ID: id, Losing: losingUID, Locks: lockedName, Since: now, By: causedBy, Own: own})
	return &out
}

// MaxRemovals limits a namespace's cascades of removed zones at a zone, because each change writes all marks.
const MaxRemovals = 16

// MaxEnds limits removed and ended zones together: removals must not keep zones from ending.
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

// The times are in seconds. For Waiver after a timeout, foreign cascades delay no delivery.
const (
	timeoutForeign = 60
	timeoutOwn     = 600
	Waiver         = 3600
)

// IsWaived reports whether foreign cascades delay no delivery at now. A time beyond Waiver comes from a wrong clock.
func (h *Holding) IsWaived(now int64) bool { return now < h.Waived && h.Waived <= now+Waiver }

// BecomesOverdue reports whether unfinished cascades (background jobs) have delayed delivery for timeoutOwn seconds or,
// if tenants caused them all, for timeoutForeign seconds. The result is false if Overdue is already set.
func (h *Holding) BecomesOverdue(now int64) bool {
	if h.Overdue || len(h.Works) == 0 {
		return false
	}
	timeout := int64(timeoutForeign)
	switch {
	case slices.ContainsFunc(h.Works, func(w CascadeMark) bool { return w.Own }):
		timeout = timeoutOwn
	case h.IsWaived(now): // foreign cascades had a timeout lately
		timeout = 0
	}

	delay := now - h.Unsettled
	return delay >= timeout || -delay > timeout // negative if a clock was ahead
}

// Held is set while a zone is not delivered, because its own namespace has deleted too much at once. Name servers keep
// the content before the deletion.
type Held struct {
	// Serial is the serial that name servers keep, and Since the start of the hold in Unix seconds.
	Serial serial.Serial `json:"serial"`
	Since  int64         `json:"since"`
	// Had counts the zone's RRsets before the deletion.
	Had Stock `json:"had"`
	// NameServers is true if the last NS record at the apex was deleted, and none put back.
	NameServers bool `json:"nameServers,omitempty"`
}

// HostsNamedByApex returns the hosts in the zone that records at the apex refer to, without the apex. Tenants may not
// write there. Own MX, SVCB and HTTPS records count, and NS records of any namespace, because only a rule
// that lists the type NS allows NS.
func (h *Holding) HostsNamedByApex(z *Zone) []name.Rel {
	var out []name.Rel
	for _, text := range append(slices.Sorted(maps.Keys(h.ApexHosts)), h.ApexNS...) {
		// Hosts are stored as written, relative or absolute. A text that does not parse is in no zone.
		n, _ := name.ParseIn(text, z.FQDN())
		if rel, ok := n.Rel(z.FQDN()); ok && !rel.IsApex() {
			out = appendNew(out, rel)
		}
	}
	return out
}

// CountHosts adds delta, 1 or -1, to the count in ApexHosts of each host that an own record at the apex refers to. Only
// MX, SVCB and HTTPS records count.
func (h *Holding) CountHosts(record *Contribution, delta int) {
	if record.Type != rdata.MX && record.Type != rdata.SVCB && record.Type != rdata.HTTPS {
		return
	}
	hosts := map[string]int{} // a copy: ApexHosts is shared
	maps.Copy(hosts, h.ApexHosts)
	for _, value := range record.Values {
		if hosts[value.Host()] += delta; hosts[value.Host()] <= 0 {
			delete(hosts, value.Host())
		}
	}
	h.ApexHosts = hosts
}

// appendNew appends an element that the list does not contain yet.
func appendNew[T comparable](list []T, element T) []T {
	if slices.Contains(list, element) {
		return list
	}
	return append(list, element)
}
