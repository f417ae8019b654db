// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/rules"
)

// delta is the change of a zone by a Record's write. removed and added are the Record's data in the zone before and
// after, or nil.
type delta struct {
	*recordDecision
	zone    *law.Zone
	holding *law.Holding
	// place is nil if the record leaves the zone.
	place          *place
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
	// yielding are tenants that give way at and below yieldedName. If awaitsEviction is true, added waits until their
	// records are gone.
	yielding       []string
	yieldedName    name.Rel
	awaitsEviction bool
	notices        []law.Notice

	// conflicts is true if other data at the name excludes added.
	conflicts bool
	// claimedBy is the namespace whose claim refuses added.
	claimedBy string

	diff Diff
	keys keys
}

func (x *delta) readFacts() {
	x.RequireAll(x.firstKeys(make([]law.Key, 0, 8)))
	for i := range x.owners {
		o := &x.owners[i]
		o.before = x.storedOwner(o.owner)
		o.after = o.before.Clone()
	}
	if x.storedCount = law.Get[law.Count](x.Reading, law.CountKey(x.zone.UID, x.ask.Namespace)); x.storedCount != nil {
		x.newCount = x.storedCount.Records
	}
}

func (x *delta) firstKeys(ks []law.Key) []law.Key {
	z := x.zone
	addsCut := x.added != nil && x.added.Type == rdata.NS && !x.added.Owner.IsApex()
	for _, o := range x.owners {
		owner := o.owner
		ks = append(ks, law.OwnerKey(z.UID, owner))
		if addsCut && x.added.Owner == owner {
			ks = append(ks, law.ZonesBelowKey(z.View, x.nameOf(owner)), law.OwnersBelowKey(z.UID, owner))
		}
		for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
			ks = append(ks, law.OwnerKey(z.UID, up))
		}
	}
	for _, c := range []*law.Contribution{x.removed, x.added} {
		for _, n := range x.listPointerHosts(c) {
			ks = append(ks, law.OwnerKey(z.UID, n))
		}
	}
	ks = append(ks, x.targetKeys(x.listTargets())...)
	return append(ks, law.CountKey(z.UID, x.ask.Namespace))
}

func (x *delta) listPointerHosts(c *law.Contribution) []name.Rel {
	if x.ask.Namespace != x.zone.Namespace {
		return nil
	}
	return c.ListPointerHosts(x.zone.FQDN())
}

func (x *delta) uncountRemoved() {
	if x.removed == nil {
		return
	}
	by := x.ask.Before.Admission
	if !x.owners.findAfter(x.removed.Owner).RemoveContribution(x.removed, x.countGuest(by)) || !x.countClaim(x.removed, by, -1) {
		x.Reread() // the status says all is counted
	}
	x.newCount--
}

func (x *delta) countClaim(c *law.Contribution, a rules.Admission, n int) bool {
	own, counted := x.ask.Namespace == x.zone.Namespace, true
	if own && a == rules.AdmittedUnderscore {
		o := x.ownerForUpdate(rules.Unstarred(c.Owner))
		o.Own += n
		counted = o.Own >= 0
	}
	return x.ownerForUpdate(rules.Base(c.Owner)).CountClaim(x.ask.Namespace, own, a, n) && counted
}

func (x *delta) writeKeys() {
	uid := x.zone.UID
	for _, o := range x.owners {
		x.keys.put(law.OwnerKey(uid, o.owner), o.after.Fact())
	}
	var count any
	if x.newCount > 0 {
		count = &law.Count{Records: x.newCount}
	}
	x.keys.put(law.CountKey(uid, x.ask.Namespace), count)
	if x.keepsOwner() {
		return
	}
	if x.removed != nil {
		x.keys.put(law.MemberKey(uid, x.removed.Owner, x.ask.Namespace, x.ask.Name), nil)
	}
	if r := x.ask.After; x.added != nil {
		x.keys.put(law.MemberKey(uid, x.added.Owner, r.Namespace, r.Name), &law.Member{UID: r.UID, Created: r.Created})
	}
}

func (x *delta) keepsOwner() bool {
	return x.removed != nil && x.added != nil && x.removed.Owner == x.added.Owner
}

func (x *delta) changesNothing() bool {
	return x.ask.Cascade && x.keepsOwner() && x.diff.empty() && x.ask.Before.Admission == x.admission
}

func (x *delta) storedOwner(owner name.Rel) *law.Owner {
	return law.Get[law.Owner](x.Reading, law.OwnerKey(x.zone.UID, owner))
}

func (x *delta) ownerAt(n name.Rel) *law.Owner {
	if o := x.owners.findAfter(n); o != nil {
		return o
	}
	return x.storedOwner(n)
}

