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
	z, n, rooted, have, end := r.zone, r.fqdn, true, "adopted by zone "+r.zone.key, fmt.Sprintf("endsAt %d", r.endsAt)
	differ := func(key string, rule Rule, have, want string, args ...any) {
		c.reportDifference(c.isWorkPending(r), key, rule, have, want, args...)
	}
	// DS at a child's apex belong to the parent (S2.1). The root has no parent.
	if r.Type == rdata.DS {
		n, rooted = n.Parent()
	}

	// The zone with the longest name must have the Record, in the Record's view and, if given, the zone of zoneRef.
	if up := c.enclosing(z.View, n); !rooted || up == nil {
		differ(r.key, "S2.1", have, "none: no zone encloses it")
	} else if up != z {
		differ(r.key, "S2.1", have, "zone %s, whose name is the longest above it", up.key)
	}

	if ref := r.ZoneRef; ref != nil && (ref.Namespace != z.Namespace || ref.Name != z.Name) {
		differ(r.key, "S2.1", have, "%s/%s alone, which its zoneRef names", ref.Namespace, ref.Name)
	}
	// Beside a zoneRef, an empty view means the zone's (S1.4).
	if r.View != z.View && (r.ZoneRef == nil || r.View != "") {
		differ(r.key, "S1.4", have, "one of view %q", r.View)
	}

	kinds, by, w := z.findKinds(r), r.admission, c.withdrawals[law.WithdrawalKey(z.UID, r.Namespace)]
	switch allowed := slices.Contains(kinds, by); {
	// Lost rules withdraw nothing while the zone is being deleted.
	case z.Terminating:
	case r.endsAt == 0 && len(kinds) == 0:
		differ(r.key, "I5", have, "endsAt, or a rule that allows %s at %s, and the base name, to namespace %s", r.Type, r.fqdn, r.Namespace)
	// A cascade writes another kind when the admitting rule goes and a rule of that kind remains (S4.17).
	case r.endsAt == 0 && !allowed:
		differ(r.key, "S4.17", "admission "+string(by), "endsAt, or one of %v, which rules allow", kinds)
	case r.endsAt != 0 && allowed && by != rules.AdmittedShared: // the sharing namespaces may have changed
		differ(r.key, "S2.5", end, "none: a rule allows it")
	// The period belongs to namespace and zone, not to the Record.
	case r.endsAt != 0 && (w == nil || w.IsOver()):
		differ(r.key, "S2.5", end, "a period that runs, not %s", encodeText(w))
	}
}

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

// proves lists the types of proofs. A rule with no other types reserves no name.
var proves = []rdata.Type{rdata.TXT, rdata.CAA, rdata.DS, rdata.TLSA, rdata.SSHFP}

// literalNames returns the names that a rule reserves for its namespaces (S4.20, S4.21): pay for the pattern "pay",
// nothing for "*.pay" or "_acme-challenge.pay".
func (z *zone) literalNames(r *rules.Rule) map[name.Rel]bool {
	out := map[name.Rel]bool{}
	add := func(text string) {
		n, err := name.ParseIn(text, z.FQDN())
		at, ok := n.Rel(z.FQDN())
		if err == nil && ok && !at.IsApex() && !strings.Contains(text, "*") && base(at) == at {
			out[at] = true
		}
	}

	for _, rr := range r.Records {
		// A pattern for proofs alone, such as TXT or CAA, reserves nothing (S4.21).
		if len(rr.Types) == 0 || slices.ContainsFunc(rr.Types, func(t rdata.Type) bool { return !slices.Contains(proves, t) }) {
			add(rr.Pattern.String())
		}
	}

	for _, p := range r.Zones {
		add(p.String())
	}
	// A rule for any namespace excludes none.
	if len(r.Namespaces) == 0 {
		clear(out)
	}

	return out
}

