// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// Set decides the writes of a change set as one batch, which is committed whole, with one step and one serial. Where
// a decision is a refusal, or Commits is false, its transaction has no puts and proves the refusals (I5).
type Set struct {
	Committer *Committer
	Writes    []*SetWrite
	// Commits is false where a write of the set was refused earlier: the others are decided to report their refusals.
	Commits bool

	// Run leaves here the writes whose objects have changed, with what stands there, and the version of each
	// committed object.
	Lost map[*SetWrite]Outcome
	At   map[*SetWrite]int64
	// Owed are the pending cuts that the set leaves, each once. They are counted without its locks: a write of a
	// child and its parent takes the parent's lock first.
	Owed []law.PendingCut

	// locks are those of the zones that the writes change; postponed is how long they have waited for cascades, try
	// counts lost races, and strange how often no facts went together with an object that had not changed.
	locks     Write
	postponed time.Duration
	try       int
	strange   int

	// A round of decisions leaves these; the next round begins anew. Where the zone is not there b is a batch of no
	// zone, and opening is nil.
	b       *batch
	opening *law.Zone
	steps   []content.Step
	missing []string // zones whose lock a plan needs
	later   bool
	sent    bool // the transaction may have been carried out
}

// maxStrange bounds how often the zone may change under the facts of a decision before that counts as damage.
const maxStrange = 3

// Zone is the zone of the writes, and its serial, as committed.
func (t *Set) Zone() (*v1alpha1.AdoptingZone, int64) {
	if o := t.b.object; o != nil {
		return &v1alpha1.AdoptingZone{Namespace: o.Namespace, Name: o.Name, UID: o.UID}, o.Status.Serial
	}
	for _, w := range t.Writes { // nothing that a zone contains has changed
		if w.Before != nil && w.Before.Status.ZoneRef != nil {
			return w.Before.Status.ZoneRef.DeepCopy(), w.Before.Status.Serial
		}
	}
	return nil, 0
}

// Run decides until the decisions hold. An error is one of all writes; each refusal is at its write.
func (t *Set) Run(ctx context.Context) (err error) {
	com := t.Committer
	t.locks = Write{Resource: "records"}
	defer func() {
		if err != nil && t.sent { // forget what depends on it, never repeat blindly
			t.b.dropFacts()
		}
		com.Release(t.locks.Locks...)
	}()
	defer com.Recover(ctx, &t.sent, &err)
	ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: t.Writes[0].Namespace(), Weight: 1})
	for _, w := range t.Writes { // the zone that it will be, mostly
		if _, hint, err := w.Ask(); err == nil && hint != "" && w.isDecided() {
			if err := com.Acquire(ctx, &t.locks, hint); err != nil {
				return t.timeoutError(err)
			}
			break
		}
	}
	for {
		err := t.decideRound(ctx)
		switch {
		case errors.Is(err, facts.ErrOverlayMoved) && ctx.Err() == nil:
			continue
		case errors.Is(err, facts.ErrMoved) && len(t.Lost) > 0:
			return nil
		case err != nil:
			return t.timeoutError(err)
		case t.later && t.postponed < maxPostponed:
			t.postponed += laterPause
			com.Release(t.locks.Locks...)
			t.locks.Locks = nil
			etcd.Pause(ctx, laterPause)
			continue
		case len(t.missing) > 0:
			if err := com.Acquire(ctx, &t.locks, t.missing...); err != nil {
				return t.timeoutError(err)
			}
			continue // what was true before the lock may not be now
		}
		done, err := t.commitSet(ctx)
		if err != nil || done {
			return err
		}
	}
}

// timeoutError turns the end of the time of the request, or of a question to etcd, into an error, where nothing was
// written.
func (t *Set) timeoutError(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		e := apierrors.NewTimeoutError(fmt.Sprintf("the change set was not decided in time (%v), and nothing was written: try again", err), 0)
		e.ErrStatus.Reason = metav1.StatusReasonServerTimeout
		return e
	case apierrors.IsTimeout(err):
		return unwritten("the change set")
	}
	return err
}

// Sent reports whether it may be committed, where Run returned an error.
func (t *Set) Sent() bool { return t.sent }

// Object is the Record of the write, as it is to be where it stays.
func (w *SetWrite) Object() *v1alpha1.Record {
	if w.After != nil {
		return w.After
	}
	return w.Before
}

