// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// candidate is something to decide anew.
type candidate struct {
	law.Ref
	letter  string
	created int64
	came    bool   // it stood in another zone than the one that takes it
	stands  bool   // it is in the zone
	keptOut string // law.Waiting.KeptOut
}

// maxWindow bounds the candidates of a cascade in memory: some five megabytes. With more of them the scans of the
// work are read once for each window.
const maxWindow = 1 << 14

// window is the next part of what a work decides anew, in order (S2.8, S2.14). First what moves from one zone to
// another: of the gaining zone's own namespace; what held its base name in the zone that it leaves; and the rest. Then
// zones, since they take records; records that stand in the zone; and those that wait: of the zone's own namespace, of
// the namespace that had the name when they began to wait, and all others. Within each, age decides, then uid.
type window struct {
	own string
	// after is the cursor of the work: the window begins behind it. Until what moves has moved it is of that alone.
	after law.Cursor
	found []candidate
	more  bool
}

// windowOf returns the window behind the cursor of a work, without candidates.
func windowOf(s *standing) *window {
	w := &window{after: s.cursor}
	if len(s.Work.Zones) > 0 {
		w.own = s.Work.Zones[0].Namespace
	} else if s.Work.Unmarked {
		w.own = s.Work.By
	}
	return w
}

// cursorAt is the cursor of a work that has come to a candidate.
func (w *window) cursorAt(c candidate) law.Cursor {
	at := w.after
	at.Created, at.UID = c.created, c.UID
	switch {
	case c.came && c.Namespace == w.own:
		at.Rank = 0
	case c.came:
		at.Rank = 1
	case c.letter == layout.WaitingZone:
		at.Rank = 2
	case c.stands:
		at.Rank = 3
	case c.Namespace == w.own:
		at.Rank = 4
	case c.keptOut == c.Namespace:
		at.Rank = 5
	default:
		at.Rank = 6
	}
	return at
}

func compareCursors(x, y law.Cursor) int {
	return cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Created, y.Created), cmp.Compare(x.UID, y.UID))
}

func (w *window) compareCandidates(x, y candidate) int {
	return compareCursors(w.cursorAt(x), w.cursorAt(y))
}

// addCandidate adds a candidate where it may be of this part.
func (w *window) addCandidate(c candidate) {
	if w.after.UID != "" && compareCursors(w.cursorAt(c), w.after) <= 0 || !w.after.Moved && !c.came {
		return
	}
	if w.found = append(w.found, c); len(w.found) >= 2*maxWindow {
		w.cutToSize()
	}
}

// cutToSize keeps the first candidates, each once.
func (w *window) cutToSize() []candidate {
	slices.SortFunc(w.found, w.compareCandidates)
	w.found = slices.CompactFunc(w.found, func(x, y candidate) bool { return x.UID == y.UID })
	if len(w.found) > maxWindow {
		w.found, w.more = w.found[:maxWindow], true
	}
	return w.found
}

// findWindow finds the next candidates of a work. What moves has left no zone without being taken in by the next one,
// unless the work was interrupted: so it need not be looked for among all that waits, of which strangers may have much
// (S2.11).
func (box *Outbox) findWindow(ctx context.Context, s *standing) (*window, error) {
	w := windowOf(s)
	for _, scan := range s.Work.Scans {
		if moves := s.moves(scan); moves == s.cursor.Moved && (moves || !s.again) {
			continue
		}
		var err error
		if scan.Kind == law.ScanNamespaces {
			err = box.scanNamespaces(ctx, s, scan, w.addCandidate)
		} else if prefix := box.scannedKeys(scan); prefix != "" {
			_, err = etcd.Scan(ctx, box.mem.Client, prefix, "", 0, func(kv *mvccpb.KeyValue) error {
				c, ok, err := box.candidateAt(s, scan, kv)
				if ok {
					w.addCandidate(c)
				}
				return err
			})
		}
		if err != nil {
			return nil, err
		}
	}
	w.cutToSize()
	return w, nil
}

// moves reports whether a scan finds Records that are to leave a zone for the one that the work names first.
func (s *standing) moves(scan law.Scan) bool {
	return scan.Kind == law.ScanMembers && (len(s.Work.Zones) == 0 || s.Work.Zones[0].UID != scan.Zone)
}

// scannedKeys is the prefix of the keys that a scan goes through; "": it goes through none.
func (box *Outbox) scannedKeys(scan law.Scan) string {
	switch scan.Kind {
	case law.ScanMembers:
		return box.mem.Layout.MembersBelow(scan.Zone, scan.Owner)
	case law.ScanWaiting:
		return box.mem.Layout.WaitingAt(scan.View, scan.Name, scan.Exact)
	case law.ScanReferring:
		return box.mem.Layout.WaitingFor(scan.Target)
	case law.ScanPending:
		return box.mem.Layout.WaitingFor(scan.Target) + layout.WaitingZone + "/"
	}
	return ""
}

