// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// Committer commits all writes of a server: each zone has a queue of waiting writes, and a batch of them becomes an
// etcd transaction.
type Committer struct {
	Config       // what commits need
	writers      // the queues before them
	gate    gate // the shared transactions in flight
	signals      // the news for the outbox
}

// Config has what commits need. The functions may be nil.
type Config struct {
	Mem        *facts.Memory    // cached zones and stored values
	Journal    *journal.Journal // recent changes of zones
	Placer     *objects.Placer  // sets the status of objects
	OnHold     func(*v1alpha1.Zone)
	Notify     func(*v1alpha1.Zone, []law.Notice)
	Retention  time.Duration // of the history, for zones without their own
	SlowCommit time.Duration // SlowCommit, except in tests
}

// writers has the waiting writes of all zones. Memory.Mu guards queues.
type writers struct {
	queues  map[string]*queue // by zone key
	latency latencies         // of recent commits; from SlowCommit on, large batches wait for more groups
}

// New returns a Committer that waits for writes. It starts no goroutine.
func New(config Config) *Committer {
	if config.OnHold == nil {
		config.OnHold = func(*v1alpha1.Zone) {}
	}
	if config.Notify == nil {
		config.Notify = func(*v1alpha1.Zone, []law.Notice) {}
	}
	return &Committer{Config: config, writers: writers{queues: map[string]*queue{}}, signals: newSignals()}
}

// queue has the writes that wait for a zone, and the zone's lock in this process. CachedZone is the cached zone.
type queue struct {
	*facts.CachedZone
	sem chan struct{} // the zone's lock, which also guards cachedFacts and noSharingUntil

	cachedFacts    map[law.Key]facts.ProvenFact
	noSharingUntil time.Time // until then no transaction is shared with other zones

	// Memory.Mu guards the fields below.
	waiting    []*group
	committing bool // a goroutine commits the groups in waiting
	acquiring  int  // number of writes that wait for sem without a place in waiting
	// A batch that waits for more groups listens to sizeReached, which is closed when waiting has targetSize groups.
	sizeReached    chan struct{}
	targetSize     int
	lastContention time.Time     // when this server last noticed another server at the zone
	yieldRequests  int           // of the other server since then (requestYield)
	yieldFor       time.Duration // how long the next Release keeps the lock for the other server
	trimming       journal.Trimming
}

// batch builds a transaction from the waiting groups of a zone. The states of the zone are:
//
//   - queue has the cached zone. Other commits and reads may change it meanwhile.
//   - Base is the stored object. The transaction compares its revision, Mod.
//   - Zone is the zone after the groups so far.
//   - change has their journal step, state under the zone's name, and notices; nil if they change nothing.
//   - object is the object to write: Base with change, or the object of a group that writes the Zone itself.
type batch struct {
	com *Committer
	attempt
	draft
	proof
	puts
	groups  []*group
	members []*member
	writers []*member // members of the groups that put something
	reads   int       // count of reads from etcd for single groups, at most maxReads
	closed  bool      // no further group is taken
	raced   bool      // another write made the transaction fail
	// sent means that the transaction may have been executed.
	sent     bool
	deciding *group       // under decision now, or nil
	causes   []trace.Span // spans of the groups
	span     trace.Span   // nil before the groups are decided
}

type attempt struct {
	locks   []*queue // of the locked zones
	queue   *queue   // of the batch's zone; nil if no zone is locked
	retries int
	bound   int // octets; a larger batch takes no more groups; halved if etcd finds the transaction too large
}

// draft is the result of the groups (writes or change sets) in a batch so far. Overlay has the facts (stored values)
// that they change, and the zone after them, for the decision of the next group.
type draft struct {
	facts.Overlay
	change *law.ZoneChange
	object *v1alpha1.Zone
	undo   []undone // changed facts, oldest first
	writes int      // number of written objects
	octets int      // estimate of the transaction's size

	itemUpdates []itemUpdate // changes of the outbox (pending background work)
	states      []stateBefore
}

type stateBefore struct {
	namespace string
	history.BeforeStep
}

// undone is the draft's value of a fact before a change. written is false if the draft had none, as etcd's value
// counted.
type undone struct {
	key     law.Key
	value   any
	written bool
}

