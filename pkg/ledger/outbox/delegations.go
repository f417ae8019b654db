// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/zones"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// DelegationTx is the write of a decision about a Delegation; placed is set to the object as it will stand.
func (box *Outbox) DelegationTx(ask zones.DelegationAsk, before, after *v1alpha1.Delegation, expected int64) (tx *commit.Write,
	placed **v1alpha1.Delegation) {
	spec, of := ask.After, after
	if spec == nil {
		spec, of = ask.Before, before
	}
	placed = new(*v1alpha1.Delegation)
	tx = box.com.WriteOf("delegations", of, expected)
	tx.Hint = box.mem.Layout.Zone(ask.Namespace, spec.Zone)
	tx.Ask = func(seen *law.Seen) law.Outcome { return zones.DecideDelegation(seen, ask) }
	tx.Primary = func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
		*placed = nil
		if plan.Delegation == nil {
			op := clientv3.OpDelete(tx.Key)
			return &op, nil, nil
		}
		o := after.DeepCopy()
		box.placer.PlaceDelegation(o, plan.Delegation)
		if ask.Cascade && plan.Zone == nil && apiequality.Semantic.DeepEqual(o.Status, after.Status) {
			plan.Orphan, plan.OrphanBefore = nil, nil
			return nil, nil, nil
		}
		data, err := box.mem.Delegations.Encode(ctx, tx.Key, o)
		*placed = o
		op := etcd.OpPut(tx.Key, data)
		return &op, nil, err
	}
	return tx, placed
}

// DelegationAsk makes the request to the law for a write of a Delegation.
func (box *Outbox) DelegationAsk(before, after *v1alpha1.Delegation) (zones.DelegationAsk, error) {
	ask := zones.DelegationAsk{Now: box.mem.Now(), WorkID: etcd.NewID()}
	if before != nil {
		spec, err := objects.DelegationSpec(before)
		if err != nil {
			return ask, fmt.Errorf("delegation %s/%s: %w", before.Namespace, before.Name, err)
		}
		ask.Ref = law.Ref{Namespace: before.Namespace, Name: before.Name, UID: string(before.UID)}
		ask.Before = spec
		if in := before.Status.ZoneRef; in != nil {
			ask.In = string(in.UID)
		} else {
			ask.Waits = &law.Waiting{Zone: &law.Ref{Namespace: before.Namespace, Name: spec.Zone}}
		}
	}
	if after != nil {
		spec, err := objects.DelegationSpec(after)
		if err != nil {
			return ask, commit.Status("delegations", after.Name, &law.Refusal{Kind: law.Invalid, Message: err.Error()})
		}
		ask.Ref = law.Ref{Namespace: after.Namespace, Name: after.Name, UID: string(after.UID)}
		ask.After = spec
	}
	ask.Terminating = box.Terminates(ask.Namespace)
	return ask, nil
}

// takeIn decides anew the Delegations of a work: those of a zone that goes, those that wait for a zone, and those for
// which others left no room in it, where one of these has changed. It comes before the candidates of the work are
// collected, so that these are decided by the new rules.
func (box *Outbox) takeIn(ctx context.Context, s *standing) error {
	for i := range s.Work.Scans {
		scan := &s.Work.Scans[i]
		if scan.Kind != law.ScanReferring && scan.Kind != law.ScanNamespaces {
			continue
		}
		names := map[string]bool{}
		var rev int64
		if s.Work.Purge != "" {
			if err := etcd.EachPage(ctx, box.mem.Client, box.mem.Layout.Rules(s.Work.Purge), &rev, func(key string, data []byte,
				_ int64) error {
				var rules law.NamespaceRules
				if err := layout.Decode(data, &rules); err != nil {
					return layout.Unreadable(key, err)
				}
				for _, r := range rules.List {
					names[r.Name] = true
				}
				return nil
			}); err != nil {
				return err
			}
		}
		waiting := box.mem.Layout.WaitingFor(scan.Target) + layout.WaitingDelegation + "/"
		if err := etcd.EachPage(ctx, box.mem.Client, waiting, &rev, func(key string, _ []byte, _ int64) error {
			names[key[strings.LastIndexByte(key, '/')+1:]] = true
			return nil
		}); err != nil {
			return err
		}
		// The work of a new zone decides all that waits for it after this, and the work of a Delegation what its own
		// namespaces have.
		covered := s.Work.Purge == "" && scan.Kind == law.ScanReferring
		for some := range slices.Chunk(slices.Sorted(maps.Keys(names)), takenAtOnce) {
			group, within := errgroup.WithContext(ctx)
			for _, name := range some {
				group.Go(func() error { return box.reconsiderDelegation(within, scan.Target.Namespace, name, covered) })
			}
			if err := group.Wait(); err != nil {
				return err
			}
			if err := s.renewLease(ctx, box); err != nil {
				return err
			}
		}
	}
	return nil
}

