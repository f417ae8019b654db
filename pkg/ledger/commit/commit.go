// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/rules"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// Committer decides and commits writes.
type Committer struct {
	mem        *facts.Memory
	jr         *journal.Journal
	placer     *objects.Placer
	held       func(*v1alpha1.Zone)             // ledger.Config.Held
	news       func(*v1alpha1.Zone, []law.News) // ledger.Config.News
	slowCommit time.Duration
	latency    latencies
	Clients    atomic.Int64 // when a client last asked for a write of content, in unix nanoseconds
	Usage      usage
	wake       chan struct{}
	freed      chan FreedName
	noted      map[FreedName]bool // those in freed; Memory.Mu guards it

	// Memory.Mu guards both. works are outbox items that this process has yet to carry out.
	queues map[string]*queue // by zone key
	gate   gate
	works  map[string]bool
}

// New returns a Committer over mem. It reports each zone that a mass deletion holds back to held (S7.5), and the news
// of its writes to news; both may be nil. slowCommit is the duration of a commit from which on a batch waits for more
// writes.
func New(mem *facts.Memory, jr *journal.Journal, placer *objects.Placer, held func(*v1alpha1.Zone),
	news func(*v1alpha1.Zone, []law.News), slowCommit time.Duration) *Committer {
	return &Committer{mem: mem, jr: jr, placer: placer, held: held, news: news, slowCommit: slowCommit,
		queues: map[string]*queue{}, works: map[string]bool{}, wake: make(chan struct{}, 1),
		freed: make(chan FreedName, maxFreed), noted: map[FreedName]bool{}}
}

// Write is one decision on its way into a transaction (batch.go). Each write takes this way: those of clients, of
// cascades, of moves, and of parents that count a child. A refusal takes it too: it is answered when a transaction
// without puts has proved the facts that it rests on, so that no stale memory refuses a write.
type Write struct {
	Resource, Namespace, Name string
	Key                       string
	Expected                  int64
	// Was is the zone at that revision where Key is the key of a zone; nil where the zone is made.
	Was *v1alpha1.Zone
	// Guess: see facts.Session.Guess. flat says that zones at names of more than facts.FlatName labels are guarded by
	// ranges.
	Guess, flat bool
	// Ask runs the law.
	Ask func(*law.Seen) law.Outcome
	// Primary is the operation on Key under a plan, nil for none. When Key is a
	// zone it also returns the object as it will stand (nil: gone).
	Primary func(ctx context.Context, plan *law.Plan) (op *clientv3.Op, zone *v1alpha1.Zone, err error)
	// Also are further operations and compares of the same transaction.
	Also func(plan *law.Plan) ([]clientv3.Cmp, []clientv3.Op)
	// Item is the outbox item of the work that makes this write, nil for a client's.
	Item *Item
	// Payer is the namespace that pays for the write, "" for the one that caused it.
	Payer string
	// Hint is the key of the zone that the write will probably change.
	Hint string
	// Keep says that the locks stay with the write after a lost race on its own object, so
	// that the caller's next try cannot lose to this process again.
	Keep bool

	// waits is the value of the keys where the object waits.
	waits waits
	Locks []*queue // of zones, which this write has
	Plan  *law.Plan
	// Sent says that it may be written, though Commit returned an error.
	Sent bool
}

// waits is what the keys say under which an object waits.
type waits struct {
	uid     string
	created int64
}

// WriteOf returns a write of an object that is expected at a revision, 0 where it is made.
func (com *Committer) WriteOf(resource string, o metav1.Object, expected int64) *Write {
	return &Write{
		Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName(), Key: com.mem.Layout.Object(resource, o.GetNamespace(), o.GetName()), Expected: expected,
		waits: waits{uid: string(o.GetUID()), created: o.GetCreationTimestamp().Unix()},
	}
}

// A write that may pass when cascades are through is decided anew every laterPause, for maxPostponed in all. Then the
// client is told to come again. Meanwhile the write has no turn in the queue, which the cascades need.
const (
	laterPause   = 50 * time.Millisecond
	maxPostponed = time.Second
)

// Commit decides and commits a write. The outcome is not OK where the object is at another revision than the expected
// one. A write whose plan changes more zones than the one it waited at takes the locks of all of them.
func (com *Committer) Commit(ctx context.Context, w *Write) (Outcome, error) {
	if !w.Keep {
		defer func() { com.Release(w.Locks...); w.Locks = nil }()
	}
	for postponed := time.Duration(0); ; {
		a := com.submitWrite(ctx, w)
		switch {
		case a.sent:
			w.Sent = true
			return Outcome{}, unknownOutcome(fmt.Sprintf("%s %q", w.Resource, w.Name), a.Err)
		case a.Err != nil:
			return Outcome{}, com.Late(w, a.Err)
		case len(a.Locks) > 0:
			if err := com.Acquire(ctx, w, a.Locks...); err != nil {
				return Outcome{}, com.Late(w, err)
			}
		case a.Later != nil:
			if postponed += laterPause; postponed > maxPostponed {
				return Outcome{}, Status(w.Resource, w.Name, a.Later)
			}
			com.Release(w.Locks...)
			w.Locks = nil
			etcd.Pause(ctx, laterPause)
		default:
			return a.Out, nil
		}
	}
}

