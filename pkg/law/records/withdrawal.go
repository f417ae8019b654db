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
// and returns it, or nil if the zone grants none. If release is true, the period is over, and the caller releases the
// data. A new period begins when the zone's own namespace withdraws more rules, or after rules came back for
// everything.
func UpdateWithdrawal(r *law.Reading, plan *law.Plan, data Withdrawn) (w *law.Withdrawal, release bool) {
	if data.Begins && data.Grace == 0 {
		return nil, true
	}
	key := law.WithdrawalKey(data.Zone.UID, data.Namespace)
	previous := law.Get[law.Withdrawal](r, key)
	if previous == nil {
		previous = &law.Withdrawal{}
	}
	z := r.WithRulesFor(data.Zone, data.Namespace)
	if previous.Now { // ended by an annotation
		return previous, true
	}

	next := *previous
	isFirst := previous.Since == 0
	ownerWithdrawsMore := data.ByOwner && previous.Cause != data.Cause
	rulesCameBack := data.Begins && previous.IsCancelled(z, data.Namespace)
	if isFirst || ownerWithdrawsMore || rulesCameBack {
		rest := previous.Grace - previous.Passed
		next.Since, next.Passed, next.Cause = data.Now.Unix(), 0, data.Cause
		next.Grace = max(data.Grace, rest)
	}

	digest := z.DigestRules(data.Namespace, data.Child)
	if data.Child {
		next.Zones = digest
	} else {
		next.Records = digest
	}

	if next != *previous {
		plan.Writes = append(plan.Writes, law.Write{Key: key, Value: &next})
	}
	return &next, next.IsOver()
}

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

const MaxReleases = 16

// findYielding returns the tenants whose records give way to a new record, since no rule allows them any more, and the
// name at and below which they do. Only a rule without "*" has this effect, so that neighbours gain no name whose rule
// was lost by accident. The flag claimsRefuse is true if claims refuse the record. If below is true, claims below its
// name may give way, too.
func (d *delta) findYielding(claimsRefuse, below bool) (tenants []string, top name.Rel) {
	z, base := d.zone, rules.Base(d.added.Owner)
	isNew := d.ask.Before == nil
	alreadyYields := !d.ask.Yields.IsZero() && d.ask.Yields.Encloses(base)
	isNeverGiven := base.IsApex() || slices.Contains(z.NSHosts, base)
	if !isNew || alreadyYields || isNeverGiven {
		return nil, top
	}

	isFree := !d.ownerAt(base).HasTenantClaim(z) && !claimsRefuse && !below
	if isFree {
		return nil, top
	}

	c := d.claimant(rules.AdmittedPlain, nil)
	top, isReserved := c.FindReservedName(base)
	if !isReserved {
		top = base
		grants := z.RuleSet().FindGrants(d.place.fqdn, d.added.Type, d.ask.Namespace)
		isNamed := slices.ContainsFunc(grants, func(g rules.Grant) bool { return g.Literal && !g.Shared })
		if !isNamed {
			return nil, top
		}
	}

	highest := base
	if claimsRefuse { // perhaps a claim above base
		highest = top
	}
	return c.FindYielding(base, highest, below), top
}

func yieldWorkID(zone string, at name.Rel) string { return "yields-" + zone + "-" + at.String() }

// YieldWork returns an outbox item (background work) for a name n that a rule now gives to another namespace. At and
// below n, records of the namespaces in losers leave the zone if no rule allows them, and then waiting records are
// decided again. An existing item for n is extended.
func YieldWork(r *law.Reading, z *law.Zone, n name.Rel, losers []string, now time.Time) *law.Work {
	id := yieldWorkID(z.UID, n)
	existing := law.Get[law.Work](r, law.WorkKey(id))
	fqdn, _ := n.In(z.FQDN())
	work := &law.Work{ID: id, Reason: fmt.Sprintf("names of zone %s go to another namespace", z.FQDN()), View: z.View, By: z.Namespace,
		Since: now.Unix(), Unmarked: true, Yields: n}
	if existing != nil {
		work.Times, work.Runner = existing.Times+1, existing.Runner
		for i := range existing.Scans {
			losers = append(slices.Clone(losers), existing.Scans[i].Namespaces...)
		}
		slices.Sort(losers)
		losers = slices.Compact(losers)
	}
	work.Scans = []law.Scan{
		{Kind: law.ScanMembers, Zone: z.UID, Owner: n, Namespaces: losers},
		{Kind: law.ScanWaiting, View: z.View, Name: fqdn},
	}
	return work
}

func (d *delta) awaitEviction(plan *law.Plan) *law.Plan {
	ask, p := &d.ask, d.place
	plan.Waiting = ask.waitingAt(p)
	const rule = "S2.13"
	text := fmt.Sprintf("%s of zone %s is being released by a namespace that the rules no longer allow; the record is adopted in a "+
		"moment", rules.Base(d.added.Owner), d.zone.FQDN())
	plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Reason: law.ReasonNameHeld, Message: law.Cite(rule, text)}
	plan.Warnings = nil
	if !ask.Cascade {
		plan.Warn(rule, "%s", text)
	}
	plan.Work = d.yieldWork()
	return plan
}

func (d *delta) yieldWork() *law.Work {
	return YieldWork(d.Reading, d.zone, d.yieldedName, d.yielding, d.ask.Now)
}
