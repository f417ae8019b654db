// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

func (c *check) checkNames() error {
	for _, r := range c.records {
		if r.zone != nil {
			c.checkRecord(r)
		}
	}
	for _, z := range c.zonesByName {
		c.checkParent(z)
		c.checkCoexistence(z)
		c.noteNestedClaims(z)
	}
	return nil
}

func (c *check) enclosing(view string, n name.Name) *zone {
	for ok := true; ok; n, ok = n.Parent() {
		if z := c.zonesByName[place{view, n}]; z != nil {
			return z
		}
	}
	return nil
}

// checkRecord checks that the zone nearest to a Record's name has the Record, and that a rule allows it or a period
// runs.
func (c *check) checkRecord(r *record) {
	differ := func(rule Rule, have, want string, args ...any) {
		c.reportDifference(c.isWorkPending(r), r.key, rule, have, want, args...)
	}
	c.checkPlace(r, differ)
	if !r.zone.Terminating { // lost rules withdraw nothing while the zone is being deleted
		c.checkAdmission(r, differ)
	}
}

// checkPlace requires that the zone with the longest name above a Record has it, in the Record's view and, if given,
// the zone of zoneRef.
func (c *check) checkPlace(r *record, differ func(rule Rule, have, want string, args ...any)) {
	z, n, have := r.zone, r.fqdn, "adopted by zone "+r.zone.key
	// DS at a child's apex belong to the parent (S2.1). The root has no parent.
	if r.Type == rdata.DS {
		n, _ = n.Parent()
	}
	switch up := c.enclosing(z.View, n); up {
	case z:
	case nil:
		differ("S2.1", have, "none: no zone encloses it")
	default:
		differ("S2.1", have, "zone %s, whose name is the longest above it", up.key)
	}

	view := r.View
	if r.ZoneRef != nil {
		if refText(r.ZoneRef) != refText(&z.Ref) {
			differ("S2.1", have, "%s alone, which its zoneRef names", refText(r.ZoneRef))
		}
		// Beside a zoneRef, an empty view means the zone's (S1.4).
		view = cmp.Or(view, z.View)
	}
	if view != z.View {
		differ("S1.4", have, "one of view %q", r.View)
	}
}

// checkAdmission requires a rule of the kind in status.admission or, if status.endsAt is set, a period that runs.
func (c *check) checkAdmission(r *record, differ func(rule Rule, have, want string, args ...any)) {
	kinds := r.zone.findKinds(r)
	isAllowed := slices.Contains(kinds, r.admission)
	if r.endsAt == 0 {
		if len(kinds) == 0 {
			differ("I5", "adopted by zone "+r.zone.key, "endsAt, or a rule that allows %s at %s, and the base name, to namespace %s",
				r.Type, r.fqdn, r.Namespace)
		} else if !isAllowed {
			// A cascade writes another kind when the admitting rule goes and a rule of that kind remains (S4.17).
			differ("S4.17", "admission "+string(r.admission), "endsAt, or one of %v, which rules allow", kinds)
		}
		return
	}

	end, w := fmt.Sprintf("endsAt %d", r.endsAt), c.withdrawals[law.WithdrawalKey(r.zone.UID, r.Namespace)]
	if isAllowed && r.admission != rules.AdmittedShared { // the sharing namespaces may have changed
		differ("S2.5", end, "none: a rule allows it")
	} else if isOver(w) {
		// The period belongs to namespace and zone, not to the Record.
		differ("S2.5", end, "a period that runs, not %s", encodeText(w))
	}
}

// isOver reports whether the period of a withdrawal is over, as that of none is.
func isOver(w *law.Withdrawal) bool { return w == nil || w.IsOver() }

// rulesFor returns the rules of the Zone object and of Delegations that concern a namespace.
func (z *zone) rulesFor(namespace string) []rules.Rule {
	given, ok := z.rulesByNamespace[namespace]
	if !ok {
		for _, r := range z.Rules {
			// A rule without namespaces is for every namespace (S4.2).
			if len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace) {
				given = append(given, r)
			}
		}
		for _, d := range z.delegatedRules[namespace] {
			given = append(given, d.Rule)
		}
		z.rulesByNamespace[namespace] = given
	}
	return given
}