// submitWrite puts a write into the queue of its zone. A write commits by itself where it has its locks, changes more
// than a Record, or concerns no zone that is known.
func (com *Committer) submitWrite(ctx context.Context, w *Write) Answer {
	r := newRequest(w)
	if w.goesAlone() && w.Hint != "" && len(w.Locks) == 0 {
		if err := com.Acquire(ctx, w, w.Hint); err != nil {
			return Answer{Err: err}
		}
	}
	if len(w.Locks) > 0 || w.Hint == "" {
		com.carryOut(ctx, w.Locks, []*request{r})
		return <-r.answer
	}
	com.mem.Mu.Lock()
	h := com.queueAt(w.Hint)
	com.mem.Mu.Unlock()
	com.enqueueRequests(ctx, h, r)
	return com.awaitAnswer(ctx, h, r)
}

// goesAlone reports whether the write is a batch by itself. A write of a zone's own object, or of objects beside it,
// is decided on the zone as it stands.
func (w *Write) goesAlone() bool { return w.Resource != "records" || w.Keep }

// presentState returns the outcome of a write whose object has changed since it was read: the present object.
func (com *Committer) presentState(ctx context.Context, w *Write) (Outcome, error) {
	kv, rev, err := etcd.ReadKey(ctx, com.mem.Client, w.Key)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Rev: rev, KV: kv}
	if etcd.ModRevision(out.KV) == w.Expected {
		return Outcome{}, fmt.Errorf("what is known of %s does not go together with it: run kubizone fsck, which says what is damaged", w.Key)
	}
	return out, nil
}

// Late turns the end of the time of a request, or of a question to etcd, into the answer to a write that was not sent.
func (com *Committer) Late(w *Write, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return TooBusy(w.Resource, w.Name, err)
	case apierrors.IsTimeout(err):
		return unwritten(fmt.Sprintf("%s %q", w.Resource, w.Name))
	}
	return err
}

// missingLocks returns the zones whose lock a plan needs beside those at hand: the zone that changes, and zones whose
// holding it writes (a removal leaves a mark), because each write of such a zone compares
// the holding too.
func (com *Committer) missingLocks(locks []*queue, plan *law.Plan) (missing []string) {
	need := func(z law.Ref) {
		key := com.mem.Layout.Zone(z.Namespace, z.Name)
		if !slices.ContainsFunc(locks, func(h *queue) bool { return h.Key == key }) && !slices.Contains(missing, key) {
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

// tooLong is the error of a write that is too large by itself.
func tooLong(w *Write, octets int) error {
	what := w.Resource + " " + w.Namespace + "/" + w.Name
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s: with its zone and what the journal says of the change it is %d octets, more than etcd takes in one transaction; nothing was written: "+
		"change fewer values at once, or shorter ones, or have etcd started with a larger --max-request-bytes (1.5 MiB by default)", what, octets))
}

// tooManyOperations is the error of a write that puts more keys than etcd takes in a transaction.
func tooManyOperations(w *Write, count int) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s %s/%s: it takes %d operations in one transaction, more than etcd takes; nothing was written: "+
		"change fewer values at once, or have etcd started with --max-txn-ops=%d", w.Resource, w.Namespace, w.Name, count, recommendedOps))
}

// tooManyFacts refuses a decision with more facts than a transaction takes. Of a zone it is for its name servers, since
// the labels of one name are few facts (facts.FlatName).
func tooManyFacts(w *Write, count, most int) error {
	at, less := "spec.domainName", "use fewer labels, or fewer name servers in the zone"
	if w.Resource == "zones" {
		at, less = "spec.nameServers", "change fewer name servers at once, each that the zone has and gets is one; or have fewer of them"
	}
	text := fmt.Sprintf("%d facts decide about it, and at most %d fit into one transaction: %s", count, most, less)
	if most < recommendedOps/2 {
		text += fmt.Sprintf("; or have etcd started with --max-txn-ops=%d", recommendedOps)
	}
	return Status(w.Resource, w.Name, &law.Refusal{Kind: law.Invalid, Field: at, Message: text})
}

// Plain writes an object whose content does not change. It compares the object's own revision alone, and no zone
// waits for it.
func (com *Committer) Plain(ctx context.Context, key string, expected int64, data []byte) (Outcome, error) {
	op := clientv3.OpDelete(key)
	if data != nil {
		op = etcd.OpPut(key, data)
	}
	r, err := com.mem.Client.Txn(ctx).If(etcd.RevisionIs(key, expected)).Then(op).Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return Outcome{}, unknownOutcome("the write", err)
	}
	if !r.Succeeded {
		return Outcome{Rev: r.Header.Revision, KV: etcd.One(r.Responses[0])}, nil
	}
	return Outcome{OK: true, Rev: etcd.VersionAt(r, 0)}, nil
}

