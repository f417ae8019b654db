// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/pattern"
)

// Rule is one delegation of a zone (S4.2), parsed.
type Rule struct {
	Records []RecordRule
	Zones   []pattern.Pattern
	// Namespaces it is for; none: any.
	Namespaces []string
	// DS has the zone contain the DS of the child zones that the rule allows (S6.16).
	DS bool
}

// RecordRule allows types at the names a pattern matches.
type RecordRule struct {
	Pattern pattern.Pattern
	// Text is the pattern as written.
	Text string
	// Types none: see S4.5.
	Types  []rdata.Type
	Shared bool
}

// namedOnly are the types that another namespace gets only from a rule that names them (S4.5). A type by number is so
// for every namespace: no server validates its octets before they reach a server that knows the type.
var namedOnly = []rdata.Type{rdata.NS, rdata.DS, rdata.DNSKEY, rdata.CDS, rdata.CDNSKEY, rdata.CSYNC, rdata.DNAME}

func (r *Rule) coversNamespace(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

// knownTo reports whether the zone is of the namespace, or some rule of it is for the namespace. To other namespaces
// a zoneRef to it is answered as if there were no such zone (S2.3), so that refusals do not tell names and views of
// zones (S1.8).
func (z *Zone) knownTo(namespace string) bool {
	if z.Namespace == namespace {
		return true
	}
	for _, rules := range z.RuleSet().Lists {
		if slices.ContainsFunc(rules, func(r Rule) bool { return len(r.Records)+len(r.Zones) > 0 && r.coversNamespace(namespace) }) {
			return true
		}
	}
	return false
}

// absentMessage says that a zoneRef leads to no zone, in the same words where there is none and where the namespace
// does not know it (S2.3).
func absentMessage(target *Ref, namespace string) string {
	if target.Namespace == namespace {
		return fmt.Sprintf("zone %s/%s does not exist yet", target.Namespace, target.Name)
	}
	return fmt.Sprintf("zone %s/%s does not exist, or delegates nothing to namespace %q yet", target.Namespace, target.Name, namespace)
}

// ChangedRules returns the namespaces of the rules that came, went or changed. Records of other namespaces are
// decided as before (S2.5). It returns none where every namespace is concerned: the limit changed, or a rule for any
// namespace, or one with shared: true, which gives names to the zone's own namespace (S4.8). changed false: nothing
// but the order changed.
func ChangedRules(before, after *Zone) (namespaces []string, changed bool) {
	rest := before.ZoneRules
	if rest.Rules = after.Rules; !reflect.DeepEqual(rest, after.ZoneRules) {
		return nil, true // anything but the rules concerns every namespace
	}
	if reflect.DeepEqual(before.Rules, after.Rules) {
		return nil, false
	}
	differ := map[string]int{}
	for i := range before.Rules {
		differ[before.Rules[i].text()]--
	}
	for i := range after.Rules {
		differ[after.Rules[i].text()]++
	}
	for _, rules := range [][]Rule{before.Rules, after.Rules} {
		for i := range rules {
			r := &rules[i]
			if differ[r.text()] == 0 {
				continue
			}
			if len(r.Namespaces) == 0 || slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Shared }) {
				return nil, true
			}
			namespaces = append(namespaces, r.Namespaces...)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), len(namespaces) > 0
}

// text is the same for rules that say the same: it is what is stored of one, which has all of it (S4.3).
func (r *Rule) text() string {
	text, err := r.MarshalJSON()
	if err != nil {
		panic(fmt.Sprintf("law: a rule has no stored form: %v", err)) // its fields are text and lists of text
	}
	return string(text)
}

func (r *RecordRule) allowsType(t rdata.Type, own bool) bool {
	if len(r.Types) > 0 {
		return slices.Contains(r.Types, t)
	}
	return !mustName(t, own)
}

// mustName reports whether only a rule that names the type allows it (S4.5).
func mustName(t rdata.Type, own bool) bool {
	return t.ByNumber() || !own && slices.Contains(namedOnly, t)
}

// Set is the rules by which a zone decides about one namespace.
type Set struct {
	Zone name.Name
	// Own is the zone's own namespace.
	Own string
	// Lists are those of the Zone, and those that Delegations give the namespace.
	Lists [2][]Rule
}

// grant is one rule that allows a (name, type, namespace).
type grant struct {
	text       string
	rule       *Rule
	shared     bool
	underscore bool // names each underscore label of the name literally (S4.14)
	literal    bool // names the name literally
}

