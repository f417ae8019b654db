// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

const MaxDelegatedOctets = 32 << 10

// MaxNames limits the names that a Delegation reserves, so that all fit into an etcd transaction.
const MaxNames = 32

// DelegationWorkID begins with the namespace, which has no dot, so the works of a zone's Delegations have a prefix.
func DelegationWorkID(namespace, name string) string { return "delegation-" + namespace + "." + name }

type DelegationSpec struct {
	Zone       string
	Rule       rules.Rule
	ReleaseNow []string
}

// ListReleases returns the namespaces of kubi.zone/release-now, or nil for an absent Delegation.
func (s *DelegationSpec) ListReleases() []string {
	if s == nil {
		return nil
	}
	return s.ReleaseNow
}

type DelegationInput struct {
	law.Ref
	// Before is nil for a new Delegation. InZone is the UID of the zone with its rules.
	Before        *DelegationSpec
	InZone        string
	WaitingBefore *law.Waiting
	After         *DelegationSpec
	// Terminating is true if the namespace is being deleted. Records then stay until the zone is removed.
	Terminating bool
	// Cascade is true without a client, and Covered if a cascade decides all affected records again.
	Cascade, Covered bool
	Now              time.Time
	WorkID           string
}

func DecideDelegation(seen *law.Facts, ask DelegationInput) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		return (&delegationDecision{r, ask}).decideDelegation()
	})
}

type delegationDecision struct {
	*law.Reading
	ask DelegationInput
}

// decideDelegation stores the rules of a Delegation in the zone, changes them or removes them. Without the zone, the
// Delegation waits. For a client, limits refuse. In a cascade, a new Delegation above a limit waits.
func (d *delegationDecision) decideDelegation() (*law.Plan, *law.Refusal) {
	ask := &d.ask
	plan := &law.Plan{WaitingBefore: ask.WaitingBefore}
	spec := ask.After
	if spec == nil {
		spec = ask.Before
	}

	z := law.Get[law.Zone](d.Reading, law.ZoneKey(ask.Namespace, spec.Zone))
	if z == nil || z.Pending { // the rules go with the zone's keys
		if ask.After != nil {
			reason := "does not exist; the rules take effect once it exists"
			if z != nil {
				reason = "is pending; the rules take effect once it is adopted"
			}
			d.waitForZone(plan, law.ReasonZoneNotFound, fmt.Sprintf("zone %s/%s %s", ask.Namespace, spec.Zone, reason))
		}
		return plan, nil
	}

	holding := d.HoldingOf(z)

	// Rules in a former zone of the name went with that zone.
	var before, after *rules.Rule
	if ask.Before != nil && ask.InZone == z.UID {
		before = &ask.Before.Rule
	}
	if ask.After != nil {
		after = &ask.After.Rule
	}

	// 1. Store the rules for each namespace, and their reserved names.
	changed, refusal := d.writeRules(plan, z, before, after)
	var names []name.Rel
	if refusal == nil && len(changed) > 0 {
		names, refusal = d.writeNames(plan, z, before, after)
	}
	if refusal != nil {
		if !ask.Cascade || before != nil {
			return nil, refusal
		}
		// Nothing of a Delegation above a limit takes effect.
		plan.Writes = nil
		d.waitForZone(plan, refusal.Reason, refusal.Message)
		return plan, nil
	}

	// 2. Count the Delegations in force.
	h := *holding
	if (before == nil) != (after == nil) {
		if h.Delegations++; after == nil {
			h.Delegations -= 2
		}
	}

	if after != nil {
		plan.Delegation = &law.DelegationPlacement{Zone: &z.Ref, Reason: law.ReasonAccepted,
			Message: fmt.Sprintf("the rules are in force in zone %s", z.FQDN())}
		if !ask.Cascade {
			warnOfPatterns(plan, z, *after)
			var had []rules.Rule
			if before != nil {
				had = []rules.Rule{*before}
			}
			warnOfIneffectiveRules(d.Reading, plan, z, ask.Name, had, []rules.Rule{*after})
		}
	}

	// An edit of metadata alone changes no rule.
	if len(changed) == 0 {
		d.releaseNow(plan, z)
		return plan, nil
	}

	// 3. Decide the records and zones of these namespaces again, and the reserved names.
	if !ask.Covered && !z.Terminating {
		if refusal := d.enqueueScans(plan, z, changed, names, before, after); refusal != nil {
			return nil, refusal
		}
	}

	d.releaseNow(plan, z)
	plan.Zone = &law.ZoneChange{Zone: z, Holding: &h}
	if (before == nil) != (after == nil) {
		plan.Writes = append(plan.Writes, law.Write{Key: law.HoldingKey(z.View, z.FQDN()), Value: &h})
	}
	return plan, nil
}

