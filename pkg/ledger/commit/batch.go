// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
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

const (
	// MaxBatchOctets keeps a batch within the 1.5 MiB that etcd takes in a request: the last write of the batch comes
	// on top, and a Zone of 512 KiB, which an older kubizone let in (S5.10).
	MaxBatchOctets = 512 << 10
	// maxEntry bounds the record and the journal step of a write that goes with others. A tenant may write the
	// longest possible record into a zone of many tenants: that write goes alone, and does not make the request of
	// other tenants too large.
	maxEntry = 64 << 10
	// maxPasses bounds how often facts are read for a whole batch; after that each write reads its own.
	maxPasses = 4
	// maxReads bounds the writes of a batch that read facts by themselves, while others wait for the zone.
	maxReads = 8
	// maxRead bounds the withdrawals that the queue of a zone keeps.
	maxRead = 64
)

// batch is a batch while it is decided.
type batch struct {
	facts.Overlay // facts of its zone, as the decisions so far leave them

	com   *Committer
	locks []*queue
	head  *queue // of the zone; nil where no zone is locked
	try   int    // 0: the first
	bound int    // the octets behind which no more requests are taken in
	set   *Set   // it is a change set: all of it is committed together, as one step

	change  *law.ZoneChange
	object  *v1alpha1.Zone // the zone as it will stand, if a write changes its object
	steps   layout.JournalValue
	touched []touched

	cmps    []clientv3.Cmp
	proven  map[string]int64 // the revisions of single keys that they expect
	zones   []facts.ZoneSeen
	members []member
	writes  int // members that write their object
	octets  int // of all that, about
	reads   int // writes that have read facts by themselves
	closed  bool
	raced   bool // its compares did not hold
	// offset is where its operations begin in the transaction, and zoneAt where that on its zone stands behind, -1 for
	// none.
	offset, zoneAt int
	journal        int // the octets of its steps
	// deciding is the request that is being decided, and sent says that the transaction may have been carried out: a
	// panic is answered by both.
	deciding *request
	sent     bool
}

// member is a write that is taken into a batch.
type member struct {
	*request
	session *facts.Session
	refusal *law.Refusal
	plan    *law.Plan
	op      clientv3.Op
	at      int64 // the version that its object has, once it is written
}

// writesObject reports whether what was decided is more than what stands already.
func (m *member) writesObject() bool { return m.op.IsPut() || m.op.IsDelete() }

// carryOut decides and commits requests under the caller's locks of zones, in order, as many at a time as go
// together, until each is answered.
func (com *Committer) carryOut(ctx context.Context, locks []*queue, requests []*request) {
	bound := MaxBatchOctets
	for try := 0; len(requests) > 0; {
		b := &batch{com: com, locks: locks, try: try, bound: bound}
		if len(locks) > 0 {
			b.head = locks[0]
		}
		again, rest := b.carryOnce(ctx, requests)
		switch {
		case len(again) == 0:
			try = 0
		case b.raced:
			try++
		}
		bound = b.bound
		if requests = append(again, rest...); ctx.Err() != nil {
			replyAll(requests, Answer{Err: ctx.Err()})
			return
		}
	}
}

// carryOnce decides and commits as many requests as go together. It returns those that are to be decided anew, and
// those left over. A panic is the answer to its request, and no more than that.
func (b *batch) carryOnce(ctx context.Context, requests []*request) (again, rest []*request) {
	var err error
	all := slices.Clone(requests)
	defer func() {
		if err != nil {
			again, rest = b.answerPanic(err, all), nil
		}
	}()
	defer b.com.Recover(ctx, &b.sent, &err)
	rest = b.decideRequests(ctx, requests)
	again = b.commitOnce(ctx)
	return again, b.answerOvertaken(rest)
}

// answerPanic answers what a panic has left without an answer: all that may be committed, or the request that was
// being decided. Where that is not known each request is decided by itself. It returns the others.
func (b *batch) answerPanic(err error, requests []*request) (others []*request) {
	guilty := b.deciding
	if b.sent {
		b.dropFacts()
		if b.head != nil {
			b.com.mem.Unknown(b.head.Key)
		}
	}
	for _, r := range requests {
		switch in := slices.ContainsFunc(b.members, func(m member) bool { return m.request == r }); {
		case r.answered:
		case b.sent && in, r.set != nil:
			r.reply(Answer{Err: err, sent: b.sent})
		default:
			others = append(others, r)
		}
	}
	if b.sent || len(others) == 0 {
		return others
	}
	if guilty == nil && (len(others) == 1 || others[0].alone) {
		guilty = others[0]
	}
	for _, r := range others {
		r.alone = r.alone || guilty == nil
	}
	return slices.DeleteFunc(others, func(r *request) bool {
		if r == guilty {
			r.reply(Answer{Err: err})
		}
		return r == guilty
	})
}

