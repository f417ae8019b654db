// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// write is one decision on its way into one transaction:
//
//	If    the object is at the expected revision, nothing reserves it,
//	      and every fact the decision used is as it was (session.guards)
//	Then  the object, its zone, the zone's keys, one journal key,
//	      what waits or no longer waits, the outbox item, the debts
//	Else  the object and the zones as they are, and the redo logs in the way
//
// When the guards do not hold the decision is made anew from the values of the
// else branch, or from a fresh read where no zone has moved. A refusal is proved the same way, by a transaction without Then:
// nobody is refused by a stale memory. Two simple rules make it live: who lost a
// race on a zone queues for that zone before trying again, and a writer that met
// another server's revision lets that server have the next round trip.
type write struct {
	resource, namespace, name string
	key                       string
	expected                  int64
	// was is the zone at that revision where key is a zone's, nil while it is made.
	was *v1alpha1.Zone
	// guess: see session.guess. flat: zones at names of more than flatName labels
	// are guarded by ranges.
	guess, flat bool
	// ask runs the law.
	ask func(*law.Seen) law.Outcome
	// primary is the operation on key under a plan, nil for none. When key is a
	// zone it also returns the object as it will stand (nil: gone).
	primary func(ctx context.Context, plan *law.Plan) (op *clientv3.Op, zone *v1alpha1.Zone, err error)
	// also are further operations and compares of the same transaction.
	also func(plan *law.Plan) ([]clientv3.Cmp, []clientv3.Op)
	// standing is the cascade that makes this write, nil for a client's.
	standing *standing
	// withdraws is the uid of a zone in which it may take rights away; "": it takes none.
	withdraws string
	// hint is the zone key it will probably change.
	hint string
	// keep: the locks stay with the write after a lost race on its own object, so
	// that the caller's next try cannot lose to this process again.
	keep bool

	// logs of the zone that the last try met; their records are written since.
	logs []standingLog

	locks []*head
	plan  *law.Plan // as committed
}

// withdrawsFrom is the uid of the zone in which the write may take rights away; "": there is none.
func (w *write) withdrawsFrom() string {
	if w.was != nil && w.key == w.hint {
		return string(w.was.UID)
	}
	return w.withdraws
}

// uid of the waiting object, for the orphan keys.
type waits struct {
	uid     string
	created int64
}

func (l *Ledger) commit(ctx context.Context, w *write, who waits) (outcome, error) {
	if !w.keep {
		defer l.release(w)
	}
	if w.batchable() {
		if out, done, err := l.enqueue(ctx, w); done || err != nil {
			return out, err
		}
	}
	if w.hint != "" && len(w.locks) == 0 {
		if err := l.acquire(ctx, w, w.hint); err != nil {
			return outcome{}, l.late(w, err)
		}
		if w.resource != "records" {
			l.landed(w.locks[0], ctx.Done()) // which saves it from carrying their log out
		}
	}
	postponed := time.Duration(0)
	for try := 0; ; try++ {
		s := l.session(w.guess && try == 0)
		if w.flat {
			s.depth = flatName
		}
		out, err := s.decide(ctx, w.ask)
		if errors.Is(err, errMoved) {
			return l.moved(ctx, w)
		}
		if err != nil {
			return outcome{}, l.late(w, err)
		}
		if out.Refusal != nil && out.Refusal.Kind == law.Later {
			if postponed += laterPause; postponed > maxPostponed {
				return outcome{}, status(w.resource, w.name, out.Refusal)
			}
			l.postpone(ctx, w, s)
			continue
		}
		if missing := l.queues(w, out.Plan); len(missing) > 0 {
			if err := l.acquire(ctx, w, missing...); err != nil {
				return outcome{}, l.late(w, err)
			}
			continue // what was true before the queue may not be now
		}
		t, err := l.transaction(ctx, w, s, out, who)
		if err != nil {
			return outcome{}, err
		}
		if t == nil { // too many single compares: read instead of guessing, then ranges instead of names
			w.guess, w.flat = false, !s.guess
			continue
		}
		l.fault("before-commit")
		started := time.Now()
		l.stats.Transactions.Add(1)
		r, err := l.config.Client.Txn(ctx).If(t.cmps...).Then(t.then...).Else(t.orelse...).Commit()
		if tooLarge(err) {
			return outcome{}, tooLong(w, t)
		}
		if err != nil {
			// The outcome is unknown: forget what depends on it, never repeat blindly.
			l.drop(s)
			return outcome{}, err
		}
		l.fault("after-commit")
		if r.Succeeded {
			if out.Refusal != nil {
				return outcome{}, status(w.resource, w.name, out.Refusal)
			}
			w.plan = out.Plan
			trip := time.Since(started)
			l.turns.took(trip)
			l.settle(w, s, t, r.Header.Revision)
			l.yield(w, try, trip)
			if c := out.Plan.Zone; c != nil && c.Held && l.config.Held != nil {
				l.config.Held(t.object.DeepCopy())
			}
			if t.writes {
				return outcome{ok: true, rev: versionAt(r, 0)}, nil
			}
			return outcome{ok: true, rev: r.Header.Revision}, nil
		}
		l.stats.Conflicts.Add(1)
		if w.standing != nil {
			if err := w.standing.refresh(ctx, l); err != nil {
				return outcome{}, err
			}
		}
		freed, err := l.clear(ctx, w, t, r)
		if err != nil {
			return outcome{}, err
		}
		own := modRevision(one(r.Responses[0])) != w.expected
		lost, err := l.catchUp(ctx, w, s, freed || own, r)
		if err != nil {
			return outcome{}, err
		}
		if own {
			return outcome{rev: r.Header.Revision, kv: one(r.Responses[0])}, nil // etcd3 runs the caller's update again, or reports AlreadyExists
		}
		if len(lost) > 0 {
			if err := l.acquire(ctx, w, lost...); err != nil {
				return outcome{}, l.late(w, err)
			}
		}
		if klog.V(4).Enabled() {
			klog.FromContext(ctx).V(4).Info("write decided anew", "resource", w.resource, "namespace", w.namespace, "name", w.name, "try", try)
		}
	}
}

