// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
)

// errBeginsBatch means that the write must begin a batch: it depends on this batch's puts, or the batch has read
// enough.
var errBeginsBatch = errors.New("the write begins a batch")

// admitGroup adds a decided group to the batch: puts and step to the draft, compares and read sets to the proof. A
// refused group or dry run adds compares only. If the group does not fit, the error is errBeginsBatch.
func (b *batch) admitGroup(ctx context.Context, g *group, d decisions, before *draft) error {
	if g.onlyCompares = g.preview || g.isRefused(); g.onlyCompares {
		// The writes behind in the same order depend on this one.
		g.order.breakOff()
	} else if err := b.placeGroup(ctx, g, &d, before); err != nil {
		return err
	}
	b.addProofs(g)
	b.causes, b.groups, b.members = append(b.causes, g.commit), append(b.groups, g), append(b.members, g.members...)

	// With several locks, the next group may belong to another zone than this batch.
	b.closed = b.closed || g.goesAlone() || len(b.locks) > 1
	return nil
}

// placeGroup adds the objects of a group, its step and former states to the draft. A dry run of a set needs the placed
// objects for its answer, but puts nothing.
func (b *batch) placeGroup(ctx context.Context, g *group, d *decisions, before *draft) error {
	step := b.endSet(g, d, before)
	if err := b.placeMembers(ctx, g); err != nil {
		return err
	}
	if g.onlyCompares = g.isDry(); g.onlyCompares {
		return nil
	}
	b.addStates(ctx, g, step)
	if !b.addStep(g, step, before) {
		return errBeginsBatch
	}
	if len(b.groups) == 0 && g.set == nil {
		b.setBaseZone(g.members[0])
	}
	b.writers = append(b.writers, g.members...)
	return nil
}

// restoreDraft undoes a group that is refused or does not fit. A newer base zone that the group has read stays.
func (b *batch) restoreDraft(before draft) {
	// A fact may have changed twice, in a set for example, so the oldest value must win.
	for _, u := range slices.Backward(b.undo) {
		if u.written {
			b.Facts[u.key] = u.value
		} else {
			delete(b.Facts, u.key)
		}
	}
	if before.Facts = b.Facts; b.change == before.change {
		before.Key, before.Base, before.Mod, before.Zone = b.Key, b.Base, b.Mod, b.Zone
	}
	b.draft = before
}

