// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/claims"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// admitRecord refuses added because of rules, claims, other data or a limit. Otherwise admitRecord sets admission and
// rule.
func (d *delta) admitRecord(plan *law.Plan) *law.Refusal {
	if refusal := d.refuseLocked(); refusal != nil {
		return refusal
	}
	z, ns := d.zone, d.ask.Namespace

	// 1. Find an admitting rule (S4).
	by, refusal := d.findAdmission()
	if refusal == nil && ns != z.Namespace {
		// Own may cut off names of its tenants. S4.15 binds tenants alone.
		refusal = d.refuseCutOff()
	}
	if refusal == nil {
		refusal = cmp.Or(d.refuseSigning(), d.refuseDNAME())
	}
	if refusal == nil {
		refusal = d.refuseReplacement()
	}
	if refusal != nil {
		return refusal
	}

	d.admission, d.rule = by.Admission, by.Pattern

	// 2. Compare with the other data at, above and below the name (S5).
	if refusal := d.checkOwner(); refusal != nil {
		return refusal
	}

	if refusal := d.checkCoexistence(plan); refusal != nil {
		// A Record may wait for its namespace's data, as when a GitOps tool applies before it prunes, but for no limit.
		if ns == z.Namespace || d.holdsName(rules.Base(d.added.Owner)) {
			d.awaited = ns
		}
		return refusal
	}
	if refusal := cmp.Or(d.refuseOverLimit(), d.refuseLowTTL()); refusal != nil {
		return refusal
	}

	// 3. Warn the writer of effects on the names of others.
	d.warnOfHiding(plan)
	d.warnOfMixing(by.Admission, plan)
	return nil
}

// findAdmission returns the admitting rule for added, or the refusal. For own, a rule for name and type is enough. A
// tenant also needs the base name (S4.7), free of claims of others.
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
	// A rule gives the name, but another namespace has it, and a Record may wait for that namespace.
	case refusal != nil:
		return by, d.noteClaim(base, refusal)
	// Rules give name and base, but their "*" stops at the bar: "*" gave x.pay until pay became team-b's.
	case bar.MinTail > 0 && slices.ContainsFunc(set.FindGrants(n, added.Type, ns), func(g rules.Grant) bool {
		return set.KindOf(&g, added.Owner, ns) != ""
	}):
		return by, bar.Refuse(d.claimant(rules.AdmittedPlain, nil), base, law.ReasonDelegationWithdrawn,
			fmt.Sprintf("a rule with pattern %q", rules.PatternFor(base)))
	}

	// A rule gives _acme-challenge.www or *.www, but no rule gives www.
	return by, baseNotDelegated(z, n, added.Owner, added.Type, ns)
}

// findKind returns the first rule to admit a tenant's record, in the order of rules.Kinds (S4.17), or the refusal.
// Both are zero if no rule gives the base name. The set has only the rules beyond the bar at base.
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
			// An edit within the present claim asks for no new claim.
			case !d.keepsClaim(c, base):
				why = c.RefuseClaim(added.Owner, base)
			case kind == rules.AdmittedShared: // the rule's namespaces may be others now
				why = c.RefuseOthers(base)
			}

			// An earlier Record at _dmarc.news may get new values, although own has data there by now (S4.14).
			if why == nil && kind != rules.AdmittedUnderscore && !d.hasPlace() {
				why = c.RefuseOwnData(added.Owner)
			}
			if why == nil {
				return rules.AdmittingRule{Admission: kind, Pattern: g.Text}, nil
			}

			refusal = why // the widest kind has the most helpful refusal
		}
	}

	// A guest's refusal comes first: the refusal names a remedy, such as the challenge at the wildcard's base (S4.23).
	return by, cmp.Or(asGuest, refusal)
}

func (d *delta) findBar(base name.Rel) claims.Bar {
	c := d.claimant(rules.AdmittedPlain, nil)
	if former := d.formerAdmission(base); d.keepsPlace() || former != "" && former != rules.AdmittedUnderscore {
		return c.FindReservedBar(base)
	}
	return c.FindBar(base)
}

