// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"math"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/rules"
)

// Bar keeps tenants (namespaces other than the zone's own) out of a name that a rule reserves for other tenants, or out
// of an own name, kept for the zone's namespace. At and below the name, a tenant's pattern with "*" gives nothing
// unless the labels after its last "*" end in the name. For example, the pattern "*" does not reach x.pay if pay is
// reserved, but "*.pay" does.
type Bar struct {
	// Name is relative to the zone.
	Name name.Rel
	// MinTail is the least number of labels after the last "*" of a pattern that passes. 0 means no bar.
	MinTail int
	// ByOwnName is true for an own name, false for a reserved name.
	ByOwnName bool
	// Undecided is true in a new zone until all Delegations that may reserve the name are decided. Requests get 429.
	Undecided bool
}

func (c *Claimant) FindReservedBar(base name.Rel) Bar {
	if c.Namespace == c.Zone.Namespace {
		return Bar{}
	}
	return c.findReservedBar(base, c.findReserved(base))
}

func (c *Claimant) findReservedBar(base name.Rel, found []rules.ReservedAbove) Bar {
	for up, ok := base, true; ok && !up.IsApex(); up, ok = up.Parent() {
		if named, mine := c.isReserved(up, found); named && !mine {
			return Bar{Name: up, MinTail: up.NumLabels()}
		}
	}
	return Bar{}
}

func (c *Claimant) findReserved(base name.Rel) []rules.ReservedAbove {
	if c.Holding.Delegations > 0 {
		var ks []law.Key
		for up, ok := base, true; ok && !up.IsApex(); up, ok = up.Parent() {
			ks = append(ks, law.OwnerKey(c.Zone.UID, up))
		}
		c.RequireAll(ks)
	}
	return c.Zone.RuleSet().FindReserved(base, c.Namespace)
}

func (c *Claimant) isReserved(n name.Rel, found []rules.ReservedAbove) (named, mine bool) {
	if i := slices.IndexFunc(found, func(reserved rules.ReservedAbove) bool { return reserved.Labels == n.NumLabels() }); i >= 0 {
		named, mine = true, found[i].Mine
	}
	if c.Holding.Delegations == 0 {
		return named, mine
	}
	o := c.OwnerAt(n)
	return named || o != nil && len(o.Named) > 0, mine || o.IsReservedFor(c.Namespace)
}

func (c *Claimant) FindReservedName(base name.Rel) (at name.Rel, ok bool) {
	found := c.findReserved(base)
	for up, ok := base, true; ok && !up.IsApex(); up, ok = up.Parent() {
		if _, mine := c.isReserved(up, found); mine {
			return up, true
		}
	}
	return name.Rel{}, false
}

// FindBar returns the bar against a tenant's new record or zone at the name base. The bar is at the deepest reserved
// name of others, from base upwards, or at a deeper own name (kept for the zone's namespace) above base. For example,
// the bar pay stops the pattern "*" at x.pay, but not "*.pay".
func (c *Claimant) FindBar(base name.Rel) Bar {
	if c.Namespace == c.Zone.Namespace { // no tenant
		return Bar{}
	}
	if c.Holding.HasPendingDelegations() { // any name may be reserved
		return Bar{Name: base, MinTail: math.MaxInt, Undecided: true}
	}
	found := c.findReserved(base)
	bar := c.findReservedBar(base, found)
	if up, ok := c.findOwnAbove(base, found); ok && up.NumLabels() > bar.MinTail {
		return Bar{Name: up, MinTail: up.NumLabels(), ByOwnName: true}
	}
	return bar
}

func (c *Claimant) findOwnAbove(base name.Rel, found []rules.ReservedAbove) (at name.Rel, ok bool) {
	hosts := c.Holding.HostsNamedByApex(c.Zone)
	for up, ok := base, true; ok && !up.IsApex(); up, ok = up.Parent() {
		_, given := c.isReserved(up, found)
		if mine, _ := c.claimsAt(up); mine != nil || given {
			return name.Rel{}, false
		}
		if up != base && c.isOwn(up, hosts) {
			return up, true
		}
	}
	return name.Rel{}, false
}

func (c *Claimant) isOwn(n name.Rel, hosts []name.Rel) bool {
	z, o := c.Zone, c.OwnerAt(n)
	return slices.Contains(z.NSHosts, n) || o.HasOwnClaim(z) || z.RuleSet().HasSharedLiteral(n) || c.isService(n) ||
		slices.Contains(hosts, n) && !o.HasTenantClaim(z)
}

// services are names for the configuration of clients.
var services = []name.Rel{name.MustRel("autoconfig"), name.MustRel("autodiscover"), name.MustRel("isatap"),
	name.MustRel("mta-sts"), name.MustRel("openpgpkey"), name.MustRel("wpad")}

