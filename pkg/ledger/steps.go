// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
)

// A cascade decides records one after the other, each on what the last one left, and
// writes many at once. Those that leave a zone, or come into one, go together as the
// writes of its clients do (batch.go), at one commit point. Where the zone contains
// after the step what it did before (a rename), each record has a transaction of its
// own, and these run side by side, each with the proof of all that was decided on.
// What owes something itself, or is the first to touch a zone, goes alone.
//
// Order is S2.7's. What leaves one zone for another does so before the records that
// wait with it are decided, then all of these come in in order: so who comes first
// to a name does not hang on where he comes from.
//
// A step holds the zone's queue like a client's batch, and no longer: clients that
// wait there have the turn after it.

const (
	// maxSteps is how many records are read at once, and decided in one go at most:
	// about as many as one transaction takes.
	maxSteps = 16
	// sideBySide bounds the writes of a cascade that are under way: it is one caller
	// among others, and their writes wait behind its own in etcd.
	sideBySide = 8
	// maxStepTries of steps that go together, whose guards do not hold; then the first goes alone.
	maxStepTries = 8
)

// step is a candidate with its record as it was read.
type step struct {
	candidate
	r *request
	// zone is the key of the one it probably changes, "" for none. stands: that is the
	// zone it is in.
	zone   string
	stands bool
	// done: decided. moves: it is between two zones, and another step takes it in (I1).
	done, moves bool
}

// stepOf is the write of a record that is decided anew (S2.5). Error: errDamaged.
func (l *Ledger) stepOf(s *standing, c candidate, o *v1alpha1.Record, mod int64) (*write, error) {
	r, err := lawRecord(o)
	if err != nil {
		return nil, fmt.Errorf("record %s/%s: %w: %w", o.Namespace, o.Name, errDamaged, err)
	}
	r.Terminating = r.Terminating || l.terminates(o.Namespace)
	ask := law.RecordAsk{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), After: r, Cascade: true,
		Now: l.now(), By: "", WorkID: newID(), Work: s.mark(), WorkBy: s.work.By,
		Uncounted: l.terminates(s.work.By) || strings.HasPrefix(s.work.ID, migrationID)}
	if ask.Before, ask.Waits, err = adopted(o); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	// Whether it held its name stands in a key of the zone that it leaves, or where it
	// waits. Neither says another thing while the record stays as it was read.
	ask.Stood = ask.Before != nil || moving(o)
	ask.Held = ask.Stood && c.left == law.AdmittedPlain
	key := l.layout.Record(o.Namespace, o.Name)
	return &write{
		resource: "records", namespace: o.Namespace, name: o.Name, key: key, expected: mod, hint: l.guessZone(r), standing: s,
		ask: func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) },
		primary: func(ctx context.Context, plan *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) {
			if l.stays(o, plan) {
				plan.Orphan, plan.OrphanBefore = nil, nil
				return nil, nil, nil
			}
			placed := o.DeepCopy()
			if plan.Zone == nil && plan.Record.Zone != nil {
				plan.Record.Serial = serial.Serial(o.Status.Serial) // its zone did not change
			}
			l.placeRecord(placed, plan.Record)
			data, err := l.config.Records.encode(ctx, key, placed)
			op := opPut(key, data)
			return &op, nil, err
		},
	}, nil
}

// mark is the id that the steps of a work leave at the zones that they change; "": those stay settled (law.Work.Unmarked).
func (s *standing) mark() string {
	if s.work.Unmarked {
		return ""
	}
	return s.work.ID
}

// has notes what became of a step by its plan.
func (st *step) has(p *law.Plan) {
	if st.moves = leavesFor(p); st.moves && p.Orphan != nil {
		st.left = p.Orphan.Left
	}
}

// leavesFor: the plan lets the record go for another zone to take it in (I1).
func leavesFor(p *law.Plan) bool {
	return p != nil && p.Record != nil && p.Record.Reason == law.ReasonMoving
}

