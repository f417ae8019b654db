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
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// wideOps, the first value of Memory.Ops, is below the embedded etcd's limit of 512 operations. narrowOps is below
// etcd's default limit of 128.
const (
	wideOps   = 500
	narrowOps = 120
)

// LowerOps lowers Ops, the assumed limit of operations in an etcd transaction, after etcd refused a transaction with
// the given number of operations. It reports whether Ops was higher.
func (mem *Memory) LowerOps(operations int) bool {
	fewer := int64(narrowOps)
	if operations <= narrowOps { // even etcd's default limit is too high
		fewer = int64(operations) / 2
	}
	lowered := fewer < mem.Ops.Load()
	if lowered {
		mem.Ops.Store(fewer)
	}
	return lowered
}

const maxStaleNames = 1 << 16

// DropFacts invalidates the zones and names read by read sets whose transaction has an unknown outcome.
func (mem *Memory) DropFacts(readSets ...*ReadSet) {
	mem.Mu.Lock()
	for _, s := range readSets {
		for _, z := range s.Zones {
			mem.CachedZone(z.Key).Loaded = false
		}
	}
	mem.Mu.Unlock()
	mem.MarkNamesStale(readSets...)
}

// MarkNamesStale makes the next decision read from etcd the zone names that the read sets have used, since the index in
// memory may be outdated.
func (mem *Memory) MarkNamesStale(readSets ...*ReadSet) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	if len(mem.staleNames) > maxStaleNames {
		clear(mem.staleNames) // a forgotten name costs a retry
	}
	for _, s := range readSets {
		for _, p := range s.Proofs {
			if p.Key.Kind == law.KindHolding {
				mem.staleNames[p.Key] = true
			}
		}
	}
}

// Stats counts events since the process started, for metrics.
type Stats struct {
	Transactions   atomic.Int64 // sent, with writes
	Conflicts      atomic.Int64 // transactions failed because another write came first
	Batches        atomic.Int64 // transactions with several writes
	Reads          atomic.Int64 // of several keys at once
	CascadeSteps   atomic.Int64 // objects decided again by cascades
	Trials         atomic.Int64 // attempts to adopt waiting records and zones
	Panics         atomic.Int64 // recovered
	UncoveredFacts atomic.Int64 // cached values changed without their Zone, by a fault of this program
}

// Memory caches zones for the decisions about writes, to save reads of etcd: the names of all zones (the index), and
// recently used Zones with their facts (stored values).
type Memory struct {
	Config
	ID        string // of this server
	workers   etcd.Workers
	Stats     Stats
	Ops       atomic.Int64 // limit of operations in an etcd transaction (LowerOps)
	ReadSets  sync.Pool
	decisions atomic.Int64 // counted for CheckCovered

	Mu             sync.Mutex                   // guards everything below
	index          map[law.Key]*indexed         // by name of the zone
	cachedZones    map[string]*CachedZone       // by etcd key of the Zone
	cascadingZones map[law.Key]*law.Holding     // with a cascade in progress
	heldZones      map[law.Key]bool             // held back after a mass deletion
	byUID          map[string]*CachedZone       // by UID of the Zone
	zonesByTarget  map[law.Ref]map[law.Key]bool // by the Zone that their zoneRef names
	staleNames     map[law.Key]bool             // perhaps wrong in the index, so the next decision reads etcd
}

type Config struct {
	Client                      *clientv3.Client
	Layout                      layout.Keys
	Zones, Records, Delegations objects.ObjectCodec
	Now                         func() time.Time
	// OnFault, for tests, is called at named points of a write.
	OnFault func(point string)
	// DropCompares, for tests, omits a kind of compares from transactions.
	DropCompares string
	// CheckEvery is the number of decisions between two checks of the cache against etcd (CheckCovered). 0 means no
	// checks, or a hundred decisions at -v=5.
	CheckEvery int64
}

