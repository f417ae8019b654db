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
	"kubi.zone/kubizone/pkg/law/rules"
)

// The speaker twin checks the purpose of the rules about names without using any of the rules. If a tenant has claimed
// a name by a rule with "*", all data that a resolver, a CA or a mail host reads for the name must belong to the
// tenant, to the zone's own namespace, to a rule that gives the name literally or by its underscore labels, or to the
// same rule with shared: true.

// voice is the author of a datum, with the right to write.
type voice struct {
	namespace string
	zone      *law.Zone
	// own is true for the zone's own namespace, and meant if a rule gives the name or each underscore label literally.
	own, meant bool
	// shared holds the indices of the rules with shared: true that allow the datum.
	shared []int
	// came is the time of the object's creation, and wrote the time of the last write.
	came, wrote int64
	// zoneCame is the time of the zone's creation, and ruled the time of the last change of rules.
	zoneCame, ruled int64
	// ends is true while a grace period runs because no rule allows the zone. moved is true if a cascade brought the
	// object to the zone.
	ends, moved bool
}

// nameClaim is a name claimed by a tenant only by rules with "*".
type nameClaim struct {
	namespace string
	name      name.Name
	zone      *law.Zone
	came      int64
	ruled     int64
	moved     bool
	shared    []int
}

// speech is another tenant's datum, read for a claimed name.
type speech struct {
	claim *nameClaim
	datum *datum
	// asked is the question, and via the datum that led from the name to this datum.
	asked string
	via   *datum
	// cut is the delegation of the zone with datum.
	cut *datum
	// since is the time since when the author of datum has had its base name, or the time of the last write.
	since int64
}

func (w *world) describeVoice(o object, r *recordObject) *voice {
	z := w.uniteRules(w.zones[object{r.placed.Zone.Namespace, r.placed.Zone.Name}].zone)
	in := w.zones[object{z.Namespace, z.Name}]
	v := &voice{namespace: o.Namespace, zone: z, own: o.Namespace == z.Namespace, came: r.record.Created, wrote: r.written,
		zoneCame: in.created, ruled: in.written, moved: r.first != z.UID}
	v.meant, v.shared = listShares(z, o.Namespace, r.placed.FQDN, r.record.Type)
	return v
}

// listShares reports whether a rule for a record gives the name literally, and returns the rules with shared: true for
// the name.
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
			if to.Shared && to.Pattern.Match(base, z.FQDN()) { // its namespaces are one tenant at the name, for all data
				shared = append(shared, i)
			}
			if !to.Pattern.Match(at, z.FQDN()) || (must || len(to.Types) > 0) && !slices.Contains(to.Types, t) {
				continue
			}
			meant = meant || to.Pattern.IsLiteralFor(at, z.FQDN()) || to.Pattern.NamesUnderscore(at, z.FQDN())
		}
	}
	return meant, shared
}

// describeZoneVoice returns the author of a delegation, or nil without a zone above.
func (w *world) describeZoneVoice(z *law.Zone) *voice {
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
			v.meant = v.meant || p.IsLiteralFor(z.FQDN(), parent.FQDN()) || p.NamesUnderscore(z.FQDN(), parent.FQDN())
		}
	}
	return v
}

// scene is the DNS, the claimed names, and the holders of names.
type scene struct {
	forest dnsForest
	claims []*nameClaim
	had    []tenure
}

// tenure is the time of a namespace at a name, from the oldest object to the last observation. given is true if a
// literal rule gives the name. shared holds the rules with shared: true that give the name literally.
type tenure struct {
	namespace   string
	name        name.Name
	came, until int64
	given       bool
	shared      []rules.Rule
}

// isOf reports whether the tenure belongs to the namespace or is shared with it.
func (x *tenure) isOf(namespace string) bool {
	return x.namespace == namespace || slices.ContainsFunc(x.shared, func(r rules.Rule) bool { return r.CoversNamespace(namespace) })
}

// buildForest builds the DNS of the Records and zones in the default view, and returns the author of each Record.
func (w *world) buildForest() (dnsForest, map[object]*voice) {
	f, voices := dnsForest{}, map[object]*voice{}
	for _, o := range sortedObjects(w.zones) {
		z := w.zones[o].zone
		if z.Pending || z.View != "" {
			continue
		}
		in := f.addZone(z.FQDN(), &datum{owner: z.FQDN(), rtype: rdata.NS, by: w.describeZoneVoice(z)})
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
			continue // the Record is between zones
		}
		v := w.describeVoice(o, r)
		voices[o] = v
		for _, x := range r.record.Values {
			target, _ := x.Target(v.zone.FQDN())
			f[v.zone.FQDN()].addDatum(&datum{owner: r.placed.FQDN, rtype: r.record.Type, target: target, by: v, from: o,
				ends: r.placed.Reason == law.ReasonDelegationWithdrawn})
		}
	}
	return f, voices
}

