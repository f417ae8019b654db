// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// claimTwin implements S4.7 to S4.14 literally, over all records of a zone, and reports whether they refuse a tenant's
// record. judged is false if another rule decides: no rule allows the record, or its type has a rule of its own (S4.15,
// S4.16).
func (w *world) claimTwin(z *law.Zone, r *law.Record, fqdn name.Name) (refused, judged bool) {
	owner, ok := fqdn.Rel(z.FQDN())
	types := []rdata.Type{rdata.A, rdata.AAAA, rdata.TXT, rdata.CNAME, rdata.CAA, rdata.MX}
	if !ok || r.Namespace == z.Namespace || !slices.Contains(types, r.Type) {
		return false, false
	}
	if len(listGrants(z, r, owner, name.Apex)) == 0 {
		return false, false
	}
	t := &tenancy{world: w, zone: z, asks: object{r.Namespace, r.Name}}
	t.records = t.listMembers()
	grants := listGrants(z, r, owner, t.findOwnAbove(baseName(owner)))
	var kept rules.Admission // the admission of the stored record at this base
	exists, base := false, baseName(owner)
	if was := w.records[t.asks]; was != nil && was.placed.Zone != nil && was.placed.Zone.UID == z.UID {
		at := was.ownerIn(z)
		if baseName(at) == base {
			kept = was.placed.Admission
		}
		exists = at == owner && was.record.Type == r.Type
	}
	if !exists && t.hasOwnData(owner) {
		grants = slices.DeleteFunc(grants, func(g twinGrant) bool { return g.kind != rules.AdmittedUnderscore }) // S4.14
	}
	return !slices.ContainsFunc(grants, func(g twinGrant) bool {
		if g.kind == rules.AdmittedUnderscore {
			return t.passesGuest(r.Type, owner, g.literal)
		}
		g.keeps = g.kind == kept && (exists || !t.widensClaim(g, base))
		return t.passesTable(owner, g)
	}), true
}

// twinGrant is a kind of rule that allows the record, with the shared rule or nil. keeps is true if the record already
// has this kind of admission. literal is true if the rule gives the owner itself, but not set for AdmittedLiteral.
type twinGrant struct {
	kind           rules.Admission
	rule           *rules.Rule
	keeps, literal bool
}

// listGrants returns the kinds of rules that allow a tenant's record. Only patterns with "*" that end at or below own
// count (S4.9).
func listGrants(z *law.Zone, r *law.Record, owner, own name.Rel) (out []twinGrant) {
	at, _ := owner.In(z.FQDN())
	base := baseName(owner)
	must := slices.Contains([]rdata.Type{rdata.NS, rdata.DNAME, rdata.DS}, r.Type)
	for i := range z.Rules {
		rule := &z.Rules[i]
		if len(rule.Namespaces) > 0 && !slices.Contains(rule.Namespaces, r.Namespace) {
			continue
		}
		for _, to := range rule.Records {
			if (must || len(to.Types) > 0) && !slices.Contains(to.Types, r.Type) || !to.Pattern.Match(at, z.FQDN()) {
				continue // S4.5
			}
			g := twinGrant{kind: rules.AdmittedPlain}
			switch {
			case to.Pattern.NamesUnderscore(at, z.FQDN()):
				g.kind, g.literal = rules.AdmittedUnderscore, !strings.Contains(to.Text, "*")
			case !reachesBase(z, to.Text, base, r.Namespace) || !endsIn(z, to.Text, own):
				continue // S4.20
			case to.Shared && givesShared(z, rule, base) && slices.ContainsFunc(rule.Records, func(x rules.RecordRule) bool {
				n, _ := base.In(z.FQDN())
				return x.Shared && x.Pattern.Match(n, z.FQDN()) && reachesBase(z, x.Text, base, r.Namespace) && endsIn(z, x.Text, own)
			}):
				g = twinGrant{kind: rules.AdmittedShared, rule: rule, literal: !strings.Contains(to.Text, "*")}
			case !allowsSome(z, r.Namespace, base, own):
				continue // S4.7: the record speaks for its base name
			case owner == base && !strings.Contains(to.Text, "*"):
				g.kind = rules.AdmittedLiteral
			}
			out = append(out, g)
		}
	}
	return out
}

func givesShared(z *law.Zone, rule *rules.Rule, n name.Rel) bool {
	at, _ := n.In(z.FQDN())
	return slices.ContainsFunc(rule.Records, func(to rules.RecordRule) bool { return to.Shared && to.Pattern.Match(at, z.FQDN()) })
}

