// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
)

// delta is what the write of one record changes in one zone. changeZone fills it in this order: read the facts, judge
// what comes, account for both contributions, wake what waited, plan the writes. A step reads what the steps before it
// left here and changes no fact.
type delta struct {
	*recordDecision
	zone    *Zone
	holding *Holding
	// place is where the record is to stand in the zone; nil: it leaves the zone.
	place *place
	// gone is the contribution that leaves the zone, come the one that comes; nil: none does.
	gone, come *Contribution
	// owners has those of gone and come, each once, that of gone first. After these named ones it has the owners above
	// them that the write changes, too.
	owners ownerChanges
	named  int
	// holders are those of the base names of the named owners, each once.
	holders []holdersChange
	// count is stored, and records is the number of the namespace's records in the zone afterwards.
	count   *Count
	records int64
	// memberBefore and member are the record's place in the zone, and rule is the pattern that admits it.
	memberBefore, member *Member
	rule                 string
	// others is the owner of come without the record.
	others *Owner
	// evicts is the namespace that has the name of come and is allowed it no more; "": none (S2.5).
	evicts string

	diff diff
	keys keys
	// recut are the base names below which a cut changed, so that another namespace may hold names there. opened are
	// these, and other names at or below which another namespace may hold names now.
	recut, opened []name.Rel
	// retry are the scans for what waited for something that this write takes away (S2.7).
	retry []Scan
}

// holdersChange is what the holders of one base name are before a write and after it.
type holdersChange struct {
	base          name.Rel
	before, after *Holders
}

// changeZone takes the record's contribution out of zone z where it stands there (ask.Before) and puts the new one in
// (p, unless nil): one step of z. home is the zone that the record stands in, nil for none.
func (d *recordDecision) changeZone(plan *Plan, z *Zone, holding *Holding, p *place, home *Zone) (*Plan, *Refusal) {
	x := &delta{recordDecision: d, zone: z, holding: holding, place: p}
	if b := d.ask.Before; b != nil && (p == nil || home != nil) { // else it stands nowhere yet, or in a zone that is gone
		x.gone = &b.Contribution
		x.owners = append(x.owners, ownerChange{at: x.gone.Owner})
	}
	if p != nil {
		come := d.ask.After.ContributionAt(p.owner)
		x.come = &come
		if x.gone == nil || x.gone.Owner != x.come.Owner {
			x.owners = append(x.owners, ownerChange{at: x.come.Owner})
		}
	}
	x.named = len(x.owners)
	if !x.readFacts() || !x.takeOut() {
		return nil, nil
	}
	if x.come != nil {
		refusal, mark := x.judgeComing(plan)
		if refusal != nil {
			if mark.holder = x.awaitedHolder(refusal, mark); mark.holder != "" {
				refusal = x.explainWait(refusal, mark.holder)
			}
		}
		switch {
		case len(d.needs) > 0:
			return nil, nil
		case refusal != nil && !d.ask.Cascade && mark.holder == "":
			if b := d.ask.Before; b != nil && b.EndsAt != 0 {
				refusal.Message += fmt.Sprintf("; as it stands it stays until about %s", time.Unix(b.EndsAt, 0).UTC().Format(time.RFC3339))
			}
			return nil, refusal
		case refusal != nil && home != nil && refusal.Kind == Forbidden:
			return d.withdrawRecord(plan, holding, p, refusal, mark)
		case refusal != nil:
			plan.Warnings = nil
			if !d.ask.Cascade {
				plan.Warnings = []string{refusal.Message}
			}
			return d.leaveUnadopted(plan, home, holding, p, refusal, mark)
		}
		if x.evicts != "" {
			return x.awaitEviction(plan, x.evicts), nil
		}
	}
	if !x.countHolders() || !x.wakeWaiters() {
		return nil, nil
	}
	x.writeKeys()
	after := x.wakeAwaited()
	if x.changesNothing() { // nothing to write, and the zone need not be touched
		plan.Record = x.adoptedPlacement(z, z.Served && holding.Settled())
		plan.Record.Stays = true
		return plan, nil
	}
	return x.planStep(plan, after)
}

