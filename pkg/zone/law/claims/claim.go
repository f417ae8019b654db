// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// Claimant is a namespace whose write asks for a claim: the right to a name with all names below, against other
// tenants.
type Claimant struct {
	*law.Reading
	Zone      *law.Zone
	Holding   *law.Holding
	Namespace string
	Admission rules.Admission // the kind of rule that allows the write
	// Rule is this rule if it has shared: true, else nil. Its namespaces count as a single tenant.
	Rule *rules.Rule
	// Literal is true if the pattern of the rule has no "*", and so is the name itself.
	Literal bool
	// OwnerAt returns the data and claims at a name, without the record being written, or nil.
	OwnerAt func(name.Rel) *law.Owner
}

func (c *Claimant) isTenant(claim law.Claim) bool { return claim.Namespace != c.Zone.Namespace }

func (c *Claimant) mayShare(claim law.Claim, shares func(*rules.Rule) bool) bool {
	if claim.Namespace == c.Namespace {
		return true
	}
	return c.Rule != nil && claim.Plain+claim.Literal == 0 && c.Rule.CoversNamespace(claim.Namespace) && shares(c.Rule)
}

// claimsAt returns the Claimant's claim at n, or nil, and whether another tenant has a claim there that the Claimant
// does not share. Claims of own do not count.
func (c *Claimant) claimsAt(n name.Rel) (mine *law.Claim, others bool) {
	o := c.OwnerAt(n)
	if o == nil {
		return nil, false
	}
	for i, claim := range o.Claims {
		switch {
		case !c.isTenant(claim) || !claim.Holds():
		case claim.Namespace == c.Namespace:
			mine = &o.Claims[i]
		default:
			others = others || !c.mayShare(claim, func(r *rules.Rule) bool { return r.SharesName(n, c.Zone.FQDN()) })
		}
	}
	return mine, others
}

// RefuseClaim returns the refusal of a record at owner by which the tenant would claim base, or nil.
func (c *Claimant) RefuseClaim(owner, base name.Rel) *law.Refusal {
	mine, _ := c.claimsAt(base)
	at := c.NameOf(base)
	// 1. Look for a present claim at base.
	switch {
	case mine == nil:
	case mine.Plain > 0, mine.Shared > 0 && c.Admission == rules.AdmittedShared && !c.WidensClaim(base),
		mine.Literal > 0 && c.Admission == rules.AdmittedLiteral: // the present claim covers the record
		return nil
	case mine.Shared > 0 && c.Admission == rules.AdmittedShared,
		mine.Literal > 0 && c.Zone.RuleSet().NamesFor(at, c.Namespace): // the new record would claim all below, too
		return c.refuseBelow(base, c.describeOthersBelow)
	}

	// 2. Refuse glue of others, and own names (S4.9 to S4.11).
	if refusal := c.RefuseGlue(owner); refusal != nil {
		return refusal
	}
	if slices.Contains(c.Zone.NSHosts, base) {
		return c.forbid("%s is a name server of zone %s, so only the zone's own namespace may write there (S4.16; choose another name)", at,
			c.Zone.FQDN())
	}

	if c.isOwnForRequest(base) {
		needs := "a rule with pattern"
		// A literal rule passes own names without records (S4.12). At the apex and at own records, only a shared rule
		// admits a tenant (S4.13).
		if base.IsApex() || c.OwnerAt(base).HasOwnClaim(c.Zone) {
			needs = "a rule with shared: true that names"
		}
		return c.forbid("%s belongs to the namespace of zone %s (S4.10; choose another name, or ask that namespace for %s %q)", at,
			c.Zone.FQDN(), needs, rules.PatternFor(base)).By(base)
	}

	// 3. Refuse claims of other tenants at, above and below base (S4.8).
	if refusal := c.RefuseOthers(base); refusal != nil {
		return refusal
	}
	if c.Literal || c.Admission == rules.AdmittedLiteral || base.IsApex() { // claims may nest
		return nil
	}

	// team-a claims shop: by "*", team-b gets no name below.
	if up, ok := c.FindClaimAbove(base); ok {
		return c.forbid("%s lies below %s, which another namespace claims with all below it in zone %s (S4.8; choose another name, or ask "+
			"the zone's owner for a rule with pattern %q)", at, c.NameOf(up), c.Zone.FQDN(), rules.PatternFor(base)).By(up)
	}

	// team-b has www.shop: by "*", team-a cannot claim shop with all below.
	if refusal := c.refuseBelow(base, c.describeOthersBelow); refusal != nil {
		return refusal
	}
	return c.refuseBelow(base, c.describeOwnBelow)
}

