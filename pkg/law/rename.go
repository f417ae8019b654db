// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"

	"kubi.zone/kubizone/pkg/dns/name"
)

// rename moves a zone to another name in one step (S6.8).
func (d *zoneDecision) rename(plan *Plan, s *seat) (*Plan, *Refusal) {
	ask, spec, before := &d.ask, d.ask.After, d.ask.Before
	old := before.FQDN()
	holding, ok := get[Holding](&d.reading, HoldingKey(before.View, old))
	below, ok1 := get[ZonesBelow](&d.reading, Key{Kind: KindZonesBelow, View: before.View, Name: old})
	there, ok2 := get[ZonesBelow](&d.reading, Key{Kind: KindZonesBelow, View: s.view, Name: s.fqdn})
	roster, ok3 := get[Roster](&d.reading, Key{Kind: KindRoster, Zone: before.UID})
	last, ok4 := get[LastSerial](&d.reading, Key{Kind: KindLastSerial, View: s.view, Name: s.fqdn})
	_, above, ok5 := d.above(before.View, old)
	if !ok || !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return nil, nil
	}
	if holding == nil || holding.UID != before.UID {
		d.stale()
		return nil, nil
	}
	no := func(format string, args ...any) *Refusal {
		return invalid("spec.domainName", spec.DomainName, ReasonInvalid, format, args...)
	}
	var followers, children int
	if below != nil {
		for _, b := range below.Zones {
			switch {
			case b.Follows == before.UID:
				followers++
			case b.Parent != nil && b.Parent.UID == before.UID:
				children++
			}
		}
	}
	if followers > 0 {
		return nil, no("cannot rename %s: %d zones follow it by zoneRef (kubectl get zones -A -l kubi.zone/parent-zone); delete them or give them another zoneRef first (S6.8)", old, followers)
	}
	if children > 0 {
		return nil, no("cannot rename %s: %d delegated zones with absolute names are below it (S6.8; kubectl get zones -A -l kubi.zone/parent-zone)", old, children)
	}
	if roster != nil && roster.Absolute > 0 {
		return nil, no("cannot rename %s: %d records with absolute names are in it (S6.8; kubectl get records -A --field-selector status.zone=%s/%s)", old, roster.Absolute, before.Namespace, before.Name)
	}
	if roster != nil && roster.Longest+s.fqdn.WireLen() > 255 {
		return nil, no("cannot rename %s to %s: a record's name would pass 255 octets (S6.8)", old, s.fqdn)
	}
	if there != nil {
		for _, b := range there.Zones {
			if b.UID != before.UID {
				return nil, no("cannot rename to %s: another zone stands at or below it (S6.8)", s.fqdn)
			}
		}
	}
	cut, refusal := d.may(plan, s)
	if len(d.needs) > 0 || refusal != nil {
		return nil, refusal
	}
	z := d.zone(s)
	z.Serial, z.SettledSerial, z.N, z.State, z.Rows = before.Serial, before.SettledSerial, before.N, before.State, before.Rows
	if last != nil && last.Serial.Ahead(z.Serial) {
		z.Serial = last.Serial
	}
	if refusal := d.nameServersFree(z, before); refusal != nil || len(d.needs) > 0 {
		return nil, refusal
	}
	h := *holding
	h.Follows = s.follows
	change := &ZoneChange{Zone: z, Holding: &h, Delegated: d.delegated(&h, s, cut)}
	var losing string
	var losingFQDN name.Name
	scans := []Scan{
		{Kind: ScanMembers, Zone: z.UID, Owner: name.Apex},
		{Kind: ScanReferring, Target: &Ref{Namespace: z.Namespace, Name: z.Name}},
	}
	if holding.Parent != nil {
		plan.Debts = append(plan.Debts, Debt{Parent: *holding.Parent, Child: z.Ref, View: z.View, FQDN: z.FQDN()})
	}
	if s.parent != nil {
		losing, losingFQDN = s.parent.UID, s.parent.FQDN()
		scans = append(scans, Scan{Kind: ScanMembers, Zone: losing, Owner: s.owner})
		if holding.Parent == nil || holding.Parent.UID != s.parent.UID {
			plan.Debts = append(plan.Debts, Debt{Parent: s.parent.Ref, Child: z.Ref, View: s.view, FQDN: s.fqdn})
		}
	}
	scans = append(scans,
		Scan{Kind: ScanWaiting, View: s.view, Name: s.fqdn},
		Scan{Kind: ScanZones, View: s.view, Name: s.fqdn})
	scans = append(scans, vacated(before.View, old, above)...)
	d.dead(plan, z)
	d.owe(plan, change, fmt.Sprintf("zone %s was renamed to %s", old, s.fqdn), s, losing, losingFQDN, scans)
	header := before.Header
	if r := d.advanceHeader(change, z, &header); r != nil {
		return nil, r
	}
	change.Step.From = before.Serial // also where the new name's last serial is ahead of it
	if last != nil {
		plan.Writes = append(plan.Writes, Write{Key: Key{Kind: KindLastSerial, View: s.view, Name: s.fqdn}})
	}
	plan.Writes = append(plan.Writes,
		Write{Key: HoldingKey(before.View, old)},
		Write{Key: Key{Kind: KindLastSerial, View: before.View, Name: old}, Value: &LastSerial{Serial: before.Serial, Until: ask.Now.Unix() + int64(before.Header.Expire)}})
	return d.finish(plan, change)
}

