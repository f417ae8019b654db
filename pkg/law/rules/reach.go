// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/pattern"
)

// A rule that gives a name literally to some namespaces reserves it for them, with all below it (S4.20). Patterns with
// "*" of all others go on there only where they say so: their tail, the labels behind the last one with "*", is that
// name or below it. Of several such names above one the deepest decides, so a number of labels is all that is compared.

// provesOnly are the types by which a namespace proves or pins something. A rule for these alone names nothing.
var provesOnly = []rdata.Type{rdata.TXT, rdata.CAA, rdata.DS, rdata.TLSA, rdata.SSHFP}

// Reaches reports whether a pattern of a tenant reaches what is at or below a name that a rule names for others.
func Reaches(p pattern.Pattern, named name.Rel, zone name.Name) bool {
	return reaches(p, named.NumLabels(), zone)
}

// reaches is Reaches for a name of so many labels below the zone's.
func reaches(p pattern.Pattern, labels int, zone name.Name) bool {
	return p.IsLiteral() || p.Tail(zone) >= labels
}

// eachNaming goes through the patterns of a rule that may name a name.
func (r *Rule) eachNaming(do func(pattern.Pattern)) {
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

// ListNamed returns the names of the zone that the rule names for its namespaces, each once, sorted.
func (r *Rule) ListNamed(zone name.Name) (names []name.Rel) {
	r.eachNaming(func(p pattern.Pattern) {
		n, ok := p.Only(zone)
		if rel, below := n.Rel(zone); ok && below {
			if _, named := p.IsAbove(rel, zone); named {
				names = append(names, rel)
			}
		}
	})
	slices.SortFunc(names, name.Rel.Compare)
	return slices.Compact(names)
}

// ListNamed returns the names that the rules of the Zone name, each once with the namespaces of its rules, sorted.
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

// Named is a name and the namespaces that it is named for, sorted.
type Named struct {
	Name       name.Rel
	Namespaces []string
}

// NamedAbove is a name that rules name, by its number of labels. Mine says that one of them is for the namespace that
// asks.
type NamedAbove struct {
	Labels int
	Mine   bool
}

// FindNamed returns the names at or above n that rules of the Zone name, or of Delegations for the namespace.
func (s *Set) FindNamed(n name.Rel, namespace string) (out []NamedAbove) {
	for _, list := range s.Lists {
		for i := range list {
			r := &list[i]
			mine := slices.Contains(r.Namespaces, namespace)
			r.eachNaming(func(p pattern.Pattern) {
				labels, ok := p.IsAbove(n, s.Zone)
				if !ok {
					return
				}
				at := slices.IndexFunc(out, func(x NamedAbove) bool { return x.Labels == labels })
				if at < 0 {
					at, out = len(out), append(out, NamedAbove{Labels: labels})
				}
				out[at].Mine = out[at].Mine || mine
			})
		}
	}
	return out
}

// LeastLabels is how many labels the tail of a pattern of the namespace has to have to reach n in spite of the names
// that rules of the Zone name; 0: any reaches it.
func (s *Set) LeastLabels(n name.Rel, namespace string) (least int) {
	if namespace == s.Own {
		return 0
	}
	for _, x := range s.FindNamed(Base(n), namespace) {
		if !x.Mine {
			least = max(least, x.Labels)
		}
	}
	return least
}

// Reaching is the set without what does not reach a base name: patterns of tenants with "*" and a tail of less than so
// many labels (S4.20).
func (s *Set) Reaching(least int) *Set {
	out := *s
	out.least = least
	return &out
}

// reaches reports whether a pattern for the namespace reaches the base name that the set is asked about.
func (s *Set) reaches(p pattern.Pattern, namespace string) bool {
	return s.least == 0 || namespace == s.Own || reaches(p, s.least, s.Zone)
}

// MayAllowBelow reports whether a pattern that reaches may give the namespace a record at a name or below it.
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
