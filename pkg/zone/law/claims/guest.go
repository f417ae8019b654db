// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

type WildcardAnswer struct {
	Wildcard name.Rel
	// Top is the name or its ancestor directly below the wildcard's parent. Once Top exists, the wildcard does not
	// answer.
	Top name.Rel
}

// FindWildcard returns the wildcard that answers for n as long as the name Top does not exist (RFC 4592 §3.3.1). The
// caller must check that no record is at or below Top. The result is false if no wildcard can answer.
func (c *Claimant) FindWildcard(n name.Rel) (answer WildcardAnswer, ok bool) {
	// A wildcard may be at each ancestor of n, up to the first with data.
	var keys []law.Key
	for ancestor := n; !ancestor.IsApex() && !c.hasData(ancestor); {
		ancestor, _ = ancestor.Parent()
		keys = append(keys, law.OwnerKey(c.Zone.UID, rules.WildcardAt(ancestor)))
	}
	c.RequireAll(keys)
	top := n
	for _, key := range keys {
		if len(c.OwnerAt(key.Owner).Types()) > 0 {
			// A host of spec.nameServers at or below Top makes Top exist.
			exists := slices.ContainsFunc(c.Zone.NSHosts, func(host name.Rel) bool { return top.Encloses(host) })
			return WildcardAnswer{Wildcard: key.Owner, Top: top}, !exists
		}
		top, _ = top.Parent()
	}
	return answer, false
}

func (c *Claimant) hasData(n name.Rel) bool {
	return c.OwnerAt(n).HasData() || slices.Contains(c.Zone.NSHosts, n)
}

// FindHidden returns the wildcard for n while no name below n exists.
func (c *Claimant) FindHidden(n name.Rel) (answer WildcardAnswer, ok bool) {
	if answer, ok = c.FindWildcard(n); !ok {
		return answer, false
	}
	below := c.below(answer.Top)
	return answer, below.RecordNames+below.CutNames == 0
}

// FindHiddenAbove returns the wildcard that no longer answers for a name Top above owner once owner has data. For
// example, q.shop.apps hides shop.apps from *.apps, while nothing else exists at or below shop.apps. The result is for
// Warnings alone, as it may be stale.
func (c *Claimant) FindHiddenAbove(owner name.Rel) (answer WildcardAnswer, ok bool) {
	up := rules.Base(owner) // www for _acme-challenge.www: no client looks for a host at _tcp.www
	if up == owner {        // shop for q.shop: q.shop answers itself
		if up, ok = owner.Parent(); !ok {
			return answer, false
		}
	}
	if answer, ok = c.FindWildcard(up); !ok {
		return answer, false
	}
	exists := law.Get[law.Awaited](c.Reading, law.DataBelowKey(c.Zone.UID, answer.Top))
	return answer, exists != nil && !exists.Any
}

// FindHolder finds the nearest claimed, own or reserved name at or above n, and reports whether it belongs to the
// Claimant's namespace (mine) or to another (others). The apex counts only for n itself. Both results are false if
// there is no such name.
func (c *Claimant) FindHolder(n name.Rel) (mine, others bool) {
	found := c.findReserved(n)
	if n.IsApex() {
		return c.holderAt(n, found)
	}
	for up := range rules.AtOrAbove(n) {
		if mine, others = c.holderAt(up, found); mine || others {
			return mine, others
		}
	}
	return false, false
}

// holderAt is FindHolder for a single name.
func (c *Claimant) holderAt(n name.Rel, found []rules.ReservedAbove) (mine, others bool) {
	o := c.OwnerAt(n)
	isReserved, isReservedForMe := c.isReserved(n, found)
	// team-a and team-b share www: www counts as team-a's.
	if isReservedForMe || o.HasClaimOf(c.Namespace) {
		return true, false
	}
	// team-b's rule names www, or team-b has records there, or own has www or leads clients there.
	return false, isReserved || o.IsClaimed() || c.isOwnForRequest(n)
}

// RefuseExcluding refuses a guest's zone, or a type that admits no other data, at a base of another namespace.
func (c *Claimant) RefuseExcluding(subject string, owner name.Rel, neededRule string) *law.Refusal {
	base := rules.Base(owner)
	// www is free, or team-a's own: its CNAME at _acme-challenge.www takes nothing from others.
	if _, others := c.FindHolder(base); !others {
		return nil
	}
	return c.forbid("%s at %s would exclude all other data there, and %s belongs to another namespace (S4.24; ask the zone's owner for %s)",
		subject, c.NameOf(owner), c.NameOf(base), neededRule)
}

// RefuseHiding refuses the data or zone of a guest (a tenant at an underscore name) if its base would then exist, so
// that another namespace's wildcard would no longer answer there (RFC 4592 §2.2.2). For example, _acme-challenge.www
// makes the base www exist, and hides www from the wildcard "*".
func (c *Claimant) RefuseHiding(subject string, owner name.Rel) *law.Refusal {
	base := rules.Base(owner)
	answer, hides := c.FindHidden(base)
	if !hides {
		return nil
	}
	// The holder of the name may hide it from another's wildcard.
	if mine, _ := c.FindHolder(base); mine {
		return nil
	}
	// team-b has the wildcard "*", and a rule gives team-a only "_acme-challenge.*".
	return c.forbid("%s at %s would hide %s from another namespace's wildcard %s: a wildcard does not answer for a name with names "+
		"below it (S4.23, RFC 4592; have a record created at %s first, or write %s, which is for the wildcard)",
		subject, c.NameOf(owner), c.NameOf(base),
		c.NameOf(answer.Wildcard), c.NameOf(base), c.moveLabels(owner, answer.Wildcard))
}

func (c *Claimant) moveLabels(owner, wildcard name.Rel) string {
	labels := strings.TrimSuffix(owner.String(), "."+rules.Base(owner).String())
	up, _ := wildcard.Parent()
	return labels + "." + c.NameOf(up).String()
}
