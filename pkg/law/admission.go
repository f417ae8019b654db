// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// admissible decides whether zone z takes the contribution beside what others
// have there: admission (S4), coexistence (S5.5) and the tenant's limit (S5.6).
// others is the owner without this record. mark is what a loser leaves behind
// so that it is tried again when what stood in its way goes (S2.7).
func (d *recordDecision) admissible(z *Zone, holding *Holding, p *place, come *Contribution, others *Owner, records int64, rule *string, member **Member, plan *Plan) (*Refusal, marks) {
	ns := d.ask.Namespace
	if n, ok := holding.becomes(z.FQDN()); ok { // what comes in now comes along (S6.8)
		if d.ask.After.Absolute() {
			return forbidden(ReasonNoEnclosingZone, "zone %s is about to be renamed to %s, and a record with an absolute name would stay behind (S6.8; refer to the zone with zoneRef, or try again when its condition Settled is True)", z.FQDN(), n), marks{}
		}
		if _, err := come.Owner.In(n); err != nil {
			return invalid("spec.domainName", d.ask.After.DomainName, ReasonNameTooLong, "zone %s is about to be renamed to %s, where the name would be too long: %v", z.FQDN(), n, err), marks{}
		}
	}
	base := Base(come.Owner)
	c, known := d.claim(z, holding, base, d.claimant(holding))
	if !known {
		return nil, marks{}
	}
	yielded := c
	if d.stood && d.ask.Held && c.yields { // no record holds the name here, and it held it where it comes from (S2.7)
		c = claim{}
	}
	var mark marks
	admitted, refusal := z.admit(p.fqdn, come.Owner, come.Type, ns, c)
	if refusal == nil && slices.Contains(z.MadeNames, come.Owner) && ns != z.Namespace {
		refusal = forbidden(ReasonNameHeld, "%s is a name server of zone %s itself, and its data is the zone's own namespace's (S6.2)", p.fqdn, z.FQDN())
	}
	bySpec := refusal != nil && z.refusesItself(holding, p, come, ns)
	if refusal == nil && ns != z.Namespace && (come.Type == rdata.NS && !come.Owner.IsApex() || come.Type == rdata.DNAME) {
		// NS records that no namespace holds, at the very name: cutsOthers finds those of others among what stands
		// there.
		itself := c.cut && c.above == come.Owner
		refusal = d.cutsOthers(z, holding, p, come, admitted.admission != AdmittedPlain && c.namespace != "" && c.namespace != ns && !itself)
	}
	if refusal == nil && ns != z.Namespace && come.Type == rdata.DS && admitted.admission != AdmittedShared {
		refusal = d.signsOthers(z, p, come)
	}
	if refusal == nil && ns != z.Namespace && !admitted.meant {
		if refusal = d.speaksForOthers(z, holding, p, come); refusal != nil {
			mark = marks{keys: []Key{OwnerKey(z.UID, base)}, below: true}
		}
	}
	if len(d.needs) > 0 {
		return nil, marks{}
	}
	if refusal != nil {
		if refusal.Reason == ReasonNameHeld && !mark.below && !bySpec {
			mark.keys = []Key{HoldersKey(z.UID, base), OwnerKey(z.UID, come.Owner)}
			if !c.above.IsZero() {
				mark.keys = append(mark.keys, HoldersKey(z.UID, c.above))
			}
			if c.cut {
				mark.cut = c.above
			}
		}
		return refusal, mark
	}
	if yielded.yields && yielded.namespace != ns {
		d.yielded = yielded
	}
	*rule = admitted.text
	*member = &Member{UID: d.ask.After.UID, Admission: admitted.admission, Absolute: d.ask.After.Absolute(), Created: d.ask.After.Created}

	at, refusal := d.coexists(z, p, come, others, plan)
	if len(d.needs) > 0 {
		return nil, marks{}
	}
	if refusal != nil {
		return refusal, marks{keys: []Key{OwnerKey(z.UID, at)}}
	}
	records += holding.coming(ns, d.ask.UID)
	if max := z.RecordsPerNamespace; max > 0 && ns != z.Namespace && d.fresh(z) && records >= max {
		return forbidden(ReasonLimitExceeded, "namespace %q has %d records in zone %s and its limits.recordsPerNamespace is %d (delete some, or ask the zone's owner for more)", ns, records, z.FQDN(), max),
			marks{keys: []Key{CountKey(z.UID, ns)}}
	}
	d.meets(z, p, come, others, c, admitted.admission, plan)
	d.warnOfHosts(z, holding, p, come, plan)
	return nil, marks{}
}

