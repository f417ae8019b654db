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
func (x *delta) admitRecord(plan *law.Plan) *law.Refusal {
	if refusal := x.refuseLocked(); refusal != nil {
		return refusal
	}
	z, ns := x.zone, x.ask.Namespace

	// If claims refuse the record, try again without the claims of lost rules: first at and above the name, then also
	// below.
	by, refusal := x.findAdmission()
	if refusal == nil && ns == z.Namespace {
		x.yielding, x.yieldedName = x.findYielding(false, x.added.Type == rdata.DNAME)
	} else if refusal != nil && refusal.Reason == law.ReasonNameHeld {
		for _, below := range []bool{false, true} {
			if x.yielding, x.yieldedName = x.findYielding(true, below); len(x.yielding) == 0 {
				continue
			}
			if with, held := x.findAdmission(); held == nil {
				by, refusal = with, nil
				break
			}
			x.yielding = nil
		}
	}

	if refusal == nil && ns != z.Namespace {
		refusal = x.refuseCutOff()
	}
	if refusal == nil {
		refusal = x.refuseSigning()
	}
	if refusal == nil {
		refusal = x.refuseReplacement()
	}
	if refusal != nil {
		return refusal
	}

	x.admission, x.rule = by.Admission, by.Pattern

	if refusal := x.checkOwner(); refusal != nil {
		return refusal
	}

	evicts := len(x.yielding) > 0
	if !evicts || ns == z.Namespace {
		refusal := x.checkCoexistence(plan)
		if x.conflicts = refusal != nil; x.conflicts && (!evicts || x.ownerAt(rules.Base(x.added.Owner)).HasOwnClaim(z)) {
			return refusal
		}
	}

	if refusal := x.refuseOverLimit(); refusal != nil {
		return refusal
	}
	if x.awaitsEviction = evicts && (x.conflicts || ns != z.Namespace); x.awaitsEviction {
		return nil
	}

	x.warnOfHiding(plan)
	x.warnOfMixing(by.Admission, plan)
	return nil
}

func (x *delta) findAdmission() (rules.AdmittingRule, *law.Refusal) {
	z, added, ns := x.zone, x.added, x.ask.Namespace
	n, set := x.place.fqdn, z.RuleSet()
	if grants := set.FindGrants(n, added.Type, ns); len(grants) == 0 {
		return rules.AdmittingRule{}, notDelegated(z, n, added.Owner, added.Type, ns)
	} else if ns == z.Namespace {
		return rules.AdmitOwn(added.Owner, &grants[0]), nil
	}

	base := rules.Base(added.Owner)
	bar := x.findBar(base)
	by, refusal := x.findKind(set.WithMinTail(bar.MinTail), base)
	switch {
	case by.Admission != "":
		return by, nil
	case refusal != nil:
		return by, x.noteClaim(base, refusal)
	case bar.MinTail > 0 && slices.ContainsFunc(set.FindGrants(n, added.Type, ns), func(g rules.Grant) bool {
		return set.KindOf(&g, added.Owner, ns) != ""
	}):
		return by, bar.Refuse(x.claimant(rules.AdmittedPlain, nil), base, law.ReasonDelegationWithdrawn,
			fmt.Sprintf("a rule with pattern %q", rules.PatternFor(base)))
	}

	return by, baseNotDelegated(z, n, added.Owner, added.Type, ns)
}

