// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/test/must"
)

// dnsForest is the data of all authoritative servers, without any namespaces and rules.
type dnsForest map[name.Name]*dnsZone

// dnsZone is a zone's data by owner. cut is the parent's data about the zone, or nil.
type dnsZone struct {
	apex name.Name
	data map[name.Name][]*datum
	cut  *datum
}

// datum is a value of an RRset. target is the name in the value, or zero.
type datum struct {
	owner  name.Name
	rtype  rdata.Type
	target name.Name
	// by is the author's namespace, which the DNS does not see.
	by *voice
	// from is the Record, or zero for a zone and its spec.nameServers. ends: its period runs (S2.12).
	from object
	ends bool
}

// answer is a resolver's data for a question, before any pointer is followed. direct is true if there is an RRset of
// the requested type.
type answer struct {
	read   []*datum
	next   []pointer
	direct bool
}

// pointer is a question that follows from data.
type pointer struct {
	from *datum
	to   name.Name
	ask  rdata.Type
	// isGlue: the referral has the addresses.
	isGlue bool
	glue   []*datum
}

func (f dnsForest) addZone(apex name.Name, cut *datum) *dnsZone {
	f[apex] = &dnsZone{apex: apex, data: map[name.Name][]*datum{}, cut: cut}
	return f[apex]
}

func (z *dnsZone) addDatum(d *datum) { z.data[d.owner] = append(z.data[d.owner], d) }

func (z *dnsZone) listSet(n name.Name, t rdata.Type) (set []*datum) {
	for _, d := range z.data[n] {
		if d.rtype == t {
			set = append(set, d)
		}
	}
	return set
}

// hasName reports whether a name exists (RFC 4592 section 2.2.2): the name or a name below has data, or a child
// zone is there.
func (f dnsForest) hasName(z *dnsZone, n name.Name) bool {
	for owner := range z.data {
		if n.Encloses(owner) {
			return true
		}
	}
	for apex := range f {
		if apex != z.apex && n.Encloses(apex) && z.apex.Encloses(apex) {
			return true
		}
	}
	return false
}

// findTop returns the topmost zone at or above a name, where a resolver comes from the root.
func (f dnsForest) findTop(n name.Name) (top *dnsZone) {
	for up, ok := n, true; ok; up, ok = up.Parent() {
		if f[up] != nil {
			top = f[up]
		}
	}
	return top
}

// readName answers a question as in RFC 1034 section 4.3.2, from the topmost zone down: by a delegation with glue, a
// DNAME, the name itself, or the wildcard of the closest encloser (RFC 4592).
func (f dnsForest) readName(n name.Name, t rdata.Type) (a answer) {
	z := f.findTop(n)
	if z == nil {
		return a
	}
	for {
		a.readServers(z, z.listSet(z.apex, rdata.NS), name.Name{})
		child := f.readZone(&a, z, n, t)
		if child == nil {
			return a
		}
		a.read = append(a.read, child.cut)
		z = child
	}
}

// readZone returns the child zone of the name, or nil if the answer is complete.
func (f dnsForest) readZone(a *answer, z *dnsZone, n name.Name, t rdata.Type) *dnsZone {
	for _, at := range listDown(z.apex, n) {
		last := at == n
		if at != z.apex && (!last || t != rdata.DS) {
			if child := f[at]; child != nil {
				a.read = append(a.read, z.listSet(at, rdata.DS)...)
				return child
			}
			if ns := z.listSet(at, rdata.NS); len(ns) > 0 {
				a.read = append(a.read, z.listSet(at, rdata.DS)...)
				a.readServers(z, ns, at)
				return nil
			}
		}
		if dname := z.listSet(at, rdata.DNAME); !last && len(dname) > 0 {
			a.read = append(a.read, dname...)
			for _, d := range dname {
				if to, ok := replaceSuffix(n, at, d.target); ok {
					a.next = append(a.next, pointer{from: d, to: to, ask: t})
				}
			}
			return nil
		}
		if !f.hasName(z, at) {
			encloser, _ := at.Parent()
			wild, err := name.MustRel("*").In(encloser)
			if err == nil {
				a.readNode(z, wild, t)
			}
			return nil
		}
	}
	a.readNode(z, n, t)
	return nil
}