// meets are the warnings where values of several namespaces come together (S4.5,
// S4.7): a resolver gets some of each.
func (d *recordDecision) meets(z *Zone, p *place, come *Contribution, others *Owner, c claim, a Admission, plan *Plan) {
	base := Base(come.Owner)
	if base.IsApex() || slices.Contains(z.MadeNames, base) {
		return
	}
	warn := func(format string, args ...any) { plan.Warnings = append(plan.Warnings, fmt.Sprintf(format, args...)) }
	own := d.ask.Namespace == z.Namespace
	h, _ := get[Holders](&d.reading, HoldersKey(z.UID, base))
	switch {
	case own && c.cut && c.namespace != z.Namespace:
		warn("%s of zone %s lies below the NS records at %s, and belonged to the namespace that holds %s until now (S4.6)", base, z.FQDN(), c.above, c.above)
	case own && c.namespace != "" && c.namespace != z.Namespace && c.yields:
		warn("a wildcard of another namespace answered for %s of zone %s until now (S4.6)", base, z.FQDN())
	case own && c.namespace != "" && c.namespace != z.Namespace:
		below := ""
		if at, _ := get[Owner](&d.reading, OwnerKey(z.UID, base)); at.hasType(rdata.NS) || come.Type == rdata.NS && come.Owner == base {
			below = ", and free names below its NS records are the zone's alone (S4.6)"
		}
		warn("%s of zone %s is held by another namespace, and what stands there is now its own and the zone's (S4.5)%s", base, z.FQDN(), below)
	case !own && a == AdmittedPlain && h != nil && slices.ContainsFunc(h.List, func(x Holder) bool { return x.Namespace == z.Namespace }):
		warn("the zone's own namespace has records at %s of zone %s, too (S4.5)", base, z.FQDN())
	case others.hasType(come.Type) && (a == AdmittedShared || own && z.listsShared(come.Owner)):
		warn("%s at %s joins values of other records, by a delegation with shared: true: a resolver gets all of them (S4.7)", come.Type, p.fqdn)
	}
}

// warnOfHosts warns of a host that the apex or a cut names and that another namespace decides
// about (S6.2): the zone's own namespace of one that another holds, and another namespace,
// whose records at the apex hold no host, of one that no namespace holds yet. NS records below
// the apex hold the names below them alone, so their writer hears of both. It looks at the
// first maxHosts of them, and at none while a cascade brings records here: the holders are
// not settled then, and each costs a look at each label in each zone that loses names.
func (d *recordDecision) warnOfHosts(z *Zone, holding *Holding, p *place, come *Contribution, plan *Plan) {
	cut := come.Type == rdata.NS && !come.Owner.IsApex()
	if d.ask.Cascade || !come.Owner.IsApex() && !cut || holding.gaining() {
		return
	}
	own := d.ask.Namespace == z.Namespace
	var list Holding
	list.CountHosts(come, 1)
	if cut || own && come.Type == rdata.NS {
		for _, v := range come.Values {
			list.ApexNS = append(list.ApexNS, v.Host())
		}
	}
	hosts := list.named(z)
	hosts = hosts[:min(len(hosts), maxHosts)]
	var ks []Key
	for _, host := range hosts {
		ks = append(ks, HoldersKey(z.UID, host))
		for up, ok := host.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
			ks = append(ks, OwnerKey(z.UID, up))
		}
	}
	if !d.all(ks) {
		return
	}
	for _, host := range hosts {
		c, known := d.claim(z, holding, host, claimant{namespace: d.ask.Namespace})
		at, _ := host.In(z.FQDN())
		switch {
		case !known:
		case cut && encloses(come.Owner, host) && (c.namespace == "" || c.yields): // it is below the cut, and no record holds it
		case cut && c.namespace == "":
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s names %s, which no namespace holds: the namespace that first writes an address there controls all that is delegated to it; write one (S6.2)", come.Type, p.fqdn, at))
		case (cut && c.namespace != d.ask.Namespace || own) && c.namespace != "" && c.namespace != z.Namespace:
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s names %s, which another namespace holds: it stays with that one (S6.2)", come.Type, p.fqdn, at))
		case !own && c.namespace == "":
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s names %s, which no namespace holds: the namespace that first writes an address there says where it leads; write one, or have the zone's own namespace name it (S6.2)", come.Type, p.fqdn, at))
		}
	}
}

