// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// Writers of one zone queue at its head. Who finds others waiting takes them
// along: their records are decided one after the other, each on what the last one
// left, and one transaction makes all of it true. It is the commit point:
//
//	If    the zone and every fact the decisions used are as they were, and each
//	      record is at its expected revision and not reserved
//	Then  the zone with the last serial, the zone's keys, one journal key with a
//	      step for each record, the first record, and for the others a redo log
//	      and a reservation each
//	Else  the zones as they are
//
// Then each of the others is written in a transaction of its own; where a commit takes long, those
// are sent right behind it (early in log.go). The reservation is consumed
// by that write: while it stands nobody else writes the record, under any zone,
// and whoever meets it carries the log out first (log.go). So the next batch need not
// wait for these writes (queue.go), and the content of a zone at a revision is its
// records with its standing logs laid over them (I2).

const (
	// maxBatch, wideOps and maxBatchBytes keep a batch within what etcd takes: the operations that an embedded one
	// is told, which are tried at any, 128 of them by default (narrowOps), or what it turns out to be told, and 1.5 MiB of a
	// request: maxBatchBytes, what the last one brings, and a Zone of 512 KiB, which an older kubizone let in (S5.6).
	maxBatch      = 64
	wideOps       = 500
	narrowOps     = 120
	maxBatchBytes = 512 << 10
	// maxEntry is for the tenant who writes the longest record there may be into a
	// zone of many, or changes it: what takes more, in its record or in the journal,
	// goes alone, and does not make everybody's request too large.
	maxEntry = 64 << 10
	// maxTries of a batch whose guards do not hold; then each of its requests goes alone.
	maxTries = 8
	// batchTimeout bounds a batch: it belongs to many requests and ends with none of them.
	batchTimeout = 20 * time.Second
	// maxDone logs that are carried out go with one write of the zone.
	maxDone = 3
)

// assembly is a batch while it is decided: the zone and its facts as the
// decisions so far leave them.
type assembly struct {
	l     *Ledger
	head  *head
	guess bool
	stale bool // another server has had a turn, so what is remembered would be refused

	base   *v1alpha1.Zone // at mod
	mod    int64
	zone   *law.Zone
	facts  map[law.Key]any
	change *law.ZoneChange
	// journal has the steps; bound is how many octets the next may be decided behind.
	journal layout.JournalValue
	written int // octets of the journal, ended
	bound   int

	cmps    []clientv3.Cmp
	proven  map[string]bool // the keys they compare
	zones   []zoneSeen      // other than the base, for the else branch
	places  []decided
	waiting puts // under which keys records wait that the zone lets go, and no longer wait that it takes in
	octets  int  // of all that, about
	members int  // places that write
	// large: etcd did not take so many.
	large bool

	// What is left to do after the commit point, at that revision.
	late   []*decided
	log    redoLog
	logKey string
	at     int64
	early  *early
	done   []standingLog // logs carried out before, which it takes away
	// knocked: another server has taken one of those.
	knocked bool
}

// decided is one request's part in a batch.
type decided struct {
	r       *request
	session *session
	refusal *law.Refusal
	plan    *law.Plan
	op      clientv3.Op
	waiting puts
}

// writes: what was decided is more than what stands already.
func (d *decided) writes() bool { return d.op.IsPut() || d.op.IsDelete() }

// decide takes in as many requests as fit and returns those left over. Who is no
// matter for a batch is told so.
func (b *assembly) decide(ctx context.Context, batch []*request) (rest []*request) {
	for pass := 0; ; pass++ {
		if err := b.begin(ctx); err != nil || b.zone == nil {
			alone(batch) // which meet the reason themselves
			return rest
		}
		b.places = slices.Grow(b.places, len(batch))
		var cold []law.Key
		var waiting []*request
		for i, r := range batch {
			if b.full() {
				rest = append(rest, batch[i:]...)
				break
			}
			missing, ok := b.admit(ctx, r)
			switch {
			case !ok:
				r.answer <- answer{alone: true}
			case len(missing) > 0:
				cold, waiting = append(cold, missing...), append(waiting, r)
			}
		}
		if len(cold) == 0 {
			return rest
		}
		// What memory does not tell is read for all at once, and remembered at the head. Then those that asked are decided
		// after the others, unless the zone has moved: then none of it is worth anything.
		if err := b.warm(ctx, dedupe(cold)); err != nil || pass == 2 {
			alone(waiting)
			return rest
		}
		b.l.mu.Lock()
		moved := b.head.mod != b.mod
		b.l.mu.Unlock()
		if moved {
			batch = nil
			for _, d := range b.places {
				batch = append(batch, d.r)
			}
			batch = append(batch, waiting...)
			b.anew()
			continue
		}
		batch = waiting
	}
}

