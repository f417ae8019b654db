// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
)

// CountedCut is what a parent counts for one delegated child: NS and glue (S6.1), and DS (S6.16).
type CountedCut struct {
	Sets []content.RRset `json:"sets"`
}

// Counts returns what the parent of the zone with the holding h is to count for it: its NS and glue, and its DS, which
// count where a rule says so.
func (h *Holding) Counts(cut *CountedCut, ds []string) *CountedCut {
	if !h.DS {
		ds = nil
	}
	return cut.withDS(ds)
}

// KeepsCut reports whether the parent of the zone with the holding h, which has counted a cut for it, counts it anew
// when the hold ends (S7.5): a resolver finds the delivered content of the zone by it.
func (h *Holding) KeepsCut(counted *CountedCut) bool { return h.Held != nil && counted != nil }

// CountedBy reports whether parent counts the cut of the zone with the holding h.
func (h *Holding) CountedBy(parent *Zone) bool {
	return h.Parent != nil && h.Parent.UID == parent.UID
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

// CutAsk is the request to count a child's NS, glue and DS anew, as Owed says.
type CutAsk struct {
	Parent *Zone
	Owed   PendingCut
	// Holding is that of the child, Cut are the NS and glue that the child has, and DS its DS; nil where the parent
	// does not delegate it.
	Holding *Holding
	Cut     *CountedCut
	DS      []string
	Now     time.Time
	By      string
	// Work is the id of the cascade that brings the parent's records to the child, "" for none: a step that is made
	// meanwhile unsettles the parent (S7.2). WorkBy is the namespace that caused the cascade.
	Work, WorkBy string
	// Own says that the child is the parent's own namespace's, and in no other zone now: what comes and goes is that
	// namespace's act (S7.5).
	Own bool
}

// DecideCut decides the parent's step. Plan.Zone is nil when nothing changes.
func DecideCut(seen *Seen, ask CutAsk) Outcome {
	return decide(seen, func(r *reading) (*Plan, *Refusal) { return decideCut(r, ask) })
}

func decideCut(d *reading, ask CutAsk) (*Plan, *Refusal) {
	p := ask.Parent
	holding := d.holdingOf(p)
	key := CutKey(p.UID, ask.Owed.Child.UID)
	before := get[CountedCut](d, key)
	var counts *CountedCut
	if ask.Holding != nil {
		counts = ask.Holding.Counts(ask.Cut, ask.DS)
	}
	plan := &Plan{}
	df, writes, owners := cutDiff(d, p, before, counts)
	if df.empty() && len(writes) == 0 {
		return plan, nil
	}
	plan.Writes = append(writes, Write{Key: key, Value: cutFact(counts)})
	marked := holding.WithWork(ask.Work, p.Namespace, ask.WorkBy, ask.Now.Unix())
	change := &ZoneChange{Zone: p, Holding: marked}
	if !df.empty() {
		if r := advanceZone(change, p, nil, df, ask.Now, nil, ask.By); r != nil {
			return nil, r
		}
	}
	change.countDeletions(plan, p, p, taken{own: ask.Own}, ask.Now.Unix())
	c := judgeServable(d, change.Zone, change.Holding, owners)
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

// rrset names an RRset of a zone.
type rrset struct {
	owner name.Rel
	t     rdata.Type
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
				stored := get[Owner](d, OwnerKey(p.UID, s.Owner))
				o = stored.clone()
				owners = append(owners, ownerChange{s.Owner, stored, o})
			}
			o.countCut(s, n)
		}
	}
	var ks []Key
	for _, c := range []*CountedCut{before, after} {
		if c != nil {
			for _, s := range c.Sets {
				ks = append(ks, OwnerKey(p.UID, s.Owner))
			}
		}
	}
	d.askAll(ks)
	count(before, -1)
	count(after, 1)
	df := &diff{}
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
