// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// Config of a Ledger.
type Config struct {
	// Client to etcd; required. The ledger does not close it.
	Client *clientv3.Client
	// Prefix of all keys, without a trailing slash; required.
	Prefix string
	// Zones and Records say how the objects stand in etcd; required. Where Records
	// are encrypted the internal keys are too.
	Zones, Records ObjectCodec
	// Delegations stand in etcd like this; what the zero value stands for: as Records do.
	Delegations ObjectCodec
	// Deliveries stand in etcd like this. What the zero value stands for: there are none,
	// and no journal is kept for them.
	Deliveries ObjectCodec
	// JournalSteps kept for each zone; 0: journalSteps. Where steps are longer than
	// longStep, fewer are: see journalOctets; where a provider has yet to hear of them, more.
	JournalSteps int
	// DefaultClass says whether a default class delivers the zones of a namespace
	// and a view that name none; nil: none does. Every write of content asks it, so it answers
	// from memory. Nothing rests on the answer but Ready, which the controller
	// corrects (S6.7); where it is not known yet it is true.
	DefaultClass func(namespace, view string) bool
	// Terminating says whether a namespace is being deleted, as far as this server has
	// heard; nil: none is. Cascades ask it of each object, so it answers from memory (S2.8).
	Terminating func(namespace string) bool
	// Released is told of each record that an earlier version took into a zone and that a migration let go, since it is
	// refused now; the record's condition Adopted says why. It may be told twice, and must not wait for anybody. Optional.
	Released func(*v1alpha1.Record)
	// Held is told of each zone that a mass deletion holds back from now on, by the server that wrote that (S7.5). nil: none is told.
	Held func(*v1alpha1.Zone)
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Fault is called at the named points of a write, for tests that kill or
	// delay there; nil: nothing.
	Fault func(point string)
	// dropGuards leaves out compares of a kind: the controls of the race tests,
	// which must then find the damage.
	dropGuards string
	// slowCommit is slowCommit, for tests.
	slowCommit time.Duration
	// journalOctets is journalOctets, for tests.
	journalOctets int
	// serialsEvery is serialsEvery and maxLeftBy maxLeftBy, for tests.
	serialsEvery time.Duration
	maxLeftBy    int
	// usageEvery is usageEvery, for tests.
	usageEvery time.Duration
	// migrations is migrations, olderEnd olderEnd and lockSeconds lockSeconds, for tests.
	migrations  []migration
	olderEnd    time.Duration
	lockSeconds int
}

// Validate reports every fault of the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Client == nil {
		errs = append(errs, errors.New("ledger: Client is required"))
	}
	if c.Prefix == "" {
		errs = append(errs, errors.New("ledger: Prefix is required"))
	}
	if c.Zones.Codec == nil || c.Records.Codec == nil {
		errs = append(errs, errors.New("ledger: the codecs of Zones and Records are required"))
	}
	return errors.Join(errs...)
}

// Ledger carries out what law decides. One is shared by all storage of a server.
type Ledger struct {
	config Config
	layout layout.Keys
	now    func() time.Time

	mu    sync.Mutex // guards everything below
	index map[law.Key]*indexed
	heads map[string]*head // by zone key
	// unsettled are the zones of the index that cascades stand against.
	unsettled map[law.Key]*law.Holding
	// stopped are those that mass deletions hold back (S7.5).
	stopped map[law.Key]bool
	byUID   map[string]*head
	works   map[string]bool // outbox items of this process, not yet taken up
	// doubt: names whose place in the index led a decision astray; they are read.
	doubt map[law.Key]bool

	outgrown atomic.Bool            // see FollowFormat
	clients  atomic.Int64           // writes of content that were asked for
	id       string                 // of this server among those on its store
	foreign  map[string]foreignWork // of the outbox, as the last sweep saw it
	lanes    lanes
	failed   failures
	workers  workers
	// sessions of decisions that nothing comes of (EarlyRecord), for the next one.
	sessions sync.Pool
	wake     chan struct{}
	ops      atomic.Int64 // that etcd takes in one transaction, as far as is known
	latency  latencies
	stats    Stats
	made     made
	usage    usage
}

// Stats count what happened; all fields only grow.
type Stats struct {
	// Transactions sent, and those whose guards did not hold.
	Transactions, Conflicts atomic.Int64
	// Batches are transactions that decided several records (batch.go).
	Batches atomic.Int64
	// Reads are transactions that only fetched facts.
	Reads atomic.Int64
	// CascadeSteps are records and zones decided anew by a cascade.
	CascadeSteps atomic.Int64
}

// Stats of this ledger.
func (l *Ledger) Stats() *Stats { return &l.stats }

// indexed is what stands under names/ at a revision.
type indexed struct {
	holding *law.Holding
	mod     int64
}

