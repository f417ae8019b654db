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

// admitRecord decides whether the zone takes what comes beside what others have there: admission (S4), coexistence
// (S5.6) and the tenant's limit (S5.8).
func (x *delta) admitRecord(plan *Plan) *Refusal {
	if refusal := x.refuseLocked(); refusal != nil {
		return refusal
	}
	z, come, ns := x.zone, x.come, x.ask.Namespace
	by, refusal := x.findAdmission()
	var evicts string
	if refusal != nil && x.mayEvict() { // what else is in its way refuses it before the other one loses the name
		evicts, by, refusal = x.claimedBy, admitted{admission: AdmittedLiteral}, nil
	}
	if refusal == nil && ns != z.Namespace {
		refusal = x.refuseCutOff()
	}
	if refusal == nil && ns != z.Namespace && come.Type == rdata.DS {
		refusal = x.refuseSigning()
	}
	if refusal == nil {
		refusal = x.refuseTurn()
	}
	if refusal != nil {
		return refusal
	}
	x.rule = by.text
	x.member = &Member{UID: x.ask.After.UID, Admission: by.admission, Created: x.ask.After.Created}

	if refusal := x.checkOwner(); refusal != nil {
		return refusal
	}
	if evicts == "" { // else it is decided when the name is free
		refusal := x.checkCoexistence(plan)
		if x.conflicts = refusal != nil; x.conflicts {
			return refusal
		}
	}
	records := x.records
	if max := z.RecordsPerNamespace; max > 0 && ns != z.Namespace && x.isNew() && records >= max {
		return forbidden(ReasonLimitExceeded, "namespace %q has %d records in zone %s and its limits.recordsPerNamespace is %d (delete "+
			"some, or ask the zone's owner for more)", ns, records, z.FQDN(), max)
	}
	if evicts != "" {
		x.evicts = evicts
		return nil
	}
	x.warnOfMixing(by.admission, plan)
	x.warnOfHosts(plan)
	return nil
}

// findAdmission finds the rule that lets the record in (S4.17). A record that stands keeps its kind of rule while it
// has one: what others, or the zone's owner, have put at, above or below its name since takes nothing from it.
func (x *delta) findAdmission() (admitted, *Refusal) {
	z, come, ns := x.zone, x.come, x.ask.Namespace
	n := x.place.fqdn
	grants := z.RuleSet().findGrants(n, come.Type, ns)
	if len(grants) == 0 {
		return admitted{}, z.notDelegated(n, come.Owner, come.Type, ns)
	}
	if ns == z.Namespace {
		return admitOwn(come.Owner, &grants[0]), nil
	}
	base := Base(come.Owner)
	var refusal *Refusal
	for _, kind := range kinds {
		for i := range grants {
			g := &grants[i]
			if z.RuleSet().kindOf(g, come.Owner, ns) != kind {
				continue
			}
			c := x.claimant(kind, g.rule)
			var why *Refusal
			switch {
			case kind == AdmittedUnderscore:
			case !x.keepsClaim(base, kind):
				why = c.refuseClaim(come.Owner, base)
			case kind == AdmittedShared: // its namespaces are those that the rule has now
				why = c.refuseOthers(base)
			}
			if why == nil {
				return admitted{kind, g.text}, nil
			}
			refusal = why // that of the widest rule says most
		}
	}
	if refusal == nil {
		return admitted{}, z.baseNotDelegated(n, come.Owner, come.Type, ns)
	}
	return admitted{}, x.noteClaim(base, refusal)
}

// claimant is the record's namespace as it asks for the name by a kind of rule.
func (x *delta) claimant(kind Admission, rule *Rule) *claimant {
	c := &claimant{reading: x.reading, zone: x.zone, holding: x.holding, namespace: x.ask.Namespace, admission: kind, ownerAt: x.ownerAt}
	if kind == AdmittedShared {
		c.rule = rule
	}
	return c
}

