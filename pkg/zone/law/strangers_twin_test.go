// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// The twin of strangers checks the goal of the rules about names without using the rules. The strangers of a name are
// the namespaces without a rule there, and must change nothing for the holders. The twin plays a script with and
// without the strangers' acts, and compares DNS answers, refusals and waiting objects.

// title is a right to a name and the names below.
type title struct {
	kind    string
	name    name.Name
	holders []string
	// since is the act that made the title. Strangers may keep earlier data. With -1, they may keep none.
	since int
}

const (
	titleNamed   = "named name"         // by a literal rule
	titleKept    = "name named for own" // the same, for the zone's own namespace alone
	titleGuest   = "name of an underscore rule"
	titleOwn     = "own name"
	titleLabel   = "own underscore name" // this name alone
	titleZone    = "zone"
	titleClaim   = "claimed name" // a tenant's, by a rule with "*"
	titleService = "name of the apex's clients"
	titleWaiter  = "awaited name" // of a Record that waits by annotation for data of its namespace
	titleReserve = "awaited own name"
	titlePointer = "host of own's pointer" // own trusts the host, without a right to it
)

// serviceLabels are names below the apex that clients look up for the zone itself.
var serviceLabels = []string{"wpad", "isatap", "mta-sts", "autodiscover", "autoconfig", "openpgpkey"}

// loss is a title worth less than without the strangers, with the class of the loss.
type loss struct {
	act         int
	class, text string
}

// inquest compares each moment of a script with a world without strangers.
type inquest struct {
	script script
	actual []*moment
	plays  map[string][]*moment
	losses []loss
}

func (s script) listLosses() []loss {
	q := &inquest{script: s, actual: s.playScript(nil), plays: map[string][]*moment{}}
	for i := range s {
		q.judgeAlone(i)
		for _, t := range q.listTitles(i) {
			q.judgeTitle(i, t)
		}
	}
	return q.losses
}

func (q *inquest) noteLoss(i int, class, format string, args ...any) {
	q.losses = append(q.losses, loss{i, class, fmt.Sprintf(format, args...)})
}

func (q *inquest) listTitles(i int) (all []title) {
	m := q.actual[i]
	for _, z := range m.zones {
		for _, t := range listNamedTitles(z) {
			if m.zoneAt(t.name) == z || m.zoneAbove(t.name) == z { // else the rules of a zone between decide
				all = append(all, t)
			}
		}
		up := m.zoneAbove(z.FQDN())
		for _, label := range serviceLabels {
			n := nameBelow(label, z.FQDN())
			named := func(t title) bool { return t.since < 0 && t.name == n }
			if up == nil && m.forest[n] == nil && !slices.ContainsFunc(all, named) {
				all = append(all, title{titleService, n, []string{z.Namespace}, -1})
			}
		}
		if up != nil {
			all = append(all, title{titleZone, z.FQDN(), []string{z.Namespace}, q.sinceZone(i, z)})
		}
	}
	for _, o := range sortedObjects(m.existing) {
		if t, ok := m.titleOf(o); ok {
			all = append(all, t)
		}
	}
	all = append(all, q.listGuestTitles(i)...)
	for _, o := range sortedObjects(m.waits) {
		if t, ok := q.titleOfWaiter(o, m); ok {
			all = append(all, t)
		}
	}
	return uniteTitles(all)
}

func uniteTitles(all []title) (out []title) {
	for _, t := range all {
		i := slices.IndexFunc(out, func(x title) bool {
			return x.kind == t.kind && x.name == t.name && (t.since < 0 || x.holders[0] == t.holders[0])
		})
		if i < 0 {
			out = append(out, t)
			continue
		}
		out[i].since = min(out[i].since, t.since)
		out[i].holders = append(slices.Clone(out[i].holders), t.holders...)
	}
	for i, t := range out { // a name given to own and to tenants
		named := func(x title) bool { return x.kind == titleNamed && x.name == t.name }
		if t.kind == titleKept && slices.ContainsFunc(out, named) {
			out[i].kind = titleNamed
		}
	}
	return out
}