// advance decides candidates anew, at most maxSteps, in order. kvs is what was read
// of their records.
func (l *Ledger) advance(ctx context.Context, s *standing, cs []candidate, kvs []*mvccpb.KeyValue) error {
	l.fault("cascade-step")
	l.stats.CascadeSteps.Add(int64(len(cs)))
	steps, err := l.stepsOf(ctx, s, cs, kvs)
	if err != nil {
		return err
	}
	inside := slices.DeleteFunc(slices.Clone(steps), func(st *step) bool { return !st.stands })
	for zone, group := range byZone(inside) {
		if err := l.inOrder(ctx, s, zone, true, group); err != nil {
			return err
		}
	}
	var onward []candidate
	for _, st := range steps {
		if !st.stands || st.moves {
			onward = append(onward, st.candidate)
		}
	}
	if len(inside) > 0 && len(onward) > 0 {
		s.landed()
		if steps, err = l.readSteps(ctx, s, onward); err != nil {
			return err
		}
	}
	if len(onward) > 0 {
		for zone, group := range byZone(steps) {
			if err := l.inOrder(ctx, s, zone, false, group); err != nil {
				return err
			}
		}
	}
	return nil
}

// byZone yields steps by the zone they change, in the order of the first of each.
func byZone(steps []*step) func(yield func(string, []*step) bool) {
	return func(yield func(string, []*step) bool) {
		var zones []string
		groups := map[string][]*step{}
		for _, st := range steps {
			if _, ok := groups[st.zone]; !ok {
				zones = append(zones, st.zone)
			}
			groups[st.zone] = append(groups[st.zone], st)
		}
		for _, zone := range zones {
			if !yield(zone, groups[zone]) {
				return
			}
		}
	}
}

// landed waits until the records are written that the last batch of the cascade has
// decided. Where that fails, whoever meets their log writes them.
func (s *standing) landed() {
	if s.landing != nil {
		<-s.landing
		s.landing = nil
	}
}

// readSteps reads the records of candidates and makes their steps.
func (l *Ledger) readSteps(ctx context.Context, s *standing, cs []candidate) ([]*step, error) {
	kvs, err := l.readRecords(ctx, cs)
	if err != nil {
		return nil, err
	}
	return l.stepsOf(ctx, s, cs, kvs)
}

// readRecords reads the records of candidates, at most maxSteps, in one round trip.
func (l *Ledger) readRecords(ctx context.Context, cs []candidate) ([]*mvccpb.KeyValue, error) {
	ops := make([]clientv3.Op, 0, 2*len(cs))
	for _, c := range cs {
		key := l.layout.Record(c.namespace, c.object)
		ops = append(ops, clientv3.OpGet(key), clientv3.OpGet(l.layout.Reserved(key)))
	}
	for {
		l.stats.Reads.Add(1)
		r, err := l.config.Client.Txn(ctx).Then(ops...).Commit()
		if err != nil {
			return nil, err
		}
		logs := map[string]bool{}
		for i := range cs {
			if reserved := one(r.Responses[2*i+1]); reserved != nil {
				logs[string(reserved.Value)] = true
			}
		}
		for log := range logs {
			if err := l.carryOutLog(ctx, log); err != nil {
				return nil, err
			}
		}
		if len(logs) > 0 {
			continue
		}
		kvs := make([]*mvccpb.KeyValue, len(cs))
		for i := range cs {
			kvs[i] = one(r.Responses[2*i])
		}
		return kvs, nil
	}
}

// stepsOf makes the steps of candidates. Those that are gone are left out.
func (l *Ledger) stepsOf(ctx context.Context, s *standing, cs []candidate, kvs []*mvccpb.KeyValue) ([]*step, error) {
	steps := make([]*step, 0, len(cs))
	for i, c := range cs {
		kv := kvs[i]
		if kv == nil {
			continue
		}
		o := &v1alpha1.Record{}
		if err := l.config.Records.decode(ctx, string(kv.Key), kv.Value, kv.ModRevision, o); err != nil {
			if err := s.leaveOut(ctx, c.ref(), err); err != nil {
				return nil, err
			}
			continue
		}
		if string(o.UID) != c.uid {
			continue
		}
		if _, err := l.leaves(ctx, s, o); err != nil {
			return nil, err
		}
		var err error
		st := &step{candidate: c, r: &request{answer: make(chan answer, 1)}}
		if st.r.w, err = l.stepOf(s, c, o, kv.ModRevision); err != nil {
			if err = s.leaveOut(ctx, c.ref(), err); err != nil {
				return nil, err
			}
			continue
		}
		st.zone = st.r.w.hint
		if ref := o.Status.ZoneRef; ref != nil {
			home := l.layout.Zone(ref.Namespace, ref.Name)
			if st.stands, err = l.isAt(ctx, home, string(ref.UID)); err != nil {
				return nil, err
			}
			if st.stands {
				st.zone = home
			}
		}
		steps = append(steps, st)
	}
	return steps, nil
}

