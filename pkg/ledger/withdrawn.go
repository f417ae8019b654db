// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/duration"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/zones"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// The answer of a write that takes rules away, of a dry run too, says what stood and is allowed no more (S2.16). It is
// a look at the objects as of the write: it changes nothing, and the cascade that decides each of them may be quicker.

const (
	// maxTaken bounds the Records that one answer looks at, and defaultTakenWithin the time for that.
	maxTaken           = 5000
	defaultTakenWithin = time.Second
	// maxTakenNames bounds the names that it gives.
	maxTakenNames = 5
)

// ruleChange is what a write changes of the rules of a zone.
type ruleChange struct {
	zone *law.Zone
	// namespaces are those that it may concern; nil: all.
	namespaces []string
	// before and after return the zone with the rules that hold for a namespace, of which Delegations give some.
	before, after func(delegated []law.DelegatedRule) *law.Zone
	// children are the zones below it from before the write, and at is the revision of the write; 0: the newest.
	children children
	at       int64
}

// children are zones that a parent delegates by a rule.
type children map[law.Key]*law.Holding

// childrenOf returns the zones that a zone delegates by a rule.
func (l *Ledger) childrenOf(zone string) children {
	return l.mem.Holdings(func(h *law.Holding) bool { return h.Parent != nil && h.Parent.UID == zone && !h.Established })
}

// taken is what stands and is allowed no more.
type taken struct {
	records, zones int
	names          []string
	namespaces     map[string]bool
	// more says that not all was looked at.
	more bool
}

func (t *taken) add(namespace, text string) {
	if len(t.names) < maxTakenNames {
		t.names = append(t.names, text)
	}
	t.namespaces[namespace] = true
}

// warnOfTaken tells the client what the change takes.
func (l *Ledger) warnOfTaken(ctx context.Context, c ruleChange) {
	within, cancel := context.WithTimeout(ctx, l.config.takenWithin)
	defer cancel()
	t := &taken{namespaces: map[string]bool{}}
	if err := l.findTaken(within, c, t); err != nil {
		t.more = true // a warning is worth no error, and no wait
	}
	if t.records+t.zones == 0 {
		return
	}
	var numbers []string
	for _, n := range []struct {
		count int
		what  string
	}{{t.records, "Record"}, {t.zones, "zone"}} {
		switch {
		case n.count == 1:
			numbers = append(numbers, "1 "+n.what)
		case n.count > 1:
			numbers = append(numbers, fmt.Sprintf("%d %ss", n.count, n.what))
		}
	}
	number := strings.Join(numbers, " and ")
	if t.more {
		number = "at least " + number
	}
	namespaces := slices.Sorted(maps.Keys(t.namespaces))
	when := fmt.Sprintf("that goes at once (withdrawalGracePeriod: 0s), and if that is more than %d %% of the zone, "+
		"it is delivered as it is until %s lets that through (S7.9)", c.zone.MaxDeletePercent, v1alpha1.AnnotationPublishDeletions)
	if c.zone.Grace > 0 {
		period := time.Duration(c.zone.Grace) * time.Second
		when = fmt.Sprintf("that stays for %s, until about %s, and the annotation %s: %s of the Zone or the Delegation "+
			"releases it now", duration.HumanDuration(period), l.mem.Now().Add(period).UTC().Format(time.RFC3339),
			v1alpha1.AnnotationReleaseNow, strings.Join(namespaces, ","))
	}
	commit.Warn(ctx, []string{fmt.Sprintf("the rules of zone %s allow no more what stands in it: %s (%s); %s (S2.16)",
		c.zone.FQDN(), number,
		strings.Join(t.names, ", "), when)})
}

