// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
)

// together decides the writes of a change set as one batch, which is committed whole, with one step and one serial. Where a decision is a
// refusal, or commit is not asked for, its transaction has no puts: it proves the refusals (I5).
type together struct {
	com    *committer
	writes []*setWrite
	commit bool

	// What run leaves: the writes whose objects have changed, with what stands there, and the version of each that was committed.
	lost map[*setWrite]outcome
	at   map[*setWrite]int64
	// owed are the debts that it leaves, each once. They are paid without its locks: what changes a child and its parent takes the parent's first.
	owed []law.Debt

	// locks are those of the zones that the writes change; postponed is how long they have waited for cascades, try counts lost races, and strange
	// how often no facts went together with an object that had not changed.
	locks     write
	postponed time.Duration
	try       int
	strange   int

	// What a round of decisions leaves; the next one begins anew. b is of no zone where that is not there, and opening is nil then.
	b       *batch
	opening *law.Zone
	steps   []content.Step
	missing []string // zones whose lock a plan needs
	later   bool
}

// maxStrange is how often a zone may have changed under the facts of a decision, before damage is reckoned with.
const maxStrange = 3

// zone is what was committed: the zone of the writes, and its serial.
func (t *together) zone() (*v1alpha1.AdoptingZone, int64) {
	if o := t.b.object; o != nil {
		return &v1alpha1.AdoptingZone{Namespace: o.Namespace, Name: o.Name, UID: o.UID}, o.Status.Serial
	}
	for _, w := range t.writes { // nothing that a zone contains has changed
		if w.before != nil && w.before.Status.ZoneRef != nil {
			return w.before.Status.ZoneRef.DeepCopy(), w.before.Status.Serial
		}
	}
	return nil, 0
}

// run decides until the decisions hold. An error is that of all writes; refusals are theirs.
func (t *together) run(ctx context.Context) error {
	com := t.com
	t.locks = write{resource: "records"}
	defer func() { com.release(t.locks.locks...) }()
	ctx = paidBy(ctx, payer{t.writes[0].namespace(), 1})
	for _, w := range t.writes { // the zone that it will be, mostly
		if _, hint, err := w.ask(); err == nil && hint != "" && w.decided() {
			if err := com.acquire(ctx, &t.locks, hint); err != nil {
				return t.late(err)
			}
			break
		}
	}
	for {
		err := t.decide(ctx)
		switch {
		case errors.Is(err, errOverlayMoved) && ctx.Err() == nil:
			continue
		case errors.Is(err, errMoved) && len(t.lost) > 0:
			return nil
		case err != nil:
			return t.late(err)
		case t.later && t.postponed < maxPostponed:
			t.postponed += laterPause
			com.release(t.locks.locks...)
			t.locks.locks = nil
			pause(ctx, laterPause)
			continue
		case len(t.missing) > 0:
			if err := com.acquire(ctx, &t.locks, t.missing...); err != nil {
				return t.late(err)
			}
			continue // what was true before the lock may not be now
		}
		done, err := t.send(ctx)
		if err != nil || done {
			return err
		}
	}
}

// late turns the end of the time of what writes nothing into an answer.
func (t *together) late(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return apierrors.NewTimeoutError(fmt.Sprintf("the change set was not decided in time (%v), and nothing was written: try again", err), 0)
	}
	return err
}

func (w *setWrite) object() *v1alpha1.Record {
	if w.after != nil {
		return w.after
	}
	return w.before
}

func (w *setWrite) namespace() string { return w.object().Namespace }

// decided: the law is asked about the write.
func (w *setWrite) decided() bool { return !w.same && w.put == nil && !sameContent(w.before, w.after) }

// refuse says why the object of the write cannot be in the set.
func (w *setWrite) refuse(path *field.Path, format string, args ...any) error {
	return apierrors.NewInvalid(v1alpha1.Kind("Record"), w.object().Name, field.ErrorList{{Type: field.ErrorTypeForbidden, Field: path.String(), Detail: fmt.Sprintf(format, args...)}})
}