// WidensClaim reports whether the request may extend a shared claim to all names below base.
func (c *Claimant) WidensClaim(base name.Rel) bool {
	return !c.Literal && c.Zone.RuleSet().HasSharedLiteralFor(base, c.Namespace)
}

// RefuseOwnData refuses a tenant's record at or below an underscore name, such as _dmarc.news, where the zone's own
// namespace has data.
func (c *Claimant) RefuseOwnData(owner name.Rel) *law.Refusal {
	for up, ok, base := owner, true, rules.Base(owner); ok && up != base; up, ok = up.Parent() {
		// Own data at *._domainkey.news count at _domainkey.news.
		if o := c.OwnerAt(up); o == nil || o.Own == 0 {
			continue
		}
		needs := fmt.Sprintf("ask it for a rule that names each label with _, as pattern %q", rules.PatternFor(owner))
		if up != owner {
			return c.forbid("%s lies below %s, where the namespace of zone %s has data (S4.14; %s)", c.NameOf(owner), c.NameOf(up),
				c.Zone.FQDN(), needs)
		}
		return c.forbid("the namespace of zone %s has data at %s (S4.14; %s)", c.Zone.FQDN(), c.NameOf(owner), needs)
	}
	return nil
}

func (c *Claimant) RefuseOthers(n name.Rel) *law.Refusal {
	if _, others := c.claimsAt(n); !others {
		return nil
	}
	return c.forbid("%s of zone %s is claimed by another namespace (S4.8; choose another name, or ask the zone's owner for a rule with "+
		"shared: true that gives it to both)", c.NameOf(n), c.Zone.FQDN()).By(n)
}

func (c *Claimant) refuseBelow(n name.Rel, describe func(name.Rel) string) *law.Refusal {
	below := describe(n)
	if below == "" {
		return nil
	}
	refusal := c.forbid("%s of zone %s has %s below it, so you cannot claim it (S4.8, S4.9; choose another name, or ask "+
		"the zone's owner for a rule with pattern %q)", c.NameOf(n), c.Zone.FQDN(), below, rules.PatternFor(n))
	refusal.HeldBelow = n
	return refusal
}

func (c *Claimant) forbid(format string, args ...any) *law.Refusal {
	return law.NewForbidden(law.ReasonNameHeld, format, args...)
}

func (c *Claimant) NameOf(n name.Rel) name.Name {
	at, err := n.In(c.Zone.FQDN())
	if err != nil {
		return c.Zone.FQDN()
	}
	return at
}

// RefuseGlue refuses a name at or below NS records of others that no rule shares with the tenant, because an address
// there is glue, and would answer for all names below.
func (c *Claimant) RefuseGlue(owner name.Rel) *law.Refusal {
	for up, ok := owner, true; ok && !up.IsApex(); up, ok = up.Parent() {
		o := c.OwnerAt(up)
		if !o.HasType(rdata.NS) {
			continue
		}

		claims := slices.DeleteFunc(slices.Clone(o.Claims), func(claim law.Claim) bool { return !claim.Holds() })
		sharesName := func(r *rules.Rule) bool { return r.SharesName(up, c.Zone.FQDN()) }
		isOthers := func(claim law.Claim) bool { return !c.mayShare(claim, sharesName) }
		// NS at an underscore name, such as _sip.voice, leave no claim there, and keep all tenants out.
		if len(claims) == 0 || slices.ContainsFunc(claims, isOthers) {
			return c.forbid("%s lies at or below the NS records at %s, which do not belong to namespace %q alone (S4.11; the namespace "+
				"of the NS records can write it)", c.NameOf(owner), c.NameOf(up), c.Namespace).By(up)
		}
	}
	return nil
}