// listNamedTitles returns the titles by the literal rules of a zone, except rules for types that only prove something
// and rules for labels with "_".
func listNamedTitles(z *law.Zone) (all []title) {
	for _, rule := range z.Rules {
		add := func(p pattern.Pattern) {
			n, ok := p.LiteralName(z.FQDN())
			if ok && n != z.FQDN() && !strings.Contains(p.String(), "_") && len(rule.Namespaces) > 0 {
				kind := titleNamed
				if slices.Equal(rule.Namespaces, []string{z.Namespace}) {
					kind = titleKept
				}
				all = append(all, title{kind, n, rule.Namespaces, -1})
			}
		}
		for _, r := range rule.Records {
			proofs := len(r.Types) > 0
			for _, t := range r.Types {
				proofs = proofs && slices.Contains([]rdata.Type{rdata.TXT, rdata.CAA, rdata.DS, rdata.TLSA, rdata.SSHFP}, t)
			}
			if !proofs {
				add(r.Pattern)
			}
		}
		for _, p := range rule.Zones {
			add(p)
		}
	}
	return all
}

// listGuestTitles returns the title of an act's namespace by an underscore rule.
func (q *inquest) listGuestTitles(i int) []title {
	f := strings.Fields(q.script[i])
	if f[1] != "writes" {
		return nil
	}
	n := scriptName(f[2])
	z := q.actual[i].zoneAt(n)
	if z == nil || z.Namespace == f[0] {
		return nil
	}
	for _, rule := range z.Rules {
		if slices.Contains(rule.Namespaces, f[0]) && slices.ContainsFunc(rule.Records, func(r rules.RecordRule) bool {
			return r.Pattern.NamesUnderscore(n, z.FQDN())
		}) {
			rel, _ := n.Rel(z.FQDN())
			base, _ := baseName(rel).In(z.FQDN())
			return []title{{titleGuest, base, []string{f[0]}, -1}}
		}
	}
	return nil
}

func (m *moment) titleOf(o object) (title, bool) {
	d := m.findDatum(o)
	if d == nil || d.by.meant && !d.by.own || d.ends || m.existing[o] < m.ruled && !m.settled {
		return title{}, false
	}
	t := title{titleClaim, baseOf(d), []string{o.Namespace}, m.existing[o]}
	if d.by.own {
		if t.kind = titleOwn; strings.Contains(d.owner.String(), "_") {
			t.kind, t.name = titleLabel, d.owner
		}
	}
	return t, t.name != d.by.zone.FQDN()
}

func (q *inquest) titleOfWaiter(o object, m *moment) (title, bool) {
	then := q.actual[m.waits[o]]
	n := scriptName(o.readOwner())
	z := then.zoneAt(n)
	if z == nil || !m.annotated[o] {
		return title{}, false
	}
	kind, own := titleWaiter, z.Namespace == o.Namespace
	if own {
		kind = titleReserve
	}
	for _, d := range then.forest[z.FQDN()].data[n] {
		own = own || d.by.namespace == o.Namespace
	}
	return title{kind, n, []string{o.Namespace}, m.waits[o]}, own
}

func (m *moment) findDatum(o object) *datum {
	all := m.forest.listData()
	if i := slices.IndexFunc(all, func(d *datum) bool { return d.from == o }); i >= 0 {
		return all[i]
	}
	return nil
}

func (f dnsForest) listData() (all []*datum) {
	for _, apex := range slices.SortedFunc(maps.Keys(f), name.Name.Compare) {
		for _, at := range slices.SortedFunc(maps.Keys(f[apex].data), name.Name.Compare) {
			all = append(all, f[apex].data[at]...)
		}
	}
	return all
}

// zoneAt returns the nearest zone at or above a name, or nil.
func (m *moment) zoneAt(n name.Name) (best *law.Zone) {
	for _, z := range m.zones {
		if z.FQDN().Encloses(n) && (best == nil || best.FQDN().Encloses(z.FQDN())) {
			best = z
		}
	}
	return best
}

func (m *moment) zoneAbove(n name.Name) *law.Zone {
	up, ok := n.Parent()
	if !ok {
		return nil
	}
	return m.zoneAt(up)
}

func (q *inquest) sinceZone(i int, z *law.Zone) int {
	for ; i > 0; i-- {
		if !slices.ContainsFunc(q.actual[i-1].zones, func(x *law.Zone) bool { return x.UID == z.UID }) {
			return i
		}
	}
	return i
}