// decisions is the result for a group (a write or a change set), after package law has decided each write. With
// missingFacts, locks or temporaryRefusal, the group is decided again.
type decisions struct {
	missingFacts     []law.Key      // stored values to read first
	locks            []string       // keys of zones to lock first
	temporaryRefusal *law.Refusal   // for example while Records move to another zone
	steps            []content.Step // changes of the zone, by write
	step             *content.Step  // the change by all writes; nil for none
	held             bool           // a mass deletion: name servers get no changes of the zone
}

// proof has the compares of a transaction: it commits only if all facts read by the decisions are as they were.
type proof struct {
	cmps         []clientv3.Cmp
	comparedRevs map[string]int64 // by single key
	zones        []facts.ZoneSeen // read by the decisions
	readSets     []*facts.ReadSet // all values read, by write
}

// puts has a batch's operations in a transaction, perhaps shared with batches of other zones.
type puts struct {
	steps layout.JournalValue // changes of the zone's content, by group
	then  []clientv3.Op
	size  int // octets of then
	// offset is the index of then[0] in a shared transaction. zoneAt is the index in then of the Zone's put, or -1.
	offset, zoneAt int
	journalOctets  int // octets of the journal value
	stateOctets    int // octets of the former Records, put for the history
}

type itemUpdate struct {
	item *Item
	work law.Work
}

// outcome is etcd's answer to a transaction.
type outcome struct {
	r         *clientv3.TxnResponse
	stored    []*mvccpb.KeyValue // the compared keys after a conflict, unless shared
	err       error
	trip      time.Duration // from request to answer
	committed bool          // all compares held
	shared    bool          // the transaction had batches of several zones
	refused   bool          // by etcd, for its size or operations
}

func (b *batch) hasOutboxItem() bool {
	return slices.ContainsFunc(b.members, func(m *member) bool { return m.OutboxItem != nil })
}

const (
	// MaxBatchOctets keeps a transaction within etcd's 1.5 MiB, even with a long last group and an older Zone of 512
	// KiB.
	MaxBatchOctets = 512 << 10
	// A batch serves many callers, so no caller's deadline applies.
	batchTimeout = 20 * time.Second
	// maxEntry bounds a write's Record and journal step in a shared batch. Larger writes commit alone: no tenant's long
	// Record makes another's request too large.
	maxEntry = 64 << 10
	// After maxPasses common reads, each group reads its own facts.
	maxPasses = 4
	// maxReads bounds the reads for single writes, as the rest of the batch waits.
	maxReads = 8
	// maxJoined bounds the writes of a change set that shares a batch.
	maxJoined = 8
	// maxContradictions bounds the decisions of a change set while other writers change its zone.
	maxContradictions = 3
	// maxGuessed bounds the writes and prerequisites of a group decided on guesses.
	maxGuessed = 4
	maxRead    = 64
)

// gate bounds the shared transactions in flight. Batches that find no place are parked, until a place is free or
// another batch's transaction takes them along.
type gate struct {
	mu      sync.Mutex
	pending int
	parked  []*parked
}

type parked struct {
	b     *batch
	payer string
	// wakeup is closed when the batch gets a place, or after the transaction that took the batch along. Then sentAlong
	// is true, and outcome is the result, nil if the sender panicked.
	wakeup    chan struct{}
	sentAlong bool
	outcome   *outcome
	// findForeignKeys sets the fields below: compares and puts of keys that may belong to other zones.
	examined        bool
	foreignCompares []clientv3.Cmp
	foreignPuts     []string
}

type latencies struct {
	mu   sync.Mutex
	last [manyLatencies]time.Duration
	n    int
}

const manyLatencies = 256

func (t *latencies) note(trip time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.n%len(t.last)] = trip
	t.n++
}

// least returns the shortest recent latency, 0 if unknown.
func (t *latencies) least() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return 0
	}
	return slices.Min(t.last[:min(t.n, len(t.last))])
}

// Item is pending work of the outbox, as this server last read it: Mod is the revision of its key.
type Item struct {
	Work  law.Work
	Mod   int64
	Trace string
}