// stands: a cascade decides a record anew that has its name and type in the zone.
func (d *recordDecision) stands(z *Zone, come *Contribution) bool {
	b := d.ask.Before
	return d.ask.Cascade && b != nil && b.Zone.UID == z.UID && b.Owner == come.Owner && b.Type == come.Type
}

// claimant is the record as it asks for a name of the zone that holding is about.
func (d *recordDecision) claimant(holding *Holding) claimant {
	by := claimant{uid: d.ask.UID, namespace: d.ask.Namespace, cascade: d.ask.Cascade, together: d.together(holding)}
	if b := d.ask.Before; b != nil {
		by.from = b.FQDN
	}
	return by
}

// together: what is below its name in the zone stood there with it before the cascade,
// or came later (S2.7). A zone that is renamed has names of its own there.
func (d *recordDecision) together(holding *Holding) bool { return d.stood && holding.moving() == nil }

// fresh: the record is not yet in the zone, so taking it in adds one.
func (d *recordDecision) fresh(z *Zone) bool {
	return d.ask.Before == nil || d.ask.Before.Zone.UID != z.UID
}

// cutsOthers refuses an NS below the apex or a DNAME by a namespace that is not
// the zone's own where it would cut off somebody else (S3.6), also somebody whose
// records a cascade is still bringing here (S2.7). A cascade does not ask it of
// one that stands: the zone's own namespace may have put names below it since. Of one
// that it brings here it asks no more than about the zone's own hosts.
func (d *recordDecision) cutsOthers(z *Zone, holding *Holding, p *place, come *Contribution, held bool) *Refusal {
	ns := d.ask.Namespace
	if d.stands(z, come) {
		return nil
	}
	hosts, known := d.hostsBelow(z, holding, ns, func(n name.Rel) bool { return encloses(come.Owner, n) })
	var tenants *TenantsBelow
	var zones *ZonesBelow
	if !d.together(holding) {
		var known1, known2 bool
		tenants, known1 = get[TenantsBelow](&d.reading, Key{Kind: KindTenantsBelow, Zone: z.UID, Owner: come.Owner})
		zones, known2 = get[ZonesBelow](&d.reading, Key{Kind: KindZonesBelow, View: p.view, Name: p.fqdn})
		known = known && known1 && known2
	}
	if !known {
		return nil
	}
	stands := blocks(tenants, ns) || !d.together(holding) && holding.expects(come.Owner, ns)
	if d.standsBelow = stands && !hosts; d.standsBelow && held {
		_, itself := z.decides(holding, Base(come.Owner))
		d.standsBelow = !itself
	}
	foreign := held || hosts || stands
	if !d.ask.Cascade {
		arriving, known := d.arriving(holding, p.view, p.fqdn, ns)
		if !known {
			return nil
		}
		foreign = foreign || arriving
	}
	if zones != nil {
		for _, b := range zones.Zones {
			foreign = foreign || b.Namespace != ns && z.FQDN().Encloses(b.FQDN) && b.FQDN != z.FQDN()
		}
	}
	if foreign {
		return forbidden(ReasonNameHeld, "%s at %s would cut off names at or below it that another namespace has in zone %s (S3.6; choose a name of your own)", come.Type, p.fqdn, z.FQDN())
	}
	return nil
}

// serves: a name server that the zone's own spec makes (S6.2) is at owner or below.
func (z *Zone) serves(owner name.Rel) bool {
	return slices.ContainsFunc(z.MadeNames, func(m name.Rel) bool { return encloses(owner, m) })
}

// signsOthers refuses a DS by a namespace that is not the zone's own at a zone of a third one: who validates would
// take that zone for forged. A cascade does not ask it of one that stands.
func (d *recordDecision) signsOthers(z *Zone, p *place, come *Contribution) *Refusal {
	if d.stands(z, come) {
		return nil
	}
	child, known := get[Holding](&d.reading, HoldingKey(p.view, p.fqdn))
	if !known || child == nil || child.Namespace == d.ask.Namespace {
		return nil
	}
	return forbidden(ReasonNameHeld, "%s is a zone of another namespace, and a DS there would decide whether it validates (its owner can write it, or the owner of zone %s)", p.fqdn, z.FQDN())
}