// keepsClaim reports whether the record stands at a base name by such a rule already.
func (x *delta) keepsClaim(base name.Rel, kind Admission) bool {
	return x.memberBefore != nil && Base(x.gone.Owner) == base && x.memberBefore.Admission == kind
}

// noteClaim notes which namespace has the base name that the record is refused, for those that wait for it (S2.14).
func (x *delta) noteClaim(base name.Rel, refusal *Refusal) *Refusal {
	if o := x.ownerAt(base); o != nil {
		for _, c := range o.Claims {
			if c.Namespace != x.ask.Namespace && c.names() && (x.claimedBy == "" || x.claimedBy == x.zone.Namespace) {
				x.claimedBy = c.Namespace
			}
		}
	}
	return refusal
}

// warnOfMixing warns where values of several namespaces come together, and where the zone's own namespace writes at a
// name that a tenant claims, or below one (S4.18).
func (x *delta) warnOfMixing(a Admission, plan *Plan) {
	z, come := x.zone, x.come
	base := Base(come.Owner)
	if base.IsApex() || slices.Contains(z.MadeNames, base) {
		return
	}
	warn := func(format string, args ...any) { plan.Warnings = append(plan.Warnings, fmt.Sprintf(format, args...)) }
	tenant := func(c Claim) bool { return c.Namespace != z.Namespace }
	own := x.ask.Namespace == z.Namespace
	switch o := x.ownerAt(base); {
	case own && o != nil && slices.ContainsFunc(o.Claims, tenant):
		warn("%s of zone %s is claimed by another namespace, and what stands there is now its own and the zone's (S4.18)", base, z.FQDN())
		return
	case own:
		for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
			if o := x.ownerAt(up); o != nil && slices.ContainsFunc(o.Claims, tenant) {
				warn("%s of zone %s lies below %s, which another namespace claims with all below it (S4.18)", base, z.FQDN(), up)
				return
			}
		}
	case a != AdmittedUnderscore && o.isOwn(z):
		warn("the zone's own namespace has records at %s of zone %s, too (S4.18)", base, z.FQDN())
		return
	}
	if x.others.hasType(come.Type) && (a == AdmittedShared || own && z.RuleSet().listsShared(come.Owner)) {
		warn("%s at %s joins values of other records (shared: true): a resolver gets all of them (S4.13)", come.Type, x.place.fqdn)
	}
}

// warnOfHosts warns of a host that the apex or a cut names and that a tenant claims, or that no namespace has (S4.18).
// It looks at the first maxHosts of them.
func (x *delta) warnOfHosts(plan *Plan) {
	z, come := x.zone, x.come
	cut := come.Type == rdata.NS && !come.Owner.IsApex()
	if x.ask.Cascade || !come.Owner.IsApex() && !cut {
		return
	}
	own := x.ask.Namespace == z.Namespace
	var list Holding
	list.CountHosts(come, 1)
	if cut || own && come.Type == rdata.NS {
		for _, v := range come.Values {
			list.ApexNS = append(list.ApexNS, v.Host())
		}
	}
	hosts := list.hostsNamedByApex(z)
	hosts = hosts[:min(len(hosts), maxHosts)]
	var ks []Key
	for _, host := range hosts {
		ks = append(ks, OwnerKey(z.UID, host))
	}
	x.askAll(ks)
	for _, host := range hosts {
		o := x.ownerAt(host)
		tenant := o != nil && slices.ContainsFunc(o.Claims, func(c Claim) bool {
			return c.Namespace != z.Namespace && c.Namespace != x.ask.Namespace
		})
		at, _ := host.In(z.FQDN())
		switch free := o == nil || len(o.Claims) == 0 && len(o.Values) == 0; {
		case tenant:
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s names %s, which another namespace claims: it says where that "+
				"leads (S4.18)", come.Type, x.place.fqdn, at))
		case free && (cut && !encloses(come.Owner, host) || !cut && !own) && !slices.Contains(z.MadeNames, host):
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s names %s, which no namespace has: the one that first writes an "+
				"address there says where it leads; write one (S4.18)", come.Type, x.place.fqdn, at))
		}
	}
}

