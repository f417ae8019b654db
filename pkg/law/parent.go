// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// ParentAsk is a cascade's request to decide anew who the parent of a standing
// zone is; nobody asks for anything, so it is never refused.
type ParentAsk struct {
	Zone *Zone
	// Says is the message of its condition Delegated now.
	Says string
	Now  time.Time
}

// nobody is what a zone follows that followed one which ended (S3.4).
const nobody = "-"

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
	parent, cut, withdrawn, cond, known := d.parentOf(z.View, z.FQDN(), z.Namespace, holding, ask.Now)
	if !known {
		return nil
	}
	h.Parent, h.ExternalCut, h.Withdrawn = nil, cut, withdrawn
	if parent != nil && (cut || cond.Status == "True") {
		h.Parent = &parent.Ref
	}
	if h.Follows != "" && h.Follows != nobody && (parent == nil || h.Follows != parent.UID) {
		// What it followed may stand again, with the same uid, under another name.
		_, last, known := d.went(z.View, z.FQDN(), parent, h.Follows)
		if !known {
			return nil
		}
		if last != nil && last.Withdrawn != nil {
			h.Follows = nobody
		}
	}
	same := h.Follows == holding.Follows && h.ExternalCut == holding.ExternalCut && (h.Parent == nil) == (holding.Parent == nil) && (h.Parent == nil || h.Parent.UID == holding.Parent.UID) && h.Withdrawn == holding.Withdrawn
	if same {
		// The parent stays; only what is said of a zone without one may differ.
		if h.Parent != nil || h.Withdrawn != nil || ask.Says == cond.Message {
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
	plan.Zone = &ZoneChange{Zone: z, Holding: &h, Delegated: cond, EndsAt: withdrawn.endsAt(ask.Now)}
	plan.Writes = append(plan.Writes, Write{Key: HoldingKey(z.View, z.FQDN()), Value: &h})
	return plan
}

// parentOf is the zone that encloses a zone of ns at fqdn, nil for none, and what
// the condition Delegated says of it (S3.3–S3.5). cut: it delegates a name above
// fqdn away. withdrawn: its rule for the zone went; that of has where it went before.
// has is what stood under the zone's name before. known false: facts are needed.
func (r *reading) parentOf(view string, fqdn name.Name, ns string, has *Holding, now time.Time) (parent *Zone, cut bool, withdrawn *Withdrawal, cond *Condition, known bool) {
	standalone := &Condition{Status: "True", Reason: ReasonStandalone, Message: "no zone encloses it"}
	up, ok := fqdn.Parent()
	if !ok {
		return nil, false, nil, standalone, true
	}
	_, above, known := r.longest(view, up)
	if !known {
		return nil, false, nil, nil, false
	}
	if above == nil {
		return nil, false, nil, standalone, true
	}
	p, ok := get[Zone](r, ZoneKey(above.Namespace, above.Name))
	if !ok {
		return nil, false, nil, nil, false
	}
	if p == nil || p.UID != above.UID || p.Pending {
		r.stale()
		return nil, false, nil, nil, false
	}
	owner, _ := fqdn.Rel(p.FQDN())
	var ks []Key
	for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
		ks = append(ks, OwnerKey(p.UID, up))
	}
	if !r.all(ks) {
		return nil, false, nil, nil, false
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
		from, known := r.heir(view, fqdn, has, p)
		if !known {
			return nil, false, nil, nil, false
		}
		switch {
		case has.Withdrawn != nil && has.Withdrawn.By == p.UID:
			withdrawn = has.Withdrawn
		case from != nil:
			withdrawn = &Withdrawal{By: p.UID, Since: now.Unix(), Passed: from.Passed, Grace: p.Grace}
		case has.delegatedBy() == p.UID:
			withdrawn = &Withdrawal{By: p.UID, Since: now.Unix(), Grace: p.Grace}
		}
		if withdrawn != nil {
			cond.Reason = ReasonDelegationWithdrawn
			cond.Message += "; it ends after the withdrawalGracePeriod of that zone (S3.4)"
		}
		return p, false, withdrawn, cond, true
	case cut:
		cond = &Condition{Status: "False", Reason: ReasonExternalCut, Message: fmt.Sprintf("zone %s delegates a name above it away by %s records, so it adds none for this zone", p.FQDN(), by)}
		return p, true, nil, cond, true
	}
	return p, false, nil, &Condition{Status: "True", Reason: ReasonDelegated, Message: fmt.Sprintf("by zone %s", p.FQDN())}, true
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

// heir is the withdrawal that a zone at fqdn has from p, where the zone that delegated it
// stood between the two and was removed or ended, p had delegated that one, or one that
// had delegated it and went too, and does so no more: a zone does not outlive its rule by
// those below it (S3.4). The rules count: a cascade may have yet to note that one went or
// came back. nil: there is none.
func (r *reading) heir(view string, fqdn name.Name, has *Holding, p *Zone) (w *Withdrawal, known bool) {
	at := fqdn
	for by := has.delegatedBy(); by != "" && by != p.UID; {
		var last *LastSerial
		if at, last, known = r.went(view, at, p, by); last == nil {
			return nil, known
		}
		w = last.Withdrawn
		if by = last.Delegated; by == "" && w != nil {
			by = w.By // an earlier version wrote it
		}
		switch {
		case by != p.UID:
		case p.DelegatesZone(at, last.By):
			return nil, true
		case w == nil || w.By != p.UID:
			return &Withdrawal{By: p.UID}, true
		default:
			return w, true
		}
	}
	return nil, true
}

// went is what is left of the zone with that uid, and where, if it stood between fqdn and
// the zone that encloses it now, nil for none.
func (r *reading) went(view string, fqdn name.Name, enclosing *Zone, uid string) (at name.Name, last *LastSerial, known bool) {
	var between []Key
	for up, ok := fqdn.Parent(); ok && (enclosing == nil || up != enclosing.FQDN()); up, ok = up.Parent() {
		between = append(between, Key{Kind: KindLastSerial, View: view, Name: up})
	}
	if !r.all(between) {
		return name.Name{}, nil, false
	}
	for _, k := range between {
		if x, _ := get[LastSerial](r, k); x != nil && x.Zone == uid {
			at, last = k.Name, x
		}
	}
	return at, last, true
}
