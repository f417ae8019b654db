// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"cmp"
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
)

func DecideZone(seen *law.Facts, ask ZoneInput) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
		return (&zoneDecision{Reading: r, ask: ask}).decideZone()
	})
}

// decideZone plans the write of a Zone, or decides a pending Zone again in a cascade. A client gets a refusal, and in a
// cascade the zone stays pending, with the refusal as reason.
func (d *zoneDecision) decideZone() (*law.Plan, *law.Refusal) {
	ask := &d.ask
	plan := &law.Plan{WaitingBefore: ask.WaitingBefore}
	if ask.After == nil {
		if ask.Before.Pending {
			return plan, nil // a zone without a name has neither records nor zones below
		}
		if refusal := d.checkForeign(plan); refusal != nil {
			return nil, refusal
		}
		return d.removeZone(plan)
	}

	switch before := ask.Before; {
	case before == nil:
	case before.Pending && ask.After.Terminating:
		return d.keepPending(plan, law.ReasonZoneTerminating, "the zone is being deleted"), nil
	// An ended zone keeps its uid, so its former keys have to go before a new name comes.
	case before.Ending:
		return d.keepPending(plan, law.ReasonDelegationWithdrawn, "the zone has ended: its records are being released, and withdrawn "+
			"from its providers (S3.7); after that it is decided like a new zone"), nil
	// A zone keeps its name (S1.6). Only its settings change.
	case !before.Pending:
		return d.decideExisting(plan)
	}

	s, refusal := d.locateZone()
	if refusal != nil {
		return d.refuseOrWait(plan, refusal)
	}
	if s.pending {
		message := law.AbsentMessage(ask.After.ZoneRef, ask.After.Namespace) + "; this zone waits for it, holds no name and is not served"
		if !ask.Cascade {
			plan.WarnOf("S3.2", law.ReasonZoneNotFound, "%s", message)
		}
		return d.keepPending(plan, law.ReasonZoneNotFound, message), nil
	}

	return d.makeZone(plan, s)
}

func (d *zoneDecision) refuseOrWait(plan *law.Plan, refusal *law.Refusal) (*law.Plan, *law.Refusal) {
	if d.ask.Cascade {
		return d.keepPending(plan, refusal.Reason, refusal.Message), nil
	}
	return nil, refusal
}

// decideExisting changes the settings of a zone with a name. A change of the name is refused (S1.6).
func (d *zoneDecision) decideExisting(plan *law.Plan) (*law.Plan, *law.Refusal) {
	ask := &d.ask
	// Finalizers make an update of a deletion, so S8.1 is checked here, too.
	if ask.After.Terminating {
		if refusal := d.checkForeign(plan); refusal != nil {
			return nil, refusal
		}
	}
	if ask.Renames != "" {
		var value any
		if ask.Renames == "spec.domainName" {
			value = ask.After.DomainName
		}
		return nil, law.NewInvalid(ask.Renames, value, law.ReasonInvalid, "the zone is %s, and a zone keeps its name (S1.6; to rename "+
			"it, delete it and create it again under this object's name: Records with relative names follow, but until then its names "+
			"are free for others, and name servers have no data of it)", ask.Before.FQDN())
	}
	return d.amendZone(plan, &zonePlace{fqdn: ask.Before.FQDN(), view: ask.Before.View})
}

