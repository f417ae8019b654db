// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/claims"
	"kubi.zone/kubizone/pkg/law/rules"
)

// admitRecord refuses added because of rules, claims, other data or a limit. Otherwise admitRecord sets admission and
// rule, or awaitsEviction if other tenants must give way first.
func (d *delta) admitRecord(plan *law.Plan) *law.Refusal {
	if refusal := d.refuseLocked(); refusal != nil {
		return refusal
	}
	z, ns := d.zone, d.ask.Namespace

	// If claims refuse the record, try again without the claims of lost rules: first at and above the name, then also
	// below.
	by, refusal := d.findAdmission()
	if refusal == nil && ns == z.Namespace {
		d.yielding, d.yieldedName = d.findYielding(false, d.added.Type == rdata.DNAME)
	} else if refusal != nil && refusal.Reason == law.ReasonNameHeld {
		for _, below := range []bool{false, true} {
			if d.yielding, d.yieldedName = d.findYielding(true, below); len(d.yielding) == 0 {
				continue
			}
			if with, held := d.findAdmission(); held == nil {
				by, refusal = with, nil
				break
			}
			d.yielding = nil
		}
	}

	if refusal == nil && ns != z.Namespace {
		refusal = d.refuseCutOff()
	}
	if refusal == nil {
		refusal = d.refuseSigning()
	}
	if refusal == nil {
		refusal = d.refuseReplacement()
	}
	if refusal != nil {
		return refusal
	}

	d.admission, d.rule = by.Admission, by.Pattern

	if refusal := d.checkOwner(); refusal != nil {
		return refusal
	}

	evicts := len(d.yielding) > 0
	if !evicts || ns == z.Namespace {
		refusal := d.checkCoexistence(plan)
		if d.conflicts = refusal != nil; d.conflicts && (!evicts || d.ownerAt(rules.Base(d.added.Owner)).HasOwnClaim(z)) {
			return refusal
		}
	}

	if refusal := d.refuseOverLimit(); refusal != nil {
		return refusal
	}
	if d.awaitsEviction = evicts && (d.conflicts || ns != z.Namespace); d.awaitsEviction {
		return nil
	}

	d.warnOfHiding(plan)
	d.warnOfMixing(by.Admission, plan)
	return nil
}

func (d *delta) findAdmission() (rules.AdmittingRule, *law.Refusal) {
	z, added, ns := d.zone, d.added, d.ask.Namespace
	n, set := d.place.fqdn, z.RuleSet()
	if grants := set.FindGrants(n, added.Type, ns); len(grants) == 0 {
		return rules.AdmittingRule{}, notDelegated(z, n, added.Owner, added.Type, ns)
	} else if ns == z.Namespace {
		return rules.AdmitOwn(added.Owner, &grants[0]), nil
	}

	base := rules.Base(added.Owner)
	bar := d.findBar(base)
	by, refusal := d.findKind(set.WithMinTail(bar.MinTail), base)
	switch {
	case by.Admission != "":
		return by, nil
	case refusal != nil:
		return by, d.noteClaim(base, refusal)
	case bar.MinTail > 0 && slices.ContainsFunc(set.FindGrants(n, added.Type, ns), func(g rules.Grant) bool {
		return set.KindOf(&g, added.Owner, ns) != ""
	}):
		return by, bar.Refuse(d.claimant(rules.AdmittedPlain, nil), base, law.ReasonDelegationWithdrawn,
			fmt.Sprintf("a rule with pattern %q", rules.PatternFor(base)))
	}

	return by, baseNotDelegated(z, n, added.Owner, added.Type, ns)
}

