// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/pattern"
)

// provesOnly are types that prove or pin something. A rule for such types alone reserves no name (S4.21).
var provesOnly = []rdata.Type{rdata.TXT, rdata.CAA, rdata.DS, rdata.TLSA, rdata.SSHFP}

func hasMinTail(p pattern.Pattern, labels int, zone name.Name) bool {
	return p.IsLiteral() || p.Tail(zone) >= labels
}

func (r *Rule) eachReserving(do func(pattern.Pattern)) {
	if len(r.Namespaces) == 0 {
		return
	}
	for i := range r.Records {
		rr := &r.Records[i]
		proves := len(rr.Types) > 0 && !slices.ContainsFunc(rr.Types, func(t rdata.Type) bool { return !slices.Contains(provesOnly, t) })
		if rr.Pattern.IsLiteral() && !proves {
			do(rr.Pattern)
		}
	}
	for _, p := range r.Zones {
		if p.IsLiteral() {
			do(p)
		}
	}
}

// ListNamed returns the names reserved by the rule, sorted without repetition.
func (r *Rule) ListNamed(zone name.Name) (names []name.Rel) {
	r.eachReserving(func(p pattern.Pattern) {
		n, ok := p.LiteralName(zone)
		if rel, below := n.Rel(zone); ok && below {
			if _, named := p.IsAbove(rel, zone); named {
				names = append(names, rel)
			}
		}
	})
	slices.SortFunc(names, name.Rel.Compare)
	return slices.Compact(names)
}

// ListNamed returns the names reserved by rules of the Zone, sorted.
func (s *Set) ListNamed() []Named {
	var out []Named
	for i := range s.Lists[0] {
		r := &s.Lists[0][i]
		for _, n := range r.ListNamed(s.Zone) {
			at, found := slices.BinarySearchFunc(out, n, func(x Named, n name.Rel) int { return x.Name.Compare(n) })
			if !found {
				out = slices.Insert(out, at, Named{Name: n})
			}
			all := append(out[at].Namespaces, r.Namespaces...)
			slices.Sort(all)
			out[at].Namespaces = slices.Compact(all)
		}
	}
	return out
}

type Named struct {
	Name       name.Rel
	Namespaces []string
}

// ReservedAbove is a reserved name by its number of labels, Mine if reserved for the namespace.
type ReservedAbove struct {
	Labels int
	Mine   bool
}

// FindReserved lists the names at or above n that patterns without "*" reserve, and whether for the namespace. Below a
// reserved pay, others need a pattern such as "*.pay".
func (s *Set) FindReserved(n name.Rel, namespace string) (out []ReservedAbove) {
	for _, list := range s.Lists {
		for i := range list {
			r := &list[i]
			mine := slices.Contains(r.Namespaces, namespace)
			r.eachReserving(func(p pattern.Pattern) {
				labels, ok := p.IsAbove(n, s.Zone)
				if !ok {
					return
				}
				at := slices.IndexFunc(out, func(x ReservedAbove) bool { return x.Labels == labels })
				if at < 0 {
					at, out = len(out), append(out, ReservedAbove{Labels: labels})
				}
				out[at].Mine = out[at].Mine || mine
			})
		}
	}
	return out
}

// MinTailFor returns how many labels a tenant's pattern needs after its "*" to match n, so that no wildcard takes a
// name reserved for others: 1 below a reserved "pay", as in "*.pay"; 0 for any number.
func (s *Set) MinTailFor(n name.Rel, namespace string) (least int) {
	if namespace == s.OwnNamespace {
		return 0
	}
	for _, x := range s.FindReserved(Base(n), namespace) {
		if !x.Mine {
			least = max(least, x.Labels)
		}
	}
	return least
}

// WithMinTail returns the set without tenants' patterns with "*" and a tail of fewer than least labels (S4.20).
func (s *Set) WithMinTail(least int) *Set {
	out := *s
	out.minTail = least
	return &out
}

func (s *Set) reaches(p pattern.Pattern, namespace string) bool {
	return s.minTail == 0 || namespace == s.OwnNamespace || hasMinTail(p, s.minTail, s.Zone)
}

func (s *Set) MayAllowBelow(n name.Rel, namespace string) bool {
	for _, list := range s.Lists {
		for i := range list {
			r := &list[i]
			if r.CoversNamespace(namespace) && slices.ContainsFunc(r.Records, func(rr RecordRule) bool {
				return s.reaches(rr.Pattern, namespace) && rr.Pattern.MayMatchBelow(n, s.Zone)
			}) {
				return true
			}
		}
	}
	return false
}
