// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// A batch is one or more writes of one zone that one transaction makes true. They are decided one after the other,
// each on what those before it leave:
//
//	If    every fact that a decision used is as it was, and each object is at its expected revision
//	Then  the objects, their zone with the last serial, the zone's keys, one journal key with a step for each write,
//	      the keys under which objects wait, the outbox items, the pending cuts
//
// When the compares do not hold, the objects and zones are read, and the writes are decided anew; a write whose
// object has changed is answered. When etcd takes no request so large, the next batch is smaller, and a write alone
// is refused. If the outcome stays unknown, the facts that depend on it are evicted, and each caller gets the error.
// Compares keep a repeated transaction from taking effect twice (pkg/etcd/maintenance).

// decideRequests takes in as many requests as go together, from the first on, and returns those left over.
func (b *batch) decideRequests(ctx context.Context, requests []*request) (rest []*request) {
	if t := requests[0].set; t != nil {
		return b.decideSet(ctx, t, requests)
	}
	if err := b.takeZone(ctx); err != nil {
		replyAll(requests, Answer{Err: err})
		return nil
	}
	b.members = make([]member, 0, len(requests))
	for pass := 0; ; pass++ {
		var cold []law.Key
		done := 0 // requests that need not be looked at again
	requests:
		for i, r := range requests {
			looking := len(cold) > 0 // on facts for those behind the first that lacks some, no more
			if !looking && b.isFull() {
				break
			}
			verdict, lacks := b.decideRequest(ctx, r, looking, len(requests) == 1 || pass == maxPasses)
			switch {
			case verdict == lacking && pass < maxPasses:
				cold = append(cold, lacks...)
			case verdict != taken:
				break requests
			case !looking:
				done = i + 1
			}
		}
		requests = requests[done:]
		if len(cold) == 0 {
			return requests
		}
		// Facts that memory lacks are read for all requests at once, and remembered at the head. Where the zone has
		// moved, the whole batch is decided anew.
		err := b.warmFacts(ctx, facts.Dedupe(cold))
		b.com.mem.Mu.Lock()
		moved := b.head != nil && (b.head.Mod != b.Mod || !b.head.Loaded)
		b.com.mem.Mu.Unlock()
		if err == nil && !moved {
			continue
		}
		requests = append(b.requests(), requests...)
		*b = batch{com: b.com, locks: b.locks, head: b.head, try: b.try, bound: b.bound}
		if err == nil {
			err = b.takeZone(ctx)
		}
		if err != nil {
			replyAll(requests, Answer{Err: err})
			return nil
		}
	}
}

// takeZone takes the zone from memory, or reads it. It reads it where another server writes too, since the memory
// would not hold.
func (b *batch) takeZone(ctx context.Context) error {
	if b.head == nil {
		return nil
	}
	com, stale := b.com, b.try == 0 && b.com.isContended(b.head)
	if b.Read = b.head.read; b.try > 0 {
		clear(b.Read)
	}
	com.mem.Mu.Lock()
	known := b.head.Loaded && !stale
	com.mem.Mu.Unlock()
	if !known {
		kv, rev, err := etcd.ReadKey(ctx, com.mem.Client, b.head.Key)
		if err != nil {
			return err
		}
		if err := com.mem.Reload(ctx, b.head.Head, kv, rev); err != nil {
			return err
		}
	}
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	b.Key, b.Base, b.Mod, b.Zone = b.head.Key, b.head.Object, b.head.Mod, b.head.Zone
	return nil
}

// isFull reports whether the next record might not fit. A record brings at most nine operations
// beside those that all of them share, and some 200 KiB: twice maxEntry and what is known of its name.
func (b *batch) isFull() bool {
	const each, shared = 9, 8
	ops := int(b.com.mem.Ops.Load())
	return b.closed || len(b.members) > 0 && (len(b.cmps)+each > ops || len(b.Facts)+len(b.Puts)+b.writes+each+shared > ops || b.octets > b.bound)
}

// verdict says what becomes of a request that a batch might take in.
type verdict int

const (
	taken    verdict = iota // or answered
	lacking                 // facts that must be read
	boundary                // it begins the next batch
)

// decideRequest decides one request on what the others left. With looking the request is not taken in. With reading
// it reads the facts that memory does not have.
func (b *batch) decideRequest(ctx context.Context, r *request, looking, reading bool) (verdict, []law.Key) {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	b.deciding = r
	v, cold := b.decideLocked(ctx, r, looking, reading)
	b.deciding = nil
	return v, cold
}

