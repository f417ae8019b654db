// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
)

// ZoneSpec is what a Zone object asks for.
type ZoneSpec struct {
	Ref
	DomainName string
	View       string
	ZoneRef    *Ref
	// Header has no FQDN: the law computes it.
	Header content.Header
	ZoneSettings
}

// Waiting says where a pending zone is found again: with the target of its zoneRef, else at the name that it wants.
func (s *ZoneSpec) Waiting() *Waiting {
	w := &Waiting{View: s.View, Zone: s.ZoneRef}
	if s.ZoneRef == nil {
		w.FQDN, _ = name.Parse(s.DomainName)
	}
	return w
}

// ZoneAsk is the request to decide one zone write.
type ZoneAsk struct {
	// Before is the zone as it stands; nil: it is made. A pending zone has Pending set.
	Before *Zone
	// Waits is where a pending zone waits now.
	Waits *Waiting
	// After is what the zone is to be; nil: it goes.
	After *ZoneSpec
	// Renames is the path of a field that the request changes and that the zone's name comes from: "spec.domainName",
	// "spec.view" or "spec.zoneRef"; "": none.
	Renames string
	// MayEstablish is the answer to the establish review (S3.3).
	MayEstablish bool
	// Annotated says that the annotation kubi.zone/delete has the uid of the zone (S8.1).
	Annotated bool
	// Behind says that a secondary is ahead of the zone (S6.11); nil: none is known to be.
	Behind *Behind
	// Cascade says that no client made this request, so a refusal becomes the reason why the zone stays pending.
	Cascade bool
	Now     time.Time
	By      string
	WorkID  string
}

// DecideZone decides a write of one zone (S3, S6, S8). A zone that stands keeps its name, whatever became of the zone
// that it refers to (S1.6, S3.3).
func DecideZone(seen *Seen, ask ZoneAsk) Outcome {
	return decide(seen, func(r *reading) (*Plan, *Refusal) {
		return (&zoneDecision{reading: r, ask: ask}).decideZone()
	})
}

type zoneDecision struct {
	*reading
	ask ZoneAsk
	// by is the namespace that caused the decision, "" for the zone's own.
	by string
}

// zonePlace is where a zone belongs by its name.
type zonePlace struct {
	fqdn    name.Name
	view    string
	pending bool
	// parent encloses the zone; nil: it is standalone.
	parent        *Zone
	parentHolding *Holding
	owner         name.Rel // relative to parent
	// taken is the number of names at or below the zone's name with records of the parent.
	taken int
}

func (d *zoneDecision) decideZone() (*Plan, *Refusal) {
	ask := &d.ask
	plan := &Plan{OrphanBefore: ask.Waits}
	if ask.After == nil {
		if ask.Before.Pending {
			return plan, nil
		}
		if refusal := d.checkForeign(); refusal != nil {
			return nil, refusal
		}
		return d.removeZone(plan)
	}
	if ask.Before != nil && ask.Before.Pending && ask.After.Terminating {
		return d.stayPending(plan, ReasonZoneTerminating, "the zone is being deleted"), nil // S8.2: it takes no name any more
	}
	if ask.Before != nil && ask.Before.Ending {
		return d.stayPending(plan, ReasonDelegationWithdrawn, "it has ended, and its records are being released and withdrawn from where "+
			"it was delivered (S3.7); it is decided like a new zone after that"), nil
	}
	if ask.Before != nil && !ask.Before.Pending {
		if ask.After.Terminating {
			if refusal := d.checkForeign(); refusal != nil {
				return nil, refusal
			}
		}
		if ask.Renames != "" {
			var value any
			if ask.Renames == "spec.domainName" {
				value = ask.After.DomainName
			}
			return nil, invalid(ask.Renames, value, ReasonInvalid, "the zone is %s, and a zone keeps its name (S1.6; to rename it, "+
				"delete it and make it anew under this object's name: Records with relative names follow, "+
				"but until then its names are free for others, and name servers have nothing of it)", ask.Before.FQDN())
		}
		return d.amendZone(plan, &zonePlace{fqdn: ask.Before.FQDN(), view: ask.Before.View})
	}
	s, refusal := d.locateZone()
	if refusal != nil {
		if ask.Cascade {
			return d.stayPending(plan, refusal.Reason, refusal.Message), nil
		}
		return nil, refusal
	}
	if s.pending {
		message := absentMessage(ask.After.ZoneRef, ask.After.Namespace) + "; this zone waits for it, holds no name and is not served"
		if !ask.Cascade {
			plan.Warnings = append(plan.Warnings, message)
		}
		return d.stayPending(plan, ReasonZoneNotFound, message), nil
	}
	return d.makeZone(plan, s)
}

