// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// maxWindow bounds the candidates of a cascade in memory: some five megabytes. With more of them the scans of the
// work are read once for each window.
const maxWindow = 1 << 14

// window is the next part of what a work decides anew, in order (S2.8, S2.14). First what moves from one zone to
// another: of the gaining zone's own namespace; what held its base name in the zone that it leaves; and the rest. Then
// zones, since they take records; records that stand in the zone; and those that wait: of the zone's own namespace, of
// the namespace that had the name when they began to wait, and all others. Within each, age decides, then uid.
type window struct {
	own string
	// moving says that it is of what moves; else it is of all else.
	moving bool
	after  *candidate
	found  []candidate
	more   bool
	names  map[string]string // namespaces, each once in memory
}

func (box *Outbox) window(s *standing, moving bool) *window {
	w := &window{moving: moving, names: map[string]string{}}
	if len(s.Work.Zones) > 0 {
		w.own = s.Work.Zones[0].Namespace
	} else if s.Work.Unmarked {
		w.own = s.Work.By
	}
	return w
}

func (w *window) compareCandidates(x, y candidate) int {
	rank := func(c candidate) int {
		switch {
		case c.came && c.namespace == w.own:
			return 0
		case c.came:
			return 1
		case c.letter == layout.WaitingZone:
			return 2
		case c.stands:
			return 3
		case c.namespace == w.own:
			return 4
		case c.keptOut == c.namespace:
			return 5
		}
		return 6
	}
	return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.created, y.created), cmp.Compare(x.uid, y.uid))
}

// addCandidate adds a candidate where it may be of this part.
func (w *window) addCandidate(c candidate) {
	if w.after != nil && w.compareCandidates(c, *w.after) <= 0 || w.moving && !c.came {
		return
	}
	namespace, ok := w.names[c.namespace]
	if !ok {
		namespace = strings.Clone(c.namespace)
		w.names[namespace] = namespace
	}
	c.namespace, c.object = namespace, strings.Clone(c.object)
	if w.found = append(w.found, c); len(w.found) >= 2*maxWindow {
		w.cutToSize()
	}
}

// cutToSize keeps the first candidates, each once.
func (w *window) cutToSize() []candidate {
	slices.SortFunc(w.found, w.compareCandidates)
	kept := w.found[:0]
	for _, c := range w.found {
		if n := len(kept); n == 0 || kept[n-1].uid != c.uid {
			kept = append(kept, c)
		}
	}
	if w.found = kept; len(kept) > maxWindow {
		w.found, w.more = kept[:maxWindow], true
	}
	return w.found
}

// next begins the part behind this one.
func (w *window) next() {
	last := w.found[len(w.found)-1]
	w.after, w.found, w.more = &last, w.found[:0], false
}

// startBehind begins the part that follows a candidate, which is not collected yet.
func (w *window) startBehind(last candidate) {
	w.after, w.found, w.more = &last, nil, false
}

// collectCandidates finds what a work names. What moves has left no zone without being taken in by the next one,
// unless the work was interrupted: so it need not be looked for among all that waits, of which strangers may have much
// (S2.11).
func (box *Outbox) collectCandidates(ctx context.Context, s *standing, w *window) error {
	if !w.moving {
		if err := box.collectLeftOut(ctx, s, w.addCandidate); err != nil || box.isUntimely(&s.Work) {
			return err
		}
	}
	for _, scan := range s.Work.Scans {
		if moves := s.moves(scan); moves != w.moving && (moves || !s.again) {
			continue
		}
		if err := box.findScanned(ctx, s, scan, w.addCandidate); err != nil {
			return err
		}
	}
	return nil
}

// moves reports whether a scan finds Records that are to leave a zone for the one that the work names first.
func (s *standing) moves(scan law.Scan) bool {
	return scan.Kind == law.ScanMembers && (len(s.Work.Zones) == 0 || s.Work.Zones[0].UID != scan.Zone)
}

// findScanned finds what a scan names, in the order of keys.
func (box *Outbox) findScanned(ctx context.Context, s *standing, scan law.Scan, found func(candidate)) error {
	var prefix string
	switch scan.Kind {
	case law.ScanMembers:
		prefix = box.mem.Layout.MembersBelow(scan.Zone, scan.Owner)
	case law.ScanWaiting:
		prefix = box.mem.Layout.WaitingAt(scan.View, scan.Name, scan.Exact)
	case law.ScanReferring:
		prefix = box.mem.Layout.WaitingFor(scan.Target)
	case law.ScanNamespaces:
		return box.scanNamespaces(ctx, s, scan, found)
	case law.ScanPending:
		prefix = box.mem.Layout.WaitingFor(scan.Target) + layout.WaitingZone + "/"
	default:
		return nil
	}
	key, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	for {
		r, err := box.mem.Client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(2000))
		if err != nil {
			return err
		}
		for _, kv := range r.Kvs {
			c := candidate{letter: layout.WaitingRecord}
			if scan.Kind == law.ScanMembers {
				// A record that came in since the work was owed was decided then, and holds at that revision (I5). So
				// a client that goes on writing does not keep the work from its end.
				if s.since > 0 && kv.ModRevision > s.since {
					continue
				}
				if _, _, c.namespace, c.object, err = box.mem.Layout.ParseMember(string(kv.Key)); err != nil {
					return err
				}
				if !scan.Of(c.namespace) {
					continue
				}
				var m law.Member
				if err := layout.Decode(kv.Value, &m); err != nil {
					return layout.Unreadable(string(kv.Key), err)
				}
				c.uid, c.created, c.came = m.UID, m.Created, s.moves(scan)
				c.stands = !c.came
			} else {
				var w layout.Waiter
				if err := layout.Decode(kv.Value, &w); err != nil {
					return layout.Unreadable(string(kv.Key), err)
				}
				var ok bool
				if c.letter, c.namespace, c.object, ok = layout.WaitingObject(string(kv.Key)); !ok {
					return fmt.Errorf("%q is no waiting key", kv.Key)
				}
				if c.letter == layout.WaitingDelegation || !scan.Of(c.namespace) { // takeIn has seen to those
					continue
				}
				if kv.CreateRevision > s.since && !s.again && slices.ContainsFunc(s.Work.Scans, s.moves) {
					continue // it has moved, or came since: it was decided then
				}
				c.uid, c.created, c.came, c.keptOut = w.UID, w.Created, w.Moves, w.KeptOut
			}
			found(c)
		}
		if !r.More {
			return nil
		}
		key = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}
