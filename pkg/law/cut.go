// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"cmp"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law/content"
)

// CountedCut is what a parent counts for one delegated child (S6.1).
type CountedCut struct {
	Sets []content.RRset `json:"sets"`
	// MissingGlue: a name server of the child below the cut has no address.
	MissingGlue bool `json:"missingGlue,omitempty"`
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
}

// DecideCut decides the parent's step. Plan.Zone is nil when nothing changes.
func DecideCut(seen Seen, ask CutAsk) Outcome {
	d := &reading{seen: seen}
	plan, refusal := decideCut(d, ask)
	if len(d.needs) > 0 {
		return Outcome{Need: d.needs}
	}
	if refusal != nil {
		return Outcome{Refusal: refusal, Used: d.used}
	}
	return Outcome{Plan: plan, Used: d.used}
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
	df := cutDiff(ask.Before, ask.After)
	missing := func(c *CountedCut) int {
		if c != nil && c.MissingGlue {
			return 1
		}
		return 0
	}
	glue := missing(ask.After) - missing(ask.Before)
	if df.empty() && glue == 0 {
		return plan, nil
	}
	marked := holding.WithWork(ask.Work, p.Namespace, ask.WorkBy, "", name.Name{}, ask.Now.Unix())
	change := &ZoneChange{Zone: p, Holding: marked}
	if glue != 0 {
		h := *marked
		h.MissingGlue += glue
		change.Holding = &h
	}
	if !df.empty() {
		if r := advance(change, p, df, ask.Now, nil, ask.By); r != nil {
			return nil, r
		}
	}
	c, known := servable(d, change.Zone, change.Holding, nil)
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

func cutDiff(before, after *CountedCut) *diff {
	type ttlKey struct {
		owner name.Rel
		t     uint16
	}
	rows := func(c *CountedCut) (map[content.Row]bool, map[ttlKey]content.RRset) {
		m, sets := map[content.Row]bool{}, map[ttlKey]content.RRset{}
		if c != nil {
			for _, s := range c.Sets {
				sets[ttlKey{s.Owner, uint16(s.Type)}] = s
				for _, data := range s.Data {
					m[content.Row{Owner: s.Owner, Type: s.Type, Data: data}] = true
				}
			}
		}
		return m, sets
	}
	was, wasSets := rows(before)
	is, isSets := rows(after)
	d := &diff{}
	for r := range was {
		if !is[r] {
			d.removed = append(d.removed, r)
		}
	}
	for r := range is {
		if !was[r] {
			d.added = append(d.added, r)
		}
	}
	d.rows = len(d.added) - len(d.removed)
	slices.SortFunc(d.removed, content.Row.Compare)
	slices.SortFunc(d.added, content.Row.Compare)
	for k, s := range wasSets {
		ttl := s.TTL
		switch n, ok := isSets[k]; {
		case !ok:
			d.ttls = append(d.ttls, content.TTLChange{Owner: s.Owner, Type: s.Type, Before: &ttl})
		case n.TTL != ttl:
			d.ttls = append(d.ttls, content.TTLChange{Owner: s.Owner, Type: s.Type, Before: &ttl, After: &n.TTL})
		}
	}
	for k, s := range isSets {
		if _, ok := wasSets[k]; !ok {
			ttl := s.TTL
			d.ttls = append(d.ttls, content.TTLChange{Owner: s.Owner, Type: s.Type, After: &ttl})
		}
	}
	slices.SortFunc(d.ttls, func(x, y content.TTLChange) int {
		return cmp.Or(x.Owner.Compare(y.Owner), cmp.Compare(x.Type, y.Type))
	})
	return d
}