// standsAlready reports whether a cascade decides a record anew that stands.
func (x *delta) standsAlready() bool { return x.ask.Cascade && x.stands() }

// stands reports whether the record has its name and type in the zone.
func (x *delta) stands() bool {
	b := x.ask.Before
	return b != nil && b.Zone.UID == x.zone.UID && b.Owner == x.come.Owner && b.Type == x.come.Type
}

// isNew reports whether the record is not yet in the zone, so taking it in adds one.
func (x *delta) isNew() bool {
	return x.ask.Before == nil || x.ask.Before.Zone.UID != x.zone.UID
}

// refuseCutOff refuses an NS below the apex, or a DNAME, of a tenant that would cut off what another namespace has
// (S4.15). A cascade does not refuse a record that stands, since the zone's own namespace may have put names below it
// meanwhile.
func (x *delta) refuseCutOff() *Refusal {
	p, come := x.place, x.come
	if come.Type != rdata.DNAME && (come.Type != rdata.NS || come.Owner.IsApex()) || x.standsAlready() {
		return nil
	}
	if !x.claimant(AdmittedPlain, nil).cutsOff(come.Owner) {
		return nil
	}
	return forbidden(ReasonNameHeld, "%s at %s would cut off names at or below it that another namespace has in zone %s (S4.15; "+
		"choose a name of your own)", come.Type, p.fqdn, x.zone.FQDN())
}

// refuseSigning refuses a tenant's DS at a zone of another namespace (S4.16): a validating resolver would take that
// zone for forged. A cascade does not refuse one that stands.
func (x *delta) refuseSigning() *Refusal {
	p := x.place
	if x.standsAlready() {
		return nil
	}
	child := get[Holding](x.reading, HoldingKey(p.view, p.fqdn))
	if child == nil || child.Namespace == x.ask.Namespace {
		return nil
	}
	return forbidden(ReasonNameHeld, "%s is a zone of another namespace, and a DS there would decide whether it validates (S4.16; the "+
		"owner of zone %s can write it)", p.fqdn, x.zone.FQDN())
}

// checkCoexistence refuses what may not stand beside what (S5.6).
func (x *delta) checkCoexistence(plan *Plan) (refusal *Refusal) {
	owner, t := x.come.Owner, x.come.Type
	present := x.presentTypes()
	if refusal := x.checkBeside(present); refusal != nil {
		return refusal
	}
	below, refusal := x.checkAbove()
	if refusal != nil {
		return refusal
	}
	switch {
	case t == rdata.DNAME:
		if refusal := x.checkBelow(); refusal != nil {
			return refusal
		}
	case t == rdata.NS && !owner.IsApex():
		x.warnOfCut(present, plan)
	}
	x.warnOfOcclusion(below, plan)
	x.warnOfValues(plan)
	x.warnOfDots(plan)
	return nil
}

// refuseConflict is the refusal of what may not stand beside other data, or at such a name.
func (x *delta) refuseConflict(format string, args ...any) *Refusal {
	return invalid("spec.domainName", x.ask.After.DomainName, ReasonCNAMEConflict, format, args...)
}

// checkOwner refuses data that may not stand at its owner, whatever else does.
func (x *delta) checkOwner() *Refusal {
	owner, t, fqdn := x.come.Owner, x.come.Type, x.place.fqdn
	switch {
	case owner.IsApex() && (t == rdata.CNAME || t == rdata.DS):
		return x.refuseConflict("%s cannot stand at %s, the zone's own apex (S5.6)", t, fqdn)
	case owner.IsApex() && (t == rdata.CDS || t == rdata.CDNSKEY): // BIND loads no file with one and no DNSKEY
		return x.refuseConflict("%s at %s, the zone's own apex, is made by the server that signs the zone (S5.6; sign on a secondary)",
			t, fqdn)
	case isWildcard(owner) && (t == rdata.NS || t == rdata.DNAME):
		return x.refuseConflict("%s cannot stand at a wildcard (S5.6)", t)
	}
	refusal := x.come.checkHosts(x.zone.FQDN(), fqdn)
	if refusal != nil && refusal.Value == nil {
		refusal.Value = x.ask.After.DomainName
	}
	return refusal
}

