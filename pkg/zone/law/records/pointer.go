// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
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
	z, added := d.zone, d.added
	if added == nil {
		return
	}
	if d.ask.Namespace == z.Namespace {
		// A client of own has had a Warning instead (S4.18).
		if d.ask.Cascade && d.isNew() {
			hosts := slices.DeleteFunc(d.listPointerHosts(added), func(n name.Rel) bool { return !d.ownerAt(n).HasTenantClaim(z) })
			d.notices = append(d.notices, takenHostNotices(z, hosts)...)
		}
		return
	}

	// The first claim of a tenant at www, to which own's CNAME leads.
	i := slices.IndexFunc(d.owners, func(o ownerChange) bool { return o.owner == rules.Base(added.Owner) })
	if i >= 0 && d.owners[i].after.Pointers > 0 && !d.owners[i].before.HasTenantClaim(z) && d.owners[i].after.HasTenantClaim(z) {
		d.notices = append(d.notices, takenHostNotices(z, []name.Rel{d.owners[i].owner})...)
	}

	// NS, DNAME or a wildcard take the free hosts below them, too.
	before := d.storedOwner(added.Owner)
	cuts := !added.Owner.IsApex() && (added.Type == rdata.NS || added.Type == rdata.DNAME) && !before.HasType(added.Type)
	if cuts || added.Owner.IsWildcard() && len(before.Types()) == 0 {
		if below := law.Get[law.OwnersBelow](d.Reading, law.OwnersBelowKey(z.UID, rules.Unstarred(added.Owner))); below != nil {
			d.notices = append(d.notices, takenHostNotices(z, below.PointerHosts)...)
		}
	}
}

func takenHostNotices(z *law.Zone, hosts []name.Rel) (notices []law.Notice) {
	for _, n := range hosts {
		at, _ := n.In(z.FQDN())
		notices = append(notices, law.Notice{Reason: law.NoticeHostTaken, Name: at})
	}
	return notices
}
