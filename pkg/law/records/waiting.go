// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/rules"
)

func (d *delta) awaitedClaim(why *law.Refusal) string {
	z, ns := d.zone, d.ask.Namespace
	if !d.ask.After.WaitsOnConflict || d.ask.Before != nil || why.Kind == law.Later {
		return ""
	}
	switch c := d.ownerAt(rules.Base(d.added.Owner)).ClaimOf(ns); {
	case why.Reason == law.ReasonNameHeld:
		return d.claimedBy
	case d.conflicts && (c != nil && c.Holds() || ns == z.Namespace):
		return ns
	}
	return ""
}

// lockForReplacement locks the name of a removed Record if Records of its namespace, or of the zone's own, wait there.
// Until the plan's cascade has decided them, no other tenant can take the name. The result is nil if the namespace has
// too many locks.
func (d *delta) lockForReplacement(plan *law.Plan, holding *law.Holding) *law.Holding {
	z, ns := d.zone, d.ask.Namespace
	isSingleWrite := !d.ask.Cascade && d.ask.BeforeSet == nil // by a client
	leavesName := d.removed != nil && !d.removed.Owner.IsApex() && !d.keepsOwner()
	if !isSingleWrite || !leavesName {
		return holding
	}

	claim := d.ownerAt(rules.Base(d.removed.Owner)).ClaimOf(ns)
	if claim != nil && claim.Holds() {
		return holding // other records keep the name
	}

	removedName := d.nameOf(d.removed.Owner)
	namespaces := []string{z.Namespace, ns}
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	var awaitKeys []law.Key
	for _, namespace := range namespaces {
		awaitKeys = append(awaitKeys, law.RecordsAwaitKey(z.View, removedName, namespace))
	}
	d.RequireAll(awaitKeys)
	isAwaited := slices.ContainsFunc(awaitKeys, func(key law.Key) bool {
		awaited := law.Get[law.Awaited](d.Reading, key)
		return awaited != nil && awaited.Any
	})
	if !isAwaited {
		return holding
	}
	if holding.CountReplacements(ns) >= law.MaxRemovals {
		return nil
	}

	work := &law.Work{ID: d.ask.WorkID, Reason: fmt.Sprintf("records that wait at %s are adopted "+
		"first", removedName), View: z.View, By: ns, Since: d.ask.Now.Unix(),
		Zones: []law.Place{{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}},
		Scans: []law.Scan{{Kind: law.ScanWaiting, View: z.View, Name: removedName, Exact: true, Namespaces: namespaces}}}
	plan.Work = work
	return holding.WithReplacement(work.ID, ns, removedName, work.Since)
}

func (d *delta) explainWait(why *law.Refusal, awaited string) (*law.Refusal, law.Warning) {
	if awaited != d.ask.Namespace {
		return d.refuseHeld(), law.Warning{Rule: "S2.15", Text: d.describeHeld()}
	}
	waits := law.Warning{Rule: "S2.14", Text: why.Message + "; the record waits until that is gone"}
	out := *why
	out.Message = law.Cite(waits.Rule, waits.Text)
	return &out, waits
}

// The message stays true without the holder, so that no replacement rewrites waiting records.
func (d *delta) refuseHeld() *law.Refusal {
	return law.NewForbidden(law.ReasonNameHeld, "%s (S2.15)", d.describeHeld())
}

func (d *delta) describeHeld() string {
	return fmt.Sprintf("another namespace holds %s of zone %s, or held it when the record began to wait: once the name is free, the "+
		"record gets it if a delegation has pattern %q, or no rule allows it to the other namespace; or delete and recreate the record "+
		"then", d.nameOf(rules.Base(d.added.Owner)), d.zone.FQDN(), rules.PatternFor(d.added.Owner))
}

// refuseReplacement refuses to give a waiting Record the name that another namespace (KeptOut) has left, as long as
// rules allow that namespace the name: it may be replacing its Record. A rule with the literal name overrides this.
func (d *delta) refuseReplacement() *law.Refusal {
	z, ns, base := d.zone, d.ask.Namespace, rules.Base(d.added.Owner)
	isWaitingTenant := d.ask.Cascade && d.ask.WaitingBefore != nil && ns != z.Namespace
	if !isWaitingTenant {
		return nil
	}
	alreadyHasName := d.ownerAt(base).ClaimOf(ns) != nil
	formerHolder := d.ask.WaitingBefore.KeptOut
	if alreadyHasName || formerHolder == "" || formerHolder == ns {
		return nil
	}

	grants := z.RuleSet().FindGrants(d.place.fqdn, d.added.Type, ns)
	hasLiteralRule := slices.ContainsFunc(grants, func(g rules.Grant) bool { return g.Literal })
	if hasLiteralRule || !d.claimant(rules.AdmittedPlain, nil).AllowsAt(base, formerHolder) {
		return nil
	}
	return d.refuseHeld()
}