// proofs are the types of proofs. A rule with no other types reserves no name.
var proofs = sets.New(rdata.TXT, rdata.CAA, rdata.DS, rdata.TLSA, rdata.SSHFP)

// literalNames returns the names that a rule reserves for its namespaces (S4.20, S4.21): pay for the pattern "pay",
// nothing for "*.pay" or "_acme-challenge.pay".
func (z *zone) literalNames(r *rules.Rule) sets.Set[name.Rel] {
	out := sets.New[name.Rel]()
	patterns := slices.Clone(r.Zones)
	for _, rr := range r.Records {
		// A pattern for proofs alone, such as TXT or CAA, reserves nothing (S4.21).
		if len(rr.Types) == 0 || !proofs.HasAll(rr.Types...) {
			patterns = append(patterns, rr.Pattern)
		}
	}

	for _, p := range patterns {
		// Neither "*.pay" nor "_acme-challenge.pay" is its own base name.
		if at, _ := z.ownerNamed(p.String()); base(at) == at {
			out.Insert(at)
		}
	}
	outside := name.Rel{}
	return out.Delete(name.Apex, outside)
}

// addReservations reserves the names of a rule. A rule for any namespace excludes none.
func (z *zone) addReservations(r *rules.Rule) {
	for n := range z.literalNames(r) {
		for _, ns := range r.Namespaces {
			o := z.ownerAt(n)
			i, found := slices.BinarySearchFunc(o.Named, ns, func(x law.Naming, ns string) int { return strings.Compare(x.Namespace, ns) })
			if !found {
				o.Named = slices.Insert(o.Named, i, law.Naming{Namespace: ns})
			}
			o.Named[i].Count++
		}
	}
}

// findReserved returns the first name, from of upwards, that rules reserve for other namespaces alone, or the apex if
// there is none. The zone's own namespace is never kept out (S4.21).
func (z *zone) findReserved(of name.Rel, namespace string) name.Rel {
	if z.reservedNames == nil {
		z.reserveNames()
	}
	for up, ok := of, namespace != z.Namespace; ok; up, ok = up.Parent() {
		switch to := z.reservedNames[up]; {
		case to.Has(namespace): // the nearest name decides (S4.20): below x.pay, pay of another namespace has no effect
			return name.Apex
		case len(to) > 0:
			return up
		}
	}

	return name.Apex
}

// reserveNames sets reservedNames from the Zone's rules and, from the owner facts, those of Delegations.
func (z *zone) reserveNames() {
	z.reservedNames = map[name.Rel]sets.Set[string]{}
	for i := range z.Rules {
		for n := range z.literalNames(&z.Rules[i]) {
			z.reserveName(n, z.Rules[i].Namespaces...)
		}
	}
	for n, o := range z.owners {
		for _, x := range o.Named {
			z.reserveName(n, x.Namespace)
		}
	}
}

func (z *zone) reserveName(n name.Rel, namespaces ...string) {
	if z.reservedNames[n] == nil {
		z.reservedNames[n] = sets.Set[string]{}
	}
	z.reservedNames[n].Insert(namespaces...)
}

// reachesBelow reports whether a pattern reaches names at and below a reserved name: the labels behind its last * must
// end in that name (S4.20). With pay reserved, "*.pay" does and "*" does not.
func (z *zone) reachesBelow(text string, reserved name.Rel) bool {
	if i := strings.LastIndexByte(text, '*'); i >= 0 {
		_, text, _ = strings.Cut(text[i:], ".")
	}
	// A pattern such as "*" has no literal tail, so its tail is the zone's name.
	at, ok := z.ownerNamed(cmp.Or(text, "@"))
	return reserved.IsApex() || ok && reserved.Encloses(at)
}

