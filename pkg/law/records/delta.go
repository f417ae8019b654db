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

// delta is what the write of one record changes in one zone. changeZone fills it in this order: read the facts, judge
// what comes, account for both contributions, plan the writes. A step reads what the steps before it
// left here and changes no fact.
type delta struct {
	*recordDecision
	zone    *law.Zone
	holding *law.Holding
	// place is where the record is to stand in the zone; nil: it leaves the zone.
	place *place
	// gone is the contribution that leaves the zone, come the one that comes; nil: none does.
	gone, come *law.Contribution
	// owners has those of gone and come, each once, that of gone first. After these named ones it has the owners above
	// them that the write changes, too.
	owners ownerChanges
	named  int
	// count is stored, and records is the number of the namespace's records in the zone afterwards.
	count   *law.Count
	records int64
	// admission is the kind of rule that admits come, and rule the pattern of it.
	admission rules.Admission
	rule      string
	// others is the owner of come without the record.
	others *law.Owner
	// yielding are the tenants that give way to come at and below a name, yieldsAt; none: none does (S2.13). awaits
	// says that come waits until they have.
	yielding []string
	yieldsAt name.Rel
	awaits   bool
	// news are those of the ZoneChange.
	news []law.News

	// conflicts says that what comes may not stand beside what is at its name or above it.
	conflicts bool
	// claimedBy is the namespace that has the base name which what comes is refused: a tenant, else the zone's own; "":
	// none has it.
	claimedBy string

	diff Diff
	keys keys
}

// readFacts asks for what most decisions need, in one round, and puts it into the delta.
func (x *delta) readFacts() {
	x.AskAll(x.firstKeys(make([]law.Key, 0, 8)))
	for i := range x.owners {
		o := &x.owners[i]
		o.before = x.storedOwner(o.at)
		o.after = o.before.Clone()
	}
	if x.count = law.Get[law.Count](x.Reading, law.CountKey(x.zone.UID, x.ask.Namespace)); x.count != nil {
		x.records = x.count.Records
	}
}

// firstKeys adds the keys of the facts that most decisions need.
func (x *delta) firstKeys(ks []law.Key) []law.Key {
	z := x.zone
	comesCut := x.come != nil && x.come.Type == rdata.NS && !x.come.Owner.IsApex()
	for _, o := range x.owners {
		owner := o.at
		ks = append(ks, law.OwnerKey(z.UID, owner))
		if comesCut && x.come.Owner == owner { // all that it occludes
			ks = append(ks, law.ZonesBelowKey(z.View, x.nameOf(owner)), law.OwnersBelowKey(z.UID, owner))
		}
		for up, ok := owner.Parent(); ok; up, ok = up.Parent() {
			ks = append(ks, law.OwnerKey(z.UID, up))
		}
	}
	for _, c := range []*law.Contribution{x.gone, x.come} {
		for _, n := range x.listPointed(c) {
			ks = append(ks, law.OwnerKey(z.UID, n))
		}
	}
	ks = append(ks, x.targetKeys(x.listTargets())...)
	return append(ks, law.CountKey(z.UID, x.ask.Namespace))
}

// listPointed returns the hosts at which a contribution is counted: those of the zone's own namespace.
func (x *delta) listPointed(c *law.Contribution) []name.Rel {
	if x.ask.Namespace != x.zone.Namespace {
		return nil
	}
	return c.ListPointed(x.zone.FQDN())
}

// takeOut takes the contribution that goes out of what stands at its owner.
func (x *delta) takeOut() {
	if x.gone == nil {
		return
	}
	by := x.ask.Before.Admission
	if !x.owners.after(x.gone.Owner).RemoveContribution(x.gone, x.countGuest(by)) || !x.countClaim(x.gone, by, -1) {
		x.ReadAnew() // the object says that all of it stands there: facts of two moments
	}
	x.records--
}

// countClaim counts a contribution at its base name, and one of own also at its underscore name. It reports whether a
// contribution that goes was counted there.
func (x *delta) countClaim(c *law.Contribution, a rules.Admission, n int) bool {
	own, counted := x.ask.Namespace == x.zone.Namespace, true
	if own && a == rules.AdmittedUnderscore {
		o := x.changeUpper(rules.Unstarred(c.Owner))
		o.Own += n
		counted = o.Own >= 0
	}
	return x.changeUpper(rules.Base(c.Owner)).CountClaim(x.ask.Namespace, own, a, n) && counted
}

// writeKeys writes the zone's keys.
func (x *delta) writeKeys() {
	uid := x.zone.UID
	for _, o := range x.owners {
		x.keys.put(law.OwnerKey(uid, o.at), o.after.Fact())
	}
	var count any
	if x.records > 0 {
		count = &law.Count{Records: x.records}
	}
	x.keys.put(law.CountKey(uid, x.ask.Namespace), count)
	if x.keepsOwner() {
		return // it is a member there already
	}
	if x.gone != nil {
		x.keys.put(law.MemberKey(uid, x.gone.Owner, x.ask.Namespace, x.ask.Name), nil)
	}
	if r := x.ask.After; x.come != nil {
		x.keys.put(law.MemberKey(uid, x.come.Owner, r.Namespace, r.Name), &law.Member{UID: r.UID, Created: r.Created})
	}
}

