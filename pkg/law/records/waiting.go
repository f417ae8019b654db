// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/rules"
)

func (x *delta) awaitedClaim(why *law.Refusal) string {
	z, ns := x.zone, x.ask.Namespace
	if !x.ask.After.WaitsOnConflict || x.ask.Before != nil || why.Kind == law.Later {
		return ""
	}
	switch c := x.ownerAt(rules.Base(x.added.Owner)).ClaimOf(ns); {
	case why.Reason == law.ReasonNameHeld:
		return x.claimedBy
	case x.conflicts && (c != nil && c.Holds() || ns == z.Namespace):
		return ns
	}
	return ""
}

// lockForReplacement locks the name of a removed Record if Records of its namespace, or of the zone's own, wait there.
// Until the plan's cascade has decided them, no other tenant can take the name. The result is nil if the namespace has
// too many locks.
func (x *delta) lockForReplacement(plan *law.Plan, holding *law.Holding) *law.Holding {
	z, ns := x.zone, x.ask.Namespace
	if x.ask.Cascade || x.ask.BeforeSet != nil || x.removed == nil || x.removed.Owner.IsApex() ||
		x.added != nil && x.added.Owner == x.removed.Owner {
		return holding // a set may write at this name
	}

	if claim := x.ownerAt(rules.Base(x.removed.Owner)).ClaimOf(ns); claim != nil && claim.Holds() {
		return holding // other records keep the name
	}
	removedName, namespaces := x.nameOf(x.removed.Owner), slices.Compact(slices.Sorted(slices.Values([]string{z.Namespace, ns})))
	var awaitKeys []law.Key
	for _, namespace := range namespaces {
		awaitKeys = append(awaitKeys, law.RecordsAwaitKey(z.View, removedName, namespace))
	}
	x.RequireAll(awaitKeys)
	if !slices.ContainsFunc(awaitKeys, func(key law.Key) bool {
		awaited := law.Get[law.Awaited](x.Reading, key)
		return awaited != nil && awaited.Any
	}) {
		return holding
	}
	if holding.CountReplacements(ns) >= law.MaxRemovals {
		return nil
	}

	work := &law.Work{ID: x.ask.WorkID, Reason: fmt.Sprintf("records that wait at %s are adopted "+
		"first", removedName), View: z.View, By: ns, Since: x.ask.Now.Unix(),
		Zones: []law.Place{{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}},
		Scans: []law.Scan{{Kind: law.ScanWaiting, View: z.View, Name: removedName, Exact: true, Namespaces: namespaces}}}
	plan.Work = work
	return holding.WithReplacement(work.ID, ns, removedName, work.Since)
}

func (x *delta) explainWait(why *law.Refusal, awaited string) (*law.Refusal, law.Warning) {
	if awaited != x.ask.Namespace {
		return x.refuseHeld(), law.Warning{Rule: "S2.15", Text: x.describeHeld()}
	}
	waits := law.Warning{Rule: "S2.14", Text: why.Message + "; the record waits until that is gone"}
	out := *why
	out.Message = law.Cite(waits.Rule, waits.Text)
	return &out, waits
}

// The message stays true without the holder, so that no replacement rewrites waiting records.
func (x *delta) refuseHeld() *law.Refusal {
	return law.NewForbidden(law.ReasonNameHeld, "%s (S2.15)", x.describeHeld())
}

func (x *delta) describeHeld() string {
	return fmt.Sprintf("another namespace holds %s of zone %s, or held it when the record began to wait: once the name is free, the "+
		"record gets it if a delegation has pattern %q, or no rule allows it to the other namespace; or delete and recreate the record "+
		"then", x.nameOf(rules.Base(x.added.Owner)), x.zone.FQDN(), rules.PatternFor(x.added.Owner))
}

// refuseReplacement refuses to give a waiting Record the name that another namespace (KeptOut) has left, as long as
// rules allow that namespace the name: it may be replacing its Record. A rule with the literal name overrides this.
func (x *delta) refuseReplacement() *law.Refusal {
	z, ns := x.zone, x.ask.Namespace
	if !x.ask.Cascade || x.ask.WaitingBefore == nil || ns == z.Namespace || x.ownerAt(rules.Base(x.added.Owner)).ClaimOf(ns) != nil {
		return nil
	}
	other := x.ask.WaitingBefore.KeptOut
	if other == "" || other == ns {
		return nil
	}
	grants := z.RuleSet().FindGrants(x.place.fqdn, x.added.Type, ns)
	if slices.ContainsFunc(grants, func(g rules.Grant) bool { return g.Literal }) {
		return nil
	}
	if !x.claimant(rules.AdmittedPlain, nil).AllowsAt(rules.Base(x.added.Owner), other) {
		return nil
	}
	return x.refuseHeld()
}
