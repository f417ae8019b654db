// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
)

// The speaker twin says what the rules about names are for, and none of them: whatever a resolver, a CA or a mail host
// reads for a name that a tenant claims by a rule with "*" is that tenant's, of the zone's own namespace, of a rule
// that names it literally or by its underscore labels, or of the same rule with shared: true.

// voice is the namespace that put a datum into the DNS, and by which right.
type voice struct {
	namespace string
	zone      *law.Zone
	// own says that it is the zone's own namespace's, and meant that a rule names the very name, or each underscore
	// label.
	own, meant bool
	// shared are the rules with shared: true that allow it, by their place in the zone.
	shared []int
	// came is when its object was made, and wrote when that was written last.
	came, wrote int64
	// zoneCame is when the zone was made that has the datum, and ruled when its rules were written last.
	zoneCame, ruled int64
	// ends says of a zone that no rule allows it any more, and that it stands for its period; moved that a cascade
	// brought it to the zone.
	ends, moved bool
}

// nameClaim is a name that a tenant has in a zone by rules with "*" alone.
type nameClaim struct {
	namespace string
	name      name.Name
	zone      *law.Zone
	came      int64
	ruled     int64
	moved     bool
	shared    []int
}

// speech is something read for a claimed name that another tenant put there.
type speech struct {
	claim *nameClaim
	said  *datum
	// asked is what was asked for the name, and via what led there from the answer.
	asked string
	via   *datum
	// cut is the delegation of the zone at the name of said.
	cut *datum
}

// tellVoice tells the namespace of an adopted record, and its right.
func (w *world) tellVoice(o object, r *recordObject) *voice {
	z := w.uniteRules(w.zones[object{r.placed.Zone.Namespace, r.placed.Zone.Name}].zone)
	in := w.zones[object{z.Namespace, z.Name}]
	v := &voice{namespace: o.Namespace, zone: z, own: o.Namespace == z.Namespace, came: r.record.Created, wrote: r.written,
		zoneCame: in.created, ruled: in.written, moved: r.first != z.UID}
	v.meant, v.shared = listShares(z, o.Namespace, r.placed.FQDN, r.record.Type)
	return v
}

// listShares tells whether a rule that allows a record names it (S4.6, S4.12, S4.14), and which rules with shared: true
// give its name.
func listShares(z *law.Zone, ns string, at name.Name, t rdata.Type) (meant bool, shared []int) {
	must := slices.Contains([]rdata.Type{rdata.NS, rdata.DNAME, rdata.DS, rdata.CDS, rdata.CDNSKEY, rdata.CSYNC, rdata.DNSKEY}, t)
	base := at
	if owner, ok := at.Rel(z.FQDN()); ok {
		base, _ = baseName(owner).In(z.FQDN())
	}
	for i, rule := range z.Rules {
		if len(rule.Namespaces) > 0 && !slices.Contains(rule.Namespaces, ns) {
			continue
		}
		for _, to := range rule.Records {
			if to.Shared && to.Pattern.Match(base, z.FQDN()) { // its namespaces are one tenant at the name, whatever they write there
				shared = append(shared, i)
			}
			if !to.Pattern.Match(at, z.FQDN()) || (must || len(to.Types) > 0) && !slices.Contains(to.Types, t) {
				continue
			}
			meant = meant || to.Pattern.Names(at, z.FQDN()) || to.Pattern.NamesUnderscore(at, z.FQDN())
		}
	}
	return meant, shared
}

// tellZoneVoice tells the namespace of a zone, and its right to the delegation; nil where no zone is above.
func (w *world) tellZoneVoice(z *law.Zone) *voice {
	up, ok := z.FQDN().Parent()
	h := w.findEnclosing(z.View, up)
	if !ok || h == nil {
		return nil
	}
	parent := w.uniteRules(w.zones[object{h.Namespace, h.Ref.Name}].zone)
	in := w.zones[object{h.Namespace, h.Ref.Name}]
	v := &voice{namespace: z.Namespace, zone: parent, own: z.Namespace == parent.Namespace, meant: w.holdingOf(z).Established,
		came: w.zones[object{z.Namespace, z.Name}].created, zoneCame: in.created, ruled: in.written,
		ends:  !parent.RuleSet().DelegatesZone(z.FQDN(), z.Namespace),
		moved: w.zones[object{z.Namespace, z.Name}].first != parent.UID}
	v.wrote = v.came
	for _, rule := range parent.Rules {
		if len(rule.Namespaces) > 0 && !slices.Contains(rule.Namespaces, z.Namespace) {
			continue
		}
		for _, p := range rule.Zones {
			v.meant = v.meant || p.Names(z.FQDN(), parent.FQDN()) || p.NamesUnderscore(z.FQDN(), parent.FQDN())
		}
	}
	return v
}