func (d *zoneDecision) stayPending(plan *Plan, reason, message string) *Plan {
	spec := d.ask.After
	plan.Orphan = spec.Waiting()
	z := &Zone{Ref: spec.Ref, View: spec.View, Pending: true, ZoneRef: spec.ZoneRef, Wanted: plan.Orphan.FQDN, Header: spec.Header,
		ZoneSettings: spec.ZoneSettings}
	z.DS = nil // a zone without a name has no keys
	z.Ending = d.ask.Before != nil && d.ask.Before.Ending
	plan.Zone = &ZoneChange{Zone: z, Delegated: &Condition{Status: "False", Reason: reason, Message: message}}
	return plan
}

// locateZone finds the name of the zone and the zone that encloses it (S1.1, S3.1). Whether it may stand there is
// another question (checkPlace).
func (d *zoneDecision) locateZone() (*zonePlace, *Refusal) {
	s := &zonePlace{view: d.ask.After.View}
	target, refusal := d.resolveName(s)
	if refusal != nil || s.pending {
		return s, refusal
	}
	up, ok := s.fqdn.Parent()
	if !ok {
		return s, nil // the root
	}
	at, holding := d.findEnclosing(s.view, up)
	if holding == nil {
		return s, nil
	}
	p := d.zoneOf(holding)
	if target != nil && p.UID != target.UID {
		return nil, forbidden(ReasonNotDelegated, "%s lies in the longer zone %s, and zoneRef names %s (refer to the longer zone)", s.fqdn,
			at, target.FQDN())
	}
	s.parent, s.parentHolding = p, holding
	s.owner, _ = s.fqdn.Rel(p.FQDN())
	return s, nil
}

// resolveName finds the name and the view of the zone. target is the zone of its zoneRef; without one that its
// namespace knows it is pending.
func (d *zoneDecision) resolveName(s *zonePlace) (*Zone, *Refusal) {
	spec := d.ask.After
	if spec.ZoneRef == nil {
		n, err := name.Parse(spec.DomainName)
		if err != nil {
			return nil, invalid("spec.domainName", spec.DomainName, ReasonInvalid, "%v", err)
		}
		s.fqdn = n
		return nil, nil
	}
	z := get[Zone](d.reading, ZoneKey(spec.ZoneRef.Namespace, spec.ZoneRef.Name))
	if z == nil || z.Pending || !d.zoneKnownTo(z, spec.Namespace) {
		s.pending = true
		return nil, nil
	}
	if spec.View != "" && spec.View != z.View {
		return nil, invalid("spec.view", spec.View, ReasonInvalid, "%s", viewOf(z))
	}
	s.view = z.View
	n, err := name.ParseIn(spec.DomainName, z.FQDN())
	if err != nil {
		return nil, invalid("spec.domainName", spec.DomainName, ReasonNameTooLong, "%v", err)
	}
	if !z.FQDN().Encloses(n) || n == z.FQDN() {
		return nil, invalid("spec.domainName", spec.DomainName, ReasonInvalid, "is not below %s, the zone that zoneRef names (S1.1)",
			z.FQDN())
	}
	s.fqdn = n
	return z, nil
}

