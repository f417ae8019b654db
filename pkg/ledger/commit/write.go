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
	// uid and created are in the value of the keys under which the object waits (layout.Waiter).
	uid     string
	created int64
}

// Write is a decision to be made and committed, of a client, a cascade, a move, or a parent that counts a child. A
// refusal is committed too: a transaction without puts proves the facts, so that no stale memory refuses a write.
type Write struct {
	Object
	Expected int64
	// Was is the zone at Expected, if Key is the key of a zone; nil for a creation.
	Was   *v1alpha1.Zone
	Guess bool
	Ask   func(*law.Seen) law.Outcome
	// Primary returns the operation on Key for a plan, nil for none. If Key is a zone, it also returns the object
	// after the write, nil if deleted.
	Primary func(ctx context.Context, plan *law.Plan) (op *clientv3.Op, zone *v1alpha1.Zone, err error)
	// Also returns further compares and operations for the same transaction; may be nil.
	Also func(plan *law.Plan) ([]clientv3.Cmp, []clientv3.Op)
	// Item is the outbox item whose cascade makes the write, nil for a client's.
	Item *Item
	// Payer is the namespace that pays, "" for the author of the write.
	Payer string
	// Hint is the key of the zone that probably changes, "" if unknown.
	Hint string
	// Keep leaves the locks with the write when Commit returns, so that the caller's next try cannot lose to this
	// process again.
	Keep bool

	Locks []*queue // the zone locks of this write
	Plan  *law.Plan
}

// WriteOf returns a write of an object. expected is the object's revision, 0 for a creation.
func (com *Committer) WriteOf(resource string, o metav1.Object, expected int64) *Write {
	return &Write{Expected: expected, Object: Object{Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName(),
		Key: com.mem.Layout.Object(resource, o.GetNamespace(), o.GetName()),
		uid: string(o.GetUID()), created: o.GetCreationTimestamp().Unix()}}
}

// Outcome is the result of a write for the etcd3 store. If OK is false, the key was not at the expected revision,
// and KV is its present value.
type Outcome struct {
	OK  bool
	Rev int64
	KV  *mvccpb.KeyValue
}

// Set is a change set: a group with a single step and serial. If a write is refused, or Commits is false, nothing is
// put and the refusals are proved (I5).
type Set struct {
	Committer *Committer
	Writes    []*SetWrite
	// Commits is false if a write was refused before Run: the others are decided only to report their refusals.
	Commits bool
	// Requires is judged on the zone before the set.
	Requires []records.Requirement

	// Run sets the rest. Unmet is the refusal of an unmet requirement; nil: all are met.
	Unmet error
	// Owed has each pending cut of the set once. They are counted without the locks of the set: a write of a child
	// and its parent takes the parent's lock first.
	Owed []law.PendingCut
	// Sent is true if the set may be written.
	Sent bool

	// anchor is the write whose zone becomes that of the set.
	anchor *SetWrite
	// Each decision resets these. opening is the zone before the set, nil for none, and change the change of the
	// zone, nil for none.
	opening  *law.Zone
	change   *law.ZoneChange
	required *member
}

// SetWrite is a write of a change set.
type SetWrite struct {
	Ctx      context.Context
	Index    int
	Expected int64
	// Before is the stored Record and After the new one; nil: none. Hint is the key of the zone that probably
	// decides. Unread is the error if the Record does not give an Ask.
	Before, After *v1alpha1.Record
	Ask           records.RecordAsk
	Hint          string
	Unread        error
	// Put is the encoded object of a write without a decision (S2.4). Same is true if nothing is written.
	Put  []byte
	Same bool
	// Dry: decide, do not write.
	Dry bool
	// Answered gets one answer.
	Answered chan SetAnswer

	// Run sets Refusal, the outcome of the object, and the object as placed.
	Refusal error
	Out     Outcome
	Placed  *v1alpha1.Record
}

// SetAnswer answers a write of a set: an outcome with the placed object, or an error.
type SetAnswer struct {
	Out    Outcome
	Placed *v1alpha1.Record
	Err    error
}