func (a *answer) readNode(z *dnsZone, n name.Name, t rdata.Type) {
	if cname := z.listSet(n, rdata.CNAME); len(cname) > 0 && t != rdata.CNAME {
		a.read = append(a.read, cname...)
		for _, d := range cname {
			a.next = append(a.next, pointer{from: d, to: d.target, ask: t})
		}
		return
	}
	set := z.listSet(n, t)
	a.read, a.direct = append(a.read, set...), len(set) > 0
	for _, d := range set {
		if slices.Contains([]rdata.Type{rdata.MX, rdata.SRV, rdata.SVCB, rdata.HTTPS}, t) && !d.target.IsZero() {
			a.next = append(a.next, pointer{from: d, to: d.target, ask: rdata.A})
		}
	}
}

// readServers reads NS records and the addresses of the servers: glue below a cut, and pointers elsewhere.
func (a *answer) readServers(z *dnsZone, ns []*datum, cut name.Name) {
	a.read = append(a.read, ns...)
	for _, d := range ns {
		p := pointer{from: d, to: d.target, ask: rdata.A}
		if !cut.IsZero() && cut.Encloses(d.target) {
			p.isGlue, p.glue = true, z.listSet(d.target, rdata.A)
		}
		a.next = append(a.next, p)
	}
}

func listDown(up, n name.Name) (names []name.Name) {
	for at, ok := n, true; ok && up.Encloses(at); at, ok = at.Parent() {
		names = append(names, at)
	}
	slices.Reverse(names)
	return names
}

// replaceSuffix replaces up with to in n (RFC 6672).
func replaceSuffix(n, up, to name.Name) (name.Name, bool) {
	rel, ok := n.Rel(up)
	if !ok || to.IsZero() {
		return name.Name{}, false
	}
	out, err := rel.In(to)
	return out, err == nil
}

// voice is the author of a datum.
type voice struct {
	namespace string
	zone      *law.Zone
	// own is true for the zone's own namespace, and meant if a rule gives the name or each underscore label literally.
	own, meant bool
	// ends is true while a grace period runs because no rule allows the zone.
	ends bool
}

func (w *world) describeVoice(o object, r *recordObject) *voice {
	z := w.uniteRules(w.zones[object{r.placed.Zone.Namespace, r.placed.Zone.Name}].zone)
	return &voice{namespace: o.Namespace, zone: z, own: o.Namespace == z.Namespace,
		meant: isMeant(z, o.Namespace, r.placed.FQDN, r.record.Type)}
}

// isMeant reports whether a rule for a record gives the name or each underscore label literally.
func isMeant(z *law.Zone, ns string, at name.Name, t rdata.Type) bool {
	must := slices.Contains([]rdata.Type{rdata.NS, rdata.DNAME, rdata.DS, rdata.CDS, rdata.CDNSKEY, rdata.CSYNC, rdata.DNSKEY}, t)
	return slices.ContainsFunc(z.Rules, func(rule rules.Rule) bool {
		return rule.CoversNamespace(ns) && slices.ContainsFunc(rule.Records, func(to rules.RecordRule) bool {
			return to.Pattern.Match(at, z.FQDN()) && (!must && len(to.Types) == 0 || slices.Contains(to.Types, t)) &&
				(to.Pattern.IsLiteralFor(at, z.FQDN()) || to.Pattern.NamesUnderscore(at, z.FQDN()))
		})
	})
}