// decide is one round: deletions first, so that what they free can be had, then the others in their order. One that is refused is decided again
// after the others, while that helps.
func (t *together) decide(ctx context.Context) error {
	t.lost, t.at, t.steps, t.missing, t.later = nil, nil, nil, nil, false
	if err := t.open(ctx); err != nil {
		return err
	}
	var pending []*setWrite
	for _, w := range t.writes {
		o := w.object()
		w.plan, w.placed = nil, nil
		w.member = &member{session: t.com.mem.session(false), request: newRequest(t.com.writeOf("records", o, w.expected))}
		if w.refusal = t.misfit(w); w.refusal == nil && w.decided() {
			pending = append(pending, w)
		}
	}
	slices.SortStableFunc(pending, func(x, y *setWrite) int {
		switch {
		case x.after == nil && y.after != nil:
			return -1
		case x.after != nil && y.after == nil:
			return 1
		}
		return 0
	})
	if err := t.warm(ctx, pending); err != nil {
		return err
	}
	for len(pending) > 0 {
		var refused []*setWrite
		for _, w := range pending {
			if err := t.judge(ctx, w); err != nil {
				return err
			}
			if w.refusal != nil {
				refused = append(refused, w)
			}
		}
		if len(refused) == len(pending) {
			break
		}
		pending = refused
	}
	b := t.b
	for _, w := range t.writes {
		for _, c := range append(w.member.session.guards(), revisionIs(w.key, w.expected)) {
			b.compare(c)
		}
		for _, z := range w.member.session.zones {
			if !slices.ContainsFunc(b.zones, func(have zoneSeen) bool { return have.key == z.key }) {
				b.zones = append(b.zones, z)
			}
		}
	}
	return nil
}

// open takes the zone of the first write, as it stands, for what all are decided on.
func (t *together) open(ctx context.Context) error {
	com := t.com
	t.b, t.opening = &batch{com: com, locks: t.locks.locks, try: t.try, whole: true, overlay: overlay{facts: map[law.Key]any{}}}, nil
	var key string
	for _, w := range t.writes {
		ask, hint, err := w.ask()
		if err != nil || !w.decided() {
			continue
		}
		out, err := com.mem.session(false).decide(ctx, func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) })
		if err != nil && !errors.Is(err, errMoved) {
			return err
		}
		if key = hint; out.Plan != nil && out.Plan.Zone != nil { // else memory says where it belongs
			key = com.mem.layout.Zone(out.Plan.Zone.Zone.Namespace, out.Plan.Zone.Zone.Name)
		}
		if key != "" {
			break
		}
	}
	if key == "" {
		return nil
	}
	com.mem.mu.Lock()
	head := com.queueAt(key)
	com.mem.mu.Unlock()
	b := *t.b
	b.head = head
	if err := b.begin(ctx); err != nil {
		return err
	}
	if b.zone == nil || b.base == nil || b.zone.Pending {
		return nil
	}
	if !slices.Contains(b.locks, head) {
		t.missing = []string{key}
	}
	t.b, t.opening = &b, b.zone
	return nil
}

// misfit refuses what no decision has to be asked for: records of no zone, or of another.
func (t *together) misfit(w *setWrite) error {
	if w.before == nil || w.before.Status.ZoneRef == nil {
		if w.decided() && w.after != nil {
			return nil
		}
		return w.refuse(field.NewPath("status", "zoneRef"), "is in no zone, and a change set is of Records of one zone: write it by itself")
	}
	if in := t.writes[0].object().Status.ZoneRef; t.opening == nil && in != nil && in.UID != w.before.Status.ZoneRef.UID || t.opening != nil && string(w.before.Status.ZoneRef.UID) != t.opening.UID {
		return w.refuse(field.NewPath("status", "zoneRef"), "is in another zone than others, and a change set is of Records of one zone%s: write it in another one", t.thatIs())
	}
	return nil
}