// createRole is the command that makes a Role for establishing one zone (S3.3).
func createRole(namespace, resourceName string) string {
	role := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' {
			return c
		}
		return '-'
	}, resourceName)
	if resourceName == "." {
		role = "root"
	}
	return fmt.Sprintf("kubectl create role establish-%s -n %s --verb=create --resource=zones.kubi.zone/establish --resource-name=%s", role,
		namespace, resourceName)
}

// checkPlace decides whether a zone may be made at its place (S1.5, S3.1, S3.3, S4.15).
func (d *zoneDecision) checkPlace(plan *Plan, s *zonePlace) *Refusal {
	held := get[Holding](d.reading, HoldingKey(s.view, s.fqdn))
	if held != nil && held.UID != d.ask.After.UID {
		return &Refusal{Kind: Duplicate, Field: "spec.domainName", Value: s.fqdn.String(), Reason: ReasonNameHeld,
			Message: fmt.Sprintf("a zone%s with this name exists already (S1.5)", inView(s.view))}
	}
	if s.parent == nil {
		return d.checkEstablish(s)
	}
	p, refusal := d.checkRules(s)
	if refusal != nil {
		return refusal
	}
	ks := []Key{OwnerKey(p.UID, s.owner), OwnersBelowKey(p.UID, s.owner), ZonesBelowKey(s.view, s.fqdn)}
	for up, ok := s.owner.Parent(); ok; up, ok = up.Parent() {
		ks = append(ks, OwnerKey(p.UID, up))
	}
	d.askAll(ks)
	if refusal = d.checkForeignNames(s, p); refusal != nil {
		return refusal
	}
	o := get[Owner](d.reading, OwnerKey(p.UID, s.owner))
	if refusal = d.checkOwner(s, p, o); refusal != nil {
		return refusal
	}
	if refusal = d.checkAbove(s, p); refusal != nil {
		return refusal
	}
	if below := get[OwnersBelow](d.reading, OwnersBelowKey(p.UID, s.owner)); below != nil {
		s.taken = below.Names
	}
	if o != nil && len(o.Values) > 0 {
		s.taken++
	}
	if s.taken > 0 && !d.ask.Cascade {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("the zone takes over the records of %d names at or below %s as far as its "+
			"delegations allow them; the others are released (S3.10)", s.taken, s.fqdn))
	}
	return nil
}

// checkEstablish refuses a standalone zone without the right to establish it (S3.3).
func (d *zoneDecision) checkEstablish(s *zonePlace) *Refusal {
	if d.ask.MayEstablish {
		return nil
	}
	resource, namespace := s.fqdn.String(), d.ask.After.Namespace
	if resource != "." {
		resource = resource[:len(resource)-1]
	}
	if s.view != "" {
		resource = s.view + ":" + resource
	}
	return forbidden(ReasonNotDelegated, "no zone%s encloses %s, and a standalone zone needs the right to create "+
		"zones.kubi.zone/establish with resourceName %q in namespace %q (S3.3; ask an administrator for a delegating zone above it, "+
		"or for that right: %s, and a RoleBinding of it)",
		inView(s.view), s.fqdn, resource, namespace, createRole(namespace, resource))
}

// checkRules refuses a zone that the zone above does not delegate, or not now, and returns that one with its rules for
// the namespace (S3.1).
func (d *zoneDecision) checkRules(s *zonePlace) (*Zone, *Refusal) {
	p, ns := s.parent, d.ask.After.Namespace
	if p.Terminating {
		return nil, forbidden(ReasonZoneTerminating, "zone %s is being deleted and delegates nothing new", p.FQDN())
	}
	p = d.ruledFor(p, ns)
	if !p.RuleSet().DelegatesZone(s.fqdn, ns) {
		return nil, forbidden(ReasonNotDelegated, "zone %s does not delegate the zone %s to namespace %q (its owner can add a delegation "+
			"with zones: [%q])", p.FQDN(), s.fqdn, ns, s.owner)
	}
	return p, nil
}

