// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/ledger/history"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// archive is a zone's part of the history.
type archive struct {
	history.Archived
	namespaces map[string]bool
}

// segmentRange has the numbers of a segment's steps.
type segmentRange struct {
	first, last uint64
	key         string
}

// historyCheck compares segments with archives and shares. Steps are in one place: a segment ends where its zone's
// archive does, or before, and the states before later steps are in before/.
type historyCheck struct {
	*check
	archives map[string]*archive
	ranges   map[[2]string][]segmentRange // by zone and namespace
	octets   map[string]history.Share
}

func (c *check) checkHistory() error {
	h := &historyCheck{c, map[string]*archive{}, map[[2]string][]segmentRange{}, map[string]history.Share{}}
	for _, step := range []func() error{h.readArchived, h.checkSegments, h.checkShares, h.checkStates} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (h *historyCheck) readArchived() error {
	room := h.layout.Room("archived")
	return h.eachBetween(room, clientv3.GetPrefixRangeEnd(room), func(key string, kv *mvccpb.KeyValue) {
		h.report.Keys++
		uid, ns, _ := h.layout.ParseArchived(key)
		if uid == layout.RemovedZones {
			h.parseValue(key, kv, &history.Header{})
			return
		}
		at := h.archives[uid]
		if ns == "" {
			var x history.Archived
			if !h.parseValue(key, kv, &x) {
				return
			}
			h.archives[uid] = &archive{x, map[string]bool{}}
			z := h.zones[uid]
			switch {
			case z == nil || z.Pending:
				h.require(x.Gone != 0 || h.purging[uid] || z != nil && z.Ending, key, "S7.13", "the archive of zone "+uid,
					"the time at which that zone went")
			case x.Gone == 0:
				h.require(x.Last >= x.Offset && x.Last-x.Offset <= z.N, key, "S7.13", fmt.Sprintf("steps up to %d", x.Last-x.Offset),
					"steps up to %d, the zone's last", z.N)
			}
			return
		}
		if h.require(at != nil, key, "S7.13", "segments of namespace "+ns, "the archive of zone %s", uid); at != nil {
			at.namespaces[ns] = true
		}
	})
}

func (h *historyCheck) checkSegments() error {
	room := h.layout.Room("history")
	return h.eachBetween(room, clientv3.GetPrefixRangeEnd(room), func(key string, kv *mvccpb.KeyValue) {
		h.report.Keys++
		at, ok := h.layout.ParseSegment(key)
		if !ok {
			h.reportDamage(key, "S7.13", "a key of history/", "history/<namespace>/<10 hex digits>/<uid>/<16 hex digits>")
			return
		}
		s, err := history.DecodeSegment(kv.Value)
		if err != nil {
			h.reportDamage(key, "S7.13", err.Error(), "a segment")
			return
		}
		share, octets := h.octets[at.Namespace], int64(len(kv.Key)+len(kv.Value))
		if share.Octets += octets; s.Header.Bare {
			share.BareOctets += octets
		}
		h.octets[at.Namespace] = share
		h.checkSegment(key, at, s)
	})
}

func (h *historyCheck) checkSegment(key string, at layout.SegmentKey, s *history.Segment) {
	first, last := s.Entries[0].Step, s.Entries[len(s.Entries)-1].Step
	here := segmentRange{s.Header.Offset + first.N, s.Header.Offset + last.N, key}
	h.require(s.Header.Zone == at.Zone && here.last == at.Last && max(0, last.Time) == at.Time, key, "S7.13",
		fmt.Sprintf("steps of zone %s up to %d at %d", s.Header.Zone, here.last, last.Time), "those that the key names")
	for i := range s.Entries {
		step := &s.Entries[i].Step
		h.require(i == 0 || step.N > s.Entries[i-1].Step.N, key, "S7.13", fmt.Sprintf("step %d", step.N), "steps in order")
		of := s.Header.Namespace
		if step.Record != nil {
			of = step.Record.Namespace
		}
		h.require(of == at.Namespace, key, "S7.13", fmt.Sprintf("step %d of namespace %s", step.N, of), "steps of the key's namespace")
	}
	zone := h.archives[at.Zone]
	if zone == nil {
		h.reportDamage(key, "S7.13", "a segment", "the archive of zone %s", at.Zone)
		return
	}
	h.require(zone.namespaces[at.Namespace] && here.last <= zone.Last, key, "S7.13", fmt.Sprintf("steps up to %d of namespace %s",
		here.last, at.Namespace), "an archive up to %d of namespaces with this one", zone.Last)
	by := [2]string{at.Zone, at.Namespace}
	for _, other := range h.ranges[by] {
		h.require(here.first > other.last || here.last < other.first, key, "S7.13", fmt.Sprintf("steps %d to %d", here.first, here.last),
			"steps once, not also in %s", other.key)
	}
	h.ranges[by] = append(h.ranges[by], here)
}

func (h *historyCheck) checkShares() error {
	err := eachKey(h.check, "shares", func(key, ns string, s *history.Share) {
		want := h.octets[ns]
		delete(h.octets, ns)
		h.require(s.Octets == want.Octets && s.BareOctets >= want.BareOctets, key, "S7.13", fmt.Sprintf("%d octets, %d condensed", s.Octets,
			s.BareOctets), "%d and %d, those of its segments", want.Octets, want.BareOctets)
	})
	for ns, s := range h.octets {
		h.reportDamage(h.layout.Share(ns), "S7.13", "nothing", "the share of namespace %s, %d octets", ns, s.Octets)
	}
	return err
}

func (h *historyCheck) checkStates() error {
	return eachKey(h.check, "before", func(key, _ string, b *history.Before) {
		_, uid, n, ok := h.layout.ParseBefore(key)
		if !ok {
			h.reportDamage(key, "S7.13", "a key of before/", "before/<namespace>/<uid>/<16 hex digits>")
			return
		}
		z := h.existingZone(key, uid)
		if z == nil {
			return
		}
		archived := uint64(0)
		if x := h.archives[uid]; x != nil && x.Gone == 0 {
			archived = x.Last - x.Offset
		}
		h.require(n > archived && n <= z.N, key, "S7.13", fmt.Sprintf("states before the steps up to %d", n),
			"steps from %d, after the archive, to %d, the zone's last", archived+1, z.N)
		for _, x := range b.Of {
			_, err := history.Unpack(x.State)
			h.require(err == nil && x.N <= n, key, "S7.13", strings.TrimSpace(fmt.Sprintf("the state of %s before step %d %v", x.Name, x.N,
				err)), "a packed state before a step up to %d", n)
		}
	})
}
