// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
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
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// A write or dry run that takes away rights gets a Warning with the losses: Records and zones no longer allowed.

const (
	maxExamined  = 5000
	warnTimeout  = time.Second
	maxLossNames = 5
)

// ruleChange is a change of a zone's rules that may take away rights.
type ruleChange struct {
	zone       string     // UID
	namespaces []string   // may lose rights anywhere in the zone; nil means all
	names      []name.Rel // at and below these, other namespaces may lose rights
	fqdn       name.Name  // of the zone
	// lossesOf returns the test for a namespace's losses, given the namespace's rules in Delegations.
	lossesOf func(namespace string, delegated []law.DelegatedRule) (judge lossTest)
	children children                                      // before the write
	rev      int64                                         // of the write, 0 for the newest
	describe func(what string, namespaces []string) string // returns the text of the Warning
}

type lossTest struct {
	record func(r *v1alpha1.Record, n name.Name, t rdata.Type) bool
	zone   func(n name.Name, h *law.Holding) bool
}

func lossByRules(before, after *law.Zone, namespace string) lossTest {
	had, has := before.RuleSet(), after.RuleSet()
	return lossTest{
		record: func(_ *v1alpha1.Record, n name.Name, t rdata.Type) bool {
			return had.AllowsRecord(n, t, namespace) && !has.AllowsRecord(n, t, namespace)
		},
		zone: func(n name.Name, _ *law.Holding) bool {
			return had.AllowsZone(n, namespace) && !has.AllowsZone(n, namespace)
		},
	}
}

type children map[law.Key]*law.Holding

func (l *Ledger) childrenOf(zone string) children {
	if zone == "" {
		return nil
	}
	return l.mem.Holdings(func(h *law.Holding) bool { return h.Parent != nil && h.Parent.UID == zone && !h.Established })
}

type losses struct {
	records, zones int
	names          []string
	namespaces     map[string]bool
	more           bool
}

func (t *losses) add(namespace, text string) {
	if len(t.names) < maxLossNames {
		t.names = append(t.names, text)
	}
	t.namespaces[namespace] = true
}

// warnOfLosses sends a Warning with the Records and zones that a change of rules takes away (S2.16), if there are any.
// After warnTimeout, the Warning has the losses found so far.
func (l *Ledger) warnOfLosses(ctx context.Context, c ruleChange) {
	within, cancel := context.WithTimeout(ctx, l.bounds.warnTimeout)
	defer cancel()
	t := &losses{namespaces: map[string]bool{}}
	if err := l.findLosses(within, c, t); err != nil {
		t.more = true // a warning justifies neither error nor wait
	}
	if t.records+t.zones == 0 {
		return
	}
	text := c.describe(t.String(), slices.Sorted(maps.Keys(t.namespaces)))
	commit.Warn(ctx, law.Warning{Rule: "S2.16", Reason: law.WarningTakesAway, Text: text})
}

// String returns the numbers and first names, for example `2 Records and 1 zone (www.example.org. A, …)`.
func (t *losses) String() string {
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
	return fmt.Sprintf("%s (%s)", number, strings.Join(t.names, ", "))
}

// describeWithdrawal returns the text of the Warning for rules of zone that take data away. The write has just added
// the namespaces in released to kubi.zone/release-now.
func (l *Ledger) describeWithdrawal(zone *law.Zone, released []string) func(what string, namespaces []string) string {
	return func(what string, namespaces []string) string {
		// With a period of 0s, the cascade releases the Records soon after the answer.
		when := fmt.Sprintf("they are released at once (withdrawalGracePeriod: 0s), and if they are more than %d %% of the zone, it is "+
			"held until %s lets that through (S7.9)", zone.MaxDeletePercent, v1alpha1.AnnotationPublishDeletions)
		isKept := func(namespace string) bool { return !slices.Contains(released, namespace) }
		switch {
		case zone.Grace > 0 && !slices.ContainsFunc(namespaces, isKept):
			when = fmt.Sprintf("they are released at once, by the annotation %s", v1alpha1.AnnotationReleaseNow)
		case zone.Grace > 0:
			period := time.Duration(zone.Grace) * time.Second
			when = fmt.Sprintf("they stay for %s, until about %s, and the annotation %s: %s of the Zone or the Delegation releases them "+
				"now", duration.HumanDuration(period), l.mem.Now().Add(period).UTC().Format(time.RFC3339),
				v1alpha1.AnnotationReleaseNow, strings.Join(namespaces, ","))
		}
		return fmt.Sprintf("the rules of zone %s no longer allow %s; %s", zone.FQDN(), what, when)
	}
}

