// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/rules"
)

// WildcardAnswer describes the wildcard that answers for a name without data.
type WildcardAnswer struct {
	Wildcard name.Rel
	// Top is the name or its ancestor directly below the wildcard's parent. Once Top exists, the wildcard does not
	// answer.
	Top name.Rel
}

// FindWildcard returns the wildcard that answers for n as long as Top does not exist (RFC 4592 §3.3.1): the caller
// checks that no record is there or below. ok is false if no wildcard can answer.
func (c *Claimant) FindWildcard(n name.Rel) (a WildcardAnswer, ok bool) {
	// A wildcard may be at each ancestor of n, up to the first with data.
	var keys []law.Key
	for at := n; !at.IsApex() && !c.hasData(at); {
		at, _ = at.Parent()
		keys = append(keys, law.OwnerKey(c.Zone.UID, rules.WildcardAt(at)))
	}
	c.RequireAll(keys)
	top := n
	for _, k := range keys {
		if len(c.OwnerAt(k.Owner).Types()) > 0 {
			exists := slices.ContainsFunc(c.Zone.NSHosts, func(m name.Rel) bool { return rules.Encloses(top, m) })
			return WildcardAnswer{Wildcard: k.Owner, Top: top}, !exists
		}
		top, _ = top.Parent()
	}
	return a, false
}

func (c *Claimant) hasData(n name.Rel) bool {
	o := c.OwnerAt(n)
	return o != nil && len(o.Values)+len(o.Cut) > 0 || slices.Contains(c.Zone.NSHosts, n)
}

// FindHidden returns the wildcard that answers for n as long as no name below n exists.
func (c *Claimant) FindHidden(n name.Rel) (a WildcardAnswer, ok bool) {
	if a, ok = c.FindWildcard(n); !ok {
		return a, false
	}
	below := law.Get[law.OwnersBelow](c.Reading, law.OwnersBelowKey(c.Zone.UID, a.Top))
	return a, below == nil || below.RecordNames+below.CutNames == 0
}

// FindHolder reports whether the nearest claimed, own or reserved name at or above n belongs to the namespace (mine) or
// to another (others). The apex counts only for n itself. Both are false if there is no such name.
func (c *Claimant) FindHolder(n name.Rel) (mine, others bool) {
	found := c.findReserved(n)
	for up, ok := n, true; ok && (!up.IsApex() || n.IsApex()); up, ok = up.Parent() {
		named, given := c.isReserved(up, found)
		if o := c.OwnerAt(up); o != nil {
			for _, x := range o.Claims {
				counts := x.Holds() && !slices.Contains(c.Yielding, x.Namespace)
				given, named = given || counts && x.Namespace == c.Namespace, named || counts
			}
		}
		if given || named || c.isOwnForRequest(up) {
			return given, !given
		}
	}
	return false, false
}

// RefuseExcluding refuses a guest's zone, or a type that admits no other data, at a base of another namespace. needs
// describes an allowing rule.
func (c *Claimant) RefuseExcluding(what string, owner name.Rel, needs string) *law.Refusal {
	base := rules.Base(owner)
	if _, others := c.FindHolder(base); !others {
		return nil
	}
	return c.forbid("%s at %s would exclude all other data there, and %s belongs to another namespace (S4.24; ask the zone's owner for %s)",
		what, c.NameOf(owner), c.NameOf(base), needs)
}

// RefuseHiding refuses the data or zone of a guest (a tenant at an underscore name) if its base would then exist, and
// another namespace's wildcard no longer answer there (RFC 4592 §2.2.2). For example, _acme-challenge.www makes the
// base www exist, and hides www from the wildcard "*".
func (c *Claimant) RefuseHiding(what string, owner name.Rel) *law.Refusal {
	base := rules.Base(owner)
	a, hides := c.FindHidden(base)
	if !hides {
		return nil
	}
	if mine, _ := c.FindHolder(base); mine {
		return nil
	}
	return c.forbid("%s at %s would hide %s from another namespace's wildcard %s: a wildcard does not answer for a name with names "+
		"below it (S4.23, RFC 4592; have a record created at %s first, or write %s, which is for the wildcard)",
		what, c.NameOf(owner), c.NameOf(base),
		c.NameOf(a.Wildcard), c.NameOf(base), c.moveLabels(owner, a.Wildcard))
}

func (c *Claimant) moveLabels(owner, wildcard name.Rel) string {
	labels := strings.TrimSuffix(owner.String(), "."+rules.Base(owner).String())
	up, _ := wildcard.Parent()
	return labels + "." + c.NameOf(up).String()
}