// scene is what stands: the DNS, the names that tenants claim, and those that a namespace has or had.
type scene struct {
	forest dnsForest
	claims []*nameClaim
	had    []tenure
}

// tenure is that a namespace has a name, from its oldest object there to the last time that it was seen. given says
// that a literal rule gave it.
type tenure struct {
	namespace   string
	name        name.Name
	came, until int64
	given       bool
}

// buildForest puts the Records and zones that stand in the default view into the DNS. It returns the voice of each
// Record there.
func (w *world) buildForest() (dnsForest, map[object]*voice) {
	f, voices := dnsForest{}, map[object]*voice{}
	for _, o := range sortedObjects(w.zones) {
		z := w.zones[o].zone
		if z.Pending || z.View != "" {
			continue
		}
		in := f.addZone(z.FQDN(), &datum{owner: z.FQDN(), rtype: rdata.NS, by: w.tellZoneVoice(z)})
		own := &voice{namespace: z.Namespace, zone: z, own: true, came: w.zones[o].created, wrote: w.zones[o].created}
		for _, ns := range z.Header.NameServers {
			host, err := name.ParseIn(ns.Name, z.FQDN())
			if err != nil {
				continue
			}
			in.addDatum(&datum{owner: z.FQDN(), rtype: rdata.NS, target: host, by: own})
			if len(ns.Addresses) > 0 && z.FQDN().Encloses(host) {
				in.addDatum(&datum{owner: host, rtype: rdata.A, by: own})
			}
		}
	}
	for _, o := range sortedObjects(w.records) {
		r := w.records[o]
		if r.placed.Zone == nil || r.placed.View != "" {
			continue
		}
		if in := w.zones[object{r.placed.Zone.Namespace, r.placed.Zone.Name}]; in == nil || in.zone.UID != r.placed.Zone.UID ||
			in.zone.Pending {
			continue // the zone is gone, and the Record has not come into another one yet
		}
		v := w.tellVoice(o, r)
		voices[o] = v
		for _, x := range r.record.Values {
			target, _ := x.Target(v.zone.FQDN())
			f[v.zone.FQDN()].addDatum(&datum{owner: r.placed.FQDN, rtype: r.record.Type, target: target, by: v, from: o,
				ends: r.placed.Reason == law.ReasonDelegationWithdrawn})
		}
	}
	return f, voices
}

// buildScene builds the DNS, and lists the namespaces that have each name.
func (w *world) buildScene() *scene {
	f, voices := w.buildForest()
	var claims []*nameClaim
	var had []tenure
	claim := func(v *voice, n name.Name, whole bool) {
		if v == nil {
			return
		}
		had = append(had, tenure{v.namespace, n, v.came, w.now.Unix(), v.meant && whole})
		if v.own || v.meant || n == v.zone.FQDN() {
			return
		}
		i := slices.IndexFunc(claims, func(c *nameClaim) bool {
			return c.namespace == v.namespace && c.name == n && c.zone.UID == v.zone.UID
		})
		if i < 0 {
			claims = append(claims, &nameClaim{namespace: v.namespace, name: n, zone: v.zone, came: v.came, ruled: v.ruled,
				moved: v.moved, shared: slices.Clone(v.shared)})
			return
		}
		claims[i].moved = claims[i].moved || v.moved
		claims[i].came = min(claims[i].came, v.came)
		claims[i].shared = append(claims[i].shared, v.shared...)
	}
	for _, o := range sortedObjects(w.zones) {
		if z := w.zones[o].zone; !z.Pending && z.View == "" {
			claim(f[z.FQDN()].cut.by, z.FQDN(), true)
		}
	}
	for _, o := range sortedObjects(voices) {
		at := w.records[o].placed.FQDN
		owner, _ := at.Rel(voices[o].zone.FQDN())
		if base, err := baseName(owner).In(voices[o].zone.FQDN()); err == nil {
			claim(voices[o], base, base == at)
		}
	}
	all := w.rememberTenures(had)
	for _, c := range claims { // since when it has been so without a gap
		for _, x := range all {
			if x.namespace == c.namespace && x.name == c.name && x.until == w.now.Unix() {
				c.came = max(c.came, x.came)
			}
		}
	}
	return &scene{f, claims, all}
}