// coexists holds S5.5: what may stand beside what. at is the owner in the way.
func (d *recordDecision) coexists(z *Zone, p *place, come *Contribution, others *Owner, plan *Plan) (name.Rel, *Refusal) {
	owner, t := come.Owner, come.Type
	conflict := func(format string, args ...any) *Refusal {
		return invalid("spec.domainName", d.ask.After.DomainName, ReasonCNAMEConflict, format, args...)
	}
	if owner.IsApex() && (t == rdata.CNAME || t == rdata.DS) {
		return owner, conflict("%s cannot stand at %s, the zone's own apex (S5.5)", t, p.fqdn)
	}
	refuse := func(r *Refusal) (name.Rel, *Refusal) {
		r.Value = d.ask.After.DomainName
		return owner, r
	}
	if r := come.signs(); r != nil {
		return refuse(r)
	}
	if isWildcard(owner) && (t == rdata.NS || t == rdata.DNAME) {
		return owner, conflict("%s cannot stand at a wildcard (S5.5)", t)
	}
	if r := come.hosts(z.FQDN(), p.fqdn); r != nil {
		if r.Value == nil {
			return refuse(r)
		}
		return owner, r
	}
	leaving, known := d.leaving(z, p, owner)
	if !known {
		return owner, nil
	}
	present := others.types()
	for _, other := range leaving[owner] {
		if !slices.Contains(present, other) {
			present = append(present, other)
		}
	}
	for _, s := range z.made(owner) {
		if !slices.Contains(present, s.Type) {
			present = append(present, s.Type)
		}
	}
	for _, other := range present {
		switch {
		case other == t:
		case t == rdata.CNAME:
			return owner, conflict("CNAME cannot stand beside %s at %s (S5.5; remove the other data or use another name)", other, p.fqdn)
		case other == rdata.CNAME:
			return owner, conflict("%s cannot stand beside the CNAME at %s (S5.5; remove the CNAME or use another name)", t, p.fqdn)
		case !owner.IsApex() && (t == rdata.DNAME && other == rdata.NS || t == rdata.NS && other == rdata.DNAME):
			return owner, conflict("NS and DNAME cannot stand together at %s (S5.5)", p.fqdn)
		}
	}
	if t.Single() {
		merged := others.clone()
		merged.add(come, make([]int, len(come.Values)))
		if n, _ := merged.distinct(t); n > 1 {
			return refuse(several(t, p.fqdn, n))
		}
	}
	occluded, below := false, false
	for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
		o, _ := get[Owner](&d.reading, OwnerKey(z.UID, up))
		if p.holding.with(o, up, d.ask.UID).hasType(rdata.DNAME) || slices.Contains(leaving[up], rdata.DNAME) {
			at, _ := up.In(z.FQDN())
			return up, conflict("%s lies below the DNAME at %s, which replaces every name below it (S5.5)", p.fqdn, at)
		}
		if !up.IsApex() && o.hasType(rdata.NS) && !glue(o, t, p.fqdn, owner) {
			occluded, below = true, true
		}
	}
	if t == rdata.DNAME || t == rdata.NS && !owner.IsApex() {
		below, known := get[OwnersBelow](&d.reading, Key{Kind: KindOwnersBelow, Zone: z.UID, Owner: owner})
		if !known {
			return owner, nil
		}
		if t == rdata.DNAME {
			any := below != nil && below.Any
			for _, m := range z.MadeNames {
				any = any || m != owner && encloses(owner, m)
			}
			for _, r := range p.holding.Reserved {
				any = any || r.UID != d.ask.UID && r.Owner != owner && encloses(owner, r.Owner)
			}
			d.standsBelow = any
			// The NS of a delegated child would stand below the DNAME, and no server loads that (S5.7).
			zones, known := get[ZonesBelow](&d.reading, Key{Kind: KindZonesBelow, View: p.view, Name: p.fqdn})
			if !known {
				return owner, nil
			}
			if zones != nil {
				for _, b := range zones.Zones {
					any = any || b.Parent != nil && b.Parent.UID == z.UID && !b.ExternalCut
				}
			}
			if any {
				return owner, conflict("there are names below %s, which a DNAME there would replace (S5.5; remove them first)", p.fqdn)
			}
		}
		after := others.clone()
		after.add(come, make([]int, len(come.Values)))
		beside := slices.ContainsFunc(present, func(other rdata.Type) bool {
			return other != rdata.NS && other != rdata.DS && !glue(after, other, p.fqdn, owner)
		})
		if t == rdata.NS && (below != nil && below.Any || beside) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("NS at %s delegates the name away: data at or below it is occluded but for DS and addresses that are glue (S5.5)", p.fqdn))
		}
	}
	if !owner.IsApex() && t != rdata.NS && t != rdata.DS && others.hasType(rdata.NS) && !glue(others, t, p.fqdn, owner) {
		occluded = true
	}
	switch {
	case below && slices.Contains(apexHosts(z, p.holding), owner): // the zone's own name servers
	case below && (t == rdata.A || t == rdata.AAAA) && !isWildcard(owner):
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s lies below NS records: it is given out as glue alone, for NS records of zone %s that name it (S5.5)", t, p.fqdn, z.FQDN()))
	case occluded:
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s is occluded by NS records at or above it (S5.5)", t, p.fqdn))
	}
	d.remarks(z, p, come, others, plan)
	d.warnOfDots(z, p, come, plan)
	return owner, nil
}

