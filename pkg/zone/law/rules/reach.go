// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// proofs are the types for proofs and pins.
var proofs = []rdata.Type{rdata.TXT, rdata.CAA, rdata.DS, rdata.TLSA, rdata.SSHFP}

// provesOnly reports whether the rule is for proofs alone. A TXT to prove the ownership of a domain leaves the name to
// others (S4.21).
func (rr *RecordRule) provesOnly() bool {
	return len(rr.Types) > 0 && !slices.ContainsFunc(rr.Types, func(t rdata.Type) bool { return !slices.Contains(proofs, t) })
}

func hasMinTail(p pattern.Pattern, labels int, zone name.Name) bool {
	return p.IsLiteral() || p.Tail(zone) >= labels
}

// visitReserving calls visit with each pattern by which the rule reserves a name for its namespaces (S4.20).
func (r *Rule) visitReserving(visit func(pattern.Pattern)) {
	// A rule for any namespace reserves nothing (S4.21).
	if len(r.Namespaces) == 0 {
		return
	}
	for i := range r.Records {
		if rr := &r.Records[i]; rr.Pattern.IsLiteral() && !rr.provesOnly() {
			visit(rr.Pattern)
		}
	}
	for _, p := range r.Zones {
		if p.IsLiteral() {
			visit(p)
		}
	}
}

// ListNamed returns the reserved names of the rule in the zone, sorted.
func (r *Rule) ListNamed(zone name.Name) (names []name.Rel) {
	r.visitReserving(func(p pattern.Pattern) {
		owner, literal := p.LiteralOwner(zone)
		if _, reserves := p.IsAbove(owner, zone); literal && reserves {
			names = append(names, owner)
		}
	})
	slices.SortFunc(names, name.Rel.Compare)
	return slices.Compact(names)
}

// ListNamed returns the names reserved by the rules of the Zone, sorted.
func (s *Set) ListNamed() []Named {
	var out []Named
	// Delegations count their names at the owners (Owner.Named).
	for i := range s.Lists[0] {
		r := &s.Lists[0][i]
		for _, n := range r.ListNamed(s.Zone) {
			index, found := slices.BinarySearchFunc(out, n, func(named Named, n name.Rel) int { return named.Name.Compare(n) })
			if !found {
				out = slices.Insert(out, index, Named{Name: n})
			}
			namespaces := append(out[index].Namespaces, r.Namespaces...)
			slices.Sort(namespaces)
			out[index].Namespaces = slices.Compact(namespaces)
		}
	}
	return out
}

type Named struct {
	Name       name.Rel
	Namespaces []string
}

// ReservedAbove is a reserved name, given by its number of labels. Mine is true if reserved for the namespace.
type ReservedAbove struct {
	Labels int
	Mine   bool
}

// FindReserved lists the names at or above n that patterns without "*" reserve, for the given namespace (Mine) or for
// others. Below a reserved pay, other namespaces need a pattern such as "*.pay".
func (s *Set) FindReserved(n name.Rel, namespace string) (out []ReservedAbove) {
	for _, list := range s.Lists {
		for i := range list {
			r := &list[i]
			mine := slices.Contains(r.Namespaces, namespace)
			r.visitReserving(func(p pattern.Pattern) {
				labels, ok := p.IsAbove(n, s.Zone)
				if !ok {
					return
				}
				index := slices.IndexFunc(out, func(reserved ReservedAbove) bool { return reserved.Labels == labels })
				if index < 0 {
					index, out = len(out), append(out, ReservedAbove{Labels: labels})
				}
				// Two rules may reserve a name for different namespaces.
				out[index].Mine = out[index].Mine || mine
			})
		}
	}
	return out
}

// MinTailFor returns the least number of labels after the "*" in a tenant's pattern for n, so that no wildcard takes a
// name reserved for others. The nearest reserved name at or above n decides: the result is 1 below another namespace's
// pay, as in "*.pay", and 0 if any pattern will do, as below the namespace's own x.pay.
func (s *Set) MinTailFor(n name.Rel, namespace string) int {
	if namespace == s.OwnNamespace {
		return 0
	}
	var nearest ReservedAbove
	for _, reserved := range s.FindReserved(Base(n), namespace) {
		if reserved.Labels > nearest.Labels {
			nearest = reserved
		}
	}
	if nearest.Mine {
		return 0
	}
	return nearest.Labels
}

func (s *Set) WithMinTail(minTail int) *Set {
	out := *s
	out.minTail = minTail
	return &out
}

func (s *Set) reaches(p pattern.Pattern, namespace string) bool {
	return s.minTail == 0 || namespace == s.OwnNamespace || hasMinTail(p, s.minTail, s.Zone)
}

// MayAllowBelow reports whether a rule may allow the namespace a record at or below n. It may be true in vain, but is
// never false in error.
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
