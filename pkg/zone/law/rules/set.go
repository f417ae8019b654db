// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Admission is the kind of a rule that admits a record.
type Admission string

const (
	// AdmittedUnderscore is for rules that name every underscore label literally, and own records there.
	AdmittedUnderscore Admission = "Underscore"
	AdmittedShared     Admission = "Shared"
	AdmittedLiteral    Admission = "Literal"
	// AdmittedPlain is for other rules and own records.
	AdmittedPlain Admission = "Plain"
)

type Set struct {
	Zone         name.Name
	OwnNamespace string
	// Lists holds the rules of the Zone object, and the rules of Delegations for the namespace.
	Lists [2][]Rule
	// minTail is the least number of labels after the "*" of a tenant's pattern (MinTailFor), or 0 for any number.
	minTail int
}

// Grant is a pattern, as Text, that allows a record.
type Grant struct {
	Text       string
	Rule       *Rule
	Shared     bool
	underscore bool // names each underscore label literally
	Literal    bool
}

// FindGrants returns the patterns that allow the namespace a record of type t at n, in the order of the rules. A type
// of 0 means any type.
func (s *Set) FindGrants(n name.Name, t rdata.Type, namespace string) []Grant {
	var out []Grant
	own := namespace == s.OwnNamespace
	for _, rules := range s.Lists {
		for i := range rules {
			r := &rules[i]
			if !r.CoversNamespace(namespace) {
				continue
			}

			for j := range r.Records {
				rr := &r.Records[j]
				if t != 0 && !rr.allowsType(t, own) || !rr.Pattern.Match(n, s.Zone) {
					continue
				}
				// A reserved name stops patterns such as "*", but not "_acme-challenge.*".
				underscore := rr.Pattern.NamesUnderscore(n, s.Zone)
				if !underscore && !s.reaches(rr.Pattern, namespace) {
					continue
				}
				out = append(out, Grant{Text: rr.Text, Rule: r, Shared: rr.Shared, underscore: underscore,
					Literal: rr.Pattern.IsLiteralFor(n, s.Zone)})
			}
		}
	}

	return out
}

// AllowsRecord reports whether a rule allows the record. For a tenant (any namespace but the zone's own), a rule must
// also allow the base name (apps for *.apps) or name the underscore label literally.
func (s *Set) AllowsRecord(n name.Name, t rdata.Type, namespace string) bool {
	owner, inZone := n.Rel(s.Zone)
	if !inZone {
		return false
	}
	// A name reserved for others stops "*" (S4.20).
	s = s.WithMinTail(s.MinTailFor(owner, namespace))
	grants := s.FindGrants(n, t, namespace)
	if len(grants) == 0 {
		return false
	}
	return namespace == s.OwnNamespace || s.allowsBase(owner, namespace) ||
		slices.ContainsFunc(grants, func(g Grant) bool { return g.underscore })
}

// allowsBase reports whether a rule gives the namespace the base name of owner (S4.7): www for _acme-challenge.www.
func (s *Set) allowsBase(owner name.Rel, namespace string) bool {
	base, err := Base(owner).In(s.Zone)
	return err == nil && s.AllowsName(base, namespace)
}

func (s *Set) HasSharedLiteral(owner name.Rel) bool {
	return slices.ContainsFunc(s.Lists[0], func(r Rule) bool { return r.HasSharedLiteral(owner, s.Zone) })
}

// ListSharedLiterals returns the names in the zone that patterns with shared: true have literally. Delegations have no
// such patterns (S4.3).
func (s *Set) ListSharedLiterals() []name.Rel {
	var out []name.Rel
	for i := range s.Lists[0] {
		for j := range s.Lists[0][i].Records {
			rr := &s.Lists[0][i].Records[j]
			if owner, literal := rr.Pattern.LiteralOwner(s.Zone); literal && rr.Shared {
				out = append(out, owner)
			}
		}
	}
	return out
}

func (s *Set) HasSharedLiteralFor(owner name.Rel, namespace string) bool {
	return slices.ContainsFunc(s.Lists[0], func(r Rule) bool { return r.CoversNamespace(namespace) && r.HasSharedLiteral(owner, s.Zone) })
}

// DelegatesZone reports whether a rule allows the namespace a zone with the name n. If n is an underscore name of a
// tenant, the rule must name the label literally.
func (s *Set) DelegatesZone(n name.Name, namespace string) bool {
	return s.zoneRule(namespace, false, s.delegates(n, namespace))
}

func (s *Set) DelegatesDS(n name.Name, namespace string) bool {
	return s.zoneRule(namespace, true, s.delegates(n, namespace))
}