// readFacts asks for what most decisions need, in one round, and puts it into the delta. false: facts are needed.
func (x *delta) readFacts() bool {
	if !x.askAll(x.firstKeys(make([]Key, 0, 8))) {
		return false
	}
	for i := range x.owners {
		o := &x.owners[i]
		o.before = x.storedOwner(o.at)
		o.after = o.before.clone()
		if base := Base(o.at); x.holdersOf(base) == nil {
			h, _ := get[Holders](&x.reading, HoldersKey(x.zone.UID, base))
			x.holders = append(x.holders, holdersChange{base, h, h.clone()})
		}
	}
	if x.count, _ = get[Count](&x.reading, CountKey(x.zone.UID, x.ask.Namespace)); x.count != nil {
		x.records = x.count.Records
	}
	return true
}

// firstKeys adds the keys of the facts that most decisions need.
func (x *delta) firstKeys(ks []Key) []Key {
	z := x.zone
	if x.gone != nil {
		ks = append(ks, MemberKey(z.UID, x.gone.Owner, x.ask.Namespace, x.ask.Name))
	}
	comesCut := x.come != nil && x.come.Type == rdata.NS && !x.come.Owner.IsApex()
	cuts := comesCut || x.gone != nil && x.gone.Type == rdata.NS
	for _, o := range x.owners {
		owner := o.at
		ks = append(ks, OwnerKey(z.UID, owner), HoldersKey(z.UID, Base(owner)))
		if comesCut && x.come.Owner == owner { // all that it occludes
			ks = append(ks, Key{Kind: KindZonesBelow, View: z.View, Name: x.nameOf(owner)},
				Key{Kind: KindOwnersBelow, Zone: z.UID, Owner: owner})
		}
		for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
			if ks = append(ks, OwnerKey(z.UID, up)); cuts && !up.IsApex() {
				ks = append(ks, HoldersKey(z.UID, up))
			}
		}
	}
	if x.come != nil && x.ask.Namespace != z.Namespace && speaksBelow(x.come.Owner, x.come.Type) && !x.standsAlready() {
		base := Base(x.come.Owner)
		ks = append(ks, HeldBelowKey(z.UID, base))
		if n, err := base.In(z.FQDN()); err == nil {
			ks = append(ks, Key{Kind: KindZonesBelow, View: z.View, Name: n})
		}
	}
	return append(ks, CountKey(z.UID, x.ask.Namespace))
}

// takeOut takes the contribution that goes out of what stands at its owner. false: facts are needed.
func (x *delta) takeOut() bool {
	if x.gone == nil {
		return true
	}
	x.memberBefore, _ = get[Member](&x.reading, MemberKey(x.zone.UID, x.gone.Owner, x.ask.Namespace, x.ask.Name))
	if x.memberBefore == nil {
		x.readAnew() // the object says it is a member: facts of two moments
		return false
	}
	x.owners.after(x.gone.Owner).removeContribution(x.gone)
	x.records--
	return true
}

// judgeComing decides whether the zone takes in what comes, and puts it at its owner. marks are what a loser leaves
// behind.
func (x *delta) judgeComing(plan *Plan) (*Refusal, marks) {
	come := x.come
	if refusal := come.checkType(); refusal != nil {
		return refusal, marks{}
	}
	o := x.owners[slices.IndexFunc(x.owners, func(o ownerChange) bool { return o.at == come.Owner })]
	x.others = o.after
	refusal, mark := x.admitRecord(plan)
	if refusal != nil && refusal.Reason == ReasonNameHeld && x.stood && len(x.needs) == 0 {
		// From now on it waits as any other record, and leaves the marks of one.
		x.stood = false
		if again, its := x.admitRecord(plan); again != nil {
			refusal, mark = again, its
		}
	}
	if len(x.needs) > 0 || refusal != nil || x.evicts != "" {
		return refusal, mark
	}
	sizes, refusal := packValues(x.zone.FQDN(), come)
	if refusal != nil {
		return refusal, mark
	}
	o.after.addContribution(come, sizes)
	after, before := o.after, o.before
	if refusal, mark = x.checkLimits(after, before); refusal != nil {
		return refusal, mark
	}
	x.member.N = stepOf(x.zone, x.ask.Set)
	if x.memberBefore != nil && x.gone.Owner == come.Owner {
		x.member.N = x.memberBefore.N
	}
	x.records++
	return nil, marks{}
}

