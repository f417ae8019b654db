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

// mayShare reports whether the Claimant may write beside the claim: an own claim, or a claim of a namespace of the same
// rule with shared: true, if shares returns true for the rule. A claim by other kinds of rules is not shared.
func (c *Claimant) mayShare(claim law.Claim, shares func(*rules.Rule) bool) bool {
	if claim.Namespace == c.Namespace {
		return true
	}
	return c.Rule != nil && claim.Plain+claim.Literal == 0 && c.Rule.CoversNamespace(claim.Namespace) && shares(c.Rule)
}

// isOthers reports whether the claim at n belongs to another tenant, and no rule shares n with the Claimant. Claims of
// own do not count.
func (c *Claimant) isOthers(n name.Rel, claim law.Claim) bool {
	return c.isTenant(claim) && claim.Holds() && !c.mayShare(claim, func(r *rules.Rule) bool { return r.SharesName(n, c.Zone.FQDN()) })
}

func (c *Claimant) isOthersAt(n name.Rel) bool {
	o := c.OwnerAt(n)
	return o != nil && slices.ContainsFunc(o.Claims, func(claim law.Claim) bool { return c.isOthers(n, claim) })
}

// coverage is how far a tenant's present claim at a base covers a new record.
type coverage int

const (
	coversNothing coverage = iota
	coversBase             // but the new record would claim all names below, too
	coversAll
)

// coverageAt returns how far the tenant's present claim at base covers a record by this kind of rule.
func (c *Claimant) coverageAt(base name.Rel) coverage {
	mine := c.OwnerAt(base).ClaimOf(c.Namespace)
	switch {
	case mine == nil:
		return coversNothing
	// team-a has an A at shop by "*": its TXT at shop needs no further claim.
	case mine.Plain > 0:
		return coversAll
	// A rule with shared: true gives www to team-a and team-b: a further record by this rule claims no more.
	case mine.Shared > 0 && c.Admission == rules.AdmittedShared:
		if c.WidensClaim(base) { // the record is by the pattern "*", and the present claim by the pattern "www"
			return coversBase
		}
		return coversAll
	// team-a has shop by the pattern "shop", and writes another record by the same pattern.
	case mine.Literal > 0 && c.Admission == rules.AdmittedLiteral:
		return coversAll
	// team-a has shop by the pattern "shop", and writes a record by "*". Records left from a deleted rule do not cover
	// the name.
	case mine.Literal > 0 && c.Zone.RuleSet().NamesFor(c.NameOf(base), c.Namespace):
		return coversBase
	}
	return coversNothing
}

// RefuseClaim returns the refusal of a record at owner by which the tenant would claim base, or nil.
func (c *Claimant) RefuseClaim(owner, base name.Rel) *law.Refusal {
	// 1. Look for a present claim at base.
	switch c.coverageAt(base) {
	case coversAll:
		return nil
	case coversBase:
		return c.refuseBelow(base, c.describeOthersBelow)
	}

	// 2. Refuse glue of others, and own names (S4.9 to S4.11).
	if refusal := c.RefuseGlue(owner); refusal != nil {
		return refusal
	}
	if refusal := c.refuseOwn(base); refusal != nil {
		return refusal
	}

	// 3. Refuse claims of other tenants at, above and below base (S4.8).
	if refusal := c.RefuseOthers(base); refusal != nil {
		return refusal
	}
	// A rule with the pattern "www.shop" gives www.shop below team-b's shop: claims by literal patterns may nest.
	if c.Literal || c.Admission == rules.AdmittedLiteral || base.IsApex() {
		return nil
	}

	// team-a claims shop: by "*", team-b gets no name below.
	if up, ok := c.FindClaimAbove(base); ok {
		return c.forbid("%s lies below %s, which another namespace claims with all below it in zone %s (S4.8; choose another name, or ask "+
			"the zone's owner for a rule with pattern %q)", c.NameOf(base), c.NameOf(up), c.Zone.FQDN(), rules.PatternFor(base)).By(up)
	}

	// team-b has www.shop: by "*", team-a cannot claim shop with all below.
	if refusal := c.refuseBelow(base, c.describeOthersBelow); refusal != nil {
		return refusal
	}
	return c.refuseBelow(base, c.describeOwnBelow)
}