func (t *together) thatIs() string {
	if t.opening == nil {
		return ""
	}
	return ", here " + t.opening.FQDN().String()
}

// warm reads what memory lacks of the facts for all writes at once, where each would read its own.
func (t *together) warm(ctx context.Context, writes []*setWrite) error {
	if t.opening == nil || len(writes) < 2 {
		return nil
	}
	com, b := t.com, t.b
	for range maxPasses {
		var cold []law.Key
		for _, w := range writes {
			ask, _, err := w.ask()
			if err != nil {
				continue // it is refused with that
			}
			ask.Set = t.opening
			w.member.w.ask = func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) }
			_, _, lacks, err := b.ask(ctx, w.member.w, false, true, false)
			if err != nil {
				return err
			}
			cold = append(cold, lacks...)
		}
		if len(cold) == 0 {
			return nil
		}
		if err := b.warm(ctx, dedupe(cold)); err != nil {
			return err
		}
		com.mem.mu.Lock()
		moved := b.head.mod != b.mod || !b.head.loaded
		com.mem.mu.Unlock()
		if moved {
			return errOverlayMoved
		}
	}
	return nil
}

// judge decides one write on what the others have left.
func (t *together) judge(ctx context.Context, w *setWrite) error {
	w.refusal = nil
	ask, _, err := w.ask()
	if err != nil {
		w.refusal = err
		return nil
	}
	ask.Set = t.opening
	s := t.com.mem.session(false)
	if t.opening != nil {
		s.over = &t.b.overlay
	}
	out, err := s.decide(ctx, func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) })
	var within *overlapError
	switch {
	case errors.As(err, &within):
		w.refusal = w.refuse(field.NewPath("spec", "domainName"), "is decided by all that stands below %s, and other items of the change set write there: write it by itself", within.name)
		return nil
	case errors.Is(err, errMoved):
		return t.moved(ctx, w)
	case err != nil:
		return err
	}
	w.member.session = s
	if out.Refusal != nil {
		t.later = t.later || out.Refusal.Kind == law.Later
		w.refusal = status("records", w.object().Name, out.Refusal)
		return nil
	}
	p := out.Plan
	switch {
	case p.Move != nil:
		w.refusal = w.refuse(field.NewPath("spec", "domainName"), "moves to zone %s, and a change set is of Records of one zone%s: write it by itself", p.Move.Move.To.FQDN, t.thatIs())
	case p.Zone == nil:
		w.refusal = w.refuse(field.NewPath("spec", "domainName"), "no zone takes it in, and a change set is of Records of one zone: write it by itself, or make the zone first")
	case p.Record != nil && p.Record.Zone == nil:
		w.refusal = w.refuse(field.NewPath("spec", "domainName"), "leaves zone %s for none, and a change set is of Records of one zone: write it by itself", p.Zone.Zone.FQDN())
	case t.opening == nil || p.Zone.Zone.UID != t.opening.UID:
		w.refusal = w.refuse(field.NewPath("spec", "domainName"), "belongs to zone %s, and a change set is of Records of one zone%s: write it in another one", p.Zone.Zone.FQDN(), t.thatIs())
	}
	if w.refusal != nil {
		return nil
	}
	for _, key := range t.com.missing(t.b.locks, p) {
		if !slices.Contains(t.missing, key) {
			t.missing = append(t.missing, key)
		}
	}
	w.plan, w.member.plan = p, p
	if p.Zone.Step != nil {
		t.steps = append(t.steps, *p.Zone.Step)
	}
	t.b.include(w.member, nil)
	return nil
}

// moved is what becomes of a write that no facts go together with: its object has changed since it was read, and it begins again, or the zone
// has, and all are decided anew. Where neither has, something is damaged.
func (t *together) moved(ctx context.Context, w *setWrite) error {
	out, err := t.com.moved(ctx, w.member.w)
	switch {
	case err == nil:
		t.lost = map[*setWrite]outcome{w: out}
		return errMoved
	case t.strange == maxStrange:
		return err
	}
	t.strange++
	return errOverlayMoved
}

