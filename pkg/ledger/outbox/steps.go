// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// A cascade decides records one after the other, each on what the last one left. It submits many at once to the
// zone's queue, in order, where they are committed like the writes of clients (package commit).
//
// The order is that of S2.7. Records that leave one zone for another do so before the records that wait with them are
// decided, and then all of these come in, in order. So the order in which they take a name does not depend on where
// they come from.

const (
	// maxSteps bounds the records that are read and decided in one go: about as many as one transaction takes.
	maxSteps = 16
	// fewSteps bounds them for sharedFor after a client's write: the next write waits for the go that it meets in its
	// zone. The bound grows by one in stepsGrow, so that names do not stay locked for long beside a busy neighbour.
	fewSteps  = 3
	stepsGrow = 5 * time.Second
	sharedFor = 100 * time.Millisecond
)

// stepsAtOnce returns the number of records for the next go of a work.
func (box *Outbox) stepsAtOnce(work *law.Work) int {
	since := time.Unix(work.Since, 0)
	if wrote := time.Unix(0, box.com.Clients.Load()); wrote.After(since) && time.Since(wrote) < sharedFor {
		return min(maxSteps, fewSteps+int(time.Since(since)/stepsGrow))
	}
	return maxSteps
}

// step is a candidate with its record as it was read.
type step struct {
	candidate
	// w is its write, and o the record as it was read.
	w *commit.Write
	o *v1alpha1.Record
	// zone is the key of the zone that the step probably changes, "" for none. stands says that the record is in that
	// zone.
	zone   string
	stands bool
	// done says that the step is decided, and moves that the record is between two zones, and another step takes it
	// in (I1).
	done, moves bool
}

// recordCandidate is a record to decide anew that was found by its object. Where it waits, its key says which
// namespace kept it out (S2.14).
func (box *Outbox) recordCandidate(ctx context.Context, o *v1alpha1.Record) (candidate, error) {
	c := candidate{letter: layout.WaitingRecord, namespace: o.Namespace, object: o.Name, uid: string(o.UID),
		created: o.CreationTimestamp.Unix()}
	_, waits, err := objects.Adopted(o)
	if err != nil || waits == nil || waits.FQDN.IsZero() {
		return c, nil // what cannot be read is left out later
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

// stepOf returns the write of a record that is decided anew (S2.5). Error: facts.ErrDamaged.
func (box *Outbox) stepOf(s *standing, c candidate, o *v1alpha1.Record, mod int64) (*commit.Write, error) {
	r, err := objects.LawRecord(o)
	if err != nil {
		return nil, fmt.Errorf("record %s/%s: %w: %w", o.Namespace, o.Name, facts.ErrDamaged, err)
	}
	r.Terminating = r.Terminating || box.Terminates(o.Namespace)
	ask := records.RecordAsk{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), After: r, Cascade: true,
		Now: box.mem.Now(), By: "", WorkID: etcd.NewID(), Work: s.markID(), WorkBy: s.Work.By, Cause: s.Work.Cause(),
		Yields: s.Work.Yields, ByRules: s.Work.RulesChanged(),
		Uncounted: box.Terminates(s.Work.By) || slices.Contains(s.Work.Releases, o.Namespace) || strings.HasPrefix(s.Work.ID, MigrationID)}
	if ask.Before, ask.Waits, err = objects.Adopted(o); err != nil {
		return nil, fmt.Errorf("%w: %w", facts.ErrDamaged, err)
	}
	ask.Stood = ask.Before != nil || objects.Moving(o)
	var payer string
	if ask.Waits != nil && c.keptOut != "" {
		ask.Waits.KeptOut, payer = c.keptOut, o.Namespace // what waits at others' names is not paid by them
	}
	if strings.HasPrefix(s.Work.ID, trialID) {
		payer = o.Namespace
	}
	w := box.com.WriteOf("records", o, mod)
	w.Hint, w.Item, w.Payer = box.mem.GuessZone(r), s.itemOf(), payer
	w.Ask = func(seen *law.Seen) law.Outcome { return records.DecideRecord(seen, ask) }
	w.Primary = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		if box.isUnchanged(o, plan) {
			plan.Orphan, plan.OrphanBefore = nil, nil
			return nil, nil, nil
		}
		placed := o.DeepCopy()
		if plan.Zone == nil && plan.Record.Zone != nil {
			plan.Record.Serial = serial.Serial(o.Status.Serial) // its zone did not change
		}
		box.placer.PlaceRecord(placed, plan.Record)
		data, err := box.mem.Records.Encode(ctx, w.Key, placed)
		op := etcd.OpPut(w.Key, data)
		return &op, nil, err
	}
	return w, nil
}

