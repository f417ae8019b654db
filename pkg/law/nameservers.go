// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/pattern"
)

// nameServersFree refuses spec.nameServers at names that another namespace has,
// or that cannot carry addresses (S6.2).
func (d *zoneDecision) nameServersFree(z, before *Zone, h *Holding) *Refusal {
	for _, host := range z.MadeNames {
		if before != nil && slices.Contains(before.MadeNames, host) {
			continue
		}
		ks := []Key{OwnerKey(z.UID, host)}
		for up, ok := host.Parent(); ok; up, ok = up.Parent() {
			ks = append(ks, OwnerKey(z.UID, up))
		}
		d.askAll(ks)
		o := get[Owner](d.reading, OwnerKey(z.UID, host))
		if o != nil && slices.ContainsFunc(o.Claims, func(c Claim) bool { return c.Namespace != z.Namespace }) {
			return invalid("spec.nameServers", host.String(), ReasonNameHeld, "another namespace claims %s; a zone's own name servers are "+
				"its own namespace's (S4.16; have its records removed, or use another host name)", host)
		}
		if o.hasType(rdata.CNAME) && !host.IsApex() {
			return invalid("spec.nameServers", host.String(), ReasonCNAMEConflict, "there is a CNAME at %s, and a name server needs addresses (S5.6)", host)
		}
		for up, ok := host.Parent(); ok; up, ok = up.Parent() {
			if o := get[Owner](d.reading, OwnerKey(z.UID, up)); o.hasType(rdata.DNAME) {
				return invalid("spec.nameServers", host.String(), ReasonCNAMEConflict, "%s lies below a DNAME (S5.7)", host)
			}
		}
	}
	return d.nameServersFit(z, before, h)
}

// nameServersFit holds the limits of S5.8 for the RRsets that spec.nameServers
// makes together with the records there. An RRset above them may shrink.
func (d *zoneDecision) nameServersFit(z, before *Zone, h *Holding) *Refusal {
	if before == nil || !before.Header.Equal(z.Header) {
		if r := hostsNamed(z); r != nil {
			return r
		}
	}
	for _, s := range z.Made {
		was := 0
		var o *Owner
		if before != nil {
			if i := slices.IndexFunc(before.Made, func(t content.RRset) bool { return s.Compare(t) == 0 }); i >= 0 {
				was = len(before.Made[i].Data)
			}
			if len(s.Data) <= was {
				continue
			}
			o = get[Owner](d.reading, OwnerKey(z.UID, s.Owner))
			if z.typesAt(s.Owner, o.types()) > MaxTypesAtName && z.typesAt(s.Owner, o.types()) > before.typesAt(s.Owner, o.types()) {
				return invalid("spec.nameServers", nil, ReasonLimitExceeded, "%s would have more than %d types with those of records (S5.8)", s.Owner, MaxTypesAtName)
			}
		}
		values := len(s.Data)
		if o != nil {
			n, _ := o.countDistinct(s.Type)
			values += n
		}
		if values > MaxValuesInRRset {
			return invalid("spec.nameServers", nil, ReasonLimitExceeded, "%s at %s would have %d values with those of records; an RRset has at most %d, or BIND refuses the whole zone (S5.8)", s.Type, s.Owner, values, MaxValuesInRRset)
		}
	}
	return nil
}

// warnOfDeadPatterns warns of patterns that no name in the zone can match (S4.6).
func warnOfDeadPatterns(plan *Plan, z *Zone, rules ...Rule) {
	warn := func(p pattern.Pattern) {
		if !p.CanMatch(z.FQDN()) {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("pattern %q can match no name in zone %s (S4.6)", p, z.FQDN()))
		}
	}
	for _, r := range rules {
		for _, rr := range r.Records {
			warn(rr.Pattern)
		}
		for _, p := range r.Zones {
			warn(p)
		}
	}
}
