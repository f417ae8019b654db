// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// The status of a Delegation has the number of Records that its namespaces have in its zone (S4.3). A write of a
// Record changes a key of counts/ at once. A sweep writes the Delegations, so that a record's write costs no other
// object, and a Delegation is written once in UsageEvery at most, whatever its namespaces write.

const (
	// UsageEvery is how often Delegations are swept.
	UsageEvery = 10 * time.Second
	// usageAtOnce bounds the counts of one sweep; the others wait for the next.
	usageAtOnce = 500
)

// noteAll notes the counts of all zones: no server may have noted what was written before this one started.
func (box *Outbox) noteAll() {
	for _, h := range box.mem.Holdings(hasDelegations) {
		box.com.Usage.Add(law.CountKey(h.UID, ""))
	}
}

// hasDelegations reports whether Delegations are in force in the zone.
func hasDelegations(h *law.Holding) bool { return h.Delegations > 0 }

// followUsage sweeps until ctx ends. It runs beside the outbox, which is not to wait for it.
func (box *Outbox) followUsage(ctx context.Context) {
	tick := time.NewTicker(box.usageEvery)
	defer tick.Stop()
	box.noteAll()
	for {
		box.sweepUsage(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweepUsage writes into Delegations how many Records their namespaces have, where that has changed.
func (box *Outbox) sweepUsage(ctx context.Context) {
	delegated := map[string]*law.Holding{}
	for _, h := range box.mem.Holdings(hasDelegations) {
		delegated[h.UID] = h
	}
	due := map[string]map[string]bool{} // names of Delegations by the uid of their zone
	for _, k := range box.com.Usage.Take(usageAtOnce) {
		if delegated[k.Zone] == nil {
			continue
		}
		names, err := box.delegationsOf(ctx, k)
		if err != nil {
			box.com.Usage.Add(k)
			klog.FromContext(ctx).V(2).Info("Delegations are counted later", "zone", delegated[k.Zone].Name, "why", err.Error())
			return
		}
		if due[k.Zone] == nil {
			due[k.Zone] = map[string]bool{}
		}
		for _, name := range names {
			due[k.Zone][name] = true
		}
	}
	for uid, names := range due {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if err := box.countUsage(ctx, uid, delegated[uid].Namespace, name); err != nil {
				box.com.Usage.Add(law.CountKey(uid, ""))
				klog.FromContext(ctx).V(2).Info("a Delegation is counted later", "delegation", name, "why", err.Error())
			}
		}
	}
}

// delegationsOf returns the names of the Delegations that give the namespace of a count its rules in a zone; those of
// the whole zone for a count without a namespace.
func (box *Outbox) delegationsOf(ctx context.Context, k law.Key) (names []string, err error) {
	read := func(key string, data []byte) error {
		var rules law.NamespaceRules
		if err := layout.Decode(data, &rules); err != nil {
			return layout.Unreadable(key, err)
		}
		for _, r := range rules.List {
			names = append(names, r.Name)
		}
		return nil
	}
	if k.Namespace == "" {
		var rev int64
		return names, etcd.EachPage(ctx, box.mem.Client, box.mem.Layout.Rules(k.Zone), &rev, func(key string, data []byte, _ int64) error { return read(key, data) })
	}
	key := box.mem.Layout.Key(law.RulesKey(k.Zone, k.Namespace))
	r, err := box.mem.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return nil, err
	}
	return names, read(key, r.Kvs[0].Value)
}

// countUsage writes the count of one Delegation.
func (box *Outbox) countUsage(ctx context.Context, uid, namespace, name string) error {
	key := box.mem.Layout.Delegation(namespace, name)
	r, err := box.mem.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return err
	}
	o := &v1alpha1.Delegation{}
	if err := box.mem.Delegations.Decode(ctx, key, r.Kvs[0].Value, r.Kvs[0].ModRevision, o); err != nil {
		return fmt.Errorf("%s cannot be read: %w", key, err)
	}
	if in := o.Status.ZoneRef; in == nil || string(in.UID) != uid {
		return nil
	}
	var ops []clientv3.Op
	for _, ns := range o.Spec.Namespaces {
		ops = append(ops, clientv3.OpGet(box.mem.Layout.Key(law.CountKey(uid, ns))))
	}
	counts, err := box.mem.Client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return err
	}
	records := int64(0)
	for _, x := range counts.Responses {
		kv := etcd.One(x)
		if kv == nil {
			continue
		}
		var c law.Count
		if err := layout.Decode(kv.Value, &c); err != nil {
			return layout.Unreadable(string(kv.Key), err)
		}
		records += c.Records
	}
	if o.Status.Records == records {
		return nil
	}
	o.Status.Records = records
	data, err := box.mem.Delegations.Encode(ctx, key, o)
	if err != nil {
		return err
	}
	done, err := box.mem.Client.Txn(ctx).If(etcd.RevisionIs(key, r.Kvs[0].ModRevision)).Then(etcd.OpPut(key, data)).Commit()
	if err == nil && !done.Succeeded {
		return box.countUsage(ctx, uid, namespace, name)
	}
	return err
}
