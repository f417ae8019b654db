// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

func (d *delta) refuseConflict(format string, args ...any) *law.Refusal {
	return law.NewInvalid("spec.domainName", d.ask.After.DomainName, law.ReasonCNAMEConflict, format, args...)
}

// misplaced are types that may not be at some names, with the format of the refusal.
var misplaced = []struct {
	types  []rdata.Type
	at     func(name.Rel) bool
	format string
}{
	// A CNAME would hide SOA and NS. DS of the zone itself belong to the zone above.
	{[]rdata.Type{rdata.CNAME, rdata.DS}, name.Rel.IsApex, "%[1]s is not allowed at %[2]s, the zone's own apex (S5.6)"},
	// BIND loads no file with CDS or CDNSKEY and no DNSKEY.
	{[]rdata.Type{rdata.CDS, rdata.CDNSKEY}, name.Rel.IsApex, "%[1]s at %[2]s, the zone's own apex, is made by the server that signs the " +
		"zone (S5.6; sign on a secondary)"},
	// At *, NS or DNAME would act for every free name (RFC 4592 §4.2, §4.4).
	{[]rdata.Type{rdata.NS, rdata.DNAME}, name.Rel.IsWildcard, "%[1]s is not allowed at a wildcard (S5.6)"},
}

// checkOwner refuses a type that may not be at the owner: at the apex, at a wildcard (S5.6), or at a name that is no
// host name (S5.11). The hosts in the values are checked too.
func (d *delta) checkOwner() *law.Refusal {
	for _, row := range misplaced {
		if row.at(d.added.Owner) && slices.Contains(row.types, d.added.Type) {
			return d.refuseConflict(row.format, d.added.Type, d.place.fqdn)
		}
	}
	return d.checkHosts()
}

// typesBeside returns the other types at added's name, with those of spec.nameServers.
func (d *delta) typesBeside() []rdata.Type {
	types := d.otherData.Types()
	for _, s := range d.zone.NSSetsAt(d.added.Owner) {
		types = append(types, s.Type)
	}
	return slices.DeleteFunc(types, func(t rdata.Type) bool { return t == d.added.Type })
}

// checkBeside refuses added beside the other types at its owner: a CNAME beside other data, NS beside DNAME, or a
// second value of a type with a single value.
func (d *delta) checkBeside(beside []rdata.Type) *law.Refusal {
	owner, t, fqdn := d.added.Owner, d.added.Type, d.place.fqdn
	for _, other := range beside {
		switch {
		case t == rdata.CNAME:
			return d.refuseConflict("CNAME is not allowed beside %s at %s (S5.6; remove the other data or use another name)", other,
				fqdn).By(owner)
		case other == rdata.CNAME:
			return d.refuseConflict("%s is not allowed beside the CNAME at %s (S5.6; remove the CNAME or use another name)", t,
				fqdn).By(owner)
		// A DNAME at the apex is beside the NS of the zone itself, and allowed (RFC 6672 §2.3).
		case takesBelow(t) && takesBelow(other) && !owner.IsApex():
			return d.refuseConflict("NS and DNAME are not allowed together at %s (S5.7)", fqdn).By(owner)
		}
	}

	if t.Single() {
		// Two Records with the same CNAME are a single value.
		if n, _ := d.mergeOwner().CountDistinct(t); n > 1 {
			return d.refuseConflict("there can be one %s at %s, not %d (S5.6; keep one value)", t, fqdn, n).By(owner)
		}
	}

	return nil
}

func (d *delta) mergeOwner() *law.Owner {
	out := d.otherData.Clone()
	out.AddContribution(d.added, make([]int, len(d.added.Values)), 0)
	return out
}

// checkAbove refuses a name below a DNAME (S5.7). The result below is true if NS records above hide the name.
func (d *delta) checkAbove() (below bool, refusal *law.Refusal) {
	for up := range above(d.added.Owner) {
		o := d.storedOwner(up)
		if o.HasType(rdata.DNAME) {
			return false, d.refuseConflict("%s lies below the DNAME at %s, which replaces every name below it (S5.7)", d.place.fqdn,
				d.nameOf(up)).By(up)
		}
		below = below || d.occludes(up, o)
	}
	return below, nil
}

// occludes reports whether NS in o, at or above added's name, hide added. The glue ns1.sub below "sub NS ns1.sub" is
// not hidden, and the apex NS delegate nothing.
func (d *delta) occludes(at name.Rel, o *law.Owner) bool {
	return !at.IsApex() && o.HasType(rdata.NS) && !isGlue(o, d.added.Type, d.place.fqdn, d.added.Owner)
}

