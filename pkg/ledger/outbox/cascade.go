// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/law/zones"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// Run carries out what writes owe: cascades, pending cuts, zones that are held back too long. It
// returns when ctx ends. Several servers may run it on one store: every step is
// decided by the law, guarded, and worth nothing the second time.
func (box *Outbox) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	defer box.lanes.Wait()
	var pending map[string]int64
	var counting sync.WaitGroup
	defer counting.Wait()
	counting.Go(func() { box.followUsage(ctx) })
	counting.Go(func() { box.countWaiting(ctx) })
	counting.Go(func() { box.followRounds(ctx) })
	counting.Go(func() { box.followFreed(ctx) })
	counting.Go(func() { box.followWithdrawals(ctx) })
	var serials map[string]kept
	var swept time.Time
	first := true
	for n := 0; ; n++ {
		box.sweepOutbox(ctx, first)
		if first || n%4 == 0 {
			pending = box.sweepCuts(ctx, pending)
			box.sweepOverdue(ctx)
			box.mem.Forget(time.Now().Add(-facts.Remembers))
		}
		if first || time.Since(swept) >= box.serialsEvery {
			serials, swept = box.sweepSerials(ctx, serials), time.Now()
			_ = box.SweepCondensed(ctx) // what is left of it goes in an hour
		}
		first = false
		select {
		case <-ctx.Done():
			return nil
		case <-box.com.Owing():
		case <-tick.C:
		}
	}
}

// sweepOutbox begins to carry out what is due in the outbox, lane by lane.
func (box *Outbox) sweepOutbox(ctx context.Context, all bool) {
	due := map[string][]*standing{}
	var order []string
	for _, s := range box.listDue(ctx, all) {
		name := s.Work.By
		if due[name] == nil {
			order = append(order, name)
		}
		due[name] = append(due[name], s)
	}
	for _, name := range order {
		if !box.lanes.takeLane(name) {
			continue
		}
		box.lanes.Go(func() {
			defer func() {
				if box.lanes.leaveLane(name) {
					box.com.Rouse()
				}
			}()
			place, ok := box.lanes.awaitPlace(ctx)
			if !ok {
				return
			}
			defer box.lanes.givePlaceUp(place)
			for _, s := range due[name] {
				s.place = place
				box.takeUp(ctx, s)
			}
		})
	}
}

// listDue returns the works that this server is to carry out, oldest first: its own, those of which another server
// has said nothing for foreignAfter, and with all also those that no server carries out yet.
func (box *Outbox) listDue(ctx context.Context, all bool) (works []*standing) {
	r, err := box.mem.Client.Get(ctx, box.mem.Layout.Room("outbox"), clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision,
		clientv3.SortAscend))
	if err != nil {
		return nil
	}
	foreign, known := map[string]foreignWork{}, map[string]bool{}
	defer func() { box.foreign = foreign }()
	for _, kv := range r.Kvs {
		var w law.Work
		if err := layout.Decode(kv.Value, &w); err != nil {
			klog.FromContext(ctx).Error(err, "an outbox item does not parse; run kubizone fsck", "key", string(kv.Key))
			continue
		}
		if !box.com.Owns(w.ID) && (!all || w.Runner != "") {
			seen, ok := box.foreign[w.ID]
			if !ok || seen.mod != kv.ModRevision {
				seen = foreignWork{kv.ModRevision, time.Now()}
			}
			if foreign[w.ID] = seen; time.Since(seen.at) < foreignAfter {
				continue
			}
		}
		if known[w.ID] = true; !box.failed.isResting(w.ID) {
			works = append(works, &standing{Item: commit.Item{Work: w, Mod: kv.ModRevision}, since: kv.CreateRevision})
		}
	}
	box.failed.keepOnly(known)
	return works
}

// takeUp carries a work out if it is still due: it may have ended after the outbox was read.
func (box *Outbox) takeUp(ctx context.Context, s *standing) {
	if ctx.Err() != nil {
		return
	}
	err := box.tryWork(ctx, s)
	if errors.Is(err, journal.ErrDelivered) {
		box.failed.countFailure(s.Work.ID, longestWait)
		return
	}
	if err != nil && !errors.Is(err, commit.ErrThrough) && !errors.Is(err, commit.ErrElsewhere) {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "a cascade was interrupted; it goes on", "why", s.Work.Reason,
				"in", box.failed.countFailure(s.Work.ID, longestRest))
		}
		return
	}
	box.com.Disown(s.Work.ID)
}