// reconsiderDelegation decides a Delegation anew, in a transaction of its own. covered says that what its rules may
// concern is decided after this.
func (box *Outbox) reconsiderDelegation(ctx context.Context, namespace, name string, covered bool) error {
	key := box.mem.Layout.Delegation(namespace, name)
	for {
		r, err := box.mem.Client.Get(ctx, key)
		if err != nil || len(r.Kvs) == 0 {
			return err
		}
		o := &v1alpha1.Delegation{}
		if err := box.mem.Delegations.Decode(ctx, key, r.Kvs[0].Value, r.Kvs[0].ModRevision, o); err != nil {
			return fmt.Errorf("%s cannot be read: %w", key, err)
		}
		ask, err := box.DelegationAsk(o, o)
		if err != nil {
			return err
		}
		ask.Cascade, ask.Covered = true, covered
		tx, _ := box.DelegationTx(ask, o, o, r.Kvs[0].ModRevision)
		out, err := box.com.Commit(ctx, tx)
		if err != nil {
			return err
		}
		if out.OK {
			return nil
		}
	}
}

// scanNamespaces finds the records that some namespaces have in a zone, and what of them waits there for it. It reads
// what is in these namespaces, not what others have in the zone.
func (box *Outbox) scanNamespaces(ctx context.Context, s *standing, scan law.Scan, found func(candidate)) error {
	var rev int64
	for _, namespace := range scan.Namespaces {
		if err := etcd.Each(ctx, box.mem.Client, box.mem.Layout.Record(namespace, ""), &rev, func(key string, data []byte,
			mod int64) error {
			o := &v1alpha1.Record{}
			if err := box.mem.Records.Decode(ctx, key, data, mod, o); err != nil {
				_, object, _ := box.mem.Layout.ObjectName(key)
				return s.leaveOut(ctx, law.Ref{Namespace: namespace, Name: object}, err)
			}
			in, waits, err := objects.Adopted(o)
			switch {
			case err != nil:
				return s.leaveOut(ctx, law.Ref{Namespace: namespace, Name: o.Name}, err)
			case in != nil && in.Zone.UID == scan.Zone, in == nil && waits.For(&scan):
				c, err := box.recordCandidate(ctx, o)
				if err != nil {
					return err
				}
				c.stands = in != nil
				found(c)
			}
			return nil
		}); err != nil {
			return err
		}
		if err := etcd.Each(ctx, box.mem.Client, box.mem.Layout.Zone(namespace, ""), &rev, func(key string, data []byte, mod int64) error {
			o := &v1alpha1.Zone{}
			if err := box.mem.Zones.Decode(ctx, key, data, mod, o); err != nil {
				return fmt.Errorf("%s cannot be read: %w", key, err)
			}
			if o.Status.FQDN != "" {
				return nil
			}
			spec, err := objects.ZoneSpec(o)
			if err != nil {
				return fmt.Errorf("%s cannot be read: %w", key, err)
			}
			if spec.Waiting().For(&scan) {
				found(candidate{letter: layout.WaitingZone, namespace: namespace, object: o.Name, uid: string(o.UID),
					created: o.CreationTimestamp.Unix()})
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// takenAtOnce bounds the Delegations that a cascade decides side by side. Those of a zone that goes do not depend on
// each other.
const takenAtOnce = 8