// checkForeignNames refuses a zone that would take over names of another namespace in the zone p above it, or that is
// below a name which another one claims (S4.19). What its delegation answers for is decided as for a record (S4.11).
func (d *zoneDecision) checkForeignNames(s *zonePlace, p *Zone) *Refusal {
	ns := d.ask.After.Namespace
	if ns == p.Namespace {
		return nil
	}
	c := &claimant{reading: d.reading, zone: p, holding: s.parentHolding, namespace: ns, admission: AdmittedPlain,
		ownerAt: func(n name.Rel) *Owner {
			o := get[Owner](d.reading, OwnerKey(p.UID, n))
			return o
		}}
	others := c.cutsOff(s.owner)
	if others {
		return forbidden(ReasonNameHeld, "another namespace has names at or below %s in zone %s, which the new zone would take over (S4.15; "+
			"choose a name of your own)", s.fqdn, p.FQDN())
	}
	if up, ok := c.findAbove(s.owner); ok && !p.RuleSet().namesZone(s.fqdn, ns) {
		return forbidden(ReasonNameHeld, "%s lies below %s, which another namespace claims with all below it in zone %s (S4.19; choose a "+
			"name of your own, or ask the zone's owner for a delegation with zones: [%q])", s.fqdn, c.nameOf(up), p.FQDN(), s.owner)
	}
	up, _ := s.owner.Parent()
	return c.refuseGlue(up)
}

// checkOwner refuses a zone at a name where the zone p above it has a CNAME or NS records (S3.9).
func (d *zoneDecision) checkOwner(s *zonePlace, p *Zone, o *Owner) *Refusal {
	for _, t := range []rdata.Type{rdata.CNAME, rdata.NS} {
		if o.hasType(t) {
			return invalid("spec.domainName", d.ask.After.DomainName, ReasonCNAMEConflict, "zone %s has %s at %s (S3.9; remove it first)",
				p.FQDN(), t, s.fqdn)
		}
	}
	return nil
}

// checkAbove refuses a zone below a DNAME of the zone p above it (S5.6): no server loads its NS there.
func (d *zoneDecision) checkAbove(s *zonePlace, p *Zone) *Refusal {
	for up, ok := s.owner.Parent(); ok; up, ok = up.Parent() {
		o := get[Owner](d.reading, OwnerKey(p.UID, up))
		if o.hasType(rdata.DNAME) {
			at, _ := up.In(p.FQDN())
			return invalid("spec.domainName", d.ask.After.DomainName, ReasonCNAMEConflict, "%s lies below the DNAME at %s, "+
				"which replaces every name below it (S5.7)", s.fqdn, at)
		}
	}
	return nil
}

