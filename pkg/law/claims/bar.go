// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"fmt"
	"math"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/rules"
)

// Bar is what keeps patterns of a tenant with "*" from a name, but those with a tail at or below the bar (S4.20).
type Bar struct {
	// At is the name that is kept from them with all below it.
	At name.Rel
	// Least is how many labels such a tail has at least; 0: nothing bars the name.
	Least int
	// Own says that the name is the zone's own, and no rule names it.
	Own bool
	// Unread says that Delegations which may name the name are yet to be taken in.
	Unread bool
}

// FindNamed finds the deepest name at or above a base name that rules name for others, and not for the namespace.
func (c *Claimant) FindNamed(base name.Rel) Bar {
	if c.Namespace == c.Zone.Namespace {
		return Bar{}
	}
	found := c.findRules(base)
	for up, ok := base, true; ok && !up.IsApex(); up, ok = up.Parent() {
		if named, mine := c.isNamed(up, found); named && !mine {
			return Bar{At: up, Least: up.NumLabels()}
		}
	}
	return Bar{}
}

// findRules returns the names at or above a base name that rules of the Zone name. Where Delegations may, it asks for
// what they name there.
func (c *Claimant) findRules(base name.Rel) []rules.NamedAbove {
	if c.Holding.Delegations > 0 {
		var ks []law.Key
		for up, ok := base, true; ok && !up.IsApex(); up, ok = up.Parent() {
			ks = append(ks, law.OwnerKey(c.Zone.UID, up))
		}
		c.AskAll(ks)
	}
	return c.Zone.RuleSet().FindNamed(base, c.Namespace)
}

// isNamed reports whether rules name a name, and whether they do so for the namespace. found are those of the Zone.
func (c *Claimant) isNamed(n name.Rel, found []rules.NamedAbove) (named, mine bool) {
	if i := slices.IndexFunc(found, func(x rules.NamedAbove) bool { return x.Labels == n.NumLabels() }); i >= 0 {
		named, mine = true, found[i].Mine
	}
	if c.Holding.Delegations == 0 {
		return named, mine
	}
	o := c.OwnerAt(n)
	return named || o != nil && len(o.Named) > 0, mine || o.IsNamedFor(c.Namespace)
}

// FindMine finds the deepest name at or above a base name that rules name for the namespace.
func (c *Claimant) FindMine(base name.Rel) (at name.Rel, ok bool) {
	found := c.findRules(base)
	for up, ok := base, true; ok && !up.IsApex(); up, ok = up.Parent() {
		if _, mine := c.isNamed(up, found); mine {
			return up, true
		}
	}
	return name.Rel{}, false
}

// FindBar finds what bars a base name for what is new there.
func (c *Claimant) FindBar(base name.Rel) Bar {
	if c.Namespace != c.Zone.Namespace && c.Holding.TakesIn() {
		return Bar{At: base, Least: math.MaxInt, Unread: true}
	}
	return c.FindNamed(base)
}

// Refuse is the refusal of a base name for which no pattern of the namespace passes the bar. reason is its condition
// reason, and needs what the zone's owner may add.
func (b *Bar) Refuse(c *Claimant, base name.Rel, reason, needs string) *law.Refusal {
	if b.Unread {
		return &law.Refusal{Kind: law.Later, Reason: reason, Message: fmt.Sprintf("Delegations that waited for zone %s come into force, "+
			"and may give the name to another namespace (S4.22; try again in a moment)", c.Zone.FQDN())}
	}
	return law.NewForbidden(reason, "%s of zone %s is reserved: a rule gives %s to another namespace by name, with all below it (S4.20; "+
		"choose another name, or ask the zone's owner for %s)", c.NameOf(base), c.Zone.FQDN(), c.NameOf(b.At), needs)
}

// maxYielding bounds the tenants whose rules one decision reads to see whether they give way.
const maxYielding = 16

// FindYielding returns the tenants that have something in the way of the namespace and give way to it at once: a rule
// names a name at or above base for it, and the rules allow none of them what it has there (S2.13). They give way at
// and below at. None: nothing is in the way, or something of it is allowed. below says that what lies below base is in
// the way.
func (c *Claimant) FindYielding(base, at name.Rel, below bool) (from []string) {
	add := func(list []law.Claim) {
		for _, x := range list {
			if x.Namespace != c.Namespace && x.Namespace != c.Zone.Namespace && !slices.Contains(from, x.Namespace) {
				from = append(from, x.Namespace)
			}
		}
	}
	for up, ok := base, true; ok && at.Encloses(up) && !up.IsApex(); up, ok = up.Parent() {
		o := c.OwnerAt(up)
		if o == nil {
			continue
		}
		for _, x := range o.Claims {
			if x.Namespace != c.Namespace && x.Namespace != c.Zone.Namespace && c.AllowsAt(up, x.Namespace) {
				return nil
			}
		}
		add(o.Claims)
	}
	if below {
		k := law.OwnersBelowKey(c.Zone.UID, base)
		if has := law.Get[law.OwnersBelow](c.Reading, k); has != nil {
			lower := *has
			lower.Claims = slices.DeleteFunc(slices.Clone(has.Claims), func(x law.Claim) bool { return !x.Names() })
			for _, x := range lower.Claims {
				if x.Namespace != c.Namespace && x.Namespace != c.Zone.Namespace && c.mayAllowBelow(at, x.Namespace) {
					return nil
				}
			}
			add(lower.Claims)
		}
	}
	if len(from) > maxYielding {
		return nil
	}
	slices.Sort(from)
	return from
}

// AllowsAt reports whether the rules allow a namespace some type at a base name.
func (c *Claimant) AllowsAt(base name.Rel, namespace string) bool {
	return c.reachingFor(namespace, base).AllowsName(c.NameOf(base), namespace)
}

// mayAllowBelow reports whether the rules may allow a namespace some type at a base name or below it.
func (c *Claimant) mayAllowBelow(base name.Rel, namespace string) bool {
	return c.reachingFor(namespace, base).MayAllowBelow(base, namespace)
}

// reachingFor returns the rules of a namespace whose patterns reach a base name (S4.20).
func (c *Claimant) reachingFor(namespace string, base name.Rel) *rules.Set {
	other := *c
	other.Namespace, other.Zone = namespace, c.RuledFor(c.Zone.WithoutGiven(), namespace)
	bar := other.FindNamed(base)
	return other.Zone.RuleSet().Reaching(bar.Least)
}
