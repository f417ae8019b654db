// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/rules"
)

var excluding = []rdata.Type{rdata.CNAME, rdata.NS, rdata.DNAME}

func (x *delta) countGuest(a rules.Admission) int {
	if a == rules.AdmittedUnderscore && x.ask.Namespace != x.zone.Namespace {
		return 1
	}
	return 0
}

func (x *delta) keepsName() bool { return x.removed != nil && x.removed.Owner == x.added.Owner }

func (x *delta) refuseGuest(literal bool) *law.Refusal {
	t, owner, c := x.added.Type, x.added.Owner, x.claimant(rules.AdmittedPlain, nil)
	if !literal && slices.Contains(excluding, t) && !(x.keepsName() && x.removed.Type == t) {
		if refusal := c.RefuseExcluding(t.String(), owner, fmt.Sprintf("a rule with pattern %q", owner)); refusal != nil {
			return refusal
		}
	}
	if x.keepsName() {
		return nil
	}
	return c.RefuseHiding(t.String(), owner)
}

func (x *delta) refuseFull(after, before *law.Owner) *law.Refusal {
	if x.countGuest(x.admission) == 0 {
		return nil
	}
	t, owner := x.added.Type, x.added.Owner
	is, was := after.OfGuests(), before.OfGuests()
	values, octets := is.CountDistinct(t)
	had, hadOctets := was.CountDistinct(t)
	each := x.nameOf(owner).WireLen() + 10
	octets, hadOctets = octets+values*each, hadOctets+had*each
	types, hadTypes := len(is.Types()), len(was.Types())
	if (values <= rdata.MaxValues/2 || values <= had) && (octets <= rdata.MaxOctets/2 || octets <= hadOctets) &&
		(types <= law.MaxTypesAtName/2 || types <= hadTypes) &&
		(len(is.Values) <= law.MaxValuesAtName/2 || len(is.Values) <= len(was.Values)) {
		return nil
	}

	if mine, _ := x.claimant(rules.AdmittedPlain, nil).FindHolder(rules.Base(owner)); mine {
		return nil
	}
	return law.NewInvalid("spec.values", nil, law.ReasonLimitExceeded, "records under underscore rules would have %d values of %s at "+
		"%s, and more than half of the limits of the name, such as %d values of an RRset: the other half is reserved for the namespace "+
		"that has %s (S4.24; remove some first)", values, t, x.place.fqdn, rdata.MaxValues, x.nameOf(rules.Base(owner)))
}

func (x *delta) warnOfHiding(plan *law.Plan) {
	if x.ask.Cascade || x.keepsName() || !rules.HasUnderscore(x.added.Owner) {
		return
	}
	base := rules.Base(x.added.Owner)
	if a, ok := x.claimant(rules.AdmittedPlain, nil).FindHidden(base); ok {
		x.warnOfHidden(plan, x.place.fqdn.String()+" hides", []name.Name{x.nameOf(base)}, 0, a.Wildcard)
	}
}

func (x *delta) noticeHiddenNames(plan *law.Plan) {
	for i := range x.dataOwners {
		o := &x.owners[i]
		switch had := o.before != nil && len(o.before.Values) > 0; {
		case !had && len(o.after.Values) > 0 && o.owner.IsWildcard():
			x.noteBelowWildcard(o.owner, plan)
		case had && len(o.after.Values)+len(o.after.Cut) == 0 && !o.owner.IsWildcard() && !rules.HasUnderscore(o.owner):
			x.noteLeftName(o.owner, plan)
		}
	}
}

func (x *delta) noteBelowWildcard(wildcard name.Rel, plan *law.Plan) {
	up, _ := wildcard.Parent()
	below := law.Get[law.OwnersBelow](x.Reading, law.OwnersBelowKey(x.zone.UID, up))
	if below == nil {
		return
	}
	var names []name.Name
	for _, n := range below.FirstChildren {
		if !slices.ContainsFunc(x.zone.NSHosts, func(made name.Rel) bool { return rules.Encloses(n, made) }) {
			names = append(names, x.nameOf(n))
		}
	}
	x.announceHidden(plan, names, below.Children-len(below.FirstChildren), wildcard)
}

func (x *delta) noteLeftName(n name.Rel, plan *law.Plan) {
	a, ok := x.claimant(rules.AdmittedPlain, nil).FindWildcard(n)
	if !ok || x.added != nil && rules.Encloses(a.Top, x.added.Owner) {
		return
	}
	below := law.Get[law.OwnersBelow](x.Reading, law.OwnersBelowKey(x.zone.UID, a.Top))
	if below == nil {
		return
	}

	names := below.RecordNames
	if n != a.Top {
		names--
	}
	if below.GuestNames == 0 || below.GuestNames < names || below.CutNames > 0 {
		return
	}

	hidden := []name.Name{x.nameOf(a.Top)}
	if n != a.Top {
		hidden = append(hidden, x.nameOf(n))
	}
	x.announceHidden(plan, hidden, 0, a.Wildcard)
}

func (x *delta) announceHidden(plan *law.Plan, names []name.Name, more int, wildcard name.Rel) {
	if len(names) == 0 {
		return
	}
	for _, ns := range x.listHolders(wildcard) {
		for _, n := range names {
			if ns == x.zone.Namespace {
				x.notices = append(x.notices, law.Notice{Reason: law.NoticeNameHidden, Name: n})
			} else {
				x.notices = append(x.notices, law.Notice{Reason: law.NoticeNameHidden, Name: n, Wildcard: wildcard, Namespace: ns})
			}
		}
	}
	if !x.ask.Cascade {
		x.warnOfHidden(plan, "records under underscore rules below hide", names, more, wildcard)
	}
}

func (x *delta) listHolders(wildcard name.Rel) []string {
	all := []string{x.zone.Namespace}
	if o := x.ownerAt(rules.Base(wildcard)); o != nil {
		for _, c := range o.Claims {
			if c.Namespace != x.zone.Namespace && len(all) <= law.FirstNames {
				all = append(all, c.Namespace)
			}
		}
	}
	return slices.DeleteFunc(all, func(ns string) bool { return ns == x.ask.Namespace && !x.ask.Cascade })
}

func (x *delta) warnOfHidden(plan *law.Plan, what string, names []name.Name, more int, wildcard name.Rel) {
	w := law.Warning{Rule: "S4.25"}
	if len(names) == 1 && more == 0 {
		w.Host = names[0]
	}
	list := fmt.Sprint(names[0])
	for _, n := range names[1:] {
		list += fmt.Sprint(", ", n)
	}
	if more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	w.Text = fmt.Sprintf("%s %s from the wildcard %s, which does not answer for a name with names below it (RFC 4592); write a record "+
		"there", what, list, x.nameOf(wildcard))
	plan.Warnings = append(plan.Warnings, w)
}