// noteResult notes what became of a step by its plan.
func (st *step) noteResult(p *law.Plan) {
	st.moves = leavesFor(p)
}

// leavesFor reports whether the plan releases the record for another zone to take it in (I1).
func leavesFor(p *law.Plan) bool {
	return p != nil && p.Record != nil && p.Record.Reason == law.ReasonMoving
}

// decideCandidates decides at most maxSteps candidates anew, in order. kvs are their records as read.
func (box *Outbox) decideCandidates(ctx context.Context, s *standing, cs []candidate, kvs []*mvccpb.KeyValue) error {
	box.mem.Fault("cascade-step")
	box.mem.Stats.CascadeSteps.Add(int64(len(cs)))
	steps, err := box.stepsOf(ctx, s, cs, kvs)
	if err != nil {
		return err
	}
	inside := slices.DeleteFunc(slices.Clone(steps), func(st *step) bool { return !st.stands })
	for zone, group := range byZone(inside) {
		if err := box.inOrder(ctx, s, zone, true, group); err != nil {
			return err
		}
	}
	var onward []candidate
	for _, st := range steps {
		if !st.stands || st.moves {
			onward = append(onward, st.candidate)
		}
	}
	if len(inside) > 0 && len(onward) > 0 {
		if steps, err = box.readSteps(ctx, s, onward); err != nil {
			return err
		}
	}
	if len(onward) > 0 {
		for zone, group := range byZone(steps) {
			if err := box.inOrder(ctx, s, zone, false, group); err != nil {
				return err
			}
		}
	}
	return nil
}

// byZone yields steps by the zone that they change, in the order of the first of each.
func byZone(steps []*step) func(yield func(string, []*step) bool) {
	return func(yield func(string, []*step) bool) {
		var zones []string
		groups := map[string][]*step{}
		for _, st := range steps {
			if _, ok := groups[st.zone]; !ok {
				zones = append(zones, st.zone)
			}
			groups[st.zone] = append(groups[st.zone], st)
		}
		for _, zone := range zones {
			if !yield(zone, groups[zone]) {
				return
			}
		}
	}
}

// readSteps reads the records of candidates and makes their steps.
func (box *Outbox) readSteps(ctx context.Context, s *standing, cs []candidate) ([]*step, error) {
	kvs, err := box.readRecords(ctx, cs)
	if err != nil {
		return nil, err
	}
	return box.stepsOf(ctx, s, cs, kvs)
}

// readRecords reads the records of candidates, at most maxSteps, in one round trip.
func (box *Outbox) readRecords(ctx context.Context, cs []candidate) ([]*mvccpb.KeyValue, error) {
	ops := make([]clientv3.Op, 0, len(cs))
	for _, c := range cs {
		ops = append(ops, clientv3.OpGet(box.mem.Layout.Record(c.namespace, c.object)))
	}
	box.mem.Stats.Reads.Add(1)
	r, err := box.mem.Client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return nil, err
	}
	kvs := make([]*mvccpb.KeyValue, len(cs))
	for i := range cs {
		kvs[i] = etcd.One(r.Responses[i])
	}
	return kvs, nil
}