// New returns an empty Memory. Call LoadNames next.
func New(config Config) *Memory {
	mem := &Memory{
		Config: config, ID: etcd.NewID(), workers: etcd.Workers{Jobs: make(chan func())},
		index: map[law.Key]*indexed{}, cascadingZones: map[law.Key]*law.Holding{}, heldZones: map[law.Key]bool{},
		cachedZones: map[string]*CachedZone{}, byUID: map[string]*CachedZone{}, staleNames: map[law.Key]bool{},
		zonesByTarget: map[law.Ref]map[law.Key]bool{},
	}
	mem.ReadSets.New = func() any { return mem.ReadSet(true) }
	mem.Ops.Store(wideOps)
	return mem
}

type indexed struct {
	holding *law.Holding
	mod     int64
}

// CachedZone caches a Zone object at a revision, and the facts (stored values) read by decisions about its Records.
// Each write of a fact also writes the Zone, so the facts are valid as long as the Zone has this revision.
type CachedZone struct {
	Key    string // of the Zone in etcd
	Pinned bool   // not evicted while the queue of the zone's writes uses the CachedZone

	// Memory.Mu guards the fields below.
	Loaded      bool            // if false, the Zone is read before its next use
	Mod         int64           // revision of the Zone, 0 if absent
	Object      *v1alpha1.Zone  // nil if absent
	Zone        *law.Zone       // Object in the form of decisions
	Facts       map[law.Key]any // nil for a key absent in etcd
	factAddedAt time.Time       // time of the last addition to Facts
	absentRev   int64           // the last revision known to lack the Zone; older reads are ignored
}

// maxFacts bounds a zone's cached facts, MaxHeads the cached zones. Facts stay for Remembers after the last addition.
const (
	Remembers      = time.Minute
	maxFacts       = 1 << 17
	MaxCachedZones = 1 << 14
)

func (mem *Memory) Fault(point string) {
	if mem.OnFault != nil {
		mem.OnFault(point)
	}
}

// LoadNames loads the index of zone names, and returns the revision of the read.
func (mem *Memory) LoadNames(ctx context.Context) (int64, error) {
	// Read the names in pages of 5,000, all at the revision of the first page.
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

	// Replace the index. Decisions go on with the former index until now.
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	mem.zonesByTarget = map[law.Ref]map[law.Key]bool{}
	mem.index, mem.cascadingZones, mem.heldZones = make(map[law.Key]*indexed, len(fresh)), map[law.Key]*law.Holding{}, map[law.Key]bool{}
	for k, x := range fresh {
		mem.indexName(k, x.holding, x.mod)
	}
	return rev, nil
}

// FollowNames keeps the index of zone names up to date until ctx ends, by a watch for changes after revision rev.
func (mem *Memory) FollowNames(ctx context.Context, rev int64) {
	for ctx.Err() == nil {
		_ = etcd.Watch(ctx, mem.Client, mem.Layout.Room("names"), rev, func(events []*clientv3.Event) error {
			mem.Mu.Lock()
			defer mem.Mu.Unlock()
			for _, e := range events {
				mem.noteNameEvent(e)
			}
			return nil
		})

		// The watch ended, perhaps by a compaction: load all names again.
		for ctx.Err() == nil {
			loadedRev, err := mem.LoadNames(ctx)
			if err == nil {
				// The next watch begins behind this read.
				rev = loadedRev
				break
			}
			klog.FromContext(ctx).Error(err, "The names of zones cannot be read; decisions compare former ones until they can")
			etcd.Pause(ctx, time.Second)
		}
	}
}

// noteNameEvent updates the index with a change of a zone's name. The caller holds Mu.
func (mem *Memory) noteNameEvent(e *clientv3.Event) {
	view, fqdn, err := mem.Layout.ParseName("names", string(e.Kv.Key))
	if err != nil {
		return // fsck reports damage
	}
	k := law.HoldingKey(view, fqdn)
	if e.Type == clientv3.EventTypeDelete {
		mem.UpdateName(k, nil, e.Kv.ModRevision)
		return
	}
	_, h, err := mem.Layout.DecodeName(string(e.Kv.Key), e.Kv.Value)
	if err == nil {
		mem.UpdateName(k, h, e.Kv.ModRevision)
	}
}

