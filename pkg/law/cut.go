// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
)

// CountedCut is what a parent counts for one delegated child: NS and glue (S6.1), and DS (S6.10).
type CountedCut struct {
	Sets []content.RRset `json:"sets"`
}

// Counts returns what parent is to count for the zone at fqdn with the holding h. before is what it counted until
// now, now the present NS and glue of the zone, and ds the data of its DS, which count where a rule says so.
//
// While a mass deletion holds the zone (S7.5), no NS and glue of before go, and none that the last parent counted: a
// resolver finds the delivered content of the zone by them. DS come and go with the keys of the signer.
func (h *Holding) Counts(parent, fqdn name.Name, before, now *CountedCut, ds []string) *CountedCut {
	owner, _ := fqdn.Rel(parent)
	if !h.DS {
		ds = nil
	}
	return h.keptCut(parent, owner, before.withDS(nil), now).withDS(ds)
}

// keptCut is Counts without DS.
func (h *Holding) keptCut(parent name.Name, owner name.Rel, before, now *CountedCut) *CountedCut {
	if h.Held == nil {
		return now
	}
	if kept := h.Held.Cut.rebaseCut(name.Root, parent); kept.childOwner() == owner && !before.includes(kept) {
		before = kept
	}
	if before.childOwner() != owner || now.includes(before) {
		return now
	}
	return before
}

// CountedBy reports whether parent counts the cut of the zone with the holding h.
func (h *Holding) CountedBy(parent *Zone) bool {
	return h.Parent != nil && h.Parent.UID == parent.UID && !h.ExternalCut
}

// RemovedBy reports whether parent's own namespace removes what parent counted for the zone with the holding h and
// counts no more (S7.5): the zone is its own. It does not remove what lies in a zone between the two from then on.
func (h *Holding) RemovedBy(parent *Zone) bool {
	return h.Namespace == parent.Namespace && (h.Enclosed == nil || h.Enclosed.By == parent.UID)
}

// childOwner returns the owner of the child's NS in c, zero for none: a parent counts nothing of a child without NS.
func (c *CountedCut) childOwner() name.Rel {
	if c == nil {
		return name.Rel{}
	}
	i := slices.IndexFunc(c.Sets, func(s content.RRset) bool { return s.Type == rdata.NS })
	if i < 0 {
		return name.Rel{}
	}
	return c.Sets[i].Owner
}

// withDS returns c with these DS at the name of the child, in the place of those that it has. They have the TTL of the
// NS there. Without NS there is no cut, and no DS.
func (c *CountedCut) withDS(ds []string) *CountedCut {
	if c == nil {
		return nil
	}
	out := &CountedCut{Sets: slices.DeleteFunc(slices.Clone(c.Sets), func(s content.RRset) bool { return s.Type == rdata.DS })}
	if i := slices.IndexFunc(out.Sets, func(s content.RRset) bool { return s.Type == rdata.NS }); i >= 0 && len(ds) > 0 {
		out.Sets = append(out.Sets, content.RRset{Owner: out.Sets[i].Owner, Type: rdata.DS, TTL: out.Sets[i].TTL, Data: slices.Clone(ds)})
		slices.SortFunc(out.Sets, content.RRset.Compare)
	}
	return out
}

// hasDS reports whether c has DS.
func (c *CountedCut) hasDS() bool {
	return c != nil && slices.ContainsFunc(c.Sets, func(s content.RRset) bool { return s.Type == rdata.DS })
}

// includes reports whether c has all that before had.
func (c *CountedCut) includes(before *CountedCut) bool {
	for _, s := range before.Sets {
		if c == nil || !slices.ContainsFunc(c.Sets, func(n content.RRset) bool {
			return n.Compare(s) == 0 && !slices.ContainsFunc(s.Data, func(text string) bool { return !slices.Contains(n.Data, text) })
		}) {
			return false
		}
	}
	return true
}

// rebaseCut returns c, which the zone from counted, as the zone to would count it; nil where that zone does not enclose
// it.
func (c *CountedCut) rebaseCut(from, to name.Name) *CountedCut {
	if c == nil {
		return nil
	}
	out := &CountedCut{Sets: slices.Clone(c.Sets)}
	for i := range out.Sets {
		at, err := out.Sets[i].Owner.In(from)
		owner, ok := at.Rel(to)
		if err != nil || !ok {
			return nil
		}
		out.Sets[i].Owner = owner
	}
	return out
}