// head is what is known of one zone: its object at a revision, and facts under
// its keys that hold as long as the zone is at that revision, because each of
// them changes only together with the zone (I5).
type head struct {
	key string
	sem chan struct{} // the zone's writers of this process queue here

	// The rest is guarded by Ledger.mu.
	loaded bool
	mod    int64 // 0: there is no such zone
	object *v1alpha1.Zone
	zone   *law.Zone
	facts  map[law.Key]any
	used   time.Time // when one of them was learned last
	// queue of the writes that wait here, and whether a committer sees to it.
	queue      []*request
	committing bool
	// enough is closed when want of them wait; nil: nothing waits for that.
	enough chan struct{}
	want   int
	// rival is when another server was met at the zone, asked how often one has asked since for the next commit there, yield how long that is
	// left to it.
	rival time.Time
	asked int
	yield time.Duration
	// condensed are the octets of what was condensed of it, as trim found it last.
	condensed int
	// written are the steps of the zone's journal since it was trimmed last, octets theirs and long those of long ones since it
	// was weighed; trimming: it is being; trimmed: it was, by this process, which has left nothing before the key trimmedTo.
	written, octets, long int
	trimming, trimmed     bool
	trimmedTo             string
	// gone is the last revision at which the zone was known not to stand.
	gone int64
}

// maxFacts bounds what a head remembers, remembers how long after the last write; maxHeads
// how many zones are remembered.
const (
	remembers = time.Minute
	maxFacts  = 1 << 17
	maxHeads  = 1 << 14
)

// Open checks the stored format, writes it into an empty store, carries out the
// migrations that the store lacks, or waits for the server that does, and loads the
// names. Errors: ErrFormat, ErrSealed, and what etcd says.
func Open(ctx context.Context, config Config) (*Ledger, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.JournalSteps == 0 {
		config.JournalSteps = journalSteps
	}
	if config.slowCommit == 0 {
		config.slowCommit = slowCommit
	}
	if config.journalOctets == 0 {
		config.journalOctets = journalOctets
	}
	if config.migrations == nil {
		config.migrations = migrations
	}
	if config.serialsEvery == 0 {
		config.serialsEvery = serialsEvery
	}
	if config.usageEvery == 0 {
		config.usageEvery = usageEvery
	}
	if config.Delegations.Codec == nil {
		config.Delegations = config.Records
	}
	if config.maxLeftBy == 0 {
		config.maxLeftBy = maxLeftBy
	}
	if config.olderEnd == 0 {
		config.olderEnd = olderEnd
	}
	if config.lockSeconds == 0 {
		config.lockSeconds = lockSeconds
	}
	l := &Ledger{
		config: config, layout: layout.Keys{Prefix: config.Prefix}, now: config.Now,
		index: map[law.Key]*indexed{}, unsettled: map[law.Key]*law.Holding{}, stopped: map[law.Key]bool{}, heads: map[string]*head{}, byUID: map[string]*head{}, works: map[string]bool{}, doubt: map[law.Key]bool{},
		id: newID(), wake: make(chan struct{}, 1), lanes: lanes{busy: map[string]bool{}, most: maxLanes, slice: laneSlice}, workers: workers{free: make(chan func())},
	}
	l.sessions.New = func() any { return l.session(true) }
	l.ops.Store(wideOps)
	if l.now == nil {
		l.now = time.Now
	}
	s := newStore(config.Client, config.Prefix, config.Records.Transformer, config.migrations)
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	l.config.Client = clientv3.NewCtxClient(client.Ctx())
	l.config.Client.KV, l.config.Client.Watcher = fenced{client.KV, &l.outgrown}, client.Watcher
	if err := l.migrate(ctx, s); err != nil {
		return nil, err
	}
	rev, err := l.loadNames(ctx)
	if err != nil {
		return nil, err
	}
	go l.followNames(client.Ctx(), rev)
	go l.followAsked(client.Ctx(), rev)
	return l, nil
}

// Client sees the internal keys as Layout writes them, sealed or not, and versions for revisions. It lives as
// long as the one in Config.
func (l *Ledger) Client() *clientv3.Client { return l.config.Client }

// Layout of the keys.
func (l *Ledger) Layout() layout.Keys { return l.layout }

func (l *Ledger) fault(point string) {
	if l.config.Fault != nil {
		l.config.Fault(point)
	}
}

func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// loadNames reads names/ whole; it returns the revision it was read at.
func (l *Ledger) loadNames(ctx context.Context) (int64, error) {
	prefix := l.layout.Room("names")
	key, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	var rev int64
	fresh := map[law.Key]*indexed{}
	for {
		r, err := l.config.Client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(5000), clientv3.WithRev(rev))
		if err != nil {
			return 0, fmt.Errorf("ledger: loading the names of zones: %w", err)
		}
		if rev == 0 {
			rev = r.Header.Revision
		}
		for _, kv := range r.Kvs {
			k, h, err := l.decodeName(kv)
			if err != nil {
				return 0, err
			}
			fresh[k] = &indexed{holding: h, mod: kv.ModRevision}
		}
		if !r.More {
			break
		}
		key = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.index, l.unsettled, l.stopped = make(map[law.Key]*indexed, len(fresh)), map[law.Key]*law.Holding{}, map[law.Key]bool{}
	for k, x := range fresh {
		l.name(k, x.holding, x.mod)
	}
	return rev, nil
}

