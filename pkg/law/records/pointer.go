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

func (x *delta) countPointers() {
	removed, added := x.listPointerHosts(x.removed), x.listPointerHosts(x.added)
	for _, n := range removed {
		if slices.Contains(added, n) {
			continue
		}
		o := x.ownerForUpdate(n)
		if o.Pointers--; o.Pointers < 0 {
			x.Reread()
		}
	}
	for _, n := range added {
		if !slices.Contains(removed, n) {
			x.ownerForUpdate(n).Pointers++
		}
	}
}

func (x *delta) noticeTakenHosts() {
	z, added := x.zone, x.added
	if added == nil {
		return
	}
	if x.ask.Namespace == z.Namespace {
		if x.ask.Cascade && x.isNew() {
			hosts := slices.DeleteFunc(x.listPointerHosts(added), func(n name.Rel) bool { return !x.ownerAt(n).HasTenantClaim(z) })
			x.notices = append(x.notices, takenHostNotices(z, hosts)...)
		}
		return
	}

	i := slices.IndexFunc(x.owners, func(o ownerChange) bool { return o.owner == rules.Base(added.Owner) })
	if i >= 0 && x.owners[i].after.Pointers > 0 && !x.owners[i].before.HasTenantClaim(z) && x.owners[i].after.HasTenantClaim(z) {
		x.notices = append(x.notices, takenHostNotices(z, []name.Rel{x.owners[i].owner})...)
	}
	before := x.storedOwner(added.Owner)
	cuts := !added.Owner.IsApex() && (added.Type == rdata.NS || added.Type == rdata.DNAME) && !before.HasType(added.Type)
	if cuts || added.Owner.IsWildcard() && len(before.Types()) == 0 {
		if below := law.Get[law.OwnersBelow](x.Reading, law.OwnersBelowKey(z.UID, rules.Unstarred(added.Owner))); below != nil {
			x.notices = append(x.notices, takenHostNotices(z, below.PointerHosts)...)
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
