// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"net/netip"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const (
	// MaxReverseLinks limits the reverse zones that derive PTR from one zone, since each write there reads their list.
	MaxReverseLinks = 64
	// MaxPTRNames limits the names stored at an address, and its PTR: an RRset has no more values (S5.8).
	MaxPTRNames = rdata.MaxValues
)

// ReverseLink is a zone that derives PTR from another zone of its namespace and view.
type ReverseLink struct {
	Ref
	View string    `json:"view,omitempty"`
	FQDN name.Name `json:"fqdn"`
}

// ReverseLinks lists the zones that derive PTR from a Zone object, whether the object exists or not.
type ReverseLinks struct {
	List []ReverseLink `json:"l"`
}

func (l *ReverseLinks) InView(view string) []ReverseLink {
	if l == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.List), func(x ReverseLink) bool { return x.View != view })
}

// WithLink returns the links with or without one, sorted by UID, or nil for none.
func (l *ReverseLinks) WithLink(link ReverseLink, present bool) *ReverseLinks {
	out := &ReverseLinks{}
	if l != nil {
		out.List = slices.DeleteFunc(slices.Clone(l.List), func(x ReverseLink) bool { return x.UID == link.UID })
	}
	if present {
		out.List = append(out.List, link)
		slices.SortFunc(out.List, func(x, y ReverseLink) int { return cmp.Compare(x.UID, y.UID) })
	}
	if len(out.List) == 0 {
		return nil
	}
	return out
}

// Addressed lists the owners in a reverse zone, sorted, at which a name of another zone is counted.
type Addressed struct {
	Owners []name.Rel `json:"o"`
}

// PTRName is a name with an address. Own names come before tenants', then the name that was there first.
type PTRName struct {
	Name   name.Name `json:"n"`
	Zone   string    `json:"z"` // the UID of the name's zone
	Since  int64     `json:"t"` // in Unix nanoseconds
	Tenant bool      `json:"g,omitempty"`
}

func (x PTRName) compare(y PTRName) int {
	if x.Tenant != y.Tenant {
		return cmp.Compare(map[bool]int{true: 1}[x.Tenant], map[bool]int{true: 1}[y.Tenant])
	}
	return cmp.Or(cmp.Compare(x.Since, y.Since), x.Name.Compare(y.Name), cmp.Compare(x.Zone, y.Zone))
}

// PTRObject is the Object of the CutKey of the PTR at an owner. No UID of a child zone begins with "@".
func PTRObject(owner name.Rel) string { return "@" + owner.Key() }

// AddressOf returns the address of an A or AAAA value, or false for another type.
func AddressOf(v rdata.Value) (netip.Addr, bool) {
	if v.Type != rdata.A && v.Type != rdata.AAAA {
		return netip.Addr{}, false
	}
	address, err := netip.ParseAddr(v.Text)
	return address, err == nil
}