// presentTypes are the types of the other data at the owner: of records, and of the zone itself.
func (x *delta) presentTypes() []rdata.Type {
	present := x.others.types()
	for _, s := range x.zone.madeAt(x.come.Owner) {
		if !slices.Contains(present, s.Type) {
			present = append(present, s.Type)
		}
	}
	return present
}

// checkBeside refuses what may not stand beside the types that are present at its owner.
func (x *delta) checkBeside(present []rdata.Type) *Refusal {
	owner, t, fqdn := x.come.Owner, x.come.Type, x.place.fqdn
	for _, other := range present {
		switch {
		case other == t:
		case t == rdata.CNAME:
			return x.refuseConflict("CNAME cannot stand beside %s at %s (S5.6; remove the other data or use another name)", other, fqdn)
		case other == rdata.CNAME:
			return x.refuseConflict("%s cannot stand beside the CNAME at %s (S5.6; remove the CNAME or use another name)", t, fqdn)
		case !owner.IsApex() && (t == rdata.DNAME && other == rdata.NS || t == rdata.NS && other == rdata.DNAME):
			return x.refuseConflict("NS and DNAME cannot stand together at %s (S5.7)", fqdn)
		}
	}
	if t.Single() {
		if n, _ := x.mergeOwner().countDistinct(t); n > 1 {
			refusal := refuseSeveral(t, fqdn, n)
			refusal.Value = x.ask.After.DomainName
			return refusal
		}
	}
	return nil
}

// mergeOwner returns the owner with what comes, without the sizes of its values.
func (x *delta) mergeOwner() *Owner {
	out := x.others.clone()
	out.addContribution(x.come, make([]int, len(x.come.Values)))
	return out
}

// checkAbove refuses what would lie below a DNAME. below says that the record lies below NS records.
func (x *delta) checkAbove() (below bool, refusal *Refusal) {
	owner, fqdn := x.come.Owner, x.place.fqdn
	for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
		o := x.storedOwner(up)
		if o.hasType(rdata.DNAME) {
			return false, x.refuseConflict("%s lies below the DNAME at %s, which replaces every name below it (S5.7)", fqdn,
				x.nameOf(up))
		}
		below = below || !up.IsApex() && o.hasType(rdata.NS) && !isGlue(o, x.come.Type, fqdn, owner)
	}
	return below, nil
}

// checkBelow refuses a DNAME above names that it would replace.
func (x *delta) checkBelow() *Refusal {
	z, owner, fqdn := x.zone, x.come.Owner, x.place.fqdn
	below := get[OwnersBelow](x.reading, OwnersBelowKey(z.UID, owner))
	stands := below != nil && below.Names > 0 ||
		slices.ContainsFunc(z.MadeNames, func(m name.Rel) bool { return m != owner && encloses(owner, m) })
	// A zone adds NS below the DNAME where a rule lists it, now or later, and no server loads that (S5.11).
	if stands || x.hasZonesBelow() {
		return x.refuseConflict("there are names below %s, which a DNAME there would replace (S5.7; remove them first)", fqdn)
	}
	return nil
}

// hasZonesBelow reports whether a zone stands strictly below the record's name.
func (x *delta) hasZonesBelow() bool {
	fqdn := x.place.fqdn
	zones := get[ZonesBelow](x.reading, ZonesBelowKey(x.place.view, fqdn))
	return zones != nil && slices.ContainsFunc(zones.Zones, func(b ZoneBelow) bool { return b.FQDN != fqdn })
}