func anyPattern(given []rules.Rule, is func(rules.RecordRule) bool) bool {
	return slices.ContainsFunc(given, func(r rules.Rule) bool { return slices.ContainsFunc(r.Records, is) })
}

// A tenant gets namedTypes only if a rule lists them, because they change the answering servers.
var namedTypes = []rdata.Type{rdata.NS, rdata.DS, rdata.DNSKEY, rdata.CDS, rdata.CDNSKEY, rdata.CSYNC, rdata.DNAME}

// findKinds returns the kinds of rules that allow a record, with repetitions, or nil if none does: the name of the
// record, its type, and for tenants its base name too (S4.7).
func (z *zone) findKinds(r *record) (kinds []rules.Admission) {
	for _, rule := range z.rulesFor(r.Namespace) {
		for _, p := range rule.Records {
			if p.Pattern.Match(r.fqdn, z.FQDN()) && z.allowsType(p, r) {
				kinds = append(kinds, z.kindBy(p, &rule, r))
			}
		}
	}
	return slices.DeleteFunc(kinds, func(kind rules.Admission) bool { return kind == refused })
}

func (z *zone) allowsType(p rules.RecordRule, r *record) bool {
	if len(p.Types) > 0 {
		return slices.Contains(p.Types, r.Type)
	}
	// A tenant gets types that change the answering servers only if a rule lists them (S4.5).
	isReserved := r.Namespace != z.Namespace && slices.Contains(namedTypes, r.Type)
	return !r.Type.ByNumber() && !isReserved
}

// refused is the kind of no admission.
const refused rules.Admission = ""

// kindBy returns the kind in which a pattern of a rule, which matches the name and type of a record, admits it.
func (z *zone) kindBy(p rules.RecordRule, rule *rules.Rule, r *record) rules.Admission {
	if r.Namespace == z.Namespace {
		return ownKind(r.owner)
	}

	// Names at and below a reserved name belong to patterns that end in it.
	baseName := base(r.owner)
	at, _ := baseName.In(z.FQDN()) // a part of the record's name, so never too long
	reserved := z.findReserved(baseName, r.Namespace)
	givesBase := func(p rules.RecordRule) bool {
		return p.Pattern.Match(at, z.FQDN()) && z.reachesBelow(p.Pattern.String(), reserved)
	}
	sharesBase := func(p rules.RecordRule) bool { return p.Shared && givesBase(p) }

	switch {
	// A tenant needs a literal underscore label, and then needs no rule for the base name (S4.14).
	case p.Pattern.NamesUnderscore(r.fqdn, z.FQDN()):
		return rules.AdmittedUnderscore
	case !z.reachesBelow(p.Pattern.String(), reserved):
		return refused
	// Namespaces of a shared rule are one tenant only if the same rule also shares the base name (S4.13).
	case p.Shared && slices.ContainsFunc(rule.Records, sharesBase):
		return rules.AdmittedShared
	// A literal rule makes a weaker claim: other tenants may write above the name (S4.8).
	case baseName == r.owner && p.Pattern.IsLiteralFor(r.fqdn, z.FQDN()):
		return rules.AdmittedLiteral
	case anyPattern(z.rulesFor(r.Namespace), givesBase):
		return rules.AdmittedPlain
	}
	return refused
}

// ownKind returns the kind of the zone's own records: at an underscore name, always underscore records (S4.14).
func ownKind(owner name.Rel) rules.Admission {
	if slices.ContainsFunc(owner.Labels(), func(l string) bool { return strings.HasPrefix(l, "_") }) {
		return rules.AdmittedUnderscore
	}
	return rules.AdmittedPlain
}