func (x *delta) ownerForUpdate(owner name.Rel) *law.Owner {
	if o := x.owners.findAfter(owner); o != nil {
		return o
	}
	before := x.storedOwner(owner)
	x.owners = append(x.owners, ownerChange{owner, before, before.Clone()})
	return x.owners[len(x.owners)-1].after
}

func (x *delta) nameOf(owner name.Rel) name.Name {
	n, _ := owner.In(x.zone.FQDN())
	return n
}

// refuseLocked refuses data at, above or below a locked name, because Records there are moving to another zone.
// Exceptions:
//
//   - data above the lock without an effect below (affectsBelow), such as own data other than a DNAME
//   - data without a rule, refused with 403 instead
//   - in a cascade: Records already in this zone, Records of its own lock, and Records that left their zone for this
//     zone
func (x *delta) refuseLocked() *law.Refusal {
	z, p := x.zone, x.place
	ownLock := x.holding.HasLockOf(x.ask.MarkID)
	if x.ask.Cascade && (!x.isNew() || x.ask.HadZone && (ownLock || x.ask.Before == nil) || x.ask.HasFormerName && ownLock) {
		return nil
	}

	holding := x.holding.WithoutReplacement(x.ask.MarkID)
	base := rules.Base(x.added.Owner)
	baseName, err := base.In(z.FQDN())
	above := err == nil && holding.HasLockBelow(baseName)
	if !above && !holding.HasLockAt(p.fqdn) {
		return nil
	}

	grants := z.RuleSet().FindGrants(p.fqdn, x.added.Type, x.ask.Namespace)
	if len(grants) == 0 || !holding.HasLockAt(p.fqdn) && !x.affectsBelow(base, grants) {
		return nil
	}
	return law.RefuseMoving(p.fqdn, z.FQDN())
}

func (x *delta) affectsBelow(base name.Rel, grants []rules.Grant) bool {
	own := x.ask.Namespace == x.zone.Namespace
	switch t := x.added.Type; {
	case t == rdata.DNAME, t == rdata.NS && !own:
		return true
	case own, x.ownerAt(base).ClaimOf(x.ask.Namespace) != nil, x.removed != nil && rules.Base(x.removed.Owner) == base:
		return false
	}
	return !slices.ContainsFunc(grants, func(g rules.Grant) bool {
		return x.zone.RuleSet().KindOf(&g, x.added.Owner, x.ask.Namespace) == rules.AdmittedUnderscore
	})
}

func (x *delta) keepsPlace() bool { return x.ask.Cascade && x.hasPlace() }

func (x *delta) hasPlace() bool {
	b := x.ask.Before
	return b != nil && b.Zone.UID == x.zone.UID && b.Owner == x.added.Owner && b.Type == x.added.Type
}

func (x *delta) isNew() bool {
	return x.ask.Before == nil || x.ask.Before.Zone.UID != x.zone.UID
}

type keys []law.Write

func (k *keys) put(key law.Key, v any) {
	for i := range *k {
		if (*k)[i].Key == key {
			(*k)[i].Value = v
			return
		}
	}
	if *k == nil {
		*k = make(keys, 0, 8)
	}
	*k = append(*k, law.Write{Key: key, Value: v})
}

func (x *delta) ownStep(h *law.Holding) (t law.CountedStep) {
	if t.Own = x.isOwnStep(); t.Own {
		t.RemovesLastNS = len(x.holding.ApexNS) > 0 && len(h.ApexNS) == 0
		t.AddsNS = x.added != nil && x.added.Owner.IsApex() && x.added.Type == rdata.NS
	}
	return t
}

// isOwnStep reports whether the step (a change of the zone) counts towards a mass deletion by the zone's own namespace.
// A client's write counts if its Record is in this namespace. A cascade (background work of a write) counts if this
// namespace caused it, except for Records that move between zones.
func (x *delta) isOwnStep() bool {
	ask, z := &x.ask, x.zone
	switch {
	case ask.Uncounted:
		return false
	case !ask.Cascade:
		return ask.Namespace == z.Namespace
	case ask.CausedBy != z.Namespace:
		return false
	case x.removed == nil:
		// A tenant's Record counts if admitted by changed rules, but not if it takes a free name.
		return !ask.HadZone && (ask.Namespace == z.Namespace || ask.RulesChanged)
	case ask.After == nil || x.added != nil:
		return true
	}

	// A record that leaves the zone counts unless another zone has its name now.
	removedName, err := x.removed.Owner.In(z.FQDN())
	if err != nil {
		return true
	}
	_, holding := x.FindEnclosing(z.View, removedName)
	return holding != nil && holding.UID == z.UID
}
