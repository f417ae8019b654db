// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// Outbox carries out what writes owe.
type Outbox struct {
	mem                      *facts.Memory
	jr                       *journal.Journal
	com                      *commit.Committer
	placer                   *objects.Placer
	terminating              func(namespace string) bool // of ledger.Config
	serialsEvery, usageEvery time.Duration
	tryEvery                 time.Duration
	waiting                  atomic.Int64 // keys under which something waits (countWaiting)
	maxLeftBy                int
	announce                 Announce
	foreign                  map[string]foreignWork // as the last sweep saw it
	lanes                    lanes
	failed                   failures
}

// New returns an Outbox over these packages. terminating says whether a namespace is being deleted; nil: none is.
// announce may be nil.
func New(mem *facts.Memory, jr *journal.Journal, com *commit.Committer, placer *objects.Placer, terminating func(string) bool,
	announce Announce, serialsEvery, usageEvery, tryEvery time.Duration, maxLeftBy int) *Outbox {
	return &Outbox{mem: mem, jr: jr, com: com, placer: placer, terminating: terminating, announce: announce, maxLeftBy: maxLeftBy,
		serialsEvery: serialsEvery, usageEvery: usageEvery, tryEvery: tryEvery,
		lanes: lanes{busy: map[string]bool{}, most: maxLanes, slice: laneSlice}}
}

// standing is a work in progress.
type standing struct {
	commit.Item
	// times is the Times of the item when the work began. Where it is higher at the end, the work begins again.
	times int
	// again says that the work may have been interrupted.
	again bool
	// damaged are the records that are left out (damaged.go).
	damaged []law.Ref
	// place is that of its lane; nil: it needs none.
	place *place
	// since is the revision at which the work was owed, and beaten the time at which this server last said in the
	// item that it carries the work out.
	since  int64
	beaten time.Time
}

// itemOf returns the item that writes name; nil where the work is no cascade.
func (s *standing) itemOf() *commit.Item {
	if s == nil {
		return nil
	}
	return &s.Item
}

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

// renewLease says in the item, once a second, that this server carries the work out. Two servers may begin, after a
// start or when one stood still: the first to say so goes on, and the other looks on. Only time rests on it, since
// each step is guarded.
func (s *standing) renewLease(ctx context.Context, box *Outbox) error {
	if s.beaten.IsZero() {
		s.beaten = time.Now()
	}
	if time.Since(s.beaten) < beatEvery {
		return nil
	}
	s.beaten = time.Now()
	next := s.Work
	next.Runner = box.mem.ID
	return s.rewriteItem(ctx, box, next)
}

// MigrationID is the prefix of the ids of works that a migration owes.
const MigrationID = "migration-"

// Intervals of the background.
const (
	sweepEvery = 500 * time.Millisecond
	// foreignAfter is the time for which another server's cascade is left to that server when it says nothing.
	// beatEvery is the time between two signs of life.
	foreignAfter = 3 * time.Second
	beatEvery    = time.Second
)

// foreignWork is another server's item as this one first met it at its revision.
type foreignWork struct {
	mod int64
	at  time.Time
}

// maxRest bounds the rest of a cascade after one go, however long that took.
const maxRest = 20 * time.Millisecond

// yieldToClients rests, so that clients that write meanwhile, in whichever zone, have server and etcd: a cascade that
// always has writes under way makes each of theirs wait. Each of several cascades rests the longer.
func yieldToClients(ctx context.Context, d time.Duration, cascades int) {
	timer := time.NewTimer(min(d, maxRest) * time.Duration(max(1, cascades)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// writeZone commits a decision about a zone object that no client requested.
func (box *Outbox) writeZone(ctx context.Context, o *v1alpha1.Zone, mod int64, s *standing, ask func(*law.Seen) law.Outcome) (
	commit.Outcome, *commit.Write, error) {
	w := box.com.WriteOf("zones", o, mod)
	w.Was, w.Hint, w.Item, w.Ask = o, w.Key, s.itemOf(), ask
	w.Primary = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		if plan.Zone == nil {
			return nil, nil, nil
		}
		placed := o.DeepCopy()
		box.placer.PlaceZone(placed, plan.Zone)
		if apiequality.Semantic.DeepEqual(placed.Status, o.Status) && len(plan.Writes) == 0 {
			plan.Zone, plan.Orphan, plan.OrphanBefore = nil, nil, nil
			return nil, nil, nil
		}
		data, err := box.mem.Zones.Encode(ctx, w.Key, placed)
		op := etcd.OpPut(w.Key, data)
		return &op, placed, err
	}
	out, err := box.com.Commit(ctx, w)
	return out, w, err
}

func (c candidate) ref() law.Ref {
	return law.Ref{Namespace: c.namespace, Name: c.object, UID: c.uid}
}

// giveWay gives this lane's place to another one, when its slice is over, and waits for its next turn. Meanwhile it
// renews the lease of the work.
func (box *Outbox) giveWay(ctx context.Context, s *standing) error {
	if !box.lanes.isOverdue(s.place) {
		return nil
	}
	turn := box.lanes.joinQueue()
	box.lanes.givePlaceUp(s.place)
	beats := time.NewTicker(beatEvery)
	defer beats.Stop()
	var err error
	for {
		select {
		case <-turn: // also after an error: the lane has its place back, and gives it up later
			s.place.since = time.Now()
			return err
		case <-beats.C:
			if err == nil {
				err = s.renewLease(ctx, box)
			}
		case <-ctx.Done():
			s.place.lost = !box.lanes.leaveQueue(turn)
			return ctx.Err()
		}
	}
}

// Terminates reports whether a namespace is being deleted, as far as this server has heard (S2.6).
func (box *Outbox) Terminates(namespace string) bool {
	return box.terminating != nil && box.terminating(namespace)
}

// markID is the id of the mark that the steps of a work leave at the zones that they change; "" where the zones stay
// settled (law.Work.Unmarked).
func (s *standing) markID() string {
	if s.Work.Unmarked {
		return ""
	}
	return s.Work.ID
}

// candidate is something to decide anew.
type candidate struct {
	letter, namespace, object string
	uid                       string
	created                   int64
	came                      bool   // it stood in another zone than the one that takes it
	stands                    bool   // it is in the zone
	keptOut                   string // law.Waiting.KeptOut
}