// makeZone makes a new zone, or lets a pending one stand.
func (d *zoneDecision) makeZone(plan *Plan, s *zonePlace) (*Plan, *Refusal) {
	ask, spec := &d.ask, d.ask.After
	refusal := d.checkPlace(plan, s)
	last, from := d.findLastSerial(s.view, s.fqdn, spec.MinimumSerial)
	if refusal == nil {
		refusal = s.refuseLocked(spec.Namespace, last)
	}
	if refusal != nil {
		if !ask.Cascade {
			return nil, refusal
		}
		return d.stayPending(plan, refusal.Reason, refusal.Message), nil
	}
	z := d.wantedZone(s)
	if refusal := d.nameServersFit(z, nil, nil); refusal != nil {
		if ask.Cascade {
			return d.stayPending(plan, refusal.Reason, refusal.Message), nil
		}
		return nil, refusal
	}
	d.undottedZone(plan, s.fqdn)
	d.undottedServers(plan, z, nil)
	warnOfDeadPatterns(plan, z, z.Rules...)
	z.Serial = from
	h := &Holding{Ref: spec.Ref, Target: spec.ZoneRef}
	change := &ZoneChange{Zone: z, Holding: h, Delegated: d.setParent(h, s)}
	var losing string
	var locks name.Name
	scans := []Scan{{Kind: ScanReferring, Target: &Ref{Namespace: spec.Namespace, Name: spec.Name}, View: s.view, Name: s.fqdn}}
	if s.parent != nil {
		if losing = s.parent.UID; s.taken > 0 {
			locks = s.fqdn
		}
		scans = append(scans, Scan{Kind: ScanMembers, Zone: losing, Owner: s.owner})
		plan.oweCut(&s.parent.Ref, spec.Ref, s.view, s.fqdn)
		recountParent(plan, s.view, s.parent.FQDN(), s.parentHolding)
	}
	scans = append(scans, Scan{Kind: ScanWaiting, View: s.view, Name: s.fqdn}, Scan{Kind: ScanZones, View: s.view, Name: s.fqdn})
	d.oweWork(plan, change, fmt.Sprintf("zone %s was made", s.fqdn), s, losing, locks, scans)
	d.joinMove(plan, change, s, last)
	if r := d.advanceHeader(change, z, nil); r != nil {
		return nil, r
	}
	if last != nil {
		plan.Writes = append(plan.Writes, Write{Key: LastSerialKey(s.view, s.fqdn)})
	}
	return d.finishPlan(plan, change)
}

// wantedZone is the zone as its spec wants it, without serial and content.
func (d *zoneDecision) wantedZone(s *zonePlace) *Zone {
	spec := d.ask.After
	z := &Zone{Ref: spec.Ref, View: s.view, Header: spec.Header, ZoneSettings: spec.ZoneSettings}
	z.Header.FQDN = s.fqdn
	z.Complete()
	return z
}

// setParent writes the parent into the holding and returns the Delegated condition (S6.13).
func (d *zoneDecision) setParent(h *Holding, s *zonePlace) *Condition {
	h.Established, h.Withdrawn, h.Enclosed, h.DS = s.parent == nil, "", "", false
	if s.parent == nil {
		h.Parent = nil
		return &Condition{Status: "True", Reason: ReasonStandalone, Message: "no zone encloses it"}
	}
	h.DS = d.ruledFor(s.parent, d.ask.After.Namespace).RuleSet().delegatesDS(s.fqdn, d.ask.After.Namespace)
	h.Enclosed = s.parent.UID
	h.Parent = &s.parent.Ref
	return &Condition{Status: "True", Reason: ReasonDelegated, Message: fmt.Sprintf("by zone %s", s.parent.FQDN())}
}

// oweWork adds the outbox item of a zone write and marks the zone with it (I4, S7.2).
func (d *zoneDecision) oweWork(plan *Plan, change *ZoneChange, reason string, s *zonePlace, losing string, locks name.Name,
	scans []Scan) {
	ask := &d.ask
	ns := change.Zone.Namespace
	by := cmp.Or(d.by, ns)
	plan.Work = &Work{ID: ask.WorkID, Reason: reason, View: s.view, Scans: scans, By: by, Since: ask.Now.Unix(),
		Zones: []Place{{Ref: change.Zone.Ref, View: s.view, FQDN: s.fqdn}}}
	change.Holding = change.Holding.withMove(ask.WorkID, ns, by, losing, locks, ask.Now.Unix())
}

// joinMove has a zone that is made at the name of one that was removed take in the records of that one, as long as
// they have not been let go. They move here instead of where they were moving (S2.10).
func (d *zoneDecision) joinMove(plan *Plan, change *ZoneChange, s *zonePlace, last *LastSerial) {
	if last == nil || last.Zone == "" || last.Zone == change.Zone.UID {
		return
	}
	h := *change.Holding
	h.Works = append(slices.Clone(h.Works), StandingWork{ID: plan.Work.ID, Losing: last.Zone, Locks: s.fqdn, Since: d.ask.Now.Unix(),
		Own: true})
	change.Holding = &h
	plan.Work.Scans = append(plan.Work.Scans, Scan{Kind: ScanMembers, Zone: last.Zone, Owner: name.Apex})
}

