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

// A guest writes by a rule that names each label with "_" (S4.14): it claims no name and passes all claims. A record of
// a guest makes the names above it exist, so that wildcards do not answer for them any more (RFC 4592 section 2.2.2).

// Answer is a wildcard and a name that has no data of its own.
type Answer struct {
	Wildcard name.Rel
	// Top is at or above the name and right below the wildcard's parent. The wildcard answers for the name if nothing
	// is at or below Top.
	Top name.Rel
}

// FindWildcard finds the wildcard that answers for a name if nothing is at or below Answer.Top (RFC 4592 section
// 3.3.1). It asks for no fact if the name has data, and else for one owner for each label between the name and the next
// name above with data. ok is false if no wildcard does. OwnerAt must know the name and those above.
func (c *Claimant) FindWildcard(n name.Rel) (a Answer, ok bool) {
	var keys []law.Key
	for at := n; !at.IsApex() && !c.hasData(at); {
		at, _ = at.Parent()
		keys = append(keys, law.OwnerKey(c.Zone.UID, rules.WildcardAt(at)))
	}
	c.AskAll(keys)
	top := n
	for _, k := range keys {
		if len(c.OwnerAt(k.Owner).Types()) > 0 {
			made := slices.ContainsFunc(c.Zone.MadeNames, func(m name.Rel) bool { return rules.Encloses(top, m) })
			return Answer{Wildcard: k.Owner, Top: top}, !made
		}
		top, _ = top.Parent()
	}
	return a, false
}

// hasData reports whether a name has data: of records, of the cut of a child zone, or of the zone itself.
func (c *Claimant) hasData(n name.Rel) bool {
	o := c.OwnerAt(n)
	return o != nil && len(o.Values)+len(o.Cut) > 0 || slices.Contains(c.Zone.MadeNames, n)
}

// FindHidden finds the wildcard that answers for a name today, and does not from the moment on at which a name below
// exists. It asks for the owners below Answer.Top if there is such a wildcard.
func (c *Claimant) FindHidden(n name.Rel) (a Answer, ok bool) {
	if a, ok = c.FindWildcard(n); !ok {
		return a, false
	}
	below := law.Get[law.OwnersBelow](c.Reading, law.OwnersBelowKey(c.Zone.UID, a.Top))
	return a, below == nil || below.Names+below.Cuts == 0
}

// FindHolder reports whether a name is the namespace's (mine), or another's, the zone's own namespace among them. The
// nearest name at or above it decides that a namespace claims, that is own, or that a rule gives by name. The apex
// decides about itself alone.
func (c *Claimant) FindHolder(n name.Rel) (mine, others bool) {
	found := c.findRules(n)
	for up, ok := n, true; ok && (!up.IsApex() || n.IsApex()); up, ok = up.Parent() {
		named, given := c.isNamed(up, found)
		if o := c.OwnerAt(up); o != nil {
			for _, x := range o.Claims {
				claims := x.Names() && !slices.Contains(c.Yielding, x.Namespace)
				given, named = given || claims && x.Namespace == c.Namespace, named || claims
			}
		}
		if given || named || c.isOwnName(up) {
			return given, !given
		}
	}
	return false, false
}

// RefuseExcluding refuses a guest what keeps all other data from an underscore name of which the base is another's
// (S4.24). what is that, and needs the rule that passes.
func (c *Claimant) RefuseExcluding(what string, owner name.Rel, needs string) *law.Refusal {
	base := rules.Base(owner)
	if _, others := c.FindHolder(base); !others {
		return nil
	}
	return c.forbid("%s at %s would keep all other data from there, and %s is another namespace's (S4.24; ask the zone's owner for %s)",
		what, c.NameOf(owner), c.NameOf(base), needs)
}

// RefuseHiding refuses a guest what is new at an underscore name, and hides the base name from a wildcard of another
// namespace (S4.23).
func (c *Claimant) RefuseHiding(what string, owner name.Rel) *law.Refusal {
	base := rules.Base(owner)
	a, hides := c.FindHidden(base)
	if !hides {
		return nil
	}
	if mine, _ := c.FindHolder(base); mine {
		return nil
	}
	return c.forbid("%s at %s would hide %s from another namespace's wildcard %s, which gives no answer at a name with names below "+
		"(S4.23, RFC 4592; have a record made at %s first, or write %s, which is for the wildcard)", what, c.NameOf(owner), c.NameOf(base),
		c.NameOf(a.Wildcard), c.NameOf(base), c.moveLabels(owner, a.Wildcard))
}

// moveLabels returns the name that has the underscore labels of owner, and for the rest the parent of a wildcard.
func (c *Claimant) moveLabels(owner, wildcard name.Rel) string {
	labels := strings.TrimSuffix(owner.String(), "."+rules.Base(owner).String())
	up, _ := wildcard.Parent()
	return labels + "." + c.NameOf(up).String()
}