// makeZone plans a zone with the name in s: its first serial, its parent, and the cascade for the records and zones
// taken over and for the objects waiting for the zone.
func (d *zoneDecision) makeZone(plan *law.Plan, s *zonePlace) (*law.Plan, *law.Refusal) {
	spec := d.ask.After

	// 1. Check the name, and the zone above.
	if refusal := d.checkPlace(plan, s); refusal != nil {
		return d.refuseOrWait(plan, d.explainEnding(s, refusal))
	}
	touched := law.TouchedKeys(spec.Namespace, spec.Name, s.view, s.fqdn)
	d.RequireAll(append(touched, law.LastSerialKey(s.view, s.fqdn), law.FloorKey))
	last, from := d.findLastSerial(s.view, s.fqdn, spec.MinimumSerial)
	if refusal := s.refuseLocked(spec.Namespace, last); refusal != nil {
		return d.refuseOrWait(plan, refusal)
	}

	// 2. Check the zone's own settings.
	z := d.wantedZone(s)
	if refusal := d.checkNameServerLimits(z, nil, nil); refusal != nil {
		return d.refuseOrWait(plan, refusal)
	}

	d.warnOfUndottedName(plan, s.fqdn)
	d.warnOfServers(plan, z, nil)
	if !name.IsAbsolute(spec.DomainName) { // else the Zone alone has the Warning
		warnOfPatterns(plan, z, z.Rules...)
	}

	// 3. Go on from the last serial of the name (S6.10).
	z.Serial = from
	h := &law.Holding{Ref: spec.Ref, Target: spec.ZoneRef}
	// Zones that derive PTR from this one may be older.
	h.Reverse = law.Get[law.ReverseLinks](d.Reading, law.ReverseLinksKey(spec.Namespace, spec.Name)).InView(s.view)
	change := &law.ZoneChange{Zone: z, Holding: h, Delegated: d.setParent(h, s), TakesOver: s.takenNames > 0 || s.hasZonesBelow}
	var losing string
	var locks name.Name
	scans := []law.Scan{{Kind: law.ScanReferring, Target: &law.Ref{Namespace: spec.Namespace, Name: spec.Name}, View: s.view, Name: s.fqdn}}
	if s.parent != nil {
		// Records at and below the name move here. Until then, the names are locked.
		if losing = s.parent.UID; s.takenNames > 0 {
			locks = s.fqdn
		}
		scans = append(scans, law.Scan{Kind: law.ScanMembers, Zone: losing, Owner: s.owner})
		plan.AddPendingCut(&s.parent.Ref, spec.Ref, s.view, s.fqdn)
		recountParent(plan, s.view, s.parent.FQDN(), s.parentHolding)
	}

	scans = append(scans, law.Scan{Kind: law.ScanWaiting, View: s.view, Name: s.fqdn}, law.Scan{Kind: law.ScanZones, View: s.view,
		Name: s.fqdn})

	derived, refusal := d.linkReverse(plan, nil, z)
	if refusal != nil {
		return d.refuseOrWait(plan, refusal)
	}
	scans = append(scans, derived...)

	// 4. Enqueue the cascade. Without other objects, the zone is settled at once (S7.2).
	if len(derived) > 0 || d.touchesAny(s, last, touched) {
		d.enqueueCascade(plan, change, fmt.Sprintf("zone %s was made", s.fqdn), s, losing, locks, scans)
		if waiting := law.Get[law.Awaited](d.Reading, law.AwaitedKey(spec.Namespace, spec.Name)); waiting != nil && waiting.Any {
			// A waiting Delegation may reserve names. Until its decision, patterns with "*" give none (S4.22).
			h := *change.Holding
			h.Works = slices.Clone(h.Works)
			h.Works[len(h.Works)-1].TakesIn = true
			change.Holding, plan.Work.TakesIn = &h, true
		}
		joinMove(plan, change, last)
		plan.Work.Derives = len(derived) > 0
	}

	if r := d.advanceHeader(change, z, nil); r != nil {
		return nil, r
	}
	if last != nil {
		plan.Writes = append(plan.Writes, law.Write{Key: law.LastSerialKey(s.view, s.fqdn)})
	}

	return d.finishPlan(plan, change)
}

func (d *zoneDecision) touchesAny(s *zonePlace, last *law.LastSerial, touched []law.Key) bool {
	return s.takenNames > 0 || last != nil && len(last.From) > 0 || slices.ContainsFunc(touched, func(k law.Key) bool {
		found := law.Get[law.Awaited](d.Reading, k)
		return found != nil && found.Any
	})
}

func (d *zoneDecision) wantedZone(s *zonePlace) *law.Zone {
	spec := d.ask.After
	z := &law.Zone{Ref: spec.Ref, View: s.view, Header: spec.Header, ZoneSettings: spec.ZoneSettings}
	z.Header.FQDN = s.fqdn
	z.SetNameServers()
	return z
}

func (d *zoneDecision) setParent(h *law.Holding, s *zonePlace) *law.Condition {
	h.Established, h.Withdrawn, h.Enclosed, h.DS = s.parent == nil, "", "", false
	if s.parent == nil {
		h.Parent = nil
		return &law.Condition{Status: "True", Reason: law.ReasonStandalone, Message: "no zone encloses it"}
	}
	h.DS = d.WithRulesFor(s.parent, d.ask.After.Namespace).RuleSet().DelegatesDS(s.fqdn, d.ask.After.Namespace)
	h.Enclosed = s.parent.UID
	h.Parent = &s.parent.Ref
	return &law.Condition{Status: "True", Reason: law.ReasonDelegated, Message: fmt.Sprintf("by zone %s", s.parent.FQDN())}
}