// dropFacts forgets what a transaction of unknown outcome may have changed.
func (b *batch) dropFacts() {
	for i := range b.members {
		b.com.mem.Drop(b.members[i].session)
	}
}

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
		c.News = slices.Concat(before.News, c.News)
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

// commitOnce sends the batch and answers the requests that it settles. It returns the requests that are to be decided
// anew.
func (b *batch) commitOnce(ctx context.Context) (again []*request) {
	if len(b.members) == 0 {
		return nil
	}
	then, err := b.buildTransaction(ctx)
	if err != nil {
		b.answerAll(Answer{Err: err})
		return nil
	}
	var o outcome
	if b.isShared() {
		o = b.sendShared(ctx, then)
	} else {
		var orelse []clientv3.Op
		if b.try > 0 { // the first try will do, mostly
			orelse = b.readCompared()
		}
		o = b.sendTransaction(b.paidContext(ctx), b.cmps, then, orelse)
	}
	return b.settleSent(ctx, o, then)
}

// sendTransaction sends what proves the batch, and those that it takes along, with what they put.
func (b *batch) sendTransaction(ctx context.Context, cmps []clientv3.Cmp, then, orelse []clientv3.Op) outcome {
	com := b.com
	started := time.Now()
	com.mem.Fault("before-commit")
	com.mem.Stats.Transactions.Add(1)
	b.sent = len(then) > 0
	r, err := com.mem.Client.Txn(ctx).If(cmps...).Then(then...).Else(orelse...).Commit()
	o := outcome{r: r, err: err, trip: time.Since(started)}
	if isRefusedByEtcd(err) || err == nil && !r.Succeeded {
		b.sent = false
	}
	if err == nil {
		com.mem.Fault("after-commit")
		if !r.Succeeded {
			com.mem.Stats.Conflicts.Add(1)
		}
	}
	return o
}

// settleSent answers the requests of the batch that its transaction settles, and returns those that are to be decided
// anew.
func (b *batch) settleSent(ctx context.Context, o outcome, then []clientv3.Op) (again []*request) {
	switch {
	case o.err == nil && o.r.Succeeded:
		b.com.latency.note(o.trip)
		b.applyResult(o.r, o.trip)
	case o.shared && !b.sent: // it commits by itself next
		b.raced = true
		return b.requests()
	case o.err == nil:
		b.raced = true
		b.keepApart()
		if again = b.resolveConflicts(ctx, o.r); b.set != nil && len(again) < len(b.members) {
			replyAll(again, Answer{behind: true})
			return nil
		}
		return again
	case isRefusedByEtcd(o.err):
		return b.shrinkNext(o.err, then)
	default:
		if b.sent {
			b.dropFacts()
		}
		b.answerAll(Answer{Err: o.err, sent: b.sent})
	}
	return nil
}

// isRefusedByEtcd reports whether etcd has refused a transaction before anything of it was done.
func isRefusedByEtcd(err error) bool {
	return errors.Is(err, rpctypes.ErrTooManyOps) || errors.Is(err, rpctypes.ErrDuplicateKey) || etcd.TooLarge(err)
}

// shrinkNext makes the next batches smaller, after etcd has refused this one as too large. It answers a write that is
// too large by itself, and a set, and returns what is to be decided anew.
func (b *batch) shrinkNext(err error, then []clientv3.Op) (again []*request) {
	most := max(len(b.cmps), len(then))
	many := errors.Is(err, rpctypes.ErrTooManyOps)
	switch {
	case b.set != nil && many && b.set.guesses():
		b.raced = true // fewer compares may do
		return b.requests()
	case b.set != nil && many:
		err = b.set.tooLarge(most)
	case b.set != nil && etcd.TooLarge(err):
		err = b.set.tooLarge(0)
	case many && len(b.members) > 1:
		b.com.mem.Narrow(most)
		return b.requests()
	case many:
		if int64(most) <= b.com.mem.Ops.Load() && b.com.mem.Narrow(most) { // fewer facts may do, and else it is refused for them
			return b.requests()
		}
		err = tooManyOperations(b.members[0].w, most)
	case etcd.TooLarge(err) && len(b.members) > 1:
		b.bound = min(b.bound, b.octets) / 2
		return b.requests()
	case etcd.TooLarge(err):
		err = tooLong(b.members[0].w, countOctets(then))
	}
	b.answerAll(Answer{Err: err})
	return nil
}