// stepsOf makes the steps of candidates. Those that are gone are left out.
func (box *Outbox) stepsOf(ctx context.Context, s *standing, cs []candidate, kvs []*mvccpb.KeyValue) ([]*step, error) {
	steps := make([]*step, 0, len(cs))
	for i, c := range cs {
		kv := kvs[i]
		if kv == nil {
			continue
		}
		o := &v1alpha1.Record{}
		if err := box.mem.Records.Decode(ctx, string(kv.Key), kv.Value, kv.ModRevision, o); err != nil {
			if err := s.leaveOut(ctx, c.ref(), err); err != nil {
				return nil, err
			}
			continue
		}
		if string(o.UID) != c.uid {
			continue
		}
		var err error
		st := &step{candidate: c, o: o}
		if st.w, err = box.stepOf(s, c, o, kv.ModRevision); err != nil {
			if err = s.leaveOut(ctx, c.ref(), err); err != nil {
				return nil, err
			}
			continue
		}
		st.zone = st.w.Hint
		if ref := o.Status.ZoneRef; ref != nil {
			home := box.mem.Layout.Zone(ref.Namespace, ref.Name)
			zone, err := box.mem.ZoneAt(ctx, home)
			if err != nil {
				return nil, err
			}
			if st.stands = zone != nil && zone.UID == string(ref.UID) && !zone.Pending; st.stands {
				st.zone = home
			}
		}
		steps = append(steps, st)
	}
	return steps, nil
}

// inOrder carries out steps that probably change one zone. inside says that it is the zone that their records are in:
// what leaves it for another zone is not taken in there yet.
func (box *Outbox) inOrder(ctx context.Context, s *standing, zone string, inside bool, steps []*step) error {
	for {
		answers := box.com.SubmitInOrder(ctx, zone, writesOf(steps))
		var first *commit.Answer // of those that did not go in
		for i, st := range steps {
			a := &answers[i]
			switch {
			case a.Err != nil:
				return a.Err
			case a.Out.OK:
				st.done = true
				st.noteResult(st.w.Plan)
				box.announceRecord(st.o, st.w.Plan)
				box.PayNow(ctx, st.w.Plan.PendingCuts)
			case first == nil:
				first = a
			}
		}
		steps = slices.DeleteFunc(slices.Clone(steps), func(st *step) bool { return st.done })
		if len(steps) == 0 {
			return nil
		}
		if len(first.Locks) > 0 || first.Later != nil {
			st := steps[0]
			plan, err := box.reconsiderRecord(ctx, s, st.candidate)
			if err != nil {
				return err
			}
			st.noteResult(plan)
			if st.done = !st.moves || inside; st.done {
				steps = steps[1:]
			}
		} else if err := s.Refresh(ctx, box.mem); err != nil {
			return err
		}
		var err error
		if steps, err = box.readAgain(ctx, s, inside, steps); err != nil || len(steps) == 0 {
			return err
		}
	}
}

func writesOf(steps []*step) []*commit.Write {
	writes := make([]*commit.Write, len(steps))
	for i, st := range steps {
		writes[i] = st.w
	}
	return writes
}

// readAgain reads the records of steps again, and returns the steps that are left: those of records that are gone are
// done, and those of records that left the zone are decided with the ones that wait.
func (box *Outbox) readAgain(ctx context.Context, s *standing, inside bool, steps []*step) ([]*step, error) {
	var cs []candidate
	for _, st := range steps {
		cs = append(cs, st.candidate)
	}
	found, err := box.readSteps(ctx, s, cs)
	if err != nil {
		return nil, err
	}
	var left []*step
	for _, st := range steps {
		i := slices.IndexFunc(found, func(f *step) bool { return f.candidate == st.candidate })
		if i < 0 {
			continue
		}
		st.w, st.o = found[i].w, found[i].o
		if st.stands = found[i].stands; st.stands || !inside {
			left = append(left, st)
		}
	}
	return left, nil
}