func (d *delta) findKind(set *rules.Set, base name.Rel) (by rules.AdmittingRule, refusal *law.Refusal) {
	added, ns := d.added, d.ask.Namespace
	grants := set.FindGrants(d.place.fqdn, added.Type, ns)
	var asGuest *law.Refusal
	for _, kind := range rules.Kinds {
		for i := range grants {
			g := &grants[i]
			if set.KindOf(g, added.Owner, ns) != kind {
				continue
			}
			c := d.claimant(kind, g.Rule)
			c.Literal = g.Literal
			var why *law.Refusal
			switch {
			case kind == rules.AdmittedUnderscore:
				why = d.refuseGuest(g.Literal)
				asGuest = why
			case !d.keepsClaim(c, base):
				why = c.RefuseClaim(added.Owner, base)
			case kind == rules.AdmittedShared: // the rule's namespaces may be others now
				why = c.RefuseOthers(base)
			}

			if why == nil && kind != rules.AdmittedUnderscore && !d.hasPlace() {
				why = c.RefuseOwnData(added.Owner)
			}
			if why == nil {
				return rules.AdmittingRule{Admission: kind, Pattern: g.Text}, nil
			}

			refusal = why // the widest kind has the most helpful refusal
		}
	}

	return by, cmp.Or(asGuest, refusal)
}

func (d *delta) findBar(base name.Rel) claims.Bar {
	c := d.claimant(rules.AdmittedPlain, nil)
	if d.keepsPlace() || d.removed != nil && rules.Base(d.removed.Owner) == base && d.ask.Before.Admission != rules.AdmittedUnderscore {
		return c.FindReservedBar(base)
	}
	return c.FindBar(base)
}

func (d *delta) claimant(kind rules.Admission, rule *rules.Rule) *claims.Claimant {
	c := &claims.Claimant{Reading: d.Reading, Zone: d.zone, Holding: d.holding, Namespace: d.ask.Namespace, Admission: kind,
		OwnerAt: d.ownerAt, Yielding: d.yielding}
	if kind == rules.AdmittedShared {
		c.Rule = rule
	}
	return c
}

func (d *delta) keepsClaim(c *claims.Claimant, base name.Rel) bool {
	return d.removed != nil && rules.Base(d.removed.Owner) == base && d.ask.Before.Admission == c.Admission &&
		(c.Rule == nil || d.keepsName() && d.removed.Type == d.added.Type || !c.WidensClaim(base))
}

func (d *delta) noteClaim(base name.Rel, refusal *law.Refusal) *law.Refusal {
	if o := d.ownerAt(base); o != nil {
		for _, c := range o.Claims {
			if c.Namespace != d.ask.Namespace && c.Holds() && (d.claimedBy == "" || d.claimedBy == d.zone.Namespace) {
				d.claimedBy = c.Namespace
			}
		}
	}
	return refusal
}

func (d *delta) warnOfMixing(a rules.Admission, plan *law.Plan) {
	z, added := d.zone, d.added
	base := rules.Base(added.Owner)
	if base.IsApex() || slices.Contains(z.NSHosts, base) {
		return
	}
	own := d.ask.Namespace == z.Namespace
	switch o := d.ownerAt(base); {
	case own && o.HasTenantClaim(z):
		plan.Warn("S4.18", "%s of zone %s is claimed by another namespace: now both that namespace and the zone's own have records "+
			"there", base,
			z.FQDN())
		return
	case own:
		for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
			if d.ownerAt(up).HasTenantClaim(z) {
				plan.Warn("S4.18", "%s of zone %s lies below %s, which another namespace claims with all below it", base, z.FQDN(), up)
				return
			}
		}
	case a != rules.AdmittedUnderscore && o.HasOwnClaim(z):
		plan.Warn("S4.18", "the zone's own namespace has records at %s of zone %s, too", base, z.FQDN())
		return
	}

	if d.otherData.HasType(added.Type) && (a == rules.AdmittedShared || own && z.RuleSet().HasSharedLiteral(added.Owner)) {
		plan.Warn("S4.13", "%s at %s joins values of other records (shared: true): a resolver gets all of them", added.Type, d.place.fqdn)
	}
}

func (d *delta) refuseOverLimit() *law.Refusal {
	z, ns, most := d.zone, d.ask.Namespace, d.zone.RecordsPerNamespace
	if most <= 0 || ns == z.Namespace || !d.isNew() || d.newCount < most {
		return nil
	}
	return law.NewForbidden(law.ReasonLimitExceeded, "namespace %q has %d records in zone %s and its limits.recordsPerNamespace is %d "+
		"(S5.9; delete some, or ask the zone's owner for more)", ns, d.newCount, z.FQDN(), most)
}