// leaving are the types that stand at owner, and at each name above it, in zones that lose
// them to this one: a client's write is decided as if they had come (S2.7). What the record
// itself has there says nothing.
func (d *recordDecision) leaving(z *Zone, p *place, owner name.Rel) (types map[name.Rel][]rdata.Type, known bool) {
	if b := d.ask.Before; d.ask.Cascade || !p.holding.gaining() || b != nil && b.FQDN == p.fqdn {
		return nil, true
	}
	types = map[name.Rel][]rdata.Type{}
	known = true
	for at, ok := owner, true; ok; at, ok = at.Parent() {
		ks := p.holding.losing(z, at)
		if known = d.all(ks) && known; !known { // all of them, in one round
			continue
		}
		for _, k := range ks {
			o, _ := glance[Owner](&d.reading, k)
			types[at] = append(types[at], o.types()...)
		}
	}
	return types, known
}

// deleteDS are the values of CDS and CDNSKEY that ask the parent to remove the DS (RFC 8078 §4).
var deleteDS = map[rdata.Type]string{rdata.CDS: "0 0 0 00", rdata.CDNSKEY: "0 3 0 AA=="}

// signs refuses data at the apex for the keys that the zone is signed with.
func (c *Contribution) signs() *Refusal {
	request, ok := deleteDS[c.Type]
	if !ok || !c.Owner.IsApex() || !slices.ContainsFunc(c.Values, func(v rdata.Value) bool { return v.Text != request }) {
		return nil
	}
	return invalid("spec.domainName", nil, ReasonValidationFailed, "%s at a zone's own apex is made by the server that signs the zone, and BIND loads no file with one that has no DNSKEY: sign on a secondary; only the request to delete the DS may stand there, as %q (S5.5, RFC 8078 §4)", c.Type, request)
}

// several refuses more than one value of a type of which a name has one. Of CNAME and
// DNAME there never were more.
func several(t rdata.Type, fqdn name.Name, n int) *Refusal {
	reason := ReasonCNAMEConflict
	if t != rdata.CNAME && t != rdata.DNAME {
		reason = ReasonValidationFailed
	}
	return invalid("spec.domainName", nil, reason, "there can be one %s at %s, not %d (S5.5; keep one value)", t, fqdn, n)
}

// manyTypes refuses one more type at a name, and in a cascade those of a name that has
// more since an earlier version: BIND takes no zone with it by transfer.
func manyTypes(fqdn name.Name) *Refusal {
	return invalid("spec.values", nil, ReasonValidationFailed, "%s would have more than %d types, those counted that the zone itself has there (S5.6; use another name, or remove a type first)", fqdn, MaxTypesAtName)
}

// glue reports whether data of type t at owner is an address of one of the name
// servers that cut has, written absolute or relative to the zone.
func glue(cut *Owner, t rdata.Type, fqdn name.Name, owner name.Rel) bool {
	return (t == rdata.A || t == rdata.AAAA) && (cut.has(rdata.NS, DigestOf(fqdn.String())) || cut.has(rdata.NS, DigestOf(owner.String())))
}

func encloses(up, sub name.Rel) bool {
	for r, ok := sub, true; ok; r, ok = r.Parent() {
		if r == up {
			return true
		}
	}
	return false
}