// isOwnForRequest reports whether n is own for a record by this kind of rule. A literal rule passes own names without
// records, except the apex and name servers (S4.12). A shared rule that names n passes all except name servers (S4.13).
func (c *Claimant) isOwnForRequest(n name.Rel) bool {
	z := c.Zone
	server, records := slices.Contains(z.NSHosts, n), n.IsApex() || c.OwnerAt(n).HasOwnClaim(z)
	switch c.Admission {
	case rules.AdmittedLiteral:
		return server || records
	case rules.AdmittedShared:
		if !server && c.Rule.HasSharedLiteral(n, z.FQDN()) {
			return false
		}
	}
	return records || c.isOwn(n, c.Holding.HostsNamedByApex(z))
}

// hasOwnHost reports whether a host of apex records is own, because no tenant claims it (S4.10). Only hosts for which
// counts returns true are read.
func (c *Claimant) hasOwnHost(counts func(name.Rel) bool) (own bool) {
	hosts := slices.DeleteFunc(c.Holding.HostsNamedByApex(c.Zone), func(n name.Rel) bool { return !counts(n) })
	var ks []law.Key
	for _, host := range hosts {
		ks = append(ks, law.OwnerKey(c.Zone.UID, host))
	}
	c.RequireAll(ks)
	for _, host := range hosts {
		own = !c.OwnerAt(host).HasTenantClaim(c.Zone) || own
	}
	return own
}

// FindClaimAbove returns the nearest claimed name above n, and whether another tenant claims it. The search skips names
// whose claims the Claimant shares (shared: true) by a pattern with "*". Above such a name, claims of others by literal
// patterns do not keep the Claimant from n.
func (c *Claimant) FindClaimAbove(n name.Rel) (up name.Rel, others bool) {
	hasPassedShared := false
	for up, ok := n.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
		o := c.OwnerAt(up)
		if o == nil || !slices.ContainsFunc(o.Claims, c.isTenant) {
			continue
		}
		mine, others := c.claimsAt(up)
		// Above a name shared by "*", only claims by "*" keep the Claimant out (S4.8).
		if hasPassedShared {
			others = slices.ContainsFunc(o.Claims, func(claim law.Claim) bool { return c.isOthersByStar(up, claim) })
		}
		isUnshared := mine != nil && (mine.Plain+mine.Literal > 0 || c.Zone.RuleSet().NamesFor(c.NameOf(up), c.Namespace))
		isSharedLiteral := c.Rule != nil && c.Rule.HasSharedLiteral(up, c.Zone.FQDN())
		if others || isUnshared || isSharedLiteral {
			return up, others
		}
		hasPassedShared = true
	}
	return up, false
}

func (c *Claimant) isOthersByStar(n name.Rel, claim law.Claim) bool {
	if !c.isTenant(claim) || c.mayShare(claim, func(r *rules.Rule) bool { return r.SharesName(n, c.Zone.FQDN()) }) {
		return false
	}
	return claim.Plain > 0 || claim.Shared > 0 && !c.Zone.RuleSet().HasSharedLiteralFor(n, claim.Namespace)
}

// describeOthersBelow returns words for the claims or zones of other tenants strictly below n, or "" if there are none.
func (c *Claimant) describeOthersBelow(n name.Rel) string {
	z, at := c.Zone, c.NameOf(n)
	c.RequireAll([]law.Key{law.OwnersBelowKey(z.UID, n), law.ZonesBelowKey(z.View, at)})
	if below := law.Get[law.OwnersBelow](c.Reading, law.OwnersBelowKey(z.UID, n)); below != nil {
		if slices.ContainsFunc(below.Claims, func(claim law.Claim) bool {
			// Claims by a literal rule may be below another's claim (S4.12).
			return c.isTenant(claim) && claim.Plain+claim.Shared > 0 &&
				!c.mayShare(claim, func(r *rules.Rule) bool { return r.SharesBelow(n, z.FQDN()) })
		}) {
			return "names of another namespace"
		}
	}
	if c.hasOthersZone(at, func(b *law.ZoneBelow) bool { return b.FQDN != at }) {
		return "a zone of another namespace"
	}
	return ""
}