// countOctets returns the octets of the keys and values that operations put, the Zone among them.
func countOctets(then []clientv3.Op) (octets int) {
	for _, op := range then {
		octets += len(op.KeyBytes()) + len(op.ValueBytes())
	}
	return octets
}

func (b *batch) requests() []*request {
	all := make([]*request, len(b.members))
	for i := range b.members {
		all[i] = b.members[i].request
	}
	return all
}

func (b *batch) answerAll(a Answer) { replyAll(b.requests(), a) }

func replyAll(requests []*request, a Answer) {
	for _, r := range requests {
		if !r.answered {
			r.reply(a)
		}
	}
}

// provesOnly reports whether what was decided is proved, and nothing of it put: a set with a refusal, or a dry run.
func (b *batch) provesOnly() bool {
	return b.set != nil && (b.set.isRefused() || b.set.Writes[0].Dry)
}

// buildTransaction makes the operations of the batch. The objects stand first, in order.
func (b *batch) buildTransaction(ctx context.Context) (then []clientv3.Op, err error) {
	com := b.com
	b.zoneAt = -1
	if b.set != nil && b.set.isRefused() {
		return nil, nil
	}
	then = make([]clientv3.Op, 0, b.writes+len(b.Facts)+len(b.Puts)+3)
	own := ""
	for i := range b.members {
		if m := &b.members[i]; m.writesObject() {
			then = append(then, m.op)
			own = m.w.Key
		}
	}
	if c := b.change; c != nil {
		if key := com.mem.Layout.Zone(c.Zone.Namespace, c.Zone.Name); key != own {
			b.object = b.Base.DeepCopy()
			com.placer.PlaceZone(b.object, c)
			then, err = b.putZone(ctx, then, key, b.object)
		}
		then = b.putStep(then, c)
	} else if b.movesZone() {
		b.object = b.Base
		then, err = b.putZone(ctx, then, b.head.Key, b.Base.DeepCopy())
	}
	if err != nil {
		return nil, err
	}
	for k, v := range b.Facts {
		if v == nil {
			then = append(then, clientv3.OpDelete(com.mem.Layout.Key(k)))
		} else {
			then = append(then, etcd.OpPut(com.mem.Layout.Key(k), layout.Encode(v)))
		}
	}
	if b.provesOnly() {
		return nil, nil
	}
	return append(then, b.Puts.Ops()...), nil
}

// movesZone reports whether the batch puts its zone as it stands: a write that loses a race moves the zone's revision
// in any case, as all servers do that take turns there.
func (b *batch) movesZone() bool {
	if b.try == 0 || b.writes == 0 || b.Zone == nil || b.members[0].w.Key == b.head.Key {
		return false
	}
	_, compared := b.proven[b.head.Key]
	return compared
}

func (b *batch) putZone(ctx context.Context, then []clientv3.Op, key string, zone *v1alpha1.Zone) ([]clientv3.Op, error) {
	data, err := b.com.mem.Zones.Encode(ctx, key, zone)
	if err != nil {
		return nil, fmt.Errorf("encoding zone %s: %w", key, err)
	}
	b.zoneAt = len(then)
	return append(then, etcd.OpPut(key, data)), nil
}

// putStep appends what the journal keeps of the change, if anything.
func (b *batch) putStep(then []clientv3.Op, c *law.ZoneChange) []clientv3.Op {
	if c.Zone.Pending && c.Ended == nil {
		return then
	}
	key, value, tx := b.journalStep(c)
	if tx == nil {
		return then
	}
	b.com.jr.Made.Put(key, value, tx)
	if len(tx.Steps) > 0 {
		b.journal = len(value)
	}
	return append(then, etcd.OpPut(key, value))
}

