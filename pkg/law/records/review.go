// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/claims"
	"kubi.zone/kubizone/pkg/law/rules"
)

type Review struct {
	// Zone would take the record; nil without a zone with a rule for the namespace.
	Zone    *law.Zone
	Allowed bool
	// Rule is the allowing pattern, Reason the sentence of the refusal.
	Rule, Reason string
	Claimed      ClaimState
	Warnings     []law.Warning
}

// ClaimState is the claim on a name: the namespace's, another's, or none; "" if secret.
type ClaimState string

const (
	ClaimedMine    ClaimState = "Mine"
	ClaimedAnother ClaimState = "Another"
	Unclaimed      ClaimState = "Unclaimed"
)

// ReviewName decides whether a namespace could create a record at a name, without a write (S14.1). The answer, yes or
// no, is in review. If no rule gives the name, review is the same as without a zone, so that the zone stays hidden
// (S14.2). out has missing facts, or refuses an impossible request.
func ReviewName(seen *law.Facts, ask RecordInput) (review Review, out law.Outcome) {
	out = law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		d := &recordDecision{Reading: r, ask: ask}
		p, refusal := d.locateRecord(ask.After)
		if refusal != nil {
			return nil, refusal
		}
		z, ns := p.zone, ask.Namespace
		if z == nil || ns != z.Namespace && !z.RuleSet().AllowsName(p.fqdn, ns) {
			hint := "its owner, whose mailbox the SOA record in DNS has, can add a delegation"
			if p.fqdn.NumLabels() == 1 {
				hint = fmt.Sprintf("write the whole name, such as %sexample.org.; ", p.fqdn) + hint
			}
			review = Review{Reason: fmt.Sprintf("no zone%s that encloses %s has a rule that gives namespace %q the name (S14.2; %s)",
				law.InView(p.view), p.fqdn, ns, hint)}
			return &law.Plan{}, nil
		}

		review = Review{Zone: z, Claimed: d.findClaim(z, p, ns)}
		plan, refusal := d.decideRecord()
		if refusal != nil {
			review.Reason = refusal.Sentence()
			if refusal.Reason == law.ReasonNameHeld && review.Claimed == Unclaimed {
				review.Claimed = ClaimedAnother // by a claim above or below, or an own name
			}
			return &law.Plan{}, nil
		}

		review.Allowed, review.Rule, review.Warnings = true, plan.Rule, plan.Warnings
		return &law.Plan{}, nil
	})

	return review, out
}

func (d *recordDecision) findClaim(z *law.Zone, p *place, namespace string) ClaimState {
	base := rules.Base(p.owner)
	at, err := base.In(z.FQDN())
	if err != nil || namespace != z.Namespace && !z.RuleSet().AllowsName(at, namespace) {
		return "" // an underscore rule must not reveal the claim (S4.14)
	}
	claimed := Unclaimed
	c := &claims.Claimant{Reading: d.Reading, Zone: z, Holding: p.holding, Namespace: namespace,
		OwnerAt: func(n name.Rel) *law.Owner { return law.Get[law.Owner](d.Reading, law.OwnerKey(z.UID, n)) }}
	if c.FindReservedBar(base).MinTail > 0 {
		claimed = ClaimedAnother
	}

	for up, ok := base, true; ok; up, ok = up.Parent() {
		o := law.Get[law.Owner](d.Reading, law.OwnerKey(z.UID, up))
		if mine := o.ClaimOf(namespace); mine != nil && mine.Holds() && (up == base || namespace != z.Namespace) {
			return ClaimedMine
		}
		if up == base && o != nil && slices.ContainsFunc(o.Claims, func(c law.Claim) bool { return c.Holds() }) {
			claimed = ClaimedAnother
		}
	}

	return claimed
}