// decideLocked is decideRequest for a caller that holds r.deciding.
func (b *batch) decideLocked(ctx context.Context, r *request, looking, reading bool) (verdict, []law.Key) {
	w, first := r.w, len(b.members) == 0
	switch {
	case r.gone:
		return taken, nil
	case r.isBehind():
		if !looking {
			r.reply(Answer{behind: true})
		}
		return taken, nil
	case r.goesAlone() && (!first || looking):
		return boundary, nil
	case b.hasOperation(w.Key): // its expected revision is about to end
		return boundary, nil
	}
	s, out, cold, err := b.runLaw(ctx, w, first && !looking, looking, reading || w.goesAlone() || b.Zone == nil)
	switch {
	case errors.Is(err, facts.ErrMoved):
		out, err := b.com.presentState(ctx, w)
		r.reply(Answer{Out: out, Err: err})
		return taken, nil
	case err != nil:
		r.reply(Answer{Err: err})
		return taken, nil
	case len(cold) > 0:
		return lacking, cold
	case s == nil:
		return boundary, nil
	case looking:
		return taken, nil
	case out.Refusal != nil && out.Refusal.Kind == law.Later:
		b.com.mem.Mu.Lock()
		b.com.mem.Suspect(s)
		b.com.mem.Mu.Unlock()
		r.reply(Answer{Later: out.Refusal})
		return taken, nil
	}
	return b.takeMember(ctx, member{request: r, session: s, refusal: out.Refusal, plan: out.Plan})
}

// takeMember takes a decided request into the batch with what proves its decision.
func (b *batch) takeMember(ctx context.Context, m member) (verdict, []law.Key) {
	r, s, w, first := m.request, m.session, m.w, len(b.members) == 0
	s.CheckCovered(ctx)
	cmps := append(s.Guards(), etcd.RevisionIs(w.Key, w.Expected))
	if most := b.com.mem.MaxCompares(); first && len(cmps) > most {
		if s.Guess || s.Depth > facts.FlatName { // read instead of guessing, then ranges instead of names
			w.Guess, w.flat = false, !s.Guess
			return b.decideLocked(ctx, r, false, true)
		}
		r.reply(Answer{Err: tooManyFacts(w, len(cmps), most)})
		return taken, nil
	}
	if !first && len(b.cmps)+len(cmps) > int(b.com.mem.Ops.Load()) {
		return boundary, nil
	}
	if m.refusal == nil {
		if missing := b.com.missingLocks(b.locks, m.plan); len(missing) > 0 {
			r.reply(Answer{Locks: missing})
			return taken, nil
		}
		if first {
			b.settleOn(s, w, m.plan)
		}
		op, object, err := w.Primary(ctx, m.plan)
		if err != nil {
			r.reply(Answer{Err: err})
			return taken, nil
		}
		if op != nil {
			m.op = *op
		}
		if !b.includeMember(&m, object) {
			return boundary, nil
		}
	} else if r.order != nil {
		r.order.broken.Store(true)
	}
	b.addProofs(s, cmps)
	b.members = append(b.members, m)
	b.closed = b.closed || r.goesAlone()
	return taken, nil
}

// settleOn makes the batch one of the zone that its first write changes, as it was decided on.
func (b *batch) settleOn(s *facts.Session, w *Write, p *law.Plan) {
	if p.Zone != nil {
		key := b.com.mem.Layout.Zone(p.Zone.Zone.Namespace, p.Zone.Zone.Name)
		b.head = b.locks[slices.IndexFunc(b.locks, func(h *queue) bool { return h.Key == key })]
		b.Key = key
		if z := s.Zone(key); z != nil {
			b.Base, b.Mod = z.Object, z.Mod
		}
		if key == w.Key {
			b.Base, b.Mod = w.Was, w.Expected
		}
	}
	b.closed = b.closed || len(b.locks) > 1
}

func (b *batch) hasOperation(key string) bool {
	return slices.ContainsFunc(b.members, func(m member) bool { return m.w.Key == key })
}