// rememberTenures adds the names that namespaces have to those that they had earlier, so long as there was no gap.
func (w *world) rememberTenures(now []tenure) []tenure {
	for _, x := range now {
		i := slices.IndexFunc(w.tenures, func(was tenure) bool {
			return was.namespace == x.namespace && was.name == x.name && was.given == x.given && was.until >= w.heard
		})
		if i < 0 {
			if x.came < w.heard { // it waited until now
				x.came = w.now.Unix()
			}
			w.tenures = append(w.tenures, x)
		} else {
			w.tenures[i].until = x.until
		}
	}
	w.heard = w.now.Unix()
	return w.tenures
}

// hearSpeakers asks all that is asked for the claimed names, and returns what others say.
func (w *world) hearSpeakers() (heard []speech) {
	all := w.buildScene()
	for _, c := range all.claims {
		l := &listener{scene: all, at: w.now.Unix(), claim: c}
		top := all.forest.findTop(c.name)
		l.askFor("address", c.name, rdata.A)
		l.askFor("text", c.name, rdata.TXT)
		l.askFor("service", c.name, rdata.HTTPS)
		l.askFor("mail", c.name, rdata.MX)
		l.askFor("TLSA", nameBelow("_443._tcp", c.name), rdata.TLSA)
		l.askFor("challenge", nameBelow("_acme-challenge", c.name), rdata.TXT)
		if up, ok := c.name.Parent(); ok && top.apex.Encloses(up) { // a certificate for *.up is one for the name
			l.askFor("wildcard challenge", nameBelow("_acme-challenge", up), rdata.TXT)
		}
		found := false
		for up, ok := c.name, true; ok && top.apex.Encloses(up); up, ok = up.Parent() {
			found = found || l.askFor("CAA", up, rdata.CAA) // RFC 8659: up to the first
			l.askFor("DMARC", nameBelow("_dmarc", up), rdata.TXT)
			l.askFor("DKIM", nameBelow("s._domainkey", up), rdata.TXT)
		}
		heard = append(heard, l.heard...)
	}
	return heard
}

// nameBelow is a name of labels below another; the zero name where that is too long.
func nameBelow(labels string, up name.Name) name.Name {
	n, _ := name.MustRel(labels).In(up)
	return n
}

// listener asks for one claimed name.
type listener struct {
	*scene
	at    int64
	claim *nameClaim
	heard []speech
	seen  map[string]bool
}

// askFor notes all that others say in the answer to a question, and returns whether there is one of the type.
func (l *listener) askFor(what string, n name.Name, t rdata.Type) bool {
	l.seen = map[string]bool{}
	return l.followQuestion(what, n, t, nil, true)
}

// followQuestion asks a question that via leads to, nil for none. It listens until it follows what the author of a
// pointer chose.
func (l *listener) followQuestion(what string, n name.Name, t rdata.Type, via *datum, listens bool) bool {
	key := fmt.Sprint(n, t, via, listens)
	if n.IsZero() || l.seen[key] {
		return false
	}
	l.seen[key] = true
	a := l.forest.readName(n, t)
	for _, d := range a.read {
		if listens {
			l.judgeDatum(what, d, via)
		}
	}
	found := a.direct
	for _, p := range a.next {
		minds := listens && l.mindsPointer(p.from, p.to) && (via == nil || !l.choseTarget(via, p.from))
		for _, d := range p.glue {
			if minds {
				l.judgeDatum(what, d, p.from)
			}
		}
		if !p.isGlue && l.followQuestion(what, p.to, p.ask, p.from, minds) && p.from.rtype != rdata.NS && p.ask == t {
			found = true
		}
	}
	return found
}

