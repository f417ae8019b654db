// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
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

// queue is the queue of a zone.
type queue struct {
	*facts.Head
	sem chan struct{} // the lock of the zone, and of read and apart

	// read has the withdrawals that were read last for writes here (facts.Overlay.Read).
	read map[law.Key]facts.Read
	// apart is the time until which its batches commit by themselves (together.go).
	apart time.Time

	// Memory.Mu guards the rest. waiting are the groups that wait here. committing says that a committer takes them.
	waiting    []*group
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

// batch is groups of writes of one zone on their way into one transaction.
type batch struct {
	com *Committer
	attempt
	draft
	proof
	puts
	groups  []*group
	members []*member // of all groups, in order
	writing []*member // those of groups that the batch does not prove alone
	reads   int       // decisions that have read facts by themselves
	closed  bool      // no group goes with these
	raced   bool      // the compares did not hold
	// deciding is the group under decision, and sent says that the transaction may have been carried out: a panic is
	// answered by both.
	deciding *group
	sent     bool
}

// attempt has the locks of a batch, the number of tries before this one, and the bound of its octets.
type attempt struct {
	locks []*queue
	head  *queue // of the zone; nil where no zone is locked
	try   int    // 0: the first
	bound int    // the octets behind which no more groups are taken in
}

// draft is the zone as the groups so far leave it, and what is put for that.
type draft struct {
	facts.Overlay
	change *law.ZoneChange
	object *v1alpha1.Zone // the zone after the batch, if a write changes its object
	undo   []undone       // the facts before the group under decision
	writes int            // members that write their object
	octets int            // of all that, about

	touched []touched
}

// undone is a fact of a draft before a group changed it.
type undone struct {
	key     law.Key
	value   any
	written bool
}

// decisions is the result of the decisions of a group, apart from what its members have.
type decisions struct {
	cold  []law.Key    // facts that memory lacks
	locks []string     // zones whose lock a plan needs
	later *law.Refusal // a refusal for now
	steps []content.Step
	held  bool // a plan begins a hold
}

// proof is what shows that decisions hold.
type proof struct {
	cmps     []clientv3.Cmp
	proven   map[string]int64 // the revisions of single keys that they expect
	zones    []facts.ZoneSeen
	sessions []*facts.Session
}

// puts is what a transaction writes for a batch.
type puts struct {
	steps layout.JournalValue
	then  []clientv3.Op
	// offset is where its operations begin in the transaction, and zoneAt where that on its zone stands behind, -1 for
	// none.
	offset, zoneAt int
	journal        int // the octets of its steps
}

// touched is an outbox item as a batch writes it.
type touched struct {
	s    *Item
	next law.Work
}

// outcome is what became of a transaction: a response, or an error. shared says that it was of several batches.
type outcome struct {
	r      *clientv3.TxnResponse
	err    error
	trip   time.Duration
	shared bool
}

// hasItem reports whether a write is one of a cascade.
func (b *batch) hasItem() bool {
	return slices.ContainsFunc(b.members, func(m *member) bool { return m.Item != nil })
}

const (
	// MaxBatchOctets keeps a batch within the 1.5 MiB that etcd takes in a request: the last write of the batch comes
	// on top, and a Zone of 512 KiB, which an older kubizone let in (S5.10).
	MaxBatchOctets = 512 << 10
	// batchTimeout bounds a batch. A batch belongs to many callers and ends with none of them.
	batchTimeout = 20 * time.Second
	// maxEntry bounds the record and the journal step of a write that goes with others. A tenant may write the
	// longest possible record into a zone of many tenants: that write goes alone, and does not make the request of
	// other tenants too large.
	maxEntry = 64 << 10
	// maxPasses bounds how often facts are read for a whole batch; after that each write reads its own.
	maxPasses = 4
	// maxReads bounds the writes of a batch that read facts by themselves, while others wait for the zone.
	maxReads = 8
	// maxJoined bounds the writes of a set that shares its transaction with other groups.
	maxJoined = 8
	// maxStrange bounds how often the zone may change under the facts of a set before that counts as damage.
	maxStrange = 3
	// maxGuessed bounds the writes and prerequisites of a group that is decided on guesses.
	maxGuessed = 4
	// maxRead bounds the withdrawals that the queue of a zone keeps.
	maxRead = 64
)

// gate gives batches their places in transactions.
type gate struct {
	mu     sync.Mutex
	used   int
	parked []*parked
}

// parked is a decided batch that waits for a place, or is taken along.
type parked struct {
	b     *batch
	payer string
	// turn is closed when the batch has a place, or when the transaction that took it along is over. went says which,
	// and outcome what became of that transaction; nil: the goroutine that sent it has panicked.
	turn    chan struct{}
	went    bool
	outcome *outcome
	// beyond are the compares of keys that may be another zone's, and visible the keys that it puts of which that may
	// be said.
	beyond  []clientv3.Cmp
	visible []string
}

// latencies are the commit latencies of the last transactions.
type latencies struct {
	mu   sync.Mutex
	last [manyLatencies]time.Duration
	n    int
}

// manyLatencies are those of a second or two in a hot zone. Among few latencies there may be none of a transaction
// that found a processor free.
const manyLatencies = 256

func (t *latencies) note(trip time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.n%len(t.last)] = trip
	t.n++
}

// least returns the least of the latencies: what exceeds the disk's share is CPU time, which waiting does not reduce.
// 0: none is known.
func (t *latencies) least() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return 0
	}
	return slices.Min(t.last[:min(t.n, len(t.last))])
}

// usage has the keys of the counts that this server has changed since the last sweep: keys of KindCount, without a
// namespace for all counts of a zone.
type usage struct {
	mu      sync.Mutex
	changed map[law.Key]bool
}

// Item is an outbox item and its revision.
type Item struct {
	Work law.Work
	Mod  int64
}

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