func (box *Outbox) tryWork(ctx context.Context, s *standing) (err error) {
	defer box.com.Recover(ctx, nil, &err)
	s.again = !box.com.Owns(s.Work.ID) || box.failed.hasFailed(s.Work.ID)
	if err := s.Refresh(ctx, box.mem); err != nil {
		return err
	}
	return box.carryOut(ctx, s)
}

// carryOut does all of a work and consumes its item.
func (box *Outbox) carryOut(ctx context.Context, s *standing) error {
	ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: s.Work.By, Weight: 1})
	if s.Work.Left != "" && box.Terminates(s.Work.Left) {
		return nil
	}
	s.times = s.Work.Times
	if err := box.takeIn(ctx, s); err != nil {
		return err
	}
	for i := range s.Work.Scans {
		var err error
		switch scan := s.Work.Scans[i]; scan.Kind {
		case law.ScanZones:
			err = box.reparentZones(ctx, s, scan)
		case law.ScanReferring:
			err = box.reparentReferring(ctx, s, scan)
		}
		if err != nil {
			return err
		}
	}
	if slices.ContainsFunc(s.Work.Scans, s.moves) {
		if err := box.decideFound(ctx, s, box.window(s, true)); err != nil {
			return err
		}
		for _, place := range s.Work.Zones {
			if err := box.unlockZone(ctx, s, place, s.Work.ID); err != nil {
				return err
			}
		}
	}
	if err := box.decideFound(ctx, s, box.window(s, false)); err != nil {
		return err
	}
	return box.finishWork(ctx, s)
}

// decideFound decides the candidates of a work, part by part.
func (box *Outbox) decideFound(ctx context.Context, s *standing, w *window) error {
	for {
		if err := box.collectCandidates(ctx, s, w); err != nil {
			return err
		}
		paused, err := box.decidePart(ctx, s, w)
		if err != nil {
			return err
		}
		switch {
		case paused: // candidates behind are collected anew: a cascade that waits keeps none
		case w.more:
			w.next()
		default:
			return nil
		}
	}
}

// unlockZone ends the lock of a work in one zone: what stood has moved, and what waits has no part in how long it took
// (S2.11). s is nil where the item of the work is lost.
func (box *Outbox) unlockZone(ctx context.Context, s *standing, place law.Place, id string) error {
	for {
		box.mem.Fault("cascade-unlock")
		o, mod, err := box.mem.ReadZone(ctx, place.Namespace, place.Name)
		if err != nil || o == nil || string(o.UID) != place.UID {
			return err
		}
		out, _, err := box.writeZone(ctx, o, mod, s, func(seen *law.Seen) law.Outcome { return zones.DecideUnlocked(seen, place, id) })
		if err != nil || out.OK {
			return err
		}
	}
}

// decidePart decides one part of the candidates, zones first. paused: the work had its slice, and the next part begins
// behind what it has decided.
func (box *Outbox) decidePart(ctx context.Context, s *standing, w *window) (paused bool, err error) {
	found := w.cutToSize()
	for len(found) > 0 && found[0].letter == layout.WaitingZone {
		box.mem.Fault("cascade-step")
		box.mem.Stats.CascadeSteps.Add(1)
		if err := box.reconsiderZone(ctx, s, found[0]); err != nil {
			return false, err
		}
		found = found[1:]
	}
	var ahead chan read
	for len(found) > 0 {
		began, clients := time.Now(), box.com.Clients.Load()
		if ahead == nil {
			ahead = box.readAhead(ctx, found, &s.Work)
		}
		r := <-ahead
		if r.err != nil {
			return false, r.err
		}
		found = found[len(r.of):]
		if ahead = nil; len(found) > 0 {
			ahead = box.readAhead(ctx, found, &s.Work)
		}
		if err := box.decideCandidates(ctx, s, r.of, r.kvs); err != nil {
			return false, err
		}
		if err := s.renewLease(ctx, box); err != nil {
			return false, err
		}
		if box.com.Clients.Load() != clients {
			yieldToClients(ctx, time.Since(began), box.lanes.len())
		}
		if box.lanes.isOverdue(s.place) {
			w.startBehind(r.of[len(r.of)-1])
			return true, box.giveWay(ctx, s)
		}
	}
	return false, nil
}