func (l *Ledger) decodeName(kv *mvccpb.KeyValue) (law.Key, *law.Holding, error) {
	view, fqdn, err := l.layout.ParseName("names", string(kv.Key))
	if err != nil {
		return law.Key{}, nil, err
	}
	k := law.HoldingKey(view, fqdn)
	v, err := layout.DecodeFact(k, kv.Value)
	if err != nil {
		return law.Key{}, nil, unreadable(string(kv.Key), err)
	}
	return k, v.(*law.Holding), nil
}

// followNames keeps the index near the store. It may lag: every decision
// compares what it used, so a stale index costs a round trip, never truth.
func (l *Ledger) followNames(ctx context.Context, rev int64) {
	for ctx.Err() == nil {
		_ = l.watch(ctx, l.layout.Room("names"), rev, func(events []*clientv3.Event) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, e := range events {
				view, fqdn, err := l.layout.ParseName("names", string(e.Kv.Key))
				if err != nil {
					continue
				}
				k := law.HoldingKey(view, fqdn)
				if have := l.index[k]; have != nil && have.mod > e.Kv.ModRevision {
					continue
				}
				if e.Type == clientv3.EventTypeDelete {
					l.unname(k)
				} else if _, h, err := l.decodeName(e.Kv); err == nil {
					l.name(k, h, e.Kv.ModRevision)
				}
			}
			return nil
		})
		for ctx.Err() == nil { // compacted: read it whole again
			again, err := l.loadNames(ctx)
			if err == nil {
				rev = again
				break
			}
			pause(ctx, time.Second)
		}
	}
}

// remember puts what is known of a name into the index. The caller holds l.mu.
func (l *Ledger) remember(k law.Key, h *law.Holding, mod int64) {
	if h == nil {
		l.unname(k)
		return
	}
	if have := l.index[k]; have == nil || have.mod <= mod {
		l.name(k, h, mod)
	}
}

// name and unname change the index, and which zones in it cascades stand against. The caller holds l.mu.
func (l *Ledger) name(k law.Key, h *law.Holding, mod int64) {
	l.index[k] = &indexed{holding: h, mod: mod}
	if len(h.Works) > 0 {
		l.unsettled[k] = h
	} else {
		delete(l.unsettled, k)
	}
	if h.Held != nil {
		l.stopped[k] = true
	} else {
		delete(l.stopped, k)
	}
}

// HeldZones is how many zones mass deletions hold back (S7.5).
func (l *Ledger) HeldZones() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.stopped)
}

func (l *Ledger) unname(k law.Key) {
	delete(l.index, k)
	delete(l.unsettled, k)
	delete(l.stopped, k)
}

// head returns the head of a zone key. The caller holds l.mu.
func (l *Ledger) head(key string) *head {
	h := l.heads[key]
	if h == nil {
		if len(l.heads) >= maxHeads {
			for k, old := range l.heads { // any that is not in use; it is read again when needed
				if len(old.sem) == 0 && len(old.queue) == 0 {
					if old.zone != nil && l.byUID[old.zone.UID] == old {
						delete(l.byUID, old.zone.UID)
					}
					delete(l.heads, k)
					break
				}
			}
		}
		h = &head{key: key, sem: make(chan struct{}, 1)}
		l.heads[key] = h
	}
	return h
}

// set makes the head stand at a revision of its zone. The caller holds l.mu.
func (l *Ledger) set(h *head, object *v1alpha1.Zone, zone *law.Zone, mod int64) {
	if h.zone != nil && l.byUID[h.zone.UID] == h {
		delete(l.byUID, h.zone.UID)
	}
	if zone != nil && zone.Served != served(object) {
		after := *zone // as decided, before its conditions were
		after.Served = !zone.Served
		zone = &after
	}
	h.loaded, h.mod, h.object, h.zone, h.facts = true, mod, object, zone, nil
	if zone != nil {
		l.byUID[zone.UID] = h
		if settled := serial.Serial(object.Status.SettledSerial); settled != zone.SettledSerial { // what was decided did not know it
			written := *zone
			written.SettledSerial = settled
			h.zone = &written
		}
	}
}

// absent makes the head know that its zone did not stand at a revision. The caller holds l.mu.
func (l *Ledger) absent(h *head, rev int64) {
	l.set(h, nil, nil, 0)
	h.gone = max(h.gone, rev)
}

func (h *head) know(k law.Key, v any) {
	h.used = time.Now()
	if h.facts == nil || len(h.facts) >= maxFacts {
		h.facts = map[law.Key]any{}
	}
	h.facts[k] = v
}

// forget lets go of the facts of zones that nobody has written since: who writes to many
// zones in turn does not fill the memory.
func (l *Ledger) forget(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.heads {
		if h.used.Before(since) {
			h.facts = nil
		}
	}
}

// enclosing guesses the zone at or above a name from the index.
func (l *Ledger) enclosing(view string, n name.Name) *law.Holding {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, ok := n, true; ok; at, ok = at.Parent() {
		if x := l.index[law.HoldingKey(view, at)]; x != nil {
			return x.holding
		}
	}
	return nil
}
