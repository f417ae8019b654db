// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/rules"
)

// leads reports whether it matters to the writer of what names a host who has that: to own wherever clients are sent
// there, to a tenant for the servers of a cut and for the apex (S4.18).
func (x *delta) leads(t target) bool {
	if !slices.Contains(law.PointerTypes, t.Type) {
		return false
	}
	return x.ask.Namespace == x.zone.Namespace || x.come.Owner.IsApex() || t.Type == rdata.NS
}

// findHolder reports whether the writer of what names a host has it (mine), or another tenant. The nearest name at or
// above the host decides that a namespace claims, or that is the writer's from now on.
func (x *delta) findHolder(t target) (mine, another bool) {
	z := x.zone
	for at, ok := rules.Base(t.host), true; ok && !at.IsApex(); at, ok = at.Parent() {
		o := x.ownerAt(at)
		c := o.ClaimOf(x.ask.Namespace)
		mine = c != nil && c.Names()
		another = o != nil && slices.ContainsFunc(o.Claims, func(c law.Claim) bool {
			return c.Namespace != z.Namespace && c.Namespace != x.ask.Namespace
		})
		mine = mine || at == rules.Base(x.come.Owner)
		if mine || another || o.IsOwn(z) {
			return mine, another
		}
	}
	return false, false
}

// leavesToTenants reports whether another namespace may be the first to write a host that no namespace has. Glue of a
// cut is its writer's.
func (x *delta) leavesToTenants(t target) bool {
	z, come := x.zone, x.come
	if !x.leads(t) || len(x.ownerAt(t.host).Types()) > 0 || x.ownerAt(rules.Base(t.host)).IsOwn(z) || slices.Contains(z.MadeNames, t.host) ||
		t.Type == rdata.NS && !come.Owner.IsApex() && rules.Encloses(come.Owner, t.host) {
		return false
	}
	if x.ask.Namespace != z.Namespace {
		return true
	}
	return !come.Owner.IsApex() && x.claimant(rules.AdmittedPlain, nil).GivesTenants(t.host)
}

// listPointed returns the hosts at which a contribution is counted: those of the zone's own namespace.
func (x *delta) listPointed(c *law.Contribution) []name.Rel {
	if x.ask.Namespace != x.zone.Namespace {
		return nil
	}
	return c.ListPointed(x.zone.FQDN())
}

// countPointers counts what goes and what comes at the hosts to which they send clients.
func (x *delta) countPointers() {
	gone, come := x.listPointed(x.gone), x.listPointed(x.come)
	for _, n := range gone {
		if slices.Contains(come, n) {
			continue
		}
		o := x.changeUpper(n)
		if o.Pointers--; o.Pointers < 0 {
			x.ReadAnew()
		}
	}
	for _, n := range come {
		if !slices.Contains(gone, n) {
			x.changeUpper(n).Pointers++
		}
	}
}

// noteTaken notes the hosts to which own sends clients and that a tenant has from this step on (S4.26): by its first
// claim there, by a wildcard or a cut above, or since a cascade brings the record of own.
func (x *delta) noteTaken() {
	z, come := x.zone, x.come
	if come == nil {
		return
	}
	if x.ask.Namespace == z.Namespace {
		if x.ask.Cascade && x.isNew() {
			hosts := slices.DeleteFunc(x.listPointed(come), func(n name.Rel) bool { return !x.ownerAt(n).HasTenant(z) })
			x.news = append(x.news, tellTaken(z, hosts)...)
		}
		return
	}
	i := slices.IndexFunc(x.owners, func(o ownerChange) bool { return o.at == rules.Base(come.Owner) })
	if i >= 0 && x.owners[i].after.Pointers > 0 && !x.owners[i].before.HasTenant(z) && x.owners[i].after.HasTenant(z) {
		x.news = append(x.news, tellTaken(z, []name.Rel{x.owners[i].at})...)
	}
	before := x.storedOwner(come.Owner)
	cuts := !come.Owner.IsApex() && (come.Type == rdata.NS || come.Type == rdata.DNAME) && !before.HasType(come.Type)
	if cuts || come.Owner.IsWildcard() && len(before.Types()) == 0 {
		if below := law.Get[law.OwnersBelow](x.Reading, law.OwnersBelowKey(z.UID, rules.Unstarred(come.Owner))); below != nil {
			x.news = append(x.news, tellTaken(z, below.Pointed)...)
		}
	}
}

// tellTaken returns the news of hosts of a zone that another namespace has.
func tellTaken(z *law.Zone, hosts []name.Rel) (news []law.News) {
	for _, n := range hosts {
		at, _ := n.In(z.FQDN())
		news = append(news, law.News{Reason: law.NewsHostTaken, Name: at})
	}
	return news
}
