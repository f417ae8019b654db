// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"fmt"
	"regexp"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/claims"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// locateZone returns the name of a zone, and the nearest zone above as parent, or nil. While the zone of zoneRef is
// absent, the place is pending.
func (d *zoneDecision) locateZone() (*zonePlace, *law.Refusal) {
	s := &zonePlace{view: d.ask.After.View}
	target, refusal := d.resolveName(s)
	if refusal != nil || s.pending {
		return s, refusal
	}
	up, ok := s.fqdn.Parent()
	if !ok {
		return s, nil
	}

	at, holding := d.FindEnclosing(s.view, up)
	if holding == nil {
		return s, nil
	}
	p := d.ZoneOf(holding)
	// zoneRef names the parent, and a zone between would be the parent instead.
	if target != nil && p.UID != target.UID {
		return nil, law.NewForbidden(law.ReasonNotDelegated, "%s lies in the longer zone %s, and zoneRef names %s (refer to the "+
			"longer zone)", s.fqdn,
			at, target.FQDN())
	}

	s.parent, s.parentHolding = p, holding
	s.owner, _ = s.fqdn.Rel(p.FQDN())
	return s, nil
}

// resolveName sets s's name and view, and returns the zone of zoneRef, or nil without. If the namespace may not see
// that zone, resolveName sets s.pending.
func (d *zoneDecision) resolveName(s *zonePlace) (*law.Zone, *law.Refusal) {
	spec := d.ask.After
	if spec.ZoneRef == nil {
		n, err := name.Parse(spec.DomainName)
		if err != nil {
			return nil, law.NewInvalid("spec.domainName", spec.DomainName, law.ReasonInvalid, "%v", err)
		}
		s.fqdn = n
		return nil, nil
	}

	z := law.Get[law.Zone](d.Reading, law.ZoneKey(spec.ZoneRef.Namespace, spec.ZoneRef.Name))
	if z == nil || z.Pending || !d.ZoneVisibleTo(z, spec.Namespace) {
		// An absent zone and a zone without a rule read alike (S1.8).
		s.pending = true
		return nil, nil
	}

	if spec.View != "" && spec.View != z.View {
		return nil, law.NewInvalid("spec.view", spec.View, law.ReasonInvalid, "%s", law.ViewOf(z))
	}
	s.view = z.View
	n, err := name.ParseIn(spec.DomainName, z.FQDN())
	if err != nil {
		return nil, law.NewInvalid("spec.domainName", spec.DomainName, law.ReasonNameTooLong, "%v", err)
	}

	if !z.FQDN().Encloses(n) || n == z.FQDN() {
		return nil, law.NewInvalid("spec.domainName", spec.DomainName, law.ReasonInvalid, "is not below %s, the zone that zoneRef "+
			"names (S1.1)",
			z.FQDN())
	}

	s.fqdn = n
	return z, nil
}

var notInRoles = regexp.MustCompile("[^a-z0-9.]")

// createRole returns the command that makes a Role with the right to establish a zone. Characters that are not allowed
// in the name of a Role become "-".
func createRole(namespace, resourceName string) string {
	role := notInRoles.ReplaceAllString(resourceName, "-")
	if resourceName == "." {
		role = "root"
	}
	return fmt.Sprintf("kubectl create role establish-%s -n %s --verb=create --resource=zones.kubi.zone/establish --resource-name=%s", role,
		namespace, resourceName)
}

// checkPlace refuses a new zone whose name another zone has (S1.5), or that the zone above does not delegate or has
// other data for. checkPlace counts the names with records taken over by the zone.
func (d *zoneDecision) checkPlace(plan *law.Plan, s *zonePlace) *law.Refusal {
	held := law.Get[law.Holding](d.Reading, law.HoldingKey(s.view, s.fqdn))
	if held != nil && held.UID != d.ask.After.UID {
		return &law.Refusal{Kind: law.Duplicate, Field: "spec.domainName", Value: s.fqdn.String(), Reason: law.ReasonNameHeld, Rule: "S1.5",
			Message: fmt.Sprintf("a zone%s with this name exists already (S1.5)", law.InView(s.view))}
	}

	// A zone that no other encloses needs the right zones/establish (S3.3).
	if s.parent == nil {
		return d.checkEstablish(s)
	}
	ks := []law.Key{law.OwnerKey(s.parent.UID, s.owner), law.OwnersBelowKey(s.parent.UID, s.owner), law.ZonesBelowKey(s.view, s.fqdn)}
	for up, ok := s.owner.Parent(); ok; up, ok = up.Parent() {
		ks = append(ks, law.OwnerKey(s.parent.UID, up))
	}
	d.RequireAll(ks)
	p, refusal := d.checkRules(s)
	if refusal != nil {
		return refusal
	}
	if refusal = d.checkForeignNames(s, p); refusal != nil {
		return refusal
	}

	// NS, CNAME at the name and DNAME above exclude a zone, in any namespace (S3.9).
	o := law.Get[law.Owner](d.Reading, law.OwnerKey(p.UID, s.owner))
	if refusal = d.checkOwner(s, p, o); refusal != nil {
		return refusal
	}
	if refusal = d.checkAbove(s, p); refusal != nil {
		return refusal
	}

	// Count the names with records for the lock and the Warning.
	if below := law.Get[law.OwnersBelow](d.Reading, law.OwnersBelowKey(p.UID, s.owner)); below != nil {
		s.takenNames = below.RecordNames
	}
	if o != nil && len(o.Values) > 0 {
		s.takenNames++
	}

	below := law.Get[law.ZonesBelow](d.Reading, law.ZonesBelowKey(s.view, s.fqdn))
	s.hasZonesBelow = below != nil && len(below.Zones) > 0
	if s.takenNames > 0 && !d.ask.Cascade {
		plan.WarnOf("S3.10", law.WarningTakesAway, "the zone takes over the records of %d names at or below %s as far as its "+
			"delegations allow them; the others are released", s.takenNames, s.fqdn)
	}

	if !d.ask.Cascade {
		s.warnOfElsewhere(plan, p, d.ask.After.Namespace)
		d.warnOfHiding(plan, s, p)
	}
	return nil
}