// countHolders counts the record as one that holds its base name, and no longer as one that holds the name it leaves.
// A change at the same base by a record that may still hold keeps its turn. false: facts are needed.
func (x *delta) countHolders() bool {
	held := x.memberBefore != nil && x.memberBefore.Admission == AdmittedPlain
	holds := x.member != nil && x.member.Admission == AdmittedPlain
	if held && holds && Base(x.gone.Owner) == Base(x.come.Owner) {
		return true
	}
	if held {
		x.holdersOf(Base(x.gone.Owner)).after.removeRecord(x.ask.Namespace)
	}
	if !holds {
		return true
	}
	late, known := x.comesLate()
	if known {
		x.holdersOf(Base(x.come.Owner)).after.addRecord(x.ask.Namespace, x.member.N, late)
	}
	return known
}

// comesLate reports whether a cascade brings names below the record's base name for other namespaces, which count as
// older than it (S2.7, S4.7). known false: facts are needed.
func (x *delta) comesLate() (late, known bool) {
	z, ns := x.zone, x.ask.Namespace
	at, err := Base(x.come.Owner).In(z.FQDN())
	if err != nil || x.ask.Cascade || ns == z.Namespace || !x.holding.isGaining() {
		return false, true
	}
	if late, known = x.holdsElsewhereBelow(x.holding, z.View, at, ns); !known || late {
		return late, known
	}
	return x.zonesBelow(z, at, ns, func(string) uint64 { return 0 })
}

// wakeWaiters finds what waited for something that the write takes away, and takes away its marks. false: facts are
// needed.
func (x *delta) wakeWaiters() bool {
	x.wakeAtNames()
	x.wakeAbove()
	x.countSpeakers()
	return x.wakeBelowHolders() && x.wakeBelowCuts() && x.wakeYielded()
}

// wakeAtNames compares the named owners with what they were: for the definition, and for records that waited there.
func (x *delta) wakeAtNames() {
	for i := range x.named {
		o := &x.owners[i]
		x.diff.compareOwner(o, x.gone, x.come)
		if o.before != nil && o.before.Waited && freesValue(o.before, o.after) {
			o.after.Waited = false
			x.retryExactly(o.at, !o.before.hasType(rdata.DNAME) || o.after.hasType(rdata.DNAME))
		}
	}
}

// wakeAbove wakes a DNAME or NS above that may have waited for the names below it to go.
func (x *delta) wakeAbove() {
	if x.gone == nil || x.come != nil && x.come.Owner == x.gone.Owner {
		return
	}
	for up, ok := x.gone.Owner.Parent(); ok; up, ok = up.Parent() {
		if fact := x.storedOwner(up); fact != nil && fact.Waited {
			x.changeUpper(up).Waited = false
			x.retryExactly(up, true)
		}
	}
}

// countSpeakers counts a record at a wildcard or an underscore name in the owner of its base name.
func (x *delta) countSpeakers() {
	count := func(c *Contribution, m *Member, n int) {
		if m == nil {
			return
		}
		if base, ok := SpeaksFor(m.Admission, c.Owner); ok {
			x.changeUpper(base).CountSpeaker(x.ask.Namespace, n)
		}
	}
	count(x.gone, x.memberBefore, -1)
	count(x.come, x.member, 1)
}

// wakeBelowHolders wakes what waited for a base name to lose its holder: what speaks for names below, and where
// another namespace holds a name now, what a wildcard or an underscore name above kept out there (S4.6, S4.7). false:
// facts are needed.
func (x *delta) wakeBelowHolders() bool {
	for _, h := range x.holders {
		holder := h.after.Holder()
		if h.before.Holder() == holder && (holder == "" || h.before.List[0].First == h.after.List[0].First) {
			continue
		}
		below, ended := h.base, false
		for up, ok := h.base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
			fact := x.storedOwner(up)
			if fact != nil && fact.WaitedBelow {
				x.changeUpper(up).WaitedBelow = false
				x.retryBelow(up)
			}
			if ns := fact.speaker(x.zone.Namespace); ns != "" && !ended {
				ended = true
				if holder != "" && holder != ns {
					h, known := get[Holders](&x.reading, HoldersKey(x.zone.UID, up))
					if !known {
						return false
					}
					if h != nil && h.Waited {
						x.retryBelow(below)
					}
					x.opened = append(x.opened, below)
				}
			}
			below = up
		}
	}
	return true
}