// journalStep returns the journal key of the batch and its value: the steps, or a mark that the zone settled,
// unsettled or went. tx is nil where there is nothing to write.
func (b *batch) journalStep(c *law.ZoneChange) (key string, value []byte, tx *content.Transaction) {
	com := b.com
	switch {
	case c.Gone || c.Ended != nil:
		z := c.Zone
		if c.Ended != nil {
			z = c.Ended
		}
		key, tx = com.mem.Layout.Step(z.UID, z.N)+".gone", &content.Transaction{After: z.N, Gone: true}
	case len(b.steps.Steps) > 0:
		key, tx = com.mem.Layout.Step(c.Zone.UID, b.steps.Last()), &content.Transaction{Steps: b.steps.Steps, Settled: c.Settled()}
		if !b.steps.Steps[0].Creates() {
			return key, b.steps.Value(c.Settled()), tx
		}
		tx.Zone = &content.Identity{View: c.Zone.View, Namespace: c.Zone.Namespace, Name: c.Zone.Name}
	case b.Base != nil && c.Settled() != (b.Base.Status.SettledSerial == b.Base.Status.Serial):
		key, tx = com.mem.Layout.StepSettled(c.Zone.UID, c.Zone.N), &content.Transaction{After: c.Zone.N, Settled: c.Settled()}
	default:
		return "", nil, nil
	}
	return key, layout.Encode(tx), tx
}

// applyResult takes what the transaction made true into memory, and answers the requests.
func (b *batch) applyResult(r *clientv3.TxnResponse, trip time.Duration) {
	com := b.com
	if b.provesOnly() {
		b.answerAll(Answer{behind: true})
		return
	}
	if len(b.members) > 1 {
		com.mem.Stats.Batches.Add(1)
	}
	com.Usage.noteCounts(b.change, b.Facts)
	b.applyLocked(r, trip)
	if b.change != nil && b.change.Held && com.held != nil {
		com.held(b.object.DeepCopy())
	}
	if news := b.listNews(); len(news) > 0 && com.news != nil {
		com.news(b.object.DeepCopy(), news)
	}
}

// listNews lists the news of the batch, without names that it leaves with data and that are not hidden so.
func (b *batch) listNews() []law.News {
	if b.change == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.change.News), func(x law.News) bool {
		at, _ := x.Name.Rel(b.change.Zone.FQDN())
		o, _ := b.Facts[law.OwnerKey(b.change.Zone.UID, at)].(*law.Owner)
		return x.Reason == law.NewsNameHidden && o != nil && len(o.Values) > 0
	})
}

// applyLocked is applyResult under Memory.Mu.
func (b *batch) applyLocked(r *clientv3.TxnResponse, trip time.Duration) {
	com, rev := b.com, r.Header.Revision
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	for _, h := range b.locks {
		if time.Since(h.met) < contention {
			h.yield = min(time.Duration(yieldTrips+h.asked)*trip, maxYield)
		} else {
			h.asked = 0
		}
	}
	zoneRev := rev
	if b.zoneAt >= 0 && len(r.Responses) > 0 {
		zoneRev = etcd.VersionAt(r, b.offset+b.zoneAt)
	}
	b.rememberResult(rev, zoneRev)
	next := b.offset // of the responses, in which the objects of a batch stand first
	for i := range b.members {
		m := &b.members[i]
		if m.refusal != nil {
			m.reply(Answer{Err: Status(m.w.Resource, m.w.Name, m.refusal)})
			continue
		}
		m.w.Plan = m.plan
		out := Outcome{OK: true, Rev: rev}
		if m.writesObject() {
			out.Rev = etcd.VersionAt(r, next)
			next++
			m.at = out.Rev
		}
		m.reply(Answer{Out: out})
	}
	if b.head != nil {
		b.head.waiting = b.answerOvertaken(b.head.waiting)
	}
}

// answerOvertaken answers requests that began from an object as it stood before the batch wrote it, and returns the
// others.
func (b *batch) answerOvertaken(waiting []*request) []*request {
	return slices.DeleteFunc(waiting, func(r *request) bool {
		i := slices.IndexFunc(b.members, func(m member) bool { return m.at > 0 && m.w.Key == r.w.Key })
		if i < 0 {
			return false
		}
		m := &b.members[i]
		out := Outcome{Rev: m.at}
		if m.op.IsPut() {
			out.KV = &mvccpb.KeyValue{Key: []byte(m.w.Key), Value: m.op.ValueBytes(), ModRevision: m.at}
		}
		r.reply(Answer{Out: out})
		return true
	})
}

