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

// defaultGrace is the period in seconds of the zones that a removed zone delegated (S3.6).
const DefaultGrace = 24 * 60 * 60

// Withdrawing is a cascade that meets something which the rules of a zone allow no more.
type Withdrawing struct {
	Zone      *law.Zone
	Namespace string
	// child says that it is a zone, newly that it was allowed until now, and taken that a write of the zone's own
	// namespace took it. grace is the period that it gets then, in seconds.
	Child, Newly, Taken bool
	Grace               int64
	// cause tells the cascade from others.
	Cause string
	Now   time.Time
}

// NoteWithdrawal returns the time that is left, nil for none, and notes in the plan that it begins. It begins anew with
// each write of the zone's own namespace that takes something more, and after rules came back for all. What others
// cause, as the end or the removal of a zone between, prolongs no period. release: it goes now.
func NoteWithdrawal(r *law.Reading, plan *law.Plan, x Withdrawing) (w *law.Withdrawal, release bool) {
	if x.Newly && x.Grace == 0 {
		return nil, true
	}
	key := law.WithdrawalKey(x.Zone.UID, x.Namespace)
	was, z := law.Get[law.Withdrawal](r, key), r.RuledFor(x.Zone, x.Namespace)
	switch {
	case was == nil:
		was = &law.Withdrawal{}
	case was.Now:
		return was, true
	}
	next := *was
	if was.Since == 0 || x.Taken && was.Cause != x.Cause || x.Newly && was.IsCancelled(z, x.Namespace) {
		// A shorter period concerns what it was set for (S3.6).
		next.Since, next.Grace, next.Passed, next.Cause = x.Now.Unix(), max(x.Grace, was.Grace-was.Passed), 0, x.Cause
	}
	if met := z.DigestRules(x.Namespace, x.Child); x.Child {
		next.Zones = met
	} else {
		next.Records = met
	}
	if next != *was {
		plan.Writes = append(plan.Writes, law.Write{Key: key, Value: &next})
	}
	return &next, next.Over()
}

// ReleaseWork is the cascade that releases what the rules of z allow some namespaces no more. It does not unsettle the
// zone: each step is delivered as it comes (S7.2).
func ReleaseWork(z *law.Zone, namespaces []string, id string, now int64) *law.Work {
	w := &law.Work{ID: id, Reason: fmt.Sprintf("zone %s releases what its rules allow no more", z.FQDN()), View: z.View, By: z.Namespace,
		Since: now, Unmarked: true}
	w.Release(z, namespaces)
	return w
}

// ReleaseNow ends the periods of namespaces that the zone's own namespace names in this write, as added by it.
func ReleaseNow(r *law.Reading, plan *law.Plan, z *law.Zone, before, after []string, workID string, now time.Time) {
	added := slices.DeleteFunc(slices.Clone(after), func(ns string) bool { return slices.Contains(before, ns) })
	if len(added) == 0 {
		return
	}
	for _, ns := range added {
		key := law.WithdrawalKey(z.UID, ns)
		w, given := law.Get[law.Withdrawal](r, key), r.RuledFor(z, ns)
		if plan.Work == nil && (w == nil || w.IsCancelled(given, ns)) {
			plan.Warn("kubi.zone/release-now does nothing for namespace %q: zone %s has nothing of it that its rules allow no more "+
				"(S3.6)", ns, z.FQDN())
		}
		plan.Writes = append(plan.Writes, law.Write{Key: key, Value: &law.Withdrawal{Since: now.Unix(), Now: true, Cause: workID}})
	}
	if plan.Work == nil {
		plan.Work = ReleaseWork(z, added, workID, now.Unix())
	} else {
		plan.Work.Release(z, added)
	}
}

// MaxReleases bounds the withdrawals that one transaction ends.
const MaxReleases = 16

// findYielding finds the tenants that give way to a new record at once, and the name at and below which they do: one
// that a rule names for its namespace, and that the rules allow them no more (S2.13). A rule with "*" does not, so that
// no neighbour takes a name that lost its rule by accident. refused says that what tenants have at the name or above
// it, or also below, refuses the record; the zone's own namespace is refused nothing, and has what stands at the name
// go, or also below.
func (x *delta) findYielding(refused, below bool) (from []string, at name.Rel) {
	z, base := x.zone, rules.Base(x.come.Owner)
	if x.ask.Before != nil || !x.ask.Yields.IsZero() && x.ask.Yields.Encloses(base) || base.IsApex() || slices.Contains(z.MadeNames, base) {
		return nil, at
	}
	if o := x.ownerAt(base); !refused && !below && !o.HasTenant(z) {
		return nil, at
	}
	c := x.claimant(rules.AdmittedPlain, nil)
	at, named := c.FindMine(base)
	if !named {
		at = base
		grants := z.RuleSet().FindGrants(x.place.fqdn, x.come.Type, x.ask.Namespace)
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

// yieldWorkID is the id of the outbox item that has namespaces give a name of a zone away. All that want the name owe
// this one item.
func yieldWorkID(zone string, at name.Rel) string { return "yields-" + zone + "-" + at.String() }

// YieldWork is that item: the namespaces give way at and below a name of the zone. What waits there is tried again when
// their records are gone.
func YieldWork(r *law.Reading, z *law.Zone, n name.Rel, from []string, now time.Time) *law.Work {
	id := yieldWorkID(z.UID, n)
	standing := law.Get[law.Work](r, law.WorkKey(id))
	at, _ := n.In(z.FQDN())
	w := &law.Work{ID: id, Reason: fmt.Sprintf("names of zone %s go to another namespace", z.FQDN()), View: z.View, By: z.Namespace,
		Since: now.Unix(), Unmarked: true, Yields: n}
	if standing != nil { // the server that carries it out begins again
		w.Times, w.Runner = standing.Times+1, standing.Runner
		for i := range standing.Scans {
			from = append(slices.Clone(from), standing.Scans[i].Namespaces...)
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

// awaitEviction has the new record wait until the tenants in its way are gone: a transaction changes one record (I1).
func (x *delta) awaitEviction(plan *law.Plan) *law.Plan {
	ask, p := &x.ask, x.place
	plan.Orphan = ask.waitingAt(p)
	plan.Record = &law.Placement{FQDN: p.fqdn, View: p.view, Reason: law.ReasonNameHeld, Message: fmt.Sprintf("the namespace that "+
		"has %s of zone %s is "+
		"allowed it no more, and its records there go; the record is adopted then, in a moment (S2.13)", rules.Base(x.come.Owner),
		x.zone.FQDN())}
	plan.Warnings = nil
	if !ask.Cascade {
		plan.Warn("%s", plan.Record.Message)
	}
	plan.Work = x.yieldWork()
	return plan
}

func (x *delta) yieldWork() *law.Work {
	return YieldWork(x.Reading, x.zone, x.yieldsAt, x.yielding, x.ask.Now)
}
