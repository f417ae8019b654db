// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"cmp"
	"fmt"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
)

// checkForeign refuses the deletion of a zone in which other namespaces have records or child zones, unless the zone is
// annotated (S8.1). With the annotation, the user gets a Warning.
func (d *zoneDecision) checkForeign(plan *law.Plan) *law.Refusal {
	z := d.ask.Before
	if z.Terminating {
		return nil // checked when the deletion began
	}
	keys := []law.Key{law.ForeignRecordsKey(z), law.ForeignZonesKey(z)}
	d.RequireAll(keys)
	records, zones := law.Get[law.Foreign](d.Reading, keys[0]), law.Get[law.Foreign](d.Reading, keys[1])
	var has []string
	if records != nil && records.Count > 0 {
		names := law.Get[law.Foreign](d.Reading, law.ForeignNamesKey(z))
		has = append(has, records.DescribeFirst("record", names))
	}

	switch {
	case zones != nil && zones.Count > 0:
		has = append(has, zones.DescribeFirst("child zone", zones))
	case zones != nil && zones.More:
		has = append(has, fmt.Sprintf("more than %d zones below it, not all of them checked", law.FirstKeys))
	}

	if len(has) == 0 {
		return nil
	}
	if d.ask.Annotated {
		plan.WarnOf("S2.16", law.WarningTakesAway, "zone %s is deleted with %s", z.FQDN(), strings.Join(has, ", and "))
		return nil
	}

	return law.NewForbidden(law.ReasonInUse, "zone %s has %s (S8.1; wait until they are gone, or delete it with them: kubectl annotate "+
		"zone %s -n %s kubi.zone/delete=%s, and delete it again)", z.FQDN(), strings.Join(has, ", and "), z.Name,
		z.Namespace, z.UID)
}

func (d *zoneDecision) removeZone(plan *law.Plan) (*law.Plan, *law.Refusal) {
	z := d.ask.Before
	holding := d.HoldingOf(z)
	plan.Zone = &law.ZoneChange{Zone: z, Holding: holding, Removed: true}
	plan, refusal := d.vacateName(plan, holding, fmt.Sprintf("zone %s was removed", z.FQDN()), law.MaxRemovals)
	if refusal == nil {
		plan.Work.Removed = &law.Place{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}
	}
	return plan, refusal
}

// vacateName plans that the zone loses its name, by removal or end. The zone above gains the records, and a cascade
// moves them. The refusal is Later if the namespace has this many zones (most) whose records move there already.
func (d *zoneDecision) vacateName(plan *law.Plan, holding *law.Holding, reason string, most int) (*law.Plan, *law.Refusal) {
	ask, z := &d.ask, d.ask.Before
	by := cmp.Or(d.causedBy, z.Namespace)
	last := LastSerialOf(z)
	// Records on their way from an earlier zone have to move on, too.
	from := append([]law.Origin{{Zone: z.UID, Name: z.FQDN()}}, holding.Origins()...)
	var locks name.Name
	if z.Rows > 0 || holding.HasLock(z.FQDN()) { // records may still be coming from another zone
		last.From, locks = from, z.FQDN()
	}

	// A new zone of the name goes on from the last serial (S6.10).
	plan.Writes = append(plan.Writes,
		law.Write{Key: law.HoldingKey(z.View, z.FQDN())},
		law.Write{Key: law.LastSerialKey(z.View, z.FQDN()), Value: last})
	plan.Work = &law.Work{ID: ask.WorkID, Reason: reason, View: z.View, By: by, Since: ask.Now.Unix(), Purge: z.UID,
		Ends: holding.Withdrawn != "", Scans: []law.Scan{
			{Kind: law.ScanReferring, Target: &law.Ref{Namespace: z.Namespace, Name: z.Name}, View: z.View, Name: z.FQDN()},
		}}

	for _, o := range from {
		plan.Work.Scans = append(plan.Work.Scans, o.Scan())
	}
	plan.AddPendingCut(holding.Parent, z.Ref, z.View, z.FQDN())
	at, gaining := d.findAbove(z.View, z.FQDN())

	// Decide the zones below again, and objects kept out by this zone, or whose zoneRef names a shorter zone.
	plan.Work.Scans = append(plan.Work.Scans, law.Scan{Kind: law.ScanZones, View: z.View, Name: z.FQDN()},
		law.Scan{Kind: law.ScanWaiting, View: z.View, Name: z.FQDN()})
	recountParent(plan, z.View, at, gaining)
	if gaining != nil && gaining.CountIncomingZones(by) >= most {
		return nil, law.NewLater("", "the records of %d zones, deleted before in namespace %q, are still moving to zone %s; delete this "+
			"zone after the move", most, by, at)
	}

	// Until the move ends, the names stay locked in the zone above (S2.10).
	if gaining != nil {
		h := gaining.WithMove(ask.WorkID, gaining.Namespace, by, z.UID, locks, ask.Now.Unix())
		h = h.WithOrigins(ask.WorkID, from[1:])
		plan.Writes = append(plan.Writes, law.Write{Key: law.HoldingKey(z.View, at), Value: h})
		plan.Work.Zones = []law.Place{{Ref: gaining.Ref, View: z.View, FQDN: at}}
	}

	dropReverse(plan, z, holding, by)
	_, refusal := d.linkReverse(plan, z, nil)
	return plan, refusal
}

// recountParent has the parent count the cut of h's zone again, because the servers' addresses may now be in another
// zone.
func recountParent(plan *law.Plan, view string, fqdn name.Name, h *law.Holding) {
	if h != nil && h.Parent != nil {
		plan.AddPendingCut(h.Parent, h.Ref, view, fqdn)
	}
}

func (d *zoneDecision) findAbove(view string, n name.Name) (name.Name, *law.Holding) {
	up, ok := n.Parent()
	if !ok {
		return name.Name{}, nil
	}
	return d.FindEnclosing(view, up)
}