// UpdateName indexes a name's holding (state of the zone) since revision mod. A nil holding removes the name. A newer
// entry stays. The caller holds Mu.
func (mem *Memory) UpdateName(k law.Key, h *law.Holding, mod int64) {
	switch have := mem.index[k]; {
	case have != nil && have.mod > mod:
	case h == nil:
		mem.dropName(k)
	default: // even if the name was removed since, which costs a retry
		mem.indexName(k, h, mod)
	}
}

// indexName adds a name to the index, and to the lists of zones with a reference, a cascade or a hold, in place of the
// former entry. The caller holds Mu.
func (mem *Memory) indexName(k law.Key, h *law.Holding, mod int64) {
	mem.dropName(k)
	mem.index[k] = &indexed{holding: h, mod: mod}
	if t := h.Target; t != nil {
		if mem.zonesByTarget[*t] == nil {
			mem.zonesByTarget[*t] = map[law.Key]bool{}
		}
		mem.zonesByTarget[*t][k] = true
	}
	if len(h.Works) > 0 {
		mem.cascadingZones[k] = h
	}
	if h.Held != nil {
		mem.heldZones[k] = true
	}
}

func (mem *Memory) HeldZones() int {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	return len(mem.heldZones)
}

// The caller holds Mu.
func (mem *Memory) dropReference(k law.Key) {
	x := mem.index[k]
	if x == nil || x.holding.Target == nil {
		return
	}
	t := *x.holding.Target
	if delete(mem.zonesByTarget[t], k); len(mem.zonesByTarget[t]) == 0 {
		delete(mem.zonesByTarget, t)
	}
}

func (mem *Memory) ZonesReferring(scan *law.Scan) (found []*law.Holding) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	for k := range mem.zonesByTarget[*scan.Target] {
		if h := mem.index[k].holding; scan.RefersFrom(k.View, k.Name, h) {
			found = append(found, h)
		}
	}
	return found
}

func (mem *Memory) dropName(k law.Key) {
	mem.dropReference(k)
	delete(mem.index, k)
	delete(mem.cascadingZones, k)
	delete(mem.heldZones, k)
}

// CachedZone returns the cache entry of a Zone's key in etcd. A new entry is not Loaded, and evicts another from a full
// cache. The caller holds Mu.
func (mem *Memory) CachedZone(key string) *CachedZone {
	h := mem.cachedZones[key]
	if h == nil {
		if len(mem.cachedZones) >= MaxCachedZones {
			// Map order is random, so any zone that no queue uses may go.
			for _, old := range mem.cachedZones {
				if !old.Pinned {
					mem.evictCachedZone(old)
					break
				}
			}
		}
		h = &CachedZone{Key: key}
		mem.cachedZones[key] = h
	}
	return h
}

// Unpin permits the eviction of h, at once in a full cache, because unpinned entries are hard to find. The caller holds
// Mu.
func (mem *Memory) Unpin(h *CachedZone) {
	if h.Pinned = false; len(mem.cachedZones) >= MaxCachedZones {
		mem.evictCachedZone(h)
	}
}

// The caller holds Mu.
func (mem *Memory) evictCachedZone(h *CachedZone) {
	if h.Zone != nil && mem.byUID[h.Zone.UID] == h {
		delete(mem.byUID, h.Zone.UID)
	}
	if mem.cachedZones[h.Key] == h {
		delete(mem.cachedZones, h.Key)
	}
}