// findGrants lists the rules of the zone that allow the record (S4.1–S4.6).
func (s *Set) findGrants(n name.Name, t rdata.Type, namespace string) []grant {
	var out []grant
	own := namespace == s.Own
	for _, rules := range s.Lists {
		for i := range rules {
			r := &rules[i]
			if !r.coversNamespace(namespace) {
				continue
			}
			for j := range r.Records {
				rr := &r.Records[j]
				if !rr.allowsType(t, own) || !rr.Pattern.Match(n, s.Zone) {
					continue
				}
				out = append(out, grant{
					text:       rr.Text,
					rule:       r,
					shared:     rr.Shared,
					underscore: rr.Pattern.NamesUnderscore(n, s.Zone),
					literal:    rr.Pattern.Names(n, s.Zone),
				})
			}
		}
	}
	return out
}

// AllowsRecord reports whether the rules of z allow the namespace a record: a rule lists it, and its base name or its
// underscore label (S4.8). Whether another namespace has the name is another question.
func (s *Set) AllowsRecord(n name.Name, t rdata.Type, namespace string) bool {
	owner, ok := n.Rel(s.Zone)
	grants := s.findGrants(n, t, namespace)
	if !ok || len(grants) == 0 || namespace == s.Own {
		return ok && len(grants) > 0
	}
	at, err := Base(owner).In(s.Zone)
	return err == nil && s.allowsName(at, namespace) || slices.ContainsFunc(grants, func(g grant) bool { return g.underscore })
}

// listsShared reports whether a rule with shared: true names a name literally: then it is the zone's own namespace's
// (S4.10).
func (s *Set) listsShared(owner name.Rel) bool {
	return slices.ContainsFunc(s.Lists[0], func(r Rule) bool { return r.namesShared(owner, s.Zone) })
}

// namesShared reports whether the rule names a name of the zone literally, with shared: true.
func (r *Rule) namesShared(owner name.Rel, zone name.Name) bool {
	at, err := owner.In(zone)
	return err == nil && slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Shared && rr.Pattern.Names(at, zone) })
}

// sharesName reports whether the rule gives a name of the zone, of whatever type, with shared: true.
func (r *Rule) sharesName(owner name.Rel, zone name.Name) bool {
	at, err := owner.In(zone)
	return err == nil && slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Shared && rr.Pattern.Match(at, zone) })
}

// sharesBelow reports whether one pattern of the rule with shared: true matches all names below one.
func (r *Rule) sharesBelow(owner name.Rel, zone name.Name) bool {
	at, err := owner.In(zone)
	return err == nil && slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Shared && rr.Pattern.MatchBelow(at, zone) })
}

// listSharedNames returns the names that rules with shared: true list literally (S4.8).
func (s *Set) listSharedNames() []name.Rel {
	var out []name.Rel
	for i := range s.Lists[0] {
		for j := range s.Lists[0][i].Records {
			rr := &s.Lists[0][i].Records[j]
			if !rr.Shared {
				continue
			}
			if n, ok := rr.Pattern.Only(s.Zone); ok {
				if rel, ok := n.Rel(s.Zone); ok {
					out = append(out, rel)
				}
			}
		}
	}
	return out
}

// DelegatesZone reports whether a rule of z allows the namespace a zone named n (S3.1). A tenant's zone at an
// underscore name speaks for its base name and all below, so the rule names that label literally (S4.19). Rules of
// Delegations count in a zone of reading.ruledFor.
func (s *Set) DelegatesZone(n name.Name, namespace string) bool {
	owner, ok := n.Rel(s.Zone)
	if ok && namespace != s.Own && Base(owner) != owner {
		return s.zoneRule(namespace, func(p pattern.Pattern) bool { return p.NamesUnderscore(n, s.Zone) })
	}
	return s.zoneRule(namespace, func(p pattern.Pattern) bool { return p.Match(n, s.Zone) })
}

// delegatesDS reports whether such a rule has z contain the DS of that zone (S6.16).
func (s *Set) delegatesDS(n name.Name, namespace string) bool {
	for _, rules := range s.Lists {
		if slices.ContainsFunc(rules, func(r Rule) bool {
			return r.DS && r.coversNamespace(namespace) && slices.ContainsFunc(r.Zones, func(p pattern.Pattern) bool { return p.Match(n, s.Zone) })
		}) {
			return true
		}
	}
	return false
}

// namesZone reports whether a rule that allows the zone names it literally.
func (s *Set) namesZone(n name.Name, namespace string) bool {
	return s.zoneRule(namespace, func(p pattern.Pattern) bool { return p.Names(n, s.Zone) })
}

