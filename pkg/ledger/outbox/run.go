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
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/zones"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/journal"
)

const (
	sweepEvery = 500 * time.Millisecond
	dutyEvery  = 4 * sweepEvery
)

// Run processes the outbox and the other duties until ctx ends. Several servers may run on a store.
func (box *Outbox) Run(ctx context.Context) error {
	defer box.lanes.Wait()
	var duties sync.WaitGroup
	defer duties.Wait()
	for _, duty := range []struct {
		every time.Duration
		do    func(context.Context, sightings) sightings
	}{
		{dutyEvery, box.sweepCuts}, {dutyEvery, box.sweepMarks}, {dutyEvery, box.sweepWithdrawals},
		{box.usageEvery, box.sweepUsage}, {box.serialsEvery, box.sweepSerials}, {box.serialsEvery,
			func(ctx context.Context, _ sightings) sightings {
				_ = box.SweepCondensed(ctx) // the next sweep retries
				return nil
			}},
	} {
		duties.Go(func() {
			for seen := duty.do(ctx, nil); etcd.Pause(ctx, duty.every); {
				seen = duty.do(ctx, seen)
			}
		})
	}
	duties.Go(func() { box.followRounds(ctx) })
	duties.Go(func() { box.followFreed(ctx) })
	rev := box.beginItems(ctx)
	duties.Go(func() { box.followItems(ctx, rev) })
	for all := true; ; all = false {
		box.sweepOutbox(ctx, all)
		select {
		case <-ctx.Done():
			return nil
		case <-box.com.Owing():
		case <-time.After(sweepEvery):
		}
	}
}

func (box *Outbox) sweepOutbox(ctx context.Context, all bool) {
	due := map[string][]*standing{} // by namespace, oldest first
	for _, s := range box.listDue(all) {
		due[s.Work.By] = append(due[s.Work.By], s)
	}
	for name, works := range due {
		if !box.lanes.takeLane(name) {
			continue
		}
		box.lanes.Go(func() {
			defer func() {
				if box.lanes.leaveLane(name) {
					box.com.Rouse()
				}
			}()
			at := &place{}
			defer box.lanes.givePlaceUp(at)
			if box.lanes.takePlace(ctx, at) != nil {
				return
			}
			for _, s := range works {
				s.place = at
				box.takeUp(ctx, s)
				if box.lanes.yieldPlace(ctx, at) != nil {
					return
				}
			}
		})
	}
}

// listDue returns the works for this server, oldest first: its own, those of a server silent for foreignAfter and, if
// all is true, those without a runner.
func (box *Outbox) listDue(all bool) (works []*standing) {
	box.items.mu.Lock()
	for _, one := range box.items.by {
		own := box.com.Owns(one.Work.ID)
		last, failed := box.failed.Load(one.Work.ID)
		rests := failed && time.Now().Before(last.(retry).until)
		if !rests && (own || all && one.Work.Runner == "" || time.Since(one.met) >= foreignAfter) {
			works = append(works, &standing{Item: one.Item, since: one.since, again: failed || !own})
		}
	}
	box.failed.Range(func(id, _ any) bool {
		if box.items.by[box.mem.Layout.Outbox(id.(string))] == nil {
			box.failed.Delete(id)
		}
		return true
	})
	box.items.mu.Unlock()
	slices.SortFunc(works, func(x, y *standing) int {
		return cmp.Or(cmp.Compare(x.since, y.since), cmp.Compare(x.Work.ID, y.Work.ID))
	})
	return works
}

func (box *Outbox) takeUp(ctx context.Context, s *standing) {
	s.beaten = time.Now()
	err := func() (err error) {
		defer box.com.Recover(ctx, nil, &err)
		ctx := etcd.PaidBy(ctx, etcd.Payer{Namespace: s.Work.By, Weight: 1})
		if err := s.Refresh(ctx, box.mem); err != nil {
			return err
		}
		return box.carryOut(ctx, s)
	}()
	switch {
	case err == nil, errors.Is(err, commit.ErrThrough), errors.Is(err, commit.ErrElsewhere):
		box.com.Disown(s.Work.ID)
	case errors.Is(err, journal.ErrDelivered), apierrors.IsTooManyRequests(err):
		box.countFailure(s.Work.ID, longestWait)
	case ctx.Err() == nil:
		klog.FromContext(ctx).Error(err, "a cascade was interrupted; it goes on", "why", s.Work.Reason,
			"in", box.countFailure(s.Work.ID, longestRest))
	}
}

// sweepMarks settles zones held too long by their cascades (S7.2), and removes marks without an item, which would
// lock names and hold zones forever. An item is deleted with its last mark, so the store has lost such an item.
func (box *Outbox) sweepMarks(ctx context.Context, _ sightings) sightings {
	box.mem.Forget(time.Now().Add(-facts.Remembers))
	now := box.mem.Now().Unix()
	for k, h := range box.mem.Unsettled() {
		place := law.Place{Ref: h.Ref, View: k.View, FQDN: k.Name}
		var err error
		for _, mark := range h.Works {
			failed := box.decideZone(ctx, nil, h.Ref, func(*v1alpha1.Zone) (func(*law.Seen) law.Outcome, error) {
				// A later work with this ID changes the zone by its mark, and this write fails.
				r, err := box.mem.Client.Get(ctx, box.mem.Layout.Outbox(mark.ID), clientv3.WithKeysOnly())
				if err != nil || len(r.Kvs) > 0 {
					return nil, err
				}
				return func(seen *law.Seen) law.Outcome { return zones.DecideThrough(seen, place, mark.ID) }, nil
			})
			err = cmp.Or(err, failed)
		}
		if err == nil && h.OverdueAt(now) {
			err = box.decideZone(ctx, nil, h.Ref, func(*v1alpha1.Zone) (func(*law.Seen) law.Outcome, error) {
				return func(seen *law.Seen) law.Outcome { return zones.DecideOverdue(seen, place, now) }, nil
			})
		}
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("a zone stays unsettled", "zone", k.Name.String(), "why", err.Error())
		}
	}
	return nil
}

const (
	// The pause of a work doubles with each failure, up to longestRest, or to longestWait for Delivery or another
	// cascade (law.Later).
	firstRest   = time.Second
	longestRest = 5 * time.Minute
	longestWait = 10 * time.Second
)

type retry struct {
	rest  time.Duration
	until time.Time
}

func (box *Outbox) countFailure(id string, longest time.Duration) time.Duration {
	last, _ := box.failed.Load(id)
	failed, _ := last.(retry)
	rest := max(firstRest, min(2*failed.rest, longest))
	box.failed.Store(id, retry{rest, time.Now().Add(rest)})
	return rest
}
