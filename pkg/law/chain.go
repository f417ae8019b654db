// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
)

// A rename of a zone also renames the zones that follow it by zoneRef, and those that follow these (S6.8). The first
// commit renames the zone itself, after it has checked that each of the others can be renamed, and marks all of them
// with the names they will have. A marked zone takes in nothing that could not be renamed with it: no absolute name,
// no name that would be too long, no zone below. So the cascade can rename each of them, one by one, parents first.

// MaxFollowers bounds the zones that one rename takes along: the first commit compares and marks each of them in one
// transaction.
const MaxFollowers = 40

// follower is a zone that is renamed along with another.
type follower struct {
	ZoneBelow
	becomes name.Name
}

// renameWork is the mark of the rename that the zone is part of, nil for none.
func (h *Holding) renameWork() *StandingWork {
	if i := slices.IndexFunc(h.Works, func(w StandingWork) bool { return !w.Becomes.IsZero() }); i >= 0 {
		return &h.Works[i]
	}
	return nil
}

// renamedTo returns the name that a zone at fqdn is about to have; false: it keeps its name.
func (h *Holding) renamedTo(fqdn name.Name) (name.Name, bool) {
	w := h.renameWork()
	if w == nil || w.Becomes == fqdn {
		return fqdn, false
	}
	return w.Becomes, true
}

// withRename adds the mark of a rename to what the holding notes of the work id.
func (h *Holding) withRename(id string, becomes name.Name, coming []name.Name) *Holding {
	out := *h
	out.Works = slices.Clone(h.Works)
	for i := range out.Works {
		if w := &out.Works[i]; w.ID == id && w.Becomes.IsZero() {
			w.Becomes, w.Coming = becomes, coming
			break
		}
	}
	return &out
}

// collectFollowers returns the zones that follow z, and those that follow these, parents first,
// with the names they will have when z is renamed to fqdn.
func (d *zoneDecision) collectFollowers(z *Zone, below *ZonesBelow, fqdn name.Name) ([]follower, *Refusal) {
	var out []follower
	follows := map[string]bool{z.UID: true}
	zones := slices.Clone(below.Zones)
	slices.SortStableFunc(zones, func(x, y ZoneBelow) int { return cmp.Compare(x.FQDN.NumLabels(), y.FQDN.NumLabels()) })
	for _, b := range zones {
		if !follows[b.Follows] || b.UID == z.UID {
			continue
		}
		follows[b.UID] = true
		rel, ok := b.FQDN.Rel(z.FQDN())
		if !ok {
			continue
		}
		n, err := rel.In(fqdn)
		if err != nil {
			return nil, d.noRename("zone %s, which follows it, would get a name that passes 255 octets (S6.8)", b.FQDN)
		}
		out = append(out, follower{ZoneBelow: b, becomes: n})
	}
	return out, nil
}

func (d *zoneDecision) noRename(format string, args ...any) *Refusal {
	return invalid("spec.domainName", d.ask.After.DomainName, ReasonInvalid, "cannot rename %s: %s", d.ask.Before.FQDN(), fmt.Sprintf(format, args...))
}

