// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/facts"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// Committer decides and commits writes.
type Committer struct {
	mem        *facts.Memory
	jr         *journal.Journal
	placer     *objects.Placer
	held       func(*v1alpha1.Zone)              // ledger.Config.Held
	hides      func(*v1alpha1.Zone, []name.Name) // ledger.Config.Hides
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

// New returns a Committer over mem. It reports each zone that a mass deletion holds back to held (S7.5), and names that
// underscore rules hide to hides (S4.25); both may be nil. slowCommit is the duration of a commit from which on a batch
// waits for more writes.
func New(mem *facts.Memory, jr *journal.Journal, placer *objects.Placer, held func(*v1alpha1.Zone),
	hides func(*v1alpha1.Zone, []name.Name), slowCommit time.Duration) *Committer {
	return &Committer{mem: mem, jr: jr, placer: placer, held: held, hides: hides, slowCommit: slowCommit,
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

// Outcome is what etcd3.store wants to know of a write. OK false means that the key was not at the expected revision,
// and KV is what stands there.
type Outcome struct {
	OK  bool
	Rev int64
	KV  *mvccpb.KeyValue
}

// queue is the queue of a zone.
type queue struct {
	*facts.Head
	sem chan struct{} // the lock of the zone, and of read and apart

	// read has the withdrawals that were read last for writes here (facts.Overlay.Read).
	read map[law.Key]facts.Read
	// apart is the time until which its batches commit by themselves (together.go).
	apart time.Time

	// Memory.Mu guards the rest. waiting are the writes that wait here. committing says that a committer takes them.
	waiting    []*request
	committing bool
	// enough is closed when want writes wait; nil: no batch waits for writes.
	enough chan struct{}
	want   int
	// met is the time at which another server was met at the zone, asked the number of times that one has asked since
	// for the next commit there, and yield the time that is left to it.
	met   time.Time
	asked int
	yield time.Duration
	// trimming is the state of the trimming of its journal.
	trimming journal.Trimming
}

// request is a write that waits at a zone.
type request struct {
	w      *Write
	answer chan Answer // of one
	// order is set where this write is one of several that are committed in order.
	order *order
	// set is the change set that this is a write of; nil: of none.
	set *Set
	// answered says that it has its answer, and alone that a batch with it ended in a panic, so it is decided by
	// itself. Only the goroutine that carries it out reads and writes both.
	answered, alone bool
	// deciding is held while the write is decided, which reads the caller's object. A caller that has left may change
	// that object, so gone has the write left out.
	deciding sync.Mutex
	gone     bool
}

// goesAlone reports whether the request is decided by itself, in a batch of its own.
func (r *request) goesAlone() bool { return r.w.goesAlone() || r.alone }

// isBehind reports whether a write before this one in its order was not committed.
func (r *request) isBehind() bool { return r.order != nil && r.order.broken.Load() }

// order is shared by writes of which none is committed once one before it was not.
type order struct{ broken atomic.Bool }

// Answer is what a request gets: an outcome, or what the write needs first. Locks are those of zones that its plan
// changes too. Later is a refusal that may not stand for long. behind says that it was not committed because of another
// write of its order or its change set, or is a dry run. sent says that the write may be committed all the same.
type Answer struct {
	Out    Outcome
	Err    error
	sent   bool
	Locks  []string
	Later  *law.Refusal
	behind bool
}

func newRequest(w *Write) *request { return &request{w: w, answer: make(chan Answer, 1)} }

func (r *request) reply(a Answer) {
	if r.order != nil && !a.Out.OK {
		r.order.broken.Store(true)
	}
	r.answered = true
	r.answer <- a
}

// withdraw waits until nothing reads the caller's object, and keeps the request from being decided.
func (r *request) withdraw() {
	r.deciding.Lock()
	r.gone = true
	r.deciding.Unlock()
}

// batch is a batch while it is decided.
type batch struct {
	facts.Overlay // facts of its zone, as the decisions so far leave them

	com   *Committer
	locks []*queue
	head  *queue // of the zone; nil where no zone is locked
	try   int    // 0: the first
	bound int    // the octets behind which no more requests are taken in
	set   *Set   // it is a change set: all of it is committed together, as one step

	change  *law.ZoneChange
	object  *v1alpha1.Zone // the zone as it will stand, if a write changes its object
	steps   layout.JournalValue
	touched []touched

	cmps    []clientv3.Cmp
	proven  map[string]int64 // the revisions of single keys that they expect
	zones   []facts.ZoneSeen
	members []member
	writes  int // members that write their object
	octets  int // of all that, about
	reads   int // writes that have read facts by themselves
	closed  bool
	raced   bool // its compares did not hold
	// offset is where its operations begin in the transaction, and zoneAt where that on its zone stands behind, -1 for
	// none.
	offset, zoneAt int
	journal        int // the octets of its steps
	// deciding is the request that is being decided, and sent says that the transaction may have been carried out: a
	// panic is answered by both.
	deciding *request
	sent     bool
}

// member is a write that is taken into a batch.
type member struct {
	*request
	session *facts.Session
	refusal *law.Refusal
	plan    *law.Plan
	op      clientv3.Op
	at      int64 // the version that its object has, once it is written
}

// writesObject reports whether what was decided is more than what stands already.
func (m *member) writesObject() bool { return m.op.IsPut() || m.op.IsDelete() }

// touched is an outbox item as a batch writes it.
type touched struct {
	s    *Item
	next law.Work
}

func (b *batch) requests() []*request {
	all := make([]*request, len(b.members))
	for i := range b.members {
		all[i] = b.members[i].request
	}
	return all
}

func replyAll(requests []*request, a Answer) {
	for _, r := range requests {
		if !r.answered {
			r.reply(a)
		}
	}
}

const (
	// MaxBatchOctets keeps a batch within the 1.5 MiB that etcd takes in a request: the last write of the batch comes
	// on top, and a Zone of 512 KiB, which an older kubizone let in (S5.10).
	MaxBatchOctets = 512 << 10
	// maxEntry bounds the record and the journal step of a write that goes with others. A tenant may write the
	// longest possible record into a zone of many tenants: that write goes alone, and does not make the request of
	// other tenants too large.
	maxEntry = 64 << 10
	// maxPasses bounds how often facts are read for a whole batch; after that each write reads its own.
	maxPasses = 4
	// maxReads bounds the writes of a batch that read facts by themselves, while others wait for the zone.
	maxReads = 8
	// maxRead bounds the withdrawals that the queue of a zone keeps.
	maxRead = 64
)
