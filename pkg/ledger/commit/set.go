// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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

// Set is the writes of a change set. A batch takes all of them in, with one step and one serial, or none. Where a
// decision is a refusal, or Commits is false, the batch has no puts and proves the refusals (I5).
type Set struct {
	Committer *Committer
	Writes    []*SetWrite
	// Commits is false where a write of the set was refused earlier: the others are decided to report their refusals.
	Commits bool
	// Requires are judged on the zone as it is before the set; Unmet is the refusal where one is not met.
	Requires []records.Requirement
	Unmet    error

	// Run leaves here the writes whose objects have changed, with what stands there, and the version of each
	// committed object.
	Lost map[*SetWrite]Outcome
	At   map[*SetWrite]int64
	// Owed are the pending cuts that the set leaves, each once. They are counted without its locks: a write of a
	// child and its parent takes the parent's lock first.
	Owed []law.PendingCut

	// postponed is how long the set has waited for cascades, and strange how often no facts went together with an
	// object that had not changed.
	postponed time.Duration
	strange   int

	// A batch that decides the set leaves these; the next one begins anew. Where the zone is not there opening is nil.
	b       *batch
	opening *law.Zone
	steps   []content.Step
	missing []string // zones whose lock a plan needs
	later   bool
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

// Run has the set carried out, as Commit has a write. An error is one of all writes; each refusal is at its write.
func (t *Set) Run(ctx context.Context) error {
	com, lock := t.Committer, &Write{Resource: "records"}
	defer func() { com.Release(lock.Locks...) }()
	ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: t.Writes[0].Namespace(), Weight: 1})
	for _, w := range t.Writes { // the zone that it will be, mostly
		if _, hint, err := w.Ask(); err == nil && hint != "" && w.isDecided() {
			if err := com.Acquire(ctx, lock, hint); err != nil {
				return t.timeoutError(err)
			}
			break
		}
	}
	for {
		a := t.carryOut(ctx, lock.Locks)
		switch {
		case a.sent:
			return unknownOutcome("the change set", a.Err)
		case a.Err != nil:
			return t.timeoutError(a.Err)
		case len(t.Lost) > 0:
			return nil
		case len(a.Locks) > 0:
			if err := com.Acquire(ctx, lock, a.Locks...); err != nil {
				return t.timeoutError(err)
			}
		case a.Later != nil:
			t.postponed += laterPause
			com.Release(lock.Locks...)
			lock.Locks = nil
			etcd.Pause(ctx, laterPause)
		default:
			t.sayResult()
			return nil
		}
	}
}

// carryOut has a batch carry the writes out under the locks of zones, and returns what became of all: the first
// error, or all locks that they need, or that they may pass later.
func (t *Set) carryOut(ctx context.Context, locks []*queue) (all Answer) {
	t.Lost, t.At = map[*SetWrite]Outcome{}, map[*SetWrite]int64{}
	requests := make([]*request, len(t.Writes))
	for i, w := range t.Writes {
		requests[i] = newRequest(t.Committer.WriteOf("records", w.Object(), w.Expected))
		requests[i].set = t
		w.member = &member{request: requests[i], session: t.Committer.mem.Session(false)}
	}
	t.Committer.carryOut(ctx, locks, requests)
	for _, w := range t.Writes {
		switch a := <-w.member.answer; {
		case a.Err != nil && all.Err == nil:
			all.Err, all.sent = a.Err, a.sent
		case a.Later != nil:
			all.Later = a.Later
		case len(a.Locks) > 0:
			all.Locks = append(all.Locks, a.Locks...)
		case a.Out.OK:
			t.At[w] = a.Out.Rev
		case a.Err == nil && !a.behind:
			t.Lost[w] = a.Out
		}
	}
	slices.Sort(all.Locks)
	all.Locks = slices.Compact(all.Locks)
	return all
}

// sayResult says the warnings of what was decided, and notes the cuts that a committed set owes.
func (t *Set) sayResult() {
	if t.isRefused() {
		return
	}
	for _, w := range t.Writes {
		if w.plan == nil {
			continue
		}
		Warn(w.Ctx, slices.DeleteFunc(w.plan.Warnings, t.answers)...)
		for _, d := range w.plan.PendingCuts {
			if !w.Dry && !slices.ContainsFunc(t.Owed, d.Same) {
				t.Owed = append(t.Owed, d)
			}
		}
	}
	t.warnOfDeletions()
}

