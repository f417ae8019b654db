// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// wideOps are the operations of a transaction that an embedded etcd is told to take, which are tried at any;
// narrowOps are within the 128 that one takes by default.
const (
	wideOps   = 500
	narrowOps = 120
)

// Narrow takes in that so many operations are too many: probably etcd has its default, else fewer. It reports whether
// that is news.
func (mem *Memory) Narrow(operations int) bool {
	fewer := int64(narrowOps)
	if operations <= narrowOps {
		fewer = int64(operations) / 2
	}
	news := fewer < mem.Ops.Load()
	if news {
		mem.Ops.Store(fewer)
	}
	return news
}

// maxDoubt bounds the names that are read before they are believed: a write that is given up does not read those that
// it suspects.
const maxDoubt = 1 << 16

// Drop forgets everything a transaction of unknown outcome may have changed.
func (mem *Memory) Drop(s *Session) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	for _, z := range s.Zones {
		mem.Head(z.Key).Loaded = false
	}
	mem.Suspect(s)
}

// Suspect makes the next decision read the names that this one took from memory,
// since one of them may be what has changed. The caller holds Mu.
func (mem *Memory) Suspect(s *Session) {
	if len(mem.doubt) > maxDoubt { // a name that is wrongly believed costs one more try
		clear(mem.doubt)
	}
	for _, p := range s.Single {
		if p.Key.Kind == law.KindHolding {
			mem.doubt[p.Key] = true
		}
	}
}

// Stats count what happened; all fields only grow.
type Stats struct {
	// Transactions are those that were sent, and Conflicts those whose guards did not hold.
	Transactions, Conflicts atomic.Int64
	// Batches are transactions that decided several records (package commit).
	Batches atomic.Int64
	// Reads are transactions that only fetched facts.
	Reads atomic.Int64
	// CascadeSteps are records and zones decided anew by a cascade.
	CascadeSteps atomic.Int64
	// Tried are waiting records and zones that were decided without a write.
	Tried atomic.Int64
	// Panics are decisions that ended in a panic.
	Panics atomic.Int64
	// Uncovered are facts that were written beside their zone.
	Uncovered atomic.Int64
}

// Memory is a server's memory of the store, and reads what it lacks.
type Memory struct {
	Config
	ID      string // of this server among those on its store
	workers etcd.Workers
	Stats   Stats
	Ops     atomic.Int64 // that etcd takes in one transaction, as far as is known
	// Sessions are free ones, for the next decision that writes nothing (EarlyRecord).
	Sessions  sync.Pool
	decisions atomic.Int64 // for CheckCovered

	Mu    sync.Mutex // guards everything below
	index map[law.Key]*indexed
	heads map[string]*Head // by zone key
	// unsettled are the zones of the index against which cascades stand.
	unsettled map[law.Key]*law.Holding
	// stopped are the zones of the index that mass deletions hold back (S7.5).
	stopped map[law.Key]bool
	byUID   map[string]*Head
	// referring has the names of the index whose zones refer to a zone object.
	referring map[law.Ref]map[law.Key]bool
	// doubt has the names whose entry in the index misled a decision; they are read.
	doubt map[law.Key]bool
}

// Config is what a Memory works with. Fault is called at the named points, for tests. DropGuards leaves compares of a
// kind out, for the controls of race tests. CheckEvery: one of so many decisions is checked by CheckCovered.
type Config struct {
	Client                      *clientv3.Client
	Layout                      layout.Keys
	Zones, Records, Delegations objects.ObjectCodec
	Now                         func() time.Time
	OnFault                     func(point string) // ledger.Config.Fault
	DropGuards                  string
	CheckEvery                  int64
}

// New returns a Memory without entries; LoadNames reads the names of zones.
func New(config Config) *Memory {
	mem := &Memory{
		Config: config, ID: etcd.NewID(), workers: etcd.Workers{Free: make(chan func())},
		index: map[law.Key]*indexed{}, unsettled: map[law.Key]*law.Holding{}, stopped: map[law.Key]bool{}, heads: map[string]*Head{}, byUID: map[string]*Head{}, doubt: map[law.Key]bool{},
		referring: map[law.Ref]map[law.Key]bool{},
	}
	mem.Sessions.New = func() any { return mem.Session(true) }
	mem.Ops.Store(wideOps)
	return mem
}

// indexed is what stands under names/ at a revision.
type indexed struct {
	holding *law.Holding
	mod     int64
}

// Head is the memory of one zone: its object at a revision, and facts under its keys. These hold as long as the zone
// is at that revision, because each of them changes only together with the zone (I5).
type Head struct {
	Key string
	// Pinned says that other state hangs on the head, so it stays in memory.
	Pinned bool

	// The rest is guarded by Mu.
	Loaded bool
	Mod    int64 // 0: there is no such zone
	Object *v1alpha1.Zone
	Zone   *law.Zone
	Facts  map[law.Key]any
	used   time.Time // when one of them was learned last
	// gone is the last revision at which the zone was known not to stand.
	gone int64
}