// candidateAt reads what stands at a key that a scan goes through. It is not ok where that is not to be decided.
func (box *Outbox) candidateAt(s *standing, scan law.Scan, kv *mvccpb.KeyValue) (c candidate, ok bool, err error) {
	if scan.Kind != law.ScanMembers {
		var w layout.Waiter
		if err := layout.Decode(kv.Value, &w); err != nil {
			return c, false, layout.Unreadable(string(kv.Key), err)
		}
		if c.letter, c.Namespace, c.Name, ok = layout.WaitingObject(string(kv.Key)); !ok {
			return c, false, fmt.Errorf("%q is no waiting key", kv.Key)
		}
		c.UID, c.created, c.came, c.keptOut = w.UID, w.Created, w.Moves, w.KeptOut
		// takeIn has seen to Delegations. What has moved, or came since, was decided then.
		decided := kv.CreateRevision > s.since && !s.again && slices.ContainsFunc(s.Work.Scans, s.moves)
		return c, c.letter != layout.WaitingDelegation && scan.Of(c.Namespace) && !decided, nil
	}
	// A record that came in since the work was owed was decided then, and holds at that revision (I5). So a client that
	// goes on writing does not keep the work from its end.
	if s.since > 0 && kv.ModRevision > s.since {
		return c, false, nil
	}
	c.letter = layout.WaitingRecord
	if _, _, c.Namespace, c.Name, err = box.mem.Layout.ParseMember(string(kv.Key)); err != nil || !scan.Of(c.Namespace) {
		return c, false, err
	}
	var m law.Member
	if err := layout.Decode(kv.Value, &m); err != nil {
		return c, false, layout.Unreadable(string(kv.Key), err)
	}
	c.UID, c.created, c.came = m.UID, m.Created, s.moves(scan)
	c.stands = !c.came
	return c, true, nil
}

// scanNamespaces finds the records that some namespaces have in a zone, and what of them waits there for it. It reads
// what is in these namespaces, not what others have in the zone.
func (box *Outbox) scanNamespaces(ctx context.Context, s *standing, scan law.Scan, found func(candidate)) error {
	var rev int64
	for _, namespace := range scan.Namespaces {
		if err := etcd.Each(ctx, box.mem.Client, box.mem.Layout.Record(namespace, ""), &rev, func(key string, data []byte,
			mod int64) error {
			c, ok, err := box.recordScanned(ctx, &scan, key, data, mod)
			switch {
			case errors.Is(err, facts.ErrDamaged):
				_, object, _ := box.mem.Layout.ObjectName(key)
				return s.leaveOut(ctx, law.Ref{Namespace: namespace, Name: object}, err)
			case ok:
				found(c)
			}
			return err
		}); err != nil {
			return err
		}
		if err := etcd.Each(ctx, box.mem.Client, box.mem.Layout.Zone(namespace, ""), &rev, func(key string, data []byte, mod int64) error {
			o := &v1alpha1.Zone{}
			if err := box.mem.Zones.Decode(ctx, key, data, mod, o); err != nil || o.Status.FQDN != "" {
				return err
			}
			spec, err := objects.ZoneSpec(o)
			if err == nil && spec.Waiting().For(&scan) {
				found(candidate{Ref: spec.Ref, letter: layout.WaitingZone, created: o.CreationTimestamp.Unix()})
			}
			return err // with its key
		}); err != nil {
			return err
		}
	}
	return nil
}

// recordScanned reads a record that a scan of namespaces comes to. It is ok where it is in the zone, or waits for it.
func (box *Outbox) recordScanned(ctx context.Context, scan *law.Scan, key string, data []byte, mod int64) (c candidate, ok bool,
	err error) {
	o := &v1alpha1.Record{}
	if err := box.mem.Records.Decode(ctx, key, data, mod, o); err != nil {
		return c, false, fmt.Errorf("%w: %w", facts.ErrDamaged, err)
	}
	in, waits, err := objects.Adopted(o)
	if err != nil {
		return c, false, fmt.Errorf("%w: %w", facts.ErrDamaged, err)
	}
	if in != nil && in.Zone.UID != scan.Zone || in == nil && !waits.For(scan) {
		return c, false, nil
	}
	c, err = box.recordCandidate(ctx, o, waits)
	c.stands = in != nil
	return c, err == nil, err
}

// recordCandidate is a record to decide anew that was found by its object. Where it waits, its key says which
// namespace kept it out (S2.14).
func (box *Outbox) recordCandidate(ctx context.Context, o *v1alpha1.Record, waits *law.Waiting) (candidate, error) {
	c := candidate{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)}, letter: layout.WaitingRecord,
		created: o.CreationTimestamp.Unix()}
	if waits == nil || waits.FQDN.IsZero() {
		return c, nil
	}
	r, err := box.mem.Client.Get(ctx, box.mem.Layout.Waiting(waits, "records", o.Namespace, o.Name)[0])
	if err != nil || len(r.Kvs) == 0 {
		return c, err
	}
	var w layout.Waiter
	if err := layout.Decode(r.Kvs[0].Value, &w); err != nil {
		return c, layout.Unreadable(string(r.Kvs[0].Key), err)
	}
	c.keptOut = w.KeptOut
	return c, nil
}
