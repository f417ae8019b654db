// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// processWork carries out a work from its cursor to the end, and again if another write extends the item meanwhile. The
// result is nil when the item is deleted.
func (ob *Outbox) processWork(ctx context.Context, s *workState) error {
	if s.Work.Left != "" && ob.IsTerminating(s.Work.Left) {
		// The namespace still terminates, so the item waits for a later sweep.
		return nil
	}
	for s.beginWork(); ; s.beginWork() {
		if !s.hasBegun() {
			// 1. Delegations, then zones: Records depend on both.
			if err := ob.decideDelegations(ctx, s); err != nil {
				return err
			}
			if err := ob.reparentZones(ctx, s); err != nil {
				return err
			}
		}
		// 2. Records, and zones that wait.
		if err := ob.decideFound(ctx, s); err != nil {
			return err
		}
		// 3. The end, in as many transactions as zones.
		if done, err := ob.finishWork(ctx, s); err != nil || done {
			return err
		}
	}
}

// decideFound decides the objects found by a cascade. Records moving to another zone come first, since their names are
// locked for clients until all have moved.
func (ob *Outbox) decideFound(ctx context.Context, s *workState) error {
	if !s.cursor.Moved {
		if slices.ContainsFunc(s.Work.Scans, s.moves) {
			// Example: the new zone apps.example.org. takes the Records at and below apps from example.org.
			if err := ob.moveRecords(ctx, s); err != nil {
				return err
			}
		}
		s.cursor = law.Cursor{Times: s.cursor.Times, Moved: true} // go on with the other objects
	}

	if err := ob.decideRepaired(ctx, s); err != nil {
		return err
	}

	// Leave the name to a cascade that moves Records there.
	isTrialAtName := s.Work.IsTrial() && len(s.Work.Scans) > 0
	if isTrialAtName && ob.isGaining(s.Work.View, s.Work.Scans[0].Name) {
		return nil
	}
	return ob.decideWindows(ctx, s)
}