// anew forgets what was decided.
func (b *assembly) anew() { *b = assembly{l: b.l, head: b.head, bound: b.bound} }

func alone(requests []*request) {
	for _, r := range requests {
		r.answer <- answer{alone: true}
	}
}

// begin takes the zone as it is remembered, or reads it.
func (b *assembly) begin(ctx context.Context) error {
	if b.base != nil {
		return nil
	}
	for try := 0; ; try++ {
		b.l.mu.Lock()
		if h := b.head; h.loaded && !b.stale || try > 0 {
			b.base, b.mod, b.zone = h.object, h.mod, h.zone
			b.l.mu.Unlock()
			b.facts = map[law.Key]any{}
			return nil
		}
		b.l.mu.Unlock()
		r, err := b.l.config.Client.Get(ctx, b.head.key)
		if err != nil {
			return err
		}
		if len(r.Kvs) == 0 {
			return nil
		}
		if err := b.l.reload(ctx, b.head, r.Kvs[0], r.Header.Revision); err != nil {
			return err
		}
	}
}

// full: the next record might not fit. A record brings at most nine operations
// beside those that all of them share, and some 200 KiB: twice maxEntry and what is known of its name.
func (b *assembly) full() bool {
	const each, shared = 9, 8 + maxDone
	ops := int(b.l.ops.Load())
	return len(b.places) > 0 && (len(b.cmps)+each > ops || len(b.facts)+len(b.waiting)+b.members+each+shared > ops || b.octets > b.bound)
}

// admit decides one request on what the others left. missing: what memory does not
// tell, the request was not taken in; not ok: it is no matter for a batch.
func (b *assembly) admit(ctx context.Context, r *request) (missing []law.Key, ok bool) {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	if r.gone {
		return nil, true
	}
	s := b.l.session(r.w.guess && b.guess)
	out := r.w.ask(s.seen)
	for len(out.Need) > 0 {
		cold, ok := b.lookUp(s, dedupe(out.Need))
		if !ok || len(cold) > 0 {
			return cold, ok
		}
		out = r.w.ask(s.seen)
	}
	cmps := s.guards()
	if len(b.cmps)+len(cmps)+2 > int(b.l.ops.Load()) && len(b.places) > 0 || len(s.ranges)+len(s.deep) > 0 {
		return nil, false
	}
	d := decided{r: r, session: s, refusal: out.Refusal, plan: out.Plan}
	if out.Refusal == nil {
		if !b.takes(out.Plan) {
			return nil, false
		}
		op, _, err := r.w.primary(ctx, out.Plan)
		if err != nil {
			r.reply(outcome{}, err)
			return nil, true
		}
		if op == nil || len(op.ValueBytes()) > maxEntry {
			return nil, false
		}
		d.op = *op
		if !b.include(s, out.Plan) {
			return nil, false
		}
	}
	b.seat(d)
	return nil, true
}

// seat gives a decision its place, with what it compares.
func (b *assembly) seat(d decided) {
	for _, c := range b.l.proof(d.session, d.r.w) {
		b.compare(c)
	}
	for _, z := range d.session.zones {
		if z.key != b.head.key && !slices.ContainsFunc(b.zones, func(have zoneSeen) bool { return have.key == z.key }) {
			b.zones = append(b.zones, z)
		}
	}
	if d.writes() {
		b.octets += len(d.op.ValueBytes()) + 2*len(d.r.w.key) + keyOctets
		b.members++
		for _, x := range d.waiting {
			b.octets += len(x.key) + len(x.value)
		}
		b.waiting = append(b.waiting, d.waiting...)
	}
	b.places = append(b.places, d)
}