// group is a single write or a change set: committed as a whole or not at all, and answered once.
type group struct {
	members []*member
	set     *Set        // nil: a single write
	order   *order      // nil: unordered
	answer  chan Answer // buffered for one answer
	// insists makes a refusal for now (law.Later) final: the group has been postponed long enough.
	insists bool
	// preview groups are decided without locks, and their objects are not compared.
	preview bool
	// proves is true for refusals and dry runs: the batch sends the compares and puts nothing.
	proves bool
	// strange counts the decisions whose facts contradicted unchanged objects.
	strange int
	// alone is true after a batch with the group panicked: then the group is decided alone. Only the goroutine that
	// commits the group reads and writes answered and alone.
	answered, alone bool
	// deciding is held during the decision, which reads the caller's objects. A caller that has left may change
	// them, so gone excludes the group.
	deciding sync.Mutex
	gone     bool
}

// member is a write of a group, with its last decision.
type member struct {
	*Write
	item *SetWrite // nil: a single write
	// flat guards the zones at names of more than facts.FlatName labels by ranges.
	flat    bool
	session *facts.Session // nil: no decision needed
	cmps    []clientv3.Cmp
	plan    *law.Plan
	refusal error
	op      clientv3.Op
	// out is the outcome of the transaction. moved is true if the object changed since the caller read it.
	out   Outcome
	moved bool
}

func (m *member) writesObject() bool { return m.op.IsPut() || m.op.IsDelete() }

// order links writes that are committed only if all before them are.
type order struct{ broken atomic.Bool }

// Answer is the result of a group, or its needs for another try: Locks of further zones, or time (Later, a refusal
// that may pass). sent is true if the group may be committed despite Err.
type Answer struct {
	Out   Outcome // of a single write
	Err   error
	sent  bool
	Locks []string
	Later *law.Refusal
}

func newGroup(w *Write) *group {
	return &group{members: []*member{{Write: w}}, answer: make(chan Answer, 1)}
}

// renew returns a copy of the group for another try. The former batch of g may still read g.
func (g *group) renew() *group {
	next := &group{set: g.set, order: g.order, insists: g.insists, strange: g.strange, answer: make(chan Answer, 1)}
	for _, m := range g.members {
		next.members = append(next.members, &member{Write: m.Write, item: m.item, flat: m.flat})
	}
	return next
}

// firstWrite returns the write with the hint and the locks of the group.
func (g *group) firstWrite() *Write { return g.members[0].Write }

// goesAlone reports whether the group needs a batch of its own. Writes to Zones and other resources than Records are
// decided on the stored zone.
func (g *group) goesAlone() bool {
	return g.alone || g.set != nil && len(g.members) > maxJoined || g.firstWrite().Resource != "records" || g.firstWrite().Keep
}

// isSmall reports whether the group is first decided on guesses (facts.Session.Guess). Each guess costs a compare;
// facts that were read are covered by the zone's revision.
func (g *group) isSmall() bool {
	return g.set == nil || len(g.members)+len(g.set.Requires) <= maxGuessed
}

// isRefused reports whether a refusal keeps the group from being written.
func (g *group) isRefused() bool {
	return g.set != nil && (!g.set.Commits || g.set.Unmet != nil) ||
		slices.ContainsFunc(g.members, func(m *member) bool { return m.refusal != nil })
}

func (g *group) isDry() bool { return g.set != nil && g.set.Writes[0].Dry }

// isBehind reports whether a write before the group in its order was not committed.
func (g *group) isBehind() bool { return g.order != nil && g.order.broken.Load() }

// overlaps reports whether the group writes the object of a member of another group.
func (g *group) overlaps(other *member) bool {
	return slices.ContainsFunc(g.members, func(m *member) bool { return m.Key == other.Key })
}

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

// withdraw excludes the group from decisions, after a running one has ended.
func (g *group) withdraw() {
	g.deciding.Lock()
	g.gone = true
	g.deciding.Unlock()
}
