// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"fmt"
	"maps"
	"slices"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// Difference is the net change between two serials, condensed as in RFC 1995 §5. Removed and Added are in canonical
// order and contain no SOA.
type Difference struct {
	OldSOA, NewSOA dns.Entry
	dns.Change
}

// Difference returns the net change of a zone between an old serial and a newer snapshot. It returns ErrTrimmed if a
// step (the change by one serial) between them is no longer kept, or if the zone's name or default TTL changed.
func (v *Set) Difference(newer *Snapshot, oldSerial serial.Serial) (Difference, error) {
	steps, err := v.Changes(newer.zone.UID, oldSerial, newer.serial)
	if err != nil {
		return Difference{}, err
	}
	// Go back from the newer snapshot to the old serial. Only changed RRsets are kept.
	undone := undoState{newer: newer, header: newer.header, sets: map[rrsetKey]*content.RRset{}}
	for _, step := range slices.Backward(steps) {
		if err := undone.undoStep(step); err != nil {
			return Difference{}, err
		}
	}
	// With another name or default TTL, most records differ, and a full transfer is hardly longer.
	if undone.header.FQDN != newer.header.FQDN || undone.header.TTL != newer.header.TTL {
		return Difference{}, fmt.Errorf("%s, from serial %d to %d: %w: its name or ttl changed", newer, oldSerial, newer.serial, ErrTrimmed)
	}
	return undone.makeDifference(oldSerial), nil
}

// undoState computes the RRsets of a zone at an earlier serial by undoing steps, newest first. No hash is verified,
// because all content in the Set has the hash of the Zone.
type undoState struct {
	newer  *Snapshot
	header content.Header // in the earlier state
	// sets contains the RRsets that the undone steps changed, in their earlier state. An RRset that did not exist has
	// no Data.
	sets map[rrsetKey]*content.RRset
}

// rrset returns an RRset of the earlier state for changes in place, at first a copy of the newer one. The newer
// snapshot is shared and never changes.
func (b *undoState) rrset(k rrsetKey) *content.RRset {
	set := b.sets[k]
	if set == nil {
		set = &content.RRset{Owner: k.owner, Type: k.t}
		if now, ok := b.newer.RRset(k.owner, k.t); ok {
			*set = now
			set.Data = slices.Clone(now.Data)
		}
		b.sets[k] = set
	}
	return set
}

// undoStep takes a step's added rows away, puts removed rows back, and restores TTLs and header. An added row that is
// not there is ErrMisfit.
func (b *undoState) undoStep(step content.Step) error {
	for _, row := range step.Added {
		set := b.rrset(rrsetKey{row.Owner, row.Type})
		i := slices.Index(set.Data, row.Data)
		if i < 0 {
			return b.newer.misfitError(step.N, "it added %s %s %s, which is not there", row.Owner, row.Type, row.Data)
		}
		set.Data = slices.Delete(set.Data, i, i+1)
	}
	for _, row := range step.Removed {
		set := b.rrset(rrsetKey{row.Owner, row.Type})
		set.Data = append(set.Data, row.Data)
	}
	for _, change := range step.TTLs {
		// A new RRset has no TTL before, and no data is left of it.
		if set := b.rrset(rrsetKey{change.Owner, change.Type}); change.Before != nil {
			set.TTL = *change.Before
		}
	}
	if step.HeaderBefore != nil {
		b.header = *step.HeaderBefore
	}
	return nil
}

// makeDifference compares the changed RRsets with the newer snapshot. A value that came and went in between appears in
// neither list.
func (b *undoState) makeDifference(since serial.Serial) Difference {
	d := Difference{NewSOA: b.newer.SOA()}
	d.From, d.To = since, b.newer.serial
	made := b.newer.nsRRsets
	// Another list of name servers may change NS and addresses without a row in a step.
	if !b.header.Equal(b.newer.header) {
		made = b.header.NameServerRRsets()
		for _, set := range slices.Concat(made, b.newer.nsRRsets) {
			b.rrset(rrsetKey{set.Owner, set.Type})
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(b.sets), rrsetKey.compare) {
		compareRRset(&d.Change, b.entriesBefore(k, made), b.newer.lookup(k.owner, k.t))
	}
	// The SOA's mname may be the first name server, and differ at the old serial.
	firstServer := ""
	if servers := b.entriesBefore(rrsetKey{name.Apex, rdata.NS}, made); len(servers) > 0 {
		firstServer = servers[0].Data
	}
	d.OldSOA = b.header.SOA(since, firstServer)
	return d
}

// entriesBefore returns the records of an RRset in the earlier state, with those of spec.nameServers at that time
// (made).
func (b *undoState) entriesBefore(k rrsetKey, made []content.RRset) []dns.Entry {
	set := *b.rrset(k)
	there := len(set.Data) > 0
	for _, other := range made {
		switch {
		case other.Owner != k.owner || other.Type != k.t:
		case there:
			set = set.Merge(other)
		default:
			set, there = other, true
		}
	}
	if !there {
		return nil
	}
	entries, _ := content.Resolve(b.header, set) // a value without an entry is left out
	return entries
}