func (w *world) buildScene() *scene {
	f, voices := w.buildForest()
	var claims []*nameClaim
	var had []tenure
	claim := func(v *voice, n name.Name, whole bool) {
		if v == nil {
			return
		}
		x := tenure{namespace: v.namespace, name: n, came: v.came, until: w.now.Unix(), given: v.meant && whole}
		for _, i := range v.shared {
			if at, ok := n.Rel(v.zone.FQDN()); ok && v.zone.Rules[i].HasSharedLiteral(at, v.zone.FQDN()) {
				x.shared = append(x.shared, v.zone.Rules[i])
			}
		}
		had = append(had, x)
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
	for _, c := range claims { // since when, without a gap
		for _, x := range all {
			if x.namespace == c.namespace && x.name == c.name && x.until == w.now.Unix() {
				c.came = max(c.came, x.came)
			}
		}
	}
	return &scene{f, claims, all}
}

// rememberTenures merges tenures that follow each other without a gap.
func (w *world) rememberTenures(now []tenure) []tenure {
	for _, x := range now {
		i := slices.IndexFunc(w.tenures, func(was tenure) bool {
			return was.namespace == x.namespace && was.name == x.name && was.given == x.given && was.until >= w.received
		})
		if i < 0 {
			if x.came < w.received { // waited until now
				x.came = w.now.Unix()
			}
			w.tenures = append(w.tenures, x)
		} else {
			w.tenures[i].until, w.tenures[i].shared = x.until, x.shared
		}
	}
	w.received = w.now.Unix()
	return w.tenures
}

func (w *world) hearSpeakers() (received []speech) {
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
		if up, ok := c.name.Parent(); ok && top.apex.Encloses(up) { // a certificate for *.up covers the name
			l.askFor("wildcard challenge", nameBelow("_acme-challenge", up), rdata.TXT)
		}
		found := false
		for up, ok := c.name, true; ok && top.apex.Encloses(up); up, ok = up.Parent() {
			found = found || l.askFor("CAA", up, rdata.CAA) // RFC 8659: up to the first
			l.askFor("DMARC", nameBelow("_dmarc", up), rdata.TXT)
			l.askFor("DKIM", nameBelow("s._domainkey", up), rdata.TXT)
		}
		received = append(received, l.received...)
	}
	return received
}

// nameBelow returns the name with the given labels below up, or the zero name if too long.
func nameBelow(labels string, up name.Name) name.Name {
	n, _ := name.MustRel(labels).In(up)
	return n
}

type listener struct {
	*scene
	at       int64
	claim    *nameClaim
	received []speech
	seen     map[string]bool
}

// askFor records the data of other tenants in an answer, and reports whether the type exists at n.
func (l *listener) askFor(what string, n name.Name, t rdata.Type) bool {
	l.seen = map[string]bool{}
	return l.followQuestion(what, n, t, nil, true)
}

// followQuestion asks the question of via, or the first question if via is nil. Answers are recorded up to a target
// chosen by the author of a pointer.
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
	if !slices.ContainsFunc(l.received, func(s speech) bool { return s.datum == d && s.asked == what && s.via == via }) {
		s := speech{claim: l.claim, datum: d, asked: what, via: via, since: d.by.wrote}
		for _, x := range l.had {
			if x.namespace == d.by.namespace && x.name == baseOf(d) && x.until == l.at {
				s.since = min(s.since, x.came)
			}
		}
		if z := l.forest[d.owner]; z != nil {
			s.cut = z.cut
		}
		l.received = append(l.received, s)
	}
}

// permitsDatum reports whether the author of a datum may provide data for the claimed name.
func (l *listener) permitsDatum(d *datum) bool {
	c := l.claim
	switch {
	case d.by.meant || d.by.own || d.by.namespace == c.namespace: // the cut decides about a zone's own data
		return true
	case l.decidesAlready(c, d.by.namespace):
		return true // the claim came under that namespace's control
	case slices.ContainsFunc(l.had, func(x tenure) bool {
		return x.given && x.came <= c.came && c.came <= x.until && x.isOf(c.namespace) && x.name.Encloses(c.name) &&
			x.name != baseOf(d) && baseOf(d).Encloses(x.name)
	}):
		return true // the owner had put the tenant below the name
	case l.wasPutBelow(d):
		return true
	case d.by.zone.UID == c.zone.UID:
		return slices.ContainsFunc(d.by.shared, func(i int) bool { return slices.Contains(c.shared, i) })
	}
	return false
}

// decidesAlready reports whether a namespace had a zone at or above the name before the claim.
func (l *listener) decidesAlready(c *nameClaim, ns string) bool {
	for up, ok := c.name.Parent(); ok; up, ok = up.Parent() {
		if z := l.forest[up]; z != nil && z.cut.by != nil && z.cut.by.namespace == ns && z.cut.by.came <= c.came {
			return true
		}
	}
	return false
}

// wasPutBelow reports whether the owner of a zone above put the claim's zone below the datum's name, or gave it a name
// there, while the datum's namespace had the name.
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