func (l *listener) judgeDatum(what string, d, via *datum) {
	if d.by == nil || l.permitsDatum(d) || via != nil && l.choseTarget(via, d) {
		return
	}
	if !slices.ContainsFunc(l.heard, func(s speech) bool { return s.said == d && s.asked == what && s.via == via }) {
		s := speech{claim: l.claim, said: d, asked: what, via: via}
		if z := l.forest[d.owner]; z != nil {
			s.cut = z.cut
		}
		l.heard = append(l.heard, s)
	}
}

// permitsDatum reports whether a datum is of a namespace that may speak for the claim.
func (l *listener) permitsDatum(d *datum) bool {
	c := l.claim
	switch {
	case d.by.meant || d.by.own || d.by.namespace == c.namespace: // own of a zone: that it stands there is judged by its cut
		return true
	case l.decidesAlready(c, d.by.namespace):
		return true // the claim came to what that namespace decides
	case slices.ContainsFunc(l.had, func(x tenure) bool {
		return x.given && x.came <= c.came && c.came <= x.until && x.namespace == c.namespace && x.name.Encloses(c.name) &&
			x.name != baseOf(d) && baseOf(d).Encloses(x.name)
	}):
		return true // the owner had put the tenant below it
	case l.wasPutBelow(d):
		return true
	case d.by.zone.UID == c.zone.UID:
		return slices.ContainsFunc(d.by.shared, func(i int) bool { return slices.Contains(c.shared, i) })
	}
	return false
}

// decidesAlready reports whether a namespace had a zone at or above a claimed name when that was claimed.
func (l *listener) decidesAlready(c *nameClaim, ns string) bool {
	for up, ok := c.name.Parent(); ok; up, ok = up.Parent() {
		if z := l.forest[up]; z != nil && z.cut.by != nil && z.cut.by.namespace == ns && z.cut.by.came <= c.came {
			return true
		}
	}
	return false
}

// wasPutBelow reports whether the claim lies in a zone that the owner of a zone above put below the name of a datum, or
// meant to be there, when the namespace of that had the name.
func (l *listener) wasPutBelow(d *datum) bool {
	for up, ok := l.claim.name, true; ok && up != baseOf(d); up, ok = up.Parent() {
		z := l.forest[up]
		if z == nil || z.cut.by == nil || !baseOf(d).Encloses(up) || !z.cut.by.own && !z.cut.by.meant {
			continue
		}
		if slices.ContainsFunc(l.had, func(x tenure) bool {
			return x.namespace == d.by.namespace && x.name.Encloses(up) && x.came <= z.cut.by.came && z.cut.by.came <= x.until
		}) {
			return true
		}
	}
	return false
}

// choseTarget reports whether the author of a pointer chose a datum: it stood there, is of the author, or at a name
// that its namespace had already.
func (l *listener) choseTarget(via, d *datum) bool {
	by, since := d.by, via.by.wrote
	aims := func(ok func(*nameClaim) bool) bool { // at what its namespace has
		return slices.ContainsFunc(l.claims, func(c *nameClaim) bool {
			return c.namespace == via.by.namespace && c.name.Encloses(via.target) && ok(c)
		})
	}
	for up, ok := d.owner, true; ok; up, ok = up.Parent() { // the owner took it from the author, for a zone
		z := l.forest[up]
		if z != nil && z.cut.by != nil && (z.cut.by.own || z.cut.by.meant) && aims(func(c *nameClaim) bool { return c.name.Encloses(up) }) {
			return true
		}
	}
	if slices.ContainsFunc(l.had, func(x tenure) bool {
		return x.given && by != nil && x.namespace == by.namespace && x.name.Encloses(baseOf(d))
	}) {
		return true // the owner gave it to another tenant
	}
	return by == nil || by.came <= since || by.namespace == via.by.namespace ||
		!via.by.own && by.zone.Namespace == via.by.namespace || by.own && by.zoneCame <= since ||
		aims(func(c *nameClaim) bool { // and shares
			return c.zone.UID == by.zone.UID && slices.ContainsFunc(by.shared, func(i int) bool { return slices.Contains(c.shared, i) })
		}) ||
		aims(func(c *nameClaim) bool { return l.decidesAlready(c, by.namespace) }) ||
		slices.ContainsFunc(l.had, func(x tenure) bool {
			return x.namespace == by.namespace && x.came <= since && since <= x.until &&
				(x.name.Encloses(baseOf(d)) || x.name.Encloses(via.target))
		})
}

