// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/attribute"

	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
)

// decideGroups decides the groups in order, until the batch is full or a group has to begin the next batch, and returns
// the rest. After the first missing fact, the pass only lists the missing facts of the further groups. They are read at
// once, and the next pass begins at the first undecided group.
func (b *batch) decideGroups(ctx context.Context, groups []*group) (rest []*group, err error) {
	// 1. Read the Zone, unless memory has a current copy.
	err = b.loadZone(ctx)
	for pass := 0; err == nil; pass++ {
		// 2. Decide from memory, group by group.
		done, cold, moved := b.decidePass(ctx, groups, pass)
		if groups = groups[done:]; len(cold) == 0 && !moved {
			return groups, nil
		}

		// 3. Read the missing facts of all groups in one request.
		if !moved {
			err = b.prefetchFacts(ctx, facts.Dedupe(cold))
			moved = b.isOutdated()
		}
		// 4. If the zone has another revision, every earlier decision of the batch is void.
		if moved && err == nil {
			groups = append(b.groups, groups...)
			// The retries and the bound of octets stay with the attempt.
			*b = batch{com: b.com, attempt: b.attempt}
			err = b.loadZone(ctx)
		}
	}
	return nil, err
}

// decidePass decides groups in order. Done is the number of leading groups with a final verdict. The facts that the
// others lack in memory are in cold. If moved is true, the zone has changed since loadZone.
func (b *batch) decidePass(ctx context.Context, groups []*group, pass int) (done int, cold []law.Key, moved bool) {
	for i, g := range groups {
		how := fromMemory
		switch {
		case len(cold) > 0:
			// After a missing fact the pass only collects more missing keys, so the groups behind keep their order.
			how = listMissing
		case b.isFull(g):
			return done, nil, false
		case pass >= maxPasses || isSingleWrite(groups):
			how = memoryThenEtcd
		}
		verdict, lacks := b.decideGroup(ctx, g, how)
		switch {
		case verdict == factsMissing && pass < maxPasses:
			// For example, the data at www is not in memory. The next pass decides the group.
			cold = append(cold, lacks...)
		case verdict != groupDone:
			return done, cold, verdict == zoneChanged
		case how != listMissing:
			// Committed with the batch, or answered: the next pass begins behind the group.
			done = i + 1
		}
	}
	return done, cold, false
}

func isSingleWrite(groups []*group) bool { return len(groups) == 1 && len(groups[0].members) == 1 }

// isOutdated reports whether another server has written the zone since loadZone, as a read has shown.
func (b *batch) isOutdated() bool {
	b.com.Mem.Mu.Lock()
	defer b.com.Mem.Mu.Unlock()
	return b.queue != nil && (b.queue.Mod != b.Mod || !b.queue.Loaded)
}

// loadZone sets Base, Mod and Zone of the draft to the stored zone, from memory or etcd. A batch without a locked zone,
// such as a dry run, keeps them empty.
func (b *batch) loadZone(ctx context.Context) error {
	if b.queue == nil {
		return nil
	}
	// Another server writes the zone too, so memory is probably outdated. After a conflict the Zone was just read.
	com, stale := b.com, b.retries == 0 && b.com.isContended(b.queue)
	if b.CachedFacts = b.queue.cachedFacts; b.retries > 0 {
		// A withdrawal kept from an earlier batch may have caused the conflict.
		clear(b.CachedFacts)
	}
	com.Mem.Mu.Lock()
	// Loaded is false if the Zone was never read, or a transaction there had an unknown outcome.
	known := b.queue.Loaded && !stale
	com.Mem.Mu.Unlock()
	if !known {
		if err := com.Mem.ReadCachedZone(ctx, b.queue.CachedZone); err != nil {
			return err
		}
	}
	com.Mem.Mu.Lock()
	defer com.Mem.Mu.Unlock()
	b.Key, b.Base, b.Mod, b.Zone = b.queue.Key, b.queue.Object, b.queue.Mod, b.queue.Zone
	return nil
}

func (b *batch) isFull(next *group) bool {
	const each = 9 // operations of a Record, at most
	// The first group always enters, however large: alone, etcd may still accept the group, or shrinkNext reports the
	// size.
	ops, more := int(b.com.Mem.Ops.Load()), each*len(next.members)
	return b.closed || len(b.groups) > 0 && (len(b.cmps)+more > ops || b.countPuts()+more > ops || b.octets > b.bound)
}

type reading int

const (
	listMissing    reading = iota // memory, only to list missing facts; no verdict counts
	fromMemory                    // memory; missing facts are read for all groups
	memoryThenEtcd                // memory, then etcd for this group
)

type verdict int

const (
	groupDone verdict = iota // in the batch, or answered
	factsMissing
	beginsNextBatch
	zoneChanged // the zone has changed since loadZone
)