type tenancy struct {
	*world
	zone    *law.Zone
	asks    object
	records []tenantRecord
}

type tenantRecord struct {
	namespace string
	base      name.Rel
	admission rules.Admission
}

func (t *tenancy) listMembers() (out []tenantRecord) {
	for o, r := range t.world.records {
		if o == t.asks || r.placed.Zone == nil || r.placed.Zone.UID != t.zone.UID {
			continue
		}
		if a := r.placed.Admission; a != rules.AdmittedUnderscore {
			out = append(out, tenantRecord{o.Namespace, baseName(r.ownerIn(t.zone)), a})
		}
	}
	return out
}

// passesTable applies the table of N4 to one kind of rule.
func (t *tenancy) passesTable(owner name.Rel, g twinGrant) bool {
	base, z := baseName(owner), t.zone
	joins := func(r tenantRecord, n name.Rel) bool { // S4.13
		if r.namespace == t.asks.Namespace {
			return true
		}
		plain := slices.ContainsFunc(t.records, func(x tenantRecord) bool {
			return x.namespace == r.namespace && x.base == r.base && x.admission != rules.AdmittedShared
		})
		return g.rule != nil && !plain && givesShared(z, g.rule, n) &&
			(len(g.rule.Namespaces) == 0 || slices.Contains(g.rule.Namespaces, r.namespace))
	}
	tenant := func(r tenantRecord) bool { return r.namespace != z.Namespace }
	claims := func(n name.Rel) (others bool) { // by other tenants
		for _, r := range t.records {
			others = others || r.base == n && tenant(r) && !joins(r, n)
		}
		return others
	}
	under := func(n name.Rel) bool { return n != base && isUnder(base, n) }
	othersBelow := func() bool {
		wide := g.rule != nil && slices.ContainsFunc(g.rule.Records, func(to rules.RecordRule) bool {
			at, _ := base.In(z.FQDN())
			return to.Shared && to.Pattern.MatchBelow(at, z.FQDN())
		})
		for _, r := range t.records {
			foreign := tenant(r) && r.namespace != t.asks.Namespace && r.admission != rules.AdmittedLiteral
			if foreign && under(r.base) && (!wide || !t.joinsBelow(r, g, base)) {
				return true
			}
		}
		for _, c := range t.zones { // direct child zones
			at, below := c.zone.FQDN().Rel(z.FQDN())
			if c.zone.Pending || c.zone.View != z.View || !below || !under(at) || c.zone.UID == z.UID ||
				c.zone.Namespace == t.asks.Namespace {
				continue
			}
			if up, _ := c.zone.FQDN().Parent(); t.findEnclosing(z.View, up).UID == z.UID {
				return true
			}
		}
		return false
	}
	others := claims(base)
	if g.keeps {
		return g.kind != rules.AdmittedShared || !others
	}
	has := func(kind rules.Admission) bool {
		return slices.ContainsFunc(t.records, func(r tenantRecord) bool {
			return r.base == base && r.namespace == t.asks.Namespace && r.admission == kind
		})
	}
	switch {
	case has(rules.AdmittedPlain), has(g.kind) && !t.widensClaim(g, base):
		return true
	case has(g.kind), has(rules.AdmittedLiteral) && t.givesLiterally(base):
		return !othersBelow()
	}
	for up, ok := owner, true; ok && !up.IsApex(); up, ok = up.Parent() { // S4.11
		some, all := false, true
		for _, r := range t.records {
			if r.base == up {
				some, all = true, all && joins(r, up)
			}
		}
		if t.delegatesAway(up) && (!some || !all) {
			return false
		}
	}
	listed := slices.ContainsFunc(z.Rules, func(rule rules.Rule) bool { return t.namesShared(&rule, base) })
	server := slices.Contains(z.NSHosts, base)
	free := slices.Contains(t.listHosts(), base) && !slices.ContainsFunc(t.records, func(r tenantRecord) bool {
		return r.base == base && tenant(r)
	})
	owns := base.IsApex() || slices.ContainsFunc(t.records, func(r tenantRecord) bool { return r.base == base && !tenant(r) })
	switch {
	case server:
		return false // S4.16
	case g.kind == rules.AdmittedShared && t.namesShared(g.rule, base): // S4.13
	case g.kind != rules.AdmittedLiteral && isService(base) && !slices.ContainsFunc(z.Rules, func(r rules.Rule) bool {
		return slices.Contains(r.Namespaces, t.asks.Namespace) && listNamed(z, &r)[base]
	}):
		return false // S4.10
	case g.kind == rules.AdmittedLiteral && owns, g.kind != rules.AdmittedLiteral && (owns || listed || free):
		return false // S4.10, S4.12
	}
	if others {
		return false // a claim at the base
	}
	if g.kind == rules.AdmittedLiteral || g.literal || base.IsApex() {
		return true // S4.12
	}
	shared := false // by "*", at a name between
	for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
		some, decides := false, false
		for _, r := range t.records {
			switch {
			case r.base != up || !tenant(r):
				continue
			case joins(r, up):
				mine := r.namespace == t.asks.Namespace
				decides = decides || mine && (r.admission != rules.AdmittedShared || t.givesLiterally(up))
			case !shared || r.admission == rules.AdmittedPlain || r.admission == rules.AdmittedShared && !t.namesSharedFor(up, r.namespace):
				return false
			}
			some = true
		}
		if decides || some && g.rule != nil && t.namesShared(g.rule, up) {
			break // the nearest claim decides
		}
		shared = shared || some
	}
	if othersBelow() || slices.ContainsFunc(t.records, func(r tenantRecord) bool { return under(r.base) && !tenant(r) }) {
		return false
	}
	for _, rule := range z.Rules {
		for _, to := range rule.Records {
			if at, err := name.ParseIn(to.Text, z.FQDN()); to.Shared && !strings.Contains(to.Text, "*") && err == nil {
				if n, ok := at.Rel(z.FQDN()); ok && under(n) && (g.rule == nil || !t.namesShared(g.rule, n)) {
					return false
				}
			}
		}
	}
	for _, host := range t.listHosts() {
		claimed := slices.ContainsFunc(t.records, func(r tenantRecord) bool { return r.base == host && tenant(r) })
		if under(host) && (!claimed || slices.Contains(z.NSHosts, host)) {
			return false
		}
	}
	return true
}