func (x *delta) findKind(set *rules.Set, base name.Rel) (by rules.AdmittingRule, refusal *law.Refusal) {
	added, ns := x.added, x.ask.Namespace
	grants := set.FindGrants(x.place.fqdn, added.Type, ns)
	var asGuest *law.Refusal
	for _, kind := range rules.Kinds {
		for i := range grants {
			g := &grants[i]
			if set.KindOf(g, added.Owner, ns) != kind {
				continue
			}
			c := x.claimant(kind, g.Rule)
			c.Literal = g.Literal
			var why *law.Refusal
			switch {
			case kind == rules.AdmittedUnderscore:
				why = x.refuseGuest(g.Literal)
				asGuest = why
			case !x.keepsClaim(c, base):
				why = c.RefuseClaim(added.Owner, base)
			case kind == rules.AdmittedShared: // the rule's namespaces may be others now
				why = c.RefuseOthers(base)
			}

			if why == nil && kind != rules.AdmittedUnderscore && !x.hasPlace() {
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

func (x *delta) findBar(base name.Rel) claims.Bar {
	c := x.claimant(rules.AdmittedPlain, nil)
	if x.keepsPlace() || x.removed != nil && rules.Base(x.removed.Owner) == base && x.ask.Before.Admission != rules.AdmittedUnderscore {
		return c.FindReservedBar(base)
	}
	return c.FindBar(base)
}

func (x *delta) claimant(kind rules.Admission, rule *rules.Rule) *claims.Claimant {
	c := &claims.Claimant{Reading: x.Reading, Zone: x.zone, Holding: x.holding, Namespace: x.ask.Namespace, Admission: kind,
		OwnerAt: x.ownerAt, Yielding: x.yielding}
	if kind == rules.AdmittedShared {
		c.Rule = rule
	}
	return c
}

func (x *delta) keepsClaim(c *claims.Claimant, base name.Rel) bool {
	return x.removed != nil && rules.Base(x.removed.Owner) == base && x.ask.Before.Admission == c.Admission &&
		(c.Rule == nil || x.keepsName() && x.removed.Type == x.added.Type || !c.WidensClaim(base))
}

func (x *delta) noteClaim(base name.Rel, refusal *law.Refusal) *law.Refusal {
	if o := x.ownerAt(base); o != nil {
		for _, c := range o.Claims {
			if c.Namespace != x.ask.Namespace && c.Holds() && (x.claimedBy == "" || x.claimedBy == x.zone.Namespace) {
				x.claimedBy = c.Namespace
			}
		}
	}
	return refusal
}

func (x *delta) warnOfMixing(a rules.Admission, plan *law.Plan) {
	z, added := x.zone, x.added
	base := rules.Base(added.Owner)
	if base.IsApex() || slices.Contains(z.NSHosts, base) {
		return
	}
	own := x.ask.Namespace == z.Namespace
	switch o := x.ownerAt(base); {
	case own && o.HasTenantClaim(z):
		plan.Warn("S4.18", "%s of zone %s is claimed by another namespace: now both that namespace and the zone's own have records "+
			"there", base,
			z.FQDN())
		return
	case own:
		for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
			if x.ownerAt(up).HasTenantClaim(z) {
				plan.Warn("S4.18", "%s of zone %s lies below %s, which another namespace claims with all below it", base, z.FQDN(), up)
				return
			}
		}
	case a != rules.AdmittedUnderscore && o.HasOwnClaim(z):
		plan.Warn("S4.18", "the zone's own namespace has records at %s of zone %s, too", base, z.FQDN())
		return
	}

	if x.otherData.HasType(added.Type) && (a == rules.AdmittedShared || own && z.RuleSet().HasSharedLiteral(added.Owner)) {
		plan.Warn("S4.13", "%s at %s joins values of other records (shared: true): a resolver gets all of them", added.Type, x.place.fqdn)
	}
}

func (x *delta) refuseOverLimit() *law.Refusal {
	z, ns, most := x.zone, x.ask.Namespace, x.zone.RecordsPerNamespace
	if most <= 0 || ns == z.Namespace || !x.isNew() || x.newCount < most {
		return nil
	}
	return law.NewForbidden(law.ReasonLimitExceeded, "namespace %q has %d records in zone %s and its limits.recordsPerNamespace is %d "+
		"(S5.9; delete some, or ask the zone's owner for more)", ns, x.newCount, z.FQDN(), most)
}

// refuseCutOff refuses a tenant's DNAME or NS that cuts off names of others. In a cascade, a record that is there
// already passes, because the zone's own namespace may have taken its name later.
func (x *delta) refuseCutOff() *law.Refusal {
	p, added := x.place, x.added
	if added.Type != rdata.DNAME && (added.Type != rdata.NS || added.Owner.IsApex()) || x.keepsPlace() {
		return nil
	}
	grants := x.zone.RuleSet().FindGrants(p.fqdn, added.Type, x.ask.Namespace)
	literal := slices.ContainsFunc(grants, func(g rules.Grant) bool { return g.Literal })
	if !x.claimant(rules.AdmittedPlain, nil).CutsOff(added.Owner, literal) {
		return nil
	}
	return law.NewForbidden(law.ReasonNameHeld, "%s at %s would cut off names at or below it that another namespace has in zone "+
		"%s (S4.15; choose a name of your own)", added.Type, p.fqdn, x.zone.FQDN())
}

func (x *delta) refuseSigning() *law.Refusal {
	if !x.signsAnother() {
		return nil
	}
	return law.NewForbidden(law.ReasonNameHeld, "%s is a zone of another namespace, and a DS there would decide whether it "+
		"validates (S4.16; the owner of zone %s can write it)", x.place.fqdn, x.zone.FQDN())
}

// signsAnother reports whether added is a tenant's DS at a zone of another namespace. Such a DS has no grace period,
// because validating resolvers would reject the child zone.
func (x *delta) signsAnother() bool {
	if x.added.Type != rdata.DS || x.ask.Namespace == x.zone.Namespace {
		return false
	}
	child := law.Get[law.Holding](x.Reading, law.HoldingKey(x.place.view, x.place.fqdn))
	return child != nil && child.Namespace != x.ask.Namespace
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

func (x *delta) checkCoexistence(plan *law.Plan) (refusal *law.Refusal) {
	owner, t := x.added.Owner, x.added.Type
	present := x.presentTypes()
	if refusal := x.checkBeside(present); refusal != nil {
		return refusal
	}
	below, refusal := x.checkAbove()
	if refusal != nil {
		return refusal
	}

	switch {
	case t == rdata.DNAME:
		if refusal := x.checkBelow(); refusal != nil {
			return refusal
		}
	case t == rdata.NS && !owner.IsApex():
		x.warnOfCut(present, plan)
	}

	x.warnOfOcclusion(below, plan)
	x.warnOfValues(plan)
	x.warnOfTargets(plan)
	return nil
}
