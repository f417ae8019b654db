// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"

	"kubi.zone/kubizone/pkg/dns/name"
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
	parent, cut, cond, known := d.parentOf(z.View, z.FQDN(), z.Namespace, holding)
	if !known {
		return nil
	}
	h.Parent, h.ExternalCut = nil, cut
	if parent != nil && (cut || cond.Status == "True") {
		h.Parent = &parent.Ref
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

// parentOf is the zone that encloses a zone of ns at fqdn, nil for none, and what
// the condition Delegated says of it (S3.3–S3.5). cut: it delegates a name above
// fqdn away. has is what stood under the zone's name before. known false: facts
// are needed.
func (r *reading) parentOf(view string, fqdn name.Name, ns string, has *Holding) (parent *Zone, cut bool, cond *Condition, known bool) {
	standalone := &Condition{Status: "True", Reason: ReasonStandalone, Message: "no zone encloses it"}
	up, ok := fqdn.Parent()
	if !ok {
		return nil, false, standalone, true
	}
	_, above, known := r.longest(view, up)
	if !known {
		return nil, false, nil, false
	}
	if above == nil {
		return nil, false, standalone, true
	}
	p, ok := get[Zone](r, ZoneKey(above.Namespace, above.Name))
	if !ok {
		return nil, false, nil, false
	}
	if p == nil || p.UID != above.UID {
		r.stale()
		return nil, false, nil, false
	}
	owner, _ := fqdn.Rel(p.FQDN())
	var ks []Key
	for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
		ks = append(ks, OwnerKey(p.UID, up))
	}
	if !r.all(ks) {
		return nil, false, nil, false
	}
	by := rdata.NS
	for _, k := range ks {
		o, _ := get[Owner](r, k)
		cut = cut || !k.Owner.IsApex() && o.hasType(rdata.NS)
		if o.hasType(rdata.DNAME) {
			cut, by = true, rdata.DNAME // NS below it would keep the parent from loading (S5.7)
		}
	}
	switch {
	case !p.DelegatesZone(fqdn, ns):
		cond = &Condition{Status: "False", Reason: ReasonNotDelegated, Message: fmt.Sprintf("zone %s encloses it and does not delegate it (its owner can add a delegation with zones: [%q])", p.FQDN(), owner)}
		if has.Parent != nil && has.Parent.UID == p.UID {
			cond.Reason = ReasonDelegationWithdrawn
		}
		return p, false, cond, true
	case cut:
		cond = &Condition{Status: "False", Reason: ReasonExternalCut, Message: fmt.Sprintf("zone %s delegates a name above it away by %s records, so it adds none for this zone", p.FQDN(), by)}
		return p, true, cond, true
	}
	return p, false, &Condition{Status: "True", Reason: ReasonDelegated, Message: fmt.Sprintf("by zone %s", p.FQDN())}, true
}