// Namespace is that of the Record.
func (w *SetWrite) Namespace() string { return w.Object().Namespace }

// isDecided reports whether the law is asked about the write.
func (w *SetWrite) isDecided() bool {
	return !w.Same && w.Put == nil && !objects.SameContent(w.Before, w.After)
}

// Refuse notes why the object of the write cannot be in the set.
func (w *SetWrite) Refuse(path *field.Path, format string, args ...any) error {
	return apierrors.NewInvalid(v1alpha1.Kind("Record"), w.Object().Name, field.ErrorList{{Type: field.ErrorTypeForbidden, Field: path.String(), Detail: fmt.Sprintf(format, args...)}})
}

// decideRound decides all writes once: deletions first, so that what they free can be had, then the others in their
// order. One that is refused is decided again after the others, while that helps.
func (t *Set) decideRound(ctx context.Context) error {
	t.Lost, t.At, t.steps, t.missing, t.later = nil, nil, nil, nil, false
	if err := t.takeZone(ctx); err != nil {
		return err
	}
	var pending []*SetWrite
	for _, w := range t.Writes {
		o := w.Object()
		w.plan, w.Placed = nil, nil
		w.member = &member{session: t.Committer.mem.Session(false), request: newRequest(t.Committer.WriteOf("records", o, w.Expected))}
		if w.Refusal = t.refuseMisfit(w); w.Refusal == nil && w.isDecided() {
			pending = append(pending, w)
		}
	}
	slices.SortStableFunc(pending, func(x, y *SetWrite) int {
		switch {
		case x.After == nil && y.After != nil:
			return -1
		case x.After != nil && y.After == nil:
			return 1
		}
		return 0
	})
	if err := t.warmFacts(ctx, pending); err != nil {
		return err
	}
	for len(pending) > 0 {
		var refused []*SetWrite
		for _, w := range pending {
			if err := t.decideWrite(ctx, w); err != nil {
				return err
			}
			if w.Refusal != nil {
				refused = append(refused, w)
			}
		}
		if len(refused) == len(pending) {
			break
		}
		pending = refused
	}
	b := t.b
	for _, w := range t.Writes {
		for _, c := range append(w.member.session.Guards(), etcd.RevisionIs(w.Key, w.Expected)) {
			b.addCompare(c)
		}
		for _, z := range w.member.session.Zones {
			if !slices.ContainsFunc(b.zones, func(have facts.ZoneSeen) bool { return have.Key == z.Key }) {
				b.zones = append(b.zones, z)
			}
		}
	}
	return nil
}

// takeZone takes the zone of the first write as it stands: all writes are decided on that.
func (t *Set) takeZone(ctx context.Context) error {
	com := t.Committer
	t.b, t.opening = &batch{com: com, locks: t.locks.Locks, try: t.try, whole: true, Overlay: facts.Overlay{Facts: map[law.Key]any{}}}, nil
	var key string
	for _, w := range t.Writes {
		ask, hint, err := w.Ask()
		if err != nil || !w.isDecided() {
			continue
		}
		out, err := com.mem.Session(false).Decide(ctx, func(seen *law.Seen) law.Outcome { return records.DecideRecord(seen, ask) })
		if err != nil && !errors.Is(err, facts.ErrMoved) {
			return err
		}
		if key = hint; out.Plan != nil && out.Plan.Zone != nil { // else memory says where it belongs
			key = com.mem.Layout.Zone(out.Plan.Zone.Zone.Namespace, out.Plan.Zone.Zone.Name)
		}
		if key != "" {
			break
		}
	}
	if key == "" {
		return nil
	}
	com.mem.Mu.Lock()
	head := com.queueAt(key)
	com.mem.Mu.Unlock()
	b := *t.b
	b.head = head
	if err := b.takeZone(ctx); err != nil {
		return err
	}
	if b.Zone == nil || b.Base == nil || b.Zone.Pending {
		return nil
	}
	if !slices.Contains(b.locks, head) {
		t.missing = []string{key}
	}
	t.b, t.opening = &b, b.Zone
	return nil
}