// moveRecords decides the moving Records, and then unlocks their names.
func (ob *Outbox) moveRecords(ctx context.Context, s *workState) error {
	if err := ob.decideWindows(ctx, s); err != nil {
		return err
	}

	for _, place := range s.Work.Zones {
		// From this commit on, clients write at the names again, although waiting Records are not decided yet.
		ob.Mem.Fault("cascade-unlock")
		err := ob.decideZone(ctx, &s.Item, place.Ref, func(*v1alpha1.Zone) (func(*law.Facts) law.Outcome, error) {
			return func(seen *law.Facts) law.Outcome { return zones.DecideUnlock(seen, place, s.Work.ID) }, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// decideWindows decides all candidates behind the cursor, window by window.
func (ob *Outbox) decideWindows(ctx context.Context, s *workState) error {
	for {
		w, err := ob.findWindow(ctx, s)
		if err != nil {
			return err
		}
		paused, err := ob.decideWindow(ctx, s, w)
		if err != nil {
			return err
		}
		// After a pause the rest of the window may be outdated, so scan again.
		if !paused && !w.more {
			return nil
		}
	}
}

// decideWindow decides the candidates of w. After a pause it returns true, and the rest must be found again.
func (ob *Outbox) decideWindow(ctx context.Context, s *workState, w *window) (paused bool, err error) {
	for found := w.candidates; len(found) > 0; {
		began, clients := time.Now(), ob.Committer.Clients.Load()
		decided := 1
		if found[0].kindLetter == layout.WaitingZone {
			// A zone has a transaction of its own, and may adopt the Records that follow.
			ob.Mem.Fault("cascade-step")
			ob.Mem.Stats.CascadeSteps.Add(1)
			s.decidedCount++
			err = ob.decideZone(ctx, &s.Item, found[0].Ref, ob.askPending)
		} else {
			decided = min(len(found), ob.stepsAtOnce(&s.Work))
			err = ob.decideRecords(ctx, s, found[:decided])
		}
		if err != nil {
			return false, err
		}

		// Noted at the next renewal of the lease. A crash before repeats the steps, without effect.
		s.cursor = w.cursorAt(found[decided-1])
		found = found[decided:]
		paused, err = ob.yieldBetweenSteps(ctx, s, began, clients)
		if err != nil || paused {
			return paused, err
		}
	}
	return false, nil
}

// finishWork ends a cascade: it removes ended withdrawals, the cascade's marks at zones, and the keys of a purged zone.
// The last transaction deletes the outbox item. finishWork returns false if another write has extended the item, so
// that the cascade goes on.
func (ob *Outbox) finishWork(ctx context.Context, s *workState) (done bool, err error) {
	for s.Work.Times == s.cursor.Times { // not extended
		purges := s.Work.Purge != ""
		if purges && len(s.Work.Zones) == 0 && len(s.Work.Releases) == 0 {
			// The keys of the purged zone go last, when only the item is left to delete.
			if err := ob.purgeKeys(ctx, s); err != nil {
				return false, err
			}
			purges = false
		}
		if last, err := ob.endPart(ctx, s, purges); err != nil || last {
			return last, err
		}
	}
	return false, nil
}

// endPart commits the next part of the end of a work: some releases, the mark at a zone, or the last transaction. It
// returns true when the item is deleted. If another write has changed the item, the result is false, and s has the
// changed item.
func (ob *Outbox) endPart(ctx context.Context, s *workState, purges bool) (last bool, err error) {
	// 1. Choose the part, and the decision that goes with it.
	rest := s.Work
	w := &commit.Write{Object: commit.Object{Resource: "zones", Key: ob.Mem.Layout.Outbox(s.Work.ID)}, Expected: s.Mod}
	var at *law.Place
	switch n := len(rest.Zones); {
	case len(rest.Releases) > 0:
		rest.Releases = rest.Releases[min(len(rest.Releases), records.MaxReleases):]
		w.Decide = func(seen *law.Facts) law.Outcome { return zones.DecideReleaseDone(seen, &s.Work) }
	case n > 0:
		// The last zone of the list first, so Zones[0], which gains Records, is settled last.
		at, rest.Zones = &s.Work.Zones[n-1], slices.Clone(rest.Zones[:n-1])
		w.Decide = func(seen *law.Facts) law.Outcome { return zones.DecideCascadeDone(seen, *at, s.Work.ID) }
	case rest.Ended != nil:
		w.Decide = func(seen *law.Facts) law.Outcome {
			return zones.DecideEndingDone(seen, &s.Work, ob.Mem.Now().Unix())
		}
	default:
		// No zone has a mark any more: only the item is left.
		w.Decide = func(*law.Facts) law.Outcome { return law.Outcome{Plan: &law.Plan{}} }
	}

	// 2. Delete the item, or put the rest of the work.
	if at = cmp.Or(at, s.Work.Ended); at != nil {
		w.Namespace, w.Name, w.LikelyZone = at.Namespace, at.Name, ob.Mem.Layout.Zone(at.Namespace, at.Name)
	}
	last = len(rest.Zones) == 0 && len(rest.Releases) == 0 && !purges
	leaves := len(s.damagedRecords) > 0 && !s.Work.IsRepeated()
	if last {
		rest = s.remainder()
	}

	w.ObjectOp = func(context.Context, *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		op := clientv3.OpDelete(w.Key)
		if !last || leaves {
			op = etcd.OpPut(w.Key, layout.Encode(rest))
		}
		return &op, nil, nil
	}

	// 3. Commit, unless the item has changed.
	ob.Mem.Fault("cascade-finish")
	out, err := ob.Committer.Commit(ctx, w)
	switch {
	case err != nil:
		return false, err
	case !out.OK:
		return false, s.Refresh(ctx, ob.Mem)
	case last && leaves:
		// The item stays for these records alone, and fsck names them.
		return false, fmt.Errorf("%d records are left out: %w", len(s.damagedRecords), facts.ErrDamaged)
	}

	s.Work, s.Mod = rest, out.Rev
	return last, nil
}

// purgeKeys deletes a removed or ended zone's keys, which no decision reads. If providers have yet to withdraw the
// zone, its RRsets and journal stay, and the error is ErrAwaitsDelivery.
func (ob *Outbox) purgeKeys(ctx context.Context, s *workState) error {
	if len(s.Work.Scans) > 0 { // an interruption must not repeat the scan
		next := s.Work
		next.Scans, next.Cursor, next.Damaged = nil, nil, s.damagedRecords
		if err := s.rewriteItem(ctx, ob, next); err != nil {
			return err
		}
	}

	// Providers that cannot list their RRsets, as by dynamic updates, need the keys for the withdrawal.
	waits, err := ob.waitsForDelivery(ctx, s)
	if err != nil {
		return err
	}
	rooms := layout.ZoneRooms
	if waits {
		rooms = layout.ZoneRooms[:layout.OwnRooms] // the other kinds of keys name the RRsets
	} else if err := ob.archiveRemoved(ctx, s); err != nil {
		return err
	}

	for _, room := range rooms {
		// The rooms go in order, a page at a time. An interruption repeats the empty part only.
		if err := ob.purgeRoom(ctx, s, room); err != nil {
			return err
		}
	}
	if waits {
		return journal.ErrAwaitsDelivery
	}
	return nil
}

// purgeRoom deletes all keys of the zone in a room, page by page, with pauses between the pages.
func (ob *Outbox) purgeRoom(ctx context.Context, s *workState, room string) error {
	const clientsThen = 0 // pause as if clients wrote
	key := ob.Mem.Layout.Room(room) + s.Work.Purge + "/"
	end := clientv3.GetPrefixRangeEnd(key)
	for {
		began := time.Now()
		next, more, err := etcd.DeletePage(ctx, ob.Mem.Client, key, end)
		if err != nil {
			return err
		}
		ob.Mem.Fault("purge-page")
		if !more {
			return nil
		}
		if _, err := ob.yieldBetweenSteps(ctx, s, began, clientsThen); err != nil {
			return err
		}
		// From the room's start, etcd would pass all deleted keys again.
		key = next
	}
}

// archiveRemoved moves the last steps of a removed zone into the history, which outlives the zone. If the item has
// changed meanwhile, for example by a renewal of the lease, archiveRemoved tries again.
func (ob *Outbox) archiveRemoved(ctx context.Context, s *workState) error {
	for before := int64(0); s.Mod != before; {
		before = s.Mod
		kept, err := ob.Journal.Archive.ArchiveRemoved(ctx, s.Work.Purge, etcd.RevisionIs(ob.Mem.Layout.Outbox(s.Work.ID), s.Mod))
		if err != nil || kept {
			return err
		}
		if err := s.Refresh(ctx, ob.Mem); err != nil {
			return err
		}
	}
	return fmt.Errorf("the steps of removed zone %s are not archived, as other servers were faster; the next attempt goes on", s.Work.Purge)
}

func (ob *Outbox) waitsForDelivery(ctx context.Context, s *workState) (bool, error) {
	if s.Work.Ended == nil || s.Work.Had == nil {
		// A deleted zone has a finalizer for this, and is removed after the withdrawal.
		return false, nil
	}
	o, _, err := ob.Mem.ReadZone(ctx, s.Work.Ended.Namespace, s.Work.Ended.Name)
	return err == nil && o != nil && string(o.UID) == s.Work.Purge && ob.Journal.HasDelivery(o), err
}
