// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law/rules"
)

func (o *Owner) HasGuestsOnly() bool {
	return o != nil && len(o.Values) > 0 && len(o.Cut) == 0 &&
		!slices.ContainsFunc(o.Values, func(v OwnerValue) bool { return v.Guests < v.Count })
}

func (o *Owner) OfGuests() *Owner {
	out := &Owner{}
	if o != nil {
		out.Values = slices.DeleteFunc(slices.Clone(o.Values), func(v OwnerValue) bool { return v.Guests == 0 })
	}
	return out
}

// GuestsBelow counts the names below a name that exist only by data of guests. A guest is a tenant whose rule names an
// underscore label, such as "_acme-challenge.*", and whose records claim no name. With a guest's record at
// _acme-challenge.www, www exists in DNS, and no wildcard answers for www. The counts serve to notify the wildcard's
// namespace of such names.
type GuestsBelow struct {
	// CutNames counts the names with only NS, glue or DS of child zones, and GuestNames the names with only guests'
	// records.
	CutNames, GuestNames int
	// Children counts the names directly below that exist only by records of guests, without underscore names.
	// FirstChildren holds the first FirstNames of them.
	Children      int
	FirstChildren []name.Rel

	lastChild                      name.Rel // the name directly below, at or above the last owner
	childHasGuests, childHasOthers bool
}

func (b *GuestsBelow) countOwner(up, at name.Rel, o *Owner) {
	if len(o.Values)+len(o.Cut) == 0 {
		return
	}
	child := at // or its ancestor right below up
	for n := at.NumLabels() - up.NumLabels(); n > 1; n-- {
		child, _ = child.Parent()
	}
	if child != b.lastChild {
		b.lastChild, b.childHasGuests, b.childHasOthers = child, false, false
	}

	guests := o.HasGuestsOnly()
	switch {
	case rules.IsUnderscore(child.String()):
	case guests && !b.childHasGuests && !b.childHasOthers:
		// The first owner of the child.
		if b.Children++; b.Children <= FirstNames {
			b.FirstChildren = append(b.FirstChildren, child)
		}
	case !guests && b.childHasGuests && !b.childHasOthers:
		// The child exists by other records, too.
		b.Children--
		b.FirstChildren = b.FirstChildren[:min(len(b.FirstChildren), b.Children)]
	}

	b.childHasGuests, b.childHasOthers = b.childHasGuests || guests, b.childHasOthers || !guests
	if guests {
		b.GuestNames++
	} else if len(o.Values) == 0 {
		b.CutNames++
	}
}