// refused: nothing is written, since a decision is a refusal or a write has left with one.
func (t *together) refused() bool {
	return !t.commit || slices.ContainsFunc(t.writes, func(w *setWrite) bool { return w.refusal != nil })
}

// place gives each object the state that it is to have, and the batch its one step.
func (t *together) place(ctx context.Context) error {
	com, b := t.com, t.b
	if len(t.steps) > 0 {
		step := content.Condense(t.steps)
		step.By = t.steps[0].By
		if len(t.steps) == 1 {
			step.Record = t.steps[0].Record
		}
		if len(step.Added)+len(step.Removed)+len(step.TTLs) > 0 {
			b.steps.Add(&step, maxBatchOctets<<10)
		} else { // together they change nothing, so it is the content and the serial of before (S6.6)
			t.undoSerial()
		}
	}
	for _, w := range t.writes {
		switch {
		case w.same:
		case w.put != nil:
			w.member.op = opPut(w.key, w.put)
		case w.plan == nil: // a preview of what leaves the content alone (S2.4)
			if w.after.Generation != w.before.Generation {
				w.after.Status.ObservedGeneration = w.after.Generation
			}
		case w.after == nil:
			w.member.op = clientv3.OpDelete(w.key)
		default:
			w.placed = w.after
			if !w.dry {
				w.placed = w.after.DeepCopy()
			}
			place := *w.plan.Record
			if place.Serial.Ahead(b.zone.Serial) {
				place.Serial = b.zone.Serial
			}
			com.placer.placeRecord(w.placed, &place)
			data, err := com.mem.records.encode(ctx, w.key, w.placed)
			if err != nil {
				return err
			}
			w.member.op = opPut(w.key, data)
		}
	}
	return nil
}

// undoSerial gives the zone the serial of before, since the steps of the set undo each other.
func (t *together) undoSerial() {
	b := t.b
	z, c := *b.zone, *b.change
	z.Serial, z.N = t.opening.Serial, t.opening.N
	c.Zone, c.Step = &z, nil
	key := law.HoldingKey(z.View, z.FQDN())
	if h, _ := b.facts[key].(*law.Holding); h != nil {
		before, after := b.com.mem.holdingOf(key), *h
		if after.MinimumConsumed = nil; before != nil {
			after.MinimumConsumed = before.MinimumConsumed
		}
		b.facts[key], c.Holding = &after, &after
	}
	b.zone, b.change = &z, &c
}

// send proves the decisions and commits them. done: that is it, or writes are lost.
func (t *together) send(ctx context.Context) (done bool, err error) {
	com, b, dry := t.com, t.b, t.writes[0].dry
	var then []clientv3.Op
	journal := 0
	if !t.refused() {
		if err := t.place(ctx); err != nil {
			return false, err
		}
	}
	for _, w := range t.writes {
		b.members = append(b.members, *w.member)
	}
	if !t.refused() {
		if then, journal, err = b.operations(ctx); err != nil {
			return false, err
		}
	}
	if dry {
		then = nil
	}
	com.mem.fault("before-commit")
	com.mem.stats.Transactions.Add(1)
	started := time.Now()
	r, err := com.mem.client.Txn(ctx).If(b.cmps...).Then(then...).Commit()
	switch {
	case errors.Is(err, rpctypes.ErrTooManyOps):
		return false, t.tooMany(ctx, max(len(b.cmps), len(then)))
	case tooLarge(err):
		return false, apierrors.NewRequestEntityTooLargeError("the change set with its zone is more than etcd takes in one transaction; nothing was written: make it smaller, " +
			"or have etcd started with a larger --max-request-bytes (1.5 MiB by default)")
	case err != nil: // the outcome is unknown: forget what depends on it, never repeat blindly
		for _, w := range t.writes {
			com.mem.drop(w.member.session)
		}
		if len(then) == 0 {
			err = t.late(err)
		}
		return false, err
	}
	com.mem.fault("after-commit")
	if !r.Succeeded {
		com.mem.stats.Conflicts.Add(1)
		t.try++
		return t.conflicted(ctx, r)
	}
	if t.refused() {
		return true, nil
	}
	for _, w := range t.writes {
		if w.plan != nil {
			warn(w.ctx, w.plan.Warnings)
		}
	}
	if dry {
		return true, nil
	}
	b.applied(r, journal, time.Since(started))
	t.at = map[*setWrite]int64{}
	for _, w := range t.writes {
		t.at[w] = (<-w.member.answer).out.rev
		if w.plan == nil {
			continue
		}
		for _, d := range w.plan.Debts {
			if !slices.ContainsFunc(t.owed, d.Same) {
				t.owed = append(t.owed, d)
			}
		}
	}
	return true, nil
}