func (s *Set) zoneRule(namespace string, matches func(pattern.Pattern) bool) bool {
	for _, rules := range s.Lists {
		if slices.ContainsFunc(rules, func(r Rule) bool { return r.coversNamespace(namespace) && slices.ContainsFunc(r.Zones, matches) }) {
			return true
		}
	}
	return false
}

// allowsName reports whether a rule of z allows the namespace some type at n.
func (s *Set) allowsName(n name.Name, namespace string) bool {
	for _, rules := range s.Lists {
		if slices.ContainsFunc(rules, func(r Rule) bool {
			return r.coversNamespace(namespace) && slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Pattern.Match(n, s.Zone) })
		}) {
			return true
		}
	}
	return false
}

// namesFor reports whether a rule of z names n literally for the namespace, for some type. Where that rule went, the
// records that it let in excuse each other no more (S4.17).
func (s *Set) namesFor(n name.Name, namespace string) bool {
	for _, rules := range s.Lists {
		if slices.ContainsFunc(rules, func(r Rule) bool {
			return r.coversNamespace(namespace) &&
				slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Pattern.Names(n, s.Zone) })
		}) {
			return true
		}
	}
	return false
}

// Base is the base name of an owner (S4.8): the labels after the last one that
// is "*" or begins with "_".
func Base(owner name.Rel) name.Rel {
	labels := owner.Labels()
	for i := len(labels) - 1; i >= 0; i-- {
		if labels[i] == "*" || isUnderscore(labels[i]) {
			for ; i >= 0; i-- {
				owner, _ = owner.Parent()
			}
			return owner
		}
	}
	return owner
}

func isUnderscore(label string) bool { return strings.HasPrefix(label, "_") }

func isWildcard(owner name.Rel) bool {
	s := owner.String()
	return s == "*" || strings.HasPrefix(s, "*.")
}

// patternFor is the pattern that a zone's owner would add for one name.
func patternFor(owner name.Rel) string {
	if owner.IsApex() {
		return "@"
	}
	return owner.String()
}

func (z *Zone) notDelegated(n name.Name, owner name.Rel, t rdata.Type, namespace string) *Refusal {
	hint := fmt.Sprintf("its owner can add a delegation with pattern %q", patternFor(owner))
	if mustName(t, namespace == z.Namespace) {
		hint += fmt.Sprintf(" that names type %s", t)
	}
	return forbidden(ReasonDelegationWithdrawn, "zone %s does not delegate %s at %s to namespace %q (%s)", z.FQDN(), t, n, namespace, hint)
}

// admitted says how a record is let in, and by which pattern.
type admitted struct {
	admission Admission
	text      string
}

// kinds are the kinds of rules that admit a record of a tenant, the first that passes does (S4.17).
var kinds = []Admission{AdmittedUnderscore, AdmittedShared, AdmittedLiteral, AdmittedPlain}

// kindOf is the kind of a grant for a tenant's record at owner (S4.7); "": its base name is not allowed.
func (s *Set) kindOf(g *grant, owner name.Rel, namespace string) Admission {
	base := Base(owner)
	switch {
	case g.underscore:
		return AdmittedUnderscore
	case g.shared && (owner == base || g.rule.sharesName(base, s.Zone)):
		return AdmittedShared
	case owner == base && g.literal:
		return AdmittedLiteral
	case owner == base:
		return AdmittedPlain
	}
	if at, err := base.In(s.Zone); err != nil || !s.allowsName(at, namespace) {
		return ""
	}
	return AdmittedPlain
}

// admitOwn admits a record of the zone's own namespace, which claims refuse nothing (S4.9).
func admitOwn(owner name.Rel, g *grant) admitted {
	for _, label := range owner.Labels() {
		if isUnderscore(label) {
			return admitted{AdmittedUnderscore, g.text}
		}
	}
	return admitted{AdmittedPlain, g.text}
}

func (z *Zone) baseNotDelegated(n name.Name, owner name.Rel, t rdata.Type, namespace string) *Refusal {
	base := Base(owner)
	at, err := base.In(z.FQDN())
	if err != nil {
		at = z.FQDN()
	}
	hint := fmt.Sprintf("its owner can add a delegation with pattern %q", patternFor(base))
	switch underscore := slices.ContainsFunc(owner.Labels(), isUnderscore); {
	case underscore && base.IsApex():
		hint = fmt.Sprintf("its owner can add a delegation with pattern %q", owner)
	case underscore:
		hint += fmt.Sprintf(", or with %q", owner)
	case base.IsApex():
		hint = "its owner can write it"
	}
	return forbidden(ReasonDelegationWithdrawn, "zone %s delegates %s at %s to namespace %q, but not %s, for which that speaks (S4.7; %s)",
		z.FQDN(), t, n, namespace, at, hint)
}
