// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/rules"
)

// DefaultGrace is the grace period, in seconds, of zones delegated by a removed zone.
const DefaultGrace = 24 * 60 * 60

// Withdrawn describes a record or child zone no longer allowed by the rules. A cascade, the background work after a
// change of rules, starts or continues its grace period.
type Withdrawn struct {
	Zone      *law.Zone
	Namespace string
	// Child is true for a child zone, false for a record. Begins is true if the rules allowed the data until now.
	// ByOwner is true if the zone's own namespace changed the rules.
	Child, Begins, ByOwner bool
	// Grace is how long the data stays, in seconds.
	Grace int64
	Cause string // Work.Cause of the cascade
	Now   time.Time
}

// UpdateWithdrawal plans the grace period (withdrawal) of a namespace in a zone whose rules no longer allow its data,
// and returns it, or nil. If release is true, the period is over, and the caller releases the data. A new period begins
// when the zone's own namespace withdraws more rules, or after rules came back for everything.
func UpdateWithdrawal(r *law.Reading, plan *law.Plan, x Withdrawn) (w *law.Withdrawal, release bool) {
	if x.Begins && x.Grace == 0 {
		return nil, true
	}
	key := law.WithdrawalKey(x.Zone.UID, x.Namespace)
	was, z := law.Get[law.Withdrawal](r, key), r.WithRulesFor(x.Zone, x.Namespace)
	switch {
	case was == nil:
		was = &law.Withdrawal{}
	case was.Now: // ended by an annotation
		return was, true
	}

	next := *was
	if was.Since == 0 || x.ByOwner && was.Cause != x.Cause || x.Begins && was.IsCancelled(z, x.Namespace) {
		// The new period is no shorter than the rest of the earlier one.
		next.Since, next.Grace, next.Passed, next.Cause = x.Now.Unix(), max(x.Grace, was.Grace-was.Passed), 0, x.Cause
	}
	if digest := z.DigestRules(x.Namespace, x.Child); x.Child {
		next.Zones = digest
	} else {
		next.Records = digest
	}

	if next != *was {
		plan.Writes = append(plan.Writes, law.Write{Key: key, Value: &next})
	}
	return &next, next.IsOver()
}

// ReleaseWork returns the cascade by which z releases data of namespaces. Each step is delivered at once.
func ReleaseWork(z *law.Zone, namespaces []string, id string, now int64) *law.Work {
	w := &law.Work{ID: id, Reason: fmt.Sprintf("zone %s releases records and zones that its rules no longer "+
		"allow", z.FQDN()), View: z.View, By: z.Namespace,
		Since: now, Unmarked: true}
	w.Release(z, namespaces)
	return w
}

// ReleaseNow ends the periods of namespaces added to the annotation kubi.zone/release-now.
func ReleaseNow(r *law.Reading, plan *law.Plan, z *law.Zone, before, after []string, workID string, now time.Time) {
	added := slices.DeleteFunc(slices.Clone(after), func(ns string) bool { return slices.Contains(before, ns) })
	if len(added) == 0 {
		return
	}
	for _, ns := range added {
		key := law.WithdrawalKey(z.UID, ns)
		w, given := law.Get[law.Withdrawal](r, key), r.WithRulesFor(z, ns)
		if plan.Work == nil && (w == nil || w.IsCancelled(given, ns)) {
			plan.Warn("S3.6", "kubi.zone/release-now has no effect for namespace %q: the rules of zone %s allow all that it has "+
				"there", ns, z.FQDN())
		}
		plan.Writes = append(plan.Writes, law.Write{Key: key, Value: &law.Withdrawal{Since: now.Unix(), Now: true, Cause: workID}})
	}
	if plan.Work == nil {
		plan.Work = ReleaseWork(z, added, workID, now.Unix())
	} else {
		plan.Work.Release(z, added)
	}
}

// MaxReleases limits the withdrawals ended in a transaction.
const MaxReleases = 16

// findYielding returns the tenants whose records give way to a new record, since no rule allows them any more: at the
// returned name and below. Only a rule without "*" has this effect, so that neighbours gain no name whose rule was lost
// by accident. refused is true if claims refuse the record, and below for claims below its name.
func (x *delta) findYielding(refused, below bool) (from []string, at name.Rel) {
	z, base := x.zone, rules.Base(x.added.Owner)
	if x.ask.Before != nil || !x.ask.Yields.IsZero() && x.ask.Yields.Encloses(base) || base.IsApex() || slices.Contains(z.NSHosts, base) {
		return nil, at
	}
	if o := x.ownerAt(base); !refused && !below && !o.HasTenantClaim(z) {
		return nil, at
	}

	c := x.claimant(rules.AdmittedPlain, nil)
	at, named := c.FindReservedName(base)
	if !named {
		at = base
		grants := z.RuleSet().FindGrants(x.place.fqdn, x.added.Type, x.ask.Namespace)
		named = slices.ContainsFunc(grants, func(g rules.Grant) bool { return g.Literal && !g.Shared })
	}

	if !named {
		return nil, at
	}
	if !refused {
		return c.FindYielding(base, base, below), at
	}

	return c.FindYielding(base, at, below), at
}

func yieldWorkID(zone string, at name.Rel) string { return "yields-" + zone + "-" + at.String() }

// YieldWork returns an outbox item (background work) for a name n that a rule now gives to another namespace. Records
// of the namespaces in "from" at and below n leave the zone if no rule allows them, and then records waiting there are
// decided again. An existing item for n is extended.
func YieldWork(r *law.Reading, z *law.Zone, n name.Rel, from []string, now time.Time) *law.Work {
	id := yieldWorkID(z.UID, n)
	existing := law.Get[law.Work](r, law.WorkKey(id))
	at, _ := n.In(z.FQDN())
	w := &law.Work{ID: id, Reason: fmt.Sprintf("names of zone %s go to another namespace", z.FQDN()), View: z.View, By: z.Namespace,
		Since: now.Unix(), Unmarked: true, Yields: n}
	if existing != nil {
		w.Times, w.Runner = existing.Times+1, existing.Runner
		for i := range existing.Scans {
			from = append(slices.Clone(from), existing.Scans[i].Namespaces...)
		}
		slices.Sort(from)
		from = slices.Compact(from)
	}
	w.Scans = []law.Scan{
		{Kind: law.ScanMembers, Zone: z.UID, Owner: n, Namespaces: from},
		{Kind: law.ScanWaiting, View: z.View, Name: at},
	}
	return w
}

func (x *delta) awaitEviction(plan *law.Plan) *law.Plan {
	ask, p := &x.ask, x.place
	plan.Waiting = ask.waitingAt(p)
	const rule = "S2.13"
	text := fmt.Sprintf("%s of zone %s is being released by a namespace that the rules no longer allow; the record is adopted in a "+
		"moment", rules.Base(x.added.Owner), x.zone.FQDN())
	plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Reason: law.ReasonNameHeld, Message: law.Cite(rule, text)}
	plan.Warnings = nil
	if !ask.Cascade {
		plan.Warn(rule, "%s", text)
	}
	plan.Work = x.yieldWork()
	return plan
}

func (x *delta) yieldWork() *law.Work {
	return YieldWork(x.Reading, x.zone, x.yieldedName, x.yielding, x.ask.Now)
}
