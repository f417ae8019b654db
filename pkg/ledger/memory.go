// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// wideOps are the operations of a transaction that an embedded etcd is told to take, which are tried at any; narrowOps are within the 128
// that one takes by default.
const (
	wideOps   = 500
	narrowOps = 120
)

// narrow takes in that so many operations are too many: probably etcd has its default, else fewer.
func (mem *memory) narrow(operations int) {
	fewer := int64(narrowOps)
	if operations <= narrowOps {
		fewer = int64(operations) / 2
	}
	if fewer < mem.ops.Load() {
		mem.ops.Store(fewer)
	}
}

// maxDoubt bounds the names that are read before they are believed: a write that is given up does not read those that it suspects.
const maxDoubt = 1 << 16

// drop forgets everything a transaction of unknown outcome may have changed.
func (mem *memory) drop(s *session) {
	mem.mu.Lock()
	defer mem.mu.Unlock()
	for _, z := range s.zones {
		mem.head(z.key).loaded = false
	}
	mem.suspect(s)
}

// suspect makes the next decision read the names that this one took from memory,
// since one of them may be what has changed. The caller holds mem.mu.
func (mem *memory) suspect(s *session) {
	if len(mem.doubt) > maxDoubt { // a name that is wrongly believed costs one more try
		clear(mem.doubt)
	}
	for _, p := range s.single {
		if p.key.Kind == law.KindHolding {
			mem.doubt[p.key] = true
		}
	}
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

// memory is what a server knows of the store, and how it reads the rest.
type memory struct {
	memoryConfig
	id      string // of this server among those on its store
	workers workers
	stats   Stats
	ops     atomic.Int64 // that etcd takes in one transaction, as far as is known
	// sessions of decisions that nothing comes of (EarlyRecord), for the next one.
	sessions sync.Pool

	mu    sync.Mutex // guards everything below
	index map[law.Key]*indexed
	heads map[string]*head // by zone key
	// unsettled are the zones of the index that cascades stand against.
	unsettled map[law.Key]*law.Holding
	// stopped are those that mass deletions hold back (S7.5).
	stopped map[law.Key]bool
	byUID   map[string]*head
	// doubt: names whose place in the index led a decision astray; they are read.
	doubt map[law.Key]bool
}

type memoryConfig struct {
	client                      *clientv3.Client
	layout                      layout.Keys
	zones, records, delegations ObjectCodec
	now                         func() time.Time
	onFault                     func(point string) // Config.Fault
	dropGuards                  string
}

func newMemory(config memoryConfig) *memory {
	mem := &memory{
		memoryConfig: config, id: newID(), workers: workers{free: make(chan func())},
		index: map[law.Key]*indexed{}, unsettled: map[law.Key]*law.Holding{}, stopped: map[law.Key]bool{}, heads: map[string]*head{}, byUID: map[string]*head{}, doubt: map[law.Key]bool{},
	}
	mem.sessions.New = func() any { return mem.session(true) }
	mem.ops.Store(wideOps)
	return mem
}

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
	// pinned: more than these facts hangs on it, so it stays.
	pinned bool

	// The rest is guarded by Ledger.mu.
	loaded bool
	mod    int64 // 0: there is no such zone
	object *v1alpha1.Zone
	zone   *law.Zone
	facts  map[law.Key]any
	used   time.Time // when one of them was learned last
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

func (mem *memory) fault(point string) {
	if mem.onFault != nil {
		mem.onFault(point)
	}
}

// loadNames reads names/ whole; it returns the revision it was read at.
func (mem *memory) loadNames(ctx context.Context) (int64, error) {
	prefix := mem.layout.Room("names")
	key, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	var rev int64
	fresh := map[law.Key]*indexed{}
	for {
		r, err := mem.client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(5000), clientv3.WithRev(rev))
		if err != nil {
			return 0, fmt.Errorf("ledger: loading the names of zones: %w", err)
		}
		if rev == 0 {
			rev = r.Header.Revision
		}
		for _, kv := range r.Kvs {
			k, h, err := mem.layout.DecodeName(string(kv.Key), kv.Value)
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
	mem.mu.Lock()
	defer mem.mu.Unlock()
	mem.index, mem.unsettled, mem.stopped = make(map[law.Key]*indexed, len(fresh)), map[law.Key]*law.Holding{}, map[law.Key]bool{}
	for k, x := range fresh {
		mem.name(k, x.holding, x.mod)
	}
	return rev, nil
}

// followNames keeps the index near the store. It may lag: every decision
// compares what it used, so a stale index costs a round trip, never truth.
func (mem *memory) followNames(ctx context.Context, rev int64) {
	for ctx.Err() == nil {
		_ = watch(ctx, mem.client, mem.layout.Room("names"), rev, func(events []*clientv3.Event) error {
			mem.mu.Lock()
			defer mem.mu.Unlock()
			for _, e := range events {
				view, fqdn, err := mem.layout.ParseName("names", string(e.Kv.Key))
				if err != nil {
					continue
				}
				k := law.HoldingKey(view, fqdn)
				if have := mem.index[k]; have != nil && have.mod > e.Kv.ModRevision {
					continue
				}
				if e.Type == clientv3.EventTypeDelete {
					mem.unname(k)
				} else if _, h, err := mem.layout.DecodeName(string(e.Kv.Key), e.Kv.Value); err == nil {
					mem.name(k, h, e.Kv.ModRevision)
				}
			}
			return nil
		})
		for ctx.Err() == nil { // compacted: read it whole again
			again, err := mem.loadNames(ctx)
			if err == nil {
				rev = again
				break
			}
			pause(ctx, time.Second)
		}
	}
}

// remember puts what is known of a name into the index. The caller holds mem.mu.
func (mem *memory) remember(k law.Key, h *law.Holding, mod int64) {
	if h == nil {
		mem.unname(k)
		return
	}
	if have := mem.index[k]; have == nil || have.mod <= mod {
		mem.name(k, h, mod)
	}
}

// name and unname change the index, and which zones in it cascades stand against. The caller holds mem.mu.
func (mem *memory) name(k law.Key, h *law.Holding, mod int64) {
	mem.index[k] = &indexed{holding: h, mod: mod}
	if len(h.Works) > 0 {
		mem.unsettled[k] = h
	} else {
		delete(mem.unsettled, k)
	}
	if h.Held != nil {
		mem.stopped[k] = true
	} else {
		delete(mem.stopped, k)
	}
}

// HeldZones is how many zones mass deletions hold back (S7.5).
func (mem *memory) HeldZones() int {
	mem.mu.Lock()
	defer mem.mu.Unlock()
	return len(mem.stopped)
}

func (mem *memory) unname(k law.Key) {
	delete(mem.index, k)
	delete(mem.unsettled, k)
	delete(mem.stopped, k)
}

// head returns the head of a zone key. The caller holds mem.mu.
func (mem *memory) head(key string) *head {
	h := mem.heads[key]
	if h == nil {
		if len(mem.heads) >= maxHeads {
			for k, old := range mem.heads { // any; it is read again when needed
				if !old.pinned {
					if old.zone != nil && mem.byUID[old.zone.UID] == old {
						delete(mem.byUID, old.zone.UID)
					}
					delete(mem.heads, k)
					break
				}
			}
		}
		h = &head{key: key}
		mem.heads[key] = h
	}
	return h
}

// set makes the head stand at a revision of its zone. The caller holds mem.mu.
func (mem *memory) set(h *head, object *v1alpha1.Zone, zone *law.Zone, mod int64) {
	if h.zone != nil && mem.byUID[h.zone.UID] == h {
		delete(mem.byUID, h.zone.UID)
	}
	if zone != nil && zone.Served != served(object) {
		after := *zone // as decided, before its conditions were
		after.Served = !zone.Served
		zone = &after
	}
	h.loaded, h.mod, h.object, h.zone, h.facts = true, mod, object, zone, nil
	if zone != nil {
		mem.byUID[zone.UID] = h
		if settled := serial.Serial(object.Status.SettledSerial); settled != zone.SettledSerial { // what was decided did not know it
			written := *zone
			written.SettledSerial = settled
			h.zone = &written
		}
	}
}

// absent makes the head know that its zone did not stand at a revision. The caller holds mem.mu.
func (mem *memory) absent(h *head, rev int64) {
	mem.set(h, nil, nil, 0)
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
func (mem *memory) forget(since time.Time) {
	mem.mu.Lock()
	defer mem.mu.Unlock()
	for _, h := range mem.heads {
		if h.used.Before(since) {
			h.facts = nil
		}
	}
}

// enclosing guesses the zone at or above a name from the index.
func (mem *memory) enclosing(view string, n name.Name) *law.Holding {
	mem.mu.Lock()
	defer mem.mu.Unlock()
	for at, ok := n, true; ok; at, ok = at.Parent() {
		if x := mem.index[law.HoldingKey(view, at)]; x != nil {
			return x.holding
		}
	}
	return nil
}

func (mem *memory) guessZone(r *law.Record) string {
	if r.ZoneRef != nil {
		return mem.layout.Zone(r.ZoneRef.Namespace, r.ZoneRef.Name)
	}
	n, err := name.Parse(r.DomainName)
	if err != nil {
		return ""
	}
	if h := mem.enclosing(r.View, n); h != nil {
		return mem.layout.Zone(h.Namespace, h.Name)
	}
	return ""
}

// holdingOf is what is remembered under a name.
func (mem *memory) holdingOf(k law.Key) *law.Holding {
	mem.mu.Lock()
	defer mem.mu.Unlock()
	if x := mem.index[k]; x != nil {
		return x.holding
	}
	return nil
}

// spawn has f called beside the caller.
func (mem *memory) spawn(f func()) { mem.workers.run(mem.client.Ctx(), f) }