// compare adds a compare, of each key one.
func (b *assembly) compare(c clientv3.Cmp) {
	if b.proven == nil {
		b.proven = map[string]bool{}
	}
	if key := string(c.KeyBytes()); !b.proven[key] {
		b.proven[key] = true
		b.octets += len(key)
		b.cmps = append(b.cmps, c)
	}
}

// proof are the compares of a record's write: what was decided on, and that the
// record is as it was and nobody's log has another for it.
func (l *Ledger) proof(s *session, w *write) []clientv3.Cmp {
	cmps := append(s.guards(), revisionIs(w.key, w.expected))
	if l.config.dropGuards != "reserved" {
		cmps = append(cmps, absent(l.layout.Reserved(w.key)))
	}
	return cmps
}

// takes: the plan changes this zone's definition and owes nothing elsewhere. What
// does more has a transaction for itself.
func (b *assembly) takes(p *law.Plan) bool {
	c := p.Zone
	return c != nil && c.Zone.UID == b.zone.UID && c.Step != nil && !c.Gone && p.Work == nil && len(p.Debts) == 0 && p.Orphan == nil && p.OrphanBefore == nil &&
		!slices.ContainsFunc(p.Writes, func(x law.Write) bool { return x.Key.Zone != b.zone.UID })
}

// keyOctets are more than a key and what etcd's messages put around it mostly take.
const keyOctets = 256

// weight is about what a fact takes, with its key. What a tenant can make long is counted.
func weight(fact any) int {
	switch v := fact.(type) {
	case *law.Owner:
		return keyOctets + 96*(len(v.Values)+len(v.Cut))
	case *law.Holders:
		return keyOctets + 128*len(v.List)
	}
	return 2 * keyOctets
}

// include moves the zone and its facts on. false: nothing of it, the step is too long for company.
func (b *assembly) include(s *session, p *law.Plan) bool {
	c := *p.Zone
	if c.Step != nil {
		octets, ok := b.journal.Add(c.Step, maxEntry)
		if !ok {
			return false
		}
		b.octets += octets
	}
	for _, x := range p.Writes {
		if s.stands(x) {
			continue
		}
		if before, written := b.facts[x.Key]; written {
			b.octets -= weight(before)
		}
		b.octets += weight(x.Value)
		b.facts[x.Key] = x.Value
	}
	if b.change != nil {
		if c.Delegated == nil {
			c.Delegated = b.change.Delegated
		}
		if c.Servable == nil {
			c.Servable = b.change.Servable
		}
	}
	b.change, b.zone = &c, c.Zone
	return true
}

// lookUp finds the facts that a session needs in memory. cold are those that must be read; not ok: a batch
// decides nothing that needs them.
func (b *assembly) lookUp(s *session, need []law.Key) (cold []law.Key, ok bool) {
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	s.batch = b
	for _, k := range need {
		_, known := s.seen.Get(k)
		switch {
		case known || layout.IsRange(k) || k.Kind == law.KindHolding && k.Name.NumLabels() > deepName:
			return nil, false
		case k.Kind != law.KindHolding && k.Kind != law.KindZone && k.Zone != b.zone.UID:
			return nil, false
		case !s.lookUp(k):
			cold = append(cold, k)
		}
	}
	return cold, true
}