// tooLarge: etcd, or the connection to it, takes no request of so many octets, and nothing was done.
func tooLarge(err error) bool {
	return errors.Is(err, rpctypes.ErrRequestTooLarge) || grpcstatus.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max")
}

// tooLong: the write is too large by itself.
func tooLong(w *write, t *transaction) error {
	octets := 0
	for _, op := range t.then {
		octets += len(op.KeyBytes()) + len(op.ValueBytes())
	}
	what := w.resource + " " + w.namespace + "/" + w.name
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s: with its zone and what the journal says of the change it is %d octets, more than etcd takes in one transaction; nothing was written: "+
		"change fewer values at once, or shorter ones, or have etcd started with a larger --max-request-bytes (1.5 MiB by default)", what, octets))
}

// moved is the outcome of a write whose object somebody else has changed: the
// present one, as after a lost race. A record that a log has changed is written first.
func (l *Ledger) moved(ctx context.Context, w *write) (outcome, error) {
	for {
		r, err := l.config.Client.Txn(ctx).Then(clientv3.OpGet(w.key), clientv3.OpGet(l.layout.Reserved(w.key))).Commit()
		if err != nil {
			return outcome{}, l.late(w, err)
		}
		out := outcome{rev: r.Header.Revision, kv: one(r.Responses[0])}
		if modRevision(out.kv) != w.expected {
			return out, nil
		}
		reserved := one(r.Responses[1])
		if reserved == nil {
			return outcome{}, fmt.Errorf("ledger: what is known of %s does not go together with it: run kubizone fsck, which says what is damaged", w.key)
		}
		if err := l.carryOutLog(ctx, string(reserved.Value)); err != nil {
			return outcome{}, l.late(w, err)
		}
	}
}

// clear carries out the logs that the else branch names: the one that reserves the
// record, or those of a zone that changes. false: there were none. A zone that
// others write at once never stands without a log, so the next try of its own
// write takes these away itself, if no other has come by then.
func (l *Ledger) clear(ctx context.Context, w *write, t *transaction, r *clientv3.TxnResponse) (bool, error) {
	if !t.logs {
		return false, nil
	}
	kvs := r.Responses[len(r.Responses)-1].GetResponseRange().Kvs
	if w.resource == "records" {
		for _, kv := range kvs {
			if err := l.carryOutLog(ctx, string(kv.Value)); err != nil {
				return false, err
			}
		}
		return len(kvs) > 0, nil
	}
	again := len(w.logs) > 0
	w.logs = nil
	for _, kv := range kvs {
		if again { // a server whose logs follow each other leaves the next turn to who takes one away (knock)
			l.through(string(kv.Key))
			if err := l.carryOutLog(ctx, string(kv.Key)); err != nil {
				return false, err
			}
			continue
		}
		log, err := l.redoAll(ctx, kv)
		if err != nil {
			return false, err
		}
		w.logs = append(w.logs, standingLog{string(kv.Key), kv.ModRevision, log.Entries})
	}
	return len(kvs) > 0, nil
}

