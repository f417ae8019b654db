// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/claims"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// delta is the change of a zone by a Record's write.
type delta struct {
	*recordDecision
	zone    *law.Zone
	holding *law.Holding
	// place is nil if the record leaves the zone.
	place *place
	// removed is the Record's data in the zone before the write, and added the data after, or nil.
	removed, added *law.Contribution
	// owners are the changed names, each once: first dataOwners names of removed and added, then other names with
	// counts, such as claimed bases.
	owners     ownerChanges
	dataOwners int

	storedCount *law.Count // of the namespace's records in the zone
	newCount    int64      // after the write
	admission   rules.Admission
	rule        string // the pattern that allows added
	// otherData is the data at added's name, until admitAdded includes added.
	otherData *law.Owner
	notices   []law.Notice

	// awaited is the namespace whose claim or data refuse added, and for which a Record may wait (S2.14), or "".
	awaited string

	diff Diff
	// hiding are the writes of derived PTR that the record hides, or shows again.
	hiding []law.Write
}

func (d *delta) readFacts() {
	d.RequireAll(d.firstKeys(make([]law.Key, 0, 8)))
	for i := range d.owners {
		o := &d.owners[i]
		o.before = d.storedOwner(o.owner)
		o.after = o.before.Clone()
	}
	if d.storedCount = law.Get[law.Count](d.Reading, law.CountKey(d.zone.UID, d.ask.Namespace)); d.storedCount != nil {
		d.newCount = d.storedCount.Records
	}
}

// firstKeys appends to ks the keys for nearly every decision, so that few rounds of reading are needed.
func (d *delta) firstKeys(ks []law.Key) []law.Key {
	z := d.zone
	addsCut := d.added != nil && d.added.Type == rdata.NS && !d.added.Owner.IsApex()
	for _, o := range d.owners {
		owner := o.owner
		ks = append(ks, law.OwnerKey(z.UID, owner))
		// NS read the hidden data and zones.
		if addsCut && d.added.Owner == owner {
			ks = append(ks, law.ZonesBelowKey(z.View, d.nameOf(owner)), law.OwnersBelowKey(z.UID, owner))
		}
		// DNAME, NS and claims at all names above decide, too.
		for up := range above(owner) {
			ks = append(ks, law.OwnerKey(z.UID, up))
		}
	}
	for _, c := range []*law.Contribution{d.removed, d.added} {
		// An own MX is counted at its host.
		for _, n := range d.listPointerHosts(c) {
			ks = append(ks, law.OwnerKey(z.UID, n))
		}
	}
	ks = append(ks, d.targetKeys(d.listTargets())...)
	return append(ks, law.CountKey(z.UID, d.ask.Namespace))
}

func (d *delta) listPointerHosts(c *law.Contribution) []name.Rel {
	if d.ask.Namespace != d.zone.Namespace {
		return nil
	}
	return c.ListPointerHosts(d.zone.FQDN())
}

func (d *delta) uncountRemoved() {
	if d.removed == nil {
		return
	}
	by := d.ask.Before.Admission
	if !d.owners.findAfter(d.removed.Owner).RemoveContribution(d.removed, d.countGuest(by)) || !d.countClaim(d.removed, by, -1) {
		d.Reread() // the status says all is counted
	}
	d.newCount--
}

func (d *delta) countClaim(c *law.Contribution, a rules.Admission, n int) bool {
	own, counted := d.ask.Namespace == d.zone.Namespace, true
	if own && a == rules.AdmittedUnderscore {
		o := d.ownerForUpdate(rules.Unstarred(c.Owner))
		o.Own += n
		counted = o.Own >= 0
	}
	return d.ownerForUpdate(rules.Base(c.Owner)).CountClaim(d.ask.Namespace, own, a, n) && counted
}

