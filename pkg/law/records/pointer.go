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

// noteTaken notes hosts to which own sends clients and that a tenant takes by this step (S4.26): by the first claim
// there, by a wildcard or a cut above, or because a cascade adds the own record.
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

func tellTaken(z *law.Zone, hosts []name.Rel) (news []law.News) {
	for _, n := range hosts {
		at, _ := n.In(z.FQDN())
		news = append(news, law.News{Reason: law.NewsHostTaken, Name: at})
	}
	return news
}