// warnOfCut warns of NS records that occlude what stands at their owner or below it.
func (x *delta) warnOfCut(present []rdata.Type, plan *Plan) {
	owner, fqdn := x.come.Owner, x.place.fqdn
	below, zones := get[OwnersBelow](x.reading, OwnersBelowKey(x.zone.UID, owner)), x.hasZonesBelow()
	after := x.mergeOwner()
	beside := slices.ContainsFunc(present, func(other rdata.Type) bool {
		return other != rdata.NS && other != rdata.DS && !isGlue(after, other, fqdn, owner)
	})
	if below != nil && below.Names > 0 || zones || beside {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("NS at %s delegates the name away: data at or below it is occluded but for DS "+
			"and glue addresses (S5.6)", fqdn))
	}
}

// warnOfOcclusion warns of data that NS records at its owner, or above it (below), occlude.
func (x *delta) warnOfOcclusion(below bool, plan *Plan) {
	owner, t, fqdn := x.come.Owner, x.come.Type, x.place.fqdn
	beside := !owner.IsApex() && t != rdata.NS && t != rdata.DS && x.others.hasType(rdata.NS) && !isGlue(x.others, t, fqdn, owner)
	switch {
	case below && slices.Contains(apexHosts(x.zone, x.holding), owner): // the zone's own name servers
	case below && (t == rdata.A || t == rdata.AAAA) && !isWildcard(owner):
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s lies below NS records: it is given out as glue alone, "+
			"for NS records of zone %s that name it (S5.6)", t, fqdn, x.zone.FQDN()))
	case below || beside:
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s is occluded by NS records at or above it (S5.6)", t, fqdn))
	}
}

// refuseSeveral refuses more than one value of a type that a name may have once.
func refuseSeveral(t rdata.Type, fqdn name.Name, n int) *Refusal {
	return invalid("spec.domainName", nil, ReasonCNAMEConflict, "there can be one %s at %s, not %d (S5.6; keep one value)", t, fqdn, n)
}

// refuseManyTypes refuses one more type at a name: BIND takes no zone with it by transfer.
func refuseManyTypes(fqdn name.Name) *Refusal {
	return invalid("spec.values", nil, ReasonValidationFailed, "%s would have more than %d types, "+
		"those counted that the zone itself has there (S5.8; use another name, or remove a type first)", fqdn, MaxTypesAtName)
}

// isGlue reports whether data of type t at owner is an address of one of the name
// servers that cut has, written absolute or relative to the zone.
func isGlue(cut *Owner, t rdata.Type, fqdn name.Name, owner name.Rel) bool {
	return (t == rdata.A || t == rdata.AAAA) && (cut.hasValue(rdata.NS, DigestOf(fqdn.String())) ||
		cut.hasValue(rdata.NS, DigestOf(owner.String())))
}

func encloses(up, sub name.Rel) bool {
	for r, ok := sub, true; ok; r, ok = r.Parent() {
		if r == up {
			return true
		}
	}
	return false
}

// warnOfValues warns of what S5.2 allows: differing TTLs, the same rdata twice or in two spellings, and hosts that are
// aliases.
func (x *delta) warnOfValues(plan *Plan) {
	z, p, come, others := x.zone, x.place, x.come, x.others
	if ttl := others.rrsetTTL(come.Type); ttl != nil {
		mine := come.TTL
		if mine == nil && !ttl.Inherit || mine != nil && (!ttl.Explicit || ttl.Seconds != *mine) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s has values with other TTLs: the smallest counts for all (S5.2)",
				come.Type, p.fqdn))
		}
	}
	for _, v := range come.Values {
		if others.hasValue(come.Type, DigestOf(v.Text)) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s %s stands at %s already: it is published once, "+
				"until the last record with it goes (S5.2)", come.Type, v.Text, p.fqdn))
		} else if abs, err := v.Resolve(z.FQDN()); err == nil && abs != v.Text && others.hasValue(come.Type, DigestOf(abs)) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s %s stands at %s already as %s: one entry in the listing, "+
				"two values in the hash (S6.7)", come.Type, v.Text, p.fqdn, abs))
		} else if rel, ok := relativeData(v.Text, z.FQDN()); ok && others.hasValue(come.Type, DigestOf(rel)) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s %s stands at %s already as %s: one entry in the listing, "+
				"two values in the hash (S6.7)", come.Type, v.Text, p.fqdn, rel))
		}
		if come.Type != rdata.MX && come.Type != rdata.NS && come.Type != rdata.SRV {
			continue
		}
		target, ok := v.Target(z.FQDN())
		if !ok {
			continue
		}
		if rel, ok := target.Rel(z.FQDN()); ok {
			if o := x.storedOwner(rel); o.hasType(rdata.CNAME) {
				plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s at %s points at %s, which is a CNAME (S5.6, RFC 2181 §10.3)",
					come.Type, p.fqdn, target))
			}
		}
	}
}

