// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// answerIn is the part of a request's time that is kept for its answer when a move takes all of it: at most a quarter
// of what is left.
const answerIn = 2 * time.Second

// ArriveNow carries out the second half of a move before the write that began it is answered. Where the time ends, or
// etcd does not answer, the record is in no zone and says so, its place is kept, and the outbox finishes the move
// (S2.6). The write itself has succeeded with out and placed, so these are returned then.
func (box *Outbox) ArriveNow(ctx context.Context, move *law.Work, out commit.Outcome, placed *v1alpha1.Record) (commit.Outcome, *v1alpha1.Record) {
	box.mem.Fault("moved-out")
	arrival := ctx
	if until, ok := ctx.Deadline(); ok {
		left := time.Until(until)
		var cancel context.CancelFunc
		arrival, cancel = context.WithTimeout(ctx, left-min(answerIn, left/4))
		defer cancel()
	}
	s := &standing{Item: commit.Item{Work: *move, Mod: out.Rev}}
	err := box.carryOutMove(arrival, s)
	if errors.Is(err, commit.ErrThrough) {
		err = nil // another server was faster
	}
	if err == nil {
		var o *v1alpha1.Record
		var mod int64
		if o, mod, err = box.mem.ReadRecord(ctx, placed.Namespace, placed.Name); err == nil && o != nil && o.UID == placed.UID && o.Generation == placed.Generation {
			if c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionAdopted); o.Status.ZoneRef == nil && c != nil {
				commit.Warn(ctx, []string{fmt.Sprintf("the record has left its zone, and zone %s changed before it came there: %s", move.Move.To.FQDN, c.Message)})
			}
			return commit.Outcome{OK: true, Rev: mod}, o
		}
	}
	if err != nil {
		box.com.Own(move.ID)
		commit.Warn(ctx, []string{fmt.Sprintf("the record has left its zone and is not yet in zone %s, where its place is reserved: the server takes it in by itself (S2.6)", move.Move.To.FQDN)})
	}
	return out, placed
}

// carryOutMove takes a moving record into its zone and consumes the item, in one transaction. A record that has
// another place by now, or is gone, gives up the reserved place. commit.ErrThrough: the item is gone.
func (box *Outbox) carryOutMove(ctx context.Context, s *standing) error {
	m := s.Work.Move
	item := box.mem.Layout.Outbox(s.Work.ID)
	for {
		box.mem.Fault("move-arrives")
		o, mod, err := box.mem.ReadRecord(ctx, m.Namespace, m.Name)
		if err != nil {
			return err
		}
		workID := etcd.NewID()
		if o == nil || string(o.UID) != m.UID || !objects.Moving(o) {
			w := &commit.Write{
				Resource: "zones", Namespace: m.To.Namespace, Name: m.To.Name, Key: item, Expected: s.Mod, Item: s.itemOf(),
				Hint: box.mem.Layout.Zone(m.To.Namespace, m.To.Name),
				Ask:  func(seen *law.Seen) law.Outcome { return law.DecideMoved(seen, &s.Work, workID) },
				Primary: func(context.Context, *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
					op := clientv3.OpDelete(item)
					return &op, nil, nil
				},
			}
			out, err := box.com.Commit(ctx, w)
			if err != nil || out.OK {
				return err
			}
			if err := s.Refresh(ctx, box.mem); err != nil {
				return err
			}
			continue
		}
		r, err := objects.LawRecord(o)
		if err != nil {
			return fmt.Errorf("record %s/%s: %w", m.Namespace, m.Name, err)
		}
		ask := law.RecordAsk{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), After: r, Cascade: true, Now: box.mem.Now(), By: m.By, WorkID: workID, Move: &s.Work}
		if ask.Before, ask.Waits, err = objects.Adopted(o); err != nil {
			return err
		}
		w := box.com.WriteOf("records", o, mod)
		w.Hint, w.Item = box.mem.Layout.Zone(m.To.Namespace, m.To.Name), s.itemOf()
		w.Ask = func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) }
		w.Primary = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
			placed := o.DeepCopy()
			box.placer.PlaceRecord(placed, plan.Record)
			data, err := box.mem.Records.Encode(ctx, w.Key, placed)
			op := etcd.OpPut(w.Key, data)
			return &op, nil, err
		}
		w.Also = func(*law.Plan) ([]clientv3.Cmp, []clientv3.Op) {
			return []clientv3.Cmp{etcd.RevisionIs(item, s.Mod)}, []clientv3.Op{clientv3.OpDelete(item)}
		}
		out, err := box.com.Commit(ctx, w)
		if err != nil {
			return err
		}
		if out.OK {
			box.PayNow(ctx, w.Plan.PendingCuts)
			return nil
		}
	}
}