// standingLog is a redo log whose records are written.
type standingLog struct {
	key     string
	mod     int64
	entries []logEntry
}

// late turns the end of the request's time into an answer.
func (l *Ledger) late(w *write, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return tooBusy(w.resource, w.name, err)
	}
	return err
}

func (w *write) holds(key string) bool {
	return slices.ContainsFunc(w.locks, func(h *head) bool { return h.key == key })
}

// queues are the zones whose turn a plan needs and the write does not have: the one
// that changes, and those whose holding it writes (a move reserves a place, a removal
// leaves a mark), since each write of theirs compares that too.
func (l *Ledger) queues(w *write, plan *law.Plan) (missing []string) {
	if plan == nil {
		return nil
	}
	need := func(z law.Ref) {
		if key := l.layout.Zone(z.Namespace, z.Name); !w.holds(key) && !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	if plan.Zone != nil {
		need(plan.Zone.Zone.Ref)
	}
	for _, x := range plan.Writes {
		if h, ok := x.Value.(*law.Holding); ok && h != nil {
			need(h.Ref)
		}
	}
	return missing
}

// A write that may pass when cascades are through is decided anew every laterPause, for
// maxPostponed in all; then the client is told to come again. It holds no queue meanwhile:
// the cascades need it.
const (
	laterPause   = 50 * time.Millisecond
	maxPostponed = time.Second
)

// postpone waits for laterPause, and has the names that the decision took from memory read anew.
func (l *Ledger) postpone(ctx context.Context, w *write, s *session) {
	l.release(w)
	l.mu.Lock()
	l.suspect(s)
	l.mu.Unlock()
	timer := time.NewTimer(laterPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// acquire queues for zones beside those already held, in key order so that two
// writes never wait for each other.
func (l *Ledger) acquire(ctx context.Context, w *write, keys ...string) error {
	for _, h := range w.locks {
		if !slices.Contains(keys, h.key) {
			keys = append(keys, h.key)
		}
	}
	l.release(w)
	slices.Sort(keys)
	for _, key := range keys {
		l.mu.Lock()
		h := l.head(key)
		l.mu.Unlock()
		select {
		case h.sem <- struct{}{}:
			w.locks = append(w.locks, h)
		case <-ctx.Done():
			l.release(w)
			return ctx.Err()
		}
	}
	return nil
}

func (l *Ledger) release(w *write) {
	for _, h := range w.locks {
		<-h.sem
	}
	w.locks = nil
}

// yield is the replicas' turn rule: a write that met another server's revision
// keeps the zone's queue of this process closed for one more round trip.
func (l *Ledger) yield(w *write, tries int, trip time.Duration) {
	var foreign []*head
	l.mu.Lock()
	for _, h := range w.locks {
		if h.foreign {
			h.foreign = false
			foreign = append(foreign, h)
		}
	}
	l.mu.Unlock()
	if len(foreign) == 0 || w.keep {
		return
	}
	w.locks = slices.DeleteFunc(w.locks, func(h *head) bool { return slices.Contains(foreign, h) })
	time.AfterFunc(min(trip, 20*time.Millisecond), func() {
		for _, h := range foreign {
			<-h.sem
		}
	})
}

// transaction of a decision.
type transaction struct {
	cmps   []clientv3.Cmp
	then   []clientv3.Op // the object first, where it writes one
	writes bool
	orelse []clientv3.Op // the object, then the zones of the session, then with logs what stands in the way (clear)
	logs   bool
	head   *head // of the zone that changes
	object *v1alpha1.Zone
	zoneAt int64         // the revision of that zone that the decision is about
	done   []standingLog // redo logs of that zone that are carried out, and go along
	step   int           // octets of its journal value, where that has a step
}

// puts are the writes of a transaction beside the object, the last of each key.
type puts []keyValue

type keyValue struct {
	key   string
	value []byte
	gone  bool
}

func (p *puts) add(x keyValue) {
	for i := range *p {
		if (*p)[i].key == x.key {
			(*p)[i] = x
			return
		}
	}
	*p = append(*p, x)
}

func (p *puts) put(key string, value []byte) { p.add(keyValue{key: key, value: value}) }
func (p *puts) set(key string, v any)        { p.put(key, layout.Encode(v)) }
func (p *puts) del(key string)               { p.add(keyValue{key: key, gone: true}) }

func (p puts) ops() []clientv3.Op {
	ops := make([]clientv3.Op, 0, len(p))
	for _, x := range p {
		if x.gone {
			ops = append(ops, clientv3.OpDelete(x.key))
		} else {
			ops = append(ops, opPut(x.key, x.value))
		}
	}
	return ops
}

// waiting puts under the keys by which a plan's record or zone is found while it
// waits, and takes it from those where it waited.
func (p *puts) waiting(l *Ledger, plan *law.Plan, w *write, who waits) {
	if plan.OrphanBefore != nil {
		for _, key := range l.layout.Waiting(plan.OrphanBefore, w.resource, w.namespace, w.name) {
			p.del(key)
		}
	}
	if plan.Orphan != nil {
		for _, key := range l.layout.Waiting(plan.Orphan, w.resource, w.namespace, w.name) {
			p.set(key, layout.WaiterOf(who.uid, who.created, plan.Orphan.Left))
		}
	}
}

func (l *Ledger) transaction(ctx context.Context, w *write, s *session, out law.Outcome, who waits) (*transaction, error) {
	t := &transaction{}
	var logs clientv3.Op
	t.cmps = append(s.guards(), revisionIs(w.key, w.expected))
	if w.resource == "records" && l.config.dropGuards != "reserved" {
		t.cmps = append(t.cmps, absent(l.layout.Reserved(w.key)))
		logs = clientv3.OpGet(l.layout.Reserved(w.key))
	} else if of := w.withdrawsFrom(); of != "" {
		// What a zone withdraws was decided before, and is written before (I5).
		standing := l.layout.Logs(of)
		newest := int64(0)
		for _, log := range w.logs {
			newest = max(newest, log.mod)
			t.cmps = append(t.cmps, revisionIs(log.key, log.mod))
			for _, e := range log.entries {
				t.cmps = append(t.cmps, absent(l.layout.Reserved(e.Key)))
			}
		}
		t.cmps = append(t.cmps, clientv3.Compare(clientv3.ModRevision(standing), "<", newest+1).WithPrefix())
		logs = clientv3.OpGet(standing, clientv3.WithPrefix())
	}
	if len(t.cmps) > maxCompares && len(w.logs) > 0 { // too much in one: away with them first
		for _, log := range w.logs {
			if err := l.carryOutLog(ctx, log.key); err != nil {
				return nil, err
			}
		}
		w.logs = nil
		return l.transaction(ctx, w, s, out, who)
	}
	if len(t.cmps) > maxCompares {
		if s.guess || s.depth > flatName {
			return nil, nil
		}
		return nil, tooManyFacts(w, s.seen, len(t.cmps))
	}
	t.orelse = append(make([]clientv3.Op, 0, 2+len(s.zones)), clientv3.OpGet(w.key))
	for _, z := range s.zones {
		t.orelse = append(t.orelse, clientv3.OpGet(z.key))
	}
	if logs.IsGet() {
		t.orelse, t.logs = append(t.orelse, logs), true
	}
	if out.Refusal != nil {
		return t, nil
	}
	plan := out.Plan
	puts := make(puts, 0, len(plan.Writes)+6) // and the zone, journal, outbox
	op, object, err := w.primary(ctx, plan)
	if err != nil {
		return nil, err
	}
	t.then = make([]clientv3.Op, 0, len(plan.Writes)+6)
	if op != nil {
		t.then, t.writes = append(t.then, *op), true
	}
	for _, log := range w.logs {
		puts.del(log.key)
	}
	for _, x := range plan.Writes {
		if s.stands(x) {
			continue
		}
		if x.Value == nil {
			puts.del(l.layout.Key(x.Key))
		} else {
			puts.set(l.layout.Key(x.Key), x.Value)
		}
	}
	puts.waiting(l, plan, w, who)
	for _, owed := range []*law.Work{plan.Work, plan.Move} {
		if owed != nil {
			puts.set(l.layout.Outbox(owed.ID), owed)
		}
	}
	for _, d := range plan.Debts {
		puts.set(l.layout.PendingCut(d.Parent.UID, d.Child.UID), d)
	}
	if c := plan.Zone; c != nil {
		key := l.layout.Zone(c.Zone.Namespace, c.Zone.Name)
		l.mu.Lock()
		t.head = l.head(key)
		t.done = slices.Clone(t.head.logs[:min(len(t.head.logs), maxDone)])
		l.mu.Unlock()
		for _, log := range t.done {
			puts.del(log.key)
		}
		var before *v1alpha1.Zone
		if key == w.key {
			before, t.zoneAt = w.was, w.expected
		} else if z := s.zone(key); z != nil {
			before, t.zoneAt = z.object, z.mod
		}
		t.object = object
		if key != w.key {
			t.object = before.DeepCopy()
			l.placeZone(t.object, c)
			data, err := l.config.Zones.encode(ctx, key, t.object)
			if err != nil {
				return nil, fmt.Errorf("ledger: encoding zone %s: %w", key, err)
			}
			puts.put(key, data)
		}
		if !c.Zone.Pending || c.Ended != nil {
			if key, tx := l.journalled(before, c); tx != nil {
				value := layout.Encode(tx)
				puts.put(key, value)
				l.made.put(key, value, tx)
				if len(tx.Steps) > 0 {
					t.step = len(value)
				}
			}
		}
		if w.standing != nil {
			w.standing.touch(t, l, c, puts.set)
		}
	}
	t.then = append(t.then, puts.ops()...)
	if w.also != nil {
		cmps, ops := w.also(plan)
		t.cmps, t.then = append(t.cmps, cmps...), append(t.then, ops...)
	}
	return t, nil
}

// tooManyFacts refuses what does not fit into a transaction: for now, where cascades that
// bring records to a zone of the decision have a share in that.
func tooManyFacts(w *write, seen *law.Seen, facts int) error {
	for _, fact := range seen.All() {
		if h, _ := fact.(*law.Holding); h != nil && slices.ContainsFunc(h.Works, func(w law.StandingWork) bool { return w.Losing != "" }) {
			return status(w.resource, w.name, &law.Refusal{Kind: law.Later, Message: fmt.Sprintf("%d facts decide about it while records come to its zone from others, and at most %d fit into one transaction; try again when they are there", facts, maxCompares)})
		}
	}
	return status(w.resource, w.name, &law.Refusal{Kind: law.Invalid, Field: "spec.domainName", Message: fmt.Sprintf("%d facts decide about it, and at most %d fit into one transaction (use fewer labels, or fewer name servers in the zone)", facts, maxCompares)})
}

// journalled is the journal key of a change: a step, or a mark that the zone
// settled, unsettled or went. nil: there is nothing to tell.
func (l *Ledger) journalled(before *v1alpha1.Zone, c *law.ZoneChange) (string, *content.Transaction) {
	switch {
	case c.Gone || c.Ended != nil:
		z := c.Zone
		if c.Ended != nil {
			z = c.Ended
		}
		return l.layout.Step(z.UID, z.N) + ".gone", &content.Transaction{After: z.N, Gone: true}
	case c.Step != nil:
		tx := &content.Transaction{Steps: []content.Step{*c.Step}, Settled: c.Settled()}
		if c.Step.Creates() {
			tx.Zone = &content.Identity{View: c.Zone.View, Namespace: c.Zone.Namespace, Name: c.Zone.Name}
		}
		return l.layout.Step(c.Zone.UID, c.Step.N), tx
	case before != nil && c.Settled() != (before.Status.SettledSerial == before.Status.Serial):
		return l.layout.StepSettled(c.Zone.UID, c.Zone.N), &content.Transaction{After: c.Zone.N, Settled: c.Settled()}
	}
	return "", nil
}

// settle remembers what a successful transaction made true.
func (l *Ledger) settle(w *write, s *session, t *transaction, rev int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	plan := w.plan
	if h := t.head; h != nil {
		h.taken(t.done...)
		if t.step > 0 {
			l.journals(h, t.object, 1, t.step)
		}
	}
	if h := t.head; h != nil && h.mod <= rev {
		if plan.Zone.Gone {
			l.absent(h, rev)
		} else {
			// What was known holds on, unless somebody read the zone at a revision between, or it
			// is pending: what is left of its keys is purged, and it may come again with others.
			facts := h.facts
			if h.mod != t.zoneAt && h.mod != rev || plan.Zone.Zone.Pending {
				facts = nil
			}
			l.set(h, t.object, plan.Zone.Zone, rev)
			h.facts = facts
			for _, p := range s.single { // a guess that held is knowledge
				if p.key.Zone == plan.Zone.Zone.UID && s.seen.Used(p.key) {
					v, _ := s.seen.Get(p.key)
					h.know(p.key, v)
				}
			}
			for _, x := range plan.Writes {
				if x.Key.Zone == plan.Zone.Zone.UID {
					h.know(x.Key, x.Value)
				}
			}
		}
	}
	for _, x := range plan.Writes {
		if x.Key.Kind == law.KindHolding {
			h, _ := x.Value.(*law.Holding)
			l.remember(x.Key, h, rev)
		}
	}
	if w.standing != nil {
		w.standing.touched(plan, rev)
	}
	if plan.Work != nil {
		l.works[plan.Work.ID] = true
		l.rouse()
	}
}

// rouse has the outbox looked at now.
func (l *Ledger) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// drop forgets everything a transaction of unknown outcome may have changed.
func (l *Ledger) drop(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, z := range s.zones {
		l.head(z.key).loaded = false
	}
	l.suspect(s)
}

// catchUp takes the else branch in; it returns the zones that were lost and are
// not held, which the write queues for before it tries again. explained: a log stood
// in the way, or the object has changed, so no name need be suspected.
func (l *Ledger) catchUp(ctx context.Context, w *write, s *session, explained bool, r *clientv3.TxnResponse) ([]string, error) {
	var lost []string
	moved := false
	for i, z := range s.zones {
		key, kv := z.key, one(r.Responses[1+i])
		if modRevision(kv) == z.mod {
			continue
		}
		moved = true
		l.mu.Lock()
		h := l.head(key)
		if w.holds(key) {
			h.foreign = true
		} else if key != w.key {
			lost = append(lost, key)
		}
		l.mu.Unlock()
		if err := l.reload(ctx, h, kv, r.Header.Revision); err != nil {
			return nil, err
		}
	}
	if !moved && !explained {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.suspect(s)
	}
	return lost, nil
}

// maxDoubt bounds the names that are read before they are believed: who gives up does not read his own.
const maxDoubt = 1 << 16

// suspect makes the next decision read the names that this one took from memory,
// since one of them may be what has changed.
func (l *Ledger) suspect(s *session) {
	if len(l.doubt) > maxDoubt { // who believes a name wrongly loses once more
		clear(l.doubt)
	}
	for _, p := range s.single {
		if p.key.Kind == law.KindHolding {
			l.doubt[p.key] = true
		}
	}
}

// plain writes an object whose content does not change: its own revision and
// the reservation are all it compares, and no zone waits for it.
func (l *Ledger) plain(ctx context.Context, key string, expected int64, data []byte) (outcome, error) {
	op := clientv3.OpDelete(key)
	if data != nil {
		op = opPut(key, data)
	}
	cmps := []clientv3.Cmp{revisionIs(key, expected)}
	if strings.HasPrefix(key, l.layout.Objects("records")) {
		cmps = append(cmps, absent(l.layout.Reserved(key)))
	}
	orelse := []clientv3.Op{clientv3.OpGet(key)}
	if len(cmps) > 1 {
		orelse = append(orelse, clientv3.OpGet(l.layout.Reserved(key)))
	}
	r, err := l.config.Client.Txn(ctx).If(cmps...).Then(op).Else(orelse...).Commit()
	if err != nil {
		return outcome{}, err
	}
	if !r.Succeeded && len(orelse) > 1 {
		if reserved := one(r.Responses[1]); reserved != nil { // then the record is about to change: what stands there now is the answer
			if err := l.carryOutLog(ctx, string(reserved.Value)); err != nil {
				return outcome{}, err
			}
			now, err := l.config.Client.Get(ctx, key)
			if err != nil {
				return outcome{}, err
			}
			out := outcome{rev: now.Header.Revision}
			if len(now.Kvs) > 0 {
				out.kv = now.Kvs[0]
			}
			if modRevision(out.kv) == expected {
				return l.plain(ctx, key, expected, data)
			}
			return out, nil
		}
	}
	if !r.Succeeded {
		return outcome{rev: r.Header.Revision, kv: one(r.Responses[0])}, nil
	}
	return outcome{ok: true, rev: versionAt(r, 0)}, nil
}
