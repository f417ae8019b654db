// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// countsWithdrawn is the migration that gives zones withdrawn before format 5 a time to end.
const countsWithdrawn = 7

// countWithdrawn begins to count for zones whose rule went in a version that did not count. They have the whole
// period of the zone above them from now on (S3.4). That version also said DelegationWithdrawn of zones that a rename
// left undelegated, which cannot be told from the others any more. A zone that cannot be read is left out.
func countWithdrawn(ctx context.Context, m *migrating) error {
	type named struct {
		law.Key
		*law.Holding
		rev int64
	}
	var candidates []named
	standing := map[law.Key]*law.Holding{}
	if err := m.eachKey(ctx, m.mem.Layout.Room("names"), func(kv *mvccpb.KeyValue) error {
		k, h, err := m.mem.Layout.DecodeName(string(kv.Key), kv.Value)
		if err != nil {
			return err
		}
		standing[k] = h
		if h.Parent == nil && !h.ExternalCut && h.Withdrawn == nil {
			candidates = append(candidates, named{k, h, kv.ModRevision})
		}
		return nil
	}); err != nil {
		return err
	}
	for _, c := range candidates {
		var above *law.Holding
		for up, ok := c.Name.Parent(); ok && above == nil; up, ok = up.Parent() {
			above = standing[law.HoldingKey(c.View, up)]
		}
		if above == nil {
			continue
		}
		o, mod, err := m.readZone(ctx, c.Holding.Ref)
		if err != nil {
			return err
		}
		p, _, err := m.readZone(ctx, above.Ref)
		if err != nil {
			return err
		}
		if o == nil || p == nil {
			continue
		}
		said := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionDelegated)
		if said == nil || said.Reason != v1alpha1.ReasonDelegationWithdrawn {
			continue
		}
		parent, err := objects.LawZone(p)
		if err != nil || parent.DelegatesZone(c.Name, c.Namespace) {
			continue // it is back, and that has a cascade of its own
		}
		now := m.mem.Now().UTC().Truncate(time.Second)
		h := *c.Holding
		h.Withdrawn = &law.Withdrawal{By: above.UID, Since: now.Unix(), Grace: parent.Grace}
		o.Status.EndsAt = &metav1.Time{Time: now.Add(time.Duration(parent.Grace) * time.Second)}
		key := m.mem.Layout.Zone(o.Namespace, o.Name)
		data, err := m.mem.Zones.Encode(ctx, key, o)
		if err != nil {
			return err
		}
		name := m.mem.Layout.Key(c.Key)
		done, err := m.commitLocked(ctx, []clientv3.Cmp{etcd.RevisionIs(key, mod), etcd.RevisionIs(name, c.rev)}, etcd.OpPut(key, data), etcd.OpPut(name, layout.Encode(&h)))
		if err != nil {
			return err
		}
		if !done {
			return countWithdrawn(ctx, m) // an older server has changed one of them at its end
		}
	}
	return nil
}

// readZone reads a zone; nil where it is gone, another one or cannot be decoded.
func (m *migrating) readZone(ctx context.Context, ref law.Ref) (*v1alpha1.Zone, int64, error) {
	key := m.mem.Layout.Zone(ref.Namespace, ref.Name)
	r, err := m.mem.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return nil, 0, err
	}
	o := &v1alpha1.Zone{}
	if err := m.mem.Zones.Decode(ctx, key, r.Kvs[0].Value, r.Kvs[0].ModRevision, o); err != nil {
		klog.FromContext(ctx).Error(err, "The migration leaves out an object that cannot be read; run kubizone fsck", "key", key)
		return nil, 0, nil
	}
	if string(o.UID) != ref.UID {
		return nil, 0, nil
	}
	return o, r.Kvs[0].ModRevision, nil
}
