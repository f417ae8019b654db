// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/ledger/facts"
)

// Object identifies the object of a write.
type Object struct {
	Resource, Namespace, Name string
	Key                       string
	// uid and created are the value of the keys under which the object waits (layout.Waiter).
	uid     string
	created int64
}

// Write is one decision on its way into a transaction. Each write takes this way: those of clients, of cascades, of
// moves, and of parents that count a child. A refusal takes it too: it is answered when a transaction without puts has
// proved the facts that it rests on, so that no stale memory refuses a write.
type Write struct {
	Object
	Expected int64
	// Was is the zone at that revision where Key is the key of a zone; nil where the zone is made.
	Was *v1alpha1.Zone
	// Guess: see facts.Session.Guess.
	Guess bool
	// Ask runs the law.
	Ask func(*law.Seen) law.Outcome
	// Primary is the operation on Key under a plan, nil for none. When Key is a
	// zone it also returns the object after the write (nil: deleted).
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

	Locks []*queue // of zones, which this write has
	Plan  *law.Plan
}

// WriteOf returns a write of an object that is expected at a revision, 0 where it is made.
func (com *Committer) WriteOf(resource string, o metav1.Object, expected int64) *Write {
	return &Write{Expected: expected, Object: Object{Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName(),
		Key: com.mem.Layout.Object(resource, o.GetNamespace(), o.GetName()),
		uid: string(o.GetUID()), created: o.GetCreationTimestamp().Unix()}}
}

// Outcome is what etcd3.store wants to know of a write. OK false means that the key was not at the expected revision,
// and KV is the present value.
type Outcome struct {
	OK  bool
	Rev int64
	KV  *mvccpb.KeyValue
}

// Set is the writes of a change set: a group that has one step and one serial. Where a decision is a refusal, or
// Commits is false, nothing is put and the refusals are proved (I5).
type Set struct {
	Committer *Committer
	Writes    []*SetWrite
	// Commits is false where a write of the set was refused earlier: the others are decided to report their refusals.
	Commits bool
	// Requires are judged on the zone as it is before the set.
	Requires []records.Requirement

	// Run leaves the rest. Unmet is the refusal where a requirement is not met; nil: all are met.
	Unmet error
	// Owed are the pending cuts that the set leaves, each once. They are counted without its locks: a write of a
	// child and its parent takes the parent's lock first.
	Owed []law.PendingCut
	// Sent says that the set may be written.
	Sent bool

	// anchor is the write whose zone is that of the set.
	anchor *SetWrite
	// A decision leaves these, and the next one begins anew. opening is the zone before the set, nil where there is
	// none, and change what the set makes of it, nil for nothing.
	opening  *law.Zone
	change   *law.ZoneChange
	required *member
}

// SetWrite is one write of a set.
type SetWrite struct {
	Ctx      context.Context
	Index    int
	Expected int64
	// Before and After are the Record as it stands and as it is to be; nil: there is none. Ask is the request to the
	// law, and Hint the key of the zone that will probably decide it. Unread is the error of a Record that makes no
	// request.
	Before, After *v1alpha1.Record
	Ask           records.RecordAsk
	Hint          string
	Unread        error
	// Put is the encoded object where it is written without a decision (S2.4), and Same says that nothing is written.
	Put  []byte
	Same bool
	// Dry says that it is decided, and not written.
	Dry bool
	// Answered gets one answer.
	Answered chan SetAnswer

	// Run leaves the outcome: why the write is refused, what became of its object, and the object as it was placed.
	Refusal error
	Out     Outcome
	Placed  *v1alpha1.Record
}

// SetAnswer answers one write of a set: an outcome with the object as it was placed, or an error.
type SetAnswer struct {
	Out    Outcome
	Placed *v1alpha1.Record
	Err    error
}

// group is one or more writes that are committed together or not at all, and have one answer. A write by itself is a
// group of one; the writes of a change set are a group.
type group struct {
	members []*member
	set     *Set        // nil: a write by itself
	order   *order      // nil: in no order
	answer  chan Answer // of one
	// insists says that a refusal for now (law.Later) refuses the group: it has been postponed long enough.
	insists bool
	// preview says that the group is decided and no more: it needs no locks, and its objects are not compared.
	preview bool
	// proves says that the batch proves the decisions and puts nothing of them: a refusal, or a dry run.
	proves bool
	// strange counts the decisions whose facts did not go together with objects that had not changed.
	strange int
	// answered says that the group has its answer, and alone that a batch with it ended in a panic, so it is decided
	// by itself. Only the goroutine that carries the group out reads and writes both.
	answered, alone bool
	// deciding is held during the decision, which reads the caller's objects. A caller that has left may change these,
	// so gone has the group left out.
	deciding sync.Mutex
	gone     bool
}

