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

// admitRecord decides whether the zone takes what comes beside what others have there: admission (S4), coexistence
// (S5.6) and the tenant's limit (S5.8).
func (x *delta) admitRecord(plan *law.Plan) *law.Refusal {
	if refusal := x.refuseLocked(); refusal != nil {
		return refusal
	}
	z, ns := x.zone, x.ask.Namespace
	by, refusal := x.findAdmission()
	if refusal == nil && ns == z.Namespace {
		x.yielding, x.yieldsAt = x.findYielding(false, x.come.Type == rdata.DNAME)
	} else if refusal != nil && refusal.Reason == law.ReasonNameHeld {
		// What else is in its way refuses it before the others lose the name.
		for _, below := range []bool{false, true} {
			if x.yielding, x.yieldsAt = x.findYielding(true, below); len(x.yielding) == 0 {
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
		refusal = x.refuseTurn()
	}
	if refusal != nil {
		return refusal
	}
	x.admission, x.rule = by.Admission, by.Text

	if refusal := x.checkOwner(); refusal != nil {
		return refusal
	}
	evicts := len(x.yielding) > 0
	if !evicts || ns == z.Namespace {
		refusal := x.checkCoexistence(plan)
		if x.conflicts = refusal != nil; x.conflicts && (!evicts || x.ownerAt(rules.Base(x.come.Owner)).IsOwn(z)) {
			return refusal
		}
	}
	if refusal := x.refuseMany(); refusal != nil {
		return refusal
	}
	if x.awaits = evicts && (x.conflicts || ns != z.Namespace); x.awaits { // it is decided when the name is free
		return nil
	}
	x.warnOfHiding(plan)
	x.warnOfMixing(by.Admission, plan)
	return nil
}

// findAdmission finds the rule that lets the record in (S4.17). A record that stands keeps its kind of rule while it
// has one: what others, or the zone's owner, have put at, above or below its name since takes nothing from it. A rule
// that names the name for others does (S4.20).
func (x *delta) findAdmission() (rules.Admitted, *law.Refusal) {
	z, come, ns := x.zone, x.come, x.ask.Namespace
	n, set := x.place.fqdn, z.RuleSet()
	if grants := set.FindGrants(n, come.Type, ns); len(grants) == 0 {
		return rules.Admitted{}, notDelegated(z, n, come.Owner, come.Type, ns)
	} else if ns == z.Namespace {
		return rules.AdmitOwn(come.Owner, &grants[0]), nil
	}
	base := rules.Base(come.Owner)
	bar := x.findBar(base)
	by, refusal := x.findKind(set.Reaching(bar.Least), base)
	switch {
	case by.Admission != "":
		return by, nil
	case refusal != nil:
		return by, x.noteClaim(base, refusal)
	case bar.Least > 0 && slices.ContainsFunc(set.FindGrants(n, come.Type, ns), func(g rules.Grant) bool {
		return set.KindOf(&g, come.Owner, ns) != ""
	}):
		return by, bar.Refuse(x.claimant(rules.AdmittedPlain, nil), base, law.ReasonDelegationWithdrawn,
			fmt.Sprintf("a rule with pattern %q", rules.PatternFor(base)))
	}
	return by, baseNotDelegated(z, n, come.Owner, come.Type, ns)
}

// findKind finds the first kind of rule of a set that lets the record in. A refusal is that of the last kind which does
// not; nil: there is none.
func (x *delta) findKind(set *rules.Set, base name.Rel) (by rules.Admitted, refusal *law.Refusal) {
	come, ns := x.come, x.ask.Namespace
	grants := set.FindGrants(x.place.fqdn, come.Type, ns)
	var asGuest *law.Refusal
	for _, kind := range rules.Kinds {
		for i := range grants {
			g := &grants[i]
			if set.KindOf(g, come.Owner, ns) != kind {
				continue
			}
			c := x.claimant(kind, g.Rule)
			var why *law.Refusal
			switch {
			case kind == rules.AdmittedUnderscore:
				why = x.refuseGuest(g.Literal)
				asGuest = why
			case !x.keepsClaim(base, kind):
				why = c.RefuseClaim(come.Owner, base)
			case kind == rules.AdmittedShared: // its namespaces are those that the rule has now
				why = c.RefuseOthers(base)
			}
			if why == nil && kind != rules.AdmittedUnderscore && !x.stands() {
				why = c.RefuseData(come.Owner)
			}
			if why == nil {
				return rules.Admitted{Admission: kind, Text: g.Text}, nil
			}
			refusal = why // that of the widest rule says most
		}
	}
	return by, cmp.Or(asGuest, refusal)
}

// findBar finds the bar of the base name for the record. A record that has its claim there asks for nothing new.
func (x *delta) findBar(base name.Rel) claims.Bar {
	c := x.claimant(rules.AdmittedPlain, nil)
	if x.standsAlready() || x.gone != nil && rules.Base(x.gone.Owner) == base && x.ask.Before.Admission != rules.AdmittedUnderscore {
		return c.FindNamed(base)
	}
	return c.FindBar(base)
}

// claimant is the record's namespace as it asks for the name by a kind of rule.
func (x *delta) claimant(kind rules.Admission, rule *rules.Rule) *claims.Claimant {
	c := &claims.Claimant{Reading: x.Reading, Zone: x.zone, Holding: x.holding, Namespace: x.ask.Namespace, Admission: kind,
		OwnerAt: x.ownerAt, Yielding: x.yielding}
	if kind == rules.AdmittedShared {
		c.Rule = rule
	}
	return c
}

// keepsClaim reports whether the record stands at a base name by such a rule already.
func (x *delta) keepsClaim(base name.Rel, kind rules.Admission) bool {
	return x.gone != nil && rules.Base(x.gone.Owner) == base && x.ask.Before.Admission == kind
}

// noteClaim notes which namespace has the base name that the record is refused, for those that wait for it (S2.14).
func (x *delta) noteClaim(base name.Rel, refusal *law.Refusal) *law.Refusal {
	if o := x.ownerAt(base); o != nil {
		for _, c := range o.Claims {
			if c.Namespace != x.ask.Namespace && c.Names() && (x.claimedBy == "" || x.claimedBy == x.zone.Namespace) {
				x.claimedBy = c.Namespace
			}
		}
	}
	return refusal
}

// warnOfMixing warns where values of several namespaces come together, and where the zone's own namespace writes at a
// name that a tenant claims, or below one (S4.18).
func (x *delta) warnOfMixing(a rules.Admission, plan *law.Plan) {
	z, come := x.zone, x.come
	base := rules.Base(come.Owner)
	if base.IsApex() || slices.Contains(z.MadeNames, base) {
		return
	}
	own := x.ask.Namespace == z.Namespace
	switch o := x.ownerAt(base); {
	case own && o.HasTenant(z):
		plan.Warn("%s of zone %s is claimed by another namespace, and what stands there is now its own and the zone's (S4.18)", base,
			z.FQDN())
		return
	case own:
		for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
			if x.ownerAt(up).HasTenant(z) {
				plan.Warn("%s of zone %s lies below %s, which another namespace claims with all below it (S4.18)", base, z.FQDN(), up)
				return
			}
		}
	case a != rules.AdmittedUnderscore && o.IsOwn(z):
		plan.Warn("the zone's own namespace has records at %s of zone %s, too (S4.18)", base, z.FQDN())
		return
	}
	if x.others.HasType(come.Type) && (a == rules.AdmittedShared || own && z.RuleSet().ListsShared(come.Owner)) {
		plan.Warn("%s at %s joins values of other records (shared: true): a resolver gets all of them (S4.13)", come.Type, x.place.fqdn)
	}
}

// refuseMany refuses a tenant's record beyond the number that the zone allows a namespace (S5.9).
func (x *delta) refuseMany() *law.Refusal {
	z, ns, most := x.zone, x.ask.Namespace, x.zone.RecordsPerNamespace
	if most <= 0 || ns == z.Namespace || !x.isNew() || x.records < most {
		return nil
	}
	return law.NewForbidden(law.ReasonLimitExceeded, "namespace %q has %d records in zone %s and its limits.recordsPerNamespace is %d "+
		"(delete some, or ask the zone's owner for more)", ns, x.records, z.FQDN(), most)
}

// refuseCutOff refuses an NS below the apex, or a DNAME, of a tenant that would cut off what another namespace has
// (S4.15). A cascade does not refuse a record that stands, since the zone's own namespace may have put names below it
// meanwhile.
func (x *delta) refuseCutOff() *law.Refusal {
	p, come := x.place, x.come
	if come.Type != rdata.DNAME && (come.Type != rdata.NS || come.Owner.IsApex()) || x.standsAlready() {
		return nil
	}
	literal := slices.ContainsFunc(x.zone.RuleSet().FindGrants(p.fqdn, come.Type, x.ask.Namespace),
		func(g rules.Grant) bool { return g.Literal })
	if !x.claimant(rules.AdmittedPlain, nil).CutsOff(come.Owner, literal) {
		return nil
	}
	return law.NewForbidden(law.ReasonNameHeld, "%s at %s would cut off names at or below it that another namespace has in zone "+
		"%s (S4.15; choose a name of your own)", come.Type, p.fqdn, x.zone.FQDN())
}

// refuseSigning refuses a tenant's DS at a zone of another namespace (S4.16).
func (x *delta) refuseSigning() *law.Refusal {
	if !x.signsAnother() {
		return nil
	}
	return law.NewForbidden(law.ReasonNameHeld, "%s is a zone of another namespace, and a DS there would decide whether it "+
		"validates (S4.16; the owner of zone %s can write it)", x.place.fqdn, x.zone.FQDN())
}

// signsAnother reports whether what comes is a tenant's DS at a zone of another namespace: a validating resolver would
// take that zone for forged. So one that stands when the zone comes has no period.
func (x *delta) signsAnother() bool {
	if x.come.Type != rdata.DS || x.ask.Namespace == x.zone.Namespace {
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
	return law.NewForbidden(law.ReasonDelegationWithdrawn, "zone %s does not delegate %s at %s to namespace %q (%s)", z.FQDN(), t,
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
	return law.NewForbidden(law.ReasonDelegationWithdrawn, "zone %s delegates %s at %s to namespace %q, but not %s, for which "+
		"that speaks (S4.7; %s)",
		z.FQDN(), t, n, namespace, at, hint)
}

// checkCoexistence refuses what may not stand beside what (S5.6).
func (x *delta) checkCoexistence(plan *law.Plan) (refusal *law.Refusal) {
	owner, t := x.come.Owner, x.come.Type
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
