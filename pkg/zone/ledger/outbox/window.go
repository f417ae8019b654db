// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

type candidate struct {
	law.Ref
	kindLetter  string
	created     int64
	moving      bool
	inZone      bool
	keptOut     string // law.Waiting.KeptOut
	removedFQDN string
}

// maxWindow bounds the candidates of a cascade in memory, to about 5 MB. Each further window scans again.
const maxWindow = 1 << 14

// window is the next part of a work's objects to decide, in this order, with older objects first within an item:
//
//   - moving Records of the gaining zone's own namespace, then others
//   - zones, because they adopt records
//   - Records in the zone
//   - waiting Records of the zone's own namespace, then of the namespace that had the name, then others
type window struct {
	ownNamespace string     // whose Records come first
	start        law.Cursor // position of the work before the window; until start.Moved, it has only moving Records
	candidates   []candidate
	more         bool // further candidates follow
}

func windowOf(s *workState) *window {
	w := &window{start: s.cursor}
	if len(s.Work.Zones) > 0 {
		w.ownNamespace = s.Work.Zones[0].Namespace
	} else if s.Work.Unmarked {
		w.ownNamespace = s.Work.By
	}
	return w
}

// cursorAt returns the position of a candidate in the order of the window: rank, creation, UID.
func (w *window) cursorAt(c candidate) law.Cursor {
	at := w.start
	at.Created, at.UID = c.created, c.UID
	switch {
	case c.moving && c.Namespace == w.ownNamespace:
		at.Rank = 0
	case c.moving:
		at.Rank = 1
	case c.kindLetter == layout.WaitingZone:
		at.Rank = 2
	case c.inZone:
		at.Rank = 3
	case c.Namespace == w.ownNamespace:
		at.Rank = 4
	case c.keptOut == c.Namespace:
		// Data of the Record's own namespace kept the Record out, so this namespace had the name (S2.8).
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

func (w *window) addCandidate(c candidate) {
	if w.start.UID != "" && compareCursors(w.cursorAt(c), w.start) <= 0 || !w.start.Moved && !c.moving {
		// Decided by an earlier window, or not yet: other objects follow the moving Records.
		return
	}
	if w.candidates = append(w.candidates, c); len(w.candidates) >= 2*maxWindow {
		// Sorting at each double size keeps memory bounded and costs little.
		w.truncate()
	}
}

func (w *window) truncate() []candidate {
	slices.SortFunc(w.candidates, w.compareCandidates)
	w.candidates = slices.CompactFunc(w.candidates, func(x, y candidate) bool { return x.UID == y.UID })
	if len(w.candidates) > maxWindow {
		w.candidates, w.more = w.candidates[:maxWindow], true
	}
	return w.candidates
}

// findWindow finds the next objects to decide, up to a limit. While Records move to another zone, their names are
// locked, and many waiting objects would prolong the lock. So findWindow scans waiting objects during a move only if
// an interruption is possible.
func (ob *Outbox) findWindow(ctx context.Context, s *workState) (*window, error) {
	w := windowOf(s)
	mayGet, err := ob.readRuled(ctx, s)
	if err != nil {
		return nil, err
	}
	// Scan, with the first maxWindow candidates behind the cursor.
	for _, scan := range s.Work.Scans {
		if !s.scansNow(scan) {
			continue
		}
		add := w.addCandidate
		if s.isOfZone(scan) {
			// A new zone apps.example.org. scans all waiting objects at and below apps. Namespaces without a rule get
			// nothing there.
			add = func(c candidate) {
				if c.kindLetter != layout.WaitingRecord || mayGet(c.Namespace) {
					w.addCandidate(c)
				}
			}
		}
		if err := ob.findCandidates(ctx, s, scan, add); err != nil {
			return nil, err
		}
	}

	// Sort.
	w.truncate()
	return w, nil
}

// scansNow reports whether a scan is for this window: moves come first, other scans afterwards.
func (s *workState) scansNow(scan law.Scan) bool {
	if s.moves(scan) {
		return !s.cursor.Moved
	}
	return s.cursor.Moved || s.interrupted
}

func (s *workState) isOfZone(scan law.Scan) bool {
	return scan.Kind == law.ScanWaiting && !scan.Exact && len(s.Work.Zones) == 1 && scan.Name == s.Work.Zones[0].FQDN
}

func (ob *Outbox) findCandidates(ctx context.Context, s *workState, scan law.Scan, found func(candidate)) error {
	if scan.Kind == law.ScanNamespaces {
		return ob.scanNamespaces(ctx, s, scan, found)
	}
	if scan.Kind == law.ScanDue {
		return ob.scanDue(ctx, scan, found)
	}
	prefix := ob.scannedKeys(scan)
	if prefix == "" {
		return nil
	}
	_, err := etcd.Scan(ctx, ob.Mem.Client, prefix, fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
		c, ok, err := ob.candidateAt(s, scan, kv)
		if ok {
			found(c)
		}
		return err
	})
	return err
}

// readRuled returns whether a namespace has a rule of the work's zone, by the Zone or a Delegation. No zone adopts the
// waiting Records of others, and thousands of them would keep a new zone unsettled: a round names their reason later.
func (ob *Outbox) readRuled(ctx context.Context, s *workState) (func(namespace string) bool, error) {
	all := func(string) bool { return true }
	if len(s.Work.Zones) != 1 {
		return all, nil
	}
	at := s.Work.Zones[0]
	zone, err := ob.Mem.ZoneAt(ctx, ob.Mem.Layout.Zone(at.Namespace, at.Name))
	if err != nil || zone == nil || zone.UID != at.UID || zone.Pending {
		return all, err
	}

	ruled := map[string]bool{zone.Namespace: true}
	for i := range zone.Rules {
		if len(zone.Rules[i].Namespaces) == 0 {
			// A rule for any namespace.
			return all, nil
		}
		for _, namespace := range zone.Rules[i].Namespaces {
			ruled[namespace] = true
		}
	}

	prefix := ob.Mem.Layout.Key(law.RulesKey(zone.UID, "")) // of Delegations
	_, err = etcd.Scan(ctx, ob.Mem.Client, prefix, fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
		ruled[strings.TrimPrefix(string(kv.Key), prefix)] = true
		return nil
	})
	return func(namespace string) bool { return ruled[namespace] }, err
}