// findTaken adds to t what stands and is allowed no more. Error: it did not look at all of it.
func (l *Ledger) findTaken(ctx context.Context, c ruleChange, t *taken) error {
	namespaces := c.namespaces
	if namespaces == nil {
		prefix := l.mem.Layout.Key(law.CountKey(c.zone.UID, ""))
		r, err := l.mem.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithRev(c.at))
		if err != nil {
			return err
		}
		for _, kv := range r.Kvs {
			namespaces = append(namespaces, strings.TrimPrefix(string(kv.Key), prefix))
		}
		for _, h := range c.children {
			namespaces = append(namespaces, h.Namespace)
		}
		slices.Sort(namespaces)
		namespaces = slices.Compact(namespaces)
	}
	looked := 0
	for _, namespace := range namespaces {
		r, err := l.mem.Client.Get(ctx, l.mem.Layout.Key(law.CountKey(c.zone.UID, namespace)), clientv3.WithKeysOnly(),
			clientv3.WithRev(c.at))
		if err != nil {
			return err
		}
		has := slices.ContainsFunc(slices.Collect(maps.Values(c.children)), func(h *law.Holding) bool { return h.Namespace == namespace })
		if len(r.Kvs) == 0 && !has {
			continue // what it has elsewhere is none of the zone's (S1.8)
		}
		delegated, err := l.readRules(ctx, c.zone.UID, namespace, c.at)
		if err != nil {
			return err
		}
		before, after := c.before(delegated).RuleSet(), c.after(delegated).RuleSet()
		for k, h := range c.children {
			if h.Namespace == namespace && before.DelegatesZone(k.Name, namespace) && !after.DelegatesZone(k.Name, namespace) {
				t.zones++
				t.add(namespace, "zone "+k.Name.String())
			}
		}
		if err := l.eachRecordIn(ctx, namespace, c.at, &looked, func(r *v1alpha1.Record) {
			if r.Status.ZoneRef == nil || string(r.Status.ZoneRef.UID) != c.zone.UID {
				return
			}
			n, err := name.Parse(r.Status.FQDN)
			kind, err2 := rdata.ParseType(r.Spec.Type)
			if err == nil && err2 == nil && before.AllowsRecord(n, kind, namespace) && !after.AllowsRecord(n, kind, namespace) {
				t.records++
				t.add(namespace, n.String()+" "+kind.String())
			}
		}); err != nil {
			return err
		}
		if t.more = looked >= maxTaken; t.more {
			break
		}
	}
	return nil
}

// eachRecordIn goes through the Records of a namespace as of a revision, until looked is maxTaken.
func (l *Ledger) eachRecordIn(ctx context.Context, namespace string, at int64, looked *int, do func(*v1alpha1.Record)) error {
	key := l.mem.Layout.Record(namespace, "")
	end := clientv3.GetPrefixRangeEnd(key)
	for *looked < maxTaken {
		r, err := l.mem.Client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(500), clientv3.WithRev(at))
		if err != nil {
			return err
		}
		for _, kv := range r.Kvs {
			*looked++
			o := &v1alpha1.Record{}
			if err := l.mem.Records.Decode(ctx, string(kv.Key), kv.Value, kv.ModRevision, o); err == nil {
				do(o)
			}
			key = string(kv.Key) + "\x00"
		}
		if !r.More {
			return nil
		}
	}
	return nil
}

// readRules reads what Delegations give a namespace in a zone, as of a revision.
func (l *Ledger) readRules(ctx context.Context, zone, namespace string, at int64) ([]law.DelegatedRule, error) {
	key := l.mem.Layout.Key(law.RulesKey(zone, namespace))
	r, err := l.mem.Client.Get(ctx, key, clientv3.WithRev(at))
	if err != nil || len(r.Kvs) == 0 {
		return nil, err
	}
	var rules law.NamespaceRules
	if err := layout.Decode(r.Kvs[0].Value, &rules); err != nil {
		return nil, layout.Unreadable(key, err)
	}
	return rules.List, nil
}

// warnOfZoneRules is warnOfTaken for a write of a Zone, at a revision.
func (l *Ledger) warnOfZoneRules(ctx context.Context, before *law.Zone, plan *law.Plan, stood children, at int64) {
	if before == nil || before.Pending || plan.Zone == nil || plan.Zone.Gone || plan.Zone.Zone.Pending {
		return
	}
	after := plan.Zone.Zone
	namespaces, changed := law.ChangedRules(before, after)
	if !changed {
		return
	}
	l.warnOfTaken(ctx, ruleChange{zone: after, namespaces: namespaces, before: before.WithDelegated, after: after.WithDelegated,
		children: stood, at: at})
}

// warnOfDelegation is warnOfTaken for a write of a Delegation, at a revision.
func (l *Ledger) warnOfDelegation(ctx context.Context, ask *zones.DelegationAsk, plan *law.Plan, stood children, at int64) {
	if ask.Before == nil || plan.Zone == nil || ask.In != plan.Zone.Zone.UID || ask.Terminating || plan.Zone.Zone.Terminating {
		return
	}
	zone := plan.Zone.Zone
	with := func(spec *zones.DelegationSpec) func([]law.DelegatedRule) *law.Zone {
		return func(delegated []law.DelegatedRule) *law.Zone {
			rules := slices.DeleteFunc(slices.Clone(delegated), func(r law.DelegatedRule) bool { return r.Name == ask.Name })
			if spec != nil {
				rules = append(rules, law.DelegatedRule{Name: ask.Name, Rule: spec.Rule})
			}
			return zone.WithDelegated(rules)
		}
	}
	l.warnOfTaken(ctx, ruleChange{zone: zone, namespaces: ask.Before.Rule.Namespaces, before: with(ask.Before), after: with(ask.After),
		children: stood, at: at})
}