// checkFollowers checks whether z and all that follow it can be renamed to names at and
// below fqdn (S6.8). chain false: facts are needed.
func (d *zoneDecision) checkFollowers(z *Zone, holding *Holding, fqdn name.Name) (chain []follower, known bool, refusal *Refusal) {
	old := z.FQDN()
	below, ok1 := get[ZonesBelow](&d.reading, Key{Kind: KindZonesBelow, View: z.View, Name: old})
	there, ok2 := get[ZonesBelow](&d.reading, Key{Kind: KindZonesBelow, View: z.View, Name: fqdn})
	if !ok1 || !ok2 {
		return nil, false, nil
	}
	if w := holding.renameWork(); w != nil && (len(w.Coming) > 0 || w.Becomes != old) {
		return nil, true, d.noRename("a rename of it and the zones that follow it is under way (S6.8; try again when its condition Settled is True)")
	}
	if chain, refusal = d.collectFollowers(z, below, fqdn); refusal != nil {
		return nil, true, refusal
	}
	if len(chain) > MaxFollowers {
		return nil, true, d.noRename("%d zones follow it by zoneRef, and at most %d can be taken along at once (S6.8; kubectl get zones -A -l kubi.zone/parent-zone; give some of them an absolute domainName, or another zoneRef)", len(chain), MaxFollowers)
	}
	along := map[string]bool{z.UID: true}
	for _, f := range chain {
		along[f.UID] = true
	}
	for _, f := range chain {
		if f.FQDN.Encloses(fqdn) && f.FQDN != fqdn {
			return nil, true, d.noRename("%s lies in zone %s, which follows it (S1.5; choose a name outside of what is renamed)", fqdn, f.FQDN)
		}
		if w := f.renameWork(); w != nil {
			return nil, true, d.noRename("zone %s, which follows it, is just being renamed (S6.8; try again when its condition Settled is True)", f.FQDN)
		}
	}
	children := 0
	for _, b := range below.Zones {
		if b.Parent != nil && along[b.Parent.UID] && !along[b.UID] {
			children++
		}
	}
	if children > 0 {
		return nil, true, d.noRename("%d delegated zones with absolute names are below it (S6.8; kubectl get zones -A -l kubi.zone/parent-zone)", children)
	}
	for _, b := range there.Zones {
		// A zone below both names is renamed with this one, and each leaves its name before another takes it.
		if b.UID != z.UID && !(along[b.UID] && fqdn.Encloses(old)) {
			return nil, true, invalid("spec.domainName", d.ask.After.DomainName, ReasonInvalid, "cannot rename to %s: another zone stands at or below it (S6.8)", fqdn)
		}
	}
	var zones []Key
	for _, f := range chain {
		zones = append(zones, ZoneKey(f.Namespace, f.Ref.Name))
	}
	if !d.askAll(zones) { // before their rosters, which their revisions then cover
		return nil, false, nil
	}
	rosters := []Key{{Kind: KindRoster, Zone: z.UID}}
	for _, f := range chain {
		rosters = append(rosters, Key{Kind: KindRoster, Zone: f.UID})
	}
	if !d.askAll(rosters) {
		return nil, false, nil
	}
	if r := d.checkRecordsFit(z, holding, fqdn, fmt.Sprintf("are in it (S6.8; kubectl get records -A --field-selector status.zone=%s/%s)", z.Namespace, z.Name)); r != nil {
		return nil, true, r
	}
	for i, f := range chain {
		x, _ := get[Zone](&d.reading, zones[i])
		if x == nil || x.UID != f.UID {
			d.readAnew()
			return nil, false, nil
		}
		if r := d.checkRecordsFit(x, &f.Holding, f.becomes, fmt.Sprintf("are in zone %s, which follows it (S6.8; kubectl get records -A shows the names at and below it)", f.FQDN)); r != nil {
			return nil, true, r
		}
		after := *x
		after.Header.FQDN = f.becomes
		after.Complete()
		if r := d.nameServersFree(&after, x, &f.Holding); r != nil {
			return nil, true, d.noRename("zone %s, which follows it, would not be allowed its name servers: %s", f.FQDN, r.Message)
		}
	}
	return chain, true, nil
}

// checkRecordsFit refuses a rename to fqdn that a name of a record of z would not survive.
func (d *zoneDecision) checkRecordsFit(z *Zone, holding *Holding, fqdn name.Name, where string) *Refusal {
	absolute, longest := 0, 0
	if roster, _ := get[Roster](&d.reading, Key{Kind: KindRoster, Zone: z.UID}); roster != nil {
		absolute, longest = roster.Absolute, roster.Longest
	}
	for _, r := range holding.Reserved {
		if r.Absolute {
			absolute++
		}
		if n, err := r.Owner.In(z.FQDN()); err == nil {
			longest = max(longest, n.WireLen()-z.FQDN().WireLen())
		}
	}
	if absolute > 0 {
		return d.noRename("%d records with absolute names %s", absolute, where)
	}
	if longest+fqdn.WireLen() > 255 {
		return invalid("spec.domainName", d.ask.After.DomainName, ReasonInvalid, "cannot rename %s to %s: a record's name would pass 255 octets (S6.8)", z.FQDN(), fqdn)
	}
	return nil
}

