// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"math"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
)

// holderTwin reads S4.5 to S4.7 and S6.2 as they are written, over all records of a
// zone, and says whether the holder rule refuses a tenant's record there. judged is
// false where something else decides: no rule allows the record at all, or another
// sentence is about its type (S3.6, DS).
func (w *world) holderTwin(z *law.Zone, r *law.Record, fqdn name.Name) (refused, judged bool) {
	owner, ok := fqdn.Rel(z.FQDN())
	if !ok || r.Namespace == z.Namespace || !slices.Contains([]rdata.Type{rdata.A, rdata.AAAA, rdata.TXT, rdata.CNAME, rdata.CAA, rdata.MX}, r.Type) {
		return false, false
	}
	t := &tenancy{world: w, zone: z, records: w.listHoldings(z)}
	base, wild := baseName(owner), fqdn.IsWildcard()

	plain, shared, underscore := listGrants(z, r, fqdn)
	if !plain && !shared && !underscore {
		return false, false
	}
	if owner != base && !allowsSome(z, r.Namespace, base) {
		if !underscore {
			return true, true // S4.6: it speaks for its base name
		}
		shared = false
	}
	holder, byRecord := t.findHolder(base)
	held := holder != "" && holder != r.Namespace
	if held && !shared && !underscore && (byRecord || !namesRecord(z, r, fqdn)) {
		return true, true // S4.6, S4.7
	}
	if slices.Contains(z.MadeNames, owner) {
		return true, true // S6.2
	}
	if underscore {
		return false, true
	}
	hostBelow := slices.ContainsFunc(t.listHosts(), func(host name.Rel) bool {
		first, _ := t.findFirst(host)
		return host != base && isUnder(base, host) && (first != r.Namespace || slices.Contains(z.MadeNames, host))
	})
	if up, _ := owner.Parent(); wild && up == base && hostBelow {
		return true, true // S6.2: a wildcard above what the apex names
	}
	if owner == base && r.Type != rdata.CAA && r.Type != rdata.CNAME {
		return false, true
	}
	since := uint64(math.MaxUint64)
	if first, n := t.findFirst(base); first == r.Namespace {
		since = n
	}
	was := w.records[object{r.Namespace, r.Name}]
	edit := was != nil && was.placed.Zone != nil && was.placed.Zone.UID == z.UID && was.ownerIn(z) == owner && was.record.Type == r.Type
	older := func(namespace string, n uint64) bool { // of tenants a new record minds all
		return namespace != r.Namespace && (n <= since || !edit && namespace != z.Namespace)
	}
	for n := range t.records {
		if first, at := t.findFirst(n); n != base && isUnder(base, n) && older(first, at) {
			return true, true // S4.7: taken for the names below, too
		}
	}
	for _, c := range w.zones { // zones below that no zone between encloses
		at, below := c.zone.FQDN().Rel(z.FQDN())
		if c.zone.Pending || c.zone.View != z.View || !below || !isUnder(base, at) || c.zone.UID == z.UID ||
			c.zone.Namespace == r.Namespace {
			continue
		}
		if up, _ := c.zone.FQDN().Parent(); w.findEnclosing(z.View, up).UID == z.UID &&
			older(c.zone.Namespace, w.holdingOf(c.zone).Enclosed.N+1) {
			return true, true // S4.7
		}
	}
	return hostBelow || t.listedBelow(base, r.Namespace), true
}

// allowsSome reports whether a zone allows a namespace records of some type at a name.
func allowsSome(z *law.Zone, namespace string, owner name.Rel) bool {
	at, _ := owner.In(z.FQDN())
	return slices.ContainsFunc(z.Rules, func(rule law.Rule) bool {
		return (len(rule.Namespaces) == 0 || slices.Contains(rule.Namespaces, namespace)) &&
			slices.ContainsFunc(rule.Records, func(to law.RecordRule) bool { return to.Pattern.Match(at, z.FQDN()) })
	})
}