// remove frees the name and leaves the records to the cascade (S8.1, S8.2).
func (d *zoneDecision) remove(plan *Plan) (*Plan, *Refusal) {
	ask, z := &d.ask, d.ask.Before
	holding, ok := get[Holding](&d.reading, HoldingKey(z.View, z.FQDN()))
	if !ok {
		return nil, nil
	}
	if holding == nil || holding.UID != z.UID {
		d.stale()
		return nil, nil
	}
	plan.Zone = &ZoneChange{Zone: z, Holding: holding, Gone: true}
	plan.Writes = append(plan.Writes,
		Write{Key: HoldingKey(z.View, z.FQDN())},
		Write{Key: Key{Kind: KindLastSerial, View: z.View, Name: z.FQDN()}, Value: &LastSerial{Serial: z.Serial, Until: ask.Now.Unix() + int64(z.Header.Expire)}})
	plan.Work = &Work{ID: ask.WorkID, Reason: fmt.Sprintf("zone %s was removed", z.FQDN()), View: z.View, By: z.Namespace, Since: ask.Now.Unix(), Purge: z.UID, Scans: []Scan{
		{Kind: ScanMembers, Zone: z.UID, Owner: name.Apex},
		{Kind: ScanReferring, Target: &Ref{Namespace: z.Namespace, Name: z.Name}},
	}}
	if holding.Parent != nil {
		plan.Debts = append(plan.Debts, Debt{Parent: *holding.Parent, Child: z.Ref, View: z.View, FQDN: z.FQDN()})
	}
	at, gaining, known := d.above(z.View, z.FQDN())
	if !known {
		return nil, nil
	}
	plan.Work.Scans = append(plan.Work.Scans, vacated(z.View, z.FQDN(), gaining)...)
	if gaining != nil { // its holders are the gaining zone's until the cascade is through (S2.7)
		h := gaining.WithWork(ask.WorkID, gaining.Namespace, z.Namespace, z.UID, z.FQDN(), ask.Now.Unix())
		plan.Writes = append(plan.Writes, Write{Key: HoldingKey(z.View, at), Value: h})
		plan.Work.Zones = []Place{{Ref: gaining.Ref, View: z.View, FQDN: at}}
	}
	return plan, nil
}

// above finds the longest zone strictly above a name.
func (d *zoneDecision) above(view string, n name.Name) (name.Name, *Holding, bool) {
	up, ok := n.Parent()
	if !ok {
		return name.Name{}, nil, true
	}
	return d.longest(view, up)
}

// vacated are the scans for what a zone kept out under a name it leaves: what
// waits there, pinned to a shorter zone or refused by this one (S2.5, S2.7);
// zones below (S3.3); a DNAME that waits above; and pending zones that want the
// name from the zone that encloses it now.
func vacated(view string, fqdn name.Name, gaining *Holding) []Scan {
	scans := []Scan{{Kind: ScanZones, View: view, Name: fqdn}, {Kind: ScanWaiting, View: view, Name: fqdn}}
	for up, ok := fqdn.Parent(); ok; up, ok = up.Parent() {
		scans = append(scans, Scan{Kind: ScanWaiting, View: view, Name: up, Exact: true})
	}
	if gaining != nil {
		scans = append(scans, Scan{Kind: ScanReferring, Target: &Ref{Namespace: gaining.Namespace, Name: gaining.Name}})
	}
	return scans
}