// Own notes that this process is to carry an outbox item out.
func (com *Committer) Own(id string) {
	com.mem.Mu.Lock()
	com.works[id] = true
	com.mem.Mu.Unlock()
	com.Rouse()
}

// Owns reports whether this process is to carry an item out, and has not done so.
func (com *Committer) Owns(id string) bool {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	return com.works[id]
}

// Disown notes that an item is carried out.
func (com *Committer) Disown(id string) {
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	delete(com.works, id)
}

// Owing returns a channel that says when the outbox is to be looked at.
func (com *Committer) Owing() <-chan struct{} { return com.wake }

// FreedName is a name at which a client took a value away, and the base name of that.
type FreedName struct {
	View       string
	Name, Base name.Name
	// Apex says that the base name is that of the zone.
	Apex bool
}

// maxFreed bounds the freed names that are not looked at yet. With more of them what waits there has to wait for its
// round.
const maxFreed = 256

// NextFreed waits for the next name at which a value went. It is not ok when ctx ends.
func (com *Committer) NextFreed(ctx context.Context) (at FreedName, ok bool) {
	select {
	case <-ctx.Done():
		return at, false
	case at = <-com.freed:
	}
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	delete(com.noted, at)
	return at, true
}

// noteFreed notes the names at which a step takes values away, each once. The caller holds Memory.Mu.
func (com *Committer) noteFreed(z *law.Zone, step *content.Step) {
	for i := range step.Removed {
		owner := step.Removed[i].Owner
		base := rules.Base(owner)
		at := FreedName{View: z.View, Apex: base.IsApex()}
		at.Name, _ = owner.In(z.FQDN())
		at.Base, _ = base.In(z.FQDN())
		if at.Name.IsZero() || at.Base.IsZero() || com.noted[at] {
			continue
		}
		select {
		case com.freed <- at:
			com.noted[at] = true
		default:
			return
		}
	}
}

// Rouse has the outbox looked at now.
func (com *Committer) Rouse() {
	select {
	case com.wake <- struct{}{}:
	default:
	}
}

// Preview decides a write, and proves the decision as a refusal is proved: by its compares, with nothing to put.
// Stale facts are read, and the decision is made anew. The object itself is not compared: the caller has just read
// it.
func (com *Committer) Preview(ctx context.Context, w *Write) (out law.Outcome, err error) {
	defer com.Recover(ctx, nil, &err)
	for s := com.mem.Session(false); ; s.Reset() {
		out, err = s.Decide(ctx, w.Ask)
		if errors.Is(err, facts.ErrMoved) {
			return out, TooBusy(w.Resource, w.Name, err)
		}
		if err != nil {
			return out, com.Late(w, err)
		}
		cmps := s.Guards()
		most := com.mem.MaxCompares()
		if len(cmps) > most && s.Depth > facts.FlatName {
			s.Depth = facts.FlatName
			continue
		}
		if len(cmps) > most {
			return out, tooManyFacts(w, len(cmps), most)
		}
		var orelse []clientv3.Op
		for _, z := range s.Zones {
			orelse = append(orelse, clientv3.OpGet(z.Key))
		}
		com.mem.Stats.Transactions.Add(1)
		r, err := com.mem.Client.Txn(ctx).If(cmps...).Else(orelse...).Commit()
		if errors.Is(err, rpctypes.ErrTooManyOps) && com.mem.Narrow(len(cmps)) {
			continue
		}
		if err != nil || r.Succeeded {
			return out, com.Late(w, err)
		}
		if err := com.explainPreview(ctx, s, r); err != nil {
			return out, err
		}
	}
}

// explainPreview takes in which zones have moved where the compares of a preview do not hold; where none has, a name is
// not held as it is remembered. r has the zones of the session, in order.
func (com *Committer) explainPreview(ctx context.Context, s *facts.Session, r *clientv3.TxnResponse) error {
	moved := false
	for i, z := range s.Zones {
		kv := etcd.One(r.Responses[i])
		moved = moved || etcd.ModRevision(kv) != z.Mod
		if err := com.mem.Moved(ctx, z.Key, kv, r.Header.Revision); err != nil {
			return err
		}
	}
	if !moved {
		com.mem.Mu.Lock()
		com.mem.Suspect(s)
		com.mem.Mu.Unlock()
	}
	return nil
}

// Outcome is what etcd3.store wants to know of a write. OK false means that the key was not at the expected revision,
// and KV is what stands there.
type Outcome struct {
	OK  bool
	Rev int64
	KV  *mvccpb.KeyValue
}
