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
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// A cascade decides records in order, each on the result of the one before, but submits many at once. All moving
// Records leave their zones before a zone adopts the first, so their former zones do not matter.

const (
	// About maxSteps records fit into a transaction.
	maxSteps = 16
	// The bound is fewSteps for sharedFor after a client's write, since the next write waits for queued steps. The
	// bound grows by 1 each stepsGrow, since names stay locked until the cascade ends.
	fewSteps  = 3
	stepsGrow = 5 * time.Second
	sharedFor = 100 * time.Millisecond
)

func (ob *Outbox) stepsAtOnce(work *law.Work) int {
	since := time.Unix(work.Since, 0)
	if wrote := time.Unix(0, ob.Committer.Clients.Load()); wrote.After(since) && time.Since(wrote) < sharedFor {
		return min(maxSteps, fewSteps+int(time.Since(since)/stepsGrow))
	}
	return maxSteps
}

type step struct {
	candidate
	w      *commit.Write
	o      *v1alpha1.Record
	inZone bool
}

// askAgain returns the question to the law whether the Record of a candidate stays, leaves or comes. The error is
// facts.ErrDamaged if the Record cannot be read.
func (ob *Outbox) askAgain(s *workState, c candidate, o *v1alpha1.Record) (records.RecordInput, error) {
	r, err := lawform.Record(o)
	before, waits, unread := objects.AdoptedOrWaiting(o)
	if err = cmp.Or(err, unread); err != nil {
		return records.RecordInput{}, fmt.Errorf("record %s/%s: %w: %w", o.Namespace, o.Name, facts.ErrDamaged, err)
	}
	r.Terminating = r.Terminating || ob.IsTerminating(o.Namespace)
	ask := records.RecordInput{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), Before: before, WaitingBefore: waits,
		After: r, Cascade: true,
		DueAt:         lawform.DueAt(o),
		HadZone:       before != nil || objects.IsMoving(o),
		HasFormerName: before == nil && c.removedFQDN != "" && c.removedFQDN == o.Status.FQDN,
		Now:           ob.Mem.Now(), WorkID: etcd.NewID(), CausedBy: s.Work.By, Cause: s.Work.Cause(),
		RulesChanged: s.Work.RulesChanged(), Derives: s.Work.Derives, Uncounted: slices.Contains(s.Work.Releases, o.Namespace) ||
			strings.HasPrefix(s.Work.ID, MigrationID)}
	if !s.Work.Unmarked {
		ask.MarkID = s.Work.ID
	}
	if waits != nil && c.keptOut != "" {
		// If the Record goes on waiting, the order of S2.8 stays.
		waits.KeptOut = c.keptOut
	}
	return ask, nil
}

// stepOf returns the write by which a cascade decides a Record again, expected at revision mod. A decision without a
// change writes nothing.
func (ob *Outbox) stepOf(s *workState, c candidate, o *v1alpha1.Record, mod int64) (*commit.Write, error) {
	ask, err := ob.askAgain(s, c, o)
	if err != nil {
		return nil, err
	}
	w := ob.Committer.NewWrite("records", o, mod)
	w.LikelyZone, w.OutboxItem = ob.Mem.GuessZone(ask.After), &s.Item
	w.RecordBefore, w.Origin = o, commit.CauseOf(&s.Item)
	if s.Work.IsTrial() {
		// A trial has no author, so the Record's namespace pays for the adoption.
		w.Payer = o.Namespace
	}
	if ask.WaitingBefore != nil && c.keptOut != "" {
		w.Payer = o.Namespace // holders do not pay for Records waiting there
	}

	w.Decide = func(seen *law.Facts) law.Outcome { return records.DecideRecord(seen, ask) }
	w.ObjectOp = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		if plan.Record == nil { // expired, and made by an update or a challenge
			op := clientv3.OpDelete(w.Key)
			return &op, nil, nil
		}
		placed := o.DeepCopy()
		if plan.Zone == nil && plan.Record.Zone != nil {
			// The zone's content stays, so the Record keeps the serial, and Ready stays valid.
			plan.Record.Serial = serial.Serial(o.Status.Serial)
		}
		ob.Placer.PlaceRecord(placed, plan.Record)
		if plan.Zone == nil && len(plan.Writes) == 0 && placeOf(&placed.Status) == placeOf(&o.Status) {
			// The repeated decision changes nothing, so the cascade does not put the object.
			plan.Waiting, plan.WaitingBefore = nil, nil
			return nil, nil, nil
		}
		data, err := ob.Mem.Records.Encode(ctx, w.Key, placed)
		op := etcd.OpPut(w.Key, data)
		return &op, nil, err
	}

	return w, nil
}