// choseTarget reports whether the author of a pointer chose the target: the datum was there before, belongs to the
// author, or is at a name that the author's namespace already had.
func (l *listener) choseTarget(via, d *datum) bool {
	by, since := d.by, via.by.wrote
	aims := func(ok func(*nameClaim) bool) bool { // targets of the namespace's own
		return slices.ContainsFunc(l.claims, func(c *nameClaim) bool {
			return c.namespace == via.by.namespace && c.name.Encloses(via.target) && ok(c)
		})
	}
	for up, ok := d.owner, true; ok; up, ok = up.Parent() { // the owner took the name from the author for a zone
		z := l.forest[up]
		if z != nil && z.cut.by != nil && (z.cut.by.own || z.cut.by.meant) && aims(func(c *nameClaim) bool { return c.name.Encloses(up) }) {
			return true
		}
	}
	if slices.ContainsFunc(l.had, func(x tenure) bool {
		return x.given && by != nil && x.namespace == by.namespace && x.name.Encloses(baseOf(d))
	}) {
		return true // the owner gave the name to another tenant
	}
	return by == nil || by.came <= since || by.namespace == via.by.namespace ||
		!via.by.own && by.zone.Namespace == via.by.namespace || by.own && by.zoneCame <= since ||
		aims(func(c *nameClaim) bool { // and shares it
			return c.zone.UID == by.zone.UID && slices.ContainsFunc(by.shared, func(i int) bool { return slices.Contains(c.shared, i) })
		}) ||
		aims(func(c *nameClaim) bool { return l.decidesAlready(c, by.namespace) }) ||
		slices.ContainsFunc(l.had, func(x tenure) bool {
			return x.namespace == by.namespace && x.came <= since && since <= x.until &&
				(x.name.Encloses(baseOf(d)) || x.name.Encloses(via.target))
		})
}

// mindsPointer reports whether the twin follows a pointer: targets of the zone's own namespace, name servers of other
// namespaces, and targets of a tenant at and below own names. All other targets are the author's choice.
func (l *listener) mindsPointer(from *datum, to name.Name) bool {
	if from.by == nil {
		return false
	}
	if from.by.namespace == l.claim.namespace {
		return slices.ContainsFunc(l.claims, func(c *nameClaim) bool { return c.namespace == l.claim.namespace && c.name.Encloses(to) })
	}
	return from.by.own || from.rtype == rdata.NS
}

func (s *speech) classOf() string {
	datum, via, base := s.datum, s.via, baseOf(s.datum)
	age, where := "a younger ", " below"
	if datum.by.came <= s.claim.came {
		age = "an older "
	}
	if base == s.claim.name {
		where = " at it"
	} else if base.Encloses(s.claim.name) {
		where = " above"
	}
	switch {
	case via != nil && via.by.own && via.rtype == rdata.NS && via.owner == via.by.zone.FQDN():
		if datum.by.zone.UID != via.by.zone.UID {
			return "an address in a zone below of a server of the apex"
		}
		if len(datum.by.shared) > 0 {
			return "a shared address of a server of the apex"
		}
		return "an address of a server of the apex"
	case via != nil && via.by.own:
		return "what own points to"
	case !datum.by.ends && max(datum.by.ruled, s.claim.ruled) > max(s.since, s.claim.came):
		return "what former rules let in"
	case via != nil && via.by.namespace == s.claim.namespace:
		return "what the tenant points to below its name"
	case via != nil:
		return "what NS of a third point to"
	case datum.by.ends:
		return "a zone in its period"
	case len(datum.by.shared) > 0:
		return "a shared record"
	case len(s.claim.shared) > 0:
		return "a record at a shared claim"
	case datum.by.moved || s.claim.moved:
		return "what cascades brought"
	case datum.by.zone.UID != s.claim.zone.UID:
		return "a record above the zone of the claim"
	case datum == s.cut:
		return age + "zone" + where
	case datum.owner != base:
		return age + "underscore name or wildcard" + where
	case datum.rtype == rdata.NS || datum.rtype == rdata.DNAME || datum.rtype == rdata.DS:
		return age + "cut" + where
	case datum.rtype == rdata.CNAME && s.asked == "CAA":
		return age + "CAA" + where
	}
	return age + datum.rtype.String() + where
}

func baseOf(d *datum) name.Name {
	rel, ok := d.owner.Rel(d.by.zone.FQDN())
	if !ok {
		return d.owner
	}
	n, _ := baseName(rel).In(d.by.zone.FQDN())
	return n
}

func (s *speech) describeSpeech() string {
	text := fmt.Sprintf("%s: %s %s of %s for %s of %s", s.classOf(), s.datum.owner, s.datum.rtype, s.datum.by.namespace, s.claim.name,
		s.claim.namespace)
	if s.via != nil {
		text += fmt.Sprintf(", by %s %s of %s", s.via.owner, s.via.rtype, s.via.by.namespace)
	}
	return text
}

func describeReceived(received []speech) string {
	asked := map[string][]string{}
	for _, s := range received {
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
