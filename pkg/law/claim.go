// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"maps"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// A tenant's record claims its base name, and with it all below: wildcards, CAA, policies, challenges, glue and cookies
// pass between them. So the claims of two tenants never nest, but where the zone's owner says so by a literal or a
// shared rule (S4.7 to S4.15). No age decides: what comes second is refused, from whatever side it comes.

// counted returns the count of records admitted so.
func (c *Claim) counted(a Admission) *int {
	switch a {
	case AdmittedUnderscore:
		return &c.Underscore
	case AdmittedShared:
		return &c.Shared
	case AdmittedLiteral:
		return &c.Literal
	}
	return &c.Plain
}

// names reports whether the claim is more than that of underscore names of the zone's own namespace.
func (c *Claim) names() bool { return c.Plain+c.Literal+c.Shared > 0 }

// CountClaim adds n, 1 or -1, to the records of a namespace that have the owner as base name. own says that it is the
// zone's own.
func (o *Owner) CountClaim(namespace string, own bool, a Admission, n int) {
	if a == AdmittedUnderscore && !own {
		return
	}
	i, found := slices.BinarySearchFunc(o.Claims, namespace, func(c Claim, ns string) int { return strings.Compare(c.Namespace, ns) })
	if !found {
		o.Claims = slices.Insert(o.Claims, i, Claim{Namespace: namespace})
	}
	if *o.Claims[i].counted(a) += n; o.Claims[i] == (Claim{Namespace: namespace}) {
		o.Claims = slices.Delete(o.Claims, i, i+1)
	}
}

// claim is that of a namespace; nil: it has none.
func (o *Owner) claim(namespace string) *Claim {
	if o != nil {
		if i := slices.IndexFunc(o.Claims, func(c Claim) bool { return c.Namespace == namespace }); i >= 0 {
			return &o.Claims[i]
		}
	}
	return nil
}

// isOwn reports whether the zone's own namespace has a record of which the owner is the base name, but those at
// underscore names.
func (o *Owner) isOwn(z *Zone) bool {
	c := o.claim(z.Namespace)
	return c != nil && c.names()
}

// claimant is a tenant that asks for a name of a zone.
type claimant struct {
	*reading
	zone      *Zone
	holding   *Holding
	namespace string
	// admission is by which kind of rule it asks, and rule is that rule where it is shared.
	admission Admission
	rule      *Rule
	// ownerAt is what stands at a name, without what asks.
	ownerAt func(name.Rel) *Owner
}

// joins reports whether a claim is of the tenant that asks: of its namespace, or of one to which the same shared rule
// gives the name (S4.13).
func (c *claimant) joins(x Claim, shares func(*Rule) bool) bool {
	if x.Namespace == c.namespace {
		return true
	}
	return c.rule != nil && x.Plain+x.Literal == 0 && c.rule.coversNamespace(x.Namespace) && shares(c.rule)
}

// claimsAt reports whether another tenant claims a name, and returns the namespace's own claim; nil: it has none.
func (c *claimant) claimsAt(n name.Rel) (mine *Claim, others bool) {
	o := c.ownerAt(n)
	if o == nil {
		return nil, false
	}
	for i, x := range o.Claims {
		switch {
		case x.Namespace == c.zone.Namespace || !x.names():
		case x.Namespace == c.namespace:
			mine = &o.Claims[i]
		default:
			others = others || !c.joins(x, func(r *Rule) bool { return r.sharesName(n, c.zone.FQDN()) })
		}
	}
	return mine, others
}

// refuseClaim decides whether the tenant may claim a base name by a record at owner (S4.8 to S4.13).
func (c *claimant) refuseClaim(owner, base name.Rel) *Refusal {
	mine, _ := c.claimsAt(base)
	at := c.nameOf(base)
	switch {
	case mine == nil:
	case mine.Plain > 0, mine.Shared > 0 && c.admission == AdmittedShared, mine.Literal > 0 && c.admission == AdmittedLiteral:
		return nil // it claims the name already
	case mine.Literal > 0 && c.zone.RuleSet().namesFor(at, c.namespace): // and this record what is below it, too
		return c.refuseBelow(base, c.othersBelow)
	}
	if refusal := c.refuseGlue(owner); refusal != nil {
		return refusal
	}
	own := c.isOwnName(base)
	if slices.Contains(c.zone.MadeNames, base) {
		return c.forbid("%s is a name server of zone %s itself, and its data is the zone's own namespace's (S4.16; choose another name)", at,
			c.zone.FQDN())
	}
	if own {
		return c.forbid("%s belongs to the namespace of zone %s (S4.10; choose another name, or ask that namespace for a rule with shared: "+
			"true that names %q)", at, c.zone.FQDN(), patternFor(base))
	}
	if refusal := c.refuseOthers(base); refusal != nil {
		return refusal
	}
	if c.admission == AdmittedLiteral || base.IsApex() {
		return nil
	}
	if up, ok := c.findAbove(base); ok {
		return c.forbid("%s lies below %s, which another namespace claims with all below it in zone %s (S4.8; choose another name, or ask "+
			"the zone's owner for a rule with pattern %q)", at, c.nameOf(up), c.zone.FQDN(), patternFor(base))
	}
	if refusal := c.refuseBelow(base, c.othersBelow); refusal != nil {
		return refusal
	}
	return c.refuseBelow(base, c.ownBelow)
}