// checkParent computes which zone above delegates a zone, and compares the result with the holding and the condition
// Delegated.
func (c *check) checkParent(z *zone) {
	// A change of the zone above is decided again by a cascade over the zones below.
	excused := c.anyScan(func(s *law.Scan) bool {
		return s.Kind == law.ScanZones && s.View == z.View && s.Name.Encloses(z.FQDN())
	})
	h := z.holding
	want, status := law.Ancestry{Established: h.Established}, metav1.ConditionTrue

	above, _ := z.FQDN().Parent()
	if p := c.enclosing(z.View, above); p != nil {
		want.Enclosed = p.UID
		delegations := p.findDelegations(z)
		switch {
		// Lost rules withdraw nothing while the zone above is being deleted.
		case p.Terminating && h.Parent != nil && h.Withdrawn == "":
			want.Parent, want.DS = &p.Ref, h.DS
		case len(delegations) > 0:
			want.Parent, want.DS = &p.Ref, slices.ContainsFunc(delegations, func(r rules.Rule) bool { return r.DS })
		// An established zone stays, without delegation (S3.4).
		case h.Established:
			status = metav1.ConditionFalse
		default: // the DS stays until the end
			want.Parent, want.Withdrawn, want.DS = &p.Ref, p.UID, h.DS
			if w := c.withdrawals[law.WithdrawalKey(p.UID, z.Namespace)]; isOver(w) {
				c.reportDifference(excused, z.key, "S3.5", "withdrawn by zone "+p.key, "a period that runs, not %s", encodeText(w))
			}
		}

		if owner, _ := z.FQDN().Rel(p.FQDN()); p.liesBelowDNAME(owner) {
			c.reportDamage(z.key, "S5.7", "a zone below a DNAME", "none: it replaces every name below it")
		}
	}

	// The first difference names the rule of the finding.
	rule, isEqual := firstBroken([]equality{
		{"S3.4", refText(h.Parent) == refText(want.Parent)},
		{"S6.16", h.DS == want.DS},
		{"S3.5", h.Withdrawn == want.Withdrawn && h.Enclosed == want.Enclosed},
		{"S6.12", meta.IsStatusConditionPresentAndEqual(z.status.Conditions, v1alpha1.ConditionDelegated, status)},
	})
	if !isEqual {
		c.reportDifference(excused, z.key, rule, encodeText(h.Ancestry), "%s and the condition Delegated %s", encodeText(want), status)
	}
}

// findDelegations returns the rules that delegate a zone below z.
func (z *zone) findDelegations(below *zone) (found []rules.Rule) {
	owner, _ := below.FQDN().Rel(z.FQDN())
	reserved := z.findReserved(base(owner), below.Namespace)
	// Reserved names bar zones at other names, not at an underscore name such as _acme-challenge.pay.
	if base(owner) != owner {
		reserved = name.Apex
	}
	for _, r := range z.rulesFor(below.Namespace) {
		for _, p := range r.Zones {
			if p.Match(below.FQDN(), z.FQDN()) && z.reachesBelow(p.String(), reserved) {
				found = append(found, r)
			}
		}
	}
	return found
}

// checkCoexistence looks for data that no server loads together (S5.6, S5.7), at names with records and at hosts of
// spec.nameServers.
func (c *check) checkCoexistence(z *zone) {
	owners := slices.Clone(z.NSHosts)
	for owner, o := range z.owners {
		if len(o.Values) > 0 {
			owners = append(owners, owner)
		}
	}

	for _, owner := range owners {
		data := z.countTypes(owner)
		has := func(types ...rdata.Type) bool {
			return slices.ContainsFunc(types, func(t rdata.Type) bool { return data[t] > 0 })
		}
		isApex, isWildcard := owner.IsApex(), strings.HasPrefix(owner.String(), "*")
		for _, mistake := range []struct {
			have string
			is   bool
		}{
			{"a CNAME beside other data", has(rdata.CNAME) && len(data) > 1},
			{"two CNAME or two DNAME", max(data[rdata.CNAME], data[rdata.DNAME]) > 1},
			{"CNAME, DS, CDS or CDNSKEY at the apex", isApex && has(rdata.CNAME, rdata.DS, rdata.CDS, rdata.CDNSKEY)},
			{"NS beside DNAME", !isApex && has(rdata.NS) && has(rdata.DNAME)},
			{"NS or DNAME at a wildcard", isWildcard && has(rdata.NS, rdata.DNAME)},
			{"data below a DNAME", z.liesBelowDNAME(owner)},
		} {
			if mistake.is {
				// A cascade under way may still remove part of the data.
				key := c.layout.Key(law.OwnerKey(z.UID, owner))
				c.reportDifference(len(z.holding.Works) > 0, key, "S5.6", mistake.have, "none: no server loads that")
				break
			}
		}
	}
}