// conflicted takes in what stands there. done: objects have changed, and their writes begin again.
func (t *together) conflicted(ctx context.Context, r *clientv3.TxnResponse) (done bool, err error) {
	again := t.b.lost(ctx, r)
	t.lost = map[*setWrite]outcome{}
	var locks []string
	for _, w := range t.writes {
		if slices.Contains(again, w.member.request) {
			continue
		}
		switch a := <-w.member.answer; {
		case a.err != nil:
			return false, t.late(a.err)
		case len(a.locks) > 0:
			locks = append(locks, a.locks...)
		default:
			t.lost[w] = a.out
		}
	}
	if len(t.lost) == 0 && len(locks) > 0 {
		slices.Sort(locks)
		if err := t.com.acquire(ctx, &t.locks, slices.Compact(locks)...); err != nil {
			return false, t.late(err)
		}
	}
	return len(t.lost) > 0, nil
}

// tooMany says how many operations the set takes and etcd does.
func (t *together) tooMany(ctx context.Context, operations int) error {
	most, err := t.com.mostOps(ctx, operations)
	if err != nil {
		return err
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("a change set of these %d items takes %d operations in one transaction, and etcd takes %d; nothing was written: make change sets of at most about %d items, "+
		"or have etcd started with --max-txn-ops=512", len(t.writes), operations, most, max(1, len(t.writes)*most/operations)))
}

// mostOps finds how many operations etcd takes in a transaction, of which it refused as many as were too many. The questions write nothing.
func (com *committer) mostOps(ctx context.Context, refused int) (int, error) {
	takes := 1
	for refused-takes > 1 {
		n := (takes + refused) / 2
		ops := slices.Repeat([]clientv3.Op{clientv3.OpGet(com.mem.layout.Config(), clientv3.WithCountOnly())}, n)
		_, err := com.mem.client.Txn(ctx).Then(ops...).Commit()
		switch {
		case errors.Is(err, rpctypes.ErrTooManyOps):
			refused = n
		case err != nil:
			return 0, err
		default:
			takes = n
		}
	}
	com.mem.narrow(refused)
	return takes, nil
}

// setWrite is one write of a set that waits.
type setWrite struct {
	ctx      context.Context
	index    int
	key      string
	expected int64
	// before and after are the Record as it stands and as it shall be; nil: there is none. ask makes the question to the law of that, and says
	// the key of the zone that will probably decide it.
	before, after *v1alpha1.Record
	ask           func() (ask law.RecordAsk, hint string, err error)
	// put is the object as encoded where it is written and nothing is decided (S2.4); same: nothing is written.
	put  []byte
	same bool
	// dry: it is decided, and not written.
	dry bool
	// answered gets one answer.
	answered chan setAnswer

	// What a decision says; the next one begins anew.
	member  *member
	plan    *law.Plan
	refusal error
	placed  *v1alpha1.Record
}

type setAnswer struct {
	out    outcome
	placed *v1alpha1.Record
	err    error
}
