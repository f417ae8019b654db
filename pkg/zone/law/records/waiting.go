// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// awaitedClaim returns the namespace for whose data at the name a Record with the annotation on-conflict waits, or ""
// if the Record is refused. For example, a guest's CNAME at _acme-challenge.www does not wait for the namespace of www,
// since no deletion at the CNAME's own name would admit it (S4.24).
func (d *delta) awaitedClaim() string {
	// Updates never wait (S2.14).
	if !d.ask.After.WaitsOnConflict || d.ask.Before != nil {
		return ""
	}
	return d.awaited
}

// isAwaited reports whether a client's Record leaves a name where Records of its namespace wait. The same transaction
// adopts the first to fit, so no other tenant gets the name. Records of other namespaces, such as the zone's own, wait
// for the trial of the freed name, since a step belongs to one namespace: its history, and what condenses it.
func (d *delta) isAwaited() bool {
	isSingleWrite := !d.ask.Cascade && d.ask.BeforeSet == nil // by a client
	if !isSingleWrite || d.removed == nil || d.keepsOwner() {
		return false
	}
	// Other records of the namespace keep the name.
	return !d.holdsName(rules.Base(d.removed.Owner)) &&
		d.countWaiting(law.RecordsAwaitKey(d.zone.View, d.nameOf(d.removed.Owner), d.ask.Namespace)) > 0
}

func (d *recordDecision) countWaiting(key law.Key) int {
	if awaited := law.Get[law.Awaited](d.Reading, key); awaited != nil {
		return awaited.Count
	}
	return 0
}

// refuseMoreWaiting refuses a client's Record if law.MaxWaiting Records of its namespace wait at the name already,
// since each deletion there reads their keys.
func (d *delta) refuseMoreWaiting() *law.Refusal {
	p, ns, was := d.place, d.ask.Namespace, d.ask.WaitingBefore
	waitsThere := was != nil && was.View == p.view && was.FQDN == p.fqdn
	if waitsThere || d.countWaiting(law.RecordsAwaitKey(p.view, p.fqdn, ns)) < law.MaxWaiting {
		return nil
	}
	return law.NewForbidden(law.ReasonLimitExceeded, "%d Records of namespace %q wait at %s already (S2.14; delete those that are not "+
		"needed any more)", law.MaxWaiting, ns, p.fqdn)
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
	ns, base, former := d.ask.Namespace, rules.Base(d.added.Owner), d.ask.keptOut()
	// Own does not wait for a namespace that left (S2.8).
	isKeptOut := former != "" && former != ns && ns != d.zone.Namespace
	// A claim at the base keeps the former holder out anyway.
	if !isKeptOut || d.ownerAt(base).ClaimOf(ns) != nil {
		return nil
	}
	if d.hasLiteralRule() || !d.claimant(rules.AdmittedPlain, nil).AllowsAt(base, former) {
		return nil
	}
	return d.refuseHeld()
}