// hasRule reports whether a namespace has a rule for a name in spite of a title: it has a zone there, a literal rule
// for the name or for a name above or below, or a pattern that reaches the name and ends at or below the name of the
// title.
func (m *moment) hasRule(ns string, n name.Name, t title) bool {
	if slices.Contains(t.holders, ns) {
		return true
	}
	for _, z := range m.zones {
		if !z.FQDN().Encloses(n) {
			continue
		}
		if z.Namespace == ns {
			return true
		}
		for _, rule := range z.Rules {
			if len(rule.Namespaces) > 0 && !slices.Contains(rule.Namespaces, ns) {
				continue
			}
			patterns := slices.Clone(rule.Zones)
			for _, r := range rule.Records {
				patterns = append(patterns, r.Pattern)
			}
			if slices.ContainsFunc(patterns, func(p pattern.Pattern) bool { return givesName(p, n, z.FQDN(), t) }) {
				return true
			}
		}
	}
	return false
}

// hasRuleBelow reports whether a pattern ends at the title's name and reaches names below.
func (m *moment) hasRuleBelow(ns string, t title) bool {
	z := m.zoneAbove(t.name)
	return z != nil && slices.ContainsFunc(z.Rules, func(rule rules.Rule) bool {
		return slices.Contains(rule.Namespaces, ns) && slices.ContainsFunc(rule.Records, func(r rules.RecordRule) bool {
			return !strings.Contains(r.Pattern.String(), "_") && t.name.Encloses(tailOf(r.Pattern, z.FQDN()))
		})
	})
}

func givesName(p pattern.Pattern, n, zone name.Name, t title) bool {
	guest := strings.Contains(p.String(), "_")
	switch {
	case t.name.Encloses(zone): // the owner of a zone below makes its rules
		return p.Match(n, zone)
	case t.kind == titleGuest: // a guest has no right against other guests, nor against writers beside its name
		return guest || p.Match(n, zone)
	case guest:
		return false
	}
	if only, ok := p.LiteralName(zone); ok {
		return only.Encloses(n) || n.Encloses(only)
	}
	return t.kind != titleClaim && t.kind != titleWaiter && p.Match(n, zone) && t.name.Encloses(tailOf(p, zone))
}

func (q *inquest) playWithout(strangers []string, since int) []*moment {
	without := map[int]bool{}
	for j, line := range q.script {
		by, _, _ := strings.Cut(line, " ")
		without[j] = slices.Contains(strangers, by) && j > since && !q.script.existedAt(j, since)
	}
	maps.DeleteFunc(without, func(_ int, left bool) bool { return !left })
	if len(without) == 0 {
		return nil
	}
	key := fmt.Sprint(slices.Sorted(maps.Keys(without)))
	if q.plays[key] == nil {
		q.plays[key] = q.script.playScript(without)
	}
	return q.plays[key]
}

// existedAt reports whether an act is at or below a name where its namespace had written before the title was made.
func (s script) existedAt(j, since int) bool {
	by, at := strings.Fields(s[j])[0], scriptBase(ownerOfAct(s[j]))
	return slices.ContainsFunc(s[:min(since+1, j)], func(line string) bool {
		f := strings.Fields(line)
		return f[0] == by && (f[1] == "writes" || f[1] == "zones") && scriptBase(ownerOfAct(line)).Encloses(at)
	})
}

func (q *inquest) judgeTitle(i int, t title) {
	for _, n := range q.listNames(i, t) {
		var strangers []string
		for _, ns := range scriptNamespaces {
			if !q.actual[i].hasRule(ns, n, t) {
				strangers = append(strangers, ns)
			}
		}
		all := q.playWithout(strangers, t.since)
		if all == nil {
			continue
		}
		c := &comparison{q, i, t, n, q.actual[i], all[i], strangers}
		c.compareActs()
		if t.kind != titleGuest { // a guest holds no name
			c.compareWaits()
			c.compareAnswers()
		}
	}
}