// explainEnding returns the refusal of a client's zone with the end of the data or zone at the name that lost their
// rule. A namespace without a rule for the name reads no end.
func (d *zoneDecision) explainEnding(s *zonePlace, refusal *law.Refusal) *law.Refusal {
	ns := d.ask.After.Namespace
	if d.ask.Cascade || s.parent == nil || !d.WithRulesFor(s.parent, ns).RuleSet().DelegatesZone(s.fqdn, ns) {
		return refusal
	}
	if held := law.Get[law.Holding](d.Reading, law.HoldingKey(s.view, s.fqdn)); held != nil {
		return claims.EndingOf(d.Reading, held, s.parent).Explain(refusal, s.parent, ns)
	}
	return parentClaimant(d.Reading, s.parent, s.parentHolding, ns).ExplainEnding(refusal)
}

// warnOfHiding warns of a name above the zone that a wildcard answered for until now. For example, the zone q.shop
// hides shop from "*". The wildcard's namespaces get their Event once the zone above lists the NS.
func (d *zoneDecision) warnOfHiding(plan *law.Plan, s *zonePlace, p *law.Zone) {
	c := parentClaimant(d.Reading, p, s.parentHolding, d.ask.After.Namespace)
	if a, ok := c.FindHiddenAbove(s.owner); ok {
		hidden := []name.Name{c.NameOf(a.Top)}
		plan.Warnings = append(plan.Warnings, records.HiddenWarning(fmt.Sprintf("zone %s hides", s.fqdn), hidden, 0, c.NameOf(a.Wildcard)))
	}
}

func (s *zonePlace) warnOfElsewhere(plan *law.Plan, p *law.Zone, namespace string) {
	list := slices.DeleteFunc(slices.Concat(p.RuleSet().Lists[:]...), func(r rules.Rule) bool {
		return namespace != p.Namespace && !r.CoversNamespace(namespace)
	})
	texts := rules.FindElsewhere(list, p.FQDN(), p.Namespace, func(n name.Name) bool { return n == s.fqdn })
	if len(texts) > 0 {
		plan.Warn("S2.1", "%s", rules.AdviseElsewhere(p.FQDN(), texts))
	}
}

// checkEstablish refuses a standalone zone if the user may not create zones/establish with the zone's name (S3.3).
func (d *zoneDecision) checkEstablish(s *zonePlace) *law.Refusal {
	if d.ask.MayEstablish {
		return nil
	}
	resource, namespace := s.fqdn.String(), d.ask.After.Namespace
	if resource != "." {
		resource = resource[:len(resource)-1]
	}
	if s.view != "" {
		resource = s.view + ":" + resource
	}
	return law.NewForbidden(law.ReasonNotDelegated, "no zone%s encloses %s, and a standalone zone needs the right to create "+
		"zones.kubi.zone/establish with resourceName %q in namespace %q (S3.3; ask an administrator for a delegating zone above it, "+
		"or for that right: %s, and a RoleBinding of it)",
		law.InView(s.view), s.fqdn, resource, namespace, createRole(namespace, resource))
}

// checkRules returns the zone above with its rules for the namespace, or refuses a zone without a rule.
func (d *zoneDecision) checkRules(s *zonePlace) (*law.Zone, *law.Refusal) {
	p, ns := s.parent, d.ask.After.Namespace
	if p.Terminating {
		return nil, law.NewForbidden(law.ReasonZoneTerminating, "zone %s is being deleted and delegates nothing new", p.FQDN())
	}
	p = d.WithRulesFor(p, ns)
	c := parentClaimant(d.Reading, p, s.parentHolding, ns)
	bar := c.FindBar(rules.Base(s.owner))
	switch delegates := p.RuleSet().DelegatesZone(s.fqdn, ns); {
	// A rule delegates the zone, but its "*" stops at the bar (S4.20).
	case delegates && !p.RuleSet().WithMinTail(bar.MinTail).DelegatesZone(s.fqdn, ns):
		refusal := bar.Refuse(c, rules.Base(s.owner), law.ReasonNotDelegated, fmt.Sprintf("a delegation with zones: [%q]", s.owner))
		return nil, p.NameContact(refusal, ns)
	case !delegates:
		refusal := law.NewForbidden(law.ReasonNotDelegated, "zone %s does not delegate the zone %s to namespace %q (S4.1; its "+
			"owner can add a delegation with zones: [%q])", p.FQDN(), s.fqdn, ns, s.owner)
		return nil, p.NameContact(refusal, ns)
	}
	return p, nil
}