func (z *zone) addReservations(r *rules.Rule) {
	for n := range z.literalNames(r) {
		o := z.ownerAt(n)
		for _, ns := range r.Namespaces {
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
	// Collect the names of the Zone's rules, and those of Delegations, from the owner facts.
	if z.reservedNames == nil {
		z.reservedNames = map[name.Rel]map[string]bool{}
		for i := range z.Rules {
			for n := range z.literalNames(&z.Rules[i]) {
				for _, ns := range z.Rules[i].Namespaces {
					z.reserveName(n, ns)
				}
			}
		}
		for n, o := range z.owners {
			for _, x := range o.Named {
				z.reserveName(n, x.Namespace)
			}
		}
	}

	for up, ok := of, namespace != z.Namespace; ok; up, ok = up.Parent() {
		switch to := z.reservedNames[up]; {
		case to[namespace]: // the nearest name decides (S4.20): below x.pay, pay of another namespace has no effect
			return name.Apex
		case len(to) > 0:
			return up
		}
	}

	return name.Apex
}

func (z *zone) reserveName(n name.Rel, namespace string) {
	if z.reservedNames[n] == nil {
		z.reservedNames[n] = map[string]bool{}
	}
	z.reservedNames[n][namespace] = true
}

// reachesBelow reports whether a pattern reaches names at and below a reserved name: the labels behind its last * must
// end in that name (S4.20). With pay reserved, "*.pay" does and "*" does not.
func (z *zone) reachesBelow(text string, reserved name.Rel) bool {
	labels := strings.Split(text, ".")
	for len(labels) > 0 && strings.Contains(strings.Join(labels, "."), "*") {
		labels = labels[1:]
	}
	tail := strings.Join(labels, ".")
	// A pattern such as "*" has no literal tail, so its tail is the zone's name.
	if tail == "" {
		tail = "@"
	}
	n, err := name.ParseIn(tail, z.FQDN())
	at, ok := n.Rel(z.FQDN())
	return reserved.IsApex() || err == nil && ok && reserved.Encloses(at)
}

func anyPattern(given []rules.Rule, is func(rules.RecordRule) bool) bool {
	return slices.ContainsFunc(given, func(r rules.Rule) bool { return slices.ContainsFunc(r.Records, is) })
}

// A tenant gets namedTypes only if a rule lists them, because they change the answering servers.
var namedTypes = []rdata.Type{rdata.NS, rdata.DS, rdata.DNSKEY, rdata.CDS, rdata.CDNSKEY, rdata.CSYNC, rdata.DNAME}

// findKinds returns the kinds of rules that allow a record, with repetitions, or nil if none does: the name of the
// record, its type, and for tenants its base name too (S4.7).
func (z *zone) findKinds(r *record) (kinds []rules.Admission) {
	own, zone, baseName := r.Namespace == z.Namespace, z.FQDN(), base(r.owner)
	atBase, given := baseName == r.owner, z.rulesFor(r.Namespace)
	at, err := baseName.In(zone)
	if err != nil {
		return nil
	}

	underscore := slices.ContainsFunc(r.owner.Labels(), func(l string) bool { return strings.HasPrefix(l, "_") })
	reserved := z.findReserved(baseName, r.Namespace)
	gives := func(p rules.RecordRule, n name.Name) bool {
		return p.Pattern.Match(n, zone) && z.reachesBelow(p.Pattern.String(), reserved)
	}
	based := anyPattern(given, func(p rules.RecordRule) bool { return gives(p, at) })
	// Namespaces of a shared rule are one tenant only if the same rule also shares the base name (S4.13).
	for i := range given {
		sharesBase := anyPattern(given[i:i+1], func(p rules.RecordRule) bool { return p.Shared && gives(p, at) })
		for _, p := range given[i].Records {
			typed := slices.Contains(p.Types, r.Type)
			if len(p.Types) == 0 {
				// A tenant gets types that change the answering servers only if a rule lists them (S4.5).
				typed = !r.Type.ByNumber() && (own || !slices.Contains(namedTypes, r.Type))
			}

			switch {
			case !typed || !p.Pattern.Match(r.fqdn, zone):
			// At an underscore name, own records are always admitted as underscore records. A tenant needs a literal
			// label (S4.14), and then needs no rule for the base name.
			case own && underscore, !own && p.Pattern.NamesUnderscore(r.fqdn, zone):
				kinds = append(kinds, rules.AdmittedUnderscore)
			case own:
				kinds = append(kinds, rules.AdmittedPlain)
			case !gives(p, r.fqdn):
			case p.Shared && sharesBase:
				kinds = append(kinds, rules.AdmittedShared)
			// A literal rule makes a weaker claim: other tenants may write above the name (S4.8).
			case atBase && p.Pattern.IsLiteralFor(r.fqdn, zone):
				kinds = append(kinds, rules.AdmittedLiteral)
			case based:
				kinds = append(kinds, rules.AdmittedPlain)
			}
		}
	}

	return kinds
}

// checkParent computes which zone above delegates a zone, and compares the result with the holding and the condition
// Delegated.
func (c *check) checkParent(z *zone) {
	h, up, p := z.holding, name.Name{}, (*zone)(nil)
	if n, ok := z.FQDN().Parent(); ok {
		up, p = n, c.enclosing(z.View, n)
	}
	// A change of the zone above is decided again by a cascade over the zones below.
	excused := c.anyScan(func(s *law.Scan) bool {
		return s.Kind == law.ScanZones && s.View == z.View && s.Name.Encloses(z.FQDN())
	})
	want, status := law.Ancestry{Established: h.Established}, "True"

	// Find the rule of the nearest zone above that delegates this zone, and whether that rule includes DS.
	if p != nil {
		delegates, ds := false, false
		owner, _ := z.FQDN().Rel(p.FQDN())
		reserved := p.findReserved(base(owner), z.Namespace)
		for _, r := range p.rulesFor(z.Namespace) {
			for _, x := range r.Zones {
				// Reserved names bar zones at other names, not at an underscore name such as _acme-challenge.pay.
				match := x.Match(z.FQDN(), p.FQDN()) && (base(owner) != owner || p.reachesBelow(x.String(), reserved))
				delegates, ds = delegates || match, ds || match && r.DS
			}
		}

		if p.Terminating && h.Withdrawn == "" && h.Parent != nil { // lost rules withdraw nothing
			delegates, ds = true, h.DS
		}
		want.Enclosed = p.UID
		switch {
		case delegates:
			want.Parent, want.DS = &p.Ref, ds
		// An established zone stays, without delegation (S3.4).
		case h.Established:
			status = "False"
		default: // the DS stays until the end
			want.Parent, want.Withdrawn, want.DS = &p.Ref, p.UID, h.DS
			if w := c.withdrawals[law.WithdrawalKey(p.UID, z.Namespace)]; w == nil || w.IsOver() {
				c.reportDifference(excused, z.key, "S3.5", "withdrawn by zone "+p.key, "a period that runs, not %s", encodeText(w))
			}
		}

		if at, ok := up.Rel(p.FQDN()); ok && p.liesBelowDNAME(at, true) {
			c.reportDamage(z.key, "S5.7", "a zone below a DNAME", "none: it replaces every name below it")
		}
	}

	// The first difference names the rule of the finding.
	var rule Rule
	switch {
	case refText(h.Parent) != refText(want.Parent):
		rule = "S3.4"
	case h.DS != want.DS:
		rule = "S6.16"
	case h.Withdrawn != want.Withdrawn || h.Enclosed != want.Enclosed:
		rule = "S3.5"
	case !meta.IsStatusConditionPresentAndEqual(z.status.Conditions, v1alpha1.ConditionDelegated, metav1.ConditionStatus(status)):
		rule = "S6.12"
	default:
		return
	}

	c.reportDifference(excused, z.key, rule, encodeText(h.Ancestry), "%s and the condition Delegated %s", encodeText(want), status)
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
		data := map[rdata.Type]int{}
		// Equal values with different TTLs are a single value of the RRset.
		for _, v := range slices.CompactFunc(slices.Clone(cmp.Or(z.owners[owner], &law.Owner{}).Values), func(x, y law.OwnerValue) bool {
			return x.Type == y.Type && x.Digest == y.Digest
		}) {
			data[v.Type]++
		}

		// spec.nameServers adds NS and addresses without Records.
		for _, s := range z.NSSets {
			if s.Owner == owner {
				data[s.Type] += len(s.Data)
			}
		}

		has := func(types ...rdata.Type) bool {
			return slices.ContainsFunc(types, func(t rdata.Type) bool { return data[t] > 0 })
		}
		var have string
		switch apex := owner.IsApex(); {
		case has(rdata.CNAME) && len(data) > 1:
			have = "a CNAME beside other data"
		case data[rdata.CNAME] > 1 || data[rdata.DNAME] > 1:
			have = "two CNAME or two DNAME"
		case apex && has(rdata.CNAME, rdata.DS, rdata.CDS, rdata.CDNSKEY):
			have = "CNAME, DS, CDS or CDNSKEY at the apex"
		case !apex && has(rdata.NS) && has(rdata.DNAME):
			have = "NS beside DNAME"
		case strings.HasPrefix(owner.String(), "*") && has(rdata.NS, rdata.DNAME):
			have = "NS or DNAME at a wildcard"
		// A DNAME replaces the names below its own name, not the name itself (RFC 6672).
		case z.liesBelowDNAME(owner, false):
			have = "data below a DNAME"
		default:
			continue
		}

		// A cascade under way may still remove part of the data.
		c.reportDifference(len(z.holding.Works) > 0, c.layout.Key(law.OwnerKey(z.UID, owner)), "S5.6", have, "none: no server loads that")
	}
}

// liesBelowDNAME reports whether a DNAME exists above owner or, with itself, at owner.
func (z *zone) liesBelowDNAME(owner name.Rel, itself bool) bool {
	for at, ok := owner, true; ok; at, ok = at.Parent() {
		if o := z.owners[at]; o != nil && (itself || at != owner) &&
			slices.ContainsFunc(o.Values, func(v law.OwnerValue) bool { return v.Type == rdata.DNAME }) {
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

			// From the claimed name upwards, look for another tenant's claim by a rule with *.
			for at, ok := low, true; ok && !at.IsApex(); at, ok = at.Parent() {
				owner := cmp.Or(z.owners[at], &law.Owner{})
				i := slices.IndexFunc(owner.Claims, func(x law.Claim) bool {
					return x.Plain > 0 && x.Namespace != mine.Namespace && x.Namespace != z.Namespace
				})
				// A literal or shared rule passes a claim (S4.12, S4.13), and an earlier claim above allows all names
				// below.
				if z.excepts(at, mine.Namespace, i < 0) || at != low && slices.ContainsFunc(owner.Claims, func(x law.Claim) bool {
					return x.Namespace == mine.Namespace
				}) {
					break // may have allowed the names below
				}

				if i >= 0 {
					c.report.Notes.add(Finding{Key: c.layout.Key(law.OwnerKey(z.UID, low)), Rule: "S4.8", Have: fmt.Sprintf("claimed by "+
						"namespace %s, and %s by namespace %s", mine.Namespace, at, owner.Claims[i].Namespace),
						Want: "claims of one of them, unless former rules or records let them come"})
					break
				}
			}
		}
	}
}

func (z *zone) excepts(at name.Rel, namespace string, literal bool) bool {
	n, err := at.In(z.FQDN())
	return err == nil && anyPattern(z.rulesFor(namespace), func(p rules.RecordRule) bool {
		return p.Shared && p.Pattern.Match(n, z.FQDN()) || literal && p.Pattern.IsLiteralFor(n, z.FQDN())
	})
}