// markFollowers marks all that follow with the names they will have, and names them in the
// work, parents first.
func (d *zoneDecision) markFollowers(plan *Plan, change *ZoneChange, chain []follower) {
	work := plan.Work
	coming := func(above name.Name) (names []name.Name) {
		for _, f := range chain {
			if above.Encloses(f.becomes) && above != f.becomes {
				names = append(names, f.becomes)
			}
		}
		return names
	}
	change.Holding = change.Holding.withRename(work.ID, change.Zone.FQDN(), coming(change.Zone.FQDN()))
	work.Renames = len(chain) > 0
	for _, f := range chain {
		h := f.WithWork(work.ID, f.Namespace, work.By, "", name.Name{}, work.Since).withRename(work.ID, f.becomes, coming(f.becomes))
		plan.Writes = append(plan.Writes, Write{Key: HoldingKey(change.Zone.View, f.FQDN), Value: h})
		work.Zones = append(work.Zones, Place{Ref: f.Ref, View: change.Zone.View, FQDN: f.FQDN})
	}
}

// FollowAsk is a cascade's request to rename one of the zones that follow the one
// that was renamed.
type FollowAsk struct {
	Zone *Zone
	// Work is the outbox item of the rename.
	Work   *Work
	Now    time.Time
	By     string
	WorkID string
}

// DecideFollow renames a zone to the name in its mark. No client made this request, so it is never refused: a zone
// that the rules of the new parent do not delegate stands there undelegated (S3.3). Plan.Zone is nil where there is
// nothing to rename.
func DecideFollow(seen *Seen, ask FollowAsk) Outcome {
	d := &zoneDecision{reading: beginReading(seen), by: ask.Work.By, ask: ZoneAsk{Before: ask.Zone, Cascade: true, Now: ask.Now, By: ask.By, WorkID: ask.WorkID}}
	plan, refusal := d.followZone(ask)
	return d.outcome(plan, refusal)
}

func (d *zoneDecision) followZone(ask FollowAsk) (*Plan, *Refusal) {
	before, plan := ask.Zone, &Plan{}
	old := before.FQDN()
	holding, ok := d.holdingOf(before)
	if !ok {
		return nil, nil
	}
	i := slices.IndexFunc(holding.Works, func(w StandingWork) bool { return w.ID == ask.Work.ID && !w.Becomes.IsZero() })
	if i < 0 || holding.Works[i].Becomes == old {
		return plan, nil
	}
	fqdn := holding.Works[i].Becomes
	held, ok1 := get[Holding](&d.reading, HoldingKey(before.View, fqdn))
	last, from, ok2 := d.findLastSerial(before.View, fqdn, nil)
	at, above, ok3 := d.findAbove(before.View, old)
	if !ok1 || !ok2 || !ok3 {
		return nil, nil
	}
	if held != nil {
		return plan, nil // the zone that it follows has gone, and another zone took the name: it keeps its own
	}
	s := &zonePlace{view: before.View, fqdn: fqdn}
	x, known := d.parentOf(before.View, fqdn, before.Namespace, holding, &ask.Work.Zones[0], ask.Now)
	if !known {
		return nil, nil
	}
	h := *holding
	x.noteIn(&h)
	z := *before
	z.Header.FQDN, z.DS = fqdn, nil // DS are of the former name
	z.Complete()
	if from != 0 && from.Ahead(z.Serial) {
		z.Serial = from
	}
	change := &ZoneChange{Zone: &z, Holding: &h, Delegated: x.cond, EndsAt: x.withdrawn.endsAt(ask.Now)}
	scans := []Scan{
		{Kind: ScanMembers, Zone: z.UID, Owner: name.Apex},
		{Kind: ScanReferring, Target: &Ref{Namespace: z.Namespace, Name: z.Name}},
	}
	if x.parent != nil {
		s.parent = x.parent
		if _, s.parentHolding, known = d.findAbove(before.View, fqdn); !known {
			return nil, nil
		}
		s.owner, _ = fqdn.Rel(x.parent.FQDN())
	}
	recountParent(plan, before.View, at, above)
	d.oweNewName(plan, change, s, holding, before, scans, above, last, fmt.Sprintf("zone %s followed to %s", old, fqdn))
	header := before.Header
	if r := d.advanceHeader(change, &z, &header); r != nil {
		return nil, r
	}
	change.Step.From = before.Serial
	return d.finishPlan(plan, change)
}
