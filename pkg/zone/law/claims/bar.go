// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
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

// findReservedBar returns the bar of the nearest reserved name at or above base. For example, where pay is another
// namespace's, a tenant with the rules "x.pay" and "*" writes y.x.pay, too.
func (c *Claimant) findReservedBar(base name.Rel, found []rules.ReservedAbove) Bar {
	for up := range rules.AtOrAbove(base) {
		switch named, mine := c.isReserved(up, found); {
		// team-a's rule "x.pay" gives x.pay: at y.x.pay, team-b's pay above no longer counts.
		case mine:
			return Bar{}
		// team-b's rule names pay: team-a's "*" gives no x.pay.
		case named:
			return Bar{Name: up, MinTail: up.NumLabels()}
		}
	}
	return Bar{}
}

func (c *Claimant) findReserved(base name.Rel) []rules.ReservedAbove {
	if c.Holding.Delegations > 0 {
		var ks []law.Key
		for up := range rules.AtOrAbove(base) {
			ks = append(ks, law.OwnerKey(c.Zone.UID, up))
		}
		c.RequireAll(ks)
	}
	return c.Zone.RuleSet().FindReserved(base, c.Namespace)
}

// isReserved reports whether a literal rule of the Zone or of a Delegation reserves n (named), also for the Claimant
// (mine).
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

// FindBar returns the bar against a tenant's new record or zone at the name base. The bar is at the nearest reserved
// name, from base upwards, if that is reserved for others, or at a nearer own name (kept for the zone's namespace)
// above base. For example, the bar pay stops the pattern "*" at x.pay, but not "*.pay".
func (c *Claimant) FindBar(base name.Rel) Bar {
	if c.Namespace == c.Zone.Namespace { // no tenant
		return Bar{}
	}
	// The new zone shop takes over Delegations that waited for a zone shop: any name may be reserved.
	if c.Holding.HasPendingDelegations() {
		return Bar{Name: base, MinTail: math.MaxInt, Undecided: true}
	}
	found := c.findReserved(base)
	bar := c.findReservedBar(base, found)
	// Of a reserved and an own name above base, the nearer decides. At a.www.pay, own's www.pay is nearer than pay.
	if up, ok := c.findOwnAbove(base, found); ok && up.NumLabels() > bar.MinTail {
		return Bar{Name: up, MinTail: up.NumLabels(), ByOwnName: true}
	}
	return bar
}

// findOwnAbove returns the nearest own name above base, but not base itself. It is false if a claim of the Claimant, or
// a name reserved for it, is nearer.
func (c *Claimant) findOwnAbove(base name.Rel, found []rules.ReservedAbove) (at name.Rel, ok bool) {
	hosts := c.Holding.HostsNamedByApex(c.Zone)
	for up := range rules.AtOrAbove(base) {
		_, given := c.isReserved(up, found)
		// Below own's sso, a tenant with an earlier claim at x.sso writes www.x.sso (S4.9).
		if given || c.OwnerAt(up).ClaimOf(c.Namespace) != nil {
			return name.Rel{}, false
		}
		// Own has an A at sso: a tenant's "*" gives no www.sso.
		if up != base && c.isOwn(up, hosts) {
			return up, true
		}
	}
	return name.Rel{}, false
}

// isOwn reports whether n is kept for the zone's namespace (S4.10): a name server, a name with own records, a literal
// name of a shared rule, a service, or a host named by records at the apex, if no tenant claims the host.
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
	// A rule may name www, or a name above, for tenants.
	isNamedForTenants := slices.ContainsFunc(set.ListNamed(), func(named rules.Named) bool {
		isForZone := slices.Equal(named.Namespaces, []string{c.Zone.Namespace})
		return named.Name.Encloses(base) && !isForZone
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
			c.NameOf(b.Name), c.Zone.FQDN(), neededRule).By(b.Name)
	}
	return law.NewForbidden(reason, "%s of zone %s is reserved: a rule gives %s to another namespace by name, with all below it (S4.20; "+
		"choose another name, or ask the zone's owner for %s)", c.NameOf(base), c.Zone.FQDN(), c.NameOf(b.Name), neededRule)
}

func (c *Claimant) AllowsAt(base name.Rel, namespace string) bool {
	return c.reachingFor(namespace, base).AllowsName(c.NameOf(base), namespace)
}

func (c *Claimant) reachingFor(namespace string, base name.Rel) *rules.Set {
	other := *c
	other.Namespace, other.Zone = namespace, c.WithRulesFor(c.Zone.WithoutDelegated(), namespace)
	bar := other.FindReservedBar(base)
	return other.Zone.RuleSet().WithMinTail(bar.MinTail)
}

// Ending is the end of data in the way of a write that lost their rule. Last is the last of their periods to end.
type Ending struct {
	Namespaces []string
	Last       *law.Withdrawal
}

func (e *Ending) add(w *law.Withdrawal, namespace string) {
	if !slices.Contains(e.Namespaces, namespace) {
		e.Namespaces = append(e.Namespaces, namespace)
	}
	if e.Last == nil || !w.IsOver() && (e.Last.IsOver() || w.EndsAt() > e.Last.EndsAt()) {
		e.Last = w
	}
}