// listWrites returns the writes of the changed owners, of the namespace's count of records, and of the record's place
// in the order of cascades (law.Member).
func (d *delta) listWrites() []law.Write {
	uid, writes := d.zone.UID, make([]law.Write, 0, len(d.owners)+4)
	for _, o := range d.owners {
		writes = append(writes, law.Write{Key: law.OwnerKey(uid, o.owner), Value: o.after.Fact()})
	}
	count := law.Write{Key: law.CountKey(uid, d.ask.Namespace)}
	if d.newCount > 0 {
		count.Value = &law.Count{Records: d.newCount}
	}
	writes = append(append(writes, count), d.hiding...)
	// An edit at the same name keeps the Member.
	if d.keepsOwner() {
		return writes
	}
	if d.removed != nil {
		writes = append(writes, law.Write{Key: law.MemberKey(uid, d.removed.Owner, d.ask.Namespace, d.ask.Name)})
	}
	if r := d.ask.After; d.added != nil {
		writes = append(writes, law.Write{Key: law.MemberKey(uid, d.added.Owner, r.Namespace, r.Name),
			Value: &law.Member{UID: r.UID, Created: r.Created}})
	}
	return writes
}

func (d *delta) keepsOwner() bool {
	return d.removed != nil && d.added != nil && d.removed.Owner == d.added.Owner
}

func (d *delta) changesNothing() bool {
	return d.ask.Cascade && d.keepsOwner() && d.diff.empty() && d.ask.Before.Admission == d.admission
}

func (d *delta) storedOwner(owner name.Rel) *law.Owner {
	return law.Get[law.Owner](d.Reading, law.OwnerKey(d.zone.UID, owner))
}

// findBelow returns the sum of the names strictly below n, perhaps of none.
func (d *delta) findBelow(n name.Rel) *law.OwnersBelow {
	if below := law.Get[law.OwnersBelow](d.Reading, law.OwnersBelowKey(d.zone.UID, n)); below != nil {
		return below
	}
	return &law.OwnersBelow{}
}

func (d *delta) ownerAt(n name.Rel) *law.Owner {
	if o := d.owners.findAfter(n); o != nil {
		return o
	}
	return d.storedOwner(n)
}

func (d *delta) ownerForUpdate(owner name.Rel) *law.Owner {
	if o := d.owners.findAfter(owner); o != nil {
		return o
	}
	before := d.storedOwner(owner)
	d.owners = append(d.owners, ownerChange{owner, before, before.Clone()})
	return d.owners[len(d.owners)-1].after
}

// holdsName reports whether the writer's namespace has a claim at n.
func (d *delta) holdsName(n name.Rel) bool {
	return holdsClaim(d.ownerAt(n), d.ask.Namespace)
}

func holdsClaim(o *law.Owner, namespace string) bool {
	c := o.ClaimOf(namespace)
	return c != nil && c.Holds()
}

// otherHolder returns the namespace beside the writer's with a claim at n, a tenant before own, or "".
func (d *delta) otherHolder(n name.Rel) (holder string) {
	o := d.ownerAt(n)
	if o == nil {
		return ""
	}
	for _, c := range o.Claims {
		switch {
		case c.Namespace == d.ask.Namespace || !c.Holds():
		case c.Namespace == d.zone.Namespace:
			holder = c.Namespace
		default:
			return c.Namespace
		}
	}
	return holder
}

func (d *delta) nameOf(owner name.Rel) name.Name {
	n, _ := owner.In(d.zone.FQDN())
	return n
}

func (d *delta) claimant(kind rules.Admission, rule *rules.Rule) *claims.Claimant {
	c := &claims.Claimant{Reading: d.Reading, Zone: d.zone, Holding: d.holding, Namespace: d.ask.Namespace, Admission: kind,
		OwnerAt: d.ownerAt}
	if kind == rules.AdmittedShared {
		c.Rule = rule
	}
	return c
}

func (d *delta) findGrants() []rules.Grant {
	return d.zone.RuleSet().FindGrants(d.place.fqdn, d.added.Type, d.ask.Namespace)
}

