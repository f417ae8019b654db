// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
)

// CountedCut is what a parent counts for one delegated child (S6.1).
type CountedCut struct {
	Sets []content.RRset `json:"sets"`

	Unknown *Unknown `json:"-"`
}

// Counts is what the parent counts for the zone that h is the holding of, where the zone's present cut is now. While a mass deletion
// holds the zone (S7.5) nothing of before goes, since a resolver finds what is delivered of the zone by it. owner is the zone's name
// in the parent: what was counted at another one, before a rename, goes all the same.
func (h *Holding) Counts(owner name.Rel, before, now *CountedCut) *CountedCut {
	if h.Held == nil || before == nil || !slices.ContainsFunc(before.Sets, func(s content.RRset) bool { return s.Owner == owner && s.Type == rdata.NS }) {
		return now
	}
	for _, s := range before.Sets {
		if now == nil || !slices.ContainsFunc(now.Sets, func(n content.RRset) bool {
			return n.Compare(s) == 0 && !slices.ContainsFunc(s.Data, func(text string) bool { return !slices.Contains(n.Data, text) })
		}) {
			return before
		}
	}
	return now
}

// CutAsk is the request to count a child's NS and glue anew: to pay a debt.
type CutAsk struct {
	Parent        *Zone
	Before, After *CountedCut // nil: none
	Now           time.Time
	By            string
	// Work is the cascade of the child that brings the parent's records to it, ""
	// when none stands: paying meanwhile unsettles the parent (S7.2). WorkBy is who
	// caused it.
	Work, WorkBy string
	// Child is the child's namespace. Own: what goes is removed by the parent's own (S7.5).
	Child string
	Own   bool
}

// DecideCut decides the parent's step. Plan.Zone is nil when nothing changes.
func DecideCut(seen *Seen, ask CutAsk) Outcome {
	d := new(read(seen))
	plan, refusal := decideCut(d, ask)
	if len(d.needs) > 0 {
		return Outcome{Need: d.needs}
	}
	if refusal != nil {
		return Outcome{Refusal: refusal}
	}
	return Outcome{Plan: plan}
}

// put are the RRsets that the child gives its parent anew.
func (a *CutAsk) put() (out []rrset) {
	if a.After == nil {
		return nil
	}
	for _, s := range a.After.Sets {
		if a.Before == nil || !slices.ContainsFunc(a.Before.Sets, func(b content.RRset) bool { return b.Owner == s.Owner && b.Type == s.Type }) {
			out = append(out, rrset{s.Owner, s.Type})
		}
	}
	return out
}

func decideCut(d *reading, ask CutAsk) (*Plan, *Refusal) {
	p := ask.Parent
	holding, ok := get[Holding](d, HoldingKey(p.View, p.FQDN()))
	if !ok {
		return nil, nil
	}
	if holding == nil || holding.UID != p.UID {
		d.stale()
		return nil, nil
	}
	plan := &Plan{}
	df, owners, after := cutDiff(d, p, ask.Before, ask.After)
	if len(d.needs) > 0 {
		return nil, nil
	}
	if df.empty() && len(owners) == 0 {
		return plan, nil
	}
	plan.Writes = owners
	marked := holding.WithWork(ask.Work, p.Namespace, ask.WorkBy, "", name.Name{}, ask.Now.Unix())
	change := &ZoneChange{Zone: p, Holding: marked}
	if !df.empty() {
		if r := advance(change, p, df, ask.Now, nil, ask.By); r != nil {
			return nil, r
		}
	}
	if !d.brake(plan, change, p, moved{of: ask.Child, put: ask.put(), own: ask.Own, cascade: ask.Work != ""}, ask.Now.Unix()) {
		return nil, nil
	}
	c, known := servable(d, change.Zone, change.Holding, after)
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

// cutDiff is how the definition of p changes when it counts after instead of
// before, the owners that say so, and the owners as they are after. A value that p's own records give too stays
// one value.
func cutDiff(d *reading, p *Zone, before, after *CountedCut) (*diff, []Write, map[name.Rel]*Owner) {
	type set struct {
		owner name.Rel
		t     rdata.Type
	}
	var sets []set
	data := map[set][]string{}
	var order []name.Rel
	was, is := map[name.Rel]*Owner{}, map[name.Rel]*Owner{}
	count := func(c *CountedCut, n int) {
		if c == nil {
			return
		}
		for _, s := range c.Sets {
			k := set{s.Owner, s.Type}
			if _, ok := data[k]; !ok {
				sets = append(sets, k)
			}
			data[k] = append(data[k], s.Data...)
			if is[s.Owner] == nil {
				o, ok := get[Owner](d, OwnerKey(p.UID, s.Owner))
				if !ok {
					continue
				}
				was[s.Owner], is[s.Owner] = o, o.clone()
				order = append(order, s.Owner)
			}
			is[s.Owner].countCut(s, n)
		}
	}
	count(before, -1)
	count(after, 1)
	df := &diff{}
	if len(d.needs) > 0 {
		return df, nil, nil
	}
	for _, k := range sets {
		slices.Sort(data[k])
		for _, text := range slices.Compact(data[k]) {
			row, dg := content.Row{Owner: k.owner, Type: k.t, Data: text}, DigestOf(text)
			switch had, has := was[k.owner].defines(k.t, dg), is[k.owner].defines(k.t, dg); {
			case had && !has:
				df.removed = append(df.removed, row)
			case !had && has:
				df.added = append(df.added, row)
			}
		}
		x, y := was[k.owner].definedTTL(k.t), is[k.owner].definedTTL(k.t)
		if x == nil && y == nil || x != nil && y != nil && *x == *y {
			continue
		}
		df.ttls = append(df.ttls, content.TTLChange{Owner: k.owner, Type: k.t, Before: x, After: y})
	}
	df.rows = len(df.added) - len(df.removed)
	slices.SortFunc(df.removed, content.Row.Compare)
	slices.SortFunc(df.added, content.Row.Compare)
	slices.SortFunc(df.ttls, func(x, y content.TTLChange) int {
		return cmp.Or(x.Owner.Compare(y.Owner), cmp.Compare(x.Type, y.Type))
	})
	var writes []Write
	for _, owner := range order {
		if !slices.EqualFunc(ownerCut(was[owner]), is[owner].Cut, sameOwnerValue) {
			if o := is[owner]; len(o.Values)+len(o.Cut) == 0 && !o.WaitedBelow {
				o.Waited = false // the cascade of the child looks at all that waits there
			}
			writes = append(writes, Write{Key: OwnerKey(p.UID, owner), Value: ownerFact(is[owner])})
		}
	}
	return df, writes, is
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