// countTypes returns the number of values of each type at a name, of Records and of spec.nameServers.
func (z *zone) countTypes(owner name.Rel) map[rdata.Type]int {
	data := map[rdata.Type]int{}
	if o := z.owners[owner]; o != nil {
		// Equal values with different TTLs are a single value of the RRset.
		for _, v := range slices.CompactFunc(slices.Clone(o.Values), func(x, y law.OwnerValue) bool {
			return x.Type == y.Type && x.Digest == y.Digest
		}) {
			data[v.Type]++
		}
	}
	for _, s := range z.NSSets {
		if s.Owner == owner {
			data[s.Type] += len(s.Data)
		}
	}
	return data
}

// liesBelowDNAME reports whether a DNAME exists above owner. A DNAME replaces the names below its own name, not the
// name itself (RFC 6672).
func (z *zone) liesBelowDNAME(owner name.Rel) bool {
	for at, ok := owner.Parent(); ok; at, ok = at.Parent() {
		if o := z.owners[at]; o != nil && slices.ContainsFunc(o.Values, func(v law.OwnerValue) bool { return v.Type == rdata.DNAME }) {
			return true
		}
	}
	return false
}

// noteNestedClaims notes claims of two tenants at the same name or one above the other (S4.8). It adds at most one note
// for each claim.
func (c *check) noteNestedClaims(z *zone) {
	for low, o := range z.owners {
		for _, mine := range o.Claims {
			// Only rules with * make a claim that reaches above and below.
			if mine.Namespace == z.Namespace || mine.Plain == 0 {
				continue
			}
			if at, rival := z.findRival(low, mine.Namespace); rival != "" {
				c.report.Notes.add(Finding{Key: c.layout.Key(law.OwnerKey(z.UID, low)), Rule: "S4.8", Have: fmt.Sprintf("claimed by "+
					"namespace %s, and %s by namespace %s", mine.Namespace, at, rival),
					Want: "claims of one of them, unless former rules or records let them come"})
			}
		}
	}
}

// findRival returns the first name, from a claimed name upwards, that another tenant claims by a rule with *, and that
// tenant. It returns "" if nothing above contradicts the claim.
func (z *zone) findRival(low name.Rel, namespace string) (at name.Rel, rival string) {
	ours := []string{namespace, z.Namespace}
	for at = low; !at.IsApex(); at, _ = at.Parent() {
		claims := cmp.Or(z.owners[at], &law.Owner{}).Claims
		i := slices.IndexFunc(claims, func(x law.Claim) bool { return x.Plain > 0 && !slices.Contains(ours, x.Namespace) })
		// A literal or shared rule passes a claim (S4.12, S4.13), and an earlier claim above allows all names below.
		isEarlier := at != low && slices.ContainsFunc(claims, func(x law.Claim) bool { return x.Namespace == namespace })
		if isEarlier || z.excepts(at, namespace, i < 0) {
			break // may have allowed the names below
		}
		if i >= 0 {
			return at, claims[i].Namespace
		}
	}
	return name.Apex, ""
}

func (z *zone) excepts(at name.Rel, namespace string, literal bool) bool {
	n, err := at.In(z.FQDN())
	return err == nil && anyPattern(z.rulesFor(namespace), func(p rules.RecordRule) bool {
		return p.Shared && p.Pattern.Match(n, z.FQDN()) || literal && p.Pattern.IsLiteralFor(n, z.FQDN())
	})
}
