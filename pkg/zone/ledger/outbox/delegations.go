// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// DelegationTx returns a Delegation's write. The commit sets *placed to the stored object, nil if deleted.
func (ob *Outbox) DelegationTx(ask zones.DelegationInput, before, after *v1alpha1.Delegation, expected int64) (tx *commit.Write,
	placed **v1alpha1.Delegation) {
	spec, object := ask.After, after
	if spec == nil {
		// A deletion has no object after.
		spec, object = ask.Before, before
	}
	placed = new(*v1alpha1.Delegation)
	tx = ob.Committer.NewWrite("delegations", object, expected)
	tx.LikelyZone = ob.Mem.Layout.Zone(ask.Namespace, spec.Zone)
	tx.Decide = func(seen *law.Facts) law.Outcome { return zones.DecideDelegation(seen, ask) }
	tx.ObjectOp = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		*placed = nil
		if plan.Delegation == nil {
			op := clientv3.OpDelete(tx.Key)
			return &op, nil, nil
		}

		o := after.DeepCopy()
		ob.Placer.PlaceDelegation(o, plan.Delegation)
		if ask.Cascade && plan.Zone == nil && apiequality.Semantic.DeepEqual(o.Status, after.Status) {
			// The repeated decision changes nothing, so the cascade does not put the object.
			plan.Waiting, plan.WaitingBefore = nil, nil
			return nil, nil, nil
		}

		data, err := ob.Mem.Delegations.Encode(ctx, tx.Key, o)
		*placed = o
		op := etcd.OpPut(tx.Key, data)
		return &op, nil, err
	}

	tx.ExtraOps = func(plan *law.Plan) ([]clientv3.Cmp, []clientv3.Op) {
		return nil, ob.oldDelegationOps(&ask, tx.By, before, plan)
	}
	return tx, placed
}

// oldDelegationOps returns the operation that stores the state of a Delegation which leaves a zone, for an undo, or
// deletes such a state when a new Delegation takes the number of the former. The result is nil if neither is needed.
func (ob *Outbox) oldDelegationOps(ask *zones.DelegationInput, by string, before *v1alpha1.Delegation, plan *law.Plan) []clientv3.Op {
	in := ""
	if plan.Delegation != nil && plan.Delegation.Zone != nil {
		in = plan.Delegation.Zone.UID
	}
	at := delegationsIn(plan.Zone, in, ask.InZone)
	switch {
	case in == ask.InZone:
		// Edited, or not in force before and after.
	case ask.InZone != "":
		// Left: store the former spec, and the user who deleted the Delegation.
		op, err := ob.Journal.Archive.DelegationLeftOp(ask.InZone, at, before, &before.Spec, by, ask.Terminating)
		if err == nil {
			return []clientv3.Op{op}
		}
	case at > 0:
		// Joined: a former Delegation of this number can no longer be restored.
		return []clientv3.Op{ob.Journal.Archive.DelegationJoinedOp(in, at-1)}
	}
	return nil
}

// delegationsIn returns the number of Delegations in a changed zone, if among the given zones (UIDs), or -1 if the zone
// is removed.
func delegationsIn(c *law.ZoneChange, of ...string) int {
	if c == nil || c.Holding == nil || !slices.Contains(of, c.Zone.UID) {
		return -1
	}
	return c.Holding.Delegations
}

const delegationsAtOnce = 8