// listGrants tells by which rules a zone allows a record (S4.1 to S4.4), and whether one names its label literally
// (S4.7).
func listGrants(z *law.Zone, r *law.Record, fqdn name.Name) (plain, shared, underscore bool) {
	wild, must := fqdn.IsWildcard(), r.Namespace != z.Namespace && slices.Contains([]rdata.Type{rdata.NS, rdata.DNAME, rdata.DS}, r.Type)
	for _, rule := range z.Rules {
		if len(rule.Namespaces) > 0 && !slices.Contains(rule.Namespaces, r.Namespace) {
			continue
		}
		for _, to := range rule.Records {
			if (must || len(to.Types) > 0) && !slices.Contains(to.Types, r.Type) || !to.Pattern.Match(fqdn, z.FQDN()) {
				continue // S4.3
			}
			if wild && !to.Shared && len(rule.Namespaces) != 1 {
				continue // a wildcard needs a rule for that one namespace
			}
			label := to.Pattern.NamesUnderscore(fqdn, z.FQDN())
			plain = plain || !to.Shared && !label
			shared, underscore = shared || to.Shared, underscore || label
		}
	}
	return plain, shared, underscore
}

// namesRecord reports whether a plain rule of the zone that allows the record names its very name (S4.7).
func namesRecord(z *law.Zone, r *law.Record, fqdn name.Name) bool {
	return slices.ContainsFunc(z.Rules, func(rule law.Rule) bool {
		return (len(rule.Namespaces) == 0 || slices.Contains(rule.Namespaces, r.Namespace)) && slices.ContainsFunc(rule.Records, func(to law.RecordRule) bool {
			return !to.Shared && !to.Pattern.NamesUnderscore(fqdn, z.FQDN()) && (len(to.Types) == 0 || slices.Contains(to.Types, r.Type)) &&
				!strings.Contains(to.Text, "*") && to.Pattern.Match(fqdn, z.FQDN())
		})
	})
}

// takesHolder reads S4.6 for a record that a zone takes in by a cascade, and that did not hold its base name before: it
// becomes the holder of that, which another namespace has without a record there, and no rule names it.
func (w *world) takesHolder(r *law.Record, plan *law.Plan) bool {
	if plan.Record.Zone == nil || r.Namespace == plan.Record.Zone.Namespace {
		return false
	}
	z := w.uniteRules(w.zones[object{plan.Record.Zone.Namespace, plan.Record.Zone.Name}].zone)
	owner, _ := plan.Record.FQDN.Rel(z.FQDN())
	for _, x := range plan.Writes {
		if m, ok := x.Value.(*law.Member); ok && m.Admission == law.AdmittedPlain {
			t := &tenancy{world: w, zone: z, records: w.listHoldings(z)}
			holder, _ := t.findHolder(baseName(owner))
			return holder != "" && holder != r.Namespace && !namesRecord(z, r, plan.Record.FQDN)
		}
	}
	return false
}

// snatchesName reads S2.9 for a record that a cascade takes in after it waited by its annotation for the name of
// another namespace: that one has a rule for the name still, no rule names it for the record, and no claim of its own.
func (w *world) snatchesName(r *law.Record, plan *law.Plan, other string) bool {
	if other == "" || other == r.Namespace || plan.Record.Zone == nil || r.Namespace == plan.Record.Zone.Namespace {
		return false
	}
	z := w.uniteRules(w.zones[object{plan.Record.Zone.Namespace, plan.Record.Zone.Name}].zone)
	owner, _ := plan.Record.FQDN.Rel(z.FQDN())
	t := &tenancy{world: w, zone: z, records: w.listHoldings(z)}
	holder, _ := t.findHolder(baseName(owner))
	adopts := slices.ContainsFunc(plan.Writes, func(x law.Write) bool {
		m, ok := x.Value.(*law.Member)
		return ok && m.Admission == law.AdmittedPlain
	})
	return adopts && holder != r.Namespace && allowsSome(z, other, baseName(owner)) && !namesRecord(z, r, plan.Record.FQDN)
}