// read is the result of reading records ahead.
type read struct {
	of  []candidate
	kvs []*mvccpb.KeyValue
	err error
}

// readAhead reads the records of the next go while those before them are decided. A record that changes meanwhile is
// read again, because each step compares its record.
func (box *Outbox) readAhead(ctx context.Context, cs []candidate, work *law.Work) chan read {
	ahead := make(chan read, 1)
	cs = cs[:min(len(cs), box.stepsAtOnce(work))]
	go func() {
		kvs, err := box.readRecords(ctx, cs)
		ahead <- read{cs, kvs, err}
	}()
	return ahead
}

// reconsiderRecord decides a record anew, in a transaction of its own, and returns the record as written; nil:
// nothing was written.
func (box *Outbox) reconsiderRecord(ctx context.Context, s *standing, c candidate) (*law.Plan, error) {
	for {
		o, mod, err := box.mem.ReadRecord(ctx, c.namespace, c.object)
		if errors.Is(err, facts.ErrDamaged) {
			return nil, s.leaveOut(ctx, c.ref(), err)
		}
		if err != nil || o == nil || string(o.UID) != c.uid {
			return nil, err
		}
		w, err := box.stepOf(s, c, o, mod)
		if errors.Is(err, facts.ErrDamaged) {
			return nil, s.leaveOut(ctx, c.ref(), err)
		}
		if err != nil {
			return nil, err
		}
		out, err := box.com.Commit(ctx, w)
		if err != nil {
			return nil, err
		}
		if out.OK {
			box.announceRecord(o, w.Plan)
			box.PayNow(ctx, w.Plan.PendingCuts)
			return w.Plan, nil
		}
	}
}

// isUnchanged reports whether the decision is what the object says already.
func (box *Outbox) isUnchanged(o *v1alpha1.Record, plan *law.Plan) bool {
	if plan.Zone != nil || len(plan.Writes) > 0 || plan.Record == nil {
		return false
	}
	p := plan.Record
	have := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionAdopted)
	if have == nil || o.Status.FQDN != p.FQDN.String() || o.Status.View != p.View || (p.Zone == nil) != (o.Status.ZoneRef == nil) {
		return false
	}
	if p.Zone == nil {
		return have.Reason == p.Reason && have.Message == p.Message
	}
	var endsAt int64
	if o.Status.EndsAt != nil {
		endsAt = o.Status.EndsAt.Unix()
	}
	return string(o.Status.ZoneRef.UID) == p.Zone.UID && have.Status == "True" && have.Reason == p.Reason && endsAt == p.EndsAt
}

// reconsiderZone decides a pending zone anew, as a new child (S3.2).
func (box *Outbox) reconsiderZone(ctx context.Context, s *standing, c candidate) error {
	for {
		o, mod, err := box.mem.ReadZone(ctx, c.namespace, c.object)
		if err != nil || o == nil || string(o.UID) != c.uid || o.Status.FQDN != "" || o.DeletionTimestamp != nil ||
			box.Terminates(o.Namespace) { // no zone takes it in (S2.6)
			return err
		}
		ask, err := box.ZoneAsk(ctx, false, o, o)
		if err != nil {
			return err
		}
		ask.Cascade = true
		out, tx, err := box.writeZone(ctx, o, mod, s, func(seen *law.Seen) law.Outcome { return zones.DecideZone(seen, ask) })
		if err != nil {
			return err
		}
		if out.OK {
			box.PayNow(ctx, tx.Plan.PendingCuts)
			return nil
		}
	}
}