// wakeBelowCuts wakes what waits below a base name where NS records came or went, or got another holder: it left its
// mark at the cut further up that it lost to. false: facts are needed.
func (x *delta) wakeBelowCuts() bool {
	for _, h := range x.holders {
		base, before := h.base, x.storedOwner(h.base)
		after := x.owners.after(base)
		if after == nil {
			after = before
		}
		if base.IsApex() || before.cutBy(h.before, x.zone.Namespace) == after.cutBy(h.after, x.zone.Namespace) {
			continue
		}
		x.recut, x.opened = append(x.recut, base), append(x.opened, base)
		var ks []Key
		for up, ok := base.Parent(); ok && !up.IsApex(); up, ok = up.Parent() {
			ks = append(ks, HoldersKey(x.zone.UID, up))
		}
		if !x.askAll(ks) {
			return false
		}
		waits := false
		for _, k := range ks {
			h, _ := get[Holders](&x.reading, k)
			waits = waits || h != nil && h.Waited
		}
		if waits {
			x.retryBelow(base)
		}
	}
	return true
}

// wakeYielded wakes what lost to the claim that gave way to the record: what its namespace has at the name, or what
// speaks for it. false: facts are needed.
func (x *delta) wakeYielded() bool {
	if x.come == nil || x.yielded.namespace == "" {
		return true
	}
	base := Base(x.come.Owner)
	if h := x.holdersOf(base); h.before.Holder() != "" || h.after.Holder() != x.ask.Namespace {
		return true
	}
	above, known := get[Holders](&x.reading, HoldersKey(x.zone.UID, x.yielded.above))
	if !known {
		return false
	}
	if _, ok := x.zone.ownClaim(x.holding, base); ok {
		x.opened = append(x.opened, base)
		x.retryBelow(topmostName(base))
	} else if above != nil && above.Waited {
		x.retryBelow(base)
	}
	return true
}

// writeKeys writes the zone's keys. Records that waited at the holders of a name, or for the count to fall, are woken
// with them.
func (x *delta) writeKeys() {
	uid := x.zone.UID
	for _, o := range x.owners {
		x.keys.put(OwnerKey(uid, o.at), ownerFact(o.after))
	}
	for _, h := range x.holders {
		fewer := h.before != nil && len(h.after.List) < len(h.before.List)
		if o := x.owners.after(h.base); o != nil && o.speaker(x.zone.Namespace) == "" {
			fewer = fewer || x.storedOwner(h.base).speaker(x.zone.Namespace) != ""
		}
		if h.after.Waited && (fewer || slices.Contains(x.recut, h.base)) {
			h.after.Waited = false
			x.retryBelow(h.base)
		}
		x.keys.put(HoldersKey(uid, h.base), holdersFact(h.after))
	}
	next := x.count.clone()
	if next.Records = x.records; next.Waited && x.count.Records > x.records {
		next.Waited = false
		x.retryBelow(name.Apex)
	}
	var value any
	if next.Records > 0 || next.Waited {
		value = next
	}
	x.keys.put(CountKey(uid, x.ask.Namespace), value)
	if x.gone != nil {
		x.keys.put(MemberKey(uid, x.gone.Owner, x.ask.Namespace, x.ask.Name), nil)
	}
	if x.member != nil {
		x.keys.put(MemberKey(uid, x.come.Owner, x.ask.Namespace, x.ask.Name), x.member)
	}
}

// wakeAwaited is the holding without the hosts that the apex names no more, and without the marks of zones that lost
// at names that may be theirs now. Records that wait at those hosts, or for what is taken for one, may come.
func (x *delta) wakeAwaited() *Holding {
	z := x.zone
	after := x.holding.apexNames(x.gone, x.come, x.owners.after(name.Apex), x.ask.Namespace == z.Namespace)
	for _, host := range x.holding.hostsNamedNoMore(z, after) {
		x.opened = append(x.opened, host)
		scan := Scan{Kind: ScanWaiting, View: z.View, Name: x.nameOf(topmostName(host))}
		if !slices.ContainsFunc(x.retry, func(s Scan) bool { return reflect.DeepEqual(s, scan) }) {
			x.retry = append(x.retry, scan)
		}
	}
	freed := x.opened
	if x.gone != nil && (x.come == nil || x.come.Owner != x.gone.Owner || x.come.Type != x.gone.Type) {
		freed = append(freed, x.gone.Owner)
	}
	for _, owner := range freed {
		var waits bool
		if after, waits = after.letGo(owner); waits {
			x.retry = append(x.retry, pendingBelow(z.Ref, z.View, z.FQDN()))
		}
	}
	return after
}

