// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// countPointers updates the counts of own records at their hosts (Owner.Pointers).
func (d *delta) countPointers() {
	removed, added := d.listPointerHosts(d.removed), d.listPointerHosts(d.added)
	for _, n := range removed {
		// An edit that keeps the host changes no count.
		if slices.Contains(added, n) {
			continue
		}
		o := d.ownerForUpdate(n)
		if o.Pointers--; o.Pointers < 0 {
			d.Reread() // status and count are of two revisions
		}
	}
	for _, n := range added {
		if !slices.Contains(removed, n) {
			d.ownerForUpdate(n).Pointers++
		}
	}
}

// noticeTakenHosts notes an Event for own if a tenant takes hosts to which own's records lead, or if an own record
// comes from elsewhere and leads to a tenant's host (S4.26).
func (d *delta) noticeTakenHosts() {
	var hosts []name.Rel
	switch isOwn := d.ask.Namespace == d.zone.Namespace; {
	case d.added == nil:
	case !isOwn:
		hosts = d.listTakenHosts()
	// A client of own has had a Warning instead (S4.18).
	case d.ask.Cascade && d.isNew():
		hosts = slices.DeleteFunc(d.listPointerHosts(d.added), func(n name.Rel) bool { return !d.ownerAt(n).HasTenantClaim(d.zone) })
	}
	d.notices = append(d.notices, takenHostNotices(d.zone, hosts)...)
}

func (d *delta) listTakenHosts() (hosts []name.Rel) {
	z, owner := d.zone, d.added.Owner
	// The first claim of a tenant at www, to which own's CNAME leads.
	base := rules.Base(owner)
	isFirst := d.ownerAt(base).HasTenantClaim(z) && !d.storedOwner(base).HasTenantClaim(z)
	if isFirst && d.ownerAt(base).Pointers > 0 {
		hosts = append(hosts, base)
	}
	// NS, DNAME or a wildcard take the free hosts below them, too.
	if actsBelow(owner, d.ownerAt(owner)) && !actsBelow(owner, d.storedOwner(owner)) {
		hosts = append(hosts, d.findBelow(rules.Unstarred(owner)).PointerHosts...)
	}
	return hosts
}

// actsBelow reports whether the data at a name decide about free names below: a wildcard answers for them, NS or DNAME
// lead them elsewhere.
func actsBelow(owner name.Rel, o *law.Owner) bool {
	if owner.IsWildcard() {
		return len(o.Types()) > 0
	}
	return !owner.IsApex() && slices.ContainsFunc(o.Types(), takesBelow)
}

func takenHostNotices(z *law.Zone, hosts []name.Rel) (notices []law.Notice) {
	for _, n := range hosts {
		at, _ := n.In(z.FQDN())
		notices = append(notices, law.Notice{Reason: law.NoticeHostTaken, Name: at})
	}
	return notices
}
