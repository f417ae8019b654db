// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
)

const (
	sweepEvery = 500 * time.Millisecond
	dutyEvery  = 4 * sweepEvery
)

// Run processes the outbox, with all sweeps and rounds, until ctx ends. Several servers may run it at once.
func (ob *Outbox) Run(ctx context.Context) error {
	defer ob.lanes.Wait()
	// Start the sweeps and rounds, each in a goroutine of its own.
	var duties sync.WaitGroup
	defer duties.Wait()
	for _, duty := range ob.listDuties() {
		duties.Go(func() {
			seen := duty.sweep(ctx, nil)
			for etcd.Pause(ctx, duty.every) {
				seen = duty.sweep(ctx, seen)
			}
		})
	}

	duties.Go(func() { ob.followRounds(ctx) })
	duties.Go(func() { ob.followFreed(ctx) })
	rev := ob.beginItems(ctx)
	duties.Go(func() { ob.followItems(ctx, rev) })

	// Process the outbox, woken by this server's writes or after half a second.
	takesUnowned := true // the first sweep also takes works that no server runs
	for {
		ob.sweepOutbox(ctx, takesUnowned)
		takesUnowned = false
		select {
		case <-ctx.Done():
			return nil
		case <-ob.Committer.OutboxWakeups():
		case <-time.After(sweepEvery):
		}
	}
}

// duty is a sweep repeated at an interval. Each sweep gets the result of the last, at first nil.
type duty struct {
	every time.Duration
	sweep func(context.Context, seenKeys) seenKeys
}

// listDuties returns the sweeps with their intervals. The interval begins at the end of a sweep, so a slow sweep never
// overlaps with the next.
func (ob *Outbox) listDuties() []duty {
	return []duty{
		{every: dutyEvery, sweep: ob.sweepCuts},
		{every: dutyEvery, sweep: ob.sweepMarks},
		{every: dutyEvery, sweep: ob.sweepWithdrawals},
		{every: dutyEvery, sweep: ob.sweepDue},
		{every: ob.UsageEvery, sweep: ob.sweepUsage},
		{every: ob.SerialsEvery, sweep: ob.sweepSerials},
		{every: ob.SerialsEvery, sweep: ignoreError(ob.SweepCondensed)},
		{every: historyEvery, sweep: ignoreError(ob.SweepHistory)},
		{every: ob.SerialsEvery, sweep: ignoreError(ob.SweepStates)},
	}
}

func ignoreError(sweep func(context.Context) error) func(context.Context, seenKeys) seenKeys {
	return func(ctx context.Context, _ seenKeys) seenKeys {
		_ = sweep(ctx) // the next sweep retries
		return nil
	}
}

// sweepOutbox starts a lane for each namespace with due works, unless the namespace has a lane already. The lanes end
// later.
func (ob *Outbox) sweepOutbox(ctx context.Context, takesUnowned bool) {
	due := map[string][]*workState{} // by namespace, oldest first
	for _, s := range ob.listDue(takesUnowned) {
		due[s.Work.By] = append(due[s.Work.By], s)
	}
	for name, works := range due {
		if !ob.lanes.takeLane(name) {
			// The running lane has a fixed list of works. When the lane ends, the outbox looks for others.
			continue
		}
		ob.lanes.Go(func() {
			defer func() {
				if ob.lanes.leaveLane(name) {
					// A work was skipped meanwhile, so look again at once.
					ob.Committer.WakeOutbox()
				}
			}()

			// The lane's works share a place, and this goroutine alone uses it.
			at := &place{}
			defer ob.lanes.givePlaceUp(at)
			if ob.lanes.takePlace(ctx, at) != nil {
				return
			}

			for _, s := range works {
				s.place = at
				ob.runWork(ctx, s)
				if ob.lanes.yieldPlace(ctx, at) != nil {
					return
				}
			}
		})
	}
}

// listDue returns the works that this server should process now, in the order of their creation: works that this server
// began, abandoned works and, if takesUnowned is true, works without a server.
func (ob *Outbox) listDue(takesUnowned bool) (works []*workState) {
	ob.items.mu.Lock()
	// 1. Choose from the cached items.
	for _, cached := range ob.items.byKey {
		last, failed := ob.retries.Load(cached.Work.ID)
		rests := failed && time.Now().Before(last.(retry).notBefore)
		isOwn := ob.Committer.OwnsItem(cached.Work.ID)
		isUnowned := takesUnowned && cached.Work.Runner == ""
		// No renewal for three seconds, by this server's clock: the other server has stopped.
		isAbandoned := time.Since(cached.firstSeen) >= takeoverAfter
		if !rests && (isOwn || isUnowned || isAbandoned) {
			works = append(works, &workState{Item: cached.Item, createRev: cached.createRev, interrupted: failed || !isOwn})
		}
	}

	// 2. Forget the delays of works that have ended.
	ob.retries.Range(func(id, _ any) bool {
		if ob.items.byKey[ob.Mem.Layout.Outbox(id.(string))] == nil {
			ob.retries.Delete(id)
		}
		return true
	})

	ob.items.mu.Unlock()

	// 3. A namespace's works build on each other, so the oldest goes first.
	slices.SortFunc(works, func(x, y *workState) int {
		return cmp.Or(cmp.Compare(x.createRev, y.createRev), cmp.Compare(x.Work.ID, y.Work.ID))
	})
	return works
}