// member is one write of a group, with its last decision.
type member struct {
	*Write
	item *SetWrite // nil: a write by itself
	// flat has zones at names of more than facts.FlatName labels guarded by ranges.
	flat    bool
	session *facts.Session // nil: the write needs no decision
	cmps    []clientv3.Cmp
	plan    *law.Plan
	refusal error
	op      clientv3.Op
	// out is the outcome of the transaction; moved says that the object has changed since the write began from it.
	out   Outcome
	moved bool
}

// writesObject reports whether the decision puts or deletes the object.
func (m *member) writesObject() bool { return m.op.IsPut() || m.op.IsDelete() }

// order is shared by writes of which none is committed once one before it was not.
type order struct{ broken atomic.Bool }

// Answer is what a group gets: an outcome, or what its writes need first. Locks are those of zones that a plan changes
// too. Later is a refusal that may not stand for long. sent says that the group may be committed all the same.
type Answer struct {
	Out   Outcome // of a write by itself
	Err   error
	sent  bool
	Locks []string
	Later *law.Refusal
}

// newGroup returns a group of one write.
func newGroup(w *Write) *group {
	return &group{members: []*member{{Write: w}}, answer: make(chan Answer, 1)}
}

// renew returns the group for another try. The batch that has answered g may still read that one.
func (g *group) renew() *group {
	next := &group{set: g.set, order: g.order, insists: g.insists, strange: g.strange, answer: make(chan Answer, 1)}
	for _, m := range g.members {
		next.members = append(next.members, &member{Write: m.Write, item: m.item, flat: m.flat})
	}
	return next
}

// firstWrite is the write that has the hint and the locks of the group.
func (g *group) firstWrite() *Write { return g.members[0].Write }

// goesAlone reports whether the group is a batch by itself. A write of a zone's own object, or of objects beside it, is
// decided on the stored zone.
func (g *group) goesAlone() bool {
	return g.alone || g.set != nil && len(g.members) > maxJoined || g.firstWrite().Resource != "records" || g.firstWrite().Keep
}

// isSmall reports whether the group is decided on guesses at first (facts.Session.Guess): each is a compare of its own,
// while the zone's revision covers what was read.
func (g *group) isSmall() bool {
	return g.set == nil || len(g.members)+len(g.set.Requires) <= maxGuessed
}

// isRefused reports whether nothing is written, since a decision is a refusal or a write has left the set with one.
func (g *group) isRefused() bool {
	return g.set != nil && (!g.set.Commits || g.set.Unmet != nil) ||
		slices.ContainsFunc(g.members, func(m *member) bool { return m.refusal != nil })
}

// isDry reports whether the group is decided, and not written.
func (g *group) isDry() bool { return g.set != nil && g.set.Writes[0].Dry }

// isBehind reports whether a write before this one in its order was not committed.
func (g *group) isBehind() bool { return g.order != nil && g.order.broken.Load() }

// overlaps reports whether a write of the group is of the object of a member of another one.
func (g *group) overlaps(other *member) bool {
	return slices.ContainsFunc(g.members, func(m *member) bool { return m.Key == other.Key })
}

// hasMoved reports whether the object of a member has changed since the write began from it.
func (g *group) hasMoved() bool {
	return slices.ContainsFunc(g.members, func(m *member) bool { return m.moved })
}

func (g *group) reply(a Answer) {
	if a.Out = g.members[0].out; g.order != nil && !a.Out.OK {
		g.order.broken.Store(true)
	}
	g.answered = true
	g.answer <- a
}

func replyAll(groups []*group, a Answer) {
	for _, g := range groups {
		if !g.answered {
			g.reply(a)
		}
	}
}

// withdraw waits until nothing reads the caller's objects, and keeps the group from being decided.
func (g *group) withdraw() {
	g.deciding.Lock()
	g.gone = true
	g.deciding.Unlock()
}