// refuseLocked refuses data at, above or below a locked name, because Records there are moving to another zone.
// Exceptions:
//
//   - data above the lock without an effect below (affectsBelow), such as own data other than a DNAME
//   - data without a rule, refused with 403 instead
//   - Records that a cascade brings or leaves in the zone (belongsBehindLock)
func (d *delta) refuseLocked() *law.Refusal {
	fqdn, base := d.place.fqdn, rules.Base(d.added.Owner)
	// By its base apps, *.apps is above a lock at x.apps.
	isReached := d.holding.HasLockAt(fqdn) || d.holding.HasLockBelow(d.nameOf(base)) && d.affectsBelow(base)
	if !isReached || d.belongsBehindLock() || len(d.findGrants()) == 0 {
		return nil
	}
	return law.RefuseMoving(fqdn, d.zone.FQDN())
}

// belongsBehindLock reports whether a cascade decides a Record of this zone, a Record that its own lock waits for, or a
// Record that has left its zone for this zone.
func (d *delta) belongsBehindLock() bool {
	ask := &d.ask
	movesByOwnLock := d.holding.HasLockOf(ask.MarkID) && (ask.HadZone || ask.HasFormerName)
	hasLeftItsZone := ask.HadZone && ask.Before == nil
	return ask.Cascade && (!d.isNew() || movesByOwnLock || hasLeftItsZone)
}

// affectsBelow reports whether added concerns moving names below its base: a new claim covers them, and NS or DNAME cut
// them off (S2.10).
func (d *delta) affectsBelow(base name.Rel) bool {
	own := d.ask.Namespace == d.zone.Namespace
	switch t := d.added.Type; {
	// A DNAME would replace the names, even a DNAME of own.
	case t == rdata.DNAME, t == rdata.NS && !own:
		return true
	// Own needs no claim, and a present claim covers the names already.
	case own, d.ownerAt(base).ClaimOf(d.ask.Namespace) != nil, d.removed != nil && rules.Base(d.removed.Owner) == base:
		return false
	}

	// A guest's record claims nothing.
	return !slices.ContainsFunc(d.findGrants(), func(g rules.Grant) bool {
		return d.zone.RuleSet().KindOf(&g, d.added.Owner, d.ask.Namespace) == rules.AdmittedUnderscore
	})
}

func (d *delta) keepsPlace() bool { return d.ask.Cascade && d.hasPlace() }

func (d *delta) hasPlace() bool {
	b := d.ask.Before
	return b != nil && b.Zone.UID == d.zone.UID && b.Owner == d.added.Owner && b.Type == d.added.Type
}

func (d *delta) isNew() bool {
	return d.ask.Before == nil || d.ask.Before.Zone.UID != d.zone.UID
}

// amount is how much a name has of a limited kind, after the write and before, and the limit. A name above a limit may
// stay and shrink.
type amount struct{ is, was, most int }

func (a amount) isTooMuch() bool { return a.is > a.most && a.is > a.was }

func (d *delta) ownStep(h *law.Holding) (t law.CountedStep) {
	if t.Own = d.isOwnStep(); t.Own {
		t.RemovesLastNS = len(d.holding.ApexNS) > 0 && len(h.ApexNS) == 0
		t.AddsNS = d.added != nil && d.added.Owner.IsApex() && d.added.Type == rdata.NS
	}
	return t
}

// isOwnStep reports whether the step (a change of the zone) counts towards a mass deletion by the zone's own namespace.
// A client's write counts if its Record is in this namespace. A cascade (background work of a write) counts if this
// namespace caused it, except for Records that move between zones.
func (d *delta) isOwnStep() bool {
	ask, z := &d.ask, d.zone
	isOwn := ask.Namespace == z.Namespace
	if ask.Uncounted || z.Terminating { // a zone being deleted goes from its name servers anyway
		return false
	}
	if !ask.Cascade {
		return isOwn
	}
	if ask.CausedBy != z.Namespace {
		return false
	}

	if d.removed == nil {
		// A tenant's Record counts if admitted by changed rules, but not if it takes a free name.
		return !ask.HadZone && (isOwn || ask.RulesChanged)
	}

	isDeletion := ask.After == nil
	staysInZone := d.added != nil
	if isDeletion || staysInZone {
		return true
	}

	// A record that leaves the zone counts unless another zone has its name now.
	removedName, err := d.removed.Owner.In(z.FQDN())
	if err != nil {
		return true
	}
	_, holding := d.FindEnclosing(z.View, removedName)
	return holding != nil && holding.UID == z.UID
}