// decideGroup decides a group, and leaves the draft as before unless the group is in the batch and puts something. With
// the verdict factsMissing, the keys are the missing facts.
func (b *batch) decideGroup(ctx context.Context, g *group, how reading) (verdict, []law.Key) {
	// The caller may leave meanwhile (withdrawGroup), and must not change the objects during the decision.
	g.deciding.Lock()
	defer g.deciding.Unlock()
	b.deciding = g
	before, count := b.draft, len(b.groups)
	// The group may change Puts in place, and undo lists the facts of this group alone.
	before.Puts, b.undo = slices.Clone(b.Puts), b.undo[:0]
	v, cold := b.decideLocked(ctx, g, how, &before)
	if g.admitted = len(b.groups) > count; !g.admitted || g.onlyCompares {
		// Not admitted, refused, or a dry run. In the last two cases the group's compares stay in the transaction.
		b.restoreDraft(before)
	}
	b.deciding = nil
	return v, cold
}

func (g *group) startLaw(ctx context.Context) (_ context.Context, end func(*decisions)) {
	if !g.isRecorded() {
		return ctx, func(*decisions) {}
	}
	ctx, span := traces.Start(traces.Within(ctx, g.commit), "Law")
	return ctx, func(d *decisions) {
		span.SetAttributes(attribute.Int("kubizone.missing_facts", len(d.missingFacts)))
		for _, m := range g.members {
			var refusal *law.Refusal
			if errors.As(m.refusal, &refusal) {
				span.SetAttributes(attribute.String("kubizone.rule", refusal.Rule))
			}
		}
		span.End()
	}
}

// decideLocked decides a group and admits it to the batch, or answers the group, or returns the reason why neither is
// possible yet. The draft before the group is for admitGroup. The caller holds g.deciding.
func (b *batch) decideLocked(ctx context.Context, g *group, how reading, before *draft) (verdict, []law.Key) {
	if v, isSettled := b.settleUndecided(g, how); isSettled {
		return v, nil
	}
	// The decision itself, by package law.
	d, err := b.decideMembers(ctx, g, how)
	switch {
	case errors.Is(err, errBeginsBatch):
		return beginsNextBatch, nil
	case err == nil && len(d.missingFacts) > 0:
		return factsMissing, d.missingFacts
	case how == listMissing: // answers no caller
	case errors.Is(err, facts.ErrOverlayMoved):
		return zoneChanged, nil
	case errors.Is(err, facts.ErrMoved):
		// The facts contradict each other, or the object. Damage, or an outdated guess: answerMoved tells them apart.
		if b.answerMoved(ctx, g) {
			return zoneChanged, nil
		}
	case err != nil:
		g.reply(Answer{Err: err})
	case d.temporaryRefusal != nil:
		// The name is locked while a cascade moves Records, so commitGroup pauses and submits the group again (S2.10).
		g.reply(Answer{Later: d.temporaryRefusal})
	case len(d.locks) > 0: // facts may change until the lock is taken
		// For example, a DS at child.example.org. belongs to the parent, and a new child zone changes the parent's
		// holding.
		g.reply(Answer{Locks: d.locks})
	default:
		d.step = content.Merge(d.steps)
		if err := b.admitGroup(ctx, g, d, before); errors.Is(err, errBeginsBatch) {
			return beginsNextBatch, nil
		} else if err != nil {
			g.reply(Answer{Err: err})
		}
	}
	return groupDone, nil
}

// settleUndecided returns the verdict about a group left undecided by this batch.
func (b *batch) settleUndecided(g *group, how reading) (v verdict, isSettled bool) {
	if g.callerGone {
		// The request has ended, and the caller may change the objects.
		return groupDone, true
	}
	switch {
	case g.followsFailure():
		// An earlier write in the same order failed, for example the first of several steps of a cascade.
		if how != listMissing {
			g.reply(Answer{})
		}
		return groupDone, true
	case g.goesAlone() && (len(b.groups) > 0 || how == listMissing):
		return beginsNextBatch, true
	case slices.ContainsFunc(b.members, g.overlaps):
		// The batch rewrites the object, for example a Record just created and edited again.
		return beginsNextBatch, true
	default:
		return groupDone, false
	}
}