// answers reports whether a write of the set puts data where a warning misses it.
func (t *Set) answers(w law.Warning) bool {
	return !w.Host.IsZero() && slices.ContainsFunc(t.Writes, func(other *SetWrite) bool {
		return other.plan != nil && other.plan.Record != nil && other.plan.Record.Zone != nil && other.plan.Record.FQDN == w.Host
	})
}

// warnOfDeletions warns the first deletion of the removals of all writes together: the zone between two writes of a set
// is not delivered.
func (t *Set) warnOfDeletions() {
	first := t.Writes[max(0, slices.IndexFunc(t.Writes, func(w *SetWrite) bool { return w.After == nil }))]
	if t.b.change == nil || t.opening == nil || first.Dry {
		return
	}
	c := *t.b.change
	if c.Young = nil; c.Holding.Held == nil {
		c.Young = c.Zone.YoungSince(t.opening)
	}
	WarnOfDeletions(first.Ctx, &c)
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

// Sent reports whether anything of it may be written.
func (t *Set) Sent() bool { return t.b != nil && t.b.sent }

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

// decideSet takes all writes of a change set into the batch, or answers them. It returns them where they are to be
// decided anew.
func (b *batch) decideSet(ctx context.Context, t *Set, requests []*request) (again []*request) {
	err := t.decideRound(ctx, b)
	switch {
	case errors.Is(err, facts.ErrOverlayMoved) && ctx.Err() == nil:
		return requests
	case errors.Is(err, facts.ErrMoved): // writes whose objects have changed are answered
		replyAll(requests, Answer{behind: true})
	case err != nil:
		replyAll(requests, Answer{Err: err})
	case t.later && t.postponed < maxPostponed:
		replyAll(requests, Answer{Later: &law.Refusal{Kind: law.Later}})
	case len(t.missing) > 0:
		replyAll(requests, Answer{Locks: t.missing}) // what was true before the lock may not be now
	default:
		if !t.isRefused() {
			if err := t.placeObjects(ctx); err != nil {
				replyAll(requests, Answer{Err: err})
				return nil
			}
		}
		for _, w := range t.Writes {
			b.members = append(b.members, *w.member)
		}
	}
	return nil
}

// decideRound decides all writes once: deletions first, since they free names, then addresses, then NS, then the other
// writes, so that no warning is about a record that another write creates. A refused write is decided again after the
// others, as long as a round admits one.
func (t *Set) decideRound(ctx context.Context, b *batch) error {
	t.steps, t.missing, t.later = nil, nil, false
	if err := t.takeZone(ctx, b); err != nil || len(t.missing) > 0 {
		return err
	}
	var deletions, pending []*SetWrite
	for _, w := range t.Writes {
		w.plan, w.Placed, w.member.plan, w.member.op = nil, nil, nil, clientv3.Op{}
		w.member.session.Reset()
		switch w.Refusal = t.refuseMisfit(w); {
		case w.Refusal != nil || !w.isDecided():
		case w.After == nil:
			deletions = append(deletions, w)
		default:
			pending = append(pending, w)
		}
	}
	slices.SortStableFunc(pending, func(a, b *SetWrite) int { return rankOf(a) - rankOf(b) })
	pending = append(deletions, pending...)
	if err := t.judgeRequirements(ctx, b); err != nil {
		return err
	}
	if err := t.warmFacts(ctx, pending); err != nil {
		return err
	}
	for len(pending) > 0 {
		var refused []*SetWrite
		for _, w := range pending {
			b.deciding = w.member.request
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
	b.deciding = nil
	for _, w := range t.Writes {
		b.addProofs(w.member.session, append(w.member.session.Guards(), etcd.RevisionIs(w.Key, w.Expected)))
	}
	return nil
}

// rankOf orders writes: an address comes before the NS that names its host, and DS after the NS beside it.
func rankOf(w *SetWrite) int {
	switch strings.ToUpper(w.After.Spec.Type) {
	case "A", "AAAA":
		return 0
	case "NS":
		return 1
	}
	return 2
}

// maxGuessed bounds the writes and prerequisites of a set that is decided on guesses: each guess is a compare of its
// own, while the zone's revision covers what was read.
const maxGuessed = 4

// guesses reports whether the set is decided on guesses (facts.Session.Guess) at first, as a new Record by itself is:
// those of a new lease of DHCP are at a new name, mostly.
func (t *Set) guesses() bool {
	return t.b.try == 0 && len(t.Writes)+len(t.Requires) <= maxGuessed &&
		!slices.ContainsFunc(t.Writes, func(w *SetWrite) bool { return w.Before != nil })
}

// takeZone makes the batch one of the zone of the first write, as it stands: all writes are decided on that.
func (t *Set) takeZone(ctx context.Context, b *batch) error {
	com := t.Committer
	b.set, b.head, b.Facts = t, nil, map[law.Key]any{}
	t.b, t.opening = b, nil
	var key string
	for _, w := range t.Writes {
		ask, hint, err := w.Ask()
		if err != nil || !w.isDecided() && len(t.Requires) == 0 {
			continue
		}
		out, err := com.mem.Session(t.guesses()).Decide(ctx, func(seen *law.Seen) law.Outcome { return records.DecideRecord(seen, ask) })
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
	i := slices.IndexFunc(b.locks, func(q *queue) bool { return q.Key == key })
	if i < 0 {
		t.missing = []string{key}
		return nil
	}
	b.head = b.locks[i]
	if err := b.takeZone(ctx); err != nil {
		return err
	}
	if b.Zone == nil || b.Base == nil || b.Zone.Pending { // a batch of no zone
		b.head, b.Overlay = nil, facts.Overlay{Facts: map[law.Key]any{}}
		return nil
	}
	t.opening = b.Zone
	return nil
}

// judgeRequirements judges what the set requires, before any of its writes is decided. A set of no zone is refused
// without.
func (t *Set) judgeRequirements(ctx context.Context, b *batch) error {
	t.Unmet = nil
	if len(t.Requires) == 0 || t.opening == nil {
		return nil
	}
	s := t.Committer.mem.Session(t.guesses())
	s.Over = &b.Overlay
	in := law.Ref{Namespace: t.opening.Namespace, Name: t.opening.Name, UID: t.opening.UID}
	out, err := s.Decide(ctx, func(seen *law.Seen) law.Outcome {
		return records.DecideRequirements(seen, in, t.Writes[0].Namespace(), t.Requires)
	})
	if errors.Is(err, facts.ErrMoved) {
		return facts.ErrOverlayMoved
	}
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		t.Unmet = Status("records", "", out.Refusal)
	}
	b.addProofs(s, s.Guards())
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
	if t.opening == nil || len(writes) < 2 || t.guesses() {
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
	s := t.Committer.mem.Session(t.guesses())
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
	if w.Refusal = t.refuseOtherZone(w, p); w.Refusal != nil {
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

// NoZone says why a set cannot have a Record that is in no zone then.
const NoZone = "no zone takes it in, and a change set is of Records of one zone: write it by itself, or make the zone first"

// refuseOtherZone refuses a write that is not of a Record in the zone of the set.
func (t *Set) refuseOtherZone(w *SetWrite, p *law.Plan) error {
	at := field.NewPath("spec", "domainName")
	switch {
	case p.Zone == nil:
		return w.Refuse(at, NoZone)
	case p.Record != nil && p.Record.Zone == nil:
		return w.Refuse(at, "leaves zone %s for none, and a change set is of Records of one zone: write it by itself", p.Zone.Zone.FQDN())
	case t.opening == nil || p.Zone.Zone.UID != t.opening.UID:
		return w.Refuse(at, "belongs to zone %s, and a change set is of Records of one zone%s: write it in another one",
			p.Zone.Zone.FQDN(), t.thatIs())
	}
	return nil
}

// answerMoved answers where no facts go together with the object of w. Where objects have changed since they were read
// their writes begin again: that of w, or of one that was decided before it. Where the zone has changed all writes are
// decided anew. Where nothing has, something is damaged.
func (t *Set) answerMoved(ctx context.Context, w *SetWrite) error {
	moved := false
	for _, x := range t.Writes {
		if out, err := t.Committer.presentState(ctx, x.member.w); err == nil {
			x.member.reply(Answer{Out: out})
			moved = true
		}
	}
	switch {
	case moved:
		return facts.ErrMoved
	case t.strange == maxStrange:
		_, err := t.Committer.presentState(ctx, w.member.w)
		return err
	}
	t.strange++
	return facts.ErrOverlayMoved
}

// isRefused reports whether nothing is written, since a decision is a refusal or a write has left with one.
func (t *Set) isRefused() bool {
	return !t.Commits || t.Unmet != nil || slices.ContainsFunc(t.Writes, func(w *SetWrite) bool { return w.Refusal != nil })
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