// maxFacts bounds the facts of a head, MaxHeads the zones in memory, and Remembers the time that facts stay after the
// last one was noted.
const (
	Remembers = time.Minute
	maxFacts  = 1 << 17
	MaxHeads  = 1 << 14
)

// Fault is a named point at which tests kill or delay.
func (mem *Memory) Fault(point string) {
	if mem.OnFault != nil {
		mem.OnFault(point)
	}
}

// LoadNames reads names/ whole; it returns the revision it was read at.
func (mem *Memory) LoadNames(ctx context.Context) (int64, error) {
	prefix := mem.Layout.Room("names")
	key, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	var rev int64
	fresh := map[law.Key]*indexed{}
	for {
		r, err := mem.Client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(5000), clientv3.WithRev(rev))
		if err != nil {
			return 0, fmt.Errorf("loading the names of zones: %w", err)
		}
		if rev == 0 {
			rev = r.Header.Revision
		}
		for _, kv := range r.Kvs {
			k, h, err := mem.Layout.DecodeName(string(kv.Key), kv.Value)
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
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	mem.referring = map[law.Ref]map[law.Key]bool{}
	mem.index, mem.unsettled, mem.stopped = make(map[law.Key]*indexed, len(fresh)), map[law.Key]*law.Holding{}, map[law.Key]bool{}
	for k, x := range fresh {
		mem.indexName(k, x.holding, x.mod)
	}
	return rev, nil
}

// FollowNames keeps the index near the store. It may lag: every decision
// compares what it used, so a stale index costs a round trip, never truth.
func (mem *Memory) FollowNames(ctx context.Context, rev int64) {
	for ctx.Err() == nil {
		_ = etcd.Watch(ctx, mem.Client, mem.Layout.Room("names"), rev, func(events []*clientv3.Event) error {
			mem.Mu.Lock()
			defer mem.Mu.Unlock()
			for _, e := range events {
				view, fqdn, err := mem.Layout.ParseName("names", string(e.Kv.Key))
				if err != nil {
					continue
				}
				k := law.HoldingKey(view, fqdn)
				if have := mem.index[k]; have != nil && have.mod > e.Kv.ModRevision {
					continue
				}
				if e.Type == clientv3.EventTypeDelete {
					mem.dropName(k)
				} else if _, h, err := mem.Layout.DecodeName(string(e.Kv.Key), e.Kv.Value); err == nil {
					mem.indexName(k, h, e.Kv.ModRevision)
				}
			}
			return nil
		})
		for ctx.Err() == nil { // compacted: read it whole again
			again, err := mem.LoadNames(ctx)
			if err == nil {
				rev = again
				break
			}
			etcd.Pause(ctx, time.Second)
		}
	}
}

// Remember puts a name into the index. The caller holds Mu.
func (mem *Memory) Remember(k law.Key, h *law.Holding, mod int64) {
	if h == nil {
		mem.dropName(k)
		return
	}
	if have := mem.index[k]; have == nil || have.mod <= mod {
		mem.indexName(k, h, mod)
	}
}

// indexName and dropName change the index, and which of its zones have cascades against them. The caller holds Mu.
func (mem *Memory) indexName(k law.Key, h *law.Holding, mod int64) {
	mem.unrefer(k)
	mem.index[k] = &indexed{holding: h, mod: mod}
	if t := h.Target; t != nil {
		if mem.referring[*t] == nil {
			mem.referring[*t] = map[law.Key]bool{}
		}
		mem.referring[*t][k] = true
	}
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

// HeldZones is the number of zones that mass deletions hold back (S7.5).
func (mem *Memory) HeldZones() int {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	return len(mem.stopped)
}

// unrefer forgets to which zone object the zone at a name refers. The caller holds Mu.
func (mem *Memory) unrefer(k law.Key) {
	x := mem.index[k]
	if x == nil || x.holding.Target == nil {
		return
	}
	t := *x.holding.Target
	if delete(mem.referring[t], k); len(mem.referring[t]) == 0 {
		delete(mem.referring, t)
	}
}

// ZonesReferring returns the holdings in the index through which a scan goes because they refer to its target.
func (mem *Memory) ZonesReferring(scan *law.Scan) (found []*law.Holding) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	for k := range mem.referring[*scan.Target] {
		if h := mem.index[k].holding; scan.RefersFrom(k.View, k.Name, h) {
			found = append(found, h)
		}
	}
	return found
}

func (mem *Memory) dropName(k law.Key) {
	mem.unrefer(k)
	delete(mem.index, k)
	delete(mem.unsettled, k)
	delete(mem.stopped, k)
}

// Head returns the head of a zone key. The caller holds Mu.
func (mem *Memory) Head(key string) *Head {
	h := mem.heads[key]
	if h == nil {
		if len(mem.heads) >= MaxHeads {
			for _, old := range mem.heads { // any; it is read again when needed
				if !old.Pinned {
					mem.letGo(old)
					break
				}
			}
		}
		h = &Head{Key: key}
		mem.heads[key] = h
	}
	return h
}

// Unpin says that nothing hangs on a head any more. Where memory is full the head goes at once, because one that is
// not pinned is hard to find among pinned ones. The caller holds Memory.Mu.
func (mem *Memory) Unpin(h *Head) {
	if h.Pinned = false; len(mem.heads) >= MaxHeads {
		mem.letGo(h)
	}
}

// letGo forgets a head. The caller holds Memory.Mu.
func (mem *Memory) letGo(h *Head) {
	if h.Zone != nil && mem.byUID[h.Zone.UID] == h {
		delete(mem.byUID, h.Zone.UID)
	}
	if mem.heads[h.Key] == h {
		delete(mem.heads, h.Key)
	}
}

// StandAt moves the head to a revision of its zone. The caller holds Mu.
func (mem *Memory) StandAt(h *Head, object *v1alpha1.Zone, zone *law.Zone, mod int64) {
	if h.Zone != nil && mem.byUID[h.Zone.UID] == h {
		delete(mem.byUID, h.Zone.UID)
	}
	if zone != nil && zone.Served != objects.Served(object) {
		after := *zone // as decided, before its conditions were
		after.Served = !zone.Served
		zone = &after
	}
	h.Loaded, h.Mod, h.Object, h.Zone, h.Facts = true, mod, object, zone, nil
	if zone != nil {
		mem.byUID[zone.UID] = h
		if settled := serial.Serial(object.Status.SettledSerial); settled != zone.SettledSerial { // what was decided did not know it
			written := *zone
			written.SettledSerial = settled
			h.Zone = &written
		}
	}
}

// Absent notes that the zone did not stand at a revision. The caller holds Mu.
func (mem *Memory) Absent(h *Head, rev int64) {
	mem.StandAt(h, nil, nil, 0)
	h.gone = max(h.gone, rev)
}

// Note adds a fact of the zone, which holds at the revision of the head. The caller holds Memory.Mu.
func (h *Head) Note(k law.Key, v any) {
	h.used = time.Now()
	if h.Facts == nil || len(h.Facts) >= maxFacts {
		h.Facts = map[law.Key]any{}
	}
	h.Facts[k] = v
}

// Forget drops the facts of zones for which none was noted lately, so that a client that writes to many zones in turn
// does not fill the memory.
func (mem *Memory) Forget(since time.Time) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	for _, h := range mem.heads {
		if h.used.Before(since) {
			h.Facts = nil
		}
	}
}