func (c *Claimant) describeOwnBelow(n name.Rel) string {
	below := law.Get[law.OwnersBelow](c.Reading, law.OwnersBelowKey(c.Zone.UID, n))
	own := below != nil && slices.ContainsFunc(below.Claims, func(claim law.Claim) bool {
		return claim.Namespace == c.Zone.Namespace && claim.Holds()
	})
	if own || c.hasOwnName(func(host name.Rel) bool { return host != n && rules.Encloses(n, host) }) {
		return "names of the zone's own namespace"
	}
	return ""
}

func (c *Claimant) hasOwnName(counts func(name.Rel) bool) bool {
	listed := slices.DeleteFunc(c.Zone.RuleSet().ListSharedLiterals(), func(n name.Rel) bool {
		return c.Admission == rules.AdmittedShared && c.Rule.HasSharedLiteral(n, c.Zone.FQDN())
	})
	return slices.ContainsFunc(c.Zone.NSHosts, counts) || slices.ContainsFunc(listed, counts) || c.hasOwnHost(counts) ||
		slices.ContainsFunc(services, func(n name.Rel) bool { return counts(n) && c.isService(n) })
}

// hasOthersZone reports whether a zone of another namespace, for which counts returns true, is at or below fqdn in this
// zone.
func (c *Claimant) hasOthersZone(fqdn name.Name, counts func(*law.ZoneBelow) bool) (others bool) {
	below := law.Get[law.ZonesBelow](c.Reading, law.ZonesBelowKey(c.Zone.View, fqdn))
	if below == nil {
		return false
	}
	var last name.Name
	for i := range below.Zones {
		b := &below.Zones[i]
		// The rules of the tenant's own child zone decide below. Names come in order, upper zones first.
		if b.UID == c.Zone.UID || !last.IsZero() && last.Encloses(b.FQDN) {
			continue
		}
		last = b.FQDN
		others = others || b.Namespace != c.Namespace && c.Zone.FQDN().Encloses(b.FQDN) && counts(b)
	}
	return others
}

// CutsOff reports whether a tenant's zone, DNAME or NS at owner would cut off data of others:
//
//   - a name reserved for others, unless the tenant's rule names owner (literal)
//   - a record, unless an underscore rule admitted it
//   - a zone, or an own name (kept for the zone's namespace)
func (c *Claimant) CutsOff(owner name.Rel, literal bool) bool {
	fqdn := c.NameOf(owner)
	belowKey := law.OwnersBelowKey(c.Zone.UID, owner)
	c.RequireAll([]law.Key{belowKey, law.ZonesBelowKey(c.Zone.View, fqdn)})
	atOwner, below := c.OwnerAt(owner), law.Get[law.OwnersBelow](c.Reading, belowKey)
	if !literal && c.isNamedBelow(owner, atOwner, below) {
		return true
	}

	isOthers := func(claim law.Claim) bool { return claim.Namespace != c.Namespace }
	if below != nil && slices.ContainsFunc(below.Claims, isOthers) {
		return true
	}

	// A claim is stored at the base of owner. At an underscore name, it counts only if there is data at or below owner.
	base := rules.Base(owner)
	atBase := c.OwnerAt(base)
	hasData := atOwner != nil && len(atOwner.Values) > 0 || below != nil && below.RecordNames > 0
	baseCounts := base == owner || hasData
	if baseCounts && atBase != nil && slices.ContainsFunc(atBase.Claims, isOthers) {
		return true
	}

	anyZone := func(*law.ZoneBelow) bool { return true }
	isCutOff := func(n name.Rel) bool { return rules.Encloses(owner, n) }
	return c.hasOthersZone(fqdn, anyZone) || c.hasOwnName(isCutOff)
}

func (c *Claimant) isNamedBelow(owner name.Rel, atOwner *law.Owner, below *law.OwnersBelow) bool {
	if atOwner != nil && len(atOwner.Named) > 0 && !atOwner.IsReservedFor(c.Namespace) || below.ReservesForOthers(c.Namespace) {
		return true
	}
	return slices.ContainsFunc(c.Zone.RuleSet().ListNamed(), func(named rules.Named) bool {
		return rules.Encloses(owner, named.Name) && !slices.Contains(named.Namespaces, c.Namespace)
	})
}