// passesGuest applies S4.23 and S4.24 to an underscore rule. A stored record keeps its name and type.
func (t *tenancy) passesGuest(rtype rdata.Type, owner name.Rel, literal bool) bool {
	base := baseName(owner)
	var before *law.Record
	if was := t.world.records[t.asks]; was != nil && was.placed.Zone != nil && was.placed.Zone.UID == t.zone.UID &&
		was.ownerIn(t.zone) == owner {
		before = &was.record
	}
	mine, others := t.findHolder(base)
	if rtype == rdata.CNAME && others && !literal && (before == nil || before.Type != rdata.CNAME) {
		return false
	}
	return before != nil || mine || !t.hidesName(base)
}

// findHolder reports whether the tenant or another namespace holds the nearest claimed, own or named name at or above
// n.
func (t *tenancy) findHolder(n name.Rel) (mine, others bool) {
	ns, z := t.asks.Namespace, t.zone
	for up, ok := n, true; ok && (up == n || !up.IsApex()); up, ok = up.Parent() {
		some, tenant := false, false
		for _, r := range t.records {
			if r.base == up {
				mine, some, tenant = mine || r.namespace == ns, true, tenant || r.namespace != z.Namespace
			}
		}
		for i := range z.Rules {
			if listNamed(z, &z.Rules[i])[up] {
				mine, some = mine || slices.Contains(z.Rules[i].Namespaces, ns), true
			}
			some = some || t.namesShared(&z.Rules[i], up)
		}
		some = some || up.IsApex() || slices.Contains(z.NSHosts, up) || slices.Contains(t.listHosts(), up) && !tenant
		if some {
			return mine, !mine
		}
	}
	return false, false
}

// hidesName reports whether data below n would hide it from the wildcard that answers for it now (RFC 4592).
func (t *tenancy) hidesName(n name.Rel) bool {
	isPresent := func(is func(name.Rel) bool, self bool) bool {
		for o, r := range t.world.records {
			if (self || o != t.asks) && r.placed.Zone != nil && r.placed.Zone.UID == t.zone.UID && is(r.ownerIn(t.zone)) {
				return true
			}
		}
		return false
	}
	made := func(is func(name.Rel) bool) bool {
		for k, v := range t.world.facts {
			if k.Kind == law.KindCut && k.Zone == t.zone.UID && slices.ContainsFunc(v.(*law.CountedCut).Sets,
				func(s content.RRset) bool { return is(s.Owner) }) {
				return true
			}
		}
		return slices.ContainsFunc(t.zone.NSHosts, is)
	}
	for at := n; !at.IsApex(); {
		if is := func(o name.Rel) bool { return o == at }; isPresent(is, false) || made(is) {
			return false
		}
		up, _ := at.Parent()
		wild := name.MustRel(strings.TrimSuffix("*."+up.String(), ".@"))
		if isPresent(func(o name.Rel) bool { return o == wild }, false) {
			below := func(o name.Rel) bool { return o != at && isUnder(at, o) }
			return !isPresent(below, true) && !made(below)
		}
		at = up
	}
	return false
}