func (d *delta) checkBelow() *law.Refusal {
	z, owner, fqdn := d.zone, d.added.Owner, d.place.fqdn
	hasServer := slices.ContainsFunc(z.NSHosts, func(m name.Rel) bool { return m != owner && rules.Encloses(owner, m) })
	// A rule may list the zone later, and add NS below the DNAME. No server loads such a zone.
	if d.findBelow(owner).RecordNames > 0 || hasServer || d.hasZonesBelow() {
		return d.refuseConflict("there are names below %s, which a DNAME there would replace (S5.7; remove them first)", fqdn)
	}
	return nil
}

func (d *delta) hasZonesBelow() bool {
	fqdn := d.place.fqdn
	below := law.Get[law.ZonesBelow](d.Reading, law.ZonesBelowKey(d.place.view, fqdn))
	return below != nil && slices.ContainsFunc(below.Zones, func(b law.ZoneBelow) bool { return b.FQDN != fqdn })
}

// warnOfCut warns that new NS hide data at or below their name, except DS and glue (S5.6). beside are the other types
// at the name.
func (d *delta) warnOfCut(beside []rdata.Type, plan *law.Plan) {
	owner, fqdn, after := d.added.Owner, d.place.fqdn, d.mergeOwner()
	hidesBeside := slices.ContainsFunc(beside, func(other rdata.Type) bool {
		return other != rdata.DS && !isGlue(after, other, fqdn, owner)
	})
	// All names below may be glue of these NS, such as ns1.sub with an A.
	if hidesBeside || d.findBelow(owner).RecordNames > d.countGlue() || d.hasZonesBelow() {
		plan.WarnOf("S5.6", law.WarningOccludes, "NS at %s delegates the name: data at or below it is occluded, except DS and "+
			"glue addresses", fqdn)
	}
}

// countGlue returns how many hosts below the new NS, of those looked up, have addresses alone. A TXT at ns1.sub is
// hidden, although the A there is glue.
func (d *delta) countGlue() (n int) {
	for _, t := range d.listTargets() {
		types := d.storedOwner(t.host).Types()
		if d.needsGlue(t) && len(types) > 0 && !slices.ContainsFunc(types, func(t rdata.Type) bool { return !isAddress(t) }) {
			n++
		}
	}
	return n
}

// warnOfOcclusion warns of a record hidden from resolvers by NS at or above its name, or of a DS without NS.
// The parameter below is true if NS above hide the record.
func (d *delta) warnOfOcclusion(below bool, plan *law.Plan) {
	switch t := d.added.Type; {
	case below:
		d.warnBelowCut(plan)
	case t == rdata.NS: // the cut itself
	case t == rdata.DS:
		d.warnOfLoneDS(plan)
	case d.occludes(d.added.Owner, d.otherData):
		d.warnOfHidden(plan)
	}
}

func (d *delta) warnOfLoneDS(plan *law.Plan) {
	if !d.otherData.HasType(rdata.NS) && !isDelegated(d.otherData) {
		plan.WarnOf("S5.14", law.WarningCut, "DS at %s has no NS beside it, so no resolver asks for it; write the NS, or create the "+
			"child zone", d.place.fqdn)
	}
}

func (d *delta) warnBelowCut(plan *law.Plan) {
	owner, t := d.added.Owner, d.added.Type
	// The zone's own server ns1.sub needs an address here, although sub is delegated.
	if slices.Contains(apexHosts(d.zone, d.holding), owner) {
		return
	}
	// The address becomes glue once an NS names its host, perhaps later in the same import.
	if isAddress(t) && !owner.IsWildcard() {
		plan.WarnOf("S5.6", law.WarningUnnamedGlue, "%s at %s lies below NS records: servers return it as glue only, if NS records of "+
			"zone %s name it", t, d.place.fqdn, d.zone.FQDN())
		return
	}
	d.warnOfHidden(plan)
}

func (d *delta) warnOfHidden(plan *law.Plan) {
	plan.WarnOf("S5.6", law.WarningCut, "%s at %s is occluded by NS records at or above it", d.added.Type, d.place.fqdn)
}

func isGlue(cut *law.Owner, t rdata.Type, fqdn name.Name, owner name.Rel) bool {
	return isAddress(t) && (cut.HasValue(rdata.NS, law.DigestOf(fqdn.String())) ||
		cut.HasValue(rdata.NS, law.DigestOf(owner.String())))
}