// findLosses adds the losses of a rule change to found, read at the change's revision. After maxExamined Records it
// sets found.more and ends.
func (l *Ledger) findLosses(ctx context.Context, c ruleChange, found *losses) error {
	// Find the namespaces that may lose something.
	namespaces := c.namespaces
	if namespaces == nil {
		// A rule for any namespace has changed: all with Records or child zones in the zone.
		prefix := l.mem.Layout.Key(law.CountKey(c.zone, ""))
		r, err := l.mem.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithRev(c.rev))
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

	// A literal rule reserves a name, so other namespaces lose data there (S4.20).
	others, err := l.namespacesAt(ctx, c)
	if err != nil {
		return err
	}
	namespaces = slices.Compact(slices.Sorted(slices.Values(slices.Concat(namespaces, others))))

	// Look for losses, namespace by namespace.
	looked := 0
	for _, namespace := range namespaces {
		r, err := l.mem.Client.Get(ctx, l.mem.Layout.Key(law.CountKey(c.zone, namespace)), clientv3.WithKeysOnly(),
			clientv3.WithRev(c.rev))
		if err != nil {
			return err
		}
		hasChildren := slices.ContainsFunc(slices.Collect(maps.Values(c.children)), func(h *law.Holding) bool {
			return h.Namespace == namespace
		})
		if len(r.Kvs) == 0 && !hasChildren {
			continue // its objects elsewhere must not be revealed
		}

		// A Delegation's rule may still allow the names to this namespace.
		delegated, err := l.readRules(ctx, c.zone, namespace, c.rev)
		if err != nil {
			return err
		}
		judge := c.lossesOf(namespace, delegated)
		for k, h := range c.children {
			if h.Namespace == namespace && judge.zone(k.Name, h) {
				found.zones++
				found.add(namespace, "zone "+k.Name.String())
			}
		}

		if err := l.eachRecordIn(ctx, namespace, c.rev, &looked, func(r *v1alpha1.Record) {
			if r.Status.ZoneRef == nil || string(r.Status.ZoneRef.UID) != c.zone {
				return
			}
			// A damaged Record is no loss, and fsck names it.
			n, err := name.Parse(r.Status.FQDN)
			kind, err2 := rdata.ParseType(r.Spec.Type)
			if err == nil && err2 == nil && judge.record(r, n, kind) {
				found.records++
				found.add(namespace, n.String()+" "+kind.String())
			}
		}); err != nil {
			return err
		}

		if found.more = looked >= maxExamined; found.more {
			break
		}
	}

	return nil
}

// namespacesAt returns the namespaces with Records or child zones at or below the changed names (c.names), perhaps with
// repetitions.
func (l *Ledger) namespacesAt(ctx context.Context, c ruleChange) (out []string, err error) {
	for _, n := range c.names {
		r, err := l.mem.Client.Get(ctx, l.mem.Layout.MembersBelow(c.zone, n), clientv3.WithPrefix(), clientv3.WithKeysOnly(),
			clientv3.WithLimit(maxExamined), clientv3.WithRev(c.rev))
		if err != nil {
			return nil, err
		}
		for _, kv := range r.Kvs {
			if _, _, namespace, _, err := l.mem.Layout.ParseMember(string(kv.Key)); err == nil && !slices.Contains(out, namespace) {
				out = append(out, namespace)
			}
		}
		at, err := n.In(c.fqdn)
		for k, h := range c.children {
			if err == nil && at.Encloses(k.Name) {
				out = append(out, h.Namespace)
			}
		}
	}
	return out, nil
}