// describeZoneVoice returns the author of a delegation, or nil without a zone above.
func (w *world) describeZoneVoice(z *law.Zone) *voice {
	up, ok := z.FQDN().Parent()
	h := w.findEnclosing(z.View, up)
	if !ok || h == nil {
		return nil
	}
	parent := w.uniteRules(w.zones[object{h.Namespace, h.Ref.Name}].zone)
	meant := slices.ContainsFunc(parent.Rules, func(rule rules.Rule) bool {
		return rule.CoversNamespace(z.Namespace) && slices.ContainsFunc(rule.Zones, func(p pattern.Pattern) bool {
			return p.IsLiteralFor(z.FQDN(), parent.FQDN()) || p.NamesUnderscore(z.FQDN(), parent.FQDN())
		})
	})
	return &voice{namespace: z.Namespace, zone: parent, own: z.Namespace == parent.Namespace,
		meant: meant || w.holdingOf(z).Established, ends: !parent.RuleSet().DelegatesZone(z.FQDN(), z.Namespace)}
}

// buildForest builds the DNS of the Records and zones in the default view.
func (w *world) buildForest() dnsForest {
	f := dnsForest{}
	for _, o := range sortedObjects(w.zones) {
		z := w.zones[o].zone
		if z.Pending || z.View != "" {
			continue
		}
		in := f.addZone(z.FQDN(), &datum{owner: z.FQDN(), rtype: rdata.NS, by: w.describeZoneVoice(z)})
		own := &voice{namespace: z.Namespace, zone: z, own: true}
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
		for _, x := range r.record.Values {
			target, _ := x.Target(v.zone.FQDN())
			f[v.zone.FQDN()].addDatum(&datum{owner: r.placed.FQDN, rtype: r.record.Type, target: target, by: v, from: o,
				ends: r.placed.Reason == law.ReasonDelegationWithdrawn})
		}
	}
	return f
}

func baseOf(d *datum) name.Name {
	rel, ok := d.owner.Rel(d.by.zone.FQDN())
	if !ok {
		return d.owner
	}
	n, _ := baseName(rel).In(d.by.zone.FQDN())
	return n
}

// nameBelow returns the name with the given labels below up, or the zero name if too long.
func nameBelow(labels string, up name.Name) name.Name {
	n, _ := name.MustRel(labels).In(up)
	return n
}

// parseForest reads lines: "zone APEX", and OWNER TYPE TARGET.
func parseForest(text string) dnsForest {
	f := dnsForest{}
	var z *dnsZone
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == "zone":
			apex := name.MustParse(fields[1])
			z = f.addZone(apex, &datum{owner: apex, rtype: rdata.NS})
		default:
			owner, err := name.ParseIn(fields[0], z.apex)
			t, err2 := rdata.ParseType(fields[1])
			if err != nil || err2 != nil {
				panic(fmt.Sprint(line, err, err2))
			}
			d := &datum{owner: owner, rtype: t}
			if len(fields) > 2 {
				d.target, _ = name.ParseIn(fields[2], z.apex)
			}
			z.addDatum(d)
		}
	}
	return f
}

// describeAnswer lists the data and then the pointers of an answer. The NS of apexes, part of every answer, are left
// out unless requested.
func (f dnsForest) describeAnswer(a *answer, apexNS bool) string {
	var out []string
	atApex := func(d *datum) bool { return d.rtype == rdata.NS && f[d.owner] != nil && d != f[d.owner].cut }
	for _, d := range a.read {
		switch {
		case d.rtype == rdata.NS && f[d.owner] != nil && d == f[d.owner].cut:
			out = append(out, "cut "+d.owner.String())
		case apexNS || !atApex(d):
			out = append(out, fmt.Sprintf("%s %s", d.owner, d.rtype))
		}
	}
	for _, p := range a.next {
		switch {
		case !apexNS && atApex(p.from):
		case p.isGlue:
			for _, g := range p.glue {
				out = append(out, fmt.Sprintf("glue %s %s", g.owner, g.rtype))
			}
		default:
			out = append(out, fmt.Sprintf("-> %s %s", p.to, p.ask))
		}
	}
	return strings.Join(out, ", ")
}