// maxCutOwners bounds the owners that one step of a parent counts anew. With their marks (S7.5) they fit into a
// transaction of 128 operations, etcd's default.
const maxCutOwners = 40

// stepToward returns c with at most so many owners more as they are in all. Owners that come or change are first,
// then the child's name, then owners that go, so that no NS names a host that lacks its glue. Where all has no NS,
// the child's name is last.
func (c *CountedCut) stepToward(all *CountedCut, most int) *CountedCut {
	var owners []name.Rel
	for _, x := range []*CountedCut{c, all} {
		for _, s := range x.setsAt(nil) {
			if !slices.Contains(owners, s.Owner) {
				owners = append(owners, s.Owner)
			}
		}
	}
	rank := func(owner name.Rel) int {
		switch {
		case owner == all.childOwner():
			return 1
		case len(all.setsAt(&owner)) > 0:
			return 0
		case owner == c.childOwner():
			return 3
		}
		return 2
	}
	differ := slices.DeleteFunc(slices.Clone(owners), func(owner name.Rel) bool { return reflect.DeepEqual(c.setsAt(&owner), all.setsAt(&owner)) })
	if len(differ) <= most {
		return all
	}
	slices.SortStableFunc(differ, func(x, y name.Rel) int { return cmp.Compare(rank(x), rank(y)) })
	out := &CountedCut{}
	for _, owner := range owners {
		if slices.Contains(differ[most:], owner) {
			out.Sets = append(out.Sets, c.setsAt(&owner)...)
		} else {
			out.Sets = append(out.Sets, all.setsAt(&owner)...)
		}
	}
	return out
}

// setsAt returns the sets at an owner; all of them where that is nil.
func (c *CountedCut) setsAt(owner *name.Rel) (sets []content.RRset) {
	if c == nil {
		return nil
	}
	for _, s := range c.Sets {
		if owner == nil || s.Owner == *owner {
			sets = append(sets, s)
		}
	}
	return sets
}

// keepsCut notes what the parent counted for a held zone under the name fqdn, where the zone gets another parent or
// another name: the next parent counts that too. Of several names it keeps the first, under which the zone is
// delivered. h is the holding to be, and before the holding until now. false: facts are needed.
func (r *reading) keepsCut(h, before *Holding, fqdn name.Name) bool {
	if h.Held == nil || before.Parent == nil {
		return true
	}
	if at, _ := fqdn.Rel(name.Root); h.Held.Cut != nil && h.Held.Cut.childOwner() != at {
		return true
	}
	c, ok := get[CountedCut](r, CutKey(before.Parent.UID, before.UID))
	if !ok {
		return false
	}
	up := fqdn
	for range c.childOwner().Labels() {
		up, _ = up.Parent()
	}
	if owner, ok := fqdn.Rel(up); !ok || c.childOwner() != owner {
		return true // it counts nothing, or nothing yet under this name
	}
	held := *h.Held
	held.Cut = c.withDS(nil).rebaseCut(up, name.Root)
	h.Held = &held
	return true
}

// CutAsk is the request to count a child's NS, glue and DS anew, as Owed says.
type CutAsk struct {
	Parent *Zone
	Owed   PendingCut
	// Holding is that of the child, which stands at FQDN, Cut are the NS and glue that the child has there, and DS its
	// DS; nil where the parent does not delegate it.
	Holding *Holding
	FQDN    name.Name
	Cut     *CountedCut
	DS      []string
	Now     time.Time
	By      string
	// Work is the id of the cascade that brings the parent's records to the child, "" for none: a step that is made
	// meanwhile unsettles the parent (S7.2). WorkBy is the namespace that caused the cascade.
	Work, WorkBy string
	// Own says that the parent's own namespace removes what goes (S7.5).
	Own bool
}

// DecideCut decides the parent's step. Plan.Zone is nil when nothing changes.
func DecideCut(seen *Seen, ask CutAsk) Outcome {
	d := new(beginReading(seen))
	plan, refusal := decideCut(d, ask)
	return d.outcome(plan, refusal)
}

// newSets are the RRsets that the child gives its parent anew.
func (c *CountedCut) newSets(before *CountedCut) (out []rrset) {
	if c == nil {
		return nil
	}
	for _, s := range c.Sets {
		if before == nil || !slices.ContainsFunc(before.Sets, func(b content.RRset) bool { return b.Owner == s.Owner && b.Type == s.Type }) {
			out = append(out, rrset{s.Owner, s.Type})
		}
	}
	return out
}

