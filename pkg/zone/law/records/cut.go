// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/claims"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// CutInput is the input of DecideCut, which updates a child zone's cut (name servers, glue and DS) in the content of
// its parent.
type CutInput struct {
	Parent  *law.Zone
	Pending law.Derivation
	// Holding, Cut (NS and glue) and DS are the child's present state, or nil if the parent no longer lists such a
	// child.
	Holding *law.Holding
	Cut     *law.CountedCut
	DS      []string
	Now     time.Time
	By      string // user
	// MarkID is the ID of a background job (cascade) that moves records from the parent to the child, or "". Until the
	// job ends, name servers get no half of the move. CausedBy is the namespace behind the job.
	MarkID, CausedBy string
	// Own is true for an act of the parent's own namespace: removed RRsets count towards a mass deletion.
	Own bool
}

// DecideCut plans the change of the parent's content for the child. Plan.Zone is nil if nothing changes.
func DecideCut(seen *law.Facts, ask CutInput) law.Outcome {
	return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) { return decideCut(r, ask) })
}

// decideCut plans the step from the parent's stored cut to the child's present cut. The plan is empty without
// a difference.
func decideCut(d *law.Reading, ask CutInput) (*law.Plan, *law.Refusal) {
	p := ask.Parent
	holding := d.HoldingOf(p)
	key := law.CutKey(p.UID, ask.Pending.From.UID)
	before := law.Get[law.CountedCut](d, key)
	// Without a Holding, the child is gone or no longer delegated, and the parent drops its cut.
	var counts *law.CountedCut
	if ask.Holding != nil {
		counts = ask.Holding.CutWithDS(ask.Cut, ask.DS)
	}

	plan := &law.Plan{}
	df, writes, owners := cutDiff(d, p, before, counts)
	if df.empty() && len(writes) == 0 {
		return plan, nil
	}

	// Store the new cut with the changed owners.
	plan.Writes = append(writes, law.Write{Key: key, Value: cutFact(counts)})
	marked := holding.WithWork(ask.MarkID, p.Namespace, ask.CausedBy, ask.Now.Unix())
	change := &law.ZoneChange{Zone: p, Holding: marked}
	// The zone of a tenant takes hosts at and below its name, to which own's MX may lead (S4.26).
	if before == nil && ask.Pending.From.Namespace != p.Namespace {
		change.Notices = findTakenHosts(d, p, ask.Pending.FQDN)
	}
	// The NS make names between the child and a wildcard above exist (S4.25).
	if isFirst := (before == nil || len(before.Sets) == 0) && counts != nil && len(counts.Sets) > 0; isFirst {
		change.Notices = append(change.Notices, findHiddenByCut(d, p, holding, ask.Pending)...)
	}

	// An NS Record of the parent may have the same value. Then only counts change, and no serial.
	if !df.empty() {
		if r := AdvanceZone(change, p, nil, df, ask.Now, nil, ask.By); r != nil {
			return nil, r
		}
	}

	change.CountDeletions(plan, p, p, law.CountedStep{Own: ask.Own && !p.Terminating}, ask.Now.Unix())
	c := JudgeServable(d, change.Zone, change.Holding, owners)
	change.Servable = c
	plan.Zone = change
	if change.Holding != holding {
		plan.Writes = append(plan.Writes, law.Write{Key: law.HoldingKey(p.View, p.FQDN()), Value: change.Holding})
	}

	return plan, nil
}

// findHiddenByCut tells the namespaces at a wildcard of a name above the child that it no longer answers for.
func findHiddenByCut(d *law.Reading, p *law.Zone, holding *law.Holding, child law.Derivation) []law.Notice {
	at, _ := child.FQDN.Rel(p.FQDN())
	c := claims.Claimant{Reading: d, Zone: p, Holding: holding, Namespace: child.From.Namespace,
		OwnerAt: func(n name.Rel) *law.Owner { return law.Get[law.Owner](d, law.OwnerKey(p.UID, n)) }}
	a, ok := c.FindHiddenAbove(at)
	if !ok {
		return nil
	}
	base := c.OwnerAt(rules.Base(a.Wildcard))
	// Only the child's own namespace has data at the wildcard's base, and needs no Event.
	if !base.IsClaimedBeside(c.Namespace) {
		return nil
	}
	const warned = true // when the child was made
	return hiddenNotices(p, base, []name.Name{c.NameOf(a.Top)}, a.Wildcard, c.Namespace, warned)
}