// advanceHeader makes the step of a header change. before is nil for a new zone.
func (d *zoneDecision) advanceHeader(change *ZoneChange, z *Zone, before *content.Header) *Refusal {
	if r := advanceZone(change, z, nil, &diff{}, d.ask.Now, nil, d.ask.By); r != nil {
		return r
	}
	header := z.Header
	change.Step.HeaderBefore, change.Step.HeaderAfter = before, &header
	if before == nil {
		change.Step.From = 0 // the zone begins here, whatever its name was served with before
	}
	return nil
}

func (d *zoneDecision) finishPlan(plan *Plan, change *ZoneChange) (*Plan, *Refusal) {
	change.releaseHold(plan, d.ask.Now.Unix())
	c := judgeServable(d.reading, change.Zone, change.Holding, nil)
	change.Servable = c
	d.warnOfAddresses(plan, change)
	plan.Zone = change
	plan.Writes = append(plan.Writes, Write{Key: HoldingKey(change.Zone.View, change.Zone.FQDN()), Value: change.Holding})
	return plan, nil
}

// amendZone changes a zone that keeps its name.
func (d *zoneDecision) amendZone(plan *Plan, s *zonePlace) (*Plan, *Refusal) {
	ask := &d.ask
	before := ask.Before
	holding := d.holdingOf(before)
	z := d.wantedZone(s)
	z.Serial, z.SettledSerial, z.N, z.State, z.Rows, z.RRsets = before.Serial, before.SettledSerial, before.N, before.State, before.Rows,
		before.RRsets
	z.Deletions = before.Deletions
	h := *holding
	change := &ZoneChange{Zone: z, Holding: &h}
	d.publishDeletions(plan, change, before)
	z = change.Zone
	if refusal := d.nameServersFree(z, before, &h); refusal != nil {
		return nil, refusal
	}
	d.undottedServers(plan, z, before)
	if namespaces, changed := ChangedRules(before, z); changed {
		warnOfDeadPatterns(plan, z, z.Rules...)
		d.oweWork(plan, change, fmt.Sprintf("the delegations of zone %s changed", s.fqdn), s, "", name.Name{}, []Scan{
			{Kind: ScanMembers, Zone: z.UID, Owner: name.Apex, Namespaces: namespaces},
			{Kind: ScanWaiting, View: s.view, Name: s.fqdn, Namespaces: namespaces},
			{Kind: ScanReferring, Target: &Ref{Namespace: z.Namespace, Name: z.Name}, View: s.view, Name: s.fqdn, Namespaces: namespaces},
			{Kind: ScanZones, View: s.view, Name: s.fqdn, Namespaces: namespaces},
		})
	}
	d.reading.releaseNow(plan, z, before.ReleaseNow, z.ReleaseNow, ask.WorkID, ask.Now)
	raised := z.MinimumSerial != nil && serial.Serial(*z.MinimumSerial).Ahead(z.Serial) && (h.MinimumConsumed == nil ||
		*h.MinimumConsumed != *z.MinimumSerial)
	switch {
	case !z.Header.Equal(before.Header):
		header := before.Header
		if r := d.advanceHeader(change, z, &header); r != nil {
			return nil, r
		}
		plan.oweCut(h.Parent, z.Ref, z.View, z.FQDN())
	case raised: // S6.11
		if r := advanceZone(change, z, nil, &diff{}, ask.Now, nil, ask.By); r != nil {
			return nil, r
		}
	case ask.Behind != nil && h.Held == nil: // it would not be told
		if next, ok := Repair(z.Serial, *ask.Behind, h.Repaired, ask.Now); ok {
			d.repairSerial(change, z, next)
		}
	}
	if h.DS && !slices.Equal(z.DS, before.DS) {
		plan.oweCut(h.Parent, z.Ref, z.View, z.FQDN())
	}
	return d.finishPlan(plan, change)
}