// joinsBelow reports whether the namespace of r claims names below base only by shared rules that the requested rule
// covers.
func (t *tenancy) joinsBelow(r tenantRecord, g twinGrant, base name.Rel) bool {
	for _, x := range t.records {
		if x.namespace == r.namespace && x.base != base && isUnder(base, x.base) && x.admission != rules.AdmittedShared {
			return false
		}
	}
	return len(g.rule.Namespaces) == 0 || slices.Contains(g.rule.Namespaces, r.namespace)
}

func (t *tenancy) givesLiterally(n name.Rel) bool {
	at, _ := n.In(t.zone.FQDN())
	return slices.ContainsFunc(t.zone.Rules, func(rule rules.Rule) bool {
		return (len(rule.Namespaces) == 0 || slices.Contains(rule.Namespaces, t.asks.Namespace)) &&
			slices.ContainsFunc(rule.Records, func(to rules.RecordRule) bool {
				return !strings.Contains(to.Text, "*") && to.Pattern.Match(at, t.zone.FQDN())
			})
	})
}

func (t *tenancy) namesShared(rule *rules.Rule, n name.Rel) bool {
	at, _ := n.In(t.zone.FQDN())
	return slices.ContainsFunc(rule.Records, func(to rules.RecordRule) bool {
		return to.Shared && !strings.Contains(to.Text, "*") && to.Pattern.Match(at, t.zone.FQDN())
	})
}

// widensClaim reports whether the tenant's claim at base may come from a literal shared pattern while g has another
// pattern.
func (t *tenancy) widensClaim(g twinGrant, base name.Rel) bool {
	return g.kind == rules.AdmittedShared && !g.literal && t.namesSharedFor(base, t.asks.Namespace)
}

func (t *tenancy) namesSharedFor(n name.Rel, namespace string) bool {
	return slices.ContainsFunc(t.zone.Rules, func(r rules.Rule) bool {
		return (len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)) && t.namesShared(&r, n)
	})
}

func allowsSome(z *law.Zone, namespace string, owner, own name.Rel) bool {
	at, _ := owner.In(z.FQDN())
	return slices.ContainsFunc(z.Rules, func(rule rules.Rule) bool {
		return (len(rule.Namespaces) == 0 || slices.Contains(rule.Namespaces, namespace)) &&
			slices.ContainsFunc(rule.Records, func(to rules.RecordRule) bool {
				return to.Pattern.Match(at, z.FQDN()) && reachesBase(z, to.Text, owner, namespace) && endsIn(z, to.Text, own)
			})
	})
}

// listNamed returns the literal names of a rule (S4.20).
func listNamed(z *law.Zone, r *rules.Rule) map[name.Rel]bool {
	out := map[name.Rel]bool{}
	add := func(text string) {
		n, err := name.ParseIn(text, z.FQDN())
		at, ok := n.Rel(z.FQDN())
		if err == nil && ok && !at.IsApex() && !strings.Contains(text, "*") && baseName(at) == at && len(r.Namespaces) > 0 {
			out[at] = true
		}
	}
	for _, to := range r.Records {
		if len(to.Types) == 0 || slices.ContainsFunc(to.Types, func(t rdata.Type) bool {
			return !slices.Contains([]rdata.Type{rdata.TXT, rdata.CAA, rdata.DS, rdata.TLSA, rdata.SSHFP}, t)
		}) {
			add(to.Text)
		}
	}
	for _, p := range r.Zones {
		add(p.String())
	}
	return out
}

