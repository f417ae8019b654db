// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// standing is a work in progress.
type standing struct {
	commit.Item
	// cursor is how far the work has come. It goes into the item with each sign of life, and begins anew where the
	// item was extended.
	cursor law.Cursor
	// again says that the work may have been interrupted.
	again bool
	// damaged are the records that are left out. They go into the item with the cursor.
	damaged []law.Ref
	// place is that of its lane; nil: it needs none.
	place *place
	// since is the revision at which the work was owed, and beaten the time at which this server last said in the
	// item that it carries the work out.
	since  int64
	beaten time.Time
}

// beginWork takes over how far the work has come, as its item says. An item that was extended since begins anew.
func (s *standing) beginWork() {
	if s.cursor = (law.Cursor{Times: s.Work.Times}); s.damaged == nil {
		s.damaged = s.Work.Damaged
	}
	if at := s.Work.Cursor; at != nil && at.Times == s.Work.Times {
		s.cursor = *at
	}
}

// hasBegun reports whether candidates of the work have been decided: all that comes before these is through.
func (s *standing) hasBegun() bool { return s.cursor != law.Cursor{Times: s.cursor.Times} }

// rewriteItem replaces the item as it was last read.
func (s *standing) rewriteItem(ctx context.Context, box *Outbox, next law.Work) error {
	key := box.mem.Layout.Outbox(s.Work.ID)
	r, err := box.mem.Client.Txn(ctx).If(etcd.RevisionIs(key, s.Mod)).Then(etcd.OpPut(key, layout.Encode(next))).Commit()
	if err != nil {
		return err
	}
	if !r.Succeeded {
		return s.Refresh(ctx, box.mem)
	}
	s.Work, s.Mod = next, r.Header.Revision
	return nil
}

const (
	// foreignAfter is the time for which another server's cascade is left to that server when it says nothing.
	// beatEvery is the time between two signs of life.
	foreignAfter = 3 * time.Second
	beatEvery    = time.Second
)

// renewLease says in the item, once a second, that this server carries the work out. Two servers may begin, after a
// start or when one stood still: the first to say so goes on, and the other looks on. Only time rests on it, since each
// step is guarded.
func (s *standing) renewLease(ctx context.Context, box *Outbox) error {
	if time.Since(s.beaten) < beatEvery {
		return nil
	}
	return s.noteProgress(ctx, box)
}

// noteProgress writes into the item which server carries the work out, and how far it has come.
func (s *standing) noteProgress(ctx context.Context, box *Outbox) error {
	s.beaten = time.Now()
	next := s.Work
	next.Runner = box.mem.ID
	if s.cursor.Times == next.Times && s.hasBegun() {
		at := s.cursor
		next.Cursor, next.Damaged = &at, s.damaged
	}
	return s.rewriteItem(ctx, box, next)
}

// maxRest bounds the rest of a cascade after one go, however long that took.
const maxRest = 20 * time.Millisecond

// betweenGoes is called after each go of a work, which began at a time and met so many writes of clients. It renews the
// lease, and rests where clients have written meanwhile, in whichever zone, so that they have server and etcd: a
// cascade that always has writes under way makes each of theirs wait, and each of several cascades rests the longer.
// When the slice of its lane is over it gives the place to another one, and waits for its next turn: paused. Another
// server may go on with the work meanwhile.
func (box *Outbox) betweenGoes(ctx context.Context, s *standing, began time.Time, clients int64) (paused bool, err error) {
	if err := s.renewLease(ctx, box); err != nil {
		return false, err
	}
	if box.com.Clients.Load() != clients {
		etcd.Pause(ctx, min(time.Since(began), maxRest)*time.Duration(max(1, len(box.lanes.places))))
	}
	if !box.lanes.isOverdue(s.place) {
		return false, ctx.Err()
	}
	if err := s.noteProgress(ctx, box); err != nil {
		return false, err
	}
	box.lanes.givePlaceUp(s.place)
	if err := box.lanes.takePlace(ctx, s.place); err != nil {
		return false, err
	}
	return true, s.noteProgress(ctx, box)
}

// A record that cannot be read does not stop a cascade. The cascade leaves it out and notes it in its item, and takes
// its marks from the zones as if the record had been decided. The item stays with what was left out alone, but
// that of a round: the next one tries what waits. A server that can read the record again, or finds it gone, ends the
// item.

// MaxDamaged bounds the records that an item notes. With more of them the store is damaged, or the encryption
// configuration is wrong, and the cascade waits for a repair.
const MaxDamaged = 100

// leaveOut notes a record that cannot be read, for the reason cause.
func (s *standing) leaveOut(ctx context.Context, record law.Ref, cause error) error {
	if slices.Contains(s.damaged, record) {
		return nil
	}
	if len(s.damaged) == MaxDamaged {
		return fmt.Errorf("more than %d records: %w: %w", MaxDamaged, facts.ErrDamaged, cause)
	}
	s.damaged = append(slices.Clone(s.damaged), record)
	klog.FromContext(ctx).Error(cause, "a cascade leaves out a record that cannot be read; run kubizone fsck",
		"record", record.Namespace+"/"+record.Name, "why", s.Work.Reason)
	return nil
}

// remainder returns the item of a work that has left records out and is otherwise through.
func (s *standing) remainder() law.Work {
	w := s.Work
	return law.Work{ID: w.ID, Reason: w.Reason, View: w.View, By: w.By, Since: w.Since, Damaged: s.damaged}
}