// mindsPointer reports whether the twin looks where a pointer leads: what own names, the name servers of others, and
// what the tenant names at and below names of its own. Where else it points is its own choice.
func (l *listener) mindsPointer(from *datum, to name.Name) bool {
	if from.by == nil {
		return false
	}
	if from.by.namespace == l.claim.namespace {
		return slices.ContainsFunc(l.claims, func(c *nameClaim) bool { return c.namespace == l.claim.namespace && c.name.Encloses(to) })
	}
	return from.by.own || from.rtype == rdata.NS
}

// classOf names the class of what is heard: by which right it stands, and where.
func (s *speech) classOf() string {
	said, via, base := s.said, s.via, baseOf(s.said)
	age, where := "a younger ", " below"
	if said.by.came <= s.claim.came {
		age = "an older "
	}
	if base == s.claim.name {
		where = " at it"
	} else if base.Encloses(s.claim.name) {
		where = " above"
	}
	switch {
	case via != nil && via.by.own && via.rtype == rdata.NS && via.owner == via.by.zone.FQDN():
		if said.by.zone.UID != via.by.zone.UID {
			return "an address in a zone below of a server of the apex"
		}
		if len(said.by.shared) > 0 {
			return "a shared address of a server of the apex"
		}
		return "an address of a server of the apex"
	case via != nil && via.by.own:
		return "what own points to"
	case via != nil && via.by.namespace == s.claim.namespace:
		return "what the tenant points to below its name"
	case via != nil:
		return "what NS of a third point to"
	case said.by.ends:
		return "a zone in its period"
	case max(said.by.ruled, s.claim.ruled) > max(said.by.wrote, s.claim.came):
		return "what former rules let in"
	case len(said.by.shared) > 0:
		return "a shared record"
	case len(s.claim.shared) > 0:
		return "a record at a shared claim"
	case said.by.moved || s.claim.moved:
		return "what cascades brought"
	case said.by.zone.UID != s.claim.zone.UID:
		return "a record above the zone of the claim"
	case said == s.cut:
		return age + "zone" + where
	case said.owner != base:
		return age + "underscore name or wildcard" + where
	case said.rtype == rdata.NS || said.rtype == rdata.DNAME || said.rtype == rdata.DS:
		return age + "cut" + where
	case said.rtype == rdata.CNAME && s.asked == "CAA":
		return age + "CAA" + where
	}
	return age + said.rtype.String() + where
}

func baseOf(d *datum) name.Name {
	rel, ok := d.owner.Rel(d.by.zone.FQDN())
	if !ok {
		return d.owner
	}
	n, _ := baseName(rel).In(d.by.zone.FQDN())
	return n
}

// describeSpeech says what is heard, but for what it answers.
func (s *speech) describeSpeech() string {
	text := fmt.Sprintf("%s: %s %s of %s for %s of %s", s.classOf(), s.said.owner, s.said.rtype, s.said.by.namespace, s.claim.name,
		s.claim.namespace)
	if s.via != nil {
		text += fmt.Sprintf(", by %s %s of %s", s.via.owner, s.via.rtype, s.via.by.namespace)
	}
	return text
}

// describeHeard lists what is heard, and in what.
func describeHeard(heard []speech) string {
	asked := map[string][]string{}
	for _, s := range heard {
		if k := s.describeSpeech(); !slices.Contains(asked[k], s.asked) {
			asked[k] = append(asked[k], s.asked)
		}
	}
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(asked)) {
		fmt.Fprintf(&out, "%s (%s)\n", k, strings.Join(asked[k], ", "))
	}
	if out.Len() == 0 {
		return "none\n"
	}
	return out.String()
}