// refuseMisfit refuses writes that need no decision: of records of no zone, or of another zone.
func (t *Set) refuseMisfit(w *SetWrite) error {
	if w.Before == nil || w.Before.Status.ZoneRef == nil {
		if w.isDecided() && w.After != nil {
			return nil
		}
		return w.Refuse(field.NewPath("status", "zoneRef"), "the Record is in no zone, and a change set is of Records of one zone: change or delete it outside of the set")
	}
	if in := t.Writes[0].Object().Status.ZoneRef; t.opening == nil && in != nil && in.UID != w.Before.Status.ZoneRef.UID || t.opening != nil && string(w.Before.Status.ZoneRef.UID) != t.opening.UID {
		return w.Refuse(field.NewPath("status", "zoneRef"), "the Record is in another zone than others, and a change set is of Records of one zone%s: write it in another one", t.thatIs())
	}
	return nil
}

func (t *Set) thatIs() string {
	if t.opening == nil {
		return ""
	}
	return ", here " + t.opening.FQDN().String()
}

// warmFacts reads what memory lacks of the facts for all writes at once, where each would read its own.
func (t *Set) warmFacts(ctx context.Context, writes []*SetWrite) error {
	if t.opening == nil || len(writes) < 2 {
		return nil
	}
	com, b := t.Committer, t.b
	for range maxPasses {
		var cold []law.Key
		for _, w := range writes {
			ask, _, err := w.Ask()
			if err != nil {
				continue // it is refused with that
			}
			ask.Set = t.opening
			w.member.w.Ask = func(seen *law.Seen) law.Outcome { return records.DecideRecord(seen, ask) }
			_, _, lacks, err := b.runLaw(ctx, w.member.w, false, true, false)
			if err != nil {
				return err
			}
			cold = append(cold, lacks...)
		}
		if len(cold) == 0 {
			return nil
		}
		if err := b.warmFacts(ctx, facts.Dedupe(cold)); err != nil {
			return err
		}
		com.mem.Mu.Lock()
		moved := b.head.Mod != b.Mod || !b.head.Loaded
		com.mem.Mu.Unlock()
		if moved {
			return facts.ErrOverlayMoved
		}
	}
	return nil
}

// decideWrite decides one write on what the others have left.
func (t *Set) decideWrite(ctx context.Context, w *SetWrite) error {
	w.Refusal = nil
	ask, _, err := w.Ask()
	if err != nil {
		w.Refusal = err
		return nil
	}
	ask.Set = t.opening
	s := t.Committer.mem.Session(false)
	if t.opening != nil {
		s.Over = &t.b.Overlay
	}
	out, err := s.Decide(ctx, func(seen *law.Seen) law.Outcome { return records.DecideRecord(seen, ask) })
	switch {
	case errors.Is(err, facts.ErrMoved):
		return t.answerMoved(ctx, w)
	case err != nil:
		return err
	}
	w.member.session = s
	if out.Refusal != nil {
		t.later = t.later || out.Refusal.Kind == law.Later
		w.Refusal = Status("records", w.Object().Name, out.Refusal)
		return nil
	}
	p := out.Plan
	switch {
	case p.Zone == nil:
		w.Refusal = w.Refuse(field.NewPath("spec", "domainName"), "no zone takes it in, and a change set is of Records of one zone: write it by itself, or make the zone first")
	case p.Record != nil && p.Record.Zone == nil:
		w.Refusal = w.Refuse(field.NewPath("spec", "domainName"), "leaves zone %s for none, and a change set is of Records of one zone: write it by itself", p.Zone.Zone.FQDN())
	case t.opening == nil || p.Zone.Zone.UID != t.opening.UID:
		w.Refusal = w.Refuse(field.NewPath("spec", "domainName"), "belongs to zone %s, and a change set is of Records of one zone%s: write it in another one", p.Zone.Zone.FQDN(), t.thatIs())
	}
	if w.Refusal != nil {
		return nil
	}
	for _, key := range t.Committer.missingLocks(t.b.locks, p) {
		if !slices.Contains(t.missing, key) {
			t.missing = append(t.missing, key)
		}
	}
	w.plan, w.member.plan = p, p
	if p.Zone.Step != nil {
		t.steps = append(t.steps, *p.Zone.Step)
	}
	t.b.includeMember(w.member, nil)
	return nil
}

// answerMoved answers a write for which no facts go together with its object. Where the object has changed since it
// was read the write begins again; where the zone has changed all writes are decided anew. Where neither has,
// something is damaged.
func (t *Set) answerMoved(ctx context.Context, w *SetWrite) error {
	out, err := t.Committer.presentState(ctx, w.member.w)
	switch {
	case err == nil:
		t.Lost = map[*SetWrite]Outcome{w: out}
		return facts.ErrMoved
	case t.strange == maxStrange:
		return err
	}
	t.strange++
	return facts.ErrOverlayMoved
}

