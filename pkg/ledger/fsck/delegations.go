// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// given is the effect of a zone's Delegations (S4.8).
type given struct {
	delegations int
	rules       map[string][]law.DelegatedRule // by namespace, in the order of the names of the Delegations
}

// waitingDelegation is a Delegation that is in force in no zone.
type waitingDelegation struct {
	law.Ref
	created int64
	zone    law.Ref
}

// readDelegations works out what Delegations give in each zone, and which of them wait.
func (c *check) readDelegations() error {
	return c.eachKey(c.layout.Objects("delegations"), func(key string, kv *mvccpb.KeyValue) error {
		o := &v1alpha1.Delegation{}
		if err := c.config.Delegations.Decode(c.ctx, key, kv.Value, kv.ModRevision, o); err != nil {
			c.reportDamage(key, "S4.8", err.Error(), "a Delegation")
			return nil
		}
		rule, err := objects.DelegationRule(o)
		if err != nil {
			c.reportDamage(key, "S4.8", err.Error(), "a Delegation the law can read")
			return nil
		}
		if key != c.layout.Delegation(o.Namespace, o.Name) {
			c.reportDamage(key, "S4.8", o.Namespace+"/"+o.Name, "the object that the key names")
		}
		accepted := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionAccepted)
		if in := o.Status.ZoneRef != nil; accepted == nil || in != (accepted.Status == "True") {
			c.reportDamage(key, "S4.8", fmt.Sprintf("in force %t and %s", in, encodeText(accepted)), "the condition Accepted says the "+
				"same as status.zoneRef")
		}
		named := law.Ref{Namespace: o.Namespace, Name: o.Spec.ZoneRef.Name}
		if o.Status.ZoneRef == nil {
			c.waiting = append(c.waiting, waitingDelegation{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)},
				created: o.CreationTimestamp.Unix(), zone: named})
			if z := c.objects[named]; z != nil && !z.Pending && accepted != nil && accepted.Reason == v1alpha1.ReasonZoneNotFound {
				c.reportDifference(c.isScanned(func(s *law.Scan) bool {
					return s.Kind == law.ScanReferring && s.Target.Namespace == named.Namespace && s.Target.Name == named.Name
				}), key, "S4.8", "in force nowhere", "in force in zone %s, which stands", z.key)
			}
			return nil
		}
		uid := string(o.Status.ZoneRef.UID)
		z := c.zones[uid]
		if z == nil || z.Pending {
			if !c.unread.countUnread(law.Ref{Namespace: named.Namespace, Name: named.Name, UID: uid}) {
				c.reportDifference(c.purging[uid], key, "S4.8", "in force in zone "+uid, "in force nowhere: no such zone stands")
			}
			return nil
		}
		if named.Namespace != z.Namespace || named.Name != z.Name {
			c.reportDamage(key, "S4.8", "in force in zone "+z.key, "in force in the zone that it names, %s/%s", named.Namespace, named.Name)
		}
		z.given.delegations++
		for _, ns := range rule.Namespaces {
			if z.given.rules == nil {
				z.given.rules = map[string][]law.DelegatedRule{}
			}
			z.given.rules[ns] = append(z.given.rules[ns], law.DelegatedRule{Name: o.Name, UID: string(o.UID), Rule: rule})
		}
		return nil
	})
}

// checkGiven compares what Delegations make in rules/.
func (c *check) checkGiven() error {
	return c.checkRoom("rules", "S4.8", func(z *zone, ns, key string, kv *mvccpb.KeyValue) {
		var have law.NamespaceRules
		if c.parseValue(key, kv, &have) && encodeText(have.List) != encodeText(z.given.rules[ns]) {
			c.reportDamage(key, "S4.8", encodeText(have.List), "%s", encodeText(z.given.rules[ns]))
		}
	}, func(z *zone, want func(string, string)) {
		for ns, rules := range z.given.rules {
			want(c.layout.Key(law.RulesKey(z.UID, ns)), encodeText(rules))
		}
	})
}

// lookUpRules returns a fact from what Delegations give.
func (z *zone) lookUpRules(k law.Key) any {
	if rules := z.given.rules[k.Namespace]; k.Kind == law.KindRules && len(rules) > 0 {
		return &law.NamespaceRules{List: rules}
	}
	return nil
}

// wantedOrphans are the keys of the Delegations that wait.
func (c *check) wantedOrphans(want map[string]string) {
	for _, d := range c.waiting {
		for _, key := range c.layout.Waiting(&law.Waiting{Zone: &d.zone}, "delegations", d.Namespace, d.Name) {
			want[key] = layout.WaitingValue(d.UID, d.created, false)
		}
	}
}