func (d *delegationDecision) releaseNow(plan *law.Plan, z *law.Zone) {
	if d.ask.After != nil && !d.ask.Cascade {
		records.ReleaseNow(d.Reading, plan, z, d.ask.Before.ListReleases(), d.ask.After.ReleaseNow, d.ask.WorkID, d.ask.Now)
	}
}

func (d *delegationDecision) waitForZone(plan *law.Plan, reason, message string) {
	plan.Waiting = &law.Waiting{Zone: &law.Ref{Namespace: d.ask.Namespace, Name: d.ask.After.Zone}}
	plan.Delegation = &law.DelegationPlacement{Reason: reason, Message: message}
	if !d.ask.Cascade {
		plan.WarnOf("S4.3", reason, "%s", message)
	}
}

// writeRules stores the rule in the list of each of its namespaces, and removes the rule from the lists of namespaces
// that it had before. changed names the namespaces whose list differs. More than MaxDelegatedOctets for a namespace are
// refused (S4.4).
func (d *delegationDecision) writeRules(plan *law.Plan, z *law.Zone, before, after *rules.Rule) (changed []string, refusal *law.Refusal) {
	var namespaces []string
	for _, r := range []*rules.Rule{before, after} {
		if r != nil {
			namespaces = append(namespaces, r.Namespaces...)
		}
	}

	// Read all lists in a single round.
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	ks := make([]law.Key, 0, len(namespaces))
	for _, ns := range namespaces {
		ks = append(ks, law.RulesKey(z.UID, ns))
	}
	d.RequireAll(ks)
	for i, ns := range namespaces {
		var had []law.DelegatedRule
		if stored := law.Get[law.NamespaceRules](d.Reading, ks[i]); stored != nil {
			had = stored.List
		}
		next := &law.NamespaceRules{}
		octets, was := 0, 0
		for _, r := range had {
			was += r.CountOctets()
			if r.Name != d.ask.Name {
				next.List, octets = append(next.List, r), octets+r.CountOctets()
			}
		}

		if after != nil && slices.Contains(after.Namespaces, ns) {
			rule := law.DelegatedRule{Name: d.ask.Name, UID: d.ask.UID, Rule: *after}
			next.List, octets = append(next.List, rule), octets+rule.CountOctets()
			slices.SortFunc(next.List, func(x, y law.DelegatedRule) int { return strings.Compare(x.Name, y.Name) })
		}

		if sameRules(had, next.List) {
			continue
		}
		// A list above the limit may shrink.
		if octets > MaxDelegatedOctets && octets > was {
			return nil, law.NewInvalid("spec.namespaces", ns, law.ReasonLimitExceeded, "the Delegations of zone %s would give namespace "+
				"%q rules of %d octets, and one namespace may have %d (S4.4; replace several patterns by one with *, or delegate a child "+
				"zone)", z.FQDN(), ns, octets, MaxDelegatedOctets)
		}

		changed = append(changed, ns)
		var value any // nil deletes the key
		if len(next.List) > 0 {
			value = next
		}
		plan.Writes = append(plan.Writes, law.Write{Key: ks[i], Value: value})
	}

	return changed, nil
}