// rememberResult takes what the transaction at rev made true of the zone, whose version is zoneRev, and of names into
// memory. The caller holds Memory.Mu.
func (b *batch) rememberResult(rev, zoneRev int64) {
	com := b.com
	if c := b.change; c != nil {
		h := com.queueAt(com.mem.Layout.Zone(c.Zone.Namespace, c.Zone.Name))
		if b.journal > 0 {
			com.jr.Wrote(&h.trimming, h.Key, b.object, rev, len(b.steps.Steps), b.journal)
		}
		if !slices.ContainsFunc(b.members, func(m member) bool { return m.w.Item != nil }) {
			for i := range b.steps.Steps { // what cascades take away, a round finds
				com.noteFreed(c.Zone, &b.steps.Steps[i])
			}
		}
		if h.Mod <= rev {
			if c.Gone {
				com.mem.Absent(h.Head, rev)
			} else {
				b.advanceHead(h.Head, c.Zone, zoneRev)
			}
		}
	} else if b.object != nil && b.head.Mod == b.Mod { // it moved as it is
		b.object = b.Base.DeepCopy()
		b.head.Object, b.head.Mod = b.object, zoneRev
	}
	for k, v := range b.Facts {
		delete(b.Read, k)
		if k.Kind == law.KindHolding {
			h, _ := v.(*law.Holding)
			com.mem.Remember(k, h, rev)
		}
	}
	for _, t := range b.touched {
		t.s.Work, t.s.Mod = t.next, rev
	}
	for i := range b.members {
		if p := b.members[i].plan; p != nil && p.Work != nil {
			com.works[p.Work.ID] = true
			com.Rouse()
		}
	}
}

// advanceHead moves the head of the zone to rev. Facts in memory hold on, unless the zone was read at a revision
// between, or is pending: then its keys are purged, and it may come again with others. The caller holds Memory.Mu.
func (b *batch) advanceHead(h *facts.Head, zone *law.Zone, rev int64) {
	facts := h.Facts
	if h.Mod != b.Mod && h.Mod != rev || zone.Pending {
		facts = nil
	}
	b.com.mem.StandAt(h, b.object, zone, rev)
	h.Facts = facts
	for i := range b.members {
		s := b.members[i].session
		for _, p := range s.Single { // a guess that held is knowledge
			if p.Key.Zone == zone.UID && s.Seen.Used(p.Key) {
				v, _ := s.Seen.Get(p.Key)
				h.Note(p.Key, v)
			}
		}
	}
	for k, v := range b.Facts {
		if k.Zone == zone.UID && k.Kind != law.KindMember { // no decision asks for that
			h.Note(k, v)
		}
	}
}

// readCompared makes the reads of all that the batch compares: its zones, then its objects.
func (b *batch) readCompared() []clientv3.Op {
	ops := make([]clientv3.Op, 0, len(b.zones)+len(b.members))
	for _, z := range b.zones {
		ops = append(ops, clientv3.OpGet(z.Key))
	}
	for i := range b.members {
		ops = append(ops, clientv3.OpGet(b.members[i].w.Key))
	}
	return ops
}

// resolveConflicts reads what stands where a compare failed, and returns the requests to be decided again. A write
// whose object has changed is answered with the new object. Where a zone moved that the batch has no lock of, the
// writes that looked at it take that lock first.
func (b *batch) resolveConflicts(ctx context.Context, r *clientv3.TxnResponse) (again []*request) {
	com := b.com
	if len(r.Responses) == 0 {
		var err error
		if r, err = com.mem.Client.Txn(ctx).Then(b.readCompared()...).Commit(); err != nil {
			b.answerAll(Answer{Err: err})
			return nil
		}
	}
	moved, strange, err := b.reloadMoved(ctx, r)
	if err != nil {
		b.answerAll(Answer{Err: err})
		return nil
	}
	explained := len(moved) > 0
	refreshed := map[*Item]error{}
	for i := range b.members {
		m := &b.members[i]
		kv := etcd.One(r.Responses[len(b.zones)+i])
		own := etcd.ModRevision(kv) != m.w.Expected
		explained = explained || own
		if s := m.w.Item; s != nil {
			if _, known := refreshed[s]; !known {
				refreshed[s] = s.Refresh(ctx, com.mem)
			}
			if err := refreshed[s]; err != nil {
				m.reply(Answer{Err: err})
				continue
			}
		}
		needs := b.locksFor(m, strange)
		switch {
		case m.isBehind():
			m.reply(Answer{behind: true})
		case own: // etcd3 runs the caller's update again, or reports AlreadyExists
			m.reply(Answer{Out: Outcome{Rev: r.Header.Revision, KV: kv}})
		case len(needs) > 0:
			m.reply(Answer{Locks: needs})
		default:
			again = append(again, m.request)
		}
	}
	if !explained { // then a name is not held as it is remembered
		com.mem.Mu.Lock()
		for i := range b.members {
			com.mem.Suspect(b.members[i].session)
		}
		com.mem.Mu.Unlock()
	}
	klog.FromContext(ctx).V(4).Info("writes decided anew", "writes", len(again), "moved", moved, "try", b.try)
	return again
}