// reparentZones decides anew which zone is the parent of each zone below a name (S3.4–S3.11).
func (box *Outbox) reparentZones(ctx context.Context, s *standing, scan law.Scan) error {
	k := law.Key{Kind: law.KindZonesBelow, View: scan.View, Name: scan.Name}
	decided := map[string]bool{}
	for again := true; again; { // a zone made meanwhile may have come by what one above it said before
		r, err := box.mem.Client.Get(ctx, box.mem.Layout.Key(k), clientv3.WithPrefix())
		if err != nil {
			return err
		}
		v, err := box.mem.DecodeRange(k, r.Kvs)
		if err != nil {
			return err
		}
		again = false
		var above []*law.ZoneBelow
		for i := range v.(*law.ZonesBelow).Zones {
			below := &v.(*law.ZonesBelow).Zones[i]
			if below.FQDN == scan.Name {
				continue
			}
			for len(above) > 0 && !above[len(above)-1].FQDN.Encloses(below.FQDN) {
				above = above[:len(above)-1]
			}
			var nearest *law.ZoneBelow
			if len(above) > 0 {
				nearest = above[len(above)-1]
			}
			above = append(above, below)
			if !scan.Concerns(below, nearest) || decided[below.UID] {
				continue
			}
			if err := box.reparentZone(ctx, s, &below.Holding); err != nil {
				return err
			}
			decided[below.UID], again = true, true
			if err := s.renewLease(ctx, box); err != nil {
				return err
			}
			if err := box.giveWay(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// reparentReferring has the zones say that the zone to which they refer has another name, or no longer (S1.6).
func (box *Outbox) reparentReferring(ctx context.Context, s *standing, scan law.Scan) error {
	for _, h := range box.mem.ZonesReferring(&scan) {
		if err := box.reparentZone(ctx, s, h); err != nil {
			return err
		}
		if err := s.renewLease(ctx, box); err != nil {
			return err
		}
		if err := box.giveWay(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// reparentZone decides anew which zone is the parent of a zone, and what its holding says.
func (box *Outbox) reparentZone(ctx context.Context, s *standing, h *law.Holding) error {
	for {
		o, mod, err := box.mem.ReadZone(ctx, h.Namespace, h.Ref.Name)
		if err != nil || o == nil || string(o.UID) != h.UID || o.Status.FQDN == "" {
			return err
		}
		z, err := objects.LawZone(o)
		if err != nil {
			return err
		}
		spec, err := objects.ZoneSpec(o)
		if err != nil {
			return err
		}
		cond := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionDelegated)
		ask := zones.ParentAsk{Zone: z, Spec: spec, Work: &s.Work, Now: box.mem.Now(), WorkID: etcd.NewID()}
		if cond != nil {
			ask.Says = cond.Message
		}
		out, tx, err := box.writeZone(ctx, o, mod, s, func(seen *law.Seen) law.Outcome { return zones.DecideParent(seen, ask) })
		if err != nil {
			return err
		}
		if out.OK {
			if c := tx.Plan.Zone; c != nil && c.Holding != nil {
				*h = *c.Holding
			}
			box.announceZone(o, tx.Plan)
			box.PayNow(ctx, tx.Plan.PendingCuts)
			return nil
		}
	}
}

// finishWork takes the work's mark from every zone it touched, in one transaction each. It consumes the outbox item
// with the last of these (I4), or after the purge that it owes.
func (box *Outbox) finishWork(ctx context.Context, s *standing) error {
	key := box.mem.Layout.Outbox(s.Work.ID)
	purges := s.Work.Purge != ""
	for {
		if s.Work.Times != s.times {
			return box.carryOut(ctx, s)
		}
		if purges && len(s.Work.Zones) == 0 {
			if err := box.purgeKeys(ctx, s); err != nil {
				return err
			}
			purges = false
		}
		rest := s.Work
		releases := len(rest.Releases) > 0
		if releases { // they end first, in a transaction of their own
			rest.Releases = rest.Releases[min(len(rest.Releases), records.MaxReleases):]
		}
		var place *law.Place
		if n := len(rest.Zones); n > 0 && !releases {
			place = &rest.Zones[n-1]
			rest.Zones = slices.Clone(rest.Zones[:n-1])
		}
		last := len(rest.Zones) == 0 && !purges && !releases
		if last && len(s.damaged) > 0 {
			rest = s.remainder()
		}
		w := &commit.Write{
			Resource: "zones", Key: key, Expected: s.Mod,
			Ask: func(seen *law.Seen) law.Outcome {
				switch {
				case releases:
					return zones.DecideReleased(seen, &s.Work)
				case place != nil:
					return zones.DecideThrough(seen, *place, s.Work.ID)
				case s.Work.Ended != nil:
					return zones.DecideEnded(seen, &s.Work, box.mem.Now().Unix())
				}
				return law.Outcome{Plan: &law.Plan{}}
			},
			Primary: func(context.Context, *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
				op := clientv3.OpDelete(key)
				if !last || len(s.damaged) > 0 {
					op = etcd.OpPut(key, layout.Encode(rest))
				}
				return &op, nil, nil
			},
		}
		if of := cmp.Or(place, s.Work.Ended); of != nil {
			w.Namespace, w.Name = of.Namespace, of.Name
			w.Hint = box.mem.Layout.Zone(of.Namespace, of.Name)
		}
		box.mem.Fault("cascade-finish")
		out, err := box.com.Commit(ctx, w)
		if err != nil {
			return err
		}
		if !out.OK {
			if err := s.Refresh(ctx, box.mem); err != nil {
				return err
			}
			continue
		}
		if last && len(s.damaged) > 0 {
			return fmt.Errorf("%d records are left out: %w", len(s.damaged), facts.ErrDamaged)
		}
		if last {
			return nil
		}
		s.Work, s.Mod = rest, out.Rev
	}
}

// sweepOverdue has zones delivered that their cascades held back too long (S7.2), and ends locks of works that are
// lost.
func (box *Outbox) sweepOverdue(ctx context.Context) {
	now := box.mem.Now().Unix()
	for k, h := range box.mem.Unsettled() {
		box.endLostLocks(ctx, k, h)
		if !h.OverdueAt(now) {
			continue
		}
		o, mod, err := box.mem.ReadZone(ctx, h.Namespace, h.Name)
		if err != nil || o == nil {
			continue
		}
		place := law.Place{Ref: h.Ref, View: k.View, FQDN: k.Name}
		if _, _, err := box.writeZone(ctx, o, mod, nil, func(seen *law.Seen) law.Outcome {
			return zones.DecideOverdue(seen, place,
				now)
		}); err != nil {
			klog.FromContext(ctx).V(2).Info("a zone stays unsettled", "zone", k.Name.String(), "why", err.Error())
		}
	}
}

// endLostLocks ends the locks of works whose items are lost, by a fault of the store: no cascade would end them (fsck
// reports their marks). An item goes with the last of its marks, so one that stands here has its item, or has lost it.
func (box *Outbox) endLostLocks(ctx context.Context, at law.Key, h *law.Holding) {
	for _, w := range h.Works {
		if w.Locks.IsZero() {
			continue
		}
		r, err := box.mem.Client.Get(ctx, box.mem.Layout.Outbox(w.ID), clientv3.WithKeysOnly())
		if err != nil || len(r.Kvs) > 0 {
			continue
		}
		place := law.Place{Ref: h.Ref, View: at.View, FQDN: at.Name}
		if err := box.unlockZone(ctx, nil, place, w.ID); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "names stay locked by a cascade that is lost", "zone", at.Name.String())
		}
	}
}

// behindOf returns what a write of status says of a secondary (S6.11): a serial in the place of the zone's own, which
// the API lets through for that purpose alone.
func behindOf(before, after *v1alpha1.Zone) *zones.Behind {
	if before == nil || after == nil || before.Status.Serial == after.Status.Serial {
		return nil
	}
	b := &zones.Behind{Serial: serial.Serial(after.Status.Serial)}
	if accepted, err := strconv.ParseUint(after.Annotations[v1alpha1.AnnotationAcceptSerial], 10, 32); err == nil {
		b.Accepted = serial.Serial(accepted)
	}
	return b
}

// ZoneAsk makes the request to the law for a client's write of a zone.
func (box *Outbox) ZoneAsk(ctx context.Context, mayEstablish bool, before, after *v1alpha1.Zone) (zones.ZoneAsk, error) {
	ask := zones.ZoneAsk{MayEstablish: mayEstablish, Now: box.mem.Now(), By: commit.User(ctx), WorkID: etcd.NewID()}
	if before != nil {
		z, err := objects.LawZone(before)
		if err != nil {
			return ask, err
		}
		ask.Before, ask.Annotated = z, before.Annotations[v1alpha1.AnnotationDelete] == string(before.UID)
		if z.Pending {
			spec, err := objects.ZoneSpec(before)
			if err != nil {
				return ask, err
			}
			ask.Waits = spec.Waiting()
		}
	}
	if after != nil {
		spec, err := objects.ZoneSpec(after)
		if err != nil {
			return ask, commit.Status("zones", after.Name, &law.Refusal{Kind: law.Invalid, Message: err.Error()})
		}
		ask.After = spec
		ask.Behind = behindOf(before, after)
		if before != nil {
			ask.Renames = objects.Renames(before, after)
		}
	}
	return ask, nil
}