// isAt: the zone with that uid stands at the key, as far as this server knows.
func (l *Ledger) isAt(ctx context.Context, key, uid string) (bool, error) {
	l.mu.Lock()
	h := l.head(key)
	known, zone := h.loaded, h.zone
	l.mu.Unlock()
	if !known {
		r, err := l.config.Client.Get(ctx, key)
		if err != nil {
			return false, err
		}
		var kv *mvccpb.KeyValue
		if len(r.Kvs) > 0 {
			kv = r.Kvs[0]
		}
		if err := l.reload(ctx, h, kv, r.Header.Revision); err != nil {
			return false, err
		}
		l.mu.Lock()
		zone = h.zone
		l.mu.Unlock()
	}
	return zone != nil && zone.UID == uid && !zone.Pending, nil
}

// inOrder carries out steps that probably change one zone; inside: it is the one that
// their records are in, and what leaves it for another is not taken in there yet.
func (l *Ledger) inOrder(ctx context.Context, s *standing, zone string, inside bool, steps []*step) error {
	bound := maxBatchBytes
	for tries := 0; len(steps) > 0; tries++ {
		alone, err := l.together(ctx, s, zone, steps, tries > 0, &bound)
		if err != nil {
			return err
		}
		before := len(steps)
		steps = slices.DeleteFunc(slices.Clone(steps), func(st *step) bool { return st.done })
		switch {
		case len(steps) < before && !alone:
			tries = -1
		case len(steps) > 0 && (alone || tries == maxStepTries):
			st := steps[0]
			plan, err := l.reconsiderRecord(ctx, s, st.candidate)
			if err != nil {
				return err
			}
			st.has(plan)
			if st.done = !st.moves || inside; st.done {
				steps = steps[1:]
			}
			tries = -1
		default: // somebody was faster, or it was too much at once
			if err := s.refresh(ctx, l); err != nil {
				return err
			}
			if steps, err = l.readAgain(ctx, s, inside, steps); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAgain gives steps what stands of their records now, and returns those that are
// left: what is gone is done, and who has left the zone comes with those who wait.
func (l *Ledger) readAgain(ctx context.Context, s *standing, inside bool, steps []*step) ([]*step, error) {
	var cs []candidate
	for _, st := range steps {
		cs = append(cs, st.candidate)
	}
	found, err := l.readSteps(ctx, s, cs)
	if err != nil {
		return nil, err
	}
	var left []*step
	for _, st := range steps {
		i := slices.IndexFunc(found, func(f *step) bool { return f.candidate == st.candidate })
		if i < 0 {
			continue
		}
		st.r = found[i].r
		if st.stands = found[i].stands; st.stands || !inside {
			left = append(left, st)
		}
	}
	return left, nil
}

// together decides steps in order, from the first on, as many as go into one
// transaction of the zone, and writes them. again: they lost a race, so they move the
// zone's revision in any case, as everybody does who takes part in the turns there.
// alone: the first that is not done is no matter for this. bound: see assembly; it
// is less after the call where etcd did not take that much.
func (l *Ledger) together(ctx context.Context, s *standing, zone string, steps []*step, again bool, bound *int) (alone bool, err error) {
	began, release := time.Now(), func() {}
	b := &assembly{l: l, bound: *bound}
	if zone != "" {
		w := &write{}
		if err := l.acquire(ctx, w, zone); err != nil {
			return false, err
		}
		b.head = w.locks[0]
		release = sync.OnceFunc(func() {
			l.yield(w, 0, time.Since(began))
			l.release(w)
		})
		defer release()
		if err := b.begin(ctx); err != nil {
			return false, err
		}
	}
	var taken int
	if b.zone == nil {
		taken, err = b.decideNowhere(ctx, steps)
	} else {
		taken, alone, err = b.decideSteps(ctx, s, steps)
	}
	if err != nil || taken == 0 {
		return taken == 0, err
	}
	same := b.change == nil // as the zone is
	if again && same && b.zone != nil && b.members > 0 {
		if h, ok := b.holding(); ok {
			b.change, same = &law.ZoneChange{Zone: b.zone, Holding: h}, false
		}
	}
	switch {
	case same && (b.members > 0 || b.zone == nil):
		if err := l.apart(ctx, b.places); err != nil {
			return false, err
		}
	default:
		b.commit(ctx, ctx)
		if *bound = b.bound; b.large {
			return taken == 1, nil
		}
		if len(b.late) > 0 {
			release() // the zone's next writes need not wait for these records, nor do the next steps
			s.landed()
			landing := make(chan struct{})
			s.landing = landing
			go func() {
				defer close(landing)
				b.finish(ctx)
			}()
		}
		if b.at > 0 {
			for i, st := range steps[:taken] {
				st.done = true
				st.has(b.places[i].plan)
			}
			return alone, nil
		}
	}
	for _, st := range steps[:taken] {
		select {
		case a := <-st.r.answer:
			if a.err != nil {
				return false, a.err
			}
			if st.done = a.out.ok; st.done {
				st.has(st.r.w.plan)
			}
			alone = alone && a.out.ok
		default:
			alone = false
		}
	}
	return alone, nil
}

// decideSteps takes steps in from the first on. alone: the one behind the last taken
// has to go alone.
func (b *assembly) decideSteps(ctx context.Context, s *standing, steps []*step) (taken int, alone bool, err error) {
	for pass := 0; ; pass++ {
		if err := b.begin(ctx); err != nil || b.zone == nil {
			return 0, false, err
		}
		var cold []law.Key
	looking:
		for i := taken; i < len(steps) && !b.full(); i++ {
			d, missing, ok, err := b.foresee(ctx, s, steps[i])
			switch {
			case err != nil:
				return 0, false, err
			case len(missing) > 0:
				cold = append(cold, missing...)
			case len(cold) > 0: // not before those in front of it
			case !ok:
				alone = true
				break looking
			default:
				if d.plan.Zone != nil {
					if !b.include(d.session, d.plan) {
						alone = true
						break looking
					}
					b.marks(s, d.plan.Zone)
				}
				b.seat(d)
				taken++
			}
		}
		if len(cold) == 0 {
			return taken, alone, nil
		}
		if pass == 4 {
			return taken, true, nil
		}
		if err := b.warm(ctx, dedupe(cold)); err != nil {
			return 0, false, err
		}
		b.l.mu.Lock()
		moved := b.head.mod != b.mod
		b.l.mu.Unlock()
		if moved {
			taken = 0
			b.anew()
		}
	}
}

// foresee decides a step on what those before it leave. missing: what memory does not
// tell; not ok: the step goes alone.
func (b *assembly) foresee(ctx context.Context, s *standing, st *step) (d decided, missing []law.Key, ok bool, err error) {
	session := b.l.session(false)
	out := st.r.w.ask(session.seen)
	for len(out.Need) > 0 {
		cold, ok := b.lookUp(session, dedupe(out.Need))
		if !ok || len(cold) > 0 {
			return d, cold, false, nil
		}
		out = st.r.w.ask(session.seen)
	}
	if out.Refusal != nil || len(session.ranges)+len(session.deep) > 0 || !b.carries(s, out.Plan) {
		return d, nil, false, nil
	}
	d, err = b.l.place(ctx, st, session, out.Plan)
	return d, nil, err == nil && len(d.op.ValueBytes()) <= maxEntry, err
}

// place is what a step's plan writes of the record, and where it waits.
func (l *Ledger) place(ctx context.Context, st *step, session *session, plan *law.Plan) (decided, error) {
	d := decided{r: st.r, session: session, plan: plan}
	op, _, err := st.r.w.primary(ctx, plan)
	if err == nil && op != nil {
		d.op = *op
		d.waiting.waiting(l, plan, st.r.w, waits{uid: st.uid, created: st.created})
	}
	return d, err
}

// carries: nothing is owed for the plan elsewhere, and where it marks the zone as one
// that the work touches, the work knows that zone.
func (b *assembly) carries(s *standing, p *law.Plan) bool {
	if p.Work != nil || p.Move != nil || len(p.Debts) > 0 || slices.ContainsFunc(p.Writes, func(x law.Write) bool { return x.Key.Zone != b.zone.UID }) {
		return false
	}
	c := p.Zone
	if c == nil {
		return len(p.Writes) == 0
	}
	return c.Zone.UID == b.zone.UID && !c.Gone && (!s.marks(c) || slices.ContainsFunc(s.work.Zones, func(p law.Place) bool { return p.UID == c.Zone.UID }))
}

// marks: the zone bears the work's mark.
func (s *standing) marks(c *law.ZoneChange) bool {
	return slices.ContainsFunc(c.Holding.Works, func(w law.StandingWork) bool { return w.ID == s.work.ID })
}

// marks compares the item of the work whose mark the zone bears, as standing.touch does.
func (b *assembly) marks(s *standing, c *law.ZoneChange) {
	item := revisionIs(b.l.layout.Outbox(s.work.ID), s.mod)
	if s.marks(c) {
		b.compare(item)
	}
}

// holding is what stands under the zone's name, as the decisions saw it.
func (b *assembly) holding() (*law.Holding, bool) {
	for i := range b.places {
		if v, ok := b.places[i].session.seen.Get(law.HoldingKey(b.zone.View, b.zone.FQDN())); ok {
			h, _ := v.(*law.Holding)
			return h, h != nil && h.UID == b.zone.UID
		}
	}
	return nil, false
}

// decideNowhere decides steps that no zone takes in.
func (b *assembly) decideNowhere(ctx context.Context, steps []*step) (taken int, err error) {
	for _, st := range steps {
		session := b.l.session(false)
		out, err := session.decide(ctx, st.r.w.ask)
		if err != nil || out.Refusal != nil || len(session.ranges)+len(session.deep) > 0 {
			return taken, nil // which it meets alone
		}
		if p := out.Plan; p.Zone != nil || p.Work != nil || p.Move != nil || len(p.Debts)+len(p.Writes) > 0 {
			return taken, nil
		}
		d, err := b.l.place(ctx, st, session, out.Plan)
		if err != nil {
			return 0, err
		}
		b.places = append(b.places, d)
		taken++
	}
	return taken, nil
}

// apart writes records whose zones stay as they are, each in a transaction of its own
// that compares all that it was decided on (I5).
func (l *Ledger) apart(ctx context.Context, places []decided) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sideBySide)
	for i := range places {
		d := &places[i]
		var then []clientv3.Op
		if d.writes() {
			then = append(d.waiting.ops(), d.op)
		}
		group.Go(func() error {
			l.fault("cascade-record")
			orelse := []clientv3.Op{clientv3.OpGet(d.r.w.key)}
			for _, z := range d.session.zones {
				orelse = append(orelse, clientv3.OpGet(z.key))
			}
			l.stats.Transactions.Add(1)
			r, err := l.config.Client.Txn(ctx).If(l.proof(d.session, d.r.w)...).Then(then...).Else(orelse...).Commit()
			if err != nil {
				l.drop(d.session)
				return err
			}
			if r.Succeeded {
				d.r.w.plan = d.plan
				d.r.reply(outcome{ok: true, rev: r.Header.Revision}, nil)
				return nil
			}
			l.stats.Conflicts.Add(1)
			_, err = l.catchUp(ctx, d.r.w, d.session, false, r)
			return err
		})
	}
	return group.Wait()
}