func decideCut(d *reading, ask CutAsk) (*Plan, *Refusal) {
	p := ask.Parent
	holding, ok := d.holdingOf(p)
	if !ok {
		return nil, nil
	}
	key := CutKey(p.UID, ask.Owed.Child.UID)
	before, ok := get[CountedCut](d, key)
	if !ok {
		return nil, nil
	}
	var all *CountedCut
	if ask.Holding != nil {
		all = ask.Holding.Counts(p.FQDN(), ask.FQDN, before, ask.Cut, ask.DS)
	}
	own := ask.Own || before.hasDS() && len(ask.DS) > 0 && !ask.Holding.DS // the rule says ds no more
	plan := &Plan{}
	counts := before.stepToward(all, maxCutOwners)
	if counts != all {
		plan.PendingCuts = append(plan.PendingCuts, ask.Owed) // the rest is another step
	}
	df, writes, owners := cutDiff(d, p, before, counts)
	if len(d.needs) > 0 {
		return nil, nil
	}
	if df.empty() && len(writes) == 0 {
		return plan, nil
	}
	plan.Writes = append(writes, Write{Key: key, Value: cutFact(counts)})
	marked := holding.WithWork(ask.Work, p.Namespace, ask.WorkBy, "", name.Name{}, ask.Now.Unix())
	change := &ZoneChange{Zone: p, Holding: marked}
	if !df.empty() {
		if r := advanceZone(change, p, nil, df, ask.Now, nil, ask.By); r != nil {
			return nil, r
		}
	}
	if !d.countDeletions(plan, change, p, moved{of: ask.Owed.Child.Namespace, put: counts.newSets(before), own: own, cascade: ask.Work != ""}, ask.Now.Unix()) {
		return nil, nil
	}
	c, known := judgeServable(d, change.Zone, change.Holding, owners)
	if !known {
		return nil, nil
	}
	change.Servable = c
	plan.Zone = change
	if change.Holding != holding {
		plan.Writes = append(plan.Writes, Write{Key: HoldingKey(p.View, p.FQDN()), Value: change.Holding})
	}
	return plan, nil
}

// cutFact is what is stored of c.
func cutFact(c *CountedCut) any {
	if c == nil {
		return nil
	}
	return c
}

// cutDiff returns how the definition of p changes when it counts after instead of before, the writes of owners that
// say so, and the owners. A value that p's own records also give stays one value.
func cutDiff(d *reading, p *Zone, before, after *CountedCut) (*diff, []Write, ownerChanges) {
	var sets []rrset
	data := map[rrset][]string{}
	var owners ownerChanges
	count := func(c *CountedCut, n int) {
		if c == nil {
			return
		}
		for _, s := range c.Sets {
			k := rrset{s.Owner, s.Type}
			if _, ok := data[k]; !ok {
				sets = append(sets, k)
			}
			data[k] = append(data[k], s.Data...)
			o := owners.after(s.Owner)
			if o == nil {
				stored, ok := get[Owner](d, OwnerKey(p.UID, s.Owner))
				if !ok {
					continue
				}
				o = stored.clone()
				owners = append(owners, ownerChange{s.Owner, stored, o})
			}
			o.countCut(s, n)
		}
	}
	count(before, -1)
	count(after, 1)
	df := &diff{}
	if len(d.needs) > 0 {
		return df, nil, nil
	}
	for _, k := range sets {
		o := &owners[slices.IndexFunc(owners, func(o ownerChange) bool { return o.at == k.owner })]
		slices.Sort(data[k])
		df.compareSet(o, k.t, slices.Compact(data[k]))
	}
	slices.SortFunc(df.removed, content.Row.Compare)
	slices.SortFunc(df.added, content.Row.Compare)
	df.sortTTLs()
	var writes []Write
	for _, o := range owners {
		if !slices.EqualFunc(ownerCut(o.before), o.after.Cut, sameOwnerValue) {
			if len(o.after.Values)+len(o.after.Cut) == 0 && !o.after.WaitedBelow {
				o.after.Waited = false // the cascade of the child looks at all that waits there
			}
			writes = append(writes, Write{Key: OwnerKey(p.UID, o.at), Value: ownerFact(o.after)})
		}
	}
	return df, writes, owners
}

func ownerCut(o *Owner) []OwnerValue {
	if o == nil {
		return nil
	}
	return o.Cut
}

func sameOwnerValue(x, y OwnerValue) bool {
	return compareOwnerValues(x, y) == 0 && x.Count == y.Count
}