// recordPlace is the part of a Record's status decided by a cascade. The message counts for a waiting Record, which may
// wait for another zone now. In a zone, another pattern of the zone's rules is no reason for a write.
type recordPlace struct {
	view, fqdn, zone         string // zone is a UID
	adopted, reason, message string
	endsAt                   int64
}

func placeOf(is *v1alpha1.RecordStatus) recordPlace {
	p := recordPlace{view: is.View, fqdn: is.FQDN}
	if adopted := meta.FindStatusCondition(is.Conditions, v1alpha1.ConditionAdopted); adopted != nil {
		p.adopted, p.reason, p.message = string(adopted.Status), adopted.Reason, adopted.Message
	}
	if is.ZoneRef != nil {
		p.zone, p.message = string(is.ZoneRef.UID), ""
	}
	if is.EndsAt != nil {
		p.endsAt = is.EndsAt.Unix()
	}
	return p
}

// decideRecords decides candidates of a window, in their order, in batches zone by zone.
func (ob *Outbox) decideRecords(ctx context.Context, s *workState, cs []candidate) error {
	ob.Mem.Fault("cascade-step")
	ob.Mem.Stats.CascadeSteps.Add(int64(len(cs)))
	s.decidedCount += len(cs)
	// 1. Read the Records.
	steps, err := ob.readSteps(ctx, s, cs)
	if err != nil {
		return err
	}

	// 2. Let Records leave their zones, before any zone adopts one: a name may be free only then.
	inside := slices.DeleteFunc(slices.Clone(steps), func(st *step) bool { return !st.inZone })
	leaves, err := ob.commitSteps(ctx, s, inside, true)
	if err != nil {
		return err
	}
	if len(inside) > 0 {
		// Records that stay need no second decision.
		cs = slices.DeleteFunc(slices.Clone(cs), func(c candidate) bool {
			left, decided := leaves[c.UID]
			return decided && !left
		})
		if steps, err = ob.readSteps(ctx, s, cs); err != nil {
			return err
		}
	}

	// 3. Let zones adopt the Records that have left, and those that waited.
	_, err = ob.commitSteps(ctx, s, steps, false)
	return err
}

// commitSteps commits the steps of a cascade zone by zone. A step is the decision about a Record. The result maps the
// UID of each decided Record to whether the Record leaves its zone. If inside is true, another zone adopts the leaving
// Records later. Otherwise they are decided again at once.
func (ob *Outbox) commitSteps(ctx context.Context, s *workState, steps []*step, inside bool) (leaves map[string]bool, err error) {
	leaves = map[string]bool{}
	for len(steps) > 0 {
		zone := steps[0].w.LikelyZone
		var writes []*commit.Write
		group := slices.DeleteFunc(slices.Clone(steps), func(st *step) bool { return st.w.LikelyZone != zone })
		for _, st := range group {
			writes = append(writes, st.w)
		}

		answers := ob.Committer.SubmitInOrder(ctx, zone, writes)
		done := 0
		var derivations []law.Derivation
		for done < len(group) && answers[done].Out.OK {
			leaves[group[done].UID] = ob.noteStep(group[done])
			derivations = append(derivations, group[done].w.Plan.Derivations...)
			done++
		}
		ob.CountCuts(ctx, derivations)

		// The failed step is decided again, alone; the loop submits the rest.
		if done < len(group) {
			if err := answers[done].Err; err != nil {
				return nil, err
			}
			st := group[done]
			if leaves[st.UID], err = ob.reconsiderRecord(ctx, s, st.candidate, inside); err != nil {
				return nil, err
			}
			done++
		}

		steps = slices.DeleteFunc(slices.Clone(steps), func(st *step) bool { return slices.Contains(group[:done], st) })
	}

	return leaves, nil
}

