// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/claims"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

type Review struct {
	// Zone is the zone that would take the record, or nil if no zone has a rule for the namespace.
	Zone    *law.Zone
	Allowed bool
	// Rule is the pattern that allows the record, and Reason the sentence of a refusal.
	Rule, Reason string
	Claimed      ClaimState
	Warnings     []law.Warning
}

// ClaimState tells whose claim covers a name: the namespace's, another's, or none. "" keeps the claim secret.
type ClaimState string

const (
	ClaimedMine    ClaimState = "Mine"
	ClaimedAnother ClaimState = "Another"
	Unclaimed      ClaimState = "Unclaimed"
)

// ReviewName decides, without a write, whether a namespace could create a record at a name, and answers in the Review.
// If no rule gives the name, the Review is the same as without a zone, so that the zone stays hidden. The Outcome lists
// missing facts, or refuses an impossible request.
func ReviewName(seen *law.Facts, ask RecordInput) (review Review, outcome law.Outcome) {
	outcome = law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		d := &recordDecision{Reading: r, ask: ask}
		p, refusal := d.locateRecord(ask.After)
		if refusal != nil {
			return nil, refusal
		}
		z, ns := p.zone, ask.Namespace
		isGiven := z != nil && (ns == z.Namespace || z.RuleSet().AllowsName(p.fqdn, ns))
		if !isGiven {
			hint := "its owner, whose mailbox the SOA record in DNS has, can add a delegation"
			// Without a zoneRef, www means www. below the root.
			if p.fqdn.NumLabels() == 1 {
				hint = fmt.Sprintf("write the whole name, such as %sexample.org.; ", p.fqdn) + hint
			}
			review = Review{Reason: fmt.Sprintf("no zone%s that encloses %s has a rule that gives namespace %q the name (S14.2; %s)",
				law.InView(p.view), p.fqdn, ns, hint)}
			return &law.Plan{}, nil
		}

		review = Review{Zone: z, Claimed: d.findClaim(z, p, ns)}

		// Decide as for a write, and drop the plan.
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

	return review, outcome
}

// findClaim returns whose claim covers the base name, for a reader in the given namespace. It is "" if no rule gives
// the namespace the base.
func (d *recordDecision) findClaim(z *law.Zone, p *place, namespace string) ClaimState {
	base := rules.Base(p.owner)
	c := &claims.Claimant{Reading: d.Reading, Zone: z, Holding: p.holding, Namespace: namespace,
		OwnerAt: func(n name.Rel) *law.Owner { return law.Get[law.Owner](d.Reading, law.OwnerKey(z.UID, n)) }}
	if namespace != z.Namespace && !z.RuleSet().AllowsName(c.NameOf(base), namespace) {
		return "" // an underscore rule must not reveal the claim
	}

	o := c.OwnerAt(base)
	if holdsClaim(o, namespace) {
		return ClaimedMine
	}
	// team-a's claim at shop covers www.shop. An own record at shop makes only shop own.
	for at := range upToApex(base) {
		if namespace != z.Namespace && holdsClaim(c.OwnerAt(at), namespace) {
			return ClaimedMine
		}
	}
	// A reserved name is another namespace's, even without records.
	if c.FindReservedBar(base).MinTail > 0 || isClaimed(o) {
		return ClaimedAnother
	}
	return Unclaimed
}

func isClaimed(o *law.Owner) bool {
	return o != nil && slices.ContainsFunc(o.Claims, func(c law.Claim) bool { return c.Holds() })
}