// isIn reports whether the zone that a record is adopted by stands.
func (w *world) isIn(at *law.Adopted) bool {
	if at == nil {
		return false
	}
	z := w.zones[object{at.Zone.Namespace, at.Zone.Name}]
	return z != nil && z.zone.UID == at.Zone.UID && !z.zone.Pending
}

// stoodTwin reads S2.7: whether a record that a cascade brings from a zone in which it
// stood may be refused for the holders in the zone that it comes to. Where it held its name,
// wildcards and cuts refuse it nothing, nor do names below that came with it or after it.
func (w *world) stoodTwin(r *law.Record, held bool) bool {
	z, fqdn := w.findLongest(r)
	if r.Type == rdata.DS { // it is about the zone below
		return true
	}
	owner, _ := fqdn.Rel(z.FQDN())
	t := &tenancy{world: w, zone: w.uniteRules(z), records: w.listHoldings(z)}
	base := baseName(owner)
	first, _ := t.findFirst(base)
	if base.IsApex() || slices.Contains(z.MadeNames, base) || first != "" && first != r.Namespace {
		return true
	}
	if holder, _ := t.findHolder(base); !held && holder != "" && holder != r.Namespace {
		return true // it never held the name
	}
	for _, host := range t.listHosts() { // S6.2
		if first, _ := t.findFirst(host); isUnder(base, host) && (first != r.Namespace || slices.Contains(z.MadeNames, host)) {
			return fqdn.IsWildcard() || owner != base || !slices.Contains([]rdata.Type{rdata.A, rdata.AAAA, rdata.TXT, rdata.MX}, r.Type)
		}
	}
	return t.listedBelow(base, r.Namespace)
}

// listedBelow reports whether a shared rule lists a name below base, and ns does not hold it.
func (t *tenancy) listedBelow(base name.Rel, ns string) bool {
	for _, rule := range t.zone.Rules {
		for _, to := range rule.Records {
			if !to.Shared || strings.Contains(to.Text, "*") {
				continue
			}
			at, err := name.ParseIn(to.Text, t.zone.FQDN())
			if err != nil {
				continue
			}
			if n, ok := at.Rel(t.zone.FQDN()); ok && n != base && isUnder(base, n) {
				if first, _ := t.findFirst(n); first != ns {
					return true
				}
			}
		}
	}
	return false
}

// tenancy is what each namespace holds in a zone.
type tenancy struct {
	*world
	zone *law.Zone
	// records are those that hold, by base name.
	records map[name.Rel][]holding
}

// holding is a record that may hold its base name.
type holding struct {
	namespace string
	owner     name.Rel
}

func (w *world) listHoldings(z *law.Zone) map[name.Rel][]holding {
	out := map[name.Rel][]holding{}
	for o, r := range w.records {
		if r.placed.Zone == nil || r.placed.Zone.UID != z.UID {
			continue
		}
		owner := r.ownerIn(z)
		if m, _ := w.facts[law.MemberKey(z.UID, owner, o.Namespace, o.Name)].(*law.Member); m != nil && m.Admission == law.AdmittedPlain {
			base := baseName(owner)
			out[base] = append(out[base], holding{o.Namespace, owner})
		}
	}
	return out
}

// findFirst returns the namespace that holds a name by its records, and since when. Of two that
// have records there it is the one that came first, which the store remembers also after
// its oldest record went.
func (t *tenancy) findFirst(n name.Rel) (namespace string, since uint64) {
	if len(t.records[n]) == 0 {
		return "", 0
	}
	h, _ := t.facts[law.HoldersKey(t.zone.UID, n)].(*law.Holders)
	if h == nil || len(h.List) == 0 {
		return "", 0
	}
	return h.List[0].Namespace, h.List[0].First
}