func (s *workState) moves(scan law.Scan) bool {
	return scan.Kind == law.ScanMembers && (len(s.Work.Zones) == 0 || s.Work.Zones[0].UID != scan.Zone)
}

// scannedKeys returns the prefix of the keys to scan, or "" for a scan of other kinds.
func (ob *Outbox) scannedKeys(scan law.Scan) string {
	switch scan.Kind {
	case law.ScanMembers, law.ScanAddresses:
		return ob.Mem.Layout.MembersBelow(scan.Zone, scan.Owner)
	case law.ScanWaiting:
		return ob.Mem.Layout.WaitingAt(scan.View, scan.Name, scan.Exact)
	case law.ScanReferring:
		return ob.Mem.Layout.WaitingFor(scan.Target)
	case law.ScanPending:
		return ob.Mem.Layout.WaitingFor(scan.Target) + layout.WaitingZone + "/"
	}
	return ""
}

// candidateAt returns the object of a key scanned by a cascade: an object waiting for a zone or name, or a Record in a
// zone (a member). It returns false if the cascade need not decide the object.
func (ob *Outbox) candidateAt(s *workState, scan law.Scan, kv *mvccpb.KeyValue) (c candidate, ok bool, err error) {
	if scan.Kind != law.ScanMembers && scan.Kind != law.ScanAddresses {
		var w layout.Waiter
		if err := layout.Decode(kv.Value, &w); err != nil {
			return c, false, layout.Unreadable(string(kv.Key), err)
		}
		if c.kindLetter, c.Namespace, c.Name, ok = layout.WaitingObject(string(kv.Key)); !ok {
			return c, false, fmt.Errorf("%q is no waiting key", kv.Key)
		}
		c.UID, c.created, c.moving, c.keptOut = w.UID, w.Created, w.Moves, w.KeptOut

		// decideDelegations has decided Delegations. A key newer than the work belongs to an object moved by the
		// cascade, or to a later one. Both are decided already.
		decided := kv.CreateRevision > s.createRev && !s.interrupted && slices.ContainsFunc(s.Work.Scans, s.moves)
		return c, c.kindLetter != layout.WaitingDelegation && scan.Covers(c.Namespace) && !decided, nil
	}

	// A Record adopted after the cascade's creation was decided on the new state. So a busy client does not prolong the
	// cascade.
	if s.createRev > 0 && kv.ModRevision > s.createRev {
		return c, false, nil
	}

	c.kindLetter = layout.WaitingRecord
	_, owner, namespace, object, err := ob.Mem.Layout.ParseMember(string(kv.Key))
	if c.Namespace, c.Name = namespace, object; err != nil || !scan.Covers(namespace) {
		return c, false, err
	}

	if !scan.Name.IsZero() {
		// The zone is removed, so the name comes from the scan. The decision compares status.fqdn.
		at, err := owner.In(scan.Name)
		if err != nil {
			return c, false, err
		}
		c.removedFQDN = at.String()
	}

	var m law.Member
	if err := layout.Decode(kv.Value, &m); err != nil {
		return c, false, layout.Unreadable(string(kv.Key), err)
	}
	c.UID, c.created, c.moving = m.UID, m.Created, s.moves(scan)
	c.inZone = !c.moving
	return c, true, nil
}