// findOwnAbove returns the deepest own name above a base name. It returns the apex if the tenant has a claim or a
// reserved name at or below the own name, or a record at the base name.
func (t *tenancy) findOwnAbove(base name.Rel) name.Rel {
	if was := t.world.records[t.asks]; was != nil && was.placed.Zone != nil && was.placed.Zone.UID == t.zone.UID &&
		was.placed.Admission != rules.AdmittedUnderscore && baseName(was.ownerIn(t.zone)) == base {
		return name.Apex
	}
	hosts := t.listHosts()
	for up, ok := base, true; ok && !up.IsApex(); up, ok = up.Parent() {
		has := func(is func(string) bool) bool {
			return slices.ContainsFunc(t.records, func(r tenantRecord) bool { return r.base == up && is(r.namespace) })
		}
		given := slices.ContainsFunc(t.zone.Rules, func(r rules.Rule) bool {
			return slices.Contains(r.Namespaces, t.asks.Namespace) && listNamed(t.zone, &r)[up]
		})
		if given || has(func(ns string) bool { return ns == t.asks.Namespace }) {
			return name.Apex
		}
		claimed := has(func(ns string) bool { return ns != t.zone.Namespace })
		listed := slices.ContainsFunc(t.zone.Rules, func(rule rules.Rule) bool { return t.namesShared(&rule, up) })
		if up != base && (has(func(ns string) bool { return ns == t.zone.Namespace }) || slices.Contains(t.zone.NSHosts, up) ||
			slices.Contains(hosts, up) && !claimed || listed || isService(up)) {
			return up
		}
	}
	return name.Apex
}

func isService(n name.Rel) bool { return slices.Contains(serviceLabels, n.String()) }

// hasOwnData reports whether the zone's own namespace has data at or above an underscore name, or at the wildcard
// beside it.
func (t *tenancy) hasOwnData(owner name.Rel) bool {
	for o, r := range t.world.records {
		if o.Namespace != t.zone.Namespace || r.placed.Zone == nil || r.placed.Zone.UID != t.zone.UID {
			continue
		}
		at := strings.TrimPrefix(r.ownerIn(t.zone).String(), "*.")
		if strings.Contains(at, "_") && isUnder(name.MustRel(at), owner) {
			return true
		}
	}
	return false
}

// endsIn reports whether a literal pattern, or the labels after the last "*" of another pattern, are at or below n.
func endsIn(z *law.Zone, text string, n name.Rel) bool {
	return n.IsApex() || !strings.Contains(text, "*") || isUnder(n, endOf(z, text))
}

// endOf returns the labels after the last "*" of a pattern as a name of the zone.
func endOf(z *law.Zone, text string) name.Rel {
	labels := strings.Split(text, ".")
	for strings.Contains(strings.Join(labels, "."), "*") {
		labels = labels[1:]
	}
	if len(labels) > 0 && labels[0] != "" {
		if n, err := name.ParseIn(strings.Join(labels, "."), z.FQDN()); err == nil {
			if tail, ok := n.Rel(z.FQDN()); ok {
				return tail
			}
		}
	}
	return name.Apex
}

// reachesBase implements S4.20. z includes the rules of its Delegations.
func reachesBase(z *law.Zone, text string, base name.Rel, namespace string) bool {
	if namespace == z.Namespace || !strings.Contains(text, "*") {
		return true
	}
	to := map[name.Rel][]string{}
	for i := range z.Rules {
		for n := range listNamed(z, &z.Rules[i]) {
			to[n] = append(to[n], z.Rules[i].Namespaces...)
		}
	}
	for n, ok := base, true; ok; n, ok = n.Parent() {
		if namespaces := to[n]; namespaces != nil { // the nearest decides
			return slices.Contains(namespaces, namespace) || isUnder(n, endOf(z, text))
		}
	}
	return true
}

func givesZone(z *law.Zone, p pattern.Pattern, n name.Name, namespace string) bool {
	owner, _ := n.Rel(z.FQDN())
	if base := baseName(owner); base != owner && namespace != z.Namespace {
		return p.NamesUnderscore(n, z.FQDN()) // S4.19
	}
	return p.Match(n, z.FQDN()) && reachesBase(z, p.String(), owner, namespace)
}

// snatchesName reports whether a cascade adopts a Record that waits by annotation, although another namespace still has
// a rule for the name and no rule gives the name literally for the Record (S2.14).
func (w *world) snatchesName(r *law.Record, plan *law.Plan, other string) bool {
	if other == "" || other == r.Namespace || plan.Record.Zone == nil || r.Namespace == plan.Record.Zone.Namespace {
		return false
	}
	z := w.uniteRules(w.zones[object{plan.Record.Zone.Namespace, plan.Record.Zone.Name}].zone)
	owner, _ := plan.Record.FQDN.Rel(z.FQDN())
	t := &tenancy{world: w, zone: z, asks: object{r.Namespace, r.Name}}
	had := slices.ContainsFunc(t.listMembers(), func(x tenantRecord) bool {
		return x.namespace == r.Namespace &&
			x.base == baseName(owner)
	})
	by := plan.Record.Admission
	adopts := by != rules.AdmittedUnderscore && by != rules.AdmittedLiteral
	named := slices.ContainsFunc(listRulesFor(z, r), func(to rules.RecordRule) bool {
		return to.Pattern.IsLiteralFor(plan.Record.FQDN, z.FQDN())
	})
	return adopts && !had && !named && allowsSome(z, other, baseName(owner), name.Apex)
}