// reconsiderRecord decides the Record of a candidate until a commit succeeds. If the Record leaves its zone, and
// leaving is false, another decision finds the next zone. The result reports whether the Record has left and is in no
// zone yet.
func (ob *Outbox) reconsiderRecord(ctx context.Context, s *workState, c candidate, leaving bool) (leaves bool, err error) {
	for {
		steps, err := ob.readSteps(ctx, s, []candidate{c})
		if err != nil || len(steps) == 0 {
			return false, err
		}
		out, err := ob.Committer.Commit(ctx, steps[0].w)
		if err != nil {
			return false, err
		}
		if !out.OK {
			// A client has edited the Record meanwhile.
			continue
		}
		leaves = ob.noteStep(steps[0])
		ob.CountCuts(ctx, steps[0].w.Plan.Derivations)
		if !leaves || leaving {
			return leaves, nil
		}
	}
}

func (ob *Outbox) noteStep(st *step) (leaves bool) {
	p := st.w.Plan.Record
	if p != nil && p.Zone != nil && (p.EndsAt != 0) != (st.o.Status.EndsAt != nil) {
		// The grace period of the Record begins, or is cancelled (S2.12).
		ob.Announce(st.o, p.EndsAt, p.Message)
	}
	return p != nil && p.Reason == law.ReasonMoving
}

// decideRepaired decides the Records that were unreadable at an earlier attempt and are readable now. It forgets those
// that are gone.
func (ob *Outbox) decideRepaired(ctx context.Context, s *workState) error {
	for _, record := range s.damagedRecords {
		o, _, err := ob.Mem.ReadRecord(ctx, record.Namespace, record.Name)
		if errors.Is(err, facts.ErrDamaged) {
			continue
		}
		// A clone: the work's item may share the slice.
		s.damagedRecords = slices.DeleteFunc(slices.Clone(s.damagedRecords), func(r law.Ref) bool { return r == record })
		if err == nil && o != nil && (record.UID == "" || string(o.UID) == record.UID) {
			var c candidate
			_, waits, _ := objects.AdoptedOrWaiting(o)
			if c, err = ob.recordCandidate(ctx, o, waits); err == nil {
				_, err = ob.reconsiderRecord(ctx, s, c, false)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readSteps reads the Records of candidates, in one request, and returns their steps. Absent Records have no step, nor
// have unreadable ones, which are noted in s.
func (ob *Outbox) readSteps(ctx context.Context, s *workState, cs []candidate) ([]*step, error) {
	if len(cs) == 0 {
		return nil, nil
	}
	ops := make([]clientv3.Op, 0, len(cs))
	for _, c := range cs {
		ops = append(ops, clientv3.OpGet(ob.Mem.Layout.Record(c.Namespace, c.Name)))
	}
	ob.Mem.Stats.Reads.Add(1)
	r, err := ob.Mem.Client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return nil, err
	}

	steps := make([]*step, 0, len(cs))
	for i, c := range cs {
		st, err := ob.readStep(ctx, s, c, etcd.FirstKV(r.Responses[i]))
		if errors.Is(err, facts.ErrDamaged) {
			err = s.skipDamaged(ctx, c.Ref, err)
		}
		if err != nil {
			return nil, err
		}
		if st != nil {
			steps = append(steps, st)
		}
	}

	return steps, nil
}

// readStep returns the step of a candidate from its stored value, or nil if the Record is gone. The error is
// facts.ErrDamaged if the value cannot be read.
func (ob *Outbox) readStep(ctx context.Context, s *workState, c candidate, kv *mvccpb.KeyValue) (*step, error) {
	if kv == nil {
		return nil, nil
	}
	st := &step{candidate: c, o: &v1alpha1.Record{}}
	if err := ob.Mem.Records.Decode(ctx, string(kv.Key), kv.Value, kv.ModRevision, st.o); err != nil {
		return nil, fmt.Errorf("%w: %w", facts.ErrDamaged, err)
	}
	if string(st.o.UID) != c.UID {
		// Deleted and created again since the scan. The new Record was decided when created.
		return nil, nil
	}

	var err error
	if st.w, err = ob.stepOf(s, c, st.o, kv.ModRevision); err != nil {
		return nil, err
	}
	if ref := st.o.Status.ZoneRef; ref != nil {
		zoneKey := ob.Mem.Layout.Zone(ref.Namespace, ref.Name)
		zone, err := ob.Mem.ZoneAt(ctx, zoneKey)
		if err != nil {
			return nil, err
		}
		if st.inZone = zone != nil && zone.UID == string(ref.UID) && !zone.Pending; st.inZone {
			// The Record first has to leave this zone, so wait in this zone's queue.
			st.w.LikelyZone = zoneKey
		}
	}

	return st, nil
}