// formerAdmission returns the kind of rule for the replaced data at base: the Record's own former data, or those of a
// Record leaving in the same transaction. The result is "" without such data.
func (d *delta) formerAdmission(base name.Rel) rules.Admission {
	if d.removed != nil && rules.Base(d.removed.Owner) == base {
		return d.ask.Before.Admission
	}
	if left := d.ask.Succeeds; left != nil {
		if owner, ok := left.FQDN.Rel(d.zone.FQDN()); ok && rules.Base(owner) == base {
			return left.Admission
		}
	}
	return ""
}

func (d *delta) keepsClaim(c *claims.Claimant, base name.Rel) bool {
	return d.formerAdmission(base) == c.Admission &&
		(c.Rule == nil || d.keepsRRset() || !c.WidensClaim(base))
}

// noteClaim notes the namespace whose claim at base refuses added. A Record does not wait for a claim elsewhere, since
// no deletion at its own name would admit the Record (S4.24).
func (d *delta) noteClaim(base name.Rel, refusal *law.Refusal) *law.Refusal {
	if refusal.HeldAt == base {
		d.awaited = d.otherHolder(base)
	}
	return refusal
}

// warnOfMixing warns the writer if records of several namespaces now meet at a base name (S4.18), or values of several
// Records in an RRset of a shared name (S4.13).
func (d *delta) warnOfMixing(a rules.Admission, plan *law.Plan) {
	z, added := d.zone, d.added
	base := rules.Base(added.Owner)
	own, warned := d.ask.Namespace == z.Namespace, false
	if own {
		warned = d.warnOfTenants(base, plan)
	} else {
		warned = d.warnOfOwn(a, base, plan)
	}
	isShared := a == rules.AdmittedShared || own && z.RuleSet().HasSharedLiteral(added.Owner)
	if !warned && isShared && d.otherData.HasType(added.Type) {
		plan.Warn("S4.13", "%s at %s joins values of other records (shared: true)", added.Type, d.place.fqdn)
	}
}

// warnOfOwn warns a tenant of own's records at base. A guest's _acme-challenge.www beside own's www claims nothing, so
// needs no Warning.
func (d *delta) warnOfOwn(a rules.Admission, base name.Rel, plan *law.Plan) (warned bool) {
	if a == rules.AdmittedUnderscore || base.IsApex() || !d.ownerAt(base).HasOwnClaim(d.zone) {
		return false
	}
	plan.Warn("S4.18", "the zone's own namespace has records at %s of zone %s, too", base, d.zone.FQDN())
	return true
}

// warnOfTenants warns own of the nearest claim of a tenant at or above base, since no claim refuses own (S4.9).
func (d *delta) warnOfTenants(base name.Rel, plan *law.Plan) (warned bool) {
	z := d.zone
	for at := range upToApex(base) {
		switch {
		case !d.ownerAt(at).HasTenantClaim(z):
			continue
		// team-a claims shop, and own writes there.
		case at == base:
			plan.Warn("S4.18", "%s of zone %s is claimed by another namespace: now both that namespace and the zone's own have records "+
				"there", base, z.FQDN())
		// Own's www.shop takes the place of team-a's *.shop.
		default:
			plan.Warn("S4.18", "%s of zone %s lies below %s, which another namespace claims with all below it", base, z.FQDN(), at)
		}
		return true
	}
	return false
}

func (d *delta) refuseOverLimit() *law.Refusal {
	z, ns, most := d.zone, d.ask.Namespace, d.zone.RecordsPerNamespace
	if most <= 0 || ns == z.Namespace || !d.isNew() || d.newCount < most {
		return nil
	}
	return law.NewForbidden(law.ReasonLimitExceeded, "namespace %q has %d records in zone %s and its limits.recordsPerNamespace is %d "+
		"(S5.9; delete some, or ask the zone's owner for more)", ns, d.newCount, z.FQDN(), most)
}

