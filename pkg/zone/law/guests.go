// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law/rules"
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

// HiddenBelow counts the names below a name that exist in DNS without data that a client of a wildcard looks for, so
// that the wildcard's namespace is told. For example, q.shop makes shop exist, and "*" no longer answers for shop.
type HiddenBelow struct {
	// CutNames counts the names with only NS, glue or DS of child zones, and GuestNames the names with only records of
	// guests. A guest is a tenant whose rule names an underscore label, such as "_acme-challenge.*", and whose records
	// claim no name.
	CutNames, GuestNames int
	// Children counts the names directly below that exist only by names below them, without underscore names.
	// FirstChildren holds the first FirstNames of them.
	Children      int
	FirstChildren []name.Rel

	lastChild name.Rel // the name directly below, at or above the last owner
}

// countOwner counts the owner o at a name below up. The owners must come in key order.
func (b *HiddenBelow) countOwner(up, at name.Rel, o *Owner) {
	if !o.HasData() {
		return
	}
	child := at // or its ancestor right below up
	for range at.NumLabels() - up.NumLabels() - 1 {
		child, _ = child.Parent()
	}
	if child != b.lastChild { // the first owner of the child: the child itself, if it has data
		b.lastChild = child
		b.countChild(child, at)
	}

	if o.HasGuestsOnly() {
		b.GuestNames++
	} else if len(o.Values) == 0 {
		b.CutNames++
	}
}

// countChild counts a name right below that exists only by the name at. With data of its own, x.apps answers itself.
// For _tcp.apps, no client asks a wildcard.
func (b *HiddenBelow) countChild(child, at name.Rel) {
	if at == child || child.IsWildcard() || rules.IsUnderscore(child.String()) {
		return
	}
	if b.Children++; b.Children <= FirstNames {
		b.FirstChildren = append(b.FirstChildren, child)
	}
}