// changesNothing reports whether a cascade decides a record anew that stays as it is.
func (x *delta) changesNothing() bool {
	return x.ask.Cascade && x.memberBefore != nil && x.member != nil && x.gone.Owner == x.come.Owner && x.diff.empty() &&
		*x.memberBefore == *x.member
}

// planStep writes the step of the zone into the plan, and what it owes elsewhere. holding is that of the zone
// afterwards, without the mark of the cascade that makes the step.
func (x *delta) planStep(plan *Plan, holding *Holding) (*Plan, *Refusal) {
	z, ask := x.zone, &x.ask
	plan.Writes = x.keys // the first writes of the plan
	plan.Rule = x.rule
	if len(x.retry) > 0 {
		by := ask.Namespace
		if ask.Cascade {
			by = ask.WorkBy // what a cascade sets off is its causer's too: no other namespace freezes a delivery (S7.2)
		}
		// The zone is named for its own namespace to come first (S2.7); it is not marked before a step touches it.
		plan.Work = &Work{ID: ask.WorkID, Reason: fmt.Sprintf("names in zone %s became free or are cut differently", z.FQDN()),
			View: z.View, Scans: x.retry,
			Zones: []Place{{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}}, By: by, Since: ask.Now.Unix()}
	}
	change := &ZoneChange{Zone: z, Holding: holding.WithWork(ask.Work, z.Namespace, ask.WorkBy, "", name.Name{}, ask.Now.Unix())}
	if !x.diff.empty() {
		record := &content.RecordRef{Namespace: ask.Namespace, Name: ask.Name, UID: ask.UID}
		if r := advanceZone(change, z, ask.Set, &x.diff, ask.Now, record, ask.By); r != nil {
			return nil, r
		}
	}
	t, known := x.ownStep(change.Holding)
	if !known {
		return nil, nil
	}
	last := z
	if ask.Set != nil {
		last = ask.Set // no content between two writes of one step is ever delivered
	}
	if change.countDeletions(plan, z, last, t, ask.Now.Unix()); !x.updateNameServers(plan, change) {
		return nil, nil
	}
	if change.Holding != x.holding {
		plan.Writes = append(plan.Writes, Write{Key: HoldingKey(z.View, z.FQDN()), Value: change.Holding})
	}
	plan.Zone = change
	if x.place != nil {
		plan.Record = x.adoptedPlacement(change.Zone, z.Served && change.Settled() &&
			(change.Servable == nil || change.Servable.Status == "True"))
	}
	return plan, nil
}

// adoptedPlacement says that the record stands in the zone, which is z after the write.
func (x *delta) adoptedPlacement(z *Zone, served bool) *Placement {
	return &Placement{FQDN: x.place.fqdn, View: x.place.view, Zone: &x.zone.Ref, Serial: z.Serial, Reason: ReasonAdopted,
		HasClass: x.zone.HasClass, Served: served,
		Message: fmt.Sprintf("in zone %s by delegation pattern %q", x.zone.FQDN(), x.rule)}
}

// storedOwner is what is stored of an owner that is known already.
func (x *delta) storedOwner(owner name.Rel) *Owner {
	o, _ := get[Owner](&x.reading, OwnerKey(x.zone.UID, owner))
	return o
}

// changeUpper returns an owner above that the write changes, too.
func (x *delta) changeUpper(owner name.Rel) *Owner {
	if o := x.owners.after(owner); o != nil {
		return o
	}
	before := x.storedOwner(owner)
	x.owners = append(x.owners, ownerChange{owner, before, before.clone()})
	return x.owners[len(x.owners)-1].after
}

// holdersOf are the holders of a base name; nil: the write does not concern them.
func (x *delta) holdersOf(base name.Rel) *holdersChange {
	for i := range x.holders {
		if x.holders[i].base == base {
			return &x.holders[i]
		}
	}
	return nil
}

// nameOf is the name of an owner that stands in the zone, and is short enough for that.
func (x *delta) nameOf(owner name.Rel) name.Name {
	n, _ := owner.In(x.zone.FQDN())
	return n
}

// retryBelow tries again what waits at an owner or below it.
func (x *delta) retryBelow(owner name.Rel) { x.retryExactly(owner, false) }

// retryExactly tries again what waits at an owner, and where exact is false also what waits below it.
func (x *delta) retryExactly(owner name.Rel, exact bool) {
	x.retry = append(x.retry, Scan{Kind: ScanWaiting, View: x.zone.View, Name: x.nameOf(owner), Exact: exact})
}