// warnOfValues warns of values that meet others in the RRset, or that are probably mistakes: another TTL, a value given
// twice, a second policy, a host that is a CNAME, or CAA that bind tenants.
func (d *delta) warnOfValues(plan *law.Plan) {
	t, fqdn, others := d.added.Type, d.place.fqdn, d.otherData
	d.warnOfTTL(plan)
	for _, v := range d.ask.After.RepeatedValues {
		plan.Warn("S5.2", "%s %s is given twice, and published once", t, v.Text)
	}
	for _, v := range d.added.Values {
		if others.HasValue(t, law.DigestOf(v.Text)) {
			plan.Warn("S5.2", "%s %s is at %s already: it is published once, until its last Record is deleted", t, v.Text, fqdn)
		} else if other, ok := d.otherSpelling(v); ok {
			plan.Warn("S6.7", "%s %s is at %s already as %s: one entry in the listing, two values in the hash", t, v.Text, fqdn, other)
		}
		d.warnOfPolicy(v, plan)
		d.warnOfAlias(v, plan)
	}
	d.warnOfAuthorities(plan)
}

// warnOfTTL warns if added's TTL differs from that of the RRset. Without a ttl, a Record has the zone's, which differs
// from each number.
func (d *delta) warnOfTTL(plan *law.Plan) {
	ttl := content.InheritTTL()
	if seconds := d.added.TTL; seconds != nil {
		ttl = content.ExplicitTTL(*seconds)
	}
	if others := d.otherData.RRsetTTL(d.added.Type); others != nil && *others != ttl {
		plan.Warn("S5.2", "%s at %s has values with different TTLs: the smallest applies to all", d.added.Type, d.place.fqdn)
	}
}

// forbidden tells by (plain, wildcards) for which certificates CAA name no authority.
var forbidden = map[[2]bool]string{
	{true, true}: "every certification authority",
	// By issue ";" and issuewild "ca.example.net", an authority may issue for *.shop, and none for shop.
	{true, false}: "every certification authority, but for wildcards",
	{false, true}: "every certification authority for wildcards",
}

// warnOfAuthorities warns of the first CAA at the apex if no authority may issue certificates. These CAA bind each name
// below without CAA, also those of tenants.
func (d *delta) warnOfAuthorities(plan *law.Plan) {
	added := d.added
	isFirst := added.Type == rdata.CAA && added.Owner.IsApex() && !d.otherData.HasType(rdata.CAA)
	if !isFirst || !d.hasTenants() {
		return
	}
	plain, wildcards := listAuthorities(added.Values, "issue"), listAuthorities(added.Values, "issuewild")
	if len(wildcards) == 0 {
		wildcards = plain // RFC 8659 §4.3
	}
	if authorities := forbidden[[2]bool{namesNone(plain), namesNone(wildcards)}]; authorities != "" {
		plan.Warn("S5.14", "CAA at %s forbids %s, also for the names of other namespaces: write the authorities that they use, or have "+
			"them write CAA of their own (RFC 8659 §3)", d.place.fqdn, authorities)
	}
}

// listAuthorities returns the authorities of a property of CAA, and "" for each value that names none, as 0 issue ";".
func listAuthorities(values []rdata.Value, property string) (all []string) {
	for _, v := range values {
		_, tagged, _ := strings.Cut(v.Text, " ") // without the flags
		tag, value, _ := strings.Cut(tagged, " ")
		if strings.EqualFold(tag, property) {
			// As in "letsencrypt.org; validationmethods=dns-01".
			authority, _, _ := strings.Cut(strings.Trim(value, `"`), ";")
			all = append(all, strings.TrimSpace(authority))
		}
	}
	return all
}

func namesNone(authorities []string) bool {
	return len(authorities) > 0 && slices.Max(authorities) == ""
}

// hasTenants reports whether a rule of the Zone gives names to other namespaces, or the zone has Delegations, whose
// rules are not read.
func (d *delta) hasTenants() bool {
	return d.holding.Delegations > 0 || slices.ContainsFunc(d.zone.Rules, func(r rules.Rule) bool {
		return len(r.Records) > 0 && !slices.Equal(r.Namespaces, []string{d.zone.Namespace})
	})
}

var nullMX = law.DigestOf("0 .")

// policies are values that receivers read alone at their name. meets reports whether the others there make a value
// void, and format is that of the Warning.
var policies = []struct {
	is     func(v rdata.Value, at name.Name) bool
	meets  func(others *law.Owner, value law.Digest) bool
	format string
}{
	{
		func(v rdata.Value, _ name.Name) bool { return v.Type == rdata.TXT && rdata.IsSPF(v.Text) },
		(*law.Owner).HasOtherSPF,
		"TXT at %s is a second SPF policy there, and receivers reject both (RFC 7208 §4.5): merge them into one",
	},
	{
		func(v rdata.Value, at name.Name) bool {
			return v.Type == rdata.TXT && rdata.IsDMARC(v.Text) && strings.HasPrefix(at.String(), "_dmarc.")
		},
		func(others *law.Owner, value law.Digest) bool { return others.HasOther(rdata.TXT, value) },
		"TXT at %s is beside another TXT, and receivers ignore several DMARC policies (RFC 7489 §6.6.3): keep one",
	},
	{
		func(v rdata.Value, _ name.Name) bool { return v.Type == rdata.MX },
		func(others *law.Owner, value law.Digest) bool {
			return others.HasOther(rdata.MX, value) && (value == nullMX || others.HasValue(rdata.MX, nullMX))
		},
		"MX at %s has the value \"0 .\", which means no mail, beside others (RFC 7505 §3): remove it, or the others",
	},
}

