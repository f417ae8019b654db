// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

var excluding = []rdata.Type{rdata.CNAME, rdata.NS, rdata.DNAME}

func (d *delta) countGuest(a rules.Admission) int {
	if a == rules.AdmittedUnderscore && d.ask.Namespace != d.zone.Namespace {
		return 1
	}
	return 0
}

func (d *delta) keepsRRset() bool { return d.keepsOwner() && d.removed.Type == d.added.Type }

// refuseGuest refuses a guest's record against the holder of the base name: CNAME, NS or DNAME, unless the rule has the
// literal name (S4.24), or a record that hides the base from a wildcard (S4.23).
func (d *delta) refuseGuest(literal bool) *law.Refusal {
	t, owner, c := d.added.Type, d.added.Owner, d.claimant(rules.AdmittedPlain, nil)
	if slices.Contains(excluding, t) && !literal && !d.keepsRRset() {
		if refusal := c.RefuseExcluding(t.String(), owner, fmt.Sprintf("a rule with pattern %q", owner)); refusal != nil {
			return refusal
		}
	}
	// An edit makes no further name exist.
	if d.keepsOwner() {
		return nil
	}
	return c.RefuseHiding(t.String(), owner)
}

// refuseFull refuses a guest's record if guests would have more than half of a limit at the name (S4.24). The namespace
// that holds the base name may use the rest. before is nil without former data.
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
	parts := []amount{{values, had, rdata.MaxValues / 2}, {octets, hadOctets, rdata.MaxOctets / 2},
		{len(is.Types()), len(was.Types()), law.MaxTypesAtName / 2}, {len(is.Values), len(was.Values), law.MaxValuesAtName / 2}}
	if !slices.ContainsFunc(parts, amount.isTooMuch) {
		return nil
	}

	if mine, _ := d.claimant(rules.AdmittedPlain, nil).FindHolder(rules.Base(owner)); mine {
		return nil
	}
	return law.NewInvalid("spec.values", nil, law.ReasonLimitExceeded, "records under underscore rules would have %d values of %s at "+
		"%s, and more than half of the limits of the name, such as %d values of an RRset: the other half is reserved for the namespace "+
		"that has %s (S4.24; remove some first)", values, t, d.place.fqdn, rdata.MaxValues, d.nameOf(rules.Base(owner)))
}

// warnOfHiding warns of a name above the added record that a wildcard answered for until now, and notes it for the
// other namespaces with records at that wildcard. For example, q.shop hides shop from "*".
func (d *delta) warnOfHiding(plan *law.Plan) {
	if d.keepsOwner() {
		return
	}
	if a, ok := d.claimant(rules.AdmittedPlain, nil).FindHiddenAbove(d.added.Owner); ok {
		d.announceHidden(plan, d.place.fqdn.String()+" hides", []name.Name{d.nameOf(a.Top)}, 0, a.Wildcard, false)
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

// noteBelowWildcard notes names for which a new wildcard does not answer, because names below them exist (RFC 4592).
// For example, x.apps with data at www.x.apps alone is hidden from *.apps.
func (d *delta) noteBelowWildcard(wildcard name.Rel, plan *law.Plan) {
	up, _ := wildcard.Parent()
	below := d.findBelow(up)
	var names []name.Name
	// With a name server at or below, n exists by spec.nameServers.
	for _, n := range below.FirstChildren {
		if !slices.ContainsFunc(d.zone.NSHosts, func(made name.Rel) bool { return rules.Encloses(n, made) }) {
			names = append(names, d.nameOf(n))
		}
	}
	d.announceHidden(plan, namesBelowHide, names, below.Children-len(below.FirstChildren), wildcard, below.GuestNames > 0)
}

// noteLeftName notes that a name without data is hidden from a wildcard, because names below stay. For example, shop is
// deleted, and _acme-challenge.shop hides shop from "*".
func (d *delta) noteLeftName(n name.Rel, plan *law.Plan) {
	a, ok := d.claimant(rules.AdmittedPlain, nil).FindWildcard(n)
	// The record moves to a name at or below Top, so Top goes on to exist.
	if !ok || d.added != nil && rules.Encloses(a.Top, d.added.Owner) {
		return
	}
	below := d.findBelow(a.Top)
	hidden := []name.Name{d.nameOf(a.Top)}
	if n == a.Top {
		if below.RecordNames+below.CutNames == 0 { // the wildcard answers again
			return
		}
	} else {
		// Others' names below Top hid it before, but those of guests alone do so from now on.
		isGuests := below.GuestNames > 0 && below.GuestNames >= below.RecordNames-1 && below.CutNames == 0
		if !isGuests {
			return
		}
		hidden = append(hidden, d.nameOf(n))
	}

	d.announceHidden(plan, namesBelowHide, hidden, 0, a.Wildcard, below.GuestNames > 0)
}

const namesBelowHide = "names below hide"

// announceHidden warns the writer that a subject hides names from a wildcard, more of them than listed, and notes them
// for other namespaces. If guests have names below, the zone's own namespace, which admits guests, gets an Event.
func (d *delta) announceHidden(plan *law.Plan, subject string, names []name.Name, more int, wildcard name.Rel, guests bool) {
	if len(names) == 0 {
		return
	}
	warned := !d.ask.Cascade
	if warned {
		plan.Warnings = append(plan.Warnings, HiddenWarning(subject, names, more, d.nameOf(wildcard)))
	}
	base := d.ownerAt(rules.Base(wildcard))
	if guests || base.IsClaimedBeside(d.ask.Namespace) {
		d.notices = append(d.notices, hiddenNotices(d.zone, base, names, wildcard, d.ask.Namespace, warned)...)
	}
}

// hiddenNotices returns the notices of names that a write hides from a wildcard, to the zone's own namespace and to the
// tenants with claims at the wildcard's base, without the writer if it was warned.
func hiddenNotices(z *law.Zone, base *law.Owner, names []name.Name, wildcard name.Rel, writer string, warned bool) (out []law.Notice) {
	holders := []string{z.Namespace}
	if base != nil {
		for _, c := range base.Claims {
			// Own and at most FirstNames tenants get Events.
			if c.Namespace != z.Namespace && len(holders) <= law.FirstNames {
				holders = append(holders, c.Namespace)
			}
		}
	}

	for _, ns := range holders {
		// The writer has the Warning in the answer.
		if warned && ns == writer {
			continue
		}
		for _, n := range names {
			notice := law.Notice{Reason: law.NoticeNameHidden, Name: n}
			// The tenant's Event is at its Record for the wildcard, own's at the Zone (S4.25).
			if ns != z.Namespace {
				notice.Wildcard, notice.Namespace = wildcard, ns
			}
			out = append(out, notice)
		}
	}
	return out
}

// HiddenWarning returns the Warning of names that a wildcard no longer answers for. It begins with the subject, such as
// "q.shop.org. hides"; more is the number of names beyond the listed ones.
func HiddenWarning(subject string, names []name.Name, more int, wildcard name.Name) law.Warning {
	w := law.Warning{Rule: "S4.25"}
	if len(names) == 1 && more == 0 {
		// A change set that also writes a record at the name drops the Warning.
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
		"there", subject, list, wildcard)
	return w
}