// refuseLowTTL refuses a tenant's new TTL below the zone's least. Names such as _acme-challenge.www are exempt, because
// clients choose a TTL of a minute to renew a certificate. A stored Record may stay with its TTL, or raise it (S5.9).
func (d *delta) refuseLowTTL() *law.Refusal {
	ttl, least := ttlOf(d.added), d.zone.MinTTL
	if ttl >= min(least, ttlOf(d.removed)) || d.ask.Namespace == d.zone.Namespace || rules.HasUnderscore(d.added.Owner) {
		return nil
	}
	return law.NewForbidden(law.ReasonLimitExceeded, "ttl %d of %s is below limits.minTTL %d of zone %s "+
		"(S5.9; choose a ttl of at least %d, or leave it out)", ttl, d.place.fqdn, least, d.zone.FQDN(), least)
}

// ttlOf returns the TTL that a tenant has chosen, in seconds. Without a Record or its ttl, the zone's default is no
// choice, and the result exceeds all limits.
func ttlOf(c *law.Contribution) int64 {
	if c == nil || c.TTL == nil {
		return math.MaxInt64
	}
	return int64(*c.TTL)
}

// refuseCutOff refuses a tenant's DNAME or NS that cuts off names of others. In a cascade, a record that is there
// already passes, because the zone's own namespace may have taken its name later.
func (d *delta) refuseCutOff() *law.Refusal {
	p, added := d.place, d.added
	if added.Type != rdata.DNAME && (added.Type != rdata.NS || added.Owner.IsApex()) || d.keepsPlace() {
		return nil
	}
	// A rule "shop" passes names reserved below shop, but no claim there.
	if !d.claimant(rules.AdmittedPlain, nil).CutsOff(added.Owner, d.hasLiteralRule()) {
		return nil
	}
	refusal := law.NewForbidden(law.ReasonNameHeld, "%s at %s would cut off names at or below it that another namespace has in zone "+
		"%s (S4.15; choose a name of your own)", added.Type, p.fqdn, d.zone.FQDN())
	refusal.HeldAt, refusal.HeldBelow = added.Owner, added.Owner
	return refusal
}

// hasLiteralRule reports whether a rule for added has its name, without "*".
func (d *delta) hasLiteralRule() bool {
	return slices.ContainsFunc(d.findGrants(), func(g rules.Grant) bool { return g.Literal })
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

// baseNotDelegated refuses a tenant's record whose name a rule gives, but not its base name (S4.7). The message has the
// pattern that would help.
func baseNotDelegated(z *law.Zone, n name.Name, owner name.Rel, t rdata.Type, namespace string) *law.Refusal {
	base := rules.Base(owner)
	at, err := base.In(z.FQDN())
	if err != nil {
		at = z.FQDN()
	}
	hint := fmt.Sprintf("its owner can add a delegation with pattern %q", rules.PatternFor(base))
	switch underscore := slices.ContainsFunc(owner.Labels(), rules.IsUnderscore); {
	// _dmarc: the apex is own's, so only a rule with the label helps.
	case underscore && base.IsApex():
		hint = fmt.Sprintf("its owner can add a delegation with pattern %q", owner)
	// _acme-challenge.www: a rule for www, or for this name alone (S4.14).
	case underscore:
		hint += fmt.Sprintf(", or with %q", owner)
	// * of the zone itself answers for every free name.
	case base.IsApex():
		hint = "its owner can write it"
	}
	return law.NewForbidden(law.ReasonDelegationWithdrawn, "zone %s delegates %s at %s to namespace %q, but not its base name %s (S4.7; "+
		"%s)",
		z.FQDN(), t, n, namespace, at, hint)
}

// checkCoexistence refuses added because of data at, above or below its name (S5.6, S5.7). Otherwise it warns of data
// that resolvers do not find, and of values that are probably mistakes.
func (d *delta) checkCoexistence(plan *law.Plan) (refusal *law.Refusal) {
	owner, t := d.added.Owner, d.added.Type
	beside := d.typesBeside()
	if refusal := d.checkBeside(beside); refusal != nil {
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
	// NS hide data at and below their name, but servers load such a zone: a Warning is enough.
	case t == rdata.NS && !owner.IsApex():
		d.warnOfCut(beside, plan)
	}

	d.warnOfOcclusion(below, plan)
	d.warnOfValues(plan)
	d.warnOfTargets(plan)
	return nil
}