// refuseOwn refuses a tenant's claim of an own name.
func (c *Claimant) refuseOwn(base name.Rel) *law.Refusal {
	at := c.NameOf(base)
	// ns1, a host of spec.nameServers: an address there would answer for the zone.
	if slices.Contains(c.Zone.NSHosts, base) {
		return c.forbid("%s is a name server of zone %s, so only the zone's own namespace may write there (S4.16; choose another name)", at,
			c.Zone.FQDN())
	}
	if !c.isOwnForRequest(base) {
		return nil
	}
	needs := "a rule with pattern"
	// A literal rule passes own names without records (S4.12). At the apex and at own records, only a shared rule
	// admits a tenant (S4.13).
	if base.IsApex() || c.OwnerAt(base).HasOwnClaim(c.Zone) {
		needs = "a rule with shared: true that names"
	}
	return c.forbid("%s belongs to the namespace of zone %s (S4.10; choose another name, or ask that namespace for %s %q)", at,
		c.Zone.FQDN(), needs, rules.PatternFor(base)).By(base)
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
	if !c.isOthersAt(n) {
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
// there is glue, and would answer for all names below. For example, team-b has NS at lab: team-a gets no ns1.lab.
func (c *Claimant) RefuseGlue(owner name.Rel) *law.Refusal {
	for up := range rules.AtOrAbove(owner) {
		o := c.OwnerAt(up)
		if !o.HasType(rdata.NS) {
			continue
		}

		sharesName := func(r *rules.Rule) bool { return r.SharesName(up, c.Zone.FQDN()) }
		isOthers := func(claim law.Claim) bool { return claim.Holds() && !c.mayShare(claim, sharesName) }
		// NS at an underscore name, such as _sip.voice, leave no claim there, and keep all tenants out.
		if !o.IsClaimed() || slices.ContainsFunc(o.Claims, isOthers) {
			return c.forbid("%s lies at or below the NS records at %s, which do not belong to namespace %q alone (S4.11; the namespace "+
				"of the NS records can write it)", c.NameOf(owner), c.NameOf(up), c.Namespace).By(up)
		}
	}
	return nil
}

// isOwnForRequest reports whether n is own for a record by this kind of rule.
func (c *Claimant) isOwnForRequest(n name.Rel) bool {
	// No rule passes ns1, a host of spec.nameServers.
	if slices.Contains(c.Zone.NSHosts, n) {
		return true
	}
	// A rule with shared: true and the pattern "@" passes the apex, and with "www" own's records at www (S4.13).
	if c.sharesLiterally(n) {
		return false
	}
	hasRecords := n.IsApex() || c.OwnerAt(n).HasOwnClaim(c.Zone)
	// The pattern "mail" passes mail, to which own's MX leads, while own has no records there (S4.12).
	return hasRecords || c.Admission != rules.AdmittedLiteral && c.isOwn(n, c.Holding.HostsNamedByApex(c.Zone))
}

// sharesLiterally reports whether the rule has shared: true and names n by a pattern without "*".
func (c *Claimant) sharesLiterally(n name.Rel) bool {
	return c.Rule != nil && c.Rule.HasSharedLiteral(n, c.Zone.FQDN())
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
	keepsOut := c.isOthers
	parent, _ := n.Parent()
	for up := range rules.AtOrAbove(parent) {
		o := c.OwnerAt(up)
		if !o.HasTenantClaim(c.Zone) {
			continue
		}
		// team-b claims shop: team-a gets no www.shop.
		if slices.ContainsFunc(o.Claims, func(claim law.Claim) bool { return keepsOut(up, claim) }) {
			return up, true
		}
		// team-a claims shop itself: www.shop is free for team-a, whatever namespace claims a name above shop.
		if c.holdsItself(up, o.ClaimOf(c.Namespace)) {
			return up, false
		}
		// team-a and team-b share x.pool by "*.pool": above, only claims by "*" keep team-a out (S4.8).
		keepsOut = c.isOthersByStar
	}
	return up, false
}

// holdsItself reports whether the Claimant has the name otherwise than by sharing a pattern with "*".
func (c *Claimant) holdsItself(n name.Rel, mine *law.Claim) bool {
	isUnshared := mine != nil && (mine.Plain+mine.Literal > 0 || c.Zone.RuleSet().NamesFor(c.NameOf(n), c.Namespace))
	return isUnshared || c.sharesLiterally(n)
}

func (c *Claimant) isOthersByStar(n name.Rel, claim law.Claim) bool {
	byStar := claim.Plain > 0 || claim.Shared > 0 && !c.Zone.RuleSet().HasSharedLiteralFor(n, claim.Namespace)
	return byStar && c.isOthers(n, claim)
}

// below returns the sum of the names strictly below n. Without such names, it is empty.
func (c *Claimant) below(n name.Rel) *law.OwnersBelow {
	if below := law.Get[law.OwnersBelow](c.Reading, law.OwnersBelowKey(c.Zone.UID, n)); below != nil {
		return below
	}
	return &law.OwnersBelow{}
}

// describeOthersBelow returns words for the claims or zones of other tenants strictly below n, or "" if there are none.
func (c *Claimant) describeOthersBelow(n name.Rel) string {
	z, at := c.Zone, c.NameOf(n)
	c.RequireAll([]law.Key{law.OwnersBelowKey(z.UID, n), law.ZonesBelowKey(z.View, at)})
	if slices.ContainsFunc(c.below(n).Claims, func(claim law.Claim) bool {
		// Claims by a literal rule may be below another's claim (S4.12).
		return c.isTenant(claim) && claim.Plain+claim.Shared > 0 &&
			!c.mayShare(claim, func(r *rules.Rule) bool { return r.SharesBelow(n, z.FQDN()) })
	}) {
		return "names of another namespace"
	}
	if c.hasOthersZone(at, func(b *law.ZoneBelow) bool { return b.FQDN != at }) {
		return "a zone of another namespace"
	}
	return ""
}

func (c *Claimant) describeOwnBelow(n name.Rel) string {
	own := slices.ContainsFunc(c.below(n).Claims, func(claim law.Claim) bool {
		return claim.Namespace == c.Zone.Namespace && claim.Holds()
	})
	if own || c.hasOwnName(func(host name.Rel) bool { return host != n && n.Encloses(host) }) {
		return "names of the zone's own namespace"
	}
	return ""
}

func (c *Claimant) hasOwnName(counts func(name.Rel) bool) bool {
	listed := slices.DeleteFunc(c.Zone.RuleSet().ListSharedLiterals(), c.sharesLiterally)
	return slices.ContainsFunc(c.Zone.NSHosts, counts) || slices.ContainsFunc(listed, counts) || c.hasOwnHost(counts) ||
		slices.ContainsFunc(services, func(n name.Rel) bool { return counts(n) && c.isService(n) })
}

// hasOthersZone reports whether a zone of another namespace, for which counts returns true, is at or below fqdn in this
// zone.
func (c *Claimant) hasOthersZone(fqdn name.Name, counts func(*law.ZoneBelow) bool) bool {
	below := law.Get[law.ZonesBelow](c.Reading, law.ZonesBelowKey(c.Zone.View, fqdn))
	if below == nil {
		return false
	}
	var last name.Name
	return slices.ContainsFunc(below.Zones, func(b law.ZoneBelow) bool {
		// Below team-a's zone lab, the rules of lab decide, not this zone's. Names come in order, upper zones first.
		if b.UID == c.Zone.UID || last.Encloses(b.FQDN) {
			return false
		}
		last = b.FQDN
		return b.Namespace != c.Namespace && counts(&b)
	})
}

// CutsOff reports whether a tenant's zone, DNAME or NS at owner would cut off data of others:
//
//   - a name reserved for others, unless the tenant's rule names owner (literal)
//   - a record, unless an underscore rule admitted it
//   - a zone, or an own name (kept for the zone's namespace)
func (c *Claimant) CutsOff(owner name.Rel, literal bool) bool {
	fqdn := c.NameOf(owner)
	c.RequireAll([]law.Key{law.OwnersBelowKey(c.Zone.UID, owner), law.ZonesBelowKey(c.Zone.View, fqdn)})
	// team-b's rule names www.lab: team-a gets no zone lab by "*", but by the pattern "lab".
	atOwner, below := c.OwnerAt(owner), c.below(owner)
	if !literal && c.isNamedBelow(owner, atOwner, below) {
		return true
	}

	// team-b has an A at www.lab.
	isOthers := func(claim law.Claim) bool { return claim.Namespace != c.Namespace }
	if slices.ContainsFunc(below.Claims, isOthers) {
		return true
	}

	// team-b has an A at lab. The claim is stored at the base of owner: for a zone _tcp.lab, the base lab is another
	// name, and its claim counts only if there is data at or below _tcp.lab.
	hasData := len(atOwner.Types()) > 0 || below.RecordNames > 0
	if hasData && c.OwnerAt(rules.Base(owner)).IsClaimedBeside(c.Namespace) {
		return true
	}

	// team-b has a zone x.lab, or spec.nameServers has ns1.lab.
	anyZone := func(*law.ZoneBelow) bool { return true }
	return c.hasOthersZone(fqdn, anyZone) || c.hasOwnName(owner.Encloses)
}

func (c *Claimant) isNamedBelow(owner name.Rel, atOwner *law.Owner, below *law.OwnersBelow) bool {
	if atOwner != nil && len(atOwner.Named) > 0 && !atOwner.IsReservedFor(c.Namespace) || below.ReservesForOthers(c.Namespace) {
		return true
	}
	return slices.ContainsFunc(c.Zone.RuleSet().ListNamed(), func(named rules.Named) bool {
		return owner.Encloses(named.Name) && !slices.Contains(named.Namespaces, c.Namespace)
	})
}