// locksFor are the locks that a write needs to be decided anew: those of the batch, and of the strange zones that it
// looked at; none where it needs none of these, or may yet go with the others.
func (b *batch) locksFor(m *member, strange []string) (needs []string) {
	if len(b.members) > 1 && b.try <= 1 {
		return nil
	}
	for _, key := range strange {
		if key != m.w.Key && m.session.Zone(key) != nil {
			needs = append(needs, key)
		}
	}
	if len(needs) == 0 {
		return nil
	}
	for _, h := range b.locks {
		needs = append(needs, h.Key)
	}
	return needs
}

// reloadMoved reads the zones that have moved into memory, and notes another server that was met there. strange are
// those whose lock the batch does not have.
func (b *batch) reloadMoved(ctx context.Context, r *clientv3.TxnResponse) (moved, strange []string, err error) {
	mem := b.com.mem
	for i, z := range b.zones {
		kv := etcd.One(r.Responses[i])
		if etcd.ModRevision(kv) == z.Mod {
			continue
		}
		moved = append(moved, z.Key)
		mem.Mu.Lock()
		heads := []*facts.Head{mem.Head(z.Key)}
		if i := slices.IndexFunc(b.locks, func(q *queue) bool { return q.Key == z.Key }); i >= 0 {
			q := b.locks[i]
			heads = append(heads, q.Head) // another zone may have put it out of memory while this write was about to wait
			if q.met, q.asked = time.Now(), 0; b.try%2 == 1 {
				mem.Spawn(func() { b.com.askFor(q.Key) })
			}
		} else {
			strange = append(strange, z.Key)
		}
		mem.Mu.Unlock()
		for _, h := range heads {
			if err := mem.Reload(ctx, h, kv, r.Header.Revision); err != nil {
				return nil, nil, err
			}
		}
	}
	return moved, strange, nil
}

// isContended reports whether another server has been met at the zone lately.
func (com *Committer) isContended(h *queue) bool {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	return time.Since(h.met) < contention
}

// touched is an outbox item as a batch writes it.
type touched struct {
	s    *Item
	next law.Work
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

// payerOf returns the payer of a write that waited in the queue of its zone without the context of its caller: the
// namespace of its object, or the one that caused its cascade.
func (w *Write) payerOf() etcd.Payer {
	if w.Payer != "" {
		return etcd.Payer{Namespace: w.Payer, Weight: etcd.KeyOctets}
	}
	if w.Item != nil {
		return etcd.Payer{Namespace: w.Item.Work.By, Weight: etcd.KeyOctets}
	}
	return etcd.Payer{Namespace: w.Namespace, Weight: etcd.KeyOctets}
}

// paidIn returns the context in which one write reads. The caller of the write pays, where the context has that
// caller.
func (w *Write) paidIn(ctx context.Context) context.Context {
	if payers, _ := ctx.Value(etcd.PayersKey{}).([]etcd.Payer); len(payers) > 0 && w.Payer == "" {
		return ctx
	}
	return etcd.PaidBy(ctx, w.payerOf())
}

// paidContext returns the context of a batch that is alone.
func (b *batch) paidContext(ctx context.Context) context.Context {
	if len(b.members) == 1 {
		return b.members[0].w.paidIn(ctx)
	}
	return etcd.PaidBy(ctx, b.payers()...)
}

// payers are those of a batch. Each namespace pays for its objects, and an equal share of what all of them write
// together. Refusals pay where nothing is written.
func (b *batch) payers() []etcd.Payer {
	all := make([]etcd.Payer, 0, len(b.members))
	for i := range b.members {
		if m := &b.members[i]; m.writesObject() || b.writes == 0 {
			by := m.w.payerOf()
			by.Weight += len(m.op.ValueBytes())
			all = append(all, by)
		}
	}
	return all
}