// isRefused reports whether nothing is written, since a decision is a refusal or a write has left with one.
func (t *Set) isRefused() bool {
	return !t.Commits || slices.ContainsFunc(t.Writes, func(w *SetWrite) bool { return w.Refusal != nil })
}

// placeObjects gives each object the state that it is to have, and the batch its one step.
func (t *Set) placeObjects(ctx context.Context) error {
	com, b := t.Committer, t.b
	if len(t.steps) > 0 {
		step := content.Condense(t.steps)
		step.By = t.steps[0].By
		if len(t.steps) == 1 {
			step.Record = t.steps[0].Record
		}
		if len(step.Added)+len(step.Removed)+len(step.TTLs) > 0 {
			b.steps.Add(&step, MaxBatchOctets<<10)
		} else { // together they change nothing, so it is the content and the serial of before (S6.11)
			t.undoSerial()
		}
	}
	for _, w := range t.Writes {
		switch {
		case w.Same:
		case w.Put != nil:
			w.member.op = etcd.OpPut(w.Key, w.Put)
		case w.plan == nil: // a preview of what leaves the content alone (S2.4)
			if w.After.Generation != w.Before.Generation {
				w.After.Status.ObservedGeneration = w.After.Generation
			}
		case w.After == nil:
			w.member.op = clientv3.OpDelete(w.Key)
		default:
			w.Placed = w.After
			if !w.Dry {
				w.Placed = w.After.DeepCopy()
			}
			place := *w.plan.Record
			if place.Serial.Ahead(b.Zone.Serial) {
				place.Serial = b.Zone.Serial
			}
			com.placer.PlaceRecord(w.Placed, &place)
			data, err := com.mem.Records.Encode(ctx, w.Key, w.Placed)
			if err != nil {
				return err
			}
			w.member.op = etcd.OpPut(w.Key, data)
		}
	}
	return nil
}

// undoSerial gives the zone the serial of before, since the steps of the set undo each other.
func (t *Set) undoSerial() {
	b := t.b
	z, c := *b.Zone, *b.change
	z.Serial, z.N = t.opening.Serial, t.opening.N
	c.Zone, c.Step = &z, nil
	key := law.HoldingKey(z.View, z.FQDN())
	if h, _ := b.Facts[key].(*law.Holding); h != nil {
		before, after := b.com.mem.HoldingOf(key), *h
		if after.MinimumConsumed = nil; before != nil {
			after.MinimumConsumed = before.MinimumConsumed
		}
		b.Facts[key], c.Holding = &after, &after
	}
	b.Zone, b.change = &z, &c
}

// commitSet proves the decisions and commits them. done says that the set is through, and not done that a compare
// failed.
func (t *Set) commitSet(ctx context.Context) (done bool, err error) {
	com, b, dry := t.Committer, t.b, t.Writes[0].Dry
	var then []clientv3.Op
	journal := 0
	if !t.isRefused() {
		if err := t.placeObjects(ctx); err != nil {
			return false, err
		}
	}
	for _, w := range t.Writes {
		b.members = append(b.members, *w.member)
	}
	if !t.isRefused() {
		if then, journal, err = b.buildTransaction(ctx); err != nil {
			return false, err
		}
	}
	if dry {
		then = nil
	}
	com.mem.Fault("before-commit")
	com.mem.Stats.Transactions.Add(1)
	started := time.Now()
	t.sent = len(then) > 0
	r, err := com.mem.Client.Txn(ctx).If(b.cmps...).Then(then...).Commit()
	t.sent = t.sent && (err != nil || r.Succeeded)
	switch {
	case errors.Is(err, rpctypes.ErrTooManyOps):
		t.sent = false
		return false, t.timeoutError(t.tooMany(ctx, max(len(b.cmps), len(then))))
	case etcd.TooLarge(err):
		t.sent = false
		return false, apierrors.NewRequestEntityTooLargeError("the change set with its zone is more than etcd takes in one transaction; nothing was written: make it smaller, " +
			"or have etcd started with a larger --max-request-bytes (1.5 MiB by default)")
	case err != nil && !t.sent:
		return false, t.timeoutError(err)
	case err != nil:
		return false, unknownOutcome("the change set", err)
	}
	com.mem.Fault("after-commit")
	if !r.Succeeded {
		com.mem.Stats.Conflicts.Add(1)
		t.try++
		return t.answerConflicts(ctx, r)
	}
	if t.isRefused() {
		return true, nil
	}
	for _, w := range t.Writes {
		if w.plan != nil {
			Warn(w.Ctx, w.plan.Warnings)
		}
	}
	if dry {
		return true, nil
	}
	b.applyResult(r, journal, time.Since(started))
	t.At = map[*SetWrite]int64{}
	for _, w := range t.Writes {
		t.At[w] = (<-w.member.answer).Out.Rev
		if w.plan == nil {
			continue
		}
		for _, d := range w.plan.PendingCuts {
			if !slices.ContainsFunc(t.Owed, d.Same) {
				t.Owed = append(t.Owed, d)
			}
		}
	}
	return true, nil
}