// GuessEnclosing guesses the zone at or above a name from the index; nil: there is none.
func (mem *Memory) GuessEnclosing(view string, n name.Name) *law.Holding {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	for at, ok := n, true; ok; at, ok = at.Parent() {
		if x := mem.index[law.HoldingKey(view, at)]; x != nil {
			return x.holding
		}
	}
	return nil
}

// GuessZone returns the key of the zone that a Record probably belongs to, "" for none: the zone that it refers to,
// or the one that the index has above its name.
func (mem *Memory) GuessZone(r *law.Record) string {
	if r.ZoneRef != nil {
		return mem.Layout.Zone(r.ZoneRef.Namespace, r.ZoneRef.Name)
	}
	n, err := name.Parse(r.DomainName)
	if err != nil {
		return ""
	}
	if h := mem.GuessEnclosing(r.View, n); h != nil {
		return mem.Layout.Zone(h.Namespace, h.Name)
	}
	return ""
}

// HoldingOf is what is remembered under a name.
func (mem *Memory) HoldingOf(k law.Key) *law.Holding {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	if x := mem.index[k]; x != nil {
		return x.holding
	}
	return nil
}

// Holdings returns the holdings in the index for which want returns true. want must not wait.
func (mem *Memory) Holdings(want func(*law.Holding) bool) map[law.Key]*law.Holding {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	found := map[law.Key]*law.Holding{}
	for k, x := range mem.index {
		if want(x.holding) {
			found[k] = x.holding
		}
	}
	return found
}

// Unsettled returns the holdings of zones that cascades stand against.
func (mem *Memory) Unsettled() map[law.Key]*law.Holding {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	return maps.Clone(mem.unsettled)
}

// Rewritten notes that the object of a zone was rewritten from one revision to another, with its facts as they were.
func (mem *Memory) Rewritten(key string, expected int64, object *v1alpha1.Zone, mod int64) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	if h := mem.Head(key); h.Loaded && h.Mod == expected {
		h.Object, h.Mod = object, mod
	} else {
		h.Loaded = false
	}
}

// Moved notes what stood at the key of a zone at a revision.
func (mem *Memory) Moved(ctx context.Context, key string, kv *mvccpb.KeyValue, rev int64) error {
	mem.Mu.Lock()
	h := mem.Head(key)
	mem.Mu.Unlock()
	return mem.Reload(ctx, h, kv, rev)
}

// Unknown has a zone read before it is believed.
func (mem *Memory) Unknown(key string) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	mem.Head(key).Loaded = false
}

// Spawn has f called beside the caller.
func (mem *Memory) Spawn(f func()) { mem.workers.Run(mem.Client.Ctx(), f) }
