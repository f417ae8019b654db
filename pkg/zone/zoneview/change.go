// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// StepChange returns the resource records that a step, the change of a zone by one serial, removed and added, without
// the SOA. The cost grows with the size of the step, or of the zone if its name or TTL changed.
func StepChange(before, after *Snapshot, step content.Step) dns.Change {
	change := dns.Change{From: before.serial, To: after.serial}
	// A new default TTL changes each RRset that inherits it.
	mayChangeAll := before.header.FQDN != after.header.FQDN || before.header.TTL != after.header.TTL
	if mayChangeAll {
		compareAll(&change, before.Entries(), after.Entries())
		return change
	}

	touched := map[rrsetKey]bool{}
	for _, row := range slices.Concat(step.Removed, step.Added) {
		touched[rrsetKey{row.Owner, row.Type}] = true
	}
	for _, ttl := range step.TTLs {
		touched[rrsetKey{ttl.Owner, ttl.Type}] = true
	}
	if step.HeaderAfter != nil { // may change the RRsets derived from spec.nameServers
		for _, set := range slices.Concat(before.nsRRsets, after.nsRRsets) {
			touched[rrsetKey{set.Owner, set.Type}] = true
		}
	}

	for _, key := range slices.SortedFunc(maps.Keys(touched), rrsetKey.compare) {
		compareRRset(&change, before.lookup(key.owner, key.t), after.lookup(key.owner, key.t))
	}
	return change
}

// compareRRset adds the differences of an RRset. A changed TTL makes each record a removed and an added one, as in
// IXFR.
func compareRRset(change *dns.Change, before, after []dns.Entry) {
	for _, entry := range before {
		if !slices.Contains(after, entry) {
			change.Removed = append(change.Removed, entry)
		}
	}
	for _, entry := range after {
		if !slices.Contains(before, entry) {
			change.Added = append(change.Added, entry)
		}
	}
}

// compareAll adds the differences of two whole zones, both in canonical order, by a merge of their RRsets.
func compareAll(change *dns.Change, before, after iter.Seq[dns.Entry]) {
	nextBefore, stopBefore := iter.Pull(byRRset(before))
	defer stopBefore()
	nextAfter, stopAfter := iter.Pull(byRRset(after))
	defer stopAfter()
	old, moreOld := nextBefore()
	current, moreCurrent := nextAfter()
	// The lesser RRset has no partner. Equal owners and types are compared value by value.
	for moreOld || moreCurrent {
		order := 0
		switch {
		case !moreCurrent:
			order = -1
		case !moreOld:
			order = 1
		default:
			order = cmp.Or(old[0].Name.Compare(current[0].Name), cmp.Compare(old[0].Type, current[0].Type))
		}
		switch {
		case order < 0:
			compareRRset(change, old, nil)
		case order > 0:
			compareRRset(change, nil, current)
		default:
			compareRRset(change, old, current)
		}
		if order <= 0 {
			old, moreOld = nextBefore()
		}
		if order >= 0 {
			current, moreCurrent = nextAfter()
		}
	}
}

// byRRset groups entries by owner and type, without the SOA. The entries of an RRset must be adjacent.
func byRRset(entries iter.Seq[dns.Entry]) iter.Seq[[]dns.Entry] {
	return func(yield func([]dns.Entry) bool) {
		var group []dns.Entry
		for entry := range entries {
			if entry.Type == rdata.SOA {
				continue
			}
			if isNext := len(group) > 0 && (entry.Name != group[0].Name || entry.Type != group[0].Type); isNext {
				if !yield(group) {
					return
				}
				group = nil
			}
			group = append(group, entry)
		}
		if len(group) > 0 {
			yield(group)
		}
	}
}