// FirstMember returns the name and UID of a namespace's first Record at an owner name in a zone, or empty strings.
func (l *Ledger) FirstMember(ctx context.Context, zoneUID string, owner name.Rel, namespace string) (object, uid string, err error) {
	prefix := l.mem.Layout.Key(law.MemberKey(zoneUID, owner, namespace, ""))
	r, err := l.mem.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(1))
	if err != nil || len(r.Kvs) == 0 {
		return "", "", err
	}
	var m law.Member
	if err := json.Unmarshal(r.Kvs[0].Value, &m); err != nil {
		return "", "", err
	}
	return strings.TrimPrefix(string(r.Kvs[0].Key), prefix), m.UID, nil
}

// eachRecordIn visits a namespace's Records at a revision, 0 for the newest, until looked exceeds maxExamined.
// Unreadable Records are left out.
func (l *Ledger) eachRecordIn(ctx context.Context, namespace string, rev int64, looked *int, visit func(*v1alpha1.Record)) error {
	key := l.mem.Layout.Record(namespace, "")
	end := clientv3.GetPrefixRangeEnd(key)
	for *looked < maxExamined {
		r, err := l.mem.Client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(500), clientv3.WithRev(rev))
		if err != nil {
			return err
		}

		for _, kv := range r.Kvs {
			*looked++
			o := &v1alpha1.Record{}
			if err := l.mem.Records.Decode(ctx, string(kv.Key), kv.Value, kv.ModRevision, o); err == nil {
				visit(o)
			}
			key = string(kv.Key) + "\x00"
		}

		if !r.More {
			return nil
		}
	}

	return nil
}

// readRules reads the rules that Delegations give a namespace in a zone, at a revision, 0 for the newest.
func (l *Ledger) readRules(ctx context.Context, zone, namespace string, rev int64) ([]law.DelegatedRule, error) {
	key := l.mem.Layout.Key(law.RulesKey(zone, namespace))
	r, err := l.mem.Client.Get(ctx, key, clientv3.WithRev(rev))
	if err != nil || len(r.Kvs) == 0 {
		return nil, err
	}
	var rules law.NamespaceRules
	if err := layout.Decode(r.Kvs[0].Value, &rules); err != nil {
		return nil, layout.Unreadable(key, err)
	}
	return rules.List, nil
}

// warnOfZone sends the Warnings of a write of a Zone: losses by its rules, and by released periods. The zone before is
// nil for a creation. The children existed before the write; nil has them read now. The revision 0 is that of a dry
// run.
func (l *Ledger) warnOfZone(ctx context.Context, before *law.Zone, plan *law.Plan, existing children, rev int64) {
	if plan.Zone == nil || plan.Zone.Removed || plan.Zone.Zone.Pending {
		return
	}
	after := plan.Zone.Zone
	if before == nil || before.Pending {
		// A new zone takes no rule away, but names from the zone above.
		l.warnOfUnlisted(ctx, after, rev)
		if above := plan.Zone.Holding.Parent; above != nil && plan.Zone.TakesOver {
			l.warnOfLosses(ctx, l.takeoverOf(above.UID, after, rev))
		}
		return
	}

	namespaces, changed := law.ChangedRules(before, after)
	released := addedTo(before.ReleaseNow, after.ReleaseNow)
	if !changed && len(released) == 0 {
		return
	}
	if existing == nil {
		existing = l.childrenOf(after.UID)
	}
	if changed {
		// By the effect of the rules for each namespace.
		warnOfElsewhere(ctx, after, before.Rules, after.Rules, existing)
		l.warnOfLosses(ctx, ruleChange{zone: after.UID, namespaces: namespaces, names: law.ChangedNames(before, after), fqdn: after.FQDN(),
			children: existing, rev: rev, describe: l.describeWithdrawal(after, released),
			lossesOf: func(namespace string, delegated []law.DelegatedRule) lossTest {
				return lossByRules(before.WithDelegated(delegated), after.WithDelegated(delegated), namespace)
			}})
	}

	l.warnOfReleases(ctx, after.UID, after.FQDN().String(), released, existing, rev)
}