// warm reads facts into memory, the zone's under its present revision.
func (b *assembly) warm(ctx context.Context, keys []law.Key) error {
	s := b.l.session(false)
	b.l.mu.Lock()
	s.sawZone(law.ZoneKey(b.zone.Namespace, b.zone.Name), b.head)
	b.l.mu.Unlock()
	for chunk := range slices.Chunk(keys, 100) {
		if err := s.read(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// commit sends the batch and answers what it settles; the records in b.late are
// decided then, and finish writes them within flight. again are requests whose guards did not hold.
func (b *assembly) commit(ctx, flight context.Context) (again []*request) {
	if len(b.places) == 0 {
		return nil
	}
	l := b.l
	var first *decided
	for i := range b.places {
		switch d := &b.places[i]; {
		case !d.writes():
		case first == nil:
			first = d
		default:
			b.late = append(b.late, d)
			b.log.Entries = append(b.log.Entries, logEntry{Key: d.r.w.key, Value: d.op.ValueBytes()})
		}
	}
	then, object, err := b.operations(ctx, first)
	if err != nil {
		b.late = nil
		b.fail(err)
		return nil
	}
	orelse := []clientv3.Op{clientv3.OpGet(b.head.key)}
	for _, z := range b.zones {
		orelse = append(orelse, clientv3.OpGet(z.key))
	}
	for _, log := range b.done {
		orelse = append(orelse, clientv3.OpGet(log.key, clientv3.WithKeysOnly()))
	}
	l.fault("before-commit")
	l.stats.Transactions.Add(1)
	b.early = b.start(flight)
	r, err := l.config.Client.Txn(b.paid(ctx)).If(b.cmps...).Then(then...).Else(orelse...).Commit()
	b.early.enough()
	b.large = tooLarge(err)
	if many := errors.Is(err, rpctypes.ErrTooManyOps) && len(b.places) > 1; many || b.large { // it is refused before anything is done
		b.late = nil
		for i := range b.places {
			again = append(again, b.places[i].r)
		}
		switch {
		case many:
			l.narrow(max(len(b.cmps), len(then)))
		case len(b.places) == 1: // where it meets the same, there is somebody to be told
			alone(again)
			return nil
		default:
			b.bound = min(b.bound, b.octets) / 2
		}
		return again
	}
	if err != nil {
		// The outcome is unknown: forget what depends on it. A log that came to be is carried out by the sweeper.
		b.late = nil
		for _, d := range b.places {
			l.drop(d.session)
		}
		b.fail(err)
		return nil
	}
	l.fault("after-commit")
	if !r.Succeeded {
		l.stats.Conflicts.Add(1)
		b.late = nil
		return b.lost(ctx, r)
	}
	if len(b.late) > 0 {
		l.stats.Batches.Add(1)
	}
	b.at = r.Header.Revision
	b.settle(object)
	for i := range b.places {
		switch d := &b.places[i]; {
		case d.refusal != nil:
			d.r.reply(outcome{}, status(d.r.w.resource, d.r.w.name, d.refusal))
		case d == first || !d.writes():
			d.r.w.plan = d.plan
			d.r.reply(outcome{ok: true, rev: r.Header.Revision}, nil)
		}
	}
	return nil
}

// narrow takes in that so many operations are too many: probably etcd has its default, else fewer.
func (l *Ledger) narrow(operations int) {
	fewer := int64(narrowOps)
	if operations <= narrowOps {
		fewer = int64(operations) / 2
	}
	if fewer < l.ops.Load() {
		l.ops.Store(fewer)
	}
}

func (b *assembly) fail(err error) {
	for _, d := range b.places {
		d.r.reply(outcome{}, err)
	}
}

// operations of the transaction that is the commit point; none where nothing is
// to be written.
func (b *assembly) operations(ctx context.Context, first *decided) (then []clientv3.Op, object *v1alpha1.Zone, err error) {
	if first == nil {
		return nil, nil, nil
	}
	l := b.l
	object = b.base.DeepCopy()
	l.placeZone(object, b.change)
	data, err := l.config.Zones.encode(ctx, b.head.key, object)
	if err != nil {
		return nil, nil, err
	}
	then = make([]clientv3.Op, 0, len(b.facts)+len(b.waiting)+b.members+4+maxDone)
	then = append(then, first.op, opPut(b.head.key, data))
	for k, v := range b.facts {
		if v == nil {
			then = append(then, clientv3.OpDelete(l.layout.Key(k)))
		} else {
			then = append(then, opPut(l.layout.Key(k), layout.Encode(v)))
		}
	}
	then = append(then, b.waiting.ops()...)
	uid := b.zone.UID
	if len(b.journal.Steps) > 0 {
		last := b.journal.Last()
		value := b.journal.Value(b.change.Settled())
		b.written = len(value)
		key := l.layout.Step(uid, last)
		then = append(then, opPut(key, value))
		l.made.put(key, value, &content.Transaction{Steps: b.journal.Steps, Settled: b.change.Settled()})
	}
	l.mu.Lock()
	b.done = slices.Clone(b.head.logs[:min(len(b.head.logs), maxDone)])
	l.mu.Unlock()
	for _, log := range b.done { // another server may have taken it, so that this one knows of it (knock)
		b.cmps = append(b.cmps, revisionIs(log.key, log.mod))
		then = append(then, clientv3.OpDelete(log.key))
	}
	if len(b.log.Entries) > 0 {
		b.logKey = l.layout.Log(uid, newID())
		then = append(then, opPut(b.logKey, b.log.encode()))
		for _, e := range b.log.Entries {
			then = append(then, clientv3.OpPut(l.layout.Reserved(e.Key), b.logKey))
		}
	}
	return then, object, nil
}

// settle remembers what the commit point made true.
func (b *assembly) settle(object *v1alpha1.Zone) {
	if object == nil {
		return
	}
	l, h, rev := b.l, b.head, b.at
	l.mu.Lock()
	defer l.mu.Unlock()
	h.taken(b.done...)
	if n := len(b.journal.Steps); n > 0 { // a cascade's batch may have none
		l.journals(h, object, n, b.written)
	}
	if len(b.late) > 0 {
		if h.aloft == nil {
			h.aloft = map[string]bool{}
		}
		if h.flights++; h.landing == nil {
			h.landing = make(chan struct{})
		}
		for _, e := range b.log.Entries {
			h.aloft[e.Key] = true
		}
	}
	if h.mod > rev {
		return
	}
	facts := h.facts
	if h.mod != b.mod && h.mod != rev {
		facts = nil
	}
	l.set(h, object, b.zone, rev)
	h.facts = facts
	for i := range b.places {
		d := &b.places[i]
		for _, p := range d.session.single { // a guess that held is knowledge
			if p.key.Zone == b.zone.UID && d.session.seen.Used(p.key) {
				v, _ := d.session.seen.Get(p.key)
				h.know(p.key, v)
			}
		}
	}
	for k, v := range b.facts {
		h.know(k, v)
	}
}

// lost takes the else branch in. Where no zone has moved, who lost its own race is
// told what stands there; the others are decided anew.
func (b *assembly) lost(ctx context.Context, r *clientv3.TxnResponse) (again []*request) {
	l := b.l
	moved := false
	for i := range 1 + len(b.zones) {
		h, mod := b.head, b.mod
		kv := one(r.Responses[i])
		if i > 0 {
			l.mu.Lock()
			h, mod = l.head(b.zones[i-1].key), b.zones[i-1].mod
			l.mu.Unlock()
		}
		if modRevision(kv) == mod {
			continue
		}
		if moved = true; h == b.head {
			l.mu.Lock()
			h.rival = time.Now()
			l.mu.Unlock()
		}
		if err := l.reload(ctx, h, kv, r.Header.Revision); err != nil {
			b.fail(err)
			return nil
		}
	}
	for i, log := range b.done {
		if modRevision(one(r.Responses[1+len(b.zones)+i])) != log.mod {
			moved, b.knocked = true, true
			l.mu.Lock()
			b.head.taken(log)
			b.head.rival = time.Now()
			l.mu.Unlock()
		}
	}
	if moved {
		for _, d := range b.places {
			again = append(again, d.r)
		}
		return again
	}
	var ops []clientv3.Op
	for _, d := range b.places {
		ops = append(ops, clientv3.OpGet(d.r.w.key), clientv3.OpGet(l.layout.Reserved(d.r.w.key)))
	}
	now, err := l.config.Client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		b.fail(err)
		return nil
	}
	explained := false
	for i, d := range b.places {
		kv, reserved := one(now.Responses[2*i]), one(now.Responses[2*i+1])
		explained = explained || reserved != nil || modRevision(kv) != d.r.w.expected
		switch {
		case reserved != nil:
			if err := l.carryOutLog(ctx, string(reserved.Value)); err != nil {
				d.r.reply(outcome{}, err)
				continue
			}
			again = append(again, d.r)
		case modRevision(kv) != d.r.w.expected:
			d.r.reply(outcome{rev: now.Header.Revision, kv: kv}, nil)
		default:
			again = append(again, d.r)
		}
	}
	if !explained { // then a name is not held as it is remembered
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, d := range b.places {
			l.suspect(d.session)
		}
	}
	return again
}
