// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
)

// committer has writes decided and committed.
type committer struct {
	mem        *memory
	jr         *journal
	placer     *placer
	held       func(*v1alpha1.Zone) // Config.Held
	slowCommit time.Duration
	latency    latencies
	clients    atomic.Int64 // writes of content that were asked for
	usage      usage
	wake       chan struct{}

	// Both are guarded by memory.mu. works are outbox items of this process, not yet taken up.
	queues map[string]*queue // by zone key
	works  map[string]bool
}

func newCommitter(mem *memory, jr *journal, placer *placer, held func(*v1alpha1.Zone), slowCommit time.Duration) *committer {
	return &committer{mem: mem, jr: jr, placer: placer, held: held, slowCommit: slowCommit, queues: map[string]*queue{}, works: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// write is one decision on its way into a transaction (batch.go). Each write takes this way: those of clients, of
// cascades, of moves, and of parents that count a child. A refusal takes it too: it is answered when a transaction without
// puts has proved the facts that it rests on, so that no stale memory refuses a write.
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
	// item is of the work that makes this write, nil for a client's.
	item *item
	// hint is the zone key it will probably change.
	hint string
	// keep: the locks stay with the write after a lost race on its own object, so
	// that the caller's next try cannot lose to this process again.
	keep bool

	// waits is what is put under the keys where the object waits.
	waits waits
	locks []*queue // of zones, which this write has
	plan  *law.Plan
}

// waits is what the keys say under which an object waits.
type waits struct {
	uid     string
	created int64
}

// writeOf is the write of an object that is expected at a revision, 0 where it is made.
func (com *committer) writeOf(resource string, o metav1.Object, expected int64) *write {
	return &write{
		resource: resource, namespace: o.GetNamespace(), name: o.GetName(), key: com.mem.layout.Object(resource, o.GetNamespace(), o.GetName()), expected: expected,
		waits: waits{uid: string(o.GetUID()), created: o.GetCreationTimestamp().Unix()},
	}
}

// A write that may pass when cascades are through is decided anew every laterPause, for
// maxPostponed in all; then the client is told to come again. It has no turn meanwhile:
// the cascades need it.
const (
	laterPause   = 50 * time.Millisecond
	maxPostponed = time.Second
)

// commit has a write decided and committed. The outcome is not ok where the object is at another revision than the
// expected one. A write whose plan changes more zones than the one it waited at takes the locks of all of them.
func (com *committer) commit(ctx context.Context, w *write) (outcome, error) {
	if !w.keep {
		defer func() { com.release(w.locks...); w.locks = nil }()
	}
	for postponed := time.Duration(0); ; {
		a := com.submit(ctx, w)
		switch {
		case a.sent:
			return outcome{}, a.err
		case a.err != nil:
			return outcome{}, com.late(w, a.err)
		case len(a.locks) > 0:
			if err := com.acquire(ctx, w, a.locks...); err != nil {
				return outcome{}, com.late(w, err)
			}
		case a.later != nil:
			if postponed += laterPause; postponed > maxPostponed {
				return outcome{}, status(w.resource, w.name, a.later)
			}
			com.release(w.locks...)
			w.locks = nil
			pause(ctx, laterPause)
		default:
			return a.out, nil
		}
	}
}

// submit has a write go with others that wait at its zone, or by itself where it has its locks, changes more than a Record,
// or concerns no zone that is known.
func (com *committer) submit(ctx context.Context, w *write) answer {
	r := newRequest(w)
	if w.alone() && w.hint != "" && len(w.locks) == 0 {
		if err := com.acquire(ctx, w, w.hint); err != nil {
			return answer{err: err}
		}
	}
	if len(w.locks) > 0 || w.hint == "" {
		com.carry(ctx, w.locks, []*request{r})
		return <-r.answer
	}
	com.mem.mu.Lock()
	h := com.queueAt(w.hint)
	com.mem.mu.Unlock()
	com.enqueue(ctx, h, r)
	return com.wait(ctx, h, r)
}

// alone: the write is a batch by itself. A zone's own object, and what is written of it for others, is decided on the zone as it stands.
func (w *write) alone() bool { return w.resource != "records" || w.keep }

// moved is the outcome of a write whose object has changed since it was read: the present one.
func (com *committer) moved(ctx context.Context, w *write) (outcome, error) {
	kv, rev, err := readKey(ctx, com.mem.client, w.key)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{rev: rev, kv: kv}
	if modRevision(out.kv) == w.expected {
		return outcome{}, fmt.Errorf("ledger: what is known of %s does not go together with it: run kubizone fsck, which says what is damaged", w.key)
	}
	return out, nil
}

// late turns the end of the request's time into an answer.
func (com *committer) late(w *write, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return tooBusy(w.resource, w.name, err)
	}
	return err
}