// writeNames counts the rule's namespaces at each name that the rule reserves (S4.20), and returns the names whose
// namespaces change. More than MaxNames names, or law.MaxNamed namespaces of a name, are refused (S4.22).
func (d *delegationDecision) writeNames(plan *law.Plan, z *law.Zone, before, after *rules.Rule) (names []name.Rel, refusal *law.Refusal) {
	var had, has []name.Rel
	var hadFor, hasFor []string
	if before != nil {
		had, hadFor = before.ListNamed(z.FQDN()), before.Namespaces
	}
	if after != nil {
		has, hasFor = after.ListNamed(z.FQDN()), after.Namespaces
	}

	if len(has) > MaxNames && len(has) >= len(had) {
		return nil, law.NewInvalid("spec", nil, law.ReasonLimitExceeded, "the rule gives %d names without *, and a Delegation at most "+
			"%d (S4.22; use a pattern such as *.%s, or several Delegations)", len(has), MaxNames, has[0])
	}

	// With the same namespaces, only added and removed names change.
	same := slices.Equal(slices.Sorted(slices.Values(hadFor)), slices.Sorted(slices.Values(hasFor)))
	for _, n := range slices.Compact(slices.SortedFunc(slices.Values(slices.Concat(had, has)), name.Rel.Compare)) {
		if !same || slices.Contains(had, n) != slices.Contains(has, n) {
			names = append(names, n)
		}
	}

	ks := make([]law.Key, 0, len(names))
	for _, n := range names {
		ks = append(ks, law.OwnerKey(z.UID, n))
	}
	d.RequireAll(ks)
	for i, n := range names {
		o := law.Get[law.Owner](d.Reading, ks[i]).Clone()
		was := len(o.Named)
		if slices.Contains(had, n) {
			for _, ns := range hadFor {
				if !o.CountNaming(ns, -1) {
					d.Reread() // status and count are of two revisions
				}
			}
		}

		if slices.Contains(has, n) {
			for _, ns := range hasFor {
				o.CountNaming(ns, 1)
			}
		}

		if len(o.Named) > law.MaxNamed && len(o.Named) > was {
			return nil, law.NewInvalid("spec", nil, law.ReasonLimitExceeded, "Delegations of zone %s would give %s without * to %d "+
				"namespaces, and the limit is %d (S4.22; use a pattern with *)", z.FQDN(), n, len(o.Named), law.MaxNamed)
		}

		plan.Writes = append(plan.Writes, law.Write{Key: ks[i], Value: o.Fact()})
	}

	return names, nil
}

func sameRules(x, y []law.DelegatedRule) bool {
	return slices.EqualFunc(x, y, func(x, y law.DelegatedRule) bool {
		return x.Name == y.Name && x.UID == y.UID && x.Rule.Text() == y.Rule.Text()
	})
}

// Limits of the outbox item of a Delegation that changes faster than its cascade runs.
const (
	maxNamespaces = 128
	maxScans      = 8 * 2 * MaxNames
)

// enqueueScans plans the cascade that decides again the records and zones affected by a change of rules. Delivery of
// the zone does not wait for them.
func (d *delegationDecision) enqueueScans(plan *law.Plan, z *law.Zone, changed []string, names []name.Rel, before,
	after *rules.Rule) *law.Refusal {
	ask := &d.ask
	id := DelegationWorkID(ask.Namespace, ask.Name)
	existing := law.Get[law.Work](d.Reading, law.WorkKey(id))
	w := &law.Work{ID: id, Reason: fmt.Sprintf("Delegation %s of zone %s changed", ask.Name, z.FQDN()), View: z.View, By: ask.Namespace,
		Since: ask.Now.Unix(), Unmarked: true}
	if existing != nil { // the cascade of an earlier change: extend it
		*w = *existing
		w.Scans = slices.Clone(w.Scans)
		w.Times++
	}
	// The last change decides whether the work waits for a new namespace of the name.
	w.Left = ""
	if ask.Terminating {
		w.Left = ask.Namespace
	}
	// A scan of the same objects takes in the namespaces, so that the item stays small.
	add := func(s law.Scan) {
		for i := range w.Scans {
			x := w.Scans[i]
			if x.Namespaces = s.Namespaces; !reflect.DeepEqual(x, s) {
				continue
			}
			if len(s.Namespaces) > 0 {
				all := append(slices.Clone(w.Scans[i].Namespaces), s.Namespaces...)
				slices.Sort(all)
				w.Scans[i].Namespaces = slices.Compact(all)
			}
			return
		}
		w.Scans = append(w.Scans, s)
	}
	target := &law.Ref{Namespace: z.Namespace, Name: z.Name}
	add(law.Scan{Kind: law.ScanNamespaces, Zone: z.UID, View: z.View, Name: z.FQDN(), Target: target, Namespaces: changed})
	if before != nil && len(before.Zones) > 0 || after != nil && len(after.Zones) > 0 {
		add(law.Scan{Kind: law.ScanZones, View: z.View, Name: z.FQDN(), Namespaces: changed})
	}
	for _, s := range z.ScansAt(names) {
		add(s)
	}
	namespaces := 0
	for i := range w.Scans {
		namespaces = max(namespaces, len(w.Scans[i].Namespaces))
	}
	if len(w.Scans) > maxScans || namespaces > maxNamespaces {
		return law.NewLater("", "the last changes of this Delegation are still in progress; try again when they are done")
	}
	plan.Work = w
	return nil
}
