// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/claims"
	"kubi.zone/kubizone/pkg/zone/law/rules"
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
		return nil, true // withdrawalGracePeriod: 0s
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

	// Begin the period, or begin it again. The rest of the former period is never cut short.
	next := *previous
	isFirst := previous.Since == 0
	ownerWithdrawsMore := data.ByOwner && previous.Cause != data.Cause
	rulesCameBack := data.Begins && previous.IsCancelled(z, data.Namespace)
	if isFirst || ownerWithdrawsMore || rulesCameBack {
		rest := previous.Grace - previous.Passed
		next.Since, next.Passed, next.Cause = data.Now.Unix(), 0, data.Cause
		next.Grace = max(data.Grace, rest)
	}

	// By the digest, IsCancelled sees a later change of rules.
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
		// If the same write changes rules, its cascade has yet to find withdrawn data.
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

// explainEnding returns the refusal of a client's write with the end of the data in its way that lost their rule:
// records at, above or below the name, or the zone around the name. If a CNAMEConflict is also with other data of the
// writer's own namespace, these do not end.
func (d *delta) explainEnding(refusal *law.Refusal) *law.Refusal {
	if parent := d.findSuccessor(); parent != nil {
		return claims.EndingOf(d.Reading, d.holding, parent).Explain(refusal, parent, d.ask.Namespace)
	}
	isAtName := refusal.Reason == law.ReasonCNAMEConflict && refusal.HeldAt == d.added.Owner
	if isAtName && d.holdsName(rules.Base(d.added.Owner)) {
		return refusal
	}
	return d.claimant(rules.AdmittedPlain, nil).ExplainEnding(refusal)
}

// findSuccessor returns the zone above that decides about the name once this zone ends, if its rules allow the tenant's
// record, or nil.
func (d *delta) findSuccessor() *law.Zone {
	ns, parent := d.ask.Namespace, d.holding.Parent
	isEnding := parent != nil && d.holding.Withdrawn == parent.UID
	if !isEnding || ns == d.zone.Namespace {
		return nil
	}
	next, _ := d.ZoneAt(law.Place{Ref: *parent})
	if next == nil || !d.WithRulesFor(next, ns).RuleSet().AllowsRecord(d.place.fqdn, d.added.Type, ns) {
		return nil
	}
	return next
}
