// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"

	"kubi.zone/kubizone/pkg/dns/rdata"
)

// ParentAsk is a cascade's request to decide anew who the parent of a standing
// zone is; nobody asks for anything, so it is never refused.
type ParentAsk struct {
	Zone *Zone
	// WasDelegated says that the Delegated condition is True, or says withdrawn, now.
	WasDelegated bool
}

// DecideParent decides the parent of a zone after something above it changed
// (S3.3–S3.5). Plan.Zone is nil when nothing changes.
func DecideParent(seen *Seen, ask ParentAsk) Outcome {
	d := new(read(seen))
	plan := decideParent(d, ask)
	if len(d.needs) > 0 {
		return Outcome{Need: d.needs}
	}
	return Outcome{Plan: plan}
}

func decideParent(d *reading, ask ParentAsk) *Plan {
	z, plan := ask.Zone, &Plan{}
	holding, ok := get[Holding](d, HoldingKey(z.View, z.FQDN()))
	if !ok {
		return nil
	}
	if holding == nil || holding.UID != z.UID {
		return plan // it is gone or renamed, and that has a cascade of its own
	}
	h := *holding
	h.Parent, h.ExternalCut = nil, false
	cond := &Condition{Status: "True", Reason: ReasonStandalone, Message: "no zone encloses it"}
	if up, ok := z.FQDN().Parent(); ok {
		_, above, known := d.longest(z.View, up)
		if !known {
			return nil
		}
		if above != nil {
			p, ok := get[Zone](d, ZoneKey(above.Namespace, above.Name))
			if !ok {
				return nil
			}
			if p == nil || p.UID != above.UID {
				d.stale()
				return nil
			}
			owner, _ := z.FQDN().Rel(p.FQDN())
			var ks []Key
			for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
				ks = append(ks, OwnerKey(p.UID, up))
			}
			if !d.all(ks) {
				return nil
			}
			cut, by := false, rdata.NS
			for _, k := range ks {
				o, _ := get[Owner](d, k)
				cut = cut || !k.Owner.IsApex() && o.hasType(rdata.NS)
				if o.hasType(rdata.DNAME) {
					cut, by = true, rdata.DNAME // NS below it would keep the parent from loading (S5.7)
				}
			}
			switch {
			case !p.DelegatesZone(z.FQDN(), z.Namespace):
				cond = &Condition{Status: "False", Reason: ReasonNotDelegated, Message: fmt.Sprintf("zone %s encloses it and does not delegate it (its owner can add a delegation with zones: [%q])", p.FQDN(), owner)}
				if holding.Parent != nil && holding.Parent.UID == p.UID {
					cond.Reason = ReasonDelegationWithdrawn
				}
			case cut:
				h.Parent, h.ExternalCut = &p.Ref, true
				cond = &Condition{Status: "False", Reason: ReasonExternalCut, Message: fmt.Sprintf("zone %s delegates a name above it away by %s records, so it adds none for this zone", p.FQDN(), by)}
			default:
				h.Parent = &p.Ref
				cond = &Condition{Status: "True", Reason: ReasonDelegated, Message: fmt.Sprintf("by zone %s", p.FQDN())}
			}
		}
	}
	same := h.ExternalCut == holding.ExternalCut && (h.Parent == nil) == (holding.Parent == nil) && (h.Parent == nil || h.Parent.UID == holding.Parent.UID)
	if same {
		// The parent stays; only what is said of a zone without one may differ, and
		// a withdrawal is remembered as such.
		if h.Parent != nil || ask.WasDelegated == (cond.Reason == ReasonStandalone || cond.Reason == ReasonDelegated) {
			return plan
		}
		plan.Zone = &ZoneChange{Zone: z, Holding: holding, Delegated: cond}
		return plan
	}
	if holding.Parent != nil {
		plan.Debts = append(plan.Debts, Debt{Parent: *holding.Parent, Child: z.Ref, View: z.View, FQDN: z.FQDN()})
	}
	if h.Parent != nil && (holding.Parent == nil || holding.Parent.UID != h.Parent.UID) {
		plan.Debts = append(plan.Debts, Debt{Parent: *h.Parent, Child: z.Ref, View: z.View, FQDN: z.FQDN()})
	}
	plan.Zone = &ZoneChange{Zone: z, Holding: &h, Delegated: cond}
	plan.Writes = append(plan.Writes, Write{Key: HoldingKey(z.View, z.FQDN()), Value: &h})
	return plan
}