// answerConflicts reads what stands where a compare failed. done says that objects have changed, and that their
// writes begin again.
func (t *Set) answerConflicts(ctx context.Context, r *clientv3.TxnResponse) (done bool, err error) {
	again := t.b.resolveConflicts(ctx, r)
	t.Lost = map[*SetWrite]Outcome{}
	var locks []string
	for _, w := range t.Writes {
		if slices.Contains(again, w.member.request) {
			continue
		}
		switch a := <-w.member.answer; {
		case a.Err != nil:
			return false, t.timeoutError(a.Err)
		case len(a.Locks) > 0:
			locks = append(locks, a.Locks...)
		default:
			t.Lost[w] = a.Out
		}
	}
	if len(t.Lost) == 0 && len(locks) > 0 {
		slices.Sort(locks)
		if err := t.Committer.Acquire(ctx, &t.locks, slices.Compact(locks)...); err != nil {
			return false, t.timeoutError(err)
		}
	}
	return len(t.Lost) > 0, nil
}

// tooMany is the error of a set that takes more operations than etcd does, with both figures.
func (t *Set) tooMany(ctx context.Context, operations int) error {
	most, err := t.Committer.mostOps(ctx, operations)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("a change set of these %d items takes %d operations in one transaction, and etcd takes %d; nothing was written: make change sets of at most about %d items",
		len(t.Writes), operations, most, max(1, len(t.Writes)*most/operations))
	if most < recommendedOps {
		text += fmt.Sprintf(", or have etcd started with --max-txn-ops=%d", recommendedOps)
	}
	return apierrors.NewRequestEntityTooLargeError(text)
}

// recommendedOps are the operations in a transaction that an etcd is to take; the embedded one does.
const recommendedOps = 512

// mostOps finds the number of operations that etcd takes in a transaction, after it refused tooMany of them. It sends
// transactions that write nothing. Batches find out by themselves (facts.Memory.Narrow): their size says nothing of
// what a set takes.
func (com *Committer) mostOps(ctx context.Context, refused int) (int, error) {
	takes := 1
	for refused-takes > 1 {
		n := (takes + refused) / 2
		ops := slices.Repeat([]clientv3.Op{clientv3.OpGet(com.mem.Layout.Config(), clientv3.WithCountOnly())}, n)
		_, err := com.mem.Client.Txn(ctx).Then(ops...).Commit()
		switch {
		case errors.Is(err, rpctypes.ErrTooManyOps):
			refused = n
		case err != nil:
			return 0, err
		default:
			takes = n
		}
	}
	return takes, nil
}

// SetWrite is one write of a set that waits.
type SetWrite struct {
	Ctx      context.Context
	Index    int
	Key      string
	Expected int64
	// Before and After are the Record as it stands and as it is to be; nil: there is none. Ask makes the request to
	// the law, and returns the key of the zone that will probably decide it.
	Before, After *v1alpha1.Record
	Ask           func() (ask records.RecordAsk, hint string, err error)
	// Put is the encoded object where it is written without a decision (S2.4), and Same says that nothing is written.
	Put  []byte
	Same bool
	// Dry says that it is decided, and not written.
	Dry bool
	// Answered gets one answer.
	Answered chan SetAnswer

	// The outcome of a decision; the next one begins anew.
	member  *member
	plan    *law.Plan
	Refusal error
	Placed  *v1alpha1.Record
}

// SetAnswer answers one write of a set: an outcome with the object as it was placed, or an error.
type SetAnswer struct {
	Out    Outcome
	Placed *v1alpha1.Record
	Err    error
}