// decideMembers decides the writes of a group, each on the draft after the writes before. The refusal of a write is in
// member.refusal. The error is nil, too, if facts are missing or zones must be locked first (decisions).
func (b *batch) decideMembers(ctx context.Context, g *group, how reading) (d decisions, err error) {
	ctx, endLaw := g.startLaw(ctx)
	defer endLaw(&d)
	pending := g.members
	if t := g.set; t != nil {
		pending = t.beginDecision(b, g)
		if t.zoneBefore == nil && (len(b.groups) > 0 || how == listMissing) { // decided on etcd
			// No zone is known yet, as for the first write of a set without zoneRef.
			return d, errBeginsBatch
		}
		if t.required != nil {
			if err := b.judgeRequirements(ctx, g, how, &d); err != nil {
				return d, err
			}
		}
	}
	// In any order that works (S10.2): an item refused now may pass after the other items. For example, a CNAME at www
	// is refused until a later item renames the A Record at www to web. A pass without a single success is the last.
	for len(pending) > 0 {
		var refused []*member
		for _, m := range pending {
			if len(d.missingFacts) > 0 {
				// The decisions behind would rest on a draft without this item, so they only list keys.
				how = listMissing
			}
			if err := b.decideMember(ctx, g, m, how, &d); err != nil {
				return d, err
			}
			if m.refusal != nil {
				refused = append(refused, m)
			}
		}
		if len(refused) == len(pending) {
			break
		}
		pending = refused
	}
	return d, nil
}

func (b *batch) judgeRequirements(ctx context.Context, g *group, how reading, d *decisions) error {
	// The prerequisites of the set are a decision apart, with facts and compares of their own (S10.5).
	t := g.set
	s, out, cold, err := b.askLaw(ctx, g, t.required, how)
	if d.missingFacts = append(d.missingFacts, cold...); err != nil || len(cold) > 0 || how == listMissing {
		return err
	}
	if t.required.readSet, t.required.cmps = s, s.Compares(); out.Refusal != nil {
		t.RequirementErr = Status("records", "", out.Refusal)
	}
	return nil
}

// decideMember decides a single write and applies its plan to the draft. It appends missing facts, zones to lock and
// the step (change of content) to d, or sets d.temporaryRefusal. A final refusal is in m.refusal, without an error.
func (b *batch) decideMember(ctx context.Context, g *group, m *member, how reading, d *decisions) error {
	m.refusal, m.op = nil, clientv3.Op{}
	// 1. Decide, and keep the compares of all facts that the decision has read.
	s, out, cold, err := b.askLaw(ctx, g, m, how)
	if d.missingFacts = append(d.missingFacts, cold...); err != nil || len(cold) > 0 || how == listMissing {
		return err
	}
	s.CheckCovered(ctx)
	if m.readSet, m.plan, m.cmps = s, out.Plan, s.Compares(); !g.preview {
		// A dry run has no object in etcd to compare.
		m.cmps = append(m.cmps, m.unchanged)
	}
	if most := b.com.Mem.MaxCompares(); len(b.groups) == 0 && len(m.cmps) > most {
		if !m.saveCompares(s) {
			return tooManyFacts(m.Write, len(m.cmps), most)
		}
		return b.decideMember(ctx, g, m, memoryThenEtcd, d)
	}

	// 2. Note the refusal, if any.
	if out.Refusal != nil {
		b.noteRefusal(g, m, out.Refusal, d)
		return nil
	}
	if g.set != nil && !g.set.takesMember(b, g, m, d) {
		// All Records of a set go to one zone (S10.1).
		return nil
	}

	// 3. Apply the plan to the draft, if all changed zones are locked.
	if missing := b.missingLocks(m.plan); len(missing) > 0 && !g.preview {
		d.locks = append(d.locks, missing...)
		return nil
	}
	b.applyMember(g, m, d)
	return nil
}

// saveCompares prepares a decision with fewer compares, and returns false if none has fewer: first reads, not
// guesses; then ranges, not names. For example, a name of 40 labels has 40 compares of possible zones above, more than
// etcd's default limit allows.
func (m *member) saveCompares(s *facts.ReadSet) bool {
	if !s.Guess && s.Depth <= facts.FlatName {
		return false
	}
	m.Guess, m.flat = false, !s.Guess
	return true
}

func (b *batch) noteRefusal(g *group, m *member, r *law.Refusal, d *decisions) {
	if m.refusal = r; r.Kind == law.Later && !g.finalRefusal {
		// The lock of the names may have ended in etcd, though memory still has the lock: the next try reads the
		// holdings.
		b.com.Mem.MarkNamesStale(m.readSet)
		d.temporaryRefusal = r
	}
}

func (b *batch) applyMember(g *group, m *member, d *decisions) {
	b.applyPlan(m.plan, m.readSet.Changes(m.plan.Writes))
	if c := m.plan.Zone; c != nil && c.Step != nil {
		// The history reports the field manager and the audit ID of this write, not of the batch.
		c.Step.Origin, c.Step.Trace = m.Origin, g.traceparent()
		d.steps = append(d.steps, *c.Step)
	}
	d.held = d.held || m.plan.Zone != nil && m.plan.Zone.BeginsHold
}