func listRulesFor(z *law.Zone, r *law.Record) (out []rules.RecordRule) {
	for _, rule := range z.Rules {
		if len(rule.Namespaces) > 0 && !slices.Contains(rule.Namespaces, r.Namespace) {
			continue
		}
		for _, to := range rule.Records {
			if len(to.Types) == 0 || slices.Contains(to.Types, r.Type) {
				out = append(out, to)
			}
		}
	}
	return out
}

// delegatesAway reports another adopted NS record at n.
func (t *tenancy) delegatesAway(n name.Rel) bool {
	for o, r := range t.world.records {
		if o != t.asks && r.placed.Zone != nil && r.placed.Zone.UID == t.zone.UID && r.record.Type == rdata.NS && r.ownerIn(t.zone) == n {
			return true
		}
	}
	return false
}

// listHosts returns the targets below the apex of NS records at the apex, of the own namespace's MX, SVCB and HTTPS
// records there, and of the zone's name servers.
func (t *tenancy) listHosts() []name.Rel {
	out := slices.Clone(t.zone.NSHosts)
	for o, r := range t.world.records {
		if r.placed.Zone == nil || r.placed.Zone.UID != t.zone.UID || !r.ownerIn(t.zone).IsApex() {
			continue
		}
		if r.record.Type != rdata.NS && (o.Namespace != t.zone.Namespace || !slices.Contains([]rdata.Type{rdata.MX, rdata.SVCB,
			rdata.HTTPS}, r.record.Type)) {
			continue
		}
		for _, v := range r.record.Values {
			if n, ok := v.Target(t.zone.FQDN()); ok {
				if rel, ok := n.Rel(t.zone.FQDN()); ok && !rel.IsApex() {
					out = append(out, rel)
				}
			}
		}
	}
	for _, s := range t.zone.Header.NameServers {
		if n, err := name.ParseIn(s.Name, t.zone.FQDN()); err == nil {
			if rel, ok := n.Rel(t.zone.FQDN()); ok && !rel.IsApex() {
				out = append(out, rel)
			}
		}
	}
	return out
}

// baseName returns the labels after the last label that is * or begins with _.
func baseName(owner name.Rel) name.Rel {
	labels, n := owner.Labels(), owner
	for i := len(labels) - 1; i >= 0; i-- {
		if labels[i] == "*" || strings.HasPrefix(labels[i], "_") {
			for range i + 1 {
				n, _ = n.Parent()
			}
			return n
		}
	}
	return n
}

func isUnder(up, n name.Rel) bool {
	return n == up || strings.HasSuffix(n.String(), "."+up.String()) || up.IsApex()
}

// isQuiet reports whether no cascade is pending: the stored state decides.
func (w *world) isQuiet() bool {
	if len(w.outbox)+len(w.derivations) > 0 {
		return false
	}
	for _, k := range w.listHoldingKeys() {
		if h := w.facts[k].(*law.Holding); len(h.Works) > 0 {
			return false
		}
	}
	return true
}

func (w *world) findLongest(r *law.Record) (*law.Zone, name.Name) {
	view := r.View
	fqdn, err := name.Parse(r.DomainName)
	if ref := r.ZoneRef; ref != nil {
		to := w.zones[object{ref.Namespace, ref.Name}]
		if to == nil || to.zone.Pending {
			return nil, name.Name{}
		}
		view = to.zone.View
		if !r.Absolute() {
			fqdn, err = name.ParseIn(r.DomainName, to.zone.FQDN())
		}
	}
	if err != nil {
		return nil, name.Name{}
	}
	var longest *law.Zone
	for _, z := range w.zones {
		if !z.zone.Pending && z.zone.View == view && z.zone.FQDN().Encloses(fqdn) && (longest == nil ||
			longest.FQDN().Encloses(z.zone.FQDN())) {
			longest = z.zone
		}
	}
	return longest, fqdn
}