// SetHead caches the object of a Zone at revision mod, and zone, the object's form for decisions. Both are nil for an
// absent Zone. SetHead drops h.Facts, which were read at the former revision. The caller holds Mu.
func (mem *Memory) SetCachedZone(h *CachedZone, object *v1alpha1.Zone, zone *law.Zone, mod int64) {
	if h.Zone != nil && mem.byUID[h.Zone.UID] == h {
		// A Zone deleted and created again has another UID under the same key.
		delete(mem.byUID, h.Zone.UID)
	}

	h.Loaded, h.Mod, h.Object, h.Zone, h.Facts = true, mod, object, nil, nil
	if zone == nil {
		return
	}
	// Served and SettledSerial are set after the decision, so take them from the object. Others read zone, so change a
	// copy.
	corrected := *zone
	corrected.Served, corrected.SettledSerial = lawform.Served(object), serial.Serial(object.Status.SettledSerial)
	h.Zone, mem.byUID[zone.UID] = &corrected, h
}

// CommitHead caches a Zone written at revision mod, with the facts (stored values) that the transaction wrote (overlay
// o) or compared (read sets). A pending zone keeps no facts, because its keys are purged. The caller holds Mu.
func (mem *Memory) CommitCachedZone(h *CachedZone, o *Overlay, object *v1alpha1.Zone, mod int64, readSets []*ReadSet) {
	// 1. Facts of the former revision stay, since nothing else has changed them.
	facts := h.Facts
	isOtherRevision := h.Mod != o.Mod && h.Mod != mod
	if isOtherRevision || o.Zone.Pending {
		facts = nil
	}
	mem.SetCachedZone(h, object, o.Zone, mod)
	h.Facts = facts

	// 2. Add facts that the transaction has compared, then those that it has written.
	for _, s := range readSets {
		h.cacheCompared(s)
	}
	for k, v := range o.Facts {
		h.cacheWritten(k, v)
	}
}

func (h *CachedZone) cacheCompared(s *ReadSet) {
	for _, p := range s.Proofs {
		if v, _ := s.Seen.Get(p.Key); p.Key.Zone == h.Zone.UID && s.Seen.IsUsed(p.Key) {
			h.CacheFact(p.Key, v)
		}
	}
}

// cacheWritten caches a fact that a transaction has written, unless the fact is of another zone than h's.
func (h *CachedZone) cacheWritten(k law.Key, v any) {
	if k.Zone != h.Zone.UID {
		return
	}
	if k.Kind != law.KindMember { // no decision reads members
		h.CacheFact(k, v)
	}
	if o, _ := v.(*law.Owner); k.Kind == law.KindOwner && !o.HasData() {
		// Data below www.example.org. may have been this data, so ask etcd again for each name above.
		for up, ok := k.Owner, true; ok; up, ok = up.Parent() {
			delete(h.Facts, law.DataBelowKey(k.Zone, up))
		}
	}
}

// The caller of SetHeadAbsent holds Mu.
func (mem *Memory) SetCachedZoneAbsent(h *CachedZone, rev int64) {
	mem.SetCachedZone(h, nil, nil, 0)
	h.absentRev = max(h.absentRev, rev)
}

// ZoneAt returns the zone stored under a key, from memory or etcd, or nil if absent.
func (mem *Memory) ZoneAt(ctx context.Context, key string) (*law.Zone, error) {
	mem.Mu.Lock()
	h := mem.CachedZone(key)
	loaded := h.Loaded
	mem.Mu.Unlock()
	if !loaded {
		if err := mem.ReadCachedZone(ctx, h); err != nil {
			return nil, err
		}
	}
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	return h.Zone, nil
}

// ReadHead reads the Zone of h from etcd into memory.
func (mem *Memory) ReadCachedZone(ctx context.Context, h *CachedZone) error {
	kv, rev, err := etcd.ReadKey(ctx, mem.Client, h.Key)
	if err != nil {
		return err
	}
	return mem.Reload(ctx, h, kv, rev)
}