// findHolder returns the namespace that a base name belongs to, "" for none (S4.6, S6.2).
func (t *tenancy) findHolder(base name.Rel) (namespace string, byRecord bool) {
	if base.IsApex() || slices.Contains(t.zone.MadeNames, base) {
		return t.zone.Namespace, true
	}
	if first, _ := t.findFirst(base); first != "" {
		return first, true
	}
	at, _ := base.In(t.zone.FQDN())
	for _, rule := range t.zone.Rules {
		for _, to := range rule.Records {
			if to.Shared && to.Pattern.Names(at, t.zone.FQDN()) {
				return t.zone.Namespace, false
			}
		}
	}
	for up, ok := base, true; ok && !up.IsApex(); up, ok = up.Parent() {
		if !t.delegatesAway(up) {
			continue
		}
		holds := map[string]bool{}
		for _, r := range t.records[up] {
			holds[r.namespace] = true
		}
		if first, _ := t.findFirst(up); len(holds) == 1 {
			return first, false
		}
		return t.zone.Namespace, false
	}
	below := base
	for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
		for _, r := range t.records[up] {
			if r.namespace == t.zone.Namespace || r.owner == up {
				continue
			}
			// It ends where another namespace holds a name: that one exists, with all above it.
			for n := range t.records {
				if first, _ := t.findFirst(n); first != r.namespace && isUnder(below, n) {
					return t.byApex(base)
				}
			}
			if slices.ContainsFunc(t.zone.MadeNames, func(host name.Rel) bool { return isUnder(below, host) }) {
				return t.byApex(base)
			}
			return r.namespace, false
		}
		below = up
	}
	return t.byApex(base)
}

// delegatesAway reports whether an adopted NS record stands at n.
func (t *tenancy) delegatesAway(n name.Rel) bool {
	for _, r := range t.world.records {
		if r.placed.Zone != nil && r.placed.Zone.UID == t.zone.UID && r.record.Type == rdata.NS && r.ownerIn(t.zone) == n {
			return true
		}
	}
	return false
}

// byApex is the zone's own namespace where its apex names the host.
func (t *tenancy) byApex(base name.Rel) (string, bool) {
	if slices.Contains(t.listHosts(), base) {
		return t.zone.Namespace, false
	}
	return "", false
}

// listHosts returns the names below the apex that NS records there name, and MX, SVCB and HTTPS records there of the
// zone's own namespace, with those of the zone's own name servers.
func (t *tenancy) listHosts() []name.Rel {
	out := slices.Clone(t.zone.MadeNames)
	for o, r := range t.world.records {
		if r.placed.Zone == nil || r.placed.Zone.UID != t.zone.UID || !r.ownerIn(t.zone).IsApex() {
			continue
		}
		if r.record.Type != rdata.NS && (o.Namespace != t.zone.Namespace || !slices.Contains([]rdata.Type{rdata.MX, rdata.SVCB, rdata.HTTPS}, r.record.Type)) {
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

// baseName: the labels that follow the last label that is * or begins with _.
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

// isUnder reports whether n is up or below it.
func isUnder(up, n name.Rel) bool {
	return n == up || strings.HasSuffix(n.String(), "."+up.String()) || up.IsApex()
}

// isQuiet reports whether nothing is on its way, so that what stands decides.
func (w *world) isQuiet() bool {
	if len(w.outbox)+len(w.pendingCuts) > 0 {
		return false
	}
	for _, k := range w.listHoldingKeys() {
		if h := w.facts[k].(*law.Holding); len(h.Works) > 0 {
			return false
		}
	}
	return true
}

// findLongest returns the longest zone at or above a record's name, and that name.
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
		if !z.zone.Pending && z.zone.View == view && z.zone.FQDN().Encloses(fqdn) && (longest == nil || longest.FQDN().Encloses(z.zone.FQDN())) {
			longest = z.zone
		}
	}
	return longest, fqdn
}
