// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"fmt"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// checkForeign refuses to delete a zone that has records or child zones of other namespaces, but where the annotation
// names it (S8.1). From deletionTimestamp on it takes in nothing more, so the request that sets it is judged, and the
// removal that follows is not.
func (d *zoneDecision) checkForeign() *Refusal {
	z := d.ask.Before
	if d.ask.Annotated || z.Terminating {
		return nil
	}
	keys := []Key{
		{Kind: KindForeignRecords, Zone: z.UID, Namespace: z.Namespace},
		{Kind: KindForeignZones, View: z.View, Name: z.FQDN(), Namespace: z.Namespace, Object: z.UID},
	}
	d.askAll(keys)
	records, zones := get[Foreign](d.reading, keys[0]), get[Foreign](d.reading, keys[1])
	var has []string
	if records != nil && records.Count > 0 {
		names := get[Foreign](d.reading, Key{Kind: KindForeignNames, Zone: z.UID, Name: z.FQDN(), Namespace: z.Namespace})
		has = append(has, records.describeFirst("record", names))
	}
	switch {
	case zones != nil && zones.Count > 0:
		has = append(has, zones.describeFirst("child zone", zones))
	case zones != nil && zones.More:
		has = append(has, fmt.Sprintf("more than %d zones below it, whose namespaces were not all looked at", FirstKeys))
	}
	if len(has) == 0 {
		return nil
	}
	return forbidden(ReasonInUse, "zone %s has %s (S8.1; wait until they have left, or delete it with them in it: "+
		"kubectl annotate zone %s -n %s kubi.zone/delete=%s, and delete it again)", z.FQDN(), strings.Join(has, ", and "), z.Name,
		z.Namespace, z.UID)
}

// describeFirst says what it is, and the first names, as "2 records of 1 other namespace (a.example.)".
func (f *Foreign) describeFirst(kind string, first *Foreign) string {
	plural := func(n int64, word string) string {
		if n == 1 {
			return "1 " + word
		}
		return fmt.Sprintf("%d %ss", n, word)
	}
	out := plural(f.Count, kind) + " of " + plural(int64(len(f.Namespaces)), "other namespace")
	if f.More {
		out = "at least " + out
	}
	if first == nil || len(first.Names) == 0 {
		return out
	}
	var names []string
	for _, n := range first.Names {
		names = append(names, n.String())
	}
	if f.Count > int64(len(names)) {
		names = append(names, "...")
	}
	return out + " (" + strings.Join(names, ", ") + ")"
}

// removeZone frees the name and leaves the records to the cascade (S8.1, S8.2).
func (d *zoneDecision) removeZone(plan *Plan) (*Plan, *Refusal) {
	z := d.ask.Before
	holding := d.holdingOf(z)
	plan.Zone = &ZoneChange{Zone: z, Holding: holding, Gone: true}
	return d.vacateName(plan, holding, fmt.Sprintf("zone %s was removed", z.FQDN()), maxRemovals)
}

// vacateName frees the name of a zone that stands no longer, and owes the release of what it had. most bounds such
// cascades of its namespace that stand against the zone which gains its name.
func (d *zoneDecision) vacateName(plan *Plan, holding *Holding, reason string, most int) (*Plan, *Refusal) {
	ask, z := &d.ask, d.ask.Before
	by := cmp.Or(d.by, z.Namespace)
	last := Remember(z)
	var locks name.Name
	if z.Rows > 0 || holding.hasLocked(z.FQDN()) { // some of it may be between this zone and the one that it came from
		last.Zone, locks = z.UID, z.FQDN()
	}
	plan.Writes = append(plan.Writes,
		Write{Key: HoldingKey(z.View, z.FQDN())},
		Write{Key: LastSerialKey(z.View, z.FQDN()), Value: last})
	plan.Work = &Work{ID: ask.WorkID, Reason: reason, View: z.View, By: by, Since: ask.Now.Unix(), Purge: z.UID,
		Ends: holding.Withdrawn != "", Scans: []Scan{
			{Kind: ScanMembers, Zone: z.UID, Owner: name.Apex},
			{Kind: ScanReferring, Target: &Ref{Namespace: z.Namespace, Name: z.Name}, View: z.View, Name: z.FQDN()},
		}}
	plan.oweCut(holding.Parent, z.Ref, z.View, z.FQDN())
	at, gaining := d.findAbove(z.View, z.FQDN())
	// The zones below (S3.4), and what waits there, which the zone kept out or which refers to a shorter one (S2.5,
	// S2.7).
	plan.Work.Scans = append(plan.Work.Scans, Scan{Kind: ScanZones, View: z.View, Name: z.FQDN()},
		Scan{Kind: ScanWaiting, View: z.View, Name: z.FQDN()})
	recountParent(plan, z.View, at, gaining)
	if gaining != nil && gaining.countGained(by) >= most {
		return nil, &Refusal{Kind: Later, Message: fmt.Sprintf("the records of %d zones that were removed before from namespace %q still "+
			"go to zone %s; remove this one when they are through", most, by, at)}
	}
	if gaining != nil {
		h := gaining.withMove(ask.WorkID, gaining.Namespace, by, z.UID, locks, ask.Now.Unix())
		plan.Writes = append(plan.Writes, Write{Key: HoldingKey(z.View, at), Value: h})
		plan.Work.Zones = []Place{{Ref: gaining.Ref, View: z.View, FQDN: at}}
	}
	return plan, nil
}

// recountParent owes the cut of the zone with the holding h, which loses names to a zone below it or gains them.
// Another zone may now give the address of a name server of h, or h itself again (S6.1).
func recountParent(plan *Plan, view string, fqdn name.Name, h *Holding) {
	if h != nil && h.Parent != nil {
		plan.oweCut(h.Parent, h.Ref, view, fqdn)
	}
}

// findAbove finds the longest zone strictly above a name.
func (d *zoneDecision) findAbove(view string, n name.Name) (name.Name, *Holding) {
	up, ok := n.Parent()
	if !ok {
		return name.Name{}, nil
	}
	return d.findEnclosing(view, up)
}
