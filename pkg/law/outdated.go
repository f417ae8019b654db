// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"maps"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Outdated finds the records that an earlier version took into zones and that are refused
// now for what they are (S5.9): data that some server refuses the zone for, and types by
// number that no rule names. It judges as DecideRecord does in a cascade, from the objects
// alone, so that a program without the ledger's keys can.
//
// The zero value is ready. Zones are added before their records.
type Outdated struct {
	zones map[string]*Zone
	names map[Key]*crowdedName
	found []OutdatedRecord
}

// OutdatedRecord is one of them.
type OutdatedRecord struct {
	// Zone that the record is in, with no rules but those that name types by number.
	Zone *Zone
	// Record is the object.
	Record Ref
	// Why a zone would not take it in now.
	Why *Refusal
	// Stays says that it is one of several that cannot stand together, and others of them leave.
	Stays bool
}

// crowdedName is what stands at a name where the number of types, or of values, counts.
type crowdedName struct {
	zone    *Zone
	owner   name.Rel
	records []standingRecord
}

type standingRecord struct {
	record  Ref
	created int64
	t       rdata.Type
	values  []Digest // of types of which a name has one
}

// AddZone takes in a zone; pending ones have no records.
func (o *Outdated) AddZone(z *Zone) {
	if z.Pending {
		return
	}
	if o.zones == nil {
		o.zones, o.names = map[string]*Zone{}, map[Key]*crowdedName{}
	}
	kept := *z
	kept.Rules = nil
	o.zones[z.UID] = &kept
	for _, r := range z.Rules {
		o.AddRule(z.UID, r)
	}
}

// AddRule takes in a rule of the zone with that uid, such as that of a Delegation. Only what it says of types by
// number counts.
func (o *Outdated) AddRule(zone string, r Rule) {
	r.Records = slices.DeleteFunc(slices.Clone(r.Records), func(rr RecordRule) bool { return !slices.ContainsFunc(rr.Types, rdata.Type.ByNumber) })
	if z := o.zones[zone]; z != nil && len(r.Records) > 0 {
		r.Zones = nil
		z.Rules = append(z.Rules, r)
	}
}

// AddRecord takes in a record, created then in unix seconds, and where it stands.
func (o *Outdated) AddRecord(record Ref, created int64, at *Adopted) {
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
	why := c.checkType()
	if why == nil {
		_, why = packValues(z.FQDN(), &c)
	}
	if why == nil {
		why = c.checkHosts(z.FQDN(), fqdn)
	}
	if why == nil {
		why = c.checkSigning()
	}
	if why == nil && c.Type.ByNumber() && len(z.findGrants(fqdn, c.Type, record.Namespace)) == 0 {
		why = z.notDelegated(fqdn, c.Owner, c.Type, record.Namespace)
	}
	if why != nil {
		o.found = append(o.found, OutdatedRecord{Zone: z, Record: record, Why: why})
		return
	}
	single := c.Type.Single() && c.Type != rdata.CNAME && c.Type != rdata.DNAME
	if !single && !c.Owner.IsApex() && len(z.madeAt(c.Owner)) == 0 { // elsewhere the bound is as it was
		return
	}
	k := OwnerKey(z.UID, c.Owner)
	if o.names[k] == nil {
		o.names[k] = &crowdedName{zone: z, owner: c.Owner}
	}
	s := standingRecord{record: record, created: created, t: c.Type}
	if single {
		for _, v := range c.Values {
			s.values = append(s.values, DigestOf(v.Text))
		}
	}
	o.names[k].records = append(o.names[k].records, s)
}

// Records lists the records that were found, zone by zone, in the order in which a cascade decides them anew: first
// those that are refused whatever stands beside them, then the last comer first (S2.7), until the others can stand
// together.
func (o *Outdated) Records() []OutdatedRecord {
	out := slices.Clone(o.found)
	names := slices.SortedFunc(maps.Values(o.names), func(x, y *crowdedName) int { return x.owner.Compare(y.owner) })
	for _, at := range names {
		out = at.addConflicts(out)
	}
	slices.SortStableFunc(out, func(x, y OutdatedRecord) int { return cmp.Compare(x.Zone.UID, y.Zone.UID) })
	return out
}

// addConflicts adds the records at the name that cannot stand together.
func (at *crowdedName) addConflicts(out []OutdatedRecord) []OutdatedRecord {
	records := map[rdata.Type]int{}
	values := map[rdata.Type]map[Digest]int{}
	count := func(s standingRecord, n int) {
		if records[s.t] += n; records[s.t] == 0 {
			delete(records, s.t)
		}
		for _, v := range s.values {
			if values[s.t] == nil {
				values[s.t] = map[Digest]int{}
			}
			if values[s.t][v] += n; values[s.t][v] == 0 {
				delete(values[s.t], v)
			}
		}
	}
	for _, s := range at.records {
		count(s, 1)
	}
	types := func() int { return at.zone.typesAt(at.owner, slices.Collect(maps.Keys(records))) }
	before := types()
	too := map[rdata.Type]int{} // of which a name has one, and this one so many
	for t, of := range values {
		if len(of) > 1 {
			too[t] = len(of)
		}
	}
	if before <= MaxTypesAtName && len(too) == 0 {
		return out
	}
	now := before
	rank := func(s standingRecord) int { // the zone's own came first
		if s.record.Namespace == at.zone.Namespace {
			return 0
		}
		return 1
	}
	slices.SortFunc(at.records, func(x, y standingRecord) int {
		return cmp.Or(cmp.Compare(rank(y), rank(x)), cmp.Compare(y.created, x.created), cmp.Compare(y.record.UID, x.record.UID))
	})
	fqdn, _ := at.owner.In(at.zone.FQDN()) // records stand there, so it is short enough
	for _, s := range at.records {
		r := OutdatedRecord{Zone: at.zone, Record: s.record}
		switch n := too[s.t]; {
		case n > 1:
			r.Why, r.Stays = refuseSeveral(s.t, fqdn, n), len(values[s.t]) < 2
		case before > MaxTypesAtName:
			r.Why, r.Stays = refuseManyTypes(fqdn), now <= MaxTypesAtName || records[s.t] > 1
		default:
			continue
		}
		if !r.Stays {
			if count(s, -1); records[s.t] == 0 {
				now = types()
			}
		}
		out = append(out, r)
	}
	return out
}

// OutdatedReason reports whether a record of type t that no zone takes in for the reason is, or was, outdated.
func OutdatedReason(reason string, t rdata.Type) bool {
	return reason == ReasonValidationFailed || reason == ReasonDelegationWithdrawn && t.ByNumber()
}
