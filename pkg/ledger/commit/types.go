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
	Clients    atomic.Int64 // time of the last client write of content, in Unix nanoseconds
	Usage      usage
	wake       chan struct{}
	freed      chan FreedName
	noted      map[FreedName]bool // the names in freed; guarded by Memory.Mu

	// Memory.Mu guards both. works has the IDs of the outbox items that this process has yet to process.
	queues map[string]*queue // by zone key
	gate   gate
	works  map[string]bool
}

// New returns a Committer over mem. Each zone held by a mass deletion (S7.5) is reported to held, and the news of
// writes to news; both may be nil. If commits take slowCommit or longer, a batch waits for more writes.
func New(mem *facts.Memory, jr *journal.Journal, placer *objects.Placer, held func(*v1alpha1.Zone),
	news func(*v1alpha1.Zone, []law.News), slowCommit time.Duration) *Committer {
	return &Committer{mem: mem, jr: jr, placer: placer, held: held, news: news, slowCommit: slowCommit,
		queues: map[string]*queue{}, works: map[string]bool{}, wake: make(chan struct{}, 1),
		freed: make(chan FreedName, maxFreed), noted: map[FreedName]bool{}}
}

type queue struct {
	*facts.Head
	sem chan struct{} // the lock of the zone, and of read and apart

	// read caches the last withdrawals read for writes to the zone (facts.Overlay.Read).
	read map[law.Key]facts.Read
	// Until apart, the batches of the zone share no transaction (together.go).
	apart time.Time

	// Memory.Mu guards the rest. committing is true while a goroutine takes batches from waiting.
	waiting    []*group
	committing bool
	// enough is closed when want groups wait; nil: no batch waits for more.
	enough chan struct{}
	want   int
	// met is the last time another server was met at the zone. asked counts its requests for the next commit since
	// then. yield is the time for which the next Release keeps the lock, in favour of that server.
	met      time.Time
	asked    int
	yield    time.Duration
	trimming journal.Trimming
}

// batch is a list of groups for a zone, committed in one transaction.
type batch struct {
	com *Committer
	attempt
	draft
	proof
	puts
	groups  []*group
	members []*member // of all groups, in order
	writing []*member // without the groups that put nothing
	reads   int       // decisions that read facts from etcd by themselves
	closed  bool      // takes no further group
	raced   bool      // a compare failed
	// deciding is the group under decision. sent is true if the transaction may have been executed. answerPanic
	// reads both.
	deciding *group
	sent     bool
}

// attempt has the locks and limits of a batch.
type attempt struct {
	locks []*queue
	head  *queue // of the zone; nil: no zone is locked
	try   int    // earlier tries
	bound int    // in octets; a larger batch takes no further group
}

// draft is the zone after the groups decided so far, and the puts for it.
type draft struct {
	facts.Overlay
	change *law.ZoneChange
	object *v1alpha1.Zone // the zone after the batch, if a write changes its object
	undo   []undone       // facts before the group under decision
	writes int            // members that write their object
	octets int            // about, of all puts

	touched []touched
}

type undone struct {
	key     law.Key
	value   any
	written bool
}

type decisions struct {
	cold  []law.Key    // facts to read into memory
	locks []string     // keys of zones whose lock a plan needs
	later *law.Refusal // a refusal that may pass
	steps []content.Step
	held  bool // a plan begins a hold
}

// proof has the compares of a batch, and the zones and sessions behind them.
type proof struct {
	cmps     []clientv3.Cmp
	proven   map[string]int64 // expected revision by single key
	zones    []facts.ZoneSeen
	sessions []*facts.Session
}

type puts struct {
	steps layout.JournalValue
	then  []clientv3.Op
	// offset is the index of the first operation in the transaction, and zoneAt the index of the Zone's put counted
	// from offset, -1 for none.
	offset, zoneAt int
	journal        int // octets of the journal value
}

// touched is an outbox item with the value after the batch.
type touched struct {
	s    *Item
	next law.Work
}

// outcome is the result of a transaction: a response or an error. shared is true if it had batches of several zones.
type outcome struct {
	r      *clientv3.TxnResponse
	err    error
	trip   time.Duration
	shared bool
}

func (b *batch) hasItem() bool {
	return slices.ContainsFunc(b.members, func(m *member) bool { return m.Item != nil })
}

const (
	// MaxBatchOctets keeps a transaction within the 1.5 MiB of an etcd request: the last group comes on top, and a
	// Zone of 512 KiB, the limit of an older kubizone (S5.10).
	MaxBatchOctets = 512 << 10
	// batchTimeout bounds a batch, which serves many callers and so has no caller's deadline.
	batchTimeout = 20 * time.Second
	// maxEntry bounds the Record and the journal step of a write in a shared batch. A larger write is committed
	// alone: in a zone of many tenants, the longest possible Record of a tenant makes no other tenant's request too
	// large.
	maxEntry = 64 << 10
	// maxPasses bounds the reads for a whole batch; after that each write reads its own facts.
	maxPasses = 4
	// maxReads bounds the writes of a batch that read facts by themselves, while others wait for the zone.
	maxReads = 8
	// maxJoined bounds the writes of a change set that shares its batch with other groups.
	maxJoined = 8
	// maxStrange bounds the decisions of a change set on a zone that moves. The next counts as damage.
	maxStrange = 3
	// maxGuessed bounds the writes and prerequisites of a group that is decided on guesses.
	maxGuessed = 4
	// maxRead bounds queue.read.
	maxRead = 64
)

// gate limits the shared transactions in flight. A batch needs a place of the gate.
type gate struct {
	mu     sync.Mutex
	used   int
	parked []*parked
}

// parked is a decided batch waiting for a place, or taken along by another batch.
type parked struct {
	b     *batch
	payer string
	// turn is closed when the batch gets a place, or when the transaction that took it along has ended. In the
	// second case went is true, and outcome is the result, nil if the sending goroutine panicked.
	turn    chan struct{}
	went    bool
	outcome *outcome
	// beyond has the compares of keys that may belong to other zones, and visible the puts of such keys.
	beyond  []clientv3.Cmp
	visible []string
}

type latencies struct {
	mu   sync.Mutex
	last [manyLatencies]time.Duration
	n    int
}

// manyLatencies covers a second or two of a busy zone. In a smaller sample, every transaction may have waited for a
// CPU.
const manyLatencies = 256

func (t *latencies) note(trip time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.n%len(t.last)] = trip
	t.n++
}

// least returns the minimum, 0 if none is known. The rest of a latency is CPU time, which waiting does not reduce.
func (t *latencies) least() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return 0
	}
	return slices.Min(t.last[:min(t.n, len(t.last))])
}

// usage has the counts that this server changed since the last sweep: keys of KindCount, without a namespace for all
// counts of a zone.
type usage struct {
	mu      sync.Mutex
	changed map[law.Key]bool
}

// Item is an outbox item with revision.
type Item struct {
	Work law.Work
	Mod  int64
}

// FreedName is a name where a client removed a value, and its base name (S4.7).
type FreedName struct {
	View       string
	Name, Base name.Name
	// Apex is true if Base is the zone's apex.
	Apex bool
}

// maxFreed bounds the freed names in the channel. Records that wait at a dropped name are tried in the next round.
const maxFreed = 256
