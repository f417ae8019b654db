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
	// DS has the zone contain the DS of the child zones that the rule allows (S4.9).
	DS bool
}

// RecordRule allows types at the names a pattern matches.
type RecordRule struct {
	Pattern pattern.Pattern
	// Text is the pattern as written.
	Text string
	// Types none: see S4.3.
	Types  []rdata.Type
	Shared bool
}

// namedOnly are the types that another namespace gets only from a rule that names them (S4.3). A type by number is so
// for every namespace: no server validates its octets before they reach a server that knows the type.
var namedOnly = []rdata.Type{rdata.NS, rdata.DS, rdata.DNSKEY, rdata.CDS, rdata.CDNSKEY, rdata.CSYNC, rdata.DNAME}

func (r *Rule) coversNamespace(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

// knownTo reports whether the zone is of the namespace, or some rule of it is for the namespace. To other namespaces
// a zoneRef to it is answered as if there were no such zone (S2.3), so that refusals do not tell names and views of
// zones (S1.7).
func (z *Zone) knownTo(namespace string) bool {
	if z.Namespace == namespace {
		return true
	}
	for _, rules := range z.rules() {
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
// namespace, or one with shared: true, which gives names to the zone's own namespace (S4.6). changed false: nothing
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

// text is the same for rules that say the same: it is what is stored of one, which has all of it (S4.8).
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

// mustName reports whether only a rule that names the type allows it (S4.3).
func mustName(t rdata.Type, own bool) bool {
	return t.ByNumber() || !own && slices.Contains(namedOnly, t)
}

// grant is one rule that allows a (name, type, namespace).
type grant struct {
	text       string
	shared     bool
	underscore bool // names the underscore label of the name literally (S4.7)
	literal    bool // names the name literally
	single     bool // is for this one namespace
}

// findGrants lists the rules of the zone that allow the record (S4.1–S4.4).
func (z *Zone) findGrants(n name.Name, t rdata.Type, namespace string) []grant {
	var out []grant
	own := namespace == z.Namespace
	for _, rules := range z.rules() {
		for i := range rules {
			r := &rules[i]
			if !r.coversNamespace(namespace) {
				continue
			}
			for j := range r.Records {
				rr := &r.Records[j]
				if !rr.allowsType(t, own) || !rr.Pattern.Match(n, z.FQDN()) {
					continue
				}
				out = append(out, grant{
					text:       rr.Text,
					shared:     rr.Shared,
					underscore: rr.Pattern.NamesUnderscore(n, z.FQDN()),
					literal:    rr.Pattern.Names(n, z.FQDN()),
					single:     len(r.Namespaces) == 1,
				})
			}
		}
	}
	return out
}

// AllowsRecord reports whether the rules of z allow the namespace a record: a rule lists it, and its base name or its
// underscore label (S4.6). Whether another namespace has the name is another question.
func (z *Zone) AllowsRecord(n name.Name, t rdata.Type, namespace string) bool {
	owner, ok := n.Rel(z.FQDN())
	grants := z.findGrants(n, t, namespace)
	if !ok || len(grants) == 0 || namespace == z.Namespace {
		return ok && len(grants) > 0
	}
	at, err := Base(owner).In(z.FQDN())
	return err == nil && z.allowsName(at, namespace) || slices.ContainsFunc(grants, func(g grant) bool { return g.underscore })
}

// listsShared reports whether a rule with shared: true lists a name literally: then several namespaces are to feed
// the name, and none becomes its holder by a wider rule (S4.6).
func (z *Zone) listsShared(owner name.Rel) bool {
	at, err := owner.In(z.FQDN())
	return err == nil && slices.ContainsFunc(z.Rules, func(r Rule) bool {
		return slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Shared && rr.Pattern.Names(at, z.FQDN()) })
	})
}

// listSharedNames returns the names that rules with shared: true list literally (S4.6).
func (z *Zone) listSharedNames() []name.Rel {
	var out []name.Rel
	for i := range z.Rules {
		for j := range z.Rules[i].Records {
			rr := &z.Rules[i].Records[j]
			if !rr.Shared {
				continue
			}
			if n, ok := rr.Pattern.Only(z.FQDN()); ok {
				if rel, ok := n.Rel(z.FQDN()); ok {
					out = append(out, rel)
				}
			}
		}
	}
	return out
}

// DelegatesZone reports whether a rule of z allows the namespace a zone named n (S3.1). Rules of Delegations count in
// a zone of reading.ruledFor.
func (z *Zone) DelegatesZone(n name.Name, namespace string) bool {
	return z.zoneRule(namespace, func(p pattern.Pattern) bool { return p.Match(n, z.FQDN()) })
}

// delegatesDS reports whether such a rule has z contain the DS of that zone (S4.9).
func (z *Zone) delegatesDS(n name.Name, namespace string) bool {
	for _, rules := range z.rules() {
		if slices.ContainsFunc(rules, func(r Rule) bool {
			return r.DS && r.coversNamespace(namespace) && slices.ContainsFunc(r.Zones, func(p pattern.Pattern) bool { return p.Match(n, z.FQDN()) })
		}) {
			return true
		}
	}
	return false
}

// namesZone reports whether a rule that allows the zone names it literally.
func (z *Zone) namesZone(n name.Name, namespace string) bool {
	return z.zoneRule(namespace, func(p pattern.Pattern) bool { return p.Names(n, z.FQDN()) })
}

// namesUnderscoreZone reports whether a rule that allows the zone names its underscore label literally (S4.7).
func (z *Zone) namesUnderscoreZone(n name.Name, namespace string) bool {
	return z.zoneRule(namespace, func(p pattern.Pattern) bool { return p.NamesUnderscore(n, z.FQDN()) })
}

func (z *Zone) zoneRule(namespace string, matches func(pattern.Pattern) bool) bool {
	for _, rules := range z.rules() {
		if slices.ContainsFunc(rules, func(r Rule) bool { return r.coversNamespace(namespace) && slices.ContainsFunc(r.Zones, matches) }) {
			return true
		}
	}
	return false
}

// allowsName reports whether a rule of z allows the namespace some type at n.
func (z *Zone) allowsName(n name.Name, namespace string) bool {
	for _, rules := range z.rules() {
		if slices.ContainsFunc(rules, func(r Rule) bool {
			return r.coversNamespace(namespace) && slices.ContainsFunc(r.Records, func(rr RecordRule) bool { return rr.Pattern.Match(n, z.FQDN()) })
		}) {
			return true
		}
	}
	return false
}

// Base is the base name of an owner (S4.6): the labels after the last one that
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

// admitted says how a record is let in.
type admitted struct {
	admission Admission
	// text of the pattern that lets it in.
	text string
	// meant says that a rule that allows it names the underscore label literally, so that it may
	// speak for names below (S4.7).
	meant bool
}

// admitRecord decides whether a namespace may put a record at a name (S4.5–S4.7); c says
// which namespace the base name belongs to.
func (z *Zone) admitRecord(n name.Name, owner name.Rel, t rdata.Type, namespace string, c claim) (admitted, *Refusal) {
	grants := z.findGrants(n, t, namespace)
	if len(grants) == 0 {
		return admitted{}, z.notDelegated(n, owner, t, namespace)
	}
	if namespace == z.Namespace {
		return admitted{admission: AdmittedPlain, text: grants[0].text}, nil
	}
	if isWildcard(owner) {
		grants = slices.DeleteFunc(grants, func(g grant) bool { return !g.shared && !g.single })
		if len(grants) == 0 {
			return admitted{}, forbidden(ReasonDelegationWithdrawn, "zone %s does not delegate the wildcard %s to namespace %q (its owner can add a delegation with pattern %q for this one namespace, or with shared: true)", z.FQDN(), n, namespace, patternFor(owner))
		}
	}
	meant := slices.ContainsFunc(grants, func(g grant) bool { return g.underscore })
	at, err := Base(owner).In(z.FQDN())
	if err != nil {
		at = z.FQDN()
	}
	speaks := owner == Base(owner) || z.allowsName(at, namespace)
	by := func(a Admission, allows func(grant) bool) (admitted, bool) {
		i := slices.IndexFunc(grants, allows)
		if i < 0 {
			return admitted{}, false
		}
		return admitted{admission: a, text: grants[i].text, meant: meant}, true
	}
	free := c.namespace == "" || c.namespace == namespace
	plain, isPlain := by(AdmittedPlain, func(g grant) bool { return !g.shared && !g.underscore && (free || c.yields && g.literal) })
	if isPlain && speaks {
		return plain, nil
	}
	if a, ok := by(AdmittedUnderscore, func(g grant) bool { return g.underscore }); ok {
		return a, nil
	}
	shared, isShared := by(AdmittedShared, func(g grant) bool { return g.shared })
	switch {
	case isShared && speaks:
		return shared, nil
	case isPlain || isShared:
		hint := fmt.Sprintf("its owner can add a delegation with pattern %q", patternFor(Base(owner)))
		if slices.ContainsFunc(owner.Labels(), isUnderscore) {
			hint += fmt.Sprintf(", or with %q", owner)
		}
		return admitted{}, forbidden(ReasonDelegationWithdrawn, "zone %s delegates %s at %s to namespace %q, but not %s, for which that speaks (S4.6; %s)", z.FQDN(), t, n, namespace, at, hint)
	case c.yields:
		return admitted{}, forbidden(ReasonNameHeld, "%s of zone %s is held by another namespace, though no record stands there, and no delegation that names it or the underscore label literally, or with shared: true, allows %s at %s to namespace %q (S4.6; choose another name, or ask the zone's owner for such a delegation)", at, z.FQDN(), t, n, namespace)
	}
	return admitted{}, forbidden(ReasonNameHeld, "%s of zone %s is held by another namespace, and no delegation with shared: true or with the literal underscore label allows %s at %s to namespace %q beside it (choose another name, or ask the zone's owner for such a delegation)", at, z.FQDN(), t, n, namespace)
}