func (d *zoneDecision) enqueueCascade(plan *law.Plan, change *law.ZoneChange, reason string, s *zonePlace, losing string, locks name.Name,
	scans []law.Scan) {
	ask := &d.ask
	ns := change.Zone.Namespace
	by := cmp.Or(d.causedBy, ns)
	plan.Work = &law.Work{ID: ask.WorkID, Reason: reason, View: s.view, Scans: scans, By: by, Since: ask.Now.Unix(),
		Zones: []law.Place{{Ref: change.Zone.Ref, View: s.view, FQDN: s.fqdn}}}
	change.Holding = change.Holding.WithMove(ask.WorkID, ns, by, losing, locks, ask.Now.Unix())
}

// joinMove lets the records of the last zone with the name move to the new zone, if their cascade runs.
func joinMove(plan *law.Plan, change *law.ZoneChange, last *law.LastSerial) {
	if last == nil {
		return
	}
	from := slices.DeleteFunc(slices.Clone(last.From), func(o law.Origin) bool { return o.Zone == change.Zone.UID })
	change.Holding = change.Holding.WithOrigins(plan.Work.ID, from)
	for _, o := range from {
		plan.Work.Scans = append(plan.Work.Scans, o.Scan())
	}
}

func (d *zoneDecision) advanceHeader(change *law.ZoneChange, z *law.Zone, before *content.Header) *law.Refusal {
	if r := records.AdvanceZone(change, z, nil, &records.Diff{}, d.ask.Now, nil, d.ask.By); r != nil {
		return r
	}
	header := z.Header
	change.Step.HeaderBefore, change.Step.HeaderAfter = before, &header
	if before == nil {
		change.Step.From = 0 // a new zone's history begins here, whatever its serial
	}
	return nil
}

func (d *zoneDecision) finishPlan(plan *law.Plan, change *law.ZoneChange) (*law.Plan, *law.Refusal) {
	if !change.BeginsHold {
		change.ReleaseHold(plan, d.ask.Now.Unix())
	}
	c := records.JudgeServable(d.Reading, change.Zone, change.Holding, nil)
	change.Servable = c
	d.warnOfAddresses(plan, change)
	plan.Zone = change
	plan.Writes = append(plan.Writes, law.Write{Key: law.HoldingKey(change.Zone.View, change.Zone.FQDN()), Value: change.Holding})
	return plan, nil
}

// maxScanned limits the names scanned after a change of rules. If more change, the whole zone is scanned.
const maxScanned = 64

