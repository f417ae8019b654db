// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law/rules"
)

// A guest is a tenant that writes by an underscore rule (S4.14). Guests claim no name, so OwnerValue counts their
// records.

// HasGuestsOnly reports whether the name has data, all of guests.
func (o *Owner) GuestsAlone() bool {
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

// GuestsBelow counts names below a name that exist because of guests.
type GuestsBelow struct {
	// CutNames counts the names with data of cuts alone, GuestNames of guests alone.
	Cuts, Guests int
	// Children counts the children (names right below) with only guests' data at and below, without underscore names.
	// FirstChildren has the first FirstNames, in key order.
	Children int
	First    []name.Rel

	last          name.Rel
	guests, hosts bool
}

// countOwner counts the owner at a name below up. All owners at and below a child of up must follow each other.
func (b *GuestsBelow) countOwner(up, at name.Rel, o *Owner) {
	if len(o.Values)+len(o.Cut) == 0 {
		return
	}
	child := at
	for n := at.NumLabels() - up.NumLabels(); n > 1; n-- {
		child, _ = child.Parent()
	}
	if child != b.last {
		b.last, b.guests, b.hosts = child, false, false
	}
	guests := o.GuestsAlone()
	switch {
	case rules.IsUnderscore(child.String()):
	case guests && !b.guests && !b.hosts:
		if b.Children++; b.Children <= FirstNames {
			b.First = append(b.First, child)
		}
	case !guests && b.guests && !b.hosts:
		b.Children--
		b.First = b.First[:min(len(b.First), b.Children)]
	}
	b.guests, b.hosts = b.guests || guests, b.hosts || !guests
	if guests {
		b.Guests++
	} else if len(o.Values) == 0 {
		b.Cuts++
	}
}