// runLaw decides a write from memory, on the zone as the batch leaves it. cold are facts that can be read into memory
// for all requests at once. Other facts a write reads by itself: ranges, names that are too deep for single compares,
// and facts of other zones. It returns a nil session where the write has to be the first of a batch, because it rests
// on what the batch writes, or the batch has read enough.
func (b *batch) runLaw(ctx context.Context, w *Write, first, looking, reading bool) (s *facts.Session, out law.Outcome, cold []law.Key, err error) {
	s = b.com.mem.Session(w.Guess && b.try == 0)
	s.FirstTry = b.try == 0 && b.set == nil // a set reads what memory lacks at once
	if w.flat {
		s.Depth = facts.FlatName
	}
	if !first || !reading {
		s.Over = &b.Overlay
		known := true
		for out = w.Ask(s.Seen); known && len(out.Need) > 0; {
			cold, known = s.LookUpAll(facts.Dedupe(out.Need))
			for _, k := range cold {
				known = known && (k.Kind == law.KindHolding || k.Kind == law.KindZone || b.Zone != nil &&
					(k.Zone == b.Zone.UID || k.Kind == law.KindWithdrawal))
			}
			if known && len(cold) > 0 {
				return s, out, cold, nil
			}
			if known {
				out = w.Ask(s.Seen)
			}
		}
		switch {
		case known:
			return s, out, nil, nil
		case first:
			s.Over = nil
		case looking || b.Zone == nil || b.reads == maxReads:
			return nil, out, nil, nil
		default:
			b.reads++
		}
		s.Reset()
	}
	out, err = s.Decide(w.paidIn(ctx), w.Ask)
	switch {
	case s.Over != nil && (errors.Is(err, facts.ErrOverlayMoved) || errors.Is(err, facts.ErrMoved)):
		return nil, out, nil, nil
	case err != nil || s.Over != nil || b.head == nil:
		return s, out, nil, err
	}
	if z := s.Zone(b.head.Key); z != nil { // the zone as it was read
		b.Base, b.Mod = z.Object, z.Mod
		b.com.mem.Mu.Lock()
		if b.head.Loaded && b.head.Mod == z.Mod {
			b.Zone = b.head.Zone
		} else {
			b.closed = true // for others it is decided anew
		}
		b.com.mem.Mu.Unlock()
	}
	return s, out, nil, nil
}

// addProofs adds what proves a decision: compares, and the zones that it looked at.
func (b *batch) addProofs(s *facts.Session, cmps []clientv3.Cmp) {
	for _, c := range cmps {
		b.addCompare(c)
	}
	for _, z := range s.Zones {
		if !slices.ContainsFunc(b.zones, func(have facts.ZoneSeen) bool { return have.Key == z.Key }) {
			b.zones = append(b.zones, z)
		}
	}
}

// addCompare adds a compare, unless it is there. Two compares of one key with different revisions both stay: they
// cannot hold, and their writes are decided anew.
func (b *batch) addCompare(c clientv3.Cmp) {
	key, mod := string(c.KeyBytes()), c.GetCompare().GetModRevision()
	if len(c.GetCompare().RangeEnd) == 0 {
		if have, ok := b.proven[key]; ok && have == mod {
			return
		}
		if b.proven == nil {
			b.proven = map[string]int64{}
		}
		b.proven[key] = mod
	}
	b.octets += len(key)
	b.cmps = append(b.cmps, c)
}

// weigh returns the approximate octets of a fact with its key. Parts that a tenant can make long are counted.
func weigh(fact any) int {
	switch v := fact.(type) {
	case *law.Owner:
		return etcd.KeyOctets + 96*(len(v.Values)+len(v.Cut)) + 128*len(v.Claims)
	}
	return 2 * etcd.KeyOctets
}

// includeMember moves the zone and its facts on. It returns false, and moves nothing, where the write does not go
// with the others.
func (b *batch) includeMember(m *member, object *v1alpha1.Zone) bool {
	p, w, first, long := m.plan, m.w, len(b.members) == 0, len(m.op.ValueBytes()) > maxEntry
	if b.set == nil && (!first && long || p.Zone != nil && b.change != nil && b.change.Settled() && !p.Zone.Settled()) {
		return false // the delivered content from then on ends with a transaction
	}
	if c := p.Zone; c != nil && c.Step != nil && b.set == nil {
		most := maxEntry
		if first {
			most = MaxBatchOctets << 10 // any
		}
		octets, ok := b.steps.Add(c.Step, most)
		if !ok {
			return false
		}
		b.octets, long = b.octets+octets, long || octets > maxEntry
	}
	for _, x := range p.Writes {
		if m.session.Stands(x) {
			continue
		}
		if b.Facts == nil {
			b.Facts = map[law.Key]any{}
		}
		if before, written := b.Facts[x.Key]; written {
			b.octets -= weigh(before)
		}
		b.octets += weigh(x.Value)
		b.Facts[x.Key] = x.Value
	}
	count := len(b.Puts)
	b.putWaiting(p, w)
	if p.Work != nil {
		b.Puts.Set(b.com.mem.Layout.Outbox(p.Work.ID), p.Work)
	}
	for _, d := range p.PendingCuts {
		b.Puts.Set(b.com.mem.Layout.PendingCut(d.Parent.UID, d.Child.UID), d)
	}
	if p.Zone != nil {
		b.moveOn(*p.Zone, object)
		if w.Item != nil {
			b.touchWork(w.Item, p.Zone)
		}
	}
	if w.Also != nil {
		cmps, ops := w.Also(p)
		for _, c := range cmps {
			b.addCompare(c)
		}
		for _, op := range ops {
			b.Puts.Add(etcd.KeyValue{Key: string(op.KeyBytes()), Value: op.ValueBytes(), Gone: op.IsDelete()})
		}
	}
	for _, x := range b.Puts[count:] {
		b.octets += len(x.Key) + len(x.Value)
	}
	if m.writesObject() {
		b.octets += len(m.op.ValueBytes()) + 2*len(w.Key) + etcd.KeyOctets
		b.writes++
	}
	b.closed = b.closed || long
	return true
}