// findTakenHosts returns the notices for hosts at or below a tenant's new zone, to which records of the parent's own
// namespace lead.
func findTakenHosts(d *law.Reading, p *law.Zone, child name.Name) []law.Notice {
	at, _ := child.Rel(p.FQDN())
	d.RequireAll([]law.Key{law.OwnerKey(p.UID, at), law.OwnersBelowKey(p.UID, at)})
	var hosts []name.Rel
	if o := law.Get[law.Owner](d, law.OwnerKey(p.UID, at)); o != nil && o.Pointers > 0 {
		hosts = append(hosts, at)
	}
	if below := law.Get[law.OwnersBelow](d, law.OwnersBelowKey(p.UID, at)); below != nil {
		hosts = append(hosts, below.PointerHosts...)
	}
	return takenHostNotices(p, hosts)
}

// cutFact returns an untyped nil for no cut, which deletes the key.
func cutFact(c *law.CountedCut) any {
	if c == nil {
		return nil
	}
	return c
}

type rrset struct {
	owner name.Rel
	t     rdata.Type
}

// cutDiff returns the change of p's content for a new cut of a child zone. A value that a Record also has stays.
func cutDiff(d *law.Reading, p *law.Zone, before, after *law.CountedCut) (*Diff, []law.Write, ownerChanges) {
	var sets []rrset
	data := map[rrset][]string{}
	var owners ownerChanges
	count := func(c *law.CountedCut, n int) {
		if c == nil {
			return
		}

		for _, s := range c.Sets {
			k := rrset{s.Owner, s.Type}
			if _, ok := data[k]; !ok {
				sets = append(sets, k)
			}
			data[k] = append(data[k], s.Data...)
			o := owners.findAfter(s.Owner)
			if o == nil {
				stored := law.Get[law.Owner](d, law.OwnerKey(p.UID, s.Owner))
				o = stored.Clone()
				owners = append(owners, ownerChange{s.Owner, stored, o})
			}
			o.CountCut(s, n)
		}
	}

	// Read all owners in a single round.
	var ks []law.Key
	for _, c := range []*law.CountedCut{before, after} {
		if c != nil {
			for _, s := range c.Sets {
				ks = append(ks, law.OwnerKey(p.UID, s.Owner))
			}
		}
	}

	d.RequireAll(ks)
	count(before, -1)
	count(after, 1)

	// Compare the RRsets of both cuts.
	df := &Diff{}
	for _, k := range sets {
		o := &owners[slices.IndexFunc(owners, func(o ownerChange) bool { return o.owner == k.owner })]
		slices.Sort(data[k])
		df.compareSet(o, k.t, slices.Compact(data[k]))
	}

	// The child's NS hide derived PTR at its name.
	var writes []law.Write
	for i := range owners {
		derived, hiding := rehidePTR(d, p, &owners[i])
		df.compareSet(&owners[i], rdata.PTR, derived)
		writes = append(writes, hiding...)
	}
	slices.SortFunc(df.removed, content.Row.Compare)
	slices.SortFunc(df.added, content.Row.Compare)
	df.sortTTLs()

	// An owner whose counts are the same in both cuts needs no write.
	for _, o := range owners {
		if !slices.EqualFunc(ownerCut(o.before), o.after.Cut, sameOwnerValue) {
			writes = append(writes, law.Write{Key: law.OwnerKey(p.UID, o.owner), Value: o.after.Fact()})
		}
	}

	return df, writes, owners
}

func sameOwnerValue(x, y law.OwnerValue) bool {
	return law.CompareOwnerValues(x, y) == 0 && x.Count == y.Count
}