// amendZone plans a change of settings: rules, name servers, SOA and serial. Refusals concern name servers alone, or a
// damaged store.
func (d *zoneDecision) amendZone(plan *law.Plan, s *zonePlace) (*law.Plan, *law.Refusal) {
	ask := &d.ask
	before := ask.Before
	holding := d.HoldingOf(before)
	z := d.wantedZone(s)
	z.Serial, z.SettledSerial, z.N, z.State, z.Rows, z.RRsets = before.Serial, before.SettledSerial, before.N, before.State, before.Rows,
		before.RRsets
	z.Deletions = before.Deletions
	h := *holding

	// The annotation publish-deletions ends a hold, or allows removals for ten minutes (S7.9).
	change := &law.ZoneChange{Zone: z, Holding: &h}
	change.PublishDeletions(plan, before, ask.Now.Unix())
	z = change.Zone
	if refusal := d.checkNameServers(z, before, &h); refusal != nil {
		return nil, refusal
	}

	d.warnOfServers(plan, z, before)
	scans, refusal := d.linkReverse(plan, before, z)
	if refusal != nil {
		return nil, refusal
	}
	derives := len(scans) > 0
	// Decide again what the changed rules may concern.
	namespaces, changed := law.ChangedRules(before, z)
	reason := "reverse"
	if changed {
		reason = "delegations"
		if !ask.Cascade {
			warnOfIneffectiveRules(d.Reading, plan, z, "", before.Rules, z.Rules)
		}
		scans = append(d.scanRules(z, namespaces), scans...)
		if names := law.ChangedNames(before, z); namespaces != nil && len(names) <= maxScanned {
			scans = append(scans, z.ScansAt(names)...)
		} else if namespaces != nil {
			// Too many names are reserved otherwise than before: decide all namespaces again.
			for i := range scans {
				scans[i].Namespaces = nil
			}
		}
	}
	if len(scans) > 0 {
		d.enqueueCascade(plan, change, fmt.Sprintf("the %s of zone %s changed", reason, s.fqdn), s, "", name.Name{}, scans)
		plan.Work.Derives = derives
	}

	records.ReleaseNow(d.Reading, plan, z, before.ReleaseNow, z.ReleaseNow, ask.WorkID, ask.Now)

	// An unused minimumSerial ahead of the serial raises the serial (S6.8).
	unused := law.UnusedMinimum(z.MinimumSerial, h.MinimumConsumed)
	raised := unused != 0 && unused.Ahead(z.Serial)

	// At most one step: a change of the header uses the minimumSerial as well.
	switch {
	case !z.Header.Equal(before.Header):
		header := before.Header
		if r := d.advanceHeader(change, z, &header); r != nil {
			return nil, r
		}
		// Without name servers in spec or Records, the last apex NS is gone (S7.6).
		if len(header.NameServers) > 0 && len(z.Header.NameServers)+len(h.ApexNS) == 0 {
			change.CountDeletions(plan, before, before, law.CountedStep{Own: true, RemovesLastNS: true}, ask.Now.Unix())
		}
		plan.AddPendingCut(h.Parent, z.Ref, z.View, z.FQDN())
	case raised:
		if r := records.AdvanceZone(change, z, nil, &records.Diff{}, ask.Now, nil, ask.By); r != nil {
			return nil, r
		}
	case ask.Ahead != nil && h.Held == nil: // a held zone is not delivered
		if next, ok := Repair(z.Serial, *ask.Ahead, h.Repaired, ask.Now); ok {
			d.repairSerial(change, z, next)
		}
	}

	// The parent lists the DS (S6.16).
	if h.DS && !slices.Equal(z.DS, before.DS) {
		plan.AddPendingCut(h.Parent, z.Ref, z.View, z.FQDN())
	}
	return d.finishPlan(plan, change)
}

// scanRules selects the objects that rules of z for namespaces concern, or all if namespaces is nil.
func (d *zoneDecision) scanRules(z *law.Zone, namespaces []string) []law.Scan {
	view, fqdn := z.View, z.FQDN()
	return []law.Scan{
		{Kind: law.ScanMembers, Zone: z.UID, Owner: name.Apex, Namespaces: namespaces},
		{Kind: law.ScanWaiting, View: view, Name: fqdn, Namespaces: namespaces},
		{Kind: law.ScanReferring, Target: &law.Ref{Namespace: z.Namespace, Name: z.Name}, View: view, Name: fqdn, Namespaces: namespaces},
		{Kind: law.ScanZones, View: view, Name: fqdn, Namespaces: namespaces},
	}
}

// endZone plans the end of a child zone that the zone above, parent, no longer delegates. The name becomes free, and
// the Zone object stays, without name and content. If too many zones of the namespace end at once, endZone refuses with
// Later. If countsAsDeletion is true, the parent's loss of the NS counts towards a mass deletion there.
func (d *zoneDecision) endZone(plan *law.Plan, holding *law.Holding, parent *law.Zone, countsAsDeletion bool) (*law.Plan, *law.Refusal) {
	z := d.ask.Before
	plan, refusal := d.vacateName(plan, holding, fmt.Sprintf("zone %s ended", z.FQDN()), law.MaxEnds)
	if plan == nil || refusal != nil {
		return nil, refusal
	}

	// The parent has to remove the child's NS and glue.
	for i := range plan.Derivations {
		if cut := &plan.Derivations[i]; cut.From.UID == z.UID {
			cut.Own = cut.Own || countsAsDeletion
		}
	}

	// A cascade releases the child's Records. The parent's namespace caused and pays for this cascade. Only the
	// child is unsettled meanwhile.
	plan.Work.By = parent.Namespace
	plan.Work.Ended, plan.Work.Had, plan.Work.Ends = &law.Place{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}, &z.Header, true

	plan = d.keepPending(plan, law.ReasonDelegationWithdrawn, fmt.Sprintf("zone %s, which encloses its name, does not delegate it, and "+
		"its grace period is over: it holds no name and is not served (S3.7; its owner can add a delegation with zones)", parent.FQDN()))
	plan.Zone.EndedZone, plan.Zone.Zone.Ending = z, true
	return plan, nil
}
