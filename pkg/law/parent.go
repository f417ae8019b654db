// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// ParentAsk is a cascade's request to decide anew which zone is the parent of a standing zone. No client made it, so
// it is never refused.
type ParentAsk struct {
	Zone *Zone
	// Says is the message of its condition Delegated now.
	Says string
	Now  time.Time
}

// DecideParent decides the parent of a zone after something above it changed
// (S3.3–S3.5). Plan.Zone is nil when nothing changes.
func DecideParent(seen *Seen, ask ParentAsk) Outcome {
	d := new(beginReading(seen))
	plan := decideParent(d, ask)
	return d.outcome(plan, nil)
}

func decideParent(d *reading, ask ParentAsk) *Plan {
	z, plan := ask.Zone, &Plan{}
	holding, ok := get[Holding](d, HoldingKey(z.View, z.FQDN()))
	if !ok {
		return nil
	}
	if holding == nil || holding.UID != z.UID {
		return plan // it is gone, and that has a cascade of its own
	}
	x, known := d.parentOf(z.View, z.FQDN(), z.Namespace, holding, ask.Now)
	if !known {
		return nil
	}
	h := *holding
	x.noteIn(&h)
	moved := h.ExternalCut != holding.ExternalCut || (h.Parent == nil) != (holding.Parent == nil) || h.Parent != nil && h.Parent.UID != holding.Parent.UID
	if !moved && h.DS == holding.DS && h.Withdrawn == holding.Withdrawn && h.Enclosed == holding.Enclosed &&
		slices.EqualFunc(h.Lineage, holding.Lineage, sameLink) {
		// The parent stays. Only what is said of a zone without a parent may differ.
		if h.Parent != nil || h.Withdrawn != nil || ask.Says == x.cond.Message {
			return plan
		}
		plan.Zone = &ZoneChange{Zone: z, Holding: holding, Delegated: x.cond}
		return plan
	}
	if moved && !d.keepsCut(&h, holding, z.FQDN()) {
		return nil
	}
	if moved && holding.Parent != nil {
		plan.oweCut(holding.Parent, z.Ref, z.View, z.FQDN())
	}
	if h.Parent != nil && (holding.Parent == nil || holding.Parent.UID != h.Parent.UID || !moved && h.DS != holding.DS) {
		plan.oweCut(h.Parent, z.Ref, z.View, z.FQDN())
	}
	plan.Zone = &ZoneChange{Zone: z, Holding: &h, Delegated: x.cond}
	if h.Withdrawn != holding.Withdrawn {
		plan.Zone.EndsAt = h.Withdrawn.endsAt(ask.Now)
	}
	plan.Writes = append(plan.Writes, Write{Key: HoldingKey(z.View, z.FQDN()), Value: &h})
	return plan
}

// parentage is what stands above a zone.
type parentage struct {
	// parent encloses it; nil: standalone.
	parent *Zone
	// delegates says that the rules of the parent list the zone, and cut that the parent delegates a name above the
	// zone away (S3.5).
	delegates, cut bool
	// ds says that one of these rules has the parent contain the DS of the zone (S4.9).
	ds bool
	// withdrawn is set where a rule by which the zone came went, and the enclosing zone does not delegate it (S3.4).
	withdrawn *Withdrawal
	lineage   []Link
	enclosed  *Enclosed
	cond      *Condition
}

// noteIn notes it in the holding of the zone.
func (x *parentage) noteIn(h *Holding) {
	h.Parent, h.ExternalCut, h.Withdrawn, h.Lineage, h.Enclosed, h.DS = nil, x.cut, x.withdrawn, x.lineage, x.enclosed, x.ds
	if x.delegates {
		h.Parent = &x.parent.Ref
	}
}

// parentOf returns what encloses a zone of ns at fqdn, and its condition Delegated (S3.3–S3.5). has is the holding of
// the zone.
// known false: facts are needed.
func (r *reading) parentOf(view string, fqdn name.Name, ns string, has *Holding, now time.Time) (*parentage, bool) {
	standalone := &parentage{cond: &Condition{Status: "True", Reason: ReasonStandalone, Message: "no zone encloses it"}}
	up, ok := fqdn.Parent()
	if !ok {
		return standalone, true
	}
	_, above, known := r.findEnclosing(view, up)
	if !known {
		return nil, false
	}
	if above == nil {
		return standalone, true
	}
	p, ok := r.zoneOf(above)
	if !ok {
		return nil, false
	}
	given, known := r.ruledFor(p, ns)
	if !known {
		return nil, false
	}
	x := &parentage{parent: p, delegates: given.DelegatesZone(fqdn, ns), ds: given.delegatesDS(fqdn, ns), lineage: above.LineageBelow(p.FQDN()), enclosed: has.Enclosed}
	if x.enclosed == nil || x.enclosed.By != p.UID {
		x.enclosed = &Enclosed{By: p.UID, N: p.N}
	}
	owner, _ := fqdn.Rel(p.FQDN())
	var ks []Key
	for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
		ks = append(ks, OwnerKey(p.UID, up))
	}
	if !r.askAll(ks) {
		return nil, false
	}
	if !x.delegates {
		x.cond = &Condition{Status: "False", Reason: ReasonNotDelegated, Message: fmt.Sprintf("zone %s encloses it and does not delegate it (its owner can add a delegation with zones: [%q])", p.FQDN(), owner)}
		return x, r.findWithdrawal(x, view, fqdn, ns, has, now)
	}
	by := rdata.NS
	for _, k := range ks {
		o, _ := get[Owner](r, k)
		x.cut = x.cut || !k.Owner.IsApex() && o.hasType(rdata.NS)
		if o.hasType(rdata.DNAME) {
			x.cut, by = true, rdata.DNAME // NS below it would keep the parent from loading (S5.7)
		}
	}
	if x.cut {
		x.cond = &Condition{Status: "False", Reason: ReasonExternalCut, Message: fmt.Sprintf("zone %s delegates a name above it away by %s records, so it adds none for this zone", p.FQDN(), by)}
		return x, true
	}
	x.cond = &Condition{Status: "True", Reason: ReasonDelegated, Message: fmt.Sprintf("by zone %s", p.FQDN())}
	return x, true
}

// delegatedBy is the uid of the zone that delegates this one, or whose rule for it went; "" for none.
func (h *Holding) delegatedBy() string {
	switch {
	case h.Parent != nil:
		return h.Parent.UID
	case h.Withdrawn != nil:
		return h.Withdrawn.By
	}
	return ""
}