// refuseOthers refuses a name that another tenant claims.
func (c *claimant) refuseOthers(n name.Rel) *Refusal {
	if _, others := c.claimsAt(n); !others {
		return nil
	}
	return c.forbid("%s of zone %s is claimed by another namespace (S4.8; choose another name, or ask the zone's owner for a rule with "+
		"shared: true that gives it to both)", c.nameOf(n), c.zone.FQDN())
}

// refuseBelow refuses a name for what is strictly below it: a claimed name comes with all below it.
func (c *claimant) refuseBelow(n name.Rel, what func(name.Rel) string) *Refusal {
	below := what(n)
	if below == "" {
		return nil
	}
	return c.forbid("%s of zone %s has %s below it, and a claimed name comes with all below it (S4.8, S4.9; choose another name, or ask "+
		"the zone's owner for a rule with pattern %q)", c.nameOf(n), c.zone.FQDN(), below, patternFor(n))
}

func (c *claimant) forbid(format string, args ...any) *Refusal {
	return forbidden(ReasonNameHeld, format, args...)
}

func (c *claimant) nameOf(n name.Rel) name.Name {
	at, err := n.In(c.zone.FQDN())
	if err != nil {
		return c.zone.FQDN()
	}
	return at
}

// refuseGlue refuses a name at or below NS records, where the tenant is not the only namespace that claims the name of
// these: an address there answers for all that is delegated (S4.11).
func (c *claimant) refuseGlue(owner name.Rel) *Refusal {
	for up, ok := owner, true; ok && !up.IsApex(); up, ok = up.Parent() {
		o := c.ownerAt(up)
		if !o.hasType(rdata.NS) {
			continue
		}
		claims := slices.DeleteFunc(slices.Clone(o.Claims), func(x Claim) bool { return !x.names() })
		if len(claims) == 0 || slices.ContainsFunc(claims, func(x Claim) bool {
			return !c.joins(x, func(r *Rule) bool { return r.sharesName(up, c.zone.FQDN()) })
		}) {
			return c.forbid("%s lies at or below the NS records at %s, which are not of namespace %q alone (S4.11; their namespace can "+
				"write it)", c.nameOf(owner), c.nameOf(up), c.namespace)
		}
	}
	return nil
}

// isOwnName reports whether a name that the tenant does not claim is the zone's own namespace's, for records of the
// kind that asks (S4.10, S4.12, S4.13, S4.16).
func (c *claimant) isOwnName(n name.Rel) bool {
	z := c.zone
	server, records := slices.Contains(z.MadeNames, n), n.IsApex() || c.ownerAt(n).isOwn(z)
	switch c.admission {
	case AdmittedLiteral:
		return server || records
	case AdmittedShared:
		if !server && c.rule.namesShared(n, z.FQDN()) {
			return false
		}
	}
	return server || records || z.RuleSet().listsShared(n) || c.namesOwnHost(func(host name.Rel) bool { return host == n })
}

// namesOwnHost reports whether the apex names a host that no tenant claims (S4.10) and that is one of some names.
func (c *claimant) namesOwnHost(of func(name.Rel) bool) (own bool) {
	hosts := slices.DeleteFunc(c.holding.hostsNamedByApex(c.zone), func(n name.Rel) bool { return !of(n) })
	var ks []Key
	for _, host := range hosts {
		ks = append(ks, OwnerKey(c.zone.UID, host))
	}
	c.askAll(ks)
	for _, host := range hosts {
		o := c.ownerAt(host)
		own = own || o == nil || !slices.ContainsFunc(o.Claims, func(x Claim) bool { return x.Namespace != c.zone.Namespace })
	}
	return own
}

// findAbove finds the nearest name above that a tenant claims, where another one does.
func (c *claimant) findAbove(n name.Rel) (up name.Rel, others bool) {
	for up, ok := n.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
		if o := c.ownerAt(up); o != nil && slices.ContainsFunc(o.Claims, func(x Claim) bool { return x.Namespace != c.zone.Namespace }) {
			_, others := c.claimsAt(up)
			return up, others
		}
	}
	return up, false
}

// othersBelow says what another namespace has strictly below a name; "": nothing. Claims by literal rules are in
// no namespace's way above (S4.12).
func (c *claimant) othersBelow(n name.Rel) string {
	z, at := c.zone, c.nameOf(n)
	c.askAll([]Key{OwnersBelowKey(z.UID, n), ZonesBelowKey(z.View, at)})
	if below := get[OwnersBelow](c.reading, OwnersBelowKey(z.UID, n)); below != nil {
		if slices.ContainsFunc(below.Claims, func(x Claim) bool {
			return x.Namespace != z.Namespace && x.Plain+x.Shared > 0 &&
				!c.joins(x, func(r *Rule) bool { return r.sharesBelow(n, z.FQDN()) })
		}) {
			return "names of another namespace"
		}
	}
	if c.zonesBelow(at, func(b *ZoneBelow) bool { return b.FQDN != at }) {
		return "a zone of another namespace"
	}
	return ""
}

