// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

type workState struct {
	commit.Item
	// cursor is the progress of the work, stored at each renewal of the lease, and reset when another write extends the
	// item.
	cursor      law.Cursor
	interrupted bool // an earlier attempt, or another server, may have begun the work
	// damagedRecords are left out, and stored with the cursor.
	damagedRecords []law.Ref
	place          *place
	createRev      int64
	renewedAt      time.Time
	decidedCount   int
}

func (ob *Outbox) startSpan(ctx context.Context, s *workState) (end func(*error)) {
	if s.Work.Trace == "" {
		return func(*error) {}
	}
	_, span := traces.StartCaused(ctx, ob.Traces, "Cascade", []string{s.Work.Trace})
	s.Trace = traces.Parent(span)
	return func(err *error) {
		span.SetAttributes(attribute.String("kubizone.cause", s.Work.Reason), attribute.Int("kubizone.decided", s.decidedCount))
		traces.End(span, *err != nil, "interrupted")
	}
}

func (s *workState) beginWork() {
	if s.cursor = (law.Cursor{Times: s.Work.Times}); s.damagedRecords == nil {
		s.damagedRecords = s.Work.Damaged
	}
	// The cursor of an earlier extension is void: the new scans may find objects with a lower position.
	if at := s.Work.Cursor; at != nil && at.Times == s.Work.Times {
		s.cursor = *at
	}
}

func (s *workState) hasBegun() bool { return s.cursor != law.Cursor{Times: s.cursor.Times} }

// rewriteItem puts the item of a work, as next. If another write has changed the item, s gets the changed item instead,
// and the error is ErrTakenOver or ErrCascadeEnded if this server must stop.
func (s *workState) rewriteItem(ctx context.Context, ob *Outbox, next law.Work) error {
	key := ob.Mem.Layout.Outbox(s.Work.ID)
	r, err := ob.Mem.Client.Txn(ctx).If(etcd.RevisionIs(key, s.Mod)).Then(etcd.OpPut(key, layout.Encode(next))).Commit()
	if err != nil {
		return err
	}
	if !r.Succeeded {
		return s.Refresh(ctx, ob.Mem)
	}
	s.Work, s.Mod = next, r.Header.Revision
	return nil
}

const (
	// takeoverAfter is the silence after which this server takes over a cascade, renewEvery the period of renewals.
	takeoverAfter = 3 * time.Second
	renewEvery    = time.Second
)

// renewLease renews the lease of a work. If two servers begin a work, the first to renew continues. A lost lease costs
// only time, as each step is compared.
func (s *workState) renewLease(ctx context.Context, ob *Outbox) error {
	if time.Since(s.renewedAt) < renewEvery {
		return nil
	}
	return s.noteProgress(ctx, ob)
}

func (s *workState) noteProgress(ctx context.Context, ob *Outbox) error {
	s.renewedAt = time.Now()
	next := s.Work
	next.Runner = ob.Mem.ID
	// After an extension by another write, the cursor is of the former scans, and not stored.
	if s.cursor.Times == next.Times && s.hasBegun() {
		at := s.cursor
		next.Cursor, next.Damaged = &at, s.damagedRecords
	}
	return s.rewriteItem(ctx, ob, next)
}

const maxPause = 20 * time.Millisecond

// yieldBetweenSteps pauses a cascade if a client has written since its last steps began. The caller passes the time
// when they began, and Committer.Clients as read then. After a wait for a place among running cascades, paused is true,
// because another server may have taken over the work.
func (ob *Outbox) yieldBetweenSteps(ctx context.Context, s *workState, began time.Time, clientsThen int64) (paused bool, err error) {
	if err := s.renewLease(ctx, ob); err != nil {
		return false, err
	}
	// The writes of clients, in any zone, would wait for steps. The pause grows with the number of running cascades.
	if ob.Committer.Clients.Load() != clientsThen {
		etcd.Pause(ctx, min(time.Since(began), maxPause)*time.Duration(max(1, len(ob.lanes.places))))
	}
	if !ob.lanes.isOverdue(s.place) {
		return false, ctx.Err()
	}

	// Note the progress before and after the wait, to keep the lease.
	if err := s.noteProgress(ctx, ob); err != nil {
		return false, err
	}
	// The wait may take longer than takeoverAfter, so another server may take the work over.
	ob.lanes.givePlaceUp(s.place)
	if err := ob.lanes.takePlace(ctx, s.place); err != nil {
		return false, err
	}
	return true, s.noteProgress(ctx, ob)
}

// MaxDamaged bounds the damaged records of an item. Beyond it, the store is damaged or the encryption configuration
// wrong, and the cascade waits for a repair.
const MaxDamaged = 100

// skipDamaged notes an unreadable record in the outbox item, and the cascade goes on. The item stays until a server can
// read the record or the record is gone.
func (s *workState) skipDamaged(ctx context.Context, record law.Ref, cause error) error {
	if slices.Contains(s.damagedRecords, record) {
		return nil
	}
	if len(s.damagedRecords) == MaxDamaged {
		return fmt.Errorf("more than %d records: %w: %w", MaxDamaged, facts.ErrDamaged, cause)
	}
	s.damagedRecords = append(slices.Clone(s.damagedRecords), record)
	klog.FromContext(ctx).Error(cause, "a cascade leaves out a record that cannot be read; run kubizone fsck",
		"record", record.Namespace+"/"+record.Name, "why", s.Work.Reason)
	return nil
}

func (s *workState) remainder() law.Work {
	w := s.Work
	return law.Work{ID: w.ID, Reason: w.Reason, View: w.View, By: w.By, Since: w.Since, Damaged: s.damagedRecords}
}