// runWork processes a work, and sets the time of the next try after an error. A panic counts as an error.
func (ob *Outbox) runWork(ctx context.Context, s *workState) {
	s.renewedAt = time.Now()
	err := func() (err error) {
		defer ob.Committer.Recover(ctx, nil, &err)
		// The namespace that caused the work pays, for example the owner of the new zone.
		ctx := etcd.PaidBy(ctx, etcd.Payer{Namespace: s.Work.By, Weight: 1})
		if err := s.Refresh(ctx, ob.Mem); err != nil {
			return err
		}
		defer ob.startSpan(ctx, s)(&err)
		return ob.processWork(ctx, s)
	}()
	switch {
	case err == nil, errors.Is(err, commit.ErrCascadeEnded), errors.Is(err, commit.ErrTakenOver):
		// Done, by this server or another.
		ob.Committer.DisownItem(s.Work.ID)
	case errors.Is(err, journal.ErrAwaitsDelivery), apierrors.IsTooManyRequests(err):
		// No fault, so no message, and soon again.
		ob.delayRetry(s.Work.ID, longestWait)
	case ctx.Err() == nil:
		klog.FromContext(ctx).Error(err, "a cascade was interrupted; it goes on", "why", s.Work.Reason,
			"in", ob.delayRetry(s.Work.ID, maxBackoff))
	}
}

// sweepMarks removes the marks that cascades have left at zones, if their outbox items are gone, because a mark would
// lock names forever. It also permits the delivery of zones whose cascades take too long.
func (ob *Outbox) sweepMarks(ctx context.Context, _ seenKeys) seenKeys {
	ob.Mem.DropOldFacts(time.Now().Add(-facts.Remembers))
	now := ob.Mem.Now().Unix()
	for k, h := range ob.Mem.CascadingZones() {
		place := law.Place{Ref: h.Ref, View: k.View, FQDN: k.Name}
		var err error
		for _, mark := range h.Works {
			failed := ob.removeLeftMark(ctx, place, mark.ID)
			err = cmp.Or(err, failed)
		}

		if err == nil && h.BecomesOverdue(now) {
			// A cascade may delay deliveries for a bounded time (S7.2). From here on, servers get the content as far as
			// decided.
			err = ob.decideZone(ctx, nil, h.Ref, func(*v1alpha1.Zone) (func(*law.Facts) law.Outcome, error) {
				return func(seen *law.Facts) law.Outcome { return zones.DecideOverdue(seen, place, now) }, nil
			})
		}
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("a zone stays unsettled", "zone", k.Name.String(), "why", err.Error())
		}
	}

	return nil
}

func (ob *Outbox) removeLeftMark(ctx context.Context, place law.Place, id string) error {
	return ob.decideZone(ctx, nil, place.Ref, func(*v1alpha1.Zone) (func(*law.Facts) law.Outcome, error) {
		// Without an item no server would ever remove the mark.
		// If a later work with this ID marks the zone meanwhile, the write fails.
		r, err := ob.Mem.Client.Get(ctx, ob.Mem.Layout.Outbox(id), clientv3.WithKeysOnly())
		if err != nil || len(r.Kvs) > 0 {
			return nil, err // the cascade goes on
		}
		return func(seen *law.Facts) law.Outcome { return zones.DecideCascadeDone(seen, place, id) }, nil
	})
}

const (
	// A work waits twice as long after each failure, up to maxBackoff, or longestWait for Delivery or another cascade
	// (law.Later).
	initialBackoff = time.Second
	maxBackoff     = 5 * time.Minute
	longestWait    = 10 * time.Second
)

type retry struct {
	delay     time.Duration
	notBefore time.Time
}

func (ob *Outbox) delayRetry(id string, longest time.Duration) time.Duration {
	last, _ := ob.retries.Load(id)
	failed, _ := last.(retry)
	rest := max(initialBackoff, min(2*failed.delay, longest))
	ob.retries.Store(id, retry{rest, time.Now().Add(rest)})
	return rest
}