// moveOn changes the zone to what a decision leaves. It keeps what an earlier decision of the batch says and this one
// does not mention.
func (b *batch) moveOn(c law.ZoneChange, object *v1alpha1.Zone) {
	if before := b.change; before != nil {
		c.Held = c.Held || before.Held
		c.Hides = slices.Concat(before.Hides, c.Hides)
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
	c.Held = c.Held && c.Holding != nil && c.Holding.Held != nil // a later write of the transaction may put back what went
	b.change, b.Zone, b.object = &c, c.Zone, object
}

// touchWork adds each zone that a cascade changes to the cascade's item, in the transaction that changes the zone
// first, so that a server that finishes the cascade knows all of them. A write that leaves the cascade's mark at the
// zone always compares the item: since the item was read, its mark may have been taken off and the item removed.
func (b *batch) touchWork(s *Item, c *law.ZoneChange) {
	if c.Gone || c.Zone.Pending || !slices.ContainsFunc(c.Holding.Works, func(w law.StandingWork) bool { return w.ID == s.Work.ID }) {
		return
	}
	key := b.com.mem.Layout.Outbox(s.Work.ID)
	b.addCompare(etcd.RevisionIs(key, s.Mod))
	if slices.ContainsFunc(s.Work.Zones, func(p law.Place) bool { return p.UID == c.Zone.UID }) {
		return
	}
	next := s.Work
	next.Zones = append(slices.Clone(s.Work.Zones), law.Place{Ref: c.Zone.Ref, View: c.Zone.View, FQDN: c.Zone.FQDN()})
	b.Puts.Set(key, next)
	b.touched = append(b.touched, touched{s, next})
}

// warmFacts reads facts into memory, those of the zone under its present revision, and withdrawals for its queue.
func (b *batch) warmFacts(ctx context.Context, keys []law.Key) error {
	s := b.com.mem.Session(false)
	b.com.mem.Mu.Lock()
	if b.Zone != nil {
		s.SawZone(law.ZoneKey(b.Zone.Namespace, b.Zone.Name), b.head.Head)
	}
	b.com.mem.Mu.Unlock()
	for chunk := range slices.Chunk(keys, 100) {
		if err := s.Read(ctx, chunk); err != nil {
			return err
		}
		for _, k := range chunk {
			if r, ok := s.ReadOf(k); ok && k.Kind == law.KindWithdrawal && b.Read != nil {
				if len(b.Read) >= maxRead {
					clear(b.Read)
				}
				b.Read[k] = r
			}
		}
	}
	return nil
}

// putWaiting writes the keys by which the record or zone of a plan is found while it waits, and removes those where
// it waited.
func (b *batch) putWaiting(plan *law.Plan, w *Write) {
	if plan.OrphanBefore != nil {
		for _, key := range b.com.mem.Layout.Waiting(plan.OrphanBefore, w.Resource, w.Namespace, w.Name) {
			b.Puts.Del(key)
		}
	}
	if plan.Orphan != nil {
		for _, key := range b.com.mem.Layout.Waiting(plan.Orphan, w.Resource, w.Namespace, w.Name) {
			b.Puts.Set(key, layout.Waiter{UID: w.waits.uid, Created: w.waits.created, Moves: plan.Orphan.Moves,
				KeptOut: plan.Orphan.KeptOut})
		}
	}
}