// remarks are the warnings of S5.8: differing TTLs, the same rdata twice or in
// two spellings, and hosts that are aliases.
func (d *recordDecision) remarks(z *Zone, p *place, come *Contribution, others *Owner, plan *Plan) {
	if ttl := others.ttl(come.Type); ttl != nil {
		mine := come.TTL
		if mine == nil && !ttl.Inherit || mine != nil && (!ttl.Explicit || ttl.Seconds != *mine) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s has values with other TTLs: the smallest counts for all (S5.8)", come.Type, p.fqdn))
		}
	}
	for _, v := range come.Values {
		if others.has(come.Type, DigestOf(v.Text)) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s %s stands at %s already: it is published once, until the last record with it goes (S5.8)", come.Type, v.Text, p.fqdn))
		} else if abs, err := v.Resolve(z.FQDN()); err == nil && abs != v.Text && others.has(come.Type, DigestOf(abs)) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s %s stands at %s already as %s: one entry in the listing, two values in the hash (S6.4)", come.Type, v.Text, p.fqdn, abs))
		} else if rel, ok := relative(v.Text, z.FQDN()); ok && others.has(come.Type, DigestOf(rel)) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s %s stands at %s already as %s: one entry in the listing, two values in the hash (S6.4)", come.Type, v.Text, p.fqdn, rel))
		}
		if come.Type != rdata.MX && come.Type != rdata.NS && come.Type != rdata.SRV {
			continue
		}
		target, ok := v.Target(z.FQDN())
		if !ok {
			continue
		}
		if rel, ok := target.Rel(z.FQDN()); ok {
			if o, _ := get[Owner](&d.reading, OwnerKey(z.UID, rel)); o.hasType(rdata.CNAME) {
				plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s points at %s, which is a CNAME (S5.8, RFC 2181 §10.3)", come.Type, p.fqdn, target))
			}
		}
	}
}

// relative is rdata whose last field is an absolute name in the zone, spelled
// relative to it: MX, SRV, NS, CNAME, PTR and DNAME are like that.
func relative(text string, zone name.Name) (string, bool) {
	i := strings.LastIndexByte(text, ' ') + 1
	switch host := text[i:]; {
	case host == zone.String():
		return text[:i] + "@", true
	case strings.HasSuffix(host, "."+zone.String()):
		return text[:i] + strings.TrimSuffix(host, "."+zone.String()), true
	}
	return "", false
}

// limits holds S5.6 at one name. What was above a limit before may stay and shrink, but for types: servers refuse a
// zone with more.
func (d *recordDecision) limits(z *Zone, come *Contribution, after, before *Owner) (*Refusal, marks) {
	t := come.Type
	values, octets := after.distinct(t)
	var was, wasOctets, wasTypes, wasAll int
	if before != nil {
		was, wasOctets = before.distinct(t)
		wasTypes, wasAll = z.typesAt(come.Owner, before.types()), len(before.Values)
	}
	types := z.typesAt(come.Owner, after.types())
	for _, s := range z.made(come.Owner) {
		if s.Type == t {
			values, was = values+len(s.Data), was+len(s.Data)
			octets, wasOctets = octets+16*len(s.Data), wasOctets+16*len(s.Data)
		}
	}
	owner, _ := come.Owner.In(z.FQDN())
	octets += values * (owner.WireLen() + 10)
	wasOctets += was * (owner.WireLen() + 10)
	if types > MaxTypesAtName && (types > wasTypes || d.stands(z, come) && !after.sharesType(come)) {
		return manyTypes(owner), marks{keys: []Key{OwnerKey(z.UID, come.Owner)}}
	}
	var why string
	switch {
	case values > MaxValuesInRRset && values > was:
		why = fmt.Sprintf("%s at %s would have %d values; an RRset has at most %d, or BIND refuses the whole zone (S5.6)", t, owner, values, MaxValuesInRRset)
	case len(after.Values) > MaxValuesAtName && len(after.Values) > wasAll:
		why = fmt.Sprintf("%s would have more than %d values, each counted once for each ttl that Records give it (S5.6; give the Records of an RRset one ttl)", owner, MaxValuesAtName)
	case octets > MaxRRsetOctets && octets > wasOctets:
		why = fmt.Sprintf("%s at %s would take %d octets; an RRset has at most %d on the wire (S5.6)", t, owner, octets, MaxRRsetOctets)
	}
	if why == "" {
		return nil, marks{}
	}
	return invalid("spec.values", nil, ReasonLimitExceeded, "%s", why), marks{keys: []Key{OwnerKey(z.UID, come.Owner)}}
}

// typesAt counts the types at a name with those that the zone makes there: the SOA, and the NS and addresses of
// spec.nameServers. At the apex NS is counted in any case: without it the zone is not servable. It changes types.
func (z *Zone) typesAt(owner name.Rel, types []rdata.Type) int {
	if owner.IsApex() {
		types = append(types, rdata.SOA, rdata.NS)
	}
	for _, s := range z.made(owner) {
		types = append(types, s.Type)
	}
	slices.Sort(types)
	return len(slices.Compact(types))
}