// keepsOwner reports whether the record stands at the same name of the zone before and after.
func (x *delta) keepsOwner() bool {
	return x.gone != nil && x.come != nil && x.gone.Owner == x.come.Owner
}

// changesNothing reports whether a cascade decides a record anew that stays as it is.
func (x *delta) changesNothing() bool {
	return x.ask.Cascade && x.keepsOwner() && x.diff.empty() && x.ask.Before.Admission == x.admission
}

// storedOwner is what is stored of an owner that is known already.
func (x *delta) storedOwner(owner name.Rel) *law.Owner {
	return law.Get[law.Owner](x.Reading, law.OwnerKey(x.zone.UID, owner))
}

// ownerAt is what stands at a name without the record, which is known already.
func (x *delta) ownerAt(n name.Rel) *law.Owner {
	if o := x.owners.after(n); o != nil {
		return o
	}
	return x.storedOwner(n)
}

// changeUpper returns an owner above that the write changes, too.
func (x *delta) changeUpper(owner name.Rel) *law.Owner {
	if o := x.owners.after(owner); o != nil {
		return o
	}
	before := x.storedOwner(owner)
	x.owners = append(x.owners, ownerChange{owner, before, before.Clone()})
	return x.owners[len(x.owners)-1].after
}

// nameOf is the name of an owner that stands in the zone, and is short enough for that.
func (x *delta) nameOf(owner name.Rel) name.Name {
	n, _ := owner.In(x.zone.FQDN())
	return n
}

// refuseLocked refuses a change at a name that is locked here, and above such a name a cut or a new claim, for now. The
// zone's own namespace changes what is above, but for a DNAME: only that would keep names below from coming. Data that
// the zone's rules do not allow are refused for that. A cascade brings Records that stood, here or where they come
// from; Records that wait go on waiting, unless the lock is for them.
func (x *delta) refuseLocked() *law.Refusal {
	z, p := x.zone, x.place
	if x.ask.Cascade && (x.ask.Stood || !x.isNew()) {
		return nil
	}
	holding := x.holding.WithoutReplacement(x.ask.Work)
	base := rules.Base(x.come.Owner)
	at, err := base.In(z.FQDN())
	above := err == nil && holding.HasLockedBelow(at)
	if !above && !holding.HasLockedAt(p.fqdn) {
		return nil
	}
	grants := z.RuleSet().FindGrants(p.fqdn, x.come.Type, x.ask.Namespace)
	if len(grants) == 0 || !holding.HasLockedAt(p.fqdn) && !x.speaksAbove(base, grants) {
		return nil
	}
	return law.RefuseMoving(p.fqdn, z.FQDN())
}

// speaksAbove reports whether what comes has an effect on names below its base name: it cuts them off, or makes a new
// claim.
func (x *delta) speaksAbove(base name.Rel, grants []rules.Grant) bool {
	own := x.ask.Namespace == x.zone.Namespace
	switch t := x.come.Type; {
	case t == rdata.DNAME, t == rdata.NS && !own:
		return true
	case own, x.ownerAt(base).ClaimOf(x.ask.Namespace) != nil, x.gone != nil && rules.Base(x.gone.Owner) == base:
		return false
	}
	return !slices.ContainsFunc(grants, func(g rules.Grant) bool {
		return x.zone.RuleSet().KindOf(&g, x.come.Owner, x.ask.Namespace) == rules.AdmittedUnderscore
	})
}

// standsAlready reports whether a cascade decides a record anew that stands.
func (x *delta) standsAlready() bool { return x.ask.Cascade && x.stands() }

// stands reports whether the record has its name and type in the zone.
func (x *delta) stands() bool {
	b := x.ask.Before
	return b != nil && b.Zone.UID == x.zone.UID && b.Owner == x.come.Owner && b.Type == x.come.Type
}

// isNew reports whether the record is not yet in the zone, so taking it in adds one.
func (x *delta) isNew() bool {
	return x.ask.Before == nil || x.ask.Before.Zone.UID != x.zone.UID
}

// keys collects the writes of one zone's keys, the last value of each.
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

// ownStep says what the step of a record counts for.
func (x *delta) ownStep(h *law.Holding) (t law.Taken) {
	if t.Own = x.isOwnStep(); t.Own {
		t.NameServers = len(x.holding.ApexNS) > 0 && len(h.ApexNS) == 0
		t.BackNameServers = x.come != nil && x.come.Owner.IsApex() && x.come.Type == rdata.NS
	}
	return t
}

// isOwnStep reports whether the step is an act of the zone's own namespace: its client's, or of a cascade that it
// caused. Such a cascade also brings what is no act of that namespace: records that come from another zone, and those
// of others that waited until a name was free. Only what a rule lets in or out counts, and what lies in another zone
// from now on does not go.
func (x *delta) isOwnStep() bool {
	ask, z := &x.ask, x.zone
	switch {
	case ask.Uncounted:
		return false
	case !ask.Cascade:
		return ask.Namespace == z.Namespace
	case ask.WorkBy != z.Namespace:
		return false
	case x.gone == nil:
		return !ask.Stood && (ask.Namespace == z.Namespace || ask.ByRules)
	case ask.After == nil || x.come != nil:
		return true
	}
	at, err := x.gone.Owner.In(z.FQDN())
	if err != nil {
		return true
	}
	_, h := x.FindEnclosing(z.View, at)
	return h != nil && h.UID == z.UID
}
