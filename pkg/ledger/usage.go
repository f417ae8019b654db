// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// A Delegation says how many Records its namespaces have in its zone (S4.8). What a write of a Record changes of that is in its key of
// counts/ at once; the Delegations say so when they are swept, so that a record's write costs no other object, and a Delegation is written
// once in usageEvery at most, whatever its namespaces write.

const (
	// usageEvery is how often Delegations are swept.
	usageEvery = 10 * time.Second
	// usageAtOnce is how many counts one sweep looks at; the others wait for the next.
	usageAtOnce = 500
)

// usage are the counts that this server has changed since a sweep looked at them: keys of KindCount, without a namespace all of a zone.
type usage struct {
	mu      sync.Mutex
	changed map[law.Key]bool
}

// note takes the counts that a committed batch has changed of a zone with Delegations, and those of the namespaces whose rules it changes.
func (u *usage) note(c *law.ZoneChange, facts map[law.Key]any) {
	if c == nil || c.Holding == nil || c.Holding.Delegations == 0 {
		return
	}
	for k := range facts {
		if k.Kind == law.KindCount || k.Kind == law.KindRules {
			u.add(law.CountKey(k.Zone, k.Namespace))
		}
	}
}

func (u *usage) add(k law.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.changed == nil {
		u.changed = map[law.Key]bool{}
	}
	u.changed[k] = true
}

// take takes up to most of them.
func (u *usage) take(most int) []law.Key {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []law.Key
	for k := range u.changed {
		if len(out) == most {
			break
		}
		delete(u.changed, k)
		out = append(out, k)
	}
	return out
}

// noteAll has the records of all zones counted: no server may have counted what was written before this one started.
func (l *Ledger) noteAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.index {
		if x.holding.Delegations > 0 {
			l.usage.add(law.CountKey(x.holding.UID, ""))
		}
	}
}

// followUsage sweeps until ctx ends: beside the outbox, which is not to wait for it.
func (l *Ledger) followUsage(ctx context.Context) {
	tick := time.NewTicker(l.config.usageEvery)
	defer tick.Stop()
	l.noteAll()
	for {
		l.sweepUsage(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweepUsage writes into Delegations how many Records their namespaces have, where that has changed.
func (l *Ledger) sweepUsage(ctx context.Context) {
	delegated := map[string]*law.Holding{}
	l.mu.Lock()
	for _, x := range l.index {
		if x.holding.Delegations > 0 {
			delegated[x.holding.UID] = x.holding
		}
	}
	l.mu.Unlock()
	due := map[string]map[string]bool{} // names of Delegations by the uid of their zone
	for _, k := range l.usage.take(usageAtOnce) {
		if delegated[k.Zone] == nil {
			continue
		}
		names, err := l.delegationsOf(ctx, k)
		if err != nil {
			l.usage.add(k)
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
			if err := l.countUsage(ctx, uid, delegated[uid].Namespace, name); err != nil {
				l.usage.add(law.CountKey(uid, ""))
				klog.FromContext(ctx).V(2).Info("a Delegation is counted later", "delegation", name, "why", err.Error())
			}
		}
	}
}

// delegationsOf are the names of the Delegations that give the namespace of a count its rules in a zone; of the whole zone without one.
func (l *Ledger) delegationsOf(ctx context.Context, k law.Key) (names []string, err error) {
	read := func(key string, data []byte) error {
		var rules law.NamespaceRules
		if err := layout.Decode(data, &rules); err != nil {
			return unreadable(key, err)
		}
		for _, r := range rules.List {
			names = append(names, r.Name)
		}
		return nil
	}
	if k.Namespace == "" {
		var rev int64
		return names, l.eachPage(ctx, l.layout.Rules(k.Zone), &rev, func(key string, data []byte, _ int64) error { return read(key, data) })
	}
	key := l.layout.Key(law.RulesKey(k.Zone, k.Namespace))
	r, err := l.config.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return nil, err
	}
	return names, read(key, r.Kvs[0].Value)
}

// countUsage writes the count of one Delegation.
func (l *Ledger) countUsage(ctx context.Context, uid, namespace, name string) error {
	key := l.layout.Delegation(namespace, name)
	r, err := l.config.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return err
	}
	o := &v1alpha1.Delegation{}
	if err := l.config.Delegations.decode(ctx, key, r.Kvs[0].Value, r.Kvs[0].ModRevision, o); err != nil {
		return fmt.Errorf("ledger: %s: %w", key, err)
	}
	if in := o.Status.ZoneRef; in == nil || string(in.UID) != uid {
		return nil
	}
	var ops []clientv3.Op
	for _, ns := range o.Spec.Namespaces {
		ops = append(ops, clientv3.OpGet(l.layout.Key(law.CountKey(uid, ns))))
	}
	counts, err := l.config.Client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return err
	}
	records := int64(0)
	for _, x := range counts.Responses {
		kv := one(x)
		if kv == nil {
			continue
		}
		var c law.Count
		if err := layout.Decode(kv.Value, &c); err != nil {
			return unreadable(string(kv.Key), err)
		}
		records += c.Records
	}
	if o.Status.Records == records {
		return nil
	}
	o.Status.Records = records
	data, err := l.config.Delegations.encode(ctx, key, o)
	if err != nil {
		return err
	}
	done, err := l.config.Client.Txn(ctx).If(revisionIs(key, r.Kvs[0].ModRevision)).Then(opPut(key, data)).Commit()
	if err == nil && !done.Succeeded {
		return l.countUsage(ctx, uid, namespace, name)
	}
	return err
}