func (q *inquest) listNames(i int, t title) []name.Name {
	names := map[name.Name]bool{t.name: true}
	if t.kind != titleLabel {
		for j := range i + 1 {
			if f := strings.Fields(q.script[j]); f[1] == "writes" && t.name.Encloses(scriptBase(f[2])) {
				names[scriptBase(f[2])] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(names), name.Name.Compare)
}

// comparison compares the name of a title, after an act, with the world without strangers.
type comparison struct {
	*inquest
	act           int
	title         title
	name          name.Name
	actual, other *moment
	strangers     []string
}

func (c *comparison) noteTitle(what, format string, args ...any) {
	c.noteLoss(c.act, c.title.kind+": "+what, "%s of %s: %s", c.name, strings.Join(c.title.holders, ", "), fmt.Sprintf(format, args...))
}

func (c *comparison) compareActs() {
	fields := strings.Fields(c.script[c.act])
	if c.actual.refusal == nil || c.other.refusal != nil || !slices.Contains(c.title.holders, fields[0]) {
		return
	}
	at := ownerOfAct(c.script[c.act])
	if slices.Contains(fields, "in") || scriptBase(at) != c.name && scriptName(at) != c.name {
		return
	}
	if slices.ContainsFunc(strangerExemptions, func(x exemption) bool { return x.refuses != nil && x.refuses(c) }) {
		return
	}
	what := "a record is refused"
	if fields[1] == "zones" || fields[1] == "unzones" {
		what = "a zone is refused"
	}
	switch c.actual.refusal.Kind {
	case law.Later:
		if !slices.ContainsFunc(c.actual.lockers, func(by string) bool { return slices.Contains(c.strangers, by) }) {
			return // the lock belongs to a namespace with a rule for the name
		}
		what = "locked"
	case law.Invalid:
		what += " by data"
	}
	c.noteTitle(what, "%s", c.actual.refusal.Message)
}

// compareWaits records each Record that waits because of strangers, and not because of own writes at its name or below.
func (c *comparison) compareWaits() {
	isOwn := func(d *datum) bool {
		return d.by != nil && d.by.own && d.from != (object{}) && c.name.Encloses(baseOf(d))
	}
	if !c.actual.settled || !c.other.settled || slices.ContainsFunc(c.actual.forest.listData(), isOwn) && !c.isOwnTitle() {
		return
	}
	for o := range c.actual.waits {
		d := c.other.findDatum(o)
		if d != nil && !d.ends && !c.awaitsEnd() && slices.Contains(c.title.holders, o.Namespace) && scriptBase(o.readOwner()) == c.name {
			c.noteTitle("a record waits on", "%s waits", o)
		}
	}
}

func (c *comparison) isOwnTitle() bool {
	z := c.actual.zoneAt(c.name)
	return z != nil && slices.Contains(c.title.holders, z.Namespace)
}

// compareAnswers records data of strangers in answers for the name, and data missing because of strangers.
func (c *comparison) compareAnswers() {
	reported := map[string]bool{}
	for _, q := range c.listQuestions() {
		is, without := c.actual.forest.readName(q.name, q.rtype), c.other.forest.readName(q.name, q.rtype)
		for _, d := range is.read {
			if k := d.describeDatum(); !reported[k] && !hasDatum(without.read, d) && c.isStrange(d) {
				reported[k] = true
				c.noteTitle("a stranger speaks "+c.speaksAt(d), "%s is read (%s %s)", k, q.name, q.rtype)
			}
		}
		if !c.actual.settled || !c.other.settled || c.actual.hasGuest(q.name) {
			continue
		}
		for _, d := range without.read {
			if k := d.describeDatum(); !reported["no "+k] && !hasDatum(is.read, d) && c.isMissed(d) {
				reported["no "+k] = true
				c.noteTitle("silenced", "%s is not read (%s %s)", k, q.name, q.rtype)
			}
		}
	}
}

// hasGuest reports whether a tenant has data at a name given literally, so that no wildcard covers the name.
func (m *moment) hasGuest(n name.Name) bool {
	z := m.forest.findTop(n)
	return z != nil && slices.ContainsFunc(z.data[n], func(d *datum) bool { return d.by.meant && !d.by.own })
}

// isMissed reports whether a hidden datum exists. Refused data were recorded before.
func (c *comparison) isMissed(d *datum) bool {
	_, exists := c.actual.existing[d.from]
	if d.from == (object{}) {
		exists = c.actual.forest[d.owner] != nil
	}
	return exists && d.by != nil && !slices.Contains(c.strangers, d.by.namespace) && !c.isExempt(d)
}

type question struct {
	name  name.Name
	rtype rdata.Type
}

func (c *comparison) listQuestions() (all []question) {
	types, owners := map[rdata.Type]bool{}, map[name.Name]bool{c.name: true}
	for _, m := range []*moment{c.actual, c.other} {
		for _, z := range m.forest {
			for at, set := range z.data {
				for _, d := range set {
					types[d.rtype] = true
				}
				if d := set[0]; d.by != nil && c.title.kind != titleLabel && baseOf(d) == c.name {
					owners[at] = true
				}
			}
		}
	}
	for _, owner := range slices.SortedFunc(maps.Keys(owners), name.Name.Compare) {
		for _, t := range slices.Sorted(maps.Keys(types)) {
			all = append(all, question{owner, t})
		}
	}
	if c.title.kind == titleLabel {
		return all
	}
	for up, ok := c.name.Parent(); ok && up.NumLabels() > 0; up, ok = up.Parent() {
		all = append(all, question{up, rdata.CAA}, question{nameBelow("_dmarc", up), rdata.TXT})
	}
	if up, ok := c.name.Parent(); ok {
		all = append(all, question{nameBelow("_acme-challenge", up), rdata.TXT})
	}
	return append(all, question{nameBelow("_acme-challenge", c.name), rdata.TXT})
}

// isStrange reports whether a stranger wrote the datum without a literal rule, by labels or by name. judgeAlone checks
// visible DS records.
func (c *comparison) isStrange(d *datum) bool {
	return d.by != nil && d.rtype != rdata.DS && slices.Contains(c.strangers, d.by.namespace) && !d.by.own && !d.by.meant &&
		!c.isExempt(d)
}

// speaksAt returns the place of a datum: at the name's base or above.
func (c *comparison) speaksAt(d *datum) string {
	base := d.owner
	if d.from != (object{}) && c.title.kind != titleLabel {
		base = baseOf(d)
	}
	if base == c.name {
		return "at it"
	}
	return "from above"
}

func (d *datum) describeDatum() string {
	if d.from == (object{}) {
		return fmt.Sprintf("the zone %s", d.owner)
	}
	return fmt.Sprintf("%s %s of %s", d.owner, d.rtype, d.from.Namespace)
}

func hasDatum(set []*datum, d *datum) bool {
	return slices.ContainsFunc(set, func(x *datum) bool { return x.from == d.from && x.owner == d.owner && x.rtype == d.rtype })
}

// judgeAlone records the losses visible without the other world. A new zone counts once settled.
func (q *inquest) judgeAlone(i int) {
	m := q.actual[i]
	for _, o := range m.unruled {
		q.noteLoss(i, "nobody's rule: a record stands", "%s", o)
	}
	for _, d := range m.forest.listData() {
		z := m.forest[d.owner]
		if d.rtype == rdata.DS && m.settled && z != nil && z.apex != d.by.zone.FQDN() && !d.by.own && d.by.namespace != z.cut.by.namespace {
			q.noteLoss(i, "zone: a stranger's DS", "%s", d.describeDatum())
		}
		q.judgePointer(i, d)
	}
	q.judgeCut(i)
}

// judgeCut records the data of others that a tenant's new zone, NS or DNAME takes over.
func (q *inquest) judgeCut(i int) {
	f, now := strings.Fields(q.script[i]), q.actual[i]
	cuts := f[1] == "zones" || f[1] == "writes" && (f[3] == "NS" || f[3] == "DNAME")
	if i == 0 || !cuts || now.refusal != nil || slices.Contains(f, "in") {
		return
	}
	n := scriptName(ownerOfAct(q.script[i]))
	up := now.zoneAbove(n)
	if up == nil || up.Namespace == f[0] || f[1] == "zones" && q.sinceZone(i, now.zoneAt(n)) < i {
		return
	}
	if f[1] == "writes" && now.existing[object{f[0], f[2] + " " + f[3]}] < i { // it waits, or was there
		return
	}
	for _, d := range q.actual[i-1].forest.listData() {
		if d.by != nil && d.by.zone.UID == up.UID && d.by.namespace != f[0] && !d.by.meant && n.Encloses(d.owner) {
			q.noteLoss(i, "name below a cut: taken over", "%s of %s", d.describeDatum(), n)
		}
	}
}

// judgePointer records a pointer of the own namespace to another name of the zone where a tenant answers by a rule with
// "*".
func (q *inquest) judgePointer(i int, d *datum) {
	m := q.actual[i]
	c := &comparison{inquest: q, act: i, title: title{kind: titlePointer}, name: d.target, actual: m}
	if d.from == (object{}) || !d.by.own || d.target.IsZero() || d.target == d.owner ||
		!d.by.zone.FQDN().Encloses(d.target) || c.isExempt(d) {
		return
	}
	for _, t := range scriptTypes {
		a := m.forest.readName(d.target, t)
		for _, x := range a.read {
			if x.by != nil && x.by.namespace != d.by.namespace && !x.by.own && !x.by.meant && !x.ends && baseOf(x).Encloses(d.target) {
				q.noteLoss(i, titlePointer+": a stranger has it", "%s leads to %s", d.describeDatum(), x.describeDatum())
				return
			}
		}
	}
}