// relativeData is rdata whose last field is an absolute name in the zone, spelled
// relative to it: MX, SRV, NS, CNAME, PTR and DNAME are like that.
func relativeData(text string, zone name.Name) (string, bool) {
	i := strings.LastIndexByte(text, ' ') + 1
	switch host := text[i:]; {
	case host == zone.String():
		return text[:i] + "@", true
	case strings.HasSuffix(host, "."+zone.String()):
		return text[:i] + strings.TrimSuffix(host, "."+zone.String()), true
	}
	return "", false
}

// checkLimits refuses a write beyond the limits of S5.8 at one name. A name above a limit may stay so and shrink.
// This does not hold for types: servers refuse a zone with more.
func (x *delta) checkLimits(after, before *Owner) *Refusal {
	z, come := x.zone, x.come
	t := come.Type
	values, octets := after.countDistinct(t)
	var was, wasOctets, wasTypes, wasAll int
	if before != nil {
		was, wasOctets = before.countDistinct(t)
		wasTypes, wasAll = z.typesAt(come.Owner, before.types()), len(before.Values)
	}
	types := z.typesAt(come.Owner, after.types())
	for _, s := range z.madeAt(come.Owner) {
		if s.Type == t {
			values, was = values+len(s.Data), was+len(s.Data)
			octets, wasOctets = octets+16*len(s.Data), wasOctets+16*len(s.Data)
		}
	}
	owner, _ := come.Owner.In(z.FQDN())
	octets += values * (owner.WireLen() + 10)
	wasOctets += was * (owner.WireLen() + 10)
	if types > MaxTypesAtName && (types > wasTypes || x.standsAlready() && !after.sharesType(come)) {
		return refuseManyTypes(owner)
	}
	most, beside := MaxValuesInRRset, ""
	if t == rdata.DS {
		most, beside = most-MaxDS, fmt.Sprintf(" with the %d that a signed zone may give it (S6.16)", MaxDS)
	}
	var why string
	switch {
	case values > most && values > was:
		why = fmt.Sprintf("%s at %s would have %d values; an RRset has at most %d%s, or BIND refuses the whole zone (S5.8)", t, owner,
			values, MaxValuesInRRset, beside)
	case len(after.Values) > MaxValuesAtName && len(after.Values) > wasAll:
		why = fmt.Sprintf("%s would have more than %d values, each counted once for each ttl that Records give it (S5.8; "+
			"give the Records of an RRset one ttl)", owner, MaxValuesAtName)
	case octets > MaxRRsetOctets && octets > wasOctets:
		why = fmt.Sprintf("%s at %s would take %d octets; an RRset has at most %d on the wire (S5.8)", t, owner, octets, MaxRRsetOctets)
	}
	if why == "" {
		return nil
	}
	return invalid("spec.values", nil, ReasonLimitExceeded, "%s", why)
}

// typesAt counts the types at a name, together with those that the zone makes there: the SOA, and the NS and
// addresses of spec.nameServers. At the apex NS always counts, since the zone is not servable without it. It changes
// types.
func (z *Zone) typesAt(owner name.Rel, types []rdata.Type) int {
	if owner.IsApex() {
		types = append(types, rdata.SOA, rdata.NS)
	}
	for _, s := range z.madeAt(owner) {
		types = append(types, s.Type)
	}
	slices.Sort(types)
	return len(slices.Compact(types))
}