// scanNamespaces calls found with the objects of some namespaces that a changed rule concerns: Records in the zone of
// the scan, and Records and zones waiting for that zone. Unreadable Records are noted in s.
func (ob *Outbox) scanNamespaces(ctx context.Context, s *workState, scan law.Scan, found func(candidate)) error {
	// All namespaces are read at the revision of the first page.
	var rev int64
	for _, namespace := range scan.Namespaces {
		if err := etcd.Each(ctx, ob.Mem.Client, ob.Mem.Layout.Record(namespace, ""), &rev, func(key string, data []byte,
			mod int64) error {
			c, ok, err := ob.recordScanned(ctx, &scan, key, data, mod)
			switch {
			case errors.Is(err, facts.ErrDamaged):
				_, object, _ := ob.Mem.Layout.ObjectName(key)
				return s.skipDamaged(ctx, law.Ref{Namespace: namespace, Name: object}, err)
			case ok:
				found(c)
			}
			return err
		}); err != nil {
			return err
		}

		if err := etcd.Each(ctx, ob.Mem.Client, ob.Mem.Layout.Zone(namespace, ""), &rev, func(key string, data []byte, mod int64) error {
			o := &v1alpha1.Zone{}
			if err := ob.Mem.Zones.Decode(ctx, key, data, mod, o); err != nil || o.Status.FQDN != "" {
				return err
			}
			spec, err := lawform.ZoneSpec(o)
			if err == nil && spec.Waiting().MatchesTarget(&scan) {
				found(candidate{Ref: spec.Ref, kindLetter: layout.WaitingZone, created: o.CreationTimestamp.Unix()})
			}
			return err
		}); err != nil {
			return err
		}
	}

	return nil
}

// recordScanned returns a stored Record as a candidate, or false if the Record is in another zone and does not wait for
// the scanned zone.
func (ob *Outbox) recordScanned(ctx context.Context, scan *law.Scan, key string, data []byte, mod int64) (c candidate, ok bool,
	err error) {
	o := &v1alpha1.Record{}
	if err := ob.Mem.Records.Decode(ctx, key, data, mod, o); err != nil {
		return c, false, fmt.Errorf("%w: %w", facts.ErrDamaged, err)
	}
	in, waits, err := objects.AdoptedOrWaiting(o)
	if err != nil {
		return c, false, fmt.Errorf("%w: %w", facts.ErrDamaged, err)
	}
	if in != nil && in.Zone.UID != scan.Zone || in == nil && !waits.MatchesTarget(scan) {
		return c, false, nil
	}
	c, err = ob.recordCandidate(ctx, o, waits)
	c.inZone = in != nil
	return c, err == nil, err
}

// recordCandidate returns a Record as a candidate. For a Record that waits at a name, the key of the waiting Record
// tells whose data kept the Record out.
func (ob *Outbox) recordCandidate(ctx context.Context, o *v1alpha1.Record, waits *law.Waiting) (candidate, error) {
	c := candidate{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)}, kindLetter: layout.WaitingRecord,
		created: o.CreationTimestamp.Unix()}
	if waits == nil || waits.FQDN.IsZero() {
		return c, nil
	}
	r, err := ob.Mem.Client.Get(ctx, ob.Mem.Layout.Waiting(waits, "records", o.Namespace, o.Name)[0])
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
