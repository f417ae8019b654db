// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// leastCompares fits into etcd's default limit of 128 operations, beside the object, its zone and the journal.
const leastCompares = 90

func (mem *Memory) MaxCompares() int {
	return max(leastCompares, int(mem.Ops.Load())*leastCompares/narrowOps)
}

// ReadSet collects the facts (stored values) read by a decision, and the revisions of their keys. The write's
// transaction compares the revisions, and so fails if any fact has changed since.
type ReadSet struct {
	mem         *Memory
	Seen        *law.Facts      // given to the decision
	Proofs      []proof         // keys compared singly; their Zone's revision proves the other facts
	proofByKey  map[law.Key]int // index into Proofs, nil while there are few
	rangeProofs []proof         // ranges in which any later write fails the transaction
	deepProofs  []proof         // ranges that replace the compares of names with more labels than Depth
	Zones       []ZoneSeen      // read by the decision
	// Guess assumes unknown keys to be absent, without a read. This saves time for new names, and the transaction
	// compares the guess. FirstTry permits guessesAbsent until a guess has failed.
	Guess, FirstTry bool
	Depth           int // most labels of a name compared singly
	// Overlay holds the changes by earlier decisions in the transaction: NoBatch for none.
	Overlay *Overlay
	// EmptyRanges, if not nil, makes ReadFacts only note whether ranges are empty.
	EmptyRanges map[law.Key]Emptiness
}

// Emptiness reports whether a range is empty, and the revision of the proving Zone, or 0.
type Emptiness struct {
	empty bool
	mod   int64
}

// Overlay is the state of a zone after the earlier writes of a batch. A batch commits in a single transaction, so its
// later decisions must see changes not yet in etcd.
type Overlay struct {
	Key   string         // of the Zone; "" for no zone
	Base  *v1alpha1.Zone // stored, at revision Mod
	Mod   int64
	Zone  *law.Zone       // after the earlier writes
	Facts map[law.Key]any // changed values of the zone
	Puts  etcd.Puts       // other changed keys
	// CachedFacts holds values outside any zone, read by earlier batches. They may be stale, so each write using one
	// compares the revision.
	CachedFacts map[law.Key]ProvenFact
	// EmptyRanges notes which ranges of keys are empty, read at once for all writes of the batch.
	EmptyRanges map[law.Key]Emptiness
}

// NoBatch is the Overlay of a decision outside any batch. Nothing writes to it.
var NoBatch = &Overlay{}

func (o *Overlay) SetBase(key string, object *v1alpha1.Zone, mod int64) {
	o.Key, o.Base, o.Mod = key, object, mod
}

type ProvenFact struct {
	value any
	rev   int64
}

type proof struct {
	Key law.Key
	rev int64
}

// ZoneSeen is a Zone read by a decision, at its revision. If absent, Object is nil and Mod is 0.
type ZoneSeen struct {
	Key    string
	Mod    int64
	Object *v1alpha1.Zone
}

func (mem *Memory) ReadSet(guess bool) *ReadSet {
	s := &ReadSet{mem: mem, Guess: guess, Depth: deepName, Overlay: NoBatch, Seen: law.NewFacts(), Proofs: make([]proof, 0, 8),
		Zones: make([]ZoneSeen, 0, 2)}
	s.Seen.LoadCached = s.findInMemory
	return s
}

func (s *ReadSet) Reset() {
	s.Seen.Reset()
	clear(s.Proofs)
	clear(s.Zones)
	s.Proofs, s.Zones = s.Proofs[:0], s.Zones[:0]
	s.proofByKey, s.rangeProofs, s.deepProofs = nil, nil, nil
}

// proveFact notes the revision of a key that the transaction has to compare, 0 if absent. A later read replaces the
// revision.
func (s *ReadSet) proveFact(k law.Key, rev int64) {
	if i := s.proofIndex(k); i >= 0 {
		s.Proofs[i].rev = rev
		return
	}
	s.Proofs = append(s.Proofs, proof{k, rev})
	switch n := len(s.Proofs); {
	case s.proofByKey != nil:
		s.proofByKey[k] = n - 1
	case n > law.FewKeys:
		// Most decisions read few keys, and a scan is faster than a map.
		s.proofByKey = make(map[law.Key]int, 4*n)
		for i := range s.Proofs {
			s.proofByKey[s.Proofs[i].Key] = i
		}
	}
}

