// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Outdated finds the records that an earlier version took into zones and that are refused
// now for what they are (S5.9): data that some server refuses the zone for, and types by
// number that no rule names. It judges as DecideRecord does in a cascade,
// from the objects alone, so that a program without the ledger's keys can. Of the values at
// a name that may have one, or too many types there, it finds all: the cascade lets go who
// came last, and the others stay.
//
// The zero value is ready. Zones are added before their records.
type Outdated struct {
	zones map[string]*Zone
	names map[Key]*crowd
	found []OutdatedRecord
}

// OutdatedRecord is one of them.
type OutdatedRecord struct {
	// Zone that the record is in, with no rules but those that name types by number.
	Zone *Zone
	// Record is the object.
	Record Ref
	// Why no zone would take it in by now.
	Why *Refusal
}

// crowd is what stands at a name where the number of types, or of values, counts.
type crowd struct {
	zone    *Zone
	owner   name.Rel
	records []standing
}

type standing struct {
	record Ref
	t      rdata.Type
	values []Digest // of types of which a name has one
}

// AddZone takes in a zone; pending ones have no records.
func (o *Outdated) AddZone(z *Zone) {
	if z.Pending {
		return
	}
	if o.zones == nil {
		o.zones, o.names = map[string]*Zone{}, map[Key]*crowd{}
	}
	kept := *z
	kept.Rules = nil
	for _, r := range z.Rules {
		r.Records = slices.DeleteFunc(slices.Clone(r.Records), func(rr RecordRule) bool { return !slices.ContainsFunc(rr.Types, rdata.Type.ByNumber) })
		if r.Zones = nil; len(r.Records) > 0 {
			kept.Rules = append(kept.Rules, r)
		}
	}
	o.zones[z.UID] = &kept
}

// AddRecord takes in a record and where it stands.
func (o *Outdated) AddRecord(record Ref, at *Adopted) {
	z := o.zones[at.Zone.UID]
	if z == nil {
		return
	}
	c := at.Contribution
	if c.Owner.IsZero() {
		var ok bool
		if c.Owner, ok = at.FQDN.Rel(z.FQDN()); !ok {
			return
		}
	}
	fqdn, err := c.Owner.In(z.FQDN())
	if err != nil {
		return
	}
	why := c.kind()
	if why == nil {
		_, why = packed(z.FQDN(), &c)
	}
	if why == nil {
		why = c.signs()
	}
	if why == nil && c.Type.ByNumber() && len(z.grants(fqdn, c.Type, record.Namespace)) == 0 {
		why = z.notDelegated(fqdn, c.Owner, c.Type, record.Namespace)
	}
	if why != nil {
		o.found = append(o.found, OutdatedRecord{z, record, why})
	}
	single := c.Type.Single() && c.Type != rdata.CNAME && c.Type != rdata.DNAME
	if !single && !c.Owner.IsApex() && len(z.made(c.Owner)) == 0 { // elsewhere the bound is as it was
		return
	}
	k := OwnerKey(z.UID, c.Owner)
	if o.names[k] == nil {
		o.names[k] = &crowd{zone: z, owner: c.Owner}
	}
	s := standing{record: record, t: c.Type}
	if single {
		for _, v := range c.Values {
			s.values = append(s.values, DigestOf(v.Text))
		}
	}
	o.names[k].records = append(o.names[k].records, s)
}

// Records are those that were found, by zone, each once.
func (o *Outdated) Records() []OutdatedRecord {
	out := slices.Clone(o.found)
	for _, at := range o.names {
		fqdn, _ := at.owner.In(at.zone.FQDN()) // records stand there, so it is short enough
		var types []rdata.Type
		values := map[rdata.Type]map[Digest]bool{}
		for _, s := range at.records {
			types = append(types, s.t)
			for _, v := range s.values {
				if values[s.t] == nil {
					values[s.t] = map[Digest]bool{}
				}
				values[s.t][v] = true
			}
		}
		many := at.zone.typesAt(at.owner, types) > MaxTypesAtName
		for _, s := range at.records {
			switch n := len(values[s.t]); {
			case n > 1:
				out = append(out, OutdatedRecord{at.zone, s.record, several(s.t, fqdn, n)})
			case many:
				out = append(out, OutdatedRecord{at.zone, s.record, manyTypes(fqdn)})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y OutdatedRecord) int {
		return cmp.Or(cmp.Compare(x.Zone.UID, y.Zone.UID), cmp.Compare(x.Record.Namespace, y.Record.Namespace), cmp.Compare(x.Record.Name, y.Record.Name))
	})
	return slices.CompactFunc(out, func(x, y OutdatedRecord) bool { return x.Record == y.Record })
}

// OutdatedReason reports whether a record of type t that no zone takes in for the reason is, or was, one of them.
func OutdatedReason(reason string, t rdata.Type) bool {
	return reason == ReasonValidationFailed || reason == ReasonDelegationWithdrawn && t.ByNumber()
}