// refuseCutOff refuses a tenant's DNAME or NS that cuts off names of others. In a cascade, a record that is there
// already passes, because the zone's own namespace may have taken its name later.
func (d *delta) refuseCutOff() *law.Refusal {
	p, added := d.place, d.added
	if added.Type != rdata.DNAME && (added.Type != rdata.NS || added.Owner.IsApex()) || d.keepsPlace() {
		return nil
	}
	grants := d.zone.RuleSet().FindGrants(p.fqdn, added.Type, d.ask.Namespace)
	literal := slices.ContainsFunc(grants, func(g rules.Grant) bool { return g.Literal })
	if !d.claimant(rules.AdmittedPlain, nil).CutsOff(added.Owner, literal) {
		return nil
	}
	return law.NewForbidden(law.ReasonNameHeld, "%s at %s would cut off names at or below it that another namespace has in zone "+
		"%s (S4.15; choose a name of your own)", added.Type, p.fqdn, d.zone.FQDN())
}

func (d *delta) refuseSigning() *law.Refusal {
	if !d.signsAnother() {
		return nil
	}
	return law.NewForbidden(law.ReasonNameHeld, "%s is a zone of another namespace, and a DS there would decide whether it "+
		"validates (S4.16; the owner of zone %s can write it)", d.place.fqdn, d.zone.FQDN())
}

// signsAnother reports whether added is a tenant's DS at a zone of another namespace. Such a DS has no grace period,
// because validating resolvers would reject the child zone.
func (d *delta) signsAnother() bool {
	if d.added.Type != rdata.DS || d.ask.Namespace == d.zone.Namespace {
		return false
	}
	child := law.Get[law.Holding](d.Reading, law.HoldingKey(d.place.view, d.place.fqdn))
	return child != nil && child.Namespace != d.ask.Namespace
}

func notDelegated(z *law.Zone, n name.Name, owner name.Rel, t rdata.Type, namespace string) *law.Refusal {
	hint := fmt.Sprintf("its owner can add a delegation with pattern %q", rules.PatternFor(owner))
	if rules.MustName(t, namespace == z.Namespace) {
		hint += fmt.Sprintf(" that names type %s", t)
	}
	return law.NewForbidden(law.ReasonDelegationWithdrawn, "zone %s does not delegate %s at %s to namespace %q (S4.1; %s)", z.FQDN(), t,
		n, namespace, hint)
}

func baseNotDelegated(z *law.Zone, n name.Name, owner name.Rel, t rdata.Type, namespace string) *law.Refusal {
	base := rules.Base(owner)
	at, err := base.In(z.FQDN())
	if err != nil {
		at = z.FQDN()
	}
	hint := fmt.Sprintf("its owner can add a delegation with pattern %q", rules.PatternFor(base))
	switch underscore := slices.ContainsFunc(owner.Labels(), rules.IsUnderscore); {
	case underscore && base.IsApex():
		hint = fmt.Sprintf("its owner can add a delegation with pattern %q", owner)
	case underscore:
		hint += fmt.Sprintf(", or with %q", owner)
	case base.IsApex():
		hint = "its owner can write it"
	}
	return law.NewForbidden(law.ReasonDelegationWithdrawn, "zone %s delegates %s at %s to namespace %q, but not its base name %s (S4.7; "+
		"%s)",
		z.FQDN(), t, n, namespace, at, hint)
}

func (d *delta) checkCoexistence(plan *law.Plan) (refusal *law.Refusal) {
	owner, t := d.added.Owner, d.added.Type
	present := d.presentTypes()
	if refusal := d.checkBeside(present); refusal != nil {
		return refusal
	}
	below, refusal := d.checkAbove()
	if refusal != nil {
		return refusal
	}

	switch {
	case t == rdata.DNAME:
		if refusal := d.checkBelow(); refusal != nil {
			return refusal
		}
	case t == rdata.NS && !owner.IsApex():
		d.warnOfCut(present, plan)
	}

	d.warnOfOcclusion(below, plan)
	d.warnOfValues(plan)
	d.warnOfTargets(plan)
	return nil
}