// ownBelow says whether the zone's own namespace has a name strictly below one; "": none.
func (c *claimant) ownBelow(n name.Rel) string {
	below := get[OwnersBelow](c.reading, OwnersBelowKey(c.zone.UID, n))
	own := below != nil && slices.ContainsFunc(below.Claims, func(x Claim) bool { return x.Namespace == c.zone.Namespace && x.names() })
	if own || c.ownNamesIn(func(host name.Rel) bool { return host != n && encloses(n, host) }) {
		return "names of the zone's own namespace"
	}
	return ""
}

// ownNamesIn reports whether one of some names is the zone's own namespace's without a record there: a server of the
// zone, a host that its apex names, or a name that a rule lists as shared.
func (c *claimant) ownNamesIn(of func(name.Rel) bool) bool {
	listed := slices.DeleteFunc(c.zone.RuleSet().listSharedNames(), func(n name.Rel) bool {
		return c.admission == AdmittedShared && c.rule.namesShared(n, c.zone.FQDN())
	})
	return slices.ContainsFunc(c.zone.MadeNames, of) || slices.ContainsFunc(listed, of) || c.namesOwnHost(of)
}

// zonesBelow reports whether a zone of another namespace stands at or below a name, that which is true for. Zones below
// a zone of the tenant are its own matter.
func (c *claimant) zonesBelow(at name.Name, which func(*ZoneBelow) bool) (others bool) {
	below := get[ZonesBelow](c.reading, ZonesBelowKey(c.zone.View, at))
	if below == nil {
		return false
	}
	var last name.Name
	for i := range below.Zones {
		b := &below.Zones[i]
		if b.UID == c.zone.UID || !last.IsZero() && last.Encloses(b.FQDN) {
			continue
		}
		last = b.FQDN
		others = others || b.Namespace != c.namespace && c.zone.FQDN().Encloses(b.FQDN) && which(b)
	}
	return others
}

// cutsOff reports whether an NS record below the apex, a DNAME or a zone of the tenant at owner would cut off what
// another namespace has at or below it: a record, but by an underscore rule, a zone or an own name (S4.15). An
// underscore name has the claims of its base name, of which they count where there is data.
func (c *claimant) cutsOff(owner name.Rel) bool {
	z, at := c.zone, c.nameOf(owner)
	c.askAll([]Key{OwnersBelowKey(z.UID, owner), ZonesBelowKey(z.View, at)})
	foreign := func(x Claim) bool { return x.Namespace != c.namespace }
	below := get[OwnersBelow](c.reading, OwnersBelowKey(z.UID, owner))
	has := c.ownerAt(owner)
	if below != nil && slices.ContainsFunc(below.Claims, foreign) {
		return true
	}
	if base := c.ownerAt(Base(owner)); base != nil && slices.ContainsFunc(base.Claims, foreign) &&
		(Base(owner) == owner || has != nil && len(has.Values) > 0 || below != nil && below.Names > 0) {
		return true
	}
	return c.zonesBelow(at, func(*ZoneBelow) bool { return true }) ||
		c.ownNamesIn(func(n name.Rel) bool { return encloses(owner, n) })
}

// hostsNamedByApex returns the hosts below the apex that NS records of the apex name, and those that its MX, SVCB and
// HTTPS records of the zone's own namespace name: they answer for the zone, get its mail, or serve at its name
// (S4.10). An MX of another namespace takes no name from a third one. Its NS, which a rule must name (S4.5), has the
// whole zone.
func (h *Holding) hostsNamedByApex(z *Zone) []name.Rel {
	var out []name.Rel
	for _, text := range append(slices.Sorted(maps.Keys(h.ApexHosts)), h.ApexNS...) {
		if n, err := name.ParseIn(text, z.FQDN()); err == nil {
			if rel, ok := n.Rel(z.FQDN()); ok && !rel.IsApex() && !slices.Contains(out, rel) {
				out = append(out, rel)
			}
		}
	}
	return out
}

// CountHosts adds n, 1 or -1, to the count of each host that a record of the zone's own
// namespace names at the apex by another type than NS (S4.10).
func (h *Holding) CountHosts(c *Contribution, n int) {
	if c.Type != rdata.MX && c.Type != rdata.SVCB && c.Type != rdata.HTTPS {
		return
	}
	hosts := map[string]int{}
	maps.Copy(hosts, h.ApexHosts)
	for _, v := range c.Values {
		if hosts[v.Host()] += n; hosts[v.Host()] <= 0 {
			delete(hosts, v.Host())
		}
	}
	h.ApexHosts = hosts
}