// missingLocks returns the keys of the zones that a plan changes without a lock of this batch: the zone of the write,
// and each zone whose holding changes, such as the parent of a new child zone. Nil means that the plan may be applied.
func (b *batch) missingLocks(plan *law.Plan) (missing []string) {
	need := func(z law.Ref) {
		key := b.com.Mem.Layout.Zone(z.Namespace, z.Name)
		if !slices.ContainsFunc(b.locks, func(h *queue) bool { return h.Key == key }) && !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	if plan.Zone != nil {
		need(plan.Zone.Zone.Ref)
	}
	for _, x := range plan.Writes {
		if h, ok := x.Value.(*law.Holding); ok && h != nil {
			// A nil holding removes the zone of the write itself, which is locked.
			need(h.Ref)
		}
	}
	return missing
}

// applyPlan changes the draft by a plan: the facts, and the zone for the next decision. Conditions and notices of
// earlier writes in the batch stay, unless this plan has newer conditions.
func (b *batch) applyPlan(plan *law.Plan, changes []law.Write) {
	for _, x := range changes {
		b.setFact(x.Key, x.Value)
	}
	if plan.Zone == nil {
		return
	}
	// A copy, because the change sums up all writes of the batch, and the plan is of a single write.
	c := *plan.Zone
	if before := b.change; before != nil {
		c.BeginsHold = c.BeginsHold || before.BeginsHold
		c.Notices = slices.Concat(before.Notices, c.Notices)
		if c.Delegated == nil {
			c.Delegated = before.Delegated
		}
		if c.Servable == nil {
			c.Servable = before.Servable
		}
		if c.EndsAt == 0 {
			c.EndsAt = before.EndsAt
		}
	}
	c.BeginsHold = c.BeginsHold && isHeld(&c) // a later write may restore the removed RRsets
	b.change, b.Zone, b.object = &c, c.Zone, nil
}

func isHeld(c *law.ZoneChange) bool { return c.Holding != nil && c.Holding.Held != nil }

func (b *batch) setFact(key law.Key, value any) {
	before, written := b.Facts[key]
	if b.undo = append(b.undo, undone{key, before, written}); written {
		b.octets -= weigh(before)
	}
	if b.Facts == nil {
		b.Facts = map[law.Key]any{}
	}
	b.octets += weigh(value)
	b.Facts[key] = value
}

// weigh estimates the octets of a fact in the transaction, key included.
func weigh(fact any) int {
	switch v := fact.(type) {
	case *law.Owner:
		return etcd.KeyOctets + 96*(len(v.Values)+len(v.Cut)) + 128*len(v.Claims)
	}
	return 2 * etcd.KeyOctets
}

// endSet returns the group's step (change of the zone's content), or nil if the writes of a set cancel out.
func (b *batch) endSet(g *group, d *decisions, before *draft) (step *content.Step) {
	if g.set == nil {
		return d.step
	}
	if step = d.step; len(d.steps) > 1 && len(step.Added)+len(step.Removed)+len(step.TTLs) == 0 {
		// For example, the set deletes a Record with 192.0.2.1 at www, and creates another Record with the same value.
		b.undoSerial(g.set.zoneBefore)
		step = nil
	}
	if b.change != before.change {
		// Items in between may exceed the limit of removals. Only the set as a whole counts for a hold (S7.5).
		c := *b.change
		c.BeginsHold = d.held && isHeld(&c)
		g.set.change = &c
	}
	return step
}

// undoSerial gives the zone the serial and step number that it had before the set (opening), because the content is the
// same (S6.8).
func (b *batch) undoSerial(opening *law.Zone) {
	z, c := *b.Zone, *b.change
	z.Serial, z.N, z.Changed = opening.Serial, opening.N, opening.Changed
	c.Zone, c.Step = &z, nil
	// A new serial may also have consumed the zone's minimumSerial, so this is undone too.
	key := law.HoldingKey(z.View, z.FQDN())
	i := slices.IndexFunc(b.undo, func(u undone) bool { return u.key == key })
	if h, _ := b.Facts[key].(*law.Holding); i >= 0 && h != nil {
		before, _ := b.undo[i].value.(*law.Holding)
		if !b.undo[i].written {
			// The draft had no holding of the zone, so the stored holding counts.
			before = b.com.Mem.HoldingOf(key)
		}
		after := *h
		if after.MinimumConsumed = nil; before != nil {
			after.MinimumConsumed = before.MinimumConsumed
		}
		b.Facts[key], c.Holding = &after, &after
	}
	b.Zone, b.change = &z, &c
}

// placeMembers adds to the draft the operations of the group's objects, with their status, and the keys that follow
// from them. An error is about the group alone, for example an object that is too long.
func (b *batch) placeMembers(ctx context.Context, g *group) error {
	for _, m := range g.members {
		op, object, err := m.ObjectOp(ctx, m.plan)
		if err != nil {
			return err
		}
		if m.op = (clientv3.Op{}); op != nil {
			m.op = *op
		}
		if object != nil {
			// The write is of the Zone itself.
			b.object = object
		}
		if m.plan != nil {
			b.putPending(g, m)
		}
		if m.writesObject() {
			b.octets += len(m.op.ValueBytes()) + 2*len(m.Key) + etcd.KeyOctets
			b.writes++
		}
	}
	return nil
}

// putPending adds to the draft the keys that later work needs: those by which a zone finds a waiting object, the outbox
// item, and pending cuts.
func (b *batch) putPending(g *group, m *member) {
	p, layouts, count := m.plan, b.com.Mem.Layout, len(b.Puts)
	if p.WaitingBefore != nil {
		// Deletions first: an object that goes on waiting puts the same keys again.
		for _, key := range layouts.Waiting(p.WaitingBefore, m.Resource, m.Namespace, m.Name) {
			b.Puts.Del(key)
		}
	}
	if p.Waiting != nil {
		// A new zone apps.example.org. finds by these keys the Records that wait at and below its name (S2.7).
		for _, key := range layouts.Waiting(p.Waiting, m.Resource, m.Namespace, m.Name) {
			b.Puts.Set(key, layout.Waiter{UID: m.uid, Created: m.created, Moves: p.Waiting.Moves, KeptOut: p.Waiting.KeptOut})
		}
	}
	if p.Work != nil {
		b.Puts.Set(layouts.Outbox(p.Work.ID), g.traceWork(p.Work))
	}
	for _, d := range p.Derivations {
		b.Puts.Set(layouts.Derivation(d), d)
	}
	if p.Zone != nil && m.OutboxItem != nil {
		b.addZoneToItem(m, p.Zone)
	}
	if m.ExtraOps != nil {
		// Keys of Delegations and of the outbox, compared as they were when the caller read them.
		cmps, ops := m.ExtraOps(p)
		m.cmps = append(m.cmps, cmps...)
		for _, op := range ops {
			b.Puts.Add(etcd.KeyValue{Key: string(op.KeyBytes()), Value: op.ValueBytes(), Gone: op.IsDelete()})
		}
	}
	for _, x := range b.Puts[count:] {
		b.octets += len(x.Key) + len(x.Value)
	}
}

// addZoneToItem adds a zone to the outbox item of a cascade (background work), in the cascade's first transaction at
// the zone, so that any server can finish the cascade. A transaction that leaves the cascade's mark at the zone
// compares the item, because another server may have removed item and mark.
func (b *batch) addZoneToItem(m *member, c *law.ZoneChange) {
	item := m.OutboxItem
	isMark := func(mark law.CascadeMark) bool { return mark.ID == item.Work.ID }
	if c.Removed || c.Zone.Pending || !slices.ContainsFunc(c.Holding.Works, isMark) {
		return
	}
	key := b.com.Mem.Layout.Outbox(item.Work.ID)
	m.cmps = append(m.cmps, etcd.RevisionIs(key, item.Mod))
	if slices.ContainsFunc(item.Work.Zones, func(p law.Place) bool { return p.UID == c.Zone.UID }) {
		return
	}

	next := item.Work
	next.Zones = append(slices.Clone(item.Work.Zones), law.Place{Ref: c.Zone.Ref, View: c.Zone.View, FQDN: c.Zone.FQDN()})
	b.Puts.Set(key, next)
	b.itemUpdates = append(b.itemUpdates, itemUpdate{item, next})
}

// addStep adds the group's step to the journal value of the batch, and reports false if the group must begin the next
// batch. A nil step is of a write without a change of content.
func (b *batch) addStep(g *group, step *content.Step, before *draft) bool {
	if !b.hasRoom(g, before) {
		return false
	}
	long, most := b.isLong(g, before), maxEntry
	if len(b.groups) == 0 {
		most = MaxBatchOctets << 10 // no limit
	}
	if step != nil {
		octets, ok := b.steps.Add(step, most)
		if !ok {
			return false
		}
		b.octets, long = b.octets+octets, long || octets > maxEntry
	}

	// A long write commits alone.
	b.closed = b.closed || long
	return true
}

// hasRoom reports whether a group, already in the draft, may commit with the groups before.
func (b *batch) hasRoom(g *group, before *draft) bool {
	compares := len(b.cmps)
	for _, m := range g.members {
		compares += len(m.cmps)
	}
	switch {
	case len(b.groups) == 0:
		// No other batch could be smaller.
		return true
	case b.isLong(g, before), unsettles(before.change, b.change):
		return false
	case b.writes > subrev.Objects:
		return false
	}
	return max(compares, b.countPuts()) <= int(b.com.Mem.Ops.Load())
}

// unsettles reports whether a write begins a hold. A journal value has a single Settled for all steps, so such a write
// begins a batch.
func unsettles(before, after *law.ZoneChange) bool {
	return before != nil && before.Settled() && !after.Settled()
}

func (b *batch) isLong(g *group, before *draft) bool {
	hasLongObject := func(m *member) bool { return len(m.op.ValueBytes()) > maxEntry }
	return b.octets-before.octets > 4*maxEntry || slices.ContainsFunc(g.members, hasLongObject)
}

// setBaseZone makes the zone that the first write changes the batch's zone: a Record without zoneRef may belong to
// another zone than LikelyZone. The zone is locked already (missingLocks).
func (b *batch) setBaseZone(m *member) {
	if m.plan.Zone == nil {
		return
	}
	key := b.com.Mem.Layout.Zone(m.plan.Zone.Zone.Namespace, m.plan.Zone.Zone.Name)
	b.queue = b.locks[slices.IndexFunc(b.locks, func(h *queue) bool { return h.Key == key })]
	switch z := m.readSet.Zone(key); {
	case key == m.Key:
		// The write is of the Zone itself, and the caller has read the stored object.
		b.SetBase(key, m.ZoneBefore, m.Expected)
	case z != nil:
		b.SetBase(key, z.Object, z.Mod)
	}
}

// addProofs adds the group's compares to the transaction, and the read sets and zones behind them to the proof, for the
// case of a conflict.
func (b *batch) addProofs(g *group) {
	members := g.members
	if g.set != nil && g.set.required != nil {
		// The prerequisites of a set must hold at the commit, too (S10.5).
		members = append(slices.Clone(members), g.set.required)
	}
	for _, m := range members {
		for _, c := range m.cmps {
			b.addCompare(c)
		}
		if m.readSet == nil {
			continue
		}
		b.readSets = append(b.readSets, m.readSet)
		for _, z := range m.readSet.Zones {
			if !slices.ContainsFunc(b.zones, func(have facts.ZoneSeen) bool { return have.Key == z.Key }) {
				b.zones = append(b.zones, z)
			}
		}
	}
}

func (b *batch) addCompare(c clientv3.Cmp) {
	key, mod := string(c.KeyBytes()), c.GetCompare().GetModRevision()
	if len(c.GetCompare().RangeEnd) == 0 {
		// Two revisions of a key both stay, so that the transaction fails.
		if have, ok := b.comparedRevs[key]; ok && have == mod {
			return
		}
		if b.comparedRevs == nil {
			b.comparedRevs = map[string]int64{}
		}
		b.comparedRevs[key] = mod
	}
	b.octets += len(key)
	b.cmps = append(b.cmps, c)
}

func (b *batch) countPuts() int {
	const shared = 8
	return len(b.Facts) + len(b.Puts) + b.writes + len(b.states) + shared
}