// warnOfUnlisted warns the creator of a zone about established zones below that the new zone's rules do not list. The
// warning reveals nothing to tenants, since no tenant may establish a zone above another tenant's.
func (l *Ledger) warnOfUnlisted(ctx context.Context, newZone *law.Zone, rev int64) {
	within, cancel := context.WithTimeout(ctx, l.bounds.warnTimeout)
	defer cancel()
	key := law.ZonesBelowKey(newZone.View, newZone.FQDN())
	r, err := l.mem.Client.Get(within, l.mem.Layout.Key(key), clientv3.WithPrefix(), clientv3.WithLimit(maxExamined), clientv3.WithRev(rev))
	if err != nil {
		return
	}

	below, err := l.mem.DecodeRange(key, r.Kvs)
	if err != nil {
		return
	}
	// Only the zones next below: each zone further down has a parent in between.
	found := &losses{namespaces: map[string]bool{}, more: r.More}
	var last, first name.Name
	for _, z := range below.(*law.ZonesBelow).Zones {
		if z.FQDN == newZone.FQDN() || !last.IsZero() && last.Encloses(z.FQDN) {
			continue // another zone is between
		}
		last = z.FQDN
		isListed := newZone.RuleSet().DelegatesZone(z.FQDN, z.Namespace)
		if !z.Established || isListed {
			continue
		}
		if first.IsZero() {
			first = z.FQDN
		}
		found.zones++
		found.add(z.Namespace, "zone "+z.FQDN.String())
	}

	if found.zones == 0 {
		return
	}
	label, _ := first.Rel(newZone.FQDN())
	commit.Warn(ctx, law.Warning{Rule: "S3.4", Text: fmt.Sprintf("the rules of the new zone %s do not list %s below it; they are served "+
		"as before, and not Ready (NotDelegated) until a rule lists them, as by zones: [%q]", newZone.FQDN(), found, label)})
}

// takeoverOf returns the losses in the zone above (a UID) by a new zone, as a change of rules: Records and zones at and
// below the new zone's name that the new rules do not allow.
func (l *Ledger) takeoverOf(above string, newZone *law.Zone, rev int64) ruleChange {
	within := l.mem.Holdings(func(h *law.Holding) bool {
		return h.Parent != nil && (h.Parent.UID == above || h.Parent.UID == newZone.UID) && !h.Established && h.UID != newZone.UID
	})
	return ruleChange{zone: above, children: within, rev: rev,
		lossesOf: func(namespace string, _ []law.DelegatedRule) lossTest {
			has := newZone.RuleSet()
			return lossTest{
				record: func(_ *v1alpha1.Record, n name.Name, t rdata.Type) bool {
					// A DS at the new zone's name stays in the zone above (S2.1).
					return newZone.FQDN().Encloses(n) && (n != newZone.FQDN() || t != rdata.DS) && !has.AllowsRecord(n, t, namespace)
				},
				zone: func(n name.Name, _ *law.Holding) bool {
					return newZone.FQDN().Encloses(n) && !has.DelegatesZone(n, namespace)
				},
			}
		},
		describe: func(what string, _ []string) string {
			return fmt.Sprintf("the rules of the new zone %s do not allow %s at and below its name; Records are released at once, and "+
				"zones end after its withdrawalGracePeriod", newZone.FQDN(), what)
		}}
}

func addedTo(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(after), func(ns string) bool { return slices.Contains(before, ns) })
}