func (s *ReadSet) proofIndex(k law.Key) int {
	if s.proofByKey != nil {
		if i, ok := s.proofByKey[k]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(s.Proofs, func(p proof) bool { return p.Key == k })
}

func (s *ReadSet) Zone(key string) *ZoneSeen {
	for i := range s.Zones {
		if s.Zones[i].Key == key {
			return &s.Zones[i]
		}
	}
	return nil
}

// NoteZone records the decision's read of the zone of h. The caller holds Memory.Mu.
func (s *ReadSet) NoteZone(k law.Key, h *CachedZone) {
	s.Seen.Put(k, h.Zone)
	if z := s.Zone(h.Key); z != nil {
		z.Mod, z.Object = h.Mod, h.Object
		return
	}
	s.Zones = append(s.Zones, ZoneSeen{h.Key, h.Mod, h.Object})
}

func zoneScoped(k law.Key) bool { return k.Zone != "" }

var ErrMoved = errors.New("the object has changed since it was read")

var ErrOverlayMoved = errors.New("the zone of the batch has changed since it was read")

// Decide calls ask, which decides a write, reads the facts (stored values) that ask needs, and calls ask again, until
// ask needs none. If ask needs a given fact again, the facts contradict each other, so Decide starts over. The third
// time it returns ErrMoved.
func (s *ReadSet) Decide(ctx context.Context, ask func(*law.Facts) law.Outcome) (law.Outcome, error) {
	restarts := 0
	for {
		if err := ctx.Err(); err != nil {
			return law.Outcome{}, err
		}

		// Ask, with the facts found so far.
		out := ask(s.Seen)
		if len(out.Need) == 0 {
			return out, nil
		}

		// Find the facts that the decision lacks.
		need := Dedupe(out.Need)
		contradicts := slices.ContainsFunc(need, func(k law.Key) bool {
			_, isGiven := s.Seen.Get(k)
			return isGiven
		})

		// For example, first the holdings at and above www.example.org., then the Zone, then data and claims at www.
		if !contradicts {
			if err := s.findFacts(ctx, need); err != nil {
				return law.Outcome{}, err
			}
			continue
		}

		// Start over without the contradictory facts, and without guesses.
		if restarts == maxRestarts {
			return law.Outcome{}, ErrMoved
		}
		restarts++
		s.forgetFacts(need)
		s.Reset()
		s.Guess, s.FirstTry = false, false
	}
}

const maxRestarts = 2

// DecideCached calls ask, which decides a write, with facts (stored values) from memory. It returns the keys of missing
// facts, which the caller reads for all writes of a batch. If a missing fact concerns another zone than the Overlay's,
// or lookUpAll refuses, known is false.
func (s *ReadSet) DecideCached(ask func(*law.Facts) law.Outcome) (out law.Outcome, missing []law.Key, known bool) {
	for {
		out = ask(s.Seen)
		if len(out.Need) == 0 {
			return out, nil, true
		}

		missing, known = s.lookUpAll(Dedupe(out.Need))
		if !known || slices.ContainsFunc(missing, s.isOutsideBatch) {
			// The caller reads for a single zone, so this write decides on etcd by itself.
			return out, nil, false
		}
		if len(missing) > 0 {
			return out, missing, true
		}
	}
}

// isOutsideBatch reports whether a missing fact is of another zone than the batch's. Names, Zones and withdrawals are
// read for any zone.
func (s *ReadSet) isOutsideBatch(k law.Key) bool {
	switch k.Kind {
	case law.KindHolding, law.KindZone, law.KindZonesBelow:
		return false
	}
	if s.Overlay.Zone == nil {
		return true
	}
	return k.Zone != s.Overlay.Zone.UID && k.Kind != law.KindWithdrawal
}

// Dedupe returns the keys, each once, in the order given. It reuses the slice.
func Dedupe(keys []law.Key) []law.Key {
	out := keys[:0]
	if len(keys) > law.FewKeys {
		met := make(map[law.Key]bool, len(keys))
		for _, k := range keys {
			if !met[k] {
				met[k] = true
				out = append(out, k)
			}
		}
		return out
	}
	for _, k := range keys {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// forgetFacts makes memory read the zones and names of contradictory facts again.
func (s *ReadSet) forgetFacts(keys []law.Key) {
	s.mem.Mu.Lock()
	defer s.mem.Mu.Unlock()
	for _, k := range keys {
		if k.Kind == law.KindZone {
			s.mem.CachedZone(s.mem.Layout.Key(k)).Loaded = false
		} else if h := s.mem.byUID[k.Zone]; h != nil {
			h.Loaded = false
		}
		if k.Kind == law.KindHolding {
			// Without the mark, the next decision would take the dropped name as absent.
			s.mem.dropName(k)
			s.mem.staleNames[k] = true
		}
	}
}

// headAsRead returns the cached zone with a UID, or nil unless the decision has read the Zone at the cached revision.
func (s *ReadSet) headAsRead(uid string) *CachedZone {
	h := s.mem.byUID[uid]
	if h == nil || !h.Loaded || !s.hasRead(h.Key, h.Mod) {
		return nil
	}
	return h
}

func (s *ReadSet) hasRead(zone string, mod int64) bool {
	z := s.Zone(zone)
	return z != nil && z.Mod == mod
}

func (s *ReadSet) findInMemory(k law.Key) bool {
	s.mem.Mu.Lock()
	defer s.mem.Mu.Unlock()
	return s.lookUp(k)
}

// lookUp puts a fact from memory, or a guess, into Seen, or returns false. The caller holds Memory.Mu.
func (s *ReadSet) lookUp(k law.Key) bool {
	if v, ok := s.Overlay.Facts[k]; ok {
		// The batch's own write is newer than all that memory has.
		s.Seen.Put(k, v)
		return true
	}

	switch {
	case k.Kind == law.KindTouched && k.Zone != "":
		return s.findDataBelow(k)
	case k.Kind == law.KindTouched:
		return s.findReference(k)
	case layout.IsRange(k):
		return s.findEmptyRange(k)
	case k.Kind == law.KindHolding:
		return s.findHolding(k)
	case k.Kind == law.KindZone:
		return s.findZone(k)
	case zoneScoped(k):
		return s.findZoneFact(k)
	}
	return s.findCachedFact(k)
}

// findReference puts a hint into Seen: whether a zone refers to an object, for example by zoneRef. No key in etcd lists
// such zones, so no compare can prove their absence. The next cascade gives a zone missing from the index the reason
// ParentRenamed.
func (s *ReadSet) findReference(k law.Key) bool {
	if !k.Name.IsZero() || len(s.mem.zonesByTarget[law.Ref{Namespace: k.Namespace, Name: k.Object}]) == 0 {
		return false
	}
	s.Seen.Put(k, &law.Awaited{Any: true})
	return true
}

// findEmptyRange puts an empty range into Seen: read as empty for the whole batch, or guessed to save a read. Memory
// has no range with keys.
func (s *ReadSet) findEmptyRange(k law.Key) bool {
	e, isRead := s.Overlay.EmptyRanges[k]
	if !isRead && !s.guessesEmpty(k) {
		return false
	}
	if isRead && !s.provesEmpty(e) {
		return false
	}
	isCovered := e.mod > 0 // by the Zone's revision; a guess is not
	s.noteEmptyRange(k, isCovered)
	return true
}

// provesEmpty reports whether a range was read as empty, and the decision's compares can prove so. The Zone's revision
// is a proof only for a read set that has read the same Zone.
func (s *ReadSet) provesEmpty(e Emptiness) bool {
	return e.empty && (e.mod == 0 || s.hasRead(s.Overlay.Key, e.mod))
}

// findHolding puts the zone of a name into Seen, or its absence: the index has every zone name. A compare of the single
// key proves both.
func (s *ReadSet) findHolding(k law.Key) bool {
	if s.mem.staleNames[k] || s.isDeep(k) {
		return false
	}
	var holding *law.Holding
	var mod int64
	if x := s.mem.index[k]; x != nil {
		holding, mod = x.holding, x.mod
	}
	s.Seen.Put(k, holding)
	s.proveFact(k, mod)
	return true
}

// isDeep reports whether a name has too many labels for a compare of its own (readDeepNames).
func (s *ReadSet) isDeep(k law.Key) bool {
	return k.Kind == law.KindHolding && k.Name.NumLabels() > s.Depth
}

// findZone puts a Zone into Seen. The zone of the batch is as earlier writes leave it.
func (s *ReadSet) findZone(k law.Key) bool {
	key := s.mem.Layout.Key(k)
	if b := s.Overlay; key == b.Key {
		s.Seen.Put(k, b.Zone)
		s.Zones = append(s.Zones, ZoneSeen{key, b.Mod, b.Base})
		return true
	}
	h := s.mem.cachedZones[key]
	if h == nil || !h.Loaded {
		return false
	}
	s.NoteZone(k, h)
	return true
}

// findZoneFact puts a fact of a zone into Seen, valid at the revision of the Zone that this decision has read. A guess
// is compared as absent.
func (s *ReadSet) findZoneFact(k law.Key) bool {
	h := s.headAsRead(k.Zone)
	if h == nil {
		return false
	}
	v, ok := h.Facts[k]
	if !ok && !s.mayGuess(k) {
		return false
	}
	if s.Seen.Put(k, v); !ok {
		s.proveFact(k, 0)
	}
	return true
}

// findCachedFact puts a fact of no zone into Seen, such as a namespace's withdrawal, that earlier batches of the queue
// have read.
func (s *ReadSet) findCachedFact(k law.Key) bool {
	read, ok := s.Overlay.CachedFacts[k]
	if ok {
		s.Seen.Put(k, read.value)
		s.proveFact(k, read.rev)
	}
	return ok
}

func (s *ReadSet) mayGuess(k law.Key) bool { return s.Guess || s.guessesAbsent(k) }

// guessesAbsent reports whether the first try assumes k to be absent, as for Records waiting at a name and for
// wildcards: each deletion asks for both, and few zones have any.
func (s *ReadSet) guessesAbsent(k law.Key) bool {
	return s.FirstTry && (k.Kind == law.KindAwaited && !k.Name.IsZero() || k.Kind == law.KindOwner && k.Owner.IsWildcard())
}

// guessesEmpty reports whether the decision assumes that a range has no keys: memory has no data at the name itself,
// and the batch has written none at or below. The caller holds Memory.Mu.
func (s *ReadSet) guessesEmpty(k law.Key) bool {
	if !s.mayGuess(k) {
		return false
	}
	nameKey := k // of the name itself
	switch k.Kind {
	case law.KindZonesBelow:
		nameKey.Kind = law.KindHolding
		// The compared range includes the name itself, so a zone there makes the guess fail.
		isZoneName := s.mem.index[nameKey] != nil
		return !isZoneName && !s.mem.staleNames[nameKey]
	case law.KindOwnersBelow:
		nameKey.Kind = law.KindOwner
		h := s.mem.byUID[k.Zone]
		if k.Owner.IsApex() || h == nil {
			// Nearly every zone has names below the apex.
			return false
		}
		return h.Facts[nameKey] == nil && len(s.Overlay.listOwners(k)) == 0
	case law.KindAwaited:
		return !k.Name.IsZero()
	}
	return false
}

// noteEmptyRange puts an empty range into Seen, with the names that the batch has written there. Unless covered by the
// Zone's revision, the transaction compares that no key of the range exists.
func (s *ReadSet) noteEmptyRange(k law.Key, covered bool) {
	nothing, _ := s.decodeRange(k, nil) // without a key, none is unreadable
	if s.Seen.Put(k, nothing); !covered {
		s.rangeProofs = append(s.rangeProofs, proof{Key: k})
	}
}

// findDataBelow puts a hint into Seen, for warnings and cascades: whether data exists at or below an owner. It returns
// false if unknown. The caller holds Memory.Mu.
func (s *ReadSet) findDataBelow(k law.Key) bool {
	// 1. Data known to memory. Absence is not cached.
	if h := s.mem.byUID[k.Zone]; h != nil && h.Facts[k] != nil {
		s.Seen.Put(k, h.Facts[k])
		return true
	}

	// 2. Data written by the batch: a value added at a.www is data below www.
	hasData := func(at name.Rel) bool {
		o, _ := s.Overlay.Facts[law.OwnerKey(k.Zone, at)].(*law.Owner)
		return o.HasData()
	}
	if slices.ContainsFunc(s.Overlay.listOwners(k), hasData) {
		s.Seen.Put(k, &law.Awaited{Any: true})
		return true
	}

	// 3. Data in etcd, as read for all writes of the batch.
	e, isRead := s.Overlay.EmptyRanges[k]
	if isRead {
		s.Seen.Put(k, &law.Awaited{Any: !e.empty})
	}
	return isRead
}

// isReadAlone reports whether a missing fact makes its write decide on etcd by itself: a range that may have many keys,
// or a deep name. Other missing facts are read for all writes of a batch at once.
func (s *ReadSet) isReadAlone(k law.Key) bool {
	if !layout.IsRange(k) {
		return s.isDeep(k)
	}
	return !s.guessesAbsent(k) && !s.readsTogether(k)
}

// readsTogether reports whether a range, unread or empty, is read together with other writes' ranges. Such a read takes
// few keys, so large ranges do not add up.
func (s *ReadSet) readsTogether(k law.Key) bool {
	switch k.Kind {
	case law.KindTouched:
		return k.Zone != ""
	case law.KindZonesBelow, law.KindOwnersBelow:
		// A range known to have keys is read by its write alone, in full.
		e, isRead := s.Overlay.EmptyRanges[k]
		return !isRead || e.empty
	}
	return false
}

// decodeRange decodes the keys of a range, and merges the owners below a name with those that the batch has written.
// Both are in the order of keys, and the batch's owner replaces the stored one.
func (s *ReadSet) decodeRange(k law.Key, kvs []*mvccpb.KeyValue) (any, error) {
	if k.Kind != law.KindOwnersBelow {
		return s.mem.DecodeRange(k, kvs)
	}
	out := &law.OwnersBelow{}
	isName := func(at name.Rel) bool { return at == k.Owner } // the range has the keys strictly below the name
	written := slices.DeleteFunc(s.Overlay.listOwners(k), isName)
	// addWritten adds the batch's owners that sort before the given key, or all that are left.
	addWritten := func(before string) {
		for len(written) > 0 && (before == "" || written[0].Key() < before) {
			if fact, _ := s.Overlay.Facts[law.OwnerKey(k.Zone, written[0])].(*law.Owner); fact != nil {
				out.Add(k.Owner, written[0], fact)
			}
			written = written[1:]
		}
	}
	err := s.mem.decodeOwners(kvs, func(owner name.Rel, o *law.Owner) {
		if isName(owner) {
			return
		}
		if addWritten(owner.Key()); len(written) == 0 || written[0] != owner {
			// Otherwise the batch has written this owner, and the next call adds the new value.
			out.Add(k.Owner, owner, o)
		}
	})
	addWritten("")
	return out, err
}

// listOwners lists the owners at and below k.Owner that the batch has written, in the order of keys.
func (o *Overlay) listOwners(k law.Key) (written []name.Rel) {
	for at := range o.Facts {
		if at.Kind == law.KindOwner && at.Zone == k.Zone && k.Owner.Encloses(at.Owner) {
			written = append(written, at.Owner)
		}
	}
	slices.SortFunc(written, func(x, y name.Rel) int { return strings.Compare(x.Key(), y.Key()) })
	return written
}

// lookUpAll takes the needed facts (stored values) from memory, and returns the missing keys. It returns false if a
// fact is never cached, or contradicts others.
func (s *ReadSet) lookUpAll(need []law.Key) (missing []law.Key, ok bool) {
	s.mem.Mu.Lock()
	defer s.mem.Mu.Unlock()
	for _, k := range need {
		// A fact given before, yet needed again, contradicts others.
		if _, isGiven := s.Seen.Get(k); isGiven || s.isReadAlone(k) {
			return nil, false
		}
		if !s.lookUp(k) {
			missing = append(missing, k)
		}
	}
	return missing, true
}

// findFacts puts the needed facts into Seen: from memory, in ranges for names with more labels than Depth, and the
// others in reads of 100 keys.
func (s *ReadSet) findFacts(ctx context.Context, need []law.Key) error {
	var read, deep []law.Key
	func() {
		s.mem.Mu.Lock()
		defer s.mem.Mu.Unlock()
		for _, k := range need {
			switch {
			case s.isDeep(k):
				deep = append(deep, k)
			case !s.lookUp(k):
				read = append(read, k)
			}
		}
	}()
	if err := s.readDeepNames(ctx, deep); err != nil {
		return err
	}
	for chunk := range slices.Chunk(read, 100) {
		if err := s.ReadFacts(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// deepName is the usual ReadSet.Depth, since a name may have 127 labels, too many to compare. A decision with too many
// compares is repeated with FlatName.
const (
	deepName = 40
	FlatName = 6
)

// readDeepNames reads holdings at names with more labels than Depth. Names with a common ancestor of Depth labels share
// a read of all zones below this ancestor, and a compare of the range.
func (s *ReadSet) readDeepNames(ctx context.Context, keys []law.Key) error {
	for len(keys) > 0 {
		// Read the zones below the ancestor, at most Depth labels long.
		all := law.Key{Kind: law.KindZonesBelow, View: keys[0].View, Name: keys[0].Name}
		for all.Name.NumLabels() > s.Depth {
			all.Name, _ = all.Name.Parent()
		}
		r, err := s.mem.Client.Get(ctx, s.mem.Layout.Key(all), clientv3.WithPrefix())
		if err != nil {
			return err
		}
		v, err := s.mem.DecodeRange(all, r.Kvs)
		if err != nil {
			return err
		}

		// Take the names below it from the answer, and leave the others to the next round.
		at := map[law.Key]*law.Holding{}
		for _, z := range v.(*law.ZonesBelow).Zones {
			at[law.HoldingKey(all.View, z.FQDN)] = &z.Holding
		}
		var others []law.Key
		for _, k := range keys {
			if k.View != all.View || !all.Name.Encloses(k.Name) {
				others = append(others, k)
				continue
			}
			s.Seen.Put(k, at[k])
			// A zone is compared singly as well, for its later use as the enclosing zone.
			hasKey := func(kv *mvccpb.KeyValue) bool { return string(kv.Key) == s.mem.Layout.Key(k) }
			if i := slices.IndexFunc(r.Kvs, hasKey); i >= 0 {
				s.proveFact(k, r.Kvs[i].ModRevision)
			}
		}
		s.deepProofs, keys = append(s.deepProofs, proof{all, r.Header.Revision}), others
	}
	return nil
}

// ReadFacts reads facts (stored values) and their zones from etcd, at one revision. If a zone has changed since the
// decision read it, ReadFacts resets the read set, so all facts are read again. With an Overlay (a batch's earlier
// writes) the error is ErrOverlayMoved instead.
func (s *ReadSet) ReadFacts(ctx context.Context, keys []law.Key) error {
	mem := s.mem
	// 1. Read the facts with their zones in one transaction, hence at one revision.
	var ops []clientv3.Op
	for _, k := range keys {
		ops = append(ops, s.getOperation(k))
	}
	zones := s.cachedZonesOf(keys)
	for _, z := range zones {
		ops = append(ops, clientv3.OpGet(z.Key))
	}
	mem.Stats.Reads.Add(1)
	r, err := mem.Client.Txn(ctx).Then(ops...).Commit()
	if errors.Is(err, rpctypes.ErrTooManyOps) && len(keys) > 1 {
		// etcd runs with a lower --max-txn-ops than assumed: two reads of half as many keys.
		mem.LowerOps(len(ops))
		if err := s.ReadFacts(ctx, keys[:len(keys)/2]); err != nil {
			return err
		}
		return s.ReadFacts(ctx, keys[len(keys)/2:])
	}
	if err != nil {
		return err
	}

	// 2. Update the zones in memory.
	covered := map[string]int64{} // zone revisions by uid
	moved := false
	for i, z := range zones {
		kv := etcd.FirstKV(r.Responses[len(keys)+i])
		if err := mem.Reload(ctx, z, kv, r.Header.Revision); err != nil {
			return err
		}
		// The zone's revision proves the fact if compared anyway.
		seen := s.Zone(z.Key)
		if seen == nil {
			continue
		}
		moved = moved || seen.Mod != kv.GetModRevision()
		mem.Mu.Lock()
		if z.Zone != nil && z.Mod == kv.GetModRevision() {
			covered[z.Zone.UID] = z.Mod
		}
		mem.Mu.Unlock()
	}

	// 3. Note the facts.
	for i, k := range keys {
		if err := s.noteResponse(ctx, k, r.Responses[i], r.Header.Revision, covered[k.Zone]); err != nil {
			return err
		}
	}
	if moved && s.Overlay != NoBatch {
		// Earlier writes of the batch were decided on the former revision, so the batch begins anew.
		return ErrOverlayMoved
	}
	if moved {
		s.Reset()
	}
	return nil
}

// ProvenFactOf returns a fact of the read set with its revision, or false if the read set lacks the fact, or only a
// zone's revision proves it.
func (s *ReadSet) ProvenFactOf(k law.Key) (ProvenFact, bool) {
	v, known := s.Seen.Get(k)
	i := s.proofIndex(k)
	if !known || i < 0 {
		return ProvenFact{}, false
	}
	return ProvenFact{v, s.Proofs[i].rev}, true
}

// noteResponse notes the value of a fact, read at revision rev, with its proof: the Zone's revision (covered) if the
// decision has read the Zone, otherwise (covered is 0) a compare of the key or range.
func (s *ReadSet) noteResponse(ctx context.Context, k law.Key, r *etcdserverpb.ResponseOp, rev, covered int64) error {
	kvs, kv := r.GetResponseRange().Kvs, etcd.FirstKV(r)
	switch {
	case k.Kind == law.KindTouched && k.Zone != "":
		return s.noteDataBelow(k, kvs, covered)
	case layout.IsRange(k) && s.EmptyRanges != nil:
		s.noteEmptiness(k, kvs, covered)
		return nil
	case layout.IsRange(k):
		return s.noteRange(k, kvs, rev, covered)
	case k.Kind == law.KindZone:
		return s.readZone(ctx, k, kv, rev)
	}
	return s.noteFact(k, kv, rev, covered)
}

// noteEmptiness notes for all writes of a batch whether a range is empty. At most two keys were read.
func (s *ReadSet) noteEmptiness(k law.Key, kvs []*mvccpb.KeyValue, covered int64) {
	if k.Kind == law.KindOwnersBelow && covered > 0 && len(kvs) > 0 && string(kvs[0].Key) == s.mem.Layout.Key(k) {
		kvs = kvs[1:] // the name itself
	}
	s.EmptyRanges[k] = Emptiness{len(kvs) == 0, covered}
}

func (s *ReadSet) noteRange(k law.Key, kvs []*mvccpb.KeyValue, rev, covered int64) error {
	v, err := s.decodeRange(k, kvs)
	if err != nil {
		return err
	}
	s.Seen.Put(k, v)
	// If a hint (KindTouched) is true, further keys change nothing, so no compare.
	if found, _ := v.(*law.Awaited); covered == 0 && (k.Kind != law.KindTouched || !found.Any) {
		s.rangeProofs = append(s.rangeProofs, proof{k, rev})
	}
	return nil
}

func (s *ReadSet) readZone(ctx context.Context, k law.Key, kv *mvccpb.KeyValue, rev int64) error {
	s.mem.Mu.Lock()
	h := s.mem.CachedZone(s.mem.Layout.Key(k))
	s.mem.Mu.Unlock()
	if err := s.mem.Reload(ctx, h, kv, rev); err != nil {
		return err
	}
	s.mem.Mu.Lock()
	defer s.mem.Mu.Unlock()
	s.NoteZone(k, h)
	return nil
}

func (s *ReadSet) noteFact(k law.Key, kv *mvccpb.KeyValue, rev, covered int64) error {
	var v any
	if kv != nil {
		var err error
		if v, err = layout.DecodeFact(k, kv.Value); err != nil {
			return layout.Unreadable(string(kv.Key), err)
		}
	}
	s.Seen.Put(k, v)
	s.mem.Mu.Lock()
	defer s.mem.Mu.Unlock()
	if k.Kind == law.KindHolding {
		s.noteHolding(k, v, kv, rev)
	}
	if covered == 0 {
		s.proveFact(k, kv.GetModRevision())
	} else if h := s.mem.byUID[k.Zone]; h != nil && h.Mod == covered {
		// Not if another goroutine has moved the Zone to another revision meanwhile.
		h.CacheFact(k, v)
	}
	return nil
}

// noteHolding also repairs the index of names, which follows other servers' writes with a delay. The caller holds
// Memory.Mu.
func (s *ReadSet) noteHolding(k law.Key, v any, kv *mvccpb.KeyValue, rev int64) {
	h, _ := v.(*law.Holding)
	s.Seen.Put(k, h)
	delete(s.mem.staleNames, k)
	if h != nil {
		rev = kv.ModRevision
	}
	s.mem.UpdateName(k, h, rev)
}

// noteDataBelow notes whether the owners read have data, without a proof: no refusal depends on it. If they have, the
// zone's cache keeps that until a name loses its data (CommitHead).
func (s *ReadSet) noteDataBelow(k law.Key, kvs []*mvccpb.KeyValue, covered int64) error {
	// So many owners without data are not looked through to the end: assume data.
	found := &law.Awaited{Any: len(kvs) == law.FirstOwners}
	err := s.mem.decodeOwners(kvs, func(_ name.Rel, o *law.Owner) { found.Any = found.Any || o.HasData() })
	if err != nil {
		return err
	}
	if s.Seen.Put(k, found); s.EmptyRanges != nil {
		s.EmptyRanges[k] = Emptiness{!found.Any, covered}
	}
	s.mem.Mu.Lock()
	defer s.mem.Mu.Unlock()
	if h := s.mem.byUID[k.Zone]; found.Any && h != nil && h.Mod == covered {
		h.CacheFact(k, found)
	}
	return nil
}

// headsOf returns the cached zones of the facts, each once.
func (s *ReadSet) cachedZonesOf(keys []law.Key) []*CachedZone {
	s.mem.Mu.Lock()
	defer s.mem.Mu.Unlock()
	var out []*CachedZone
	for _, k := range keys {
		if h := s.mem.byUID[k.Zone]; zoneScoped(k) && h != nil && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

func (s *ReadSet) getOperation(k law.Key) clientv3.Op {
	key := s.mem.Layout.Key(k)
	switch {
	case !layout.IsRange(k):
		return clientv3.OpGet(key)
	case s.EmptyRanges != nil && k.Kind != law.KindTouched:
		// Two keys tell whether a key besides that of the name itself exists.
		return clientv3.OpGet(key, clientv3.WithPrefix(), clientv3.WithLimit(2), clientv3.WithKeysOnly())
	}
	return clientv3.OpGet(key, clientv3.WithPrefix(), clientv3.WithLimit(layout.MostKeys(k)))
}

// DecodeRange decodes the keys of a range to a fact. The error names the key that is unreadable.
func (mem *Memory) DecodeRange(k law.Key, kvs []*mvccpb.KeyValue) (any, error) {
	switch k.Kind {
	case law.KindZonesBelow:
		out := &law.ZonesBelow{}
		for _, kv := range kvs {
			key, h, err := mem.Layout.DecodeName(string(kv.Key), kv.Value)
			if err != nil {
				return nil, err
			}
			out.Zones = append(out.Zones, law.ZoneBelow{FQDN: key.Name, Holding: *h})
		}
		return out, nil
	case law.KindForeign:
		return mem.decodeForeign(k, kvs)
	case law.KindAwaited, law.KindTouched:
		return &law.Awaited{Any: len(kvs) > 0, Count: len(kvs)}, nil
	}
	return nil, fmt.Errorf("no range of keys has a fact of kind %d", k.Kind)
}

func (mem *Memory) decodeOwners(kvs []*mvccpb.KeyValue, found func(name.Rel, *law.Owner)) error {
	for _, kv := range kvs {
		_, owner, err := mem.Layout.ParseOwner(string(kv.Key))
		if err != nil {
			return err
		}
		v, err := layout.DecodeFact(law.Key{Kind: law.KindOwner}, kv.Value)
		if err != nil {
			return layout.Unreadable(string(kv.Key), err)
		}
		found(owner, v.(*law.Owner))
	}
	return nil
}

// decodeForeign sums up the data of namespaces other than k's in a range of keys. More is true if the range may have
// further keys. The fields of k select the range (law.KindForeign).
func (mem *Memory) decodeForeign(k law.Key, kvs []*mvccpb.KeyValue) (*law.Foreign, error) {
	out := &law.Foreign{More: len(kvs) == law.FirstKeys && layout.MostKeys(k) != 0}
	for _, kv := range kvs {
		key := string(kv.Key)
		switch {
		case k.Zone == "":
			// Zones at and below a name.
			at, h, err := mem.Layout.DecodeName(key, kv.Value)
			if err != nil {
				return nil, err
			}
			out.AddZone(k, at.Name, h)
		case !k.Owner.IsZero():
			// Records at a name, such as www.
			_, _, ns, _, err := mem.Layout.ParseMember(key)
			if err != nil {
				return nil, err
			}
			out.Add(k.Namespace, ns, 1, name.Name{})
		case k.Name.IsZero():
			// Counts of Records, one key for each namespace.
			v, err := layout.DecodeFact(law.Key{Kind: law.KindCount}, kv.Value)
			if err != nil {
				return nil, layout.Unreadable(key, err)
			}
			if n := v.(*law.Count).Records; n > 0 {
				out.Add(k.Namespace, key[strings.LastIndexByte(key, '/')+1:], n, name.Name{})
			}
		default:
			// Records anywhere in a zone, with their names for a message.
			_, owner, ns, _, err := mem.Layout.ParseMember(key)
			if err != nil {
				return nil, err
			}
			at, err := owner.In(k.Name)
			if err != nil {
				return nil, layout.Unreadable(key, err)
			}
			out.Add(k.Namespace, ns, 1, at)
		}
	}
	return out, nil
}

// Changes returns the writes of values that etcd does not have yet. A fact (stored value) that the transaction compares
// must prove that etcd has a value.
func (s *ReadSet) Changes(writes []law.Write) []law.Write {
	if !slices.ContainsFunc(writes, s.isStored) {
		return writes
	}
	return slices.DeleteFunc(slices.Clone(writes), s.isStored)
}

// isStored reports whether etcd has the value of a write already, and the transaction proves so.
func (s *ReadSet) isStored(x law.Write) bool {
	seen, _ := s.Seen.Get(x.Key)
	switch {
	case !s.Seen.IsUsed(x.Key):
		// Not read, or not compared.
		return false
	case !zoneScoped(x.Key):
		// Names are always written: the index has the revision of the last write.
		return false
	case seen != nil && seen == x.Value:
		// Equality of a shared pointer proves nothing.
		return false
	}
	return reflect.DeepEqual(seen, x.Value)
}

// Guards returns the compares of the transaction: the Zones read, and the used facts that no Zone's revision proves.
func (s *ReadSet) Compares() []clientv3.Cmp {
	mem := s.mem
	dropsFacts := slices.Contains([]string{"facts", "all"}, mem.DropCompares)
	out := make([]clientv3.Cmp, 0, len(s.Zones)+len(s.Proofs)+len(s.deepProofs)+len(s.rangeProofs)+2) // and the object's own
	for _, z := range s.Zones {
		out = mem.CompareZone(out, z.Key, z.Mod)
	}
	for _, p := range s.Proofs {
		if s.Seen.IsUsed(p.Key) && !dropsFacts {
			out = append(out, etcd.RevisionIs(mem.Layout.Key(p.Key), p.rev))
		}
	}
	// No key of the range is newer than the read. A deletion there goes unnoticed, but zones found have single
	// compares.
	isUnused := func(p proof) bool { return !s.Seen.IsUsed(p.Key) }
	for _, p := range slices.Concat(s.deepProofs, slices.DeleteFunc(slices.Clone(s.rangeProofs), isUnused)) {
		out = append(out, clientv3.Compare(clientv3.ModRevision(mem.Layout.Key(p.Key)), "<", p.rev+1).WithPrefix())
	}
	return out
}

func (mem *Memory) CompareZone(to []clientv3.Cmp, key string, mod int64) []clientv3.Cmp {
	if mem.DropCompares == "zone" || mem.DropCompares == "all" {
		return to
	}
	return append(to, etcd.RevisionIs(key, mod))
}

// ReadZone reads a Zone and its revision from etcd. The Zone is nil if absent.
func (mem *Memory) ReadZone(ctx context.Context, namespace, object string) (*v1alpha1.Zone, int64, error) {
	key := mem.Layout.Zone(namespace, object)
	r, err := mem.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return nil, 0, err
	}
	o := &v1alpha1.Zone{}
	if err := mem.Zones.Decode(ctx, key, r.Kvs[0].Value, r.Kvs[0].ModRevision, o); err != nil {
		return nil, 0, fmt.Errorf("%s cannot be read: %w", key, err)
	}
	return o, r.Kvs[0].ModRevision, nil
}

// ReadRecord reads a Record and its revision from etcd. The Record is nil if absent. If the stored value does not
// decode, the error wraps ErrDamaged.
func (mem *Memory) ReadRecord(ctx context.Context, namespace, object string) (*v1alpha1.Record, int64, error) {
	key := mem.Layout.Record(namespace, object)
	kv, _, err := etcd.ReadKey(ctx, mem.Client, key)
	if err != nil || kv == nil {
		return nil, 0, err
	}
	o := &v1alpha1.Record{}
	if err := mem.Records.Decode(ctx, key, kv.Value, kv.ModRevision, o); err != nil {
		return nil, 0, fmt.Errorf("%s cannot be read: %w: %w", key, ErrDamaged, err)
	}
	return o, kv.ModRevision, nil
}

var ErrDamaged = errors.New("a record cannot be read; run kubizone fsck, which names the damage")

// DecideFromMemory decides a Record's write without a read. If memory lacks a fact, Plan and Refusal are nil.
func (s *ReadSet) DecideFromMemory(ask records.RecordInput) law.Outcome {
	out, missing, known := s.DecideCached(func(seen *law.Facts) law.Outcome { return records.DecideRecord(seen, ask) })
	if !known || len(missing) > 0 {
		return law.Outcome{}
	}
	return out
}

// VerifyFacts reports whether etcd still has the facts of a decision made from memory, and whether the object under key
// still has the revision of before, or is absent if before is nil. It returns false if the compares are too many for a
// transaction.
func (s *ReadSet) VerifyFacts(ctx context.Context, key string, before *v1alpha1.Record) (bool, error) {
	var expected uint64
	if before != nil {
		var err error
		if expected, err = (storage.APIObjectVersioner{}).ObjectResourceVersion(before); err != nil {
			return false, err
		}
	}
	cmps := append(s.Compares(), etcd.RevisionIs(key, int64(expected)))
	if len(cmps) > s.mem.MaxCompares() {
		// Not proven here, so the write goes on to its decision at the commit.
		return false, nil
	}
	s.mem.Stats.Transactions.Add(1)
	// A get makes the compares linearizable.
	r, err := s.mem.Client.Txn(ctx).If(cmps...).Then(etcd.OpCount(key)).Commit()
	if err != nil {
		return false, err
	}
	return r.Succeeded, nil
}
