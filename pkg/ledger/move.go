// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
)

// answerIn is what is kept of a request's time for its answer when a move takes
// all of it: at most a quarter of what is left.
const answerIn = 2 * time.Second

// arriveNow carries out the second half of a move before the write that began it
// is answered. When the time ends, or etcd does not answer, the record stands in
// no zone and says so, its place is kept, and the outbox finishes it (S2.6). The
// write itself has succeeded with out and placed, and what is returned is no less.
func (box *outbox) arriveNow(ctx context.Context, move *law.Work, out outcome, placed *v1alpha1.Record) (outcome, *v1alpha1.Record) {
	box.mem.fault("moved-out")
	arrival := ctx
	if until, ok := ctx.Deadline(); ok {
		left := time.Until(until)
		var cancel context.CancelFunc
		arrival, cancel = context.WithTimeout(ctx, left-min(answerIn, left/4))
		defer cancel()
	}
	s := &standing{item: item{*move, out.rev}}
	err := box.arrive(arrival, s)
	if errors.Is(err, errThrough) {
		err = nil // another server was faster
	}
	if err == nil {
		var o *v1alpha1.Record
		var mod int64
		if o, mod, err = box.mem.readRecord(ctx, placed.Namespace, placed.Name); err == nil && o != nil && o.UID == placed.UID && o.Generation == placed.Generation {
			if c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionAdopted); o.Status.ZoneRef == nil && c != nil {
				warn(ctx, []string{fmt.Sprintf("the record has left its zone, and zone %s changed before it came there: %s", move.Move.To.FQDN, c.Message)})
			}
			return outcome{ok: true, rev: mod}, o
		}
	}
	if err != nil {
		box.mem.mu.Lock()
		box.com.works[move.ID] = true
		box.mem.mu.Unlock()
		box.com.rouse()
		warn(ctx, []string{fmt.Sprintf("the record has left its zone and is not yet in zone %s, where its place is reserved: the server takes it in by itself (S2.6)", move.Move.To.FQDN)})
	}
	return out, placed
}

// arrive takes a moving record into its zone and consumes the item, in one
// transaction. What has another place by now, or is gone, gives up the place that
// was reserved. errThrough: the item is gone.
func (box *outbox) arrive(ctx context.Context, s *standing) error {
	m := s.work.Move
	item := box.mem.layout.Outbox(s.work.ID)
	for {
		box.mem.fault("move-arrives")
		o, mod, err := box.mem.readRecord(ctx, m.Namespace, m.Name)
		if err != nil {
			return err
		}
		workID := newID()
		if o == nil || string(o.UID) != m.UID || !moving(o) {
			w := &write{
				resource: "zones", namespace: m.To.Namespace, name: m.To.Name, key: item, expected: s.mod, item: s.of(),
				hint: box.mem.layout.Zone(m.To.Namespace, m.To.Name),
				ask:  func(seen *law.Seen) law.Outcome { return law.DecideMoved(seen, &s.work, workID) },
				primary: func(context.Context, *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
					op := clientv3.OpDelete(item)
					return &op, nil, nil
				},
			}
			out, err := box.com.commit(ctx, w)
			if err != nil || out.ok {
				return err
			}
			if err := s.refresh(ctx, box.mem); err != nil {
				return err
			}
			continue
		}
		r, err := LawRecord(o)
		if err != nil {
			return fmt.Errorf("record %s/%s: %w", m.Namespace, m.Name, err)
		}
		ask := law.RecordAsk{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), After: r, Cascade: true, Now: box.mem.now(), By: m.By, WorkID: workID, Move: &s.work}
		if ask.Before, ask.Waits, err = adopted(o); err != nil {
			return err
		}
		w := box.com.writeOf("records", o, mod)
		w.hint, w.item = box.mem.layout.Zone(m.To.Namespace, m.To.Name), s.of()
		w.ask = func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) }
		w.primary = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
			placed := o.DeepCopy()
			box.placer.placeRecord(placed, plan.Record)
			data, err := box.mem.records.encode(ctx, w.key, placed)
			op := opPut(w.key, data)
			return &op, nil, err
		}
		w.also = func(*law.Plan) ([]clientv3.Cmp, []clientv3.Op) {
			return []clientv3.Cmp{revisionIs(item, s.mod)}, []clientv3.Op{clientv3.OpDelete(item)}
		}
		out, err := box.com.commit(ctx, w)
		if err != nil {
			return err
		}
		if out.ok {
			box.payNow(ctx, w.plan.Debts)
			return nil
		}
	}
}
