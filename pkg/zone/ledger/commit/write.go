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
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/kit/traces"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
)

type Object struct {
	Resource, Namespace, Name string
	Key                       string
	// uid and created are for layout.Waiter.
	uid     string
	created int64
}

// Write is a write of a client, a cascade, or a parent zone that counts a child's cut (NS, glue and DS).
type Write struct {
	Object
	Expected int64 // revision of the object, 0 for a creation
	// ZoneBefore is the zone at revision Expected, nil for a creation or another resource.
	ZoneBefore *v1alpha1.Zone
	Guess      bool // the first decision assumes that unread keys are absent
	Decide     func(*law.Facts) law.Outcome
	// ObjectOp returns the operation on Key and, for a zone, the Zone after the write. Both may be nil.
	ObjectOp func(ctx context.Context, plan *law.Plan) (op *clientv3.Op, zone *v1alpha1.Zone, err error)
	// ExtraOps returns further compares and operations. It may be nil.
	ExtraOps func(plan *law.Plan) ([]clientv3.Cmp, []clientv3.Op)
	// Origin is the source of the change, for the history. RecordBefore is the former Record, nil for a creation.
	Origin       content.Origin
	By           string // the user who removes a zone or a Delegation
	RecordBefore *v1alpha1.Record
	// OutboxItem is nil for a client's write.
	OutboxItem *Item
	// Payer is the charged namespace, "" for payerOf's choice.
	Payer string
	// LikelyZone is the key of the zone that probably changes, "" if unknown.
	LikelyZone string
	// KeepLocks leaves the locks with the write after Commit, so that the caller's next try loses no race in this
	// process.
	KeepLocks bool

	Locks []*queue
	Plan  *law.Plan
}

// NewWrite returns a write of an object. The expected revision is 0 for a creation.
func (com *Committer) NewWrite(resource string, o metav1.Object, expected int64) *Write {
	return &Write{Expected: expected, Object: Object{Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName(),
		Key: com.Mem.Layout.Object(resource, o.GetNamespace(), o.GetName()),
		uid: string(o.GetUID()), created: o.GetCreationTimestamp().Unix()}}
}

// Outcome is for the etcd3 store. If OK is false, the key had another revision, and KV is its present value.
type Outcome struct {
	OK  bool
	Rev int64
	KV  *mvccpb.KeyValue
}

// Set is a change set: writes of Records in a zone that commit together, with one new serial, or not at all.
type Set struct {
	Committer *Committer
	Writes    []*SetWrite
	// Commits is false if a write was refused before Run. Run then decides the other writes only to report all
	// refusals.
	Commits      bool
	Requirements []records.Requirement

	// Run sets the exported fields below. RequirementErr is the refusal for an unmet requirement.
	RequirementErr error
	// Derivations are contents of other zones to derive again. Count them without the set's locks:
	// counting waits for the parent's lock, whose holder may wait for the child's.
	Derivations []law.Derivation
	// Sent is true if the set may be committed, even after an error.
	Sent bool

	// The zone of the write anchor becomes the zone of the set.
	anchor *SetWrite
	// Each decision resets the fields below. zoneBefore, and the set's change of the zone, may be nil.
	zoneBefore *law.Zone
	change     *law.ZoneChange
	required   *member
}

type SetWrite struct {
	Ctx      context.Context
	Expected int64
	// Before is nil for a creation, After for a deletion. LikelyZone is as in Write. AskErr is the error that left Ask
	// incomplete.
	Before, After *v1alpha1.Record
	Origin        content.Origin
	Ask           records.RecordInput
	LikelyZone    string
	AskErr        error
	// Encoded is the encoded object of a write without a decision. If Unchanged is true, nothing is written.
	Encoded   []byte
	Unchanged bool
	DryRun    bool
	// Adopts is true for a waiting Record that a zone adopts without a change by a client. It has no warnings.
	Adopts  bool
	decided bool // package law has to decide the write

	// Set by Run.
	Refusal error
	Out     Outcome
	Result  *v1alpha1.Record
}

// group is the unit of a batch: a single write, or the writes of a change set, committed as a whole or not at all. A
// group gets a single answer, unless the caller withdraws the group.
type group struct {
	members []*member
	set     *Set // nil for a single write
	// order, if not nil, is shared by groups that must commit one after the other. After a failure no later group
	// commits.
	order  *order
	answer chan Answer
	// finalRefusal makes a temporary refusal (law.Later) the answer, without another try.
	finalRefusal bool
	// preview asks only for the decision, without locks, and without a compare of the object.
	preview bool
	// onlyCompares means that the group puts nothing, for a refusal or a dry run. Its compares prove the values behind
	// the decision.
	onlyCompares   bool
	contradictions int // tries in which facts contradicted the objects; the next ones guess nothing

	// Only the committing goroutine accesses the next two fields.
	answered bool
	alone    bool // after a panic, the group gets a batch of its own

	// deciding is locked while the decision reads objects of the caller.
	deciding   sync.Mutex
	callerGone bool // the caller may change the objects, so batches skip the group
	admitted   bool // a batch may commit the group
	overtaken  bool // writes of others made a try fail
	spans
}