func parentClaimant(r *law.Reading, p *law.Zone, h *law.Holding, namespace string) *claims.Claimant {
	return &claims.Claimant{Reading: r, Zone: p, Holding: h, Namespace: namespace, Admission: rules.AdmittedPlain,
		OwnerAt: func(n name.Rel) *law.Owner { return law.Get[law.Owner](r, law.OwnerKey(p.UID, n)) }}
}

// checkForeignNames refuses a tenant's zone that takes names of others (S4.15), lies below another's claim (S4.19), or
// at an underscore name hides or excludes data of others (S4.23, S4.24).
func (d *zoneDecision) checkForeignNames(s *zonePlace, p *law.Zone) *law.Refusal {
	ns := d.ask.After.Namespace
	if ns == p.Namespace {
		return nil
	}
	c := parentClaimant(d.Reading, p, s.parentHolding, ns)
	others := c.CutsOff(s.owner, p.RuleSet().NamesZone(s.fqdn, ns))
	if others {
		refusal := law.NewForbidden(law.ReasonNameHeld, "another namespace has names at or below %s in zone %s, which the new zone "+
			"would take over (S4.15; choose a name of your own)", s.fqdn, p.FQDN())
		refusal.HeldAt, refusal.HeldBelow = s.owner, s.owner
		return refusal
	}

	// team-a claims shop: team-b gets a zone www.shop only by a literal rule.
	if up, ok := c.FindClaimAbove(s.owner); ok && !p.RuleSet().NamesZone(s.fqdn, ns) {
		return law.NewForbidden(law.ReasonNameHeld, "%s lies below %s, which another namespace claims with all below it in zone "+
			"%s (S4.19; choose a "+
			"name of your own, or ask the zone's owner for a delegation with zones: [%q])", s.fqdn, c.NameOf(up), p.FQDN(), s.owner).By(up)
	}

	if refusal := s.refuseGuest(c, p.RuleSet().NamesZone(s.fqdn, ns)); refusal != nil {
		return refusal
	}

	// NS at the name itself are refused by checkOwner (S3.9).
	up, _ := s.owner.Parent()
	return c.RefuseGlue(up)
}

func (s *zonePlace) refuseGuest(c *claims.Claimant, literal bool) *law.Refusal {
	if rules.Base(s.owner) == s.owner {
		return nil
	}
	if !literal {
		if refusal := c.RefuseExcluding("a zone", s.owner, fmt.Sprintf("a delegation with zones: [%q]", s.owner)); refusal != nil {
			return refusal
		}
	}
	return c.RefuseHiding("a zone", s.owner)
}

func (d *zoneDecision) checkOwner(s *zonePlace, p *law.Zone, o *law.Owner) *law.Refusal {
	for _, t := range []rdata.Type{rdata.CNAME, rdata.NS} {
		if o.HasType(t) {
			return law.NewInvalid("spec.domainName", d.ask.After.DomainName, law.ReasonCNAMEConflict,
				"zone %s has %s at %s (S3.9; remove it first)",
				p.FQDN(), t, s.fqdn).By(s.owner)
		}
	}
	return nil
}

func (d *zoneDecision) checkAbove(s *zonePlace, p *law.Zone) *law.Refusal {
	for up, ok := s.owner.Parent(); ok; up, ok = up.Parent() {
		o := law.Get[law.Owner](d.Reading, law.OwnerKey(p.UID, up))
		if o.HasType(rdata.DNAME) {
			at, _ := up.In(p.FQDN())
			return law.NewInvalid("spec.domainName", d.ask.After.DomainName, law.ReasonCNAMEConflict, "%s lies below the DNAME at %s, "+
				"which replaces every name below it (S5.7)", s.fqdn, at).By(up)
		}
	}
	return nil
}

// refuseLocked refuses a new zone at, above or below a locked name: Records there are moving between zones, and the new
// zone's rules would decide about them. Exactly at the locked name, the namespace of the parent or of the former zone
// (last) may create a zone. The Records then move there (joinMove).
func (s *zonePlace) refuseLocked(namespace string, last *law.LastSerial) *law.Refusal {
	if s.parent == nil {
		return nil
	}
	locked := s.parentHolding.ListLocks(s.fqdn)
	// shop was removed, and its Records are on their way to example.org: team-a, which had shop, makes shop again.
	hadZone := last != nil && last.By == namespace
	if hadZone || namespace == s.parent.Namespace {
		locked = slices.DeleteFunc(locked, func(n name.Name) bool { return n == s.fqdn })
	}
	if len(locked) == 0 {
		return nil
	}
	return law.RefuseMoving(s.fqdn, s.parent.FQDN())
}