// Explain returns the refusal of a namespace's write in zone z with the end of the data in the way, and the annotation
// of z to end them now. Only z's own namespace reads whose data they are (S1.8). If the periods are over, the data are
// leaving, and the result is Later.
func (e *Ending) Explain(refusal *law.Refusal, z *law.Zone, namespace string) *law.Refusal {
	switch {
	// No rule was withdrawn: team-b's A at www is there to stay.
	case e.Last == nil:
		return refusal
	// A cascade is about to release the data.
	case e.Last.IsOver():
		return law.NewLater(refusal.Reason, "%s; no rule allows the data there any more, and they are leaving (S2.13; try again in "+
			"a moment)", refusal.Message)
	}
	out, annotation := *refusal, fmt.Sprintf("unless its owner sets the annotation kubi.zone/release-now on zone %s", z.FQDN())
	if namespace == z.Namespace {
		annotation = fmt.Sprintf("unless you set the annotation kubi.zone/release-now: %s on the Zone or Delegation",
			strings.Join(e.Namespaces, ","))
	}
	out.Message += fmt.Sprintf("; no rule allows the data there any more: they stay until about %s, %s (S2.13)",
		time.Unix(e.Last.EndsAt(), 0).UTC().Format(time.RFC3339), annotation)
	return &out
}

// EndingOf returns the end of a child zone without a rule of the zone above, parent.
func EndingOf(r *law.Reading, child *law.Holding, parent *law.Zone) *Ending {
	e := &Ending{}
	if child.Withdrawn == parent.UID {
		if w := law.Get[law.Withdrawal](r, law.WithdrawalKey(parent.UID, child.Namespace)); w != nil {
			e.add(w, child.Namespace)
		}
	}
	return e
}

// maxEnding bounds the claims examined at a name, and below it.
const maxEnding = 16

// ExplainEnding returns the refusal with the end of the data in the way, if all of these lost their rule: claims, or
// the values of a CNAMEConflict, also those of guests. Refusals for other reasons stay the same. For example, a CNAME
// at www is refused because of an A there, and no claim above www is in its way.
func (c *Claimant) ExplainEnding(refusal *law.Refusal) *law.Refusal {
	at, below := refusal.HeldAt, refusal.HeldBelow
	var ending Ending
	isEnding := refusal.Kind != law.Later && !at.IsApex()
	if isEnding && !at.IsZero() {
		isEnding = c.addEnding(&ending, c.listHolders(refusal.Reason, at), func(namespace string) bool {
			return c.allowsDataAt(at, namespace)
		})
	}

	// Below shop, team-b's www.shop is in the way of a claim at shop.
	if isEnding && !below.IsZero() {
		isEnding = c.addEnding(&ending, c.listOthers(c.below(below).Claims), func(namespace string) bool {
			return c.reachingFor(namespace, below).MayAllowBelow(below, namespace)
		})
	}
	if !isEnding {
		return refusal
	}
	return ending.Explain(refusal, c.Zone, c.Namespace)
}

// listHolders returns the other namespaces with claims at a name or, for a CNAMEConflict, with Records there.
func (c *Claimant) listHolders(reason string, at name.Rel) (namespaces []string) {
	if reason == law.ReasonCNAMEConflict {
		if others := law.Get[law.Foreign](c.Reading, law.ForeignAtKey(c.Zone.UID, at, c.Namespace)); others != nil {
			namespaces = others.Namespaces
		}
	} else if o := c.OwnerAt(at); o != nil {
		namespaces = c.listOthers(o.Claims)
	}
	return namespaces
}

func (c *Claimant) listOthers(all []law.Claim) (namespaces []string) {
	for _, claim := range all {
		if claim.Holds() && claim.Namespace != c.Namespace {
			namespaces = append(namespaces, claim.Namespace)
		}
	}
	return namespaces
}

func (c *Claimant) allowsDataAt(n name.Rel, namespace string) bool {
	set := c.reachingFor(namespace, rules.Base(n))
	return slices.ContainsFunc(set.FindGrants(c.NameOf(n), 0, namespace), func(g rules.Grant) bool {
		return namespace == c.Zone.Namespace || set.KindOf(&g, n, namespace) != ""
	})
}

// addEnding adds the ends of the namespaces' data, and reports whether all of them lost their rule.
func (c *Claimant) addEnding(ending *Ending, namespaces []string, isAllowed func(namespace string) bool) bool {
	// If a rule still allows team-b's A at www, the end of team-c's TXT there frees nothing. Of many namespaces, memory
	// may lack the period.
	if len(namespaces) > maxEnding || slices.ContainsFunc(namespaces, isAllowed) {
		return false
	}
	for _, namespace := range namespaces {
		if w := law.Get[law.Withdrawal](c.Reading, law.WithdrawalKey(c.Zone.UID, namespace)); w != nil {
			ending.add(w, namespace)
		}
	}
	return true
}