// warnOfPolicy warns of a value that makes others at its name void (S5.14).
func (d *delta) warnOfPolicy(v rdata.Value, plan *law.Plan) {
	for _, policy := range policies {
		if policy.is(v, d.place.fqdn) && policy.meets(d.otherData, law.DigestOf(v.Text)) {
			plan.Warn("S5.14", policy.format, d.place.fqdn)
		}
	}
}

func (d *delta) warnOfAlias(v rdata.Value, plan *law.Plan) {
	if v.Type != rdata.MX && v.Type != rdata.NS && v.Type != rdata.SRV {
		return
	}
	target, _ := v.Target(d.zone.FQDN())
	if rel, ok := target.Rel(d.zone.FQDN()); ok && d.storedOwner(rel).HasType(rdata.CNAME) {
		plan.Warn("S5.6", "%s at %s points at %s, which is a CNAME (RFC 2181 §10.3)", v.Type, d.place.fqdn, target)
	}
}

func (d *delta) otherSpelling(v rdata.Value) (string, bool) {
	spellings, _ := v.Spellings(d.zone.FQDN())
	i := slices.IndexFunc(spellings, func(text string) bool { return text != v.Text && d.otherData.HasValue(v.Type, law.DigestOf(text)) })
	if i < 0 {
		return "", false
	}
	return spellings[i], true
}

// checkLimits refuses data above the limits of a name. A name above the limit of types may not even stay, because
// servers refuse such a zone.
func (d *delta) checkLimits(after, before *law.Owner) *law.Refusal {
	z, added := d.zone, d.added
	t := added.Type
	values, octets := after.CountDistinct(t)
	var was, wasOctets, wasTypes, wasAll int
	if before != nil {
		was, wasOctets = before.CountDistinct(t)
		wasTypes, wasAll = z.TypesAt(added.Owner, before.Types()), len(before.Values)
	}

	// Values of spec.nameServers are in the RRset, too, with 16 octets for each, the size of an AAAA.
	types := z.TypesAt(added.Owner, after.Types())
	for _, s := range z.NSSetsAt(added.Owner) {
		if s.Type == t {
			values, was = values+len(s.Data), was+len(s.Data)
			octets, wasOctets = octets+16*len(s.Data), wasOctets+16*len(s.Data)
		}
	}

	// Compare with the limits.
	owner, _ := added.Owner.In(z.FQDN())
	octets += values * (owner.WireLen() + 10) // each value with owner, type, class, TTL and length
	wasOctets += was * (owner.WireLen() + 10)
	// BIND rejects a transfer with more types at a name. In a cascade, a record leaves if it alone has its type there.
	if types > law.MaxTypesAtName && (types > wasTypes || d.keepsPlace() && !after.SharesType(added)) {
		return law.NewInvalid("spec.values", nil, law.ReasonValidationFailed, "%s would have more than %d types, including those of the "+
			"zone itself (S5.8; use another name, or remove a type first)", owner, law.MaxTypesAtName)
	}
	if refusal := d.refuseFull(after, before); refusal != nil {
		return refusal
	}

	// A child zone may become signed later, and its DS join these.
	most, beside := rdata.MaxValues, ""
	if t == rdata.DS {
		most, beside = most-law.MaxDS, fmt.Sprintf(" with the %d that a signed zone may give it (S6.16)", law.MaxDS)
	}
	var why string
	switch {
	case amount{values, was, most}.isTooMuch():
		why = fmt.Sprintf("%s at %s would have %d values; an RRset has at most %d%s, or BIND refuses the whole zone (S5.8)", t, owner,
			values, rdata.MaxValues, beside)
	case amount{len(after.Values), wasAll, law.MaxValuesAtName}.isTooMuch():
		why = fmt.Sprintf("%s would have more than %d values, each counted once for each ttl that Records give it (S5.8; "+
			"give the Records of an RRset one ttl)", owner, law.MaxValuesAtName)
	case amount{octets, wasOctets, rdata.MaxOctets}.isTooMuch():
		why = fmt.Sprintf("%s at %s would take %d octets; an RRset has at most %d on the wire (S5.8)", t, owner, octets, rdata.MaxOctets)
	default:
		return nil
	}

	return law.NewInvalid("spec.values", nil, law.ReasonLimitExceeded, "%s", why)
}