// askLaw calls package law for a write, from memory or with reads (how). The read set has the facts that the decision
// has read. The keys in cold are missing in memory. The error errBeginsBatch sends the group to the next batch.
func (b *batch) askLaw(ctx context.Context, g *group, m *member, how reading) (s *facts.ReadSet, out law.Outcome,
	cold []law.Key, err error) {
	s = b.newSession(g, m)
	first, ofNoZone := len(b.groups) == 0, g.set != nil && g.set.zoneBefore == nil

	// From memory and the draft. Only a write that is alone goes to etcd at once, and a set without a known zone.
	if !ofNoZone {
		s.Overlay = &b.Overlay
	}
	if !ofNoZone && (!first || how != memoryThenEtcd) {
		var known bool
		if out, cold, known = s.DecideCached(m.Decide); known || how == listMissing {
			return s, out, cold, nil
		}
		s.Reset()
	}

	// With reads from etcd, at the payer's cost.
	ctx = m.withPayer(ctx)
	switch {
	case !first:
		out, err = b.readBehind(ctx, m, s)
	case g.set == nil:
		out, err = b.readFirst(ctx, m, s)
	default:
		out, err = s.Decide(ctx, m.Decide)
	}
	return s, out, nil, err
}

// newSession returns the read set for a decision. A wrong guess makes the transaction fail, so no guess after a
// failure.
func (b *batch) newSession(g *group, m *member) *facts.ReadSet {
	mayGuess := b.retries == 0 && g.contradictions == 0
	s := b.com.Mem.ReadSet(m.Guess && mayGuess)
	s.FirstTry = mayGuess && g.isSmall()
	if m.flat {
		s.Depth = facts.FlatName
	}
	return s
}

// readBehind decides a write behind others of the batch. The rest of the batch waits for each read, so maxReads of them
// are enough.
func (b *batch) readBehind(ctx context.Context, m *member, s *facts.ReadSet) (law.Outcome, error) {
	if b.Zone == nil || b.reads == maxReads {
		return law.Outcome{}, errBeginsBatch
	}
	b.reads++
	out, err := s.Decide(ctx, m.Decide)
	if errors.Is(err, facts.ErrOverlayMoved) || errors.Is(err, facts.ErrMoved) {
		// The writes before have used the former revision of the zone. At the head of the next batch, this group meets
		// the new revision.
		err = errBeginsBatch
	}
	return out, err
}

// readFirst decides the first write of a batch, which begins the draft: on the stored zone, since the write may create
// a Zone, or write to another zone than the queue's.
func (b *batch) readFirst(ctx context.Context, m *member, s *facts.ReadSet) (law.Outcome, error) {
	s.Overlay = facts.NoBatch
	out, err := s.Decide(ctx, m.Decide)
	if err == nil && b.queue != nil {
		b.useReadZone(s)
	}
	return out, err
}

// useReadZone makes the Zone that the first decision has read the base of the draft, because the read may be newer than
// loadZone's.
func (b *batch) useReadZone(s *facts.ReadSet) {
	z := s.Zone(b.queue.Key)
	if z == nil {
		return
	}
	b.Base, b.Mod = z.Object, z.Mod
	b.com.Mem.Mu.Lock()
	defer b.com.Mem.Mu.Unlock()
	if b.queue.Loaded && b.queue.Mod == z.Mod {
		b.Zone = b.queue.Zone
	} else {
		b.closed = true // other groups would be decided on memory, which has another revision
	}
}

// prefetchFacts reads facts for all groups of the batch, in requests of 100 keys. Facts of the zone go to Memory,
// ranges to EmptyRanges of the draft, and withdrawals to CachedFacts, where the next batches of the queue find them.
func (b *batch) prefetchFacts(ctx context.Context, keys []law.Key) error {
	if b.EmptyRanges == nil {
		b.EmptyRanges = map[law.Key]facts.Emptiness{}
	}
	s := b.com.Mem.ReadSet(false)
	s.EmptyRanges = b.EmptyRanges
	b.com.Mem.Mu.Lock()
	if b.Zone != nil {
		// Known to the read set, the Zone is read again with the facts, and the revision proves them.
		s.NoteZone(law.ZoneKey(b.Zone.Namespace, b.Zone.Name), b.queue.CachedZone)
	}
	b.com.Mem.Mu.Unlock()
	for chunk := range slices.Chunk(keys, 100) {
		if err := s.ReadFacts(ctx, chunk); err != nil {
			return err
		}
		for _, k := range chunk {
			if r, ok := s.ProvenFactOf(k); ok && k.Kind == law.KindWithdrawal && b.CachedFacts != nil {
				// A namespace's withdrawal is in no zone's scope, yet each of the namespace's writes reads the key.
				if len(b.CachedFacts) >= maxRead {
					clear(b.CachedFacts)
				}
				b.CachedFacts[k] = r
			}
		}
	}
	return nil
}
