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

func (d *delta) countGuest(a rules.Admission) int {
	if a == rules.AdmittedUnderscore && d.ask.Namespace != d.zone.Namespace {
		return 1
	}
	return 0
}

func (d *delta) keepsName() bool { return d.removed != nil && d.removed.Owner == d.added.Owner }

func (d *delta) refuseGuest(literal bool) *law.Refusal {
	t, owner, c := d.added.Type, d.added.Owner, d.claimant(rules.AdmittedPlain, nil)
	if !literal && slices.Contains(excluding, t) && !(d.keepsName() && d.removed.Type == t) {
		if refusal := c.RefuseExcluding(t.String(), owner, fmt.Sprintf("a rule with pattern %q", owner)); refusal != nil {
			return refusal
		}
	}
	if d.keepsName() {
		return nil
	}
	return c.RefuseHiding(t.String(), owner)
}

func (d *delta) refuseFull(after, before *law.Owner) *law.Refusal {
	if d.countGuest(d.admission) == 0 {
		return nil
	}
	t, owner := d.added.Type, d.added.Owner
	is, was := after.OfGuests(), before.OfGuests()
	values, octets := is.CountDistinct(t)
	had, hadOctets := was.CountDistinct(t)
	each := d.nameOf(owner).WireLen() + 10
	octets, hadOctets = octets+values*each, hadOctets+had*each
	types, hadTypes := len(is.Types()), len(was.Types())
	if (values <= rdata.MaxValues/2 || values <= had) && (octets <= rdata.MaxOctets/2 || octets <= hadOctets) &&
		(types <= law.MaxTypesAtName/2 || types <= hadTypes) &&
		(len(is.Values) <= law.MaxValuesAtName/2 || len(is.Values) <= len(was.Values)) {
		return nil
	}

	if mine, _ := d.claimant(rules.AdmittedPlain, nil).FindHolder(rules.Base(owner)); mine {
		return nil
	}
	return law.NewInvalid("spec.values", nil, law.ReasonLimitExceeded, "records under underscore rules would have %d values of %s at "+
		"%s, and more than half of the limits of the name, such as %d values of an RRset: the other half is reserved for the namespace "+
		"that has %s (S4.24; remove some first)", values, t, d.place.fqdn, rdata.MaxValues, d.nameOf(rules.Base(owner)))
}

func (d *delta) warnOfHiding(plan *law.Plan) {
	if d.ask.Cascade || d.keepsName() || !rules.HasUnderscore(d.added.Owner) {
		return
	}
	base := rules.Base(d.added.Owner)
	if a, ok := d.claimant(rules.AdmittedPlain, nil).FindHidden(base); ok {
		d.warnOfHidden(plan, d.place.fqdn.String()+" hides", []name.Name{d.nameOf(base)}, 0, a.Wildcard)
	}
}

func (d *delta) noticeHiddenNames(plan *law.Plan) {
	for i := range d.dataOwners {
		o := &d.owners[i]
		switch had := o.before != nil && len(o.before.Values) > 0; {
		case !had && len(o.after.Values) > 0 && o.owner.IsWildcard():
			d.noteBelowWildcard(o.owner, plan)
		case had && len(o.after.Values)+len(o.after.Cut) == 0 && !o.owner.IsWildcard() && !rules.HasUnderscore(o.owner):
			d.noteLeftName(o.owner, plan)
		}
	}
}

func (d *delta) noteBelowWildcard(wildcard name.Rel, plan *law.Plan) {
	up, _ := wildcard.Parent()
	below := law.Get[law.OwnersBelow](d.Reading, law.OwnersBelowKey(d.zone.UID, up))
	if below == nil {
		return
	}
	var names []name.Name
	for _, n := range below.FirstChildren {
		if !slices.ContainsFunc(d.zone.NSHosts, func(made name.Rel) bool { return rules.Encloses(n, made) }) {
			names = append(names, d.nameOf(n))
		}
	}
	d.announceHidden(plan, names, below.Children-len(below.FirstChildren), wildcard)
}

func (d *delta) noteLeftName(n name.Rel, plan *law.Plan) {
	a, ok := d.claimant(rules.AdmittedPlain, nil).FindWildcard(n)
	if !ok || d.added != nil && rules.Encloses(a.Top, d.added.Owner) {
		return
	}
	below := law.Get[law.OwnersBelow](d.Reading, law.OwnersBelowKey(d.zone.UID, a.Top))
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

	hidden := []name.Name{d.nameOf(a.Top)}
	if n != a.Top {
		hidden = append(hidden, d.nameOf(n))
	}
	d.announceHidden(plan, hidden, 0, a.Wildcard)
}

func (d *delta) announceHidden(plan *law.Plan, names []name.Name, more int, wildcard name.Rel) {
	if len(names) == 0 {
		return
	}
	for _, ns := range d.listHolders(wildcard) {
		for _, n := range names {
			if ns == d.zone.Namespace {
				d.notices = append(d.notices, law.Notice{Reason: law.NoticeNameHidden, Name: n})
			} else {
				d.notices = append(d.notices, law.Notice{Reason: law.NoticeNameHidden, Name: n, Wildcard: wildcard, Namespace: ns})
			}
		}
	}
	if !d.ask.Cascade {
		d.warnOfHidden(plan, "records under underscore rules below hide", names, more, wildcard)
	}
}

func (d *delta) listHolders(wildcard name.Rel) []string {
	all := []string{d.zone.Namespace}
	if o := d.ownerAt(rules.Base(wildcard)); o != nil {
		for _, c := range o.Claims {
			if c.Namespace != d.zone.Namespace && len(all) <= law.FirstNames {
				all = append(all, c.Namespace)
			}
		}
	}
	return slices.DeleteFunc(all, func(ns string) bool { return ns == d.ask.Namespace && !d.ask.Cascade })
}

func (d *delta) warnOfHidden(plan *law.Plan, what string, names []name.Name, more int, wildcard name.Rel) {
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
		"there", what, list, d.nameOf(wildcard))
	plan.Warnings = append(plan.Warnings, w)
}