func (c *Claimant) isService(n name.Rel) bool {
	if !slices.Contains(services, n) {
		return false
	}
	_, given := c.isReserved(n, c.findReserved(n))
	return !given
}

// GivesTenants reports whether rules let a tenant take the free name n. Records of the zone's namespace that point to
// n, such as MX, would then lead clients to the tenant. If the zone has Delegations, their rules are not read, and
// every name without a bar counts as given.
func (c *Claimant) GivesTenants(n name.Rel) bool {
	base, set := rules.Base(n), c.Zone.RuleSet()
	isNamedForTenants := slices.ContainsFunc(set.ListNamed(), func(named rules.Named) bool {
		isForZone := slices.Equal(named.Namespaces, []string{c.Zone.Namespace})
		return rules.Encloses(named.Name, base) && !isForZone
	})
	if isNamedForTenants {
		return true
	}

	tenant := *c
	tenant.Namespace = "" // any
	if tenant.isOwnForRequest(base) {
		return false
	}
	bar := tenant.FindBar(base)
	mayBeDelegated := c.Holding.Delegations > 0 && bar.MinTail == 0
	return mayBeDelegated || set.WithMinTail(bar.MinTail).GivesTenants(c.NameOf(n))
}

// Refuse returns the refusal of a record or zone at base that does not pass the bar. The reason is used for reserved
// names (own names get NameHeld), and neededRule describes a rule that would pass.
func (b *Bar) Refuse(c *Claimant, base name.Rel, reason, neededRule string) *law.Refusal {
	if b.Undecided {
		return law.NewLater(reason, "Delegations of zone %s are coming into force, and may give the name to another namespace (S4.22; "+
			"try again in a moment)", c.Zone.FQDN())
	}
	if b.ByOwnName {
		return law.NewForbidden(law.ReasonNameHeld, "%s lies below %s, a name of the namespace of zone %s, and a pattern with * reaches "+
			"there only if it ends in that name (S4.9; choose another name, or ask that namespace for %s)", c.NameOf(base),
			c.NameOf(b.Name), c.Zone.FQDN(), neededRule)
	}
	return law.NewForbidden(reason, "%s of zone %s is reserved: a rule gives %s to another namespace by name, with all below it (S4.20; "+
		"choose another name, or ask the zone's owner for %s)", c.NameOf(base), c.Zone.FQDN(), c.NameOf(b.Name), neededRule)
}

const maxYielding = 16

// FindYielding returns the tenants whose claims give way to the Claimant, because no rule allows them any more: the
// claims from base up to the name top and, if below is true, those below base. If a rule allows any of these claims, or
// more than maxYielding tenants have them, the result is nil.
func (c *Claimant) FindYielding(base, top name.Rel, below bool) (tenants []string) {
	for up, ok := base, true; ok && top.Encloses(up) && !up.IsApex(); up, ok = up.Parent() {
		owner := c.OwnerAt(up)
		if owner == nil {
			continue
		}
		for _, claim := range owner.Claims {
			if !c.isOtherTenants(claim) {
				continue
			}
			if c.AllowsAt(up, claim.Namespace) {
				return nil
			}
			tenants = append(tenants, claim.Namespace)
		}
	}

	if below {
		for _, claim := range c.listClaimsBelow(base) {
			if !c.isOtherTenants(claim) || !claim.Holds() {
				continue
			}
			if c.mayAllowBelow(top, claim.Namespace) {
				return nil
			}
			tenants = append(tenants, claim.Namespace)
		}
	}

	slices.Sort(tenants)
	tenants = slices.Compact(tenants)
	if len(tenants) > maxYielding {
		return nil
	}
	return tenants
}

func (c *Claimant) isOtherTenants(claim law.Claim) bool {
	return claim.Namespace != c.Namespace && claim.Namespace != c.Zone.Namespace
}

func (c *Claimant) listClaimsBelow(base name.Rel) []law.Claim {
	below := law.Get[law.OwnersBelow](c.Reading, law.OwnersBelowKey(c.Zone.UID, base))
	if below == nil {
		return nil
	}
	return below.Claims
}

func (c *Claimant) AllowsAt(base name.Rel, namespace string) bool {
	return c.reachingFor(namespace, base).AllowsName(c.NameOf(base), namespace)
}

func (c *Claimant) mayAllowBelow(base name.Rel, namespace string) bool {
	return c.reachingFor(namespace, base).MayAllowBelow(base, namespace)
}

func (c *Claimant) reachingFor(namespace string, base name.Rel) *rules.Set {
	other := *c
	other.Namespace, other.Zone = namespace, c.WithRulesFor(c.Zone.WithoutDelegated(), namespace)
	bar := other.FindReservedBar(base)
	return other.Zone.RuleSet().WithMinTail(bar.MinTail)
}