type member struct {
	*Write
	setWrite *SetWrite // nil: a single write
	// If flat is true, ranges guard names of more than facts.FlatName labels, for fewer compares.
	flat      bool
	readSet   *facts.ReadSet // nil: no decision needed
	unchanged clientv3.Cmp   // compares the object's revision
	cmps      []clientv3.Cmp
	plan      *law.Plan
	refusal   error
	op        clientv3.Op
	// state is RecordBefore, packed; zero if not yet packed.
	state history.Packed
	// moved means that the object has changed since the caller read it.
	out   Outcome
	moved bool
}

func newMember(w *Write, of *SetWrite) *member {
	return &member{Write: w, setWrite: of, unchanged: etcd.RevisionIs(w.Key, w.Expected)}
}

func (m *member) writesObject() bool { return m.op.IsPut() || m.op.IsDelete() }

type order struct{ broken atomic.Bool }

// breakOff lets no later group of the order commit. Without an order, breakOff has no effect.
func (o *order) breakOff() {
	if o != nil {
		o.broken.Store(true)
	}
}

// Answer is the result of a group (a single write or a change set), or the reason to try the group again.
type Answer struct {
	Out Outcome // of a single write
	Err error
	// sent is true if the transaction was sent, so that the group may be committed despite Err.
	sent bool
	// overtaken is true if writes of others have made an earlier try fail.
	overtaken bool
	// Locks are keys of zones whose queues Commit must lock before it tries again; nil for none.
	Locks []string
	// Later is a temporary refusal, for example while names move to another zone; nil for none. It is not in Err,
	// because Commit first pauses and tries again.
	Later *law.Refusal
}

func newGroup(w *Write) *group {
	return &group{members: []*member{newMember(w, nil)}, answer: make(chan Answer, 1)}
}

// renew returns a copy of the group for the next try, because the former batch may still read g. Decisions and compares
// are not copied, the packed former Record is.
func (g *group) renew() *group {
	next := &group{set: g.set, order: g.order, finalRefusal: g.finalRefusal, contradictions: g.contradictions, answer: make(chan Answer, 1),
		spans: spans{commit: g.commit}}
	for _, m := range g.members {
		next.members = append(next.members, &member{Write: m.Write, setWrite: m.setWrite, unchanged: m.unchanged, flat: m.flat,
			state: m.state})
	}
	return next
}

func (g *group) firstWrite() *Write { return g.members[0].Write }

// Writes of other resources than Records go alone: they are decided on the stored zone, not the draft.
func (g *group) goesAlone() bool {
	// KeepLocks means that the caller holds the locks for a further try, too.
	return g.alone || g.set != nil && len(g.members) > maxJoined || g.firstWrite().Resource != "records" || g.firstWrite().KeepLocks
}

// isSmall reports whether the first decision guesses. A guess costs a compare; the zone's revision covers facts that
// were read.
func (g *group) isSmall() bool {
	return g.set == nil || len(g.members)+len(g.set.Requirements) <= maxGuessed
}

func (g *group) isRefused() bool {
	return g.set != nil && (!g.set.Commits || g.set.RequirementErr != nil) ||
		slices.ContainsFunc(g.members, func(m *member) bool { return m.refusal != nil })
}

func (g *group) isDry() bool { return g.set != nil && g.set.Writes[0].DryRun }

func (g *group) followsFailure() bool { return g.order != nil && g.order.broken.Load() }

func (g *group) overlaps(other *member) bool {
	return slices.ContainsFunc(g.members, func(m *member) bool { return m.Key == other.Key })
}

func (g *group) hasMoved() bool {
	return slices.ContainsFunc(g.members, func(m *member) bool { return m.moved })
}

// spans are nil or traces.None unless the request is recorded: commit lasts until the answer, wait until the decision.
type spans struct{ commit, wait trace.Span }

func (s *spans) isRecorded() bool { return s.commit != nil && s.commit.IsRecording() }

func (g *group) traceparent() string {
	if g.isRecorded() {
		return traces.Parent(g.commit)
	}
	if item := g.firstWrite().OutboxItem; item != nil {
		return item.Trace
	}
	return ""
}

func (g *group) traceWork(work *law.Work) *law.Work {
	parent := g.traceparent()
	if parent == "" {
		return work
	}
	traced := *work
	traced.Trace = parent
	return &traced
}