// missing are the zones whose lock a plan needs beside those at hand: the one that changes, and those whose holding it writes (a move
// reserves a place, a removal leaves a mark), since each write of theirs compares that too.
func (com *committer) missing(locks []*queue, plan *law.Plan) (missing []string) {
	need := func(z law.Ref) {
		key := com.mem.layout.Zone(z.Namespace, z.Name)
		if !slices.ContainsFunc(locks, func(h *queue) bool { return h.key == key }) && !slices.Contains(missing, key) {
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

// tooLong: the write is too large by itself.
func tooLong(w *write, octets int) error {
	what := w.resource + " " + w.namespace + "/" + w.name
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s: with its zone and what the journal says of the change it is %d octets, more than etcd takes in one transaction; nothing was written: "+
		"change fewer values at once, or shorter ones, or have etcd started with a larger --max-request-bytes (1.5 MiB by default)", what, octets))
}

// tooManyFacts refuses what does not fit into a transaction: for now, where cascades that
// bring records to a zone of the decision have a share in that.
func tooManyFacts(w *write, seen *law.Seen, count int) error {
	for _, fact := range seen.All() {
		if h, _ := fact.(*law.Holding); h != nil && slices.ContainsFunc(h.Works, func(w law.StandingWork) bool { return w.Losing != "" }) {
			return status(w.resource, w.name, &law.Refusal{Kind: law.Later, Message: fmt.Sprintf("%d facts decide about it while records come to its zone from others, and at most %d fit into one transaction; try again when they are there", count, maxCompares)})
		}
	}
	return status(w.resource, w.name, &law.Refusal{Kind: law.Invalid, Field: "spec.domainName", Message: fmt.Sprintf("%d facts decide about it, and at most %d fit into one transaction (use fewer labels, or fewer name servers in the zone)", count, maxCompares)})
}

// plain writes an object whose content does not change: its own revision is all that it compares, and no zone waits for it.
func (com *committer) plain(ctx context.Context, key string, expected int64, data []byte) (outcome, error) {
	op := clientv3.OpDelete(key)
	if data != nil {
		op = opPut(key, data)
	}
	r, err := com.mem.client.Txn(ctx).If(revisionIs(key, expected)).Then(op).Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return outcome{}, err
	}
	if !r.Succeeded {
		return outcome{rev: r.Header.Revision, kv: one(r.Responses[0])}, nil
	}
	return outcome{ok: true, rev: versionAt(r, 0)}, nil
}

// rouse has the outbox looked at now.
func (com *committer) rouse() {
	select {
	case com.wake <- struct{}{}:
	default:
	}
}

// preview decides what a write would, and proves it as a refusal is proved: by its
// compares, with nothing to put. What was stale is read, and the decision made anew.
// The object itself is not compared: it is the caller's, read just before.
func (com *committer) preview(ctx context.Context, w *write) (law.Outcome, error) {
	for s := com.mem.session(false); ; s.reset() {
		out, err := s.decide(ctx, w.ask)
		if errors.Is(err, errMoved) {
			return out, tooBusy(w.resource, w.name, err)
		}
		if err != nil {
			return out, com.late(w, err)
		}
		cmps := s.guards()
		if len(cmps) > maxCompares && s.depth > flatName {
			s.depth = flatName
			continue
		}
		if len(cmps) > maxCompares {
			return out, tooManyFacts(w, s.seen, len(cmps))
		}
		var orelse []clientv3.Op
		for _, z := range s.zones {
			orelse = append(orelse, clientv3.OpGet(z.key))
		}
		com.mem.stats.Transactions.Add(1)
		r, err := com.mem.client.Txn(ctx).If(cmps...).Else(orelse...).Commit()
		if err != nil || r.Succeeded {
			return out, com.late(w, err)
		}
		moved := false
		for i, z := range s.zones {
			kv := one(r.Responses[i])
			moved = moved || modRevision(kv) != z.mod
			com.mem.mu.Lock()
			h := com.mem.head(z.key)
			com.mem.mu.Unlock()
			if err := com.mem.reload(ctx, h, kv, r.Header.Revision); err != nil {
				return out, err
			}
		}
		if !moved {
			com.mem.mu.Lock()
			com.mem.suspect(s)
			com.mem.mu.Unlock()
		}
	}
}

// outcome as etcd3.store wants to see it: not ok means that key was not at the
// expected revision, and kv is what stands there.
type outcome struct {
	ok  bool
	rev int64
	kv  *mvccpb.KeyValue
}