func (s *Set) delegates(n name.Name, namespace string) func(pattern.Pattern) bool {
	owner, ok := n.Rel(s.Zone)
	if ok && namespace != s.OwnNamespace && Base(owner) != owner {
		return func(p pattern.Pattern) bool { return p.NamesUnderscore(n, s.Zone) }
	}
	return func(p pattern.Pattern) bool { return p.Match(n, s.Zone) && s.reaches(p, namespace) }
}

// AllowsZone is like DelegatesZone, without the patterns stopped by a reserved name at or above n.
func (s *Set) AllowsZone(n name.Name, namespace string) bool {
	owner, ok := n.Rel(s.Zone)
	return ok && s.WithMinTail(s.MinTailFor(owner, namespace)).DelegatesZone(n, namespace)
}

func (s *Set) NamesZone(n name.Name, namespace string) bool {
	return s.zoneRule(namespace, false, func(p pattern.Pattern) bool { return p.IsLiteralFor(n, s.Zone) })
}

func (s *Set) zoneRule(namespace string, withDS bool, matches func(pattern.Pattern) bool) bool {
	for _, rules := range s.Lists {
		if slices.ContainsFunc(rules, func(r Rule) bool {
			return (r.DS || !withDS) && r.CoversNamespace(namespace) && slices.ContainsFunc(r.Zones, matches)
		}) {
			return true
		}
	}
	return false
}

func (s *Set) AllowsName(n name.Name, namespace string) bool {
	for _, rules := range s.Lists {
		if slices.ContainsFunc(rules, func(r Rule) bool {
			return r.CoversNamespace(namespace) && slices.ContainsFunc(r.Records,
				func(rr RecordRule) bool { return rr.Pattern.Match(n, s.Zone) && s.reaches(rr.Pattern, namespace) })
		}) {
			return true
		}
	}
	return false
}

func (s *Set) GivesTenants(n name.Name) bool {
	return slices.ContainsFunc(s.Lists[0], func(r Rule) bool {
		gives := func(p pattern.Pattern) bool { return p.Match(n, s.Zone) && s.reaches(p, "") }
		return !slices.Equal(r.Namespaces, []string{s.OwnNamespace}) && (slices.ContainsFunc(r.Zones, gives) ||
			slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return gives(rr.Pattern) }))
	})
}

// NamesFor reports whether a present rule gives the namespace n by a pattern without "*", for any type. RefuseClaim
// asks this, because records left from a deleted rule justify no new records.
func (s *Set) NamesFor(n name.Name, namespace string) bool {
	for _, rules := range s.Lists {
		if slices.ContainsFunc(rules, func(r Rule) bool {
			return r.CoversNamespace(namespace) &&
				slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Pattern.IsLiteralFor(n, s.Zone) })
		}) {
			return true
		}
	}
	return false
}

type AdmittingRule struct {
	Admission Admission
	Pattern   string
}

// Kinds are the kinds of rules, in the order of trial for a tenant's record.
var Kinds = []Admission{AdmittedUnderscore, AdmittedShared, AdmittedLiteral, AdmittedPlain}

// KindOf returns how a grant, a matching pattern, admits a tenant's record: underscore, shared, literal or plain, tried
// in this order. The result is "" if no rule gives the base name (apps for *.apps).
func (s *Set) KindOf(g *Grant, owner name.Rel, namespace string) Admission {
	switch {
	// "_acme-challenge.*" gives _acme-challenge.www, and "_dmarc" gives _dmarc.
	case g.underscore:
		return AdmittedUnderscore
	// A shared "*.pool" gives _acme-challenge.x.pool, with its base x.pool in the share.
	case g.Shared && s.sharesName(g.Rule, Base(owner), namespace):
		return AdmittedShared
	// "www" gives www. A literal pattern for a name with "_" is an underscore rule, above.
	case g.Literal:
		return AdmittedLiteral
	// "*" gives www, and _acme-challenge.www with its base.
	case s.allowsBase(owner, namespace):
		return AdmittedPlain
	}
	// "*._tcp.www" gives _443._tcp.www, but not the base www.
	return ""
}

func (s *Set) sharesName(r *Rule, base name.Rel, namespace string) bool {
	at, err := base.In(s.Zone)
	return err == nil && slices.ContainsFunc(r.Records, func(rr RecordRule) bool {
		return rr.Shared && rr.Pattern.Match(at, s.Zone) && s.reaches(rr.Pattern, namespace)
	})
}

func AdmitOwn(owner name.Rel, g *Grant) AdmittingRule {
	for _, label := range owner.Labels() {
		if IsUnderscore(label) {
			return AdmittingRule{AdmittedUnderscore, g.Text}
		}
	}
	return AdmittingRule{AdmittedPlain, g.Text}
}