// decideDelegations, the first part of a cascade, decides the Delegation objects of a removed zone, and Delegations
// waiting for their zone or its limits on rules. Records and child zones come later, because their decisions depend on
// the rules in Delegations.
func (ob *Outbox) decideDelegations(ctx context.Context, s *workState) error {
	for i := range s.Work.Scans {
		scan := &s.Work.Scans[i]
		if scan.Kind != law.ScanReferring && scan.Kind != law.ScanNamespaces {
			// Only these scans name a Zone object for which Delegations may wait.
			continue
		}
		// 1. Delegations with rules in the removed zone, and Delegations that wait for the Zone.
		names, err := ob.delegationsOf(ctx, s.Work.Purge, "")
		if err != nil {
			return err
		}

		waiting := ob.Mem.Layout.WaitingFor(scan.Target) + layout.WaitingDelegation + "/"
		if _, err := etcd.Scan(ctx, ob.Mem.Client, waiting, fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
			_, _, name, _ := layout.WaitingObject(string(kv.Key))
			names = append(names, name)
			return nil
		}, clientv3.WithKeysOnly()); err != nil {
			return err
		}

		slices.Sort(names)

		// covered means that this cascade later decides everything that depends on the Delegation.
		covered := s.Work.Purge == "" && scan.Kind == law.ScanReferring

		for some := range slices.Chunk(slices.Compact(names), delegationsAtOnce) {
			// 2. Decide eight at a time, since each waits for a commit in the zone's queue.
			group, within := errgroup.WithContext(ctx)
			for _, name := range some {
				group.Go(func() error { return ob.reconsiderDelegation(within, scan.Target.Namespace, name, covered) })
			}
			if err := group.Wait(); err != nil {
				return err
			}
			if err := s.renewLease(ctx, ob); err != nil {
				return err
			}
		}
	}

	// 3. The zone's patterns with * are refused until here (S4.22): allow them.
	if !s.Work.TakesIn {
		return nil
	}
	for _, place := range s.Work.Zones {
		ob.Mem.Fault("cascade-taken-in")
		if err := ob.decideZone(ctx, &s.Item, place.Ref, func(*v1alpha1.Zone) (func(*law.Facts) law.Outcome, error) {
			return func(seen *law.Facts) law.Outcome { return zones.DecideDelegationsDone(seen, place, s.Work.ID) }, nil
		}); err != nil {
			return err
		}
	}

	return nil
}

// delegationsOf returns the names of the Delegations with rules in a zone, sorted. The namespace "" means all
// namespaces. Stored rules name their Delegation.
func (ob *Outbox) delegationsOf(ctx context.Context, zone, namespace string) (names []string, err error) {
	key := law.RulesKey(zone, namespace)
	prefix := ob.Mem.Layout.Key(key)
	var opts []clientv3.OpOption
	if namespace != "" {
		// The prefix of team-a also matches team-a2, so read the single key.
		opts = append(opts, clientv3.WithRange(prefix+"\x00"))
	}
	_, err = etcd.Scan(ctx, ob.Mem.Client, prefix, fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
		v, err := layout.DecodeFact(key, kv.Value)
		if rules, _ := v.(*law.NamespaceRules); err == nil {
			for _, r := range rules.List {
				names = append(names, r.Name)
			}
		}
		return err
	}, opts...)
	slices.Sort(names)
	return slices.Compact(names), err
}

// reconsiderDelegation decides a Delegation again until a commit succeeds or the object is gone. If covered is true,
// the decision enqueues no cascade of its own.
func (ob *Outbox) reconsiderDelegation(ctx context.Context, namespace, name string, covered bool) error {
	for {
		o, mod, err := ob.readDelegation(ctx, namespace, name)
		if err != nil || o == nil {
			return err
		}
		ask, err := objects.DelegationAsk(o, o)
		if err != nil {
			return err
		}
		ask.Now, ask.WorkID, ask.Terminating = ob.Mem.Now(), etcd.NewID(), ob.IsTerminating(ask.Namespace)
		ask.Cascade, ask.Covered = true, covered
		tx, _ := ob.DelegationTx(ask, o, o, mod)
		if out, err := ob.Committer.Commit(ctx, tx); err != nil || out.OK {
			return err
		}
	}
}

// readDelegation reads a Delegation and its revision from etcd, or returns nil if absent.
func (ob *Outbox) readDelegation(ctx context.Context, namespace, name string) (*v1alpha1.Delegation, int64, error) {
	key := ob.Mem.Layout.Delegation(namespace, name)
	r, err := ob.Mem.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return nil, 0, err
	}
	o, mod := &v1alpha1.Delegation{}, r.Kvs[0].ModRevision
	if err := ob.Mem.Delegations.Decode(ctx, key, r.Kvs[0].Value, mod, o); err != nil {
		return nil, 0, fmt.Errorf("%s cannot be read: %w", key, err)
	}
	return o, mod, nil
}