// The answers are written by hand. The first zone is the example of RFC 4592 section 2.2.1.
func TestDNS_readName(t *testing.T) {
	const wildcards = `
zone example.
@ NS ns.example.com.
* TXT
* MX host1
host1 A
_ssh._tcp.host1 SRV host1
_ssh._tcp.host2 SRV host1
subdel NS ns.example.com.
`
	const tree = `
zone org.
@ NS ns
ns A
p CNAME q
q A
q CAA
d DNAME q
x.q TXT
cut NS ns.cut
cut NS ns.else
cut DS
ns.cut A
www.cut A
deep.e.f A
*.e.f CNAME www.b
zone b.org.
@ NS ns1
@ MX here
ns1 A
here A
www A
d DS
zone d.b.org.
@ A
zone under.cut.org.
@ A
`
	const referral = "cut.org. DS, cut.org. NS, cut.org. NS, glue ns.cut.org. A, -> ns.else.org. A"
	for _, x := range []struct{ forest, n, rtype, want string }{
		{wildcards, "host3.example.", "MX", "*.example. MX, -> host1.example. A"},
		{wildcards, "host3.example.", "A", ""},
		{wildcards, "foo.bar.example.", "TXT", "*.example. TXT"},
		{wildcards, "host1.example.", "MX", ""},
		{wildcards, "_telnet._tcp.host1.example.", "SRV", ""},
		{wildcards, "host.subdel.example.", "A", "subdel.example. NS, -> ns.example.com. A"},
		// An empty non-terminal exists, so no wildcard above answers there or below.
		{wildcards, "host2.example.", "TXT", ""},
		{wildcards, "_tcp.host2.example.", "TXT", ""},
		{wildcards, "_acme-challenge.host2.example.", "TXT", ""},
		{wildcards, "_acme-challenge.example.", "TXT", "*.example. TXT"},
		{wildcards, "*.example.", "TXT", "*.example. TXT"},
		{wildcards, "other.", "TXT", ""},

		{tree, "q.org.", "A", "q.org. A"},
		{tree, "q.org.", "TXT", ""},
		{tree, "p.org.", "A", "p.org. CNAME, -> q.org. A"},
		{tree, "p.org.", "CAA", "p.org. CNAME, -> q.org. CAA"},
		{tree, "p.org.", "CNAME", "p.org. CNAME"},
		{tree, "x.p.org.", "A", ""}, // a CNAME does not cover names below
		{tree, "x.d.org.", "TXT", "d.org. DNAME, -> x.q.org. TXT"},
		{tree, "d.org.", "TXT", ""}, // a DNAME does not cover its own name
		{tree, "d.org.", "DNAME", "d.org. DNAME"},
		{tree, "cut.org.", "A", referral},
		{tree, "www.cut.org.", "A", referral},
		{tree, "under.cut.org.", "A", referral}, // occluded
		{tree, "cut.org.", "DS", "cut.org. DS"},
		{tree, "no.e.f.org.", "TXT", "*.e.f.org. CNAME, -> www.b.org. TXT"},
		{tree, "no.deep.e.f.org.", "TXT", ""}, // the closest encloser deep.e.f has no wildcard
		{tree, "e.f.org.", "TXT", ""},
		{tree, "www.b.org.", "A", "cut b.org., www.b.org. A"},
		{tree, "b.org.", "MX", "cut b.org., b.org. MX, -> here.b.org. A"},
		{tree, "b.org.", "DS", ""},
		{tree, "d.b.org.", "A", "cut b.org., d.b.org. DS, cut d.b.org., d.b.org. A"},
		{tree, "d.b.org.", "DS", "cut b.org., d.b.org. DS"},
		{tree, "www.b.org.", "servers", "org. NS, cut b.org., b.org. NS, www.b.org. A, -> ns.org. A, -> ns1.b.org. A"},
	} {
		rtype := must.Get(rdata.ParseType(strings.Replace(x.rtype, "servers", "A", 1)))(t)
		f := parseForest(x.forest)
		a := f.readName(name.MustParse(x.n), rtype)
		if got := f.describeAnswer(&a, x.rtype == "servers"); got != x.want {
			t.Errorf("%s %s: %s\nwant %s", x.n, x.rtype, got, x.want)
		}
	}
}