// Reload updates a cached Zone from kv, the value read at revision rev, nil if absent. A newer entry stays, so a slow
// read undoes no later write.
func (mem *Memory) Reload(ctx context.Context, h *CachedZone, kv *mvccpb.KeyValue, rev int64) error {
	mem.Mu.Lock()
	current := h.isCurrent(kv, rev)
	if kv == nil && !current {
		mem.SetCachedZoneAbsent(h, rev)
	}
	mem.Mu.Unlock()
	if current || kv == nil {
		return nil
	}

	// Decode without the lock. Meanwhile, another read may update the entry.
	object := &v1alpha1.Zone{}
	if err := mem.Zones.Decode(ctx, h.Key, kv.Value, kv.ModRevision, object); err != nil {
		return fmt.Errorf("%s cannot be read: %w", h.Key, err)
	}
	zone, err := lawform.Zone(object)
	if err != nil {
		return err
	}

	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	if !h.isCurrent(kv, rev) {
		mem.SetCachedZone(h, object, zone, kv.ModRevision)
	}
	return nil
}

// isCurrent reports whether the entry is as new as kv, read at revision rev (nil if absent), or newer. The caller holds
// Mu.
func (h *CachedZone) isCurrent(kv *mvccpb.KeyValue, rev int64) bool {
	switch {
	case kv != nil && kv.ModRevision <= h.absentRev:
		// The Zone was deleted after this read.
		return true
	case !h.Loaded:
		return false
	case kv == nil:
		return h.Mod > rev
	}
	return h.Mod >= kv.ModRevision
}

// CacheFact caches a fact valid at the cached zone's revision. The caller holds Memory.Mu.
func (h *CachedZone) CacheFact(k law.Key, v any) {
	h.factAddedAt = time.Now()
	if h.Facts == nil || len(h.Facts) >= maxFacts {
		// A zone with more names than that begins anew: decisions read the facts that they need.
		h.Facts = map[law.Key]any{}
	}
	h.Facts[k] = v
}

// DropOldFacts drops the facts of zones without a new fact since the given time. Otherwise a client of many zones would
// fill the memory.
func (mem *Memory) DropOldFacts(since time.Time) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	for _, h := range mem.cachedZones {
		if h.factAddedAt.Before(since) {
			h.Facts = nil
		}
	}
}

// GuessEnclosing returns the closest indexed zone at or above a name, or nil.
func (mem *Memory) GuessEnclosing(view string, n name.Name) *law.Holding {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	// From the longest name up: for a.apps.example.org. the zone apps.example.org. precedes example.org.
	for at, ok := n, true; ok; at, ok = at.Parent() {
		if x := mem.index[law.HoldingKey(view, at)]; x != nil {
			return x.holding
		}
	}
	return nil
}

// GuessZone returns the key of a Record's probable Zone: the zoneRef's, or else the closest indexed zone's, or "".
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

func (mem *Memory) HoldingOf(k law.Key) *law.Holding {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	if x := mem.index[k]; x != nil {
		return x.holding
	}
	return nil
}

// Holdings returns the indexed holdings (states of zones) that the function want selects. The function runs under Mu
// and must not block.
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

func (mem *Memory) CascadingZones() map[law.Key]*law.Holding {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	return maps.Clone(mem.cascadingZones)
}

// AdvanceHead moves a cache entry from revision expected to mod, after a write that changed no fact. An entry at
// another revision is read before its next use.
func (mem *Memory) AdvanceHead(key string, expected int64, object *v1alpha1.Zone, mod int64) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	if h := mem.CachedZone(key); h.Loaded && h.Mod == expected {
		// Only the status has changed, so the facts stay.
		h.Object, h.Mod = object, mod
	} else {
		h.Loaded = false
	}
}

func (mem *Memory) LoadHead(ctx context.Context, key string, kv *mvccpb.KeyValue, rev int64) error {
	mem.Mu.Lock()
	h := mem.CachedZone(key)
	mem.Mu.Unlock()
	return mem.Reload(ctx, h, kv, rev)
}

func (mem *Memory) InvalidateCachedZone(key string) {
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	mem.CachedZone(key).Loaded = false
}

func (mem *Memory) Spawn(f func()) { mem.workers.Run(mem.Client.Ctx(), f) }