// warnOfReleases sends a Warning with the Records and zones whose period the annotation kubi.zone/release-now ends, by
// the namespaces added to it.
func (l *Ledger) warnOfReleases(ctx context.Context, zone, fqdn string, added []string, existing children, rev int64) {
	if len(added) == 0 {
		return
	}
	l.warnOfLosses(ctx, ruleChange{zone: zone, namespaces: added, children: existing, rev: rev,
		lossesOf: func(string, []law.DelegatedRule) lossTest {
			return lossTest{
				// In the period of its namespace, a Record has status.endsAt.
				record: func(r *v1alpha1.Record, _ name.Name, _ rdata.Type) bool { return r.Status.EndsAt != nil },
				zone:   func(_ name.Name, h *law.Holding) bool { return h.Withdrawn != "" },
			}
		},
		describe: func(what string, _ []string) string {
			return fmt.Sprintf("%s releases now, as the rules of zone %s no longer allow them: "+
				"%s", v1alpha1.AnnotationReleaseNow, fqdn, what)
		}})
}

func warnOfElsewhere(ctx context.Context, zone *law.Zone, before, after []rules.Rule, below children) {
	isZone := func(n name.Name) bool { return below[law.HoldingKey(zone.View, n)] != nil }
	had := rules.FindElsewhere(before, zone.FQDN(), zone.Namespace, isZone)
	texts := slices.DeleteFunc(rules.FindElsewhere(after, zone.FQDN(), zone.Namespace, isZone), func(text string) bool {
		return slices.Contains(had, text)
	})
	if len(texts) > 0 {
		commit.Warn(ctx, law.Warning{Rule: "S2.1", Text: rules.AdviseElsewhere(zone.FQDN(), texts)})
	}
}

// warnOfDelegation sends the Warnings of a write of a Delegation, like warnOfZone. If the Delegation is in force in no
// zone before and after the write, there are none.
func (l *Ledger) warnOfDelegation(ctx context.Context, ask *zones.DelegationInput, plan *law.Plan, existing children, rev int64) {
	// 1. Patterns at names that belong to child zones.
	if z := plan.Zone; z != nil && ask.After != nil {
		var had []rules.Rule
		if ask.Before != nil {
			had = append(had, ask.Before.Rule)
		} else {
			existing = l.childrenOf(z.Zone.UID)
		}
		warnOfElsewhere(ctx, z.Zone, had, []rules.Rule{ask.After.Rule}, existing)
	}

	// 2. Periods that the annotation ends.
	if ask.Terminating {
		return
	}
	in, released := ask.InZone, addedTo(ask.Before.ListReleases(), ask.After.ListReleases())
	if plan.Zone != nil {
		in = plan.Zone.Zone.UID
	}
	if ask.After != nil && in != "" {
		l.warnOfReleases(ctx, in, ask.Namespace+"/"+ask.After.Zone, released, existing, rev)
	}
	if plan.Zone == nil {
		return
	}

	// 3. Losses by the rule.
	zone, had := plan.Zone.Zone, ask.Before
	if ask.InZone != zone.UID {
		had = nil
	}
	if had == nil && ask.After == nil || zone.Terminating {
		return
	}

	// A Delegation's rule reserves names like the Zone's.
	with := func(spec *zones.DelegationSpec, delegated []law.DelegatedRule) *law.Zone {
		out := *zone
		if spec != nil {
			out.Rules = append(slices.Clone(zone.Rules), spec.Rule)
		}
		return out.WithDelegated(slices.DeleteFunc(slices.Clone(delegated), func(r law.DelegatedRule) bool { return r.Name == ask.Name }))
	}

	// Not nil, which would mean all namespaces.
	namespaces := []string{}
	if had != nil {
		namespaces = had.Rule.Namespaces
	}
	l.warnOfLosses(ctx, ruleChange{zone: zone.UID, namespaces: namespaces, names: law.ChangedNames(with(had, nil), with(ask.After, nil)),
		fqdn: zone.FQDN(), children: existing, rev: rev, describe: l.describeWithdrawal(zone, released),
		lossesOf: func(namespace string, delegated []law.DelegatedRule) lossTest {
			return lossByRules(with(had, delegated), with(ask.After, delegated), namespace)
		}})
}
