// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

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

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// maxCompares keeps a transaction below etcd's 128 operations (its longest of
// compare, then, else) with room for the object, its zone and the journal.
const maxCompares = 90

// session collects the facts of one decision together with what proves that
// they still hold when it commits. There are some ten of them: lists, no maps.
type session struct {
	mem  *memory
	seen *law.Seen
	// single facts: the revision of their key, compared unless the zone's own
	// revision covers them.
	single []proof
	// proven says where the proof of each key is, from the first one beyond law.FewKeys on.
	proven map[law.Key]int
	// ranges: the revision they were read at; nothing in them may be younger.
	ranges []proof
	// deep: ranges of names above deepName labels, read at a revision.
	deep []proof
	// zones the decision looked at.
	zones []zoneSeen
	// guess: a key never met is taken as absent and compared so, which saves the
	// round trip of a read where that is likely (a new name).
	guess bool
	// depth: zones at names of more labels are read and guarded as a range.
	depth int
	// over is what earlier decisions of the same transaction leave, nil for none.
	over *overlay
}

// overlay is a zone and its facts as the writes leave them that were decided first, of those that one transaction makes true.
type overlay struct {
	key   string         // of the zone; "": of none
	base  *v1alpha1.Zone // as it stands, at mod
	mod   int64
	zone  *law.Zone
	facts map[law.Key]any
	puts  puts // beside the zone's keys
}

type proof struct {
	key law.Key
	rev int64
}

// zoneSeen is a zone object at a revision, 0 and nil where there is none.
type zoneSeen struct {
	key    string
	mod    int64
	object *v1alpha1.Zone
}

func (mem *memory) session(guess bool) *session {
	s := &session{mem: mem, guess: guess, depth: deepName, seen: law.NewSeen(), single: make([]proof, 0, 8), zones: make([]zoneSeen, 0, 2)}
	s.seen.Look = s.atHand
	return s
}

func (s *session) reset() {
	s.seen.Forget()
	clear(s.single)
	clear(s.zones)
	s.single, s.zones = s.single[:0], s.zones[:0]
	s.proven, s.ranges, s.deep = nil, nil, nil
}

func (s *session) prove(k law.Key, rev int64) {
	if i := s.proof(k); i >= 0 {
		s.single[i].rev = rev
		return
	}
	s.single = append(s.single, proof{k, rev})
	switch n := len(s.single); {
	case s.proven != nil:
		s.proven[k] = n - 1
	case n > law.FewKeys:
		s.proven = make(map[law.Key]int, 4*n)
		for i := range s.single {
			s.proven[s.single[i].key] = i
		}
	}
}

// proof is the place of a key in single, -1 for none.
func (s *session) proof(k law.Key) int {
	if s.proven != nil {
		if i, ok := s.proven[k]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(s.single, func(p proof) bool { return p.key == k })
}

// zone is what was seen of a zone object; nil: the decision did not look at it.
func (s *session) zone(key string) *zoneSeen {
	for i := range s.zones {
		if s.zones[i].key == key {
			return &s.zones[i]
		}
	}
	return nil
}

func (s *session) sawZone(k law.Key, h *head) {
	s.seen.Put(k, h.zone)
	if z := s.zone(h.key); z != nil {
		z.mod, z.object = h.mod, h.object
		return
	}
	s.zones = append(s.zones, zoneSeen{h.key, h.mod, h.object})
}

// zoneScoped: the key belongs to one zone and changes only with its object.
func zoneScoped(k law.Key) bool { return k.Zone != "" }

// errMoved: facts read at one moment do not go together with the object that is
// decided about, so that has moved.
var errMoved = errors.New("the object has changed since it was read")

// errOverlayMoved: the zone that a batch is decided on has moved, so all of it is decided anew.
var errOverlayMoved = errors.New("the zone of the batch has changed since it was read")

// decide runs the law until it has what it asks for. errMoved: no facts go
// together with what was asked.
func (s *session) decide(ctx context.Context, ask func(*law.Seen) law.Outcome) (law.Outcome, error) {
	for stale := 0; ; {
		if err := ctx.Err(); err != nil {
			return law.Outcome{}, err
		}
		out := ask(s.seen)
		if len(out.Need) == 0 {
			return out, nil
		}
		need := dedupe(out.Need)
		again := false
		for _, k := range need {
			if _, known := s.seen.Get(k); known {
				again = true // facts of two moments: all of them anew
			}
		}
		if again {
			if stale++; stale > 2 {
				return law.Outcome{}, errMoved
			}
			s.forget(need)
			s.reset()
			s.guess = false
			continue
		}
		if err := s.find(ctx, need); err != nil {
			return law.Outcome{}, err
		}
	}
}

func dedupe(keys []law.Key) []law.Key {
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

// forget drops what is remembered of the named facts, so that they are read.
func (s *session) forget(keys []law.Key) {
	s.mem.mu.Lock()
	defer s.mem.mu.Unlock()
	for _, k := range keys {
		switch {
		case k.Kind == law.KindZone:
			s.mem.head(s.mem.layout.Key(k)).loaded = false
		case k.Kind == law.KindHolding:
			s.mem.unname(k)
			if h := s.mem.byUID[k.Zone]; h != nil {
				h.loaded = false
			}
		case zoneScoped(k):
			if h := s.mem.byUID[k.Zone]; h != nil {
				h.loaded = false
			}
		}
	}
	for _, k := range keys {
		if k.Kind == law.KindHolding {
			s.mem.doubt[k] = true
		}
	}
}

// stoodAt: the decision looked at the zone, and at the revision that the head
// stands at.
func (s *session) stoodAt(h *head) bool {
	z := s.zone(h.key)
	return z != nil && z.mod == h.mod
}

// atHand is lookUp for a decision that is being made.
func (s *session) atHand(k law.Key) bool {
	s.mem.mu.Lock()
	defer s.mem.mu.Unlock()
	return s.lookUp(k)
}

// lookUp finds a fact in memory: as the batch leaves it, in the index of names, at the head of a zone that the
// decision looked at, or by guess. The caller holds mem.mu. false: it has to be read.
func (s *session) lookUp(k law.Key) bool {
	mem := s.mem
	if s.over != nil {
		if v, ok := s.over.facts[k]; ok {
			s.seen.Put(k, v)
			return true
		}
	}
	switch {
	case layout.IsRange(k):
		return false
	case k.Kind == law.KindHolding:
		if mem.doubt[k] || k.Name.NumLabels() > s.depth {
			return false
		}
		var holding *law.Holding
		var mod int64
		if x := mem.index[k]; x != nil {
			holding, mod = x.holding, x.mod
		}
		s.seen.Put(k, holding)
		s.prove(k, mod)
	case k.Kind == law.KindZone:
		key := mem.layout.Key(k)
		if b := s.over; b != nil && b.key != "" && key == b.key {
			s.seen.Put(k, b.zone)
			s.zones = append(s.zones, zoneSeen{key, b.mod, b.base})
			return true
		}
		h := mem.heads[key]
		if h == nil || !h.loaded {
			return false
		}
		s.sawZone(k, h)
	case !zoneScoped(k):
		return false
	default:
		h := mem.byUID[k.Zone]
		if h == nil || !h.loaded || !s.stoodAt(h) {
			return false
		}
		v, ok := h.facts[k]
		if !ok && !s.guess {
			return false
		}
		if s.seen.Put(k, v); !ok {
			s.prove(k, 0)
		}
	}
	return true
}

// overlapError ends a decision that rests on a range of keys in which earlier writes of the batch have written: what etcd has there is not what
// the write would find.
type overlapError struct{ name string }

func (e *overlapError) Error() string { return "rests on what is being written below " + e.name }

// overlaps refuses ranges in which earlier writes of the batch have written.
func (s *session) overlaps(need []law.Key) error {
	if s.over == nil {
		return nil
	}
	for _, k := range need {
		if !layout.IsRange(k) {
			continue
		}
		prefix := s.mem.layout.Key(k)
		for written := range s.over.facts {
			if at := written.Owner == k.Owner && k.Kind != law.KindTenantsBelow; !at && strings.HasPrefix(s.mem.layout.Key(written), prefix) {
				return &overlapError{k.Owner.String()}
			}
		}
		for _, x := range s.over.puts {
			if strings.HasPrefix(x.key, prefix) {
				return &overlapError{k.Owner.String()}
			}
		}
	}
	return nil
}

// lookUpAll finds facts in memory. missing have to be read; not ok: they are asked for again, or have no place in memory.
func (s *session) lookUpAll(need []law.Key) (missing []law.Key, ok bool) {
	s.mem.mu.Lock()
	defer s.mem.mu.Unlock()
	for _, k := range need {
		if _, known := s.seen.Get(k); known || layout.IsRange(k) || k.Kind == law.KindHolding && k.Name.NumLabels() > s.depth {
			return nil, false
		}
		if !s.lookUp(k) {
			missing = append(missing, k)
		}
	}
	return missing, true
}

// find looks facts up in memory, and reads the others at one moment.
func (s *session) find(ctx context.Context, need []law.Key) error {
	if err := s.overlaps(need); err != nil {
		return err
	}
	var read, deep []law.Key
	s.mem.mu.Lock()
	for _, k := range need {
		switch {
		case k.Kind == law.KindHolding && k.Name.NumLabels() > s.depth:
			deep = append(deep, k)
		case !s.lookUp(k):
			read = append(read, k)
		}
	}
	s.mem.mu.Unlock()
	if err := s.dive(ctx, deep); err != nil {
		return err
	}
	for len(read) > 0 {
		n := min(len(read), 100)
		if err := s.read(ctx, read[:n]); err != nil {
			return err
		}
		read = read[n:]
	}
	return nil
}

// deepName is the number of labels above which the zones at a name's ancestors
// are read and guarded as one range: a name may have 127 labels, and one compare
// for each would not fit into a transaction. Where a decision looks at several
// such names, or at those of many name servers, it is made again with flatName.
const (
	deepName = 40
	flatName = 6
)

// dive reads the holdings of ancestors that all have more than depth labels, one
// range for each name of depth labels above them.
func (s *session) dive(ctx context.Context, keys []law.Key) error {
	for len(keys) > 0 {
		all := law.Key{Kind: law.KindZonesBelow, View: keys[0].View, Name: keys[0].Name}
		for all.Name.NumLabels() > s.depth {
			all.Name, _ = all.Name.Parent()
		}
		r, err := s.mem.client.Get(ctx, s.mem.layout.Key(all), clientv3.WithPrefix())
		if err != nil {
			return err
		}
		v, err := s.mem.decodeRange(all, r.Kvs)
		if err != nil {
			return err
		}
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
			s.seen.Put(k, at[k])
			if h := at[k]; h != nil {
				for _, kv := range r.Kvs {
					if string(kv.Key) == s.mem.layout.Key(k) {
						s.prove(k, kv.ModRevision)
					}
				}
			}
		}
		s.deep, keys = append(s.deep, proof{all, r.Header.Revision}), others
	}
	return nil
}

// read fetches facts at one revision, with the zones they belong to.
func (s *session) read(ctx context.Context, keys []law.Key) error {
	mem := s.mem
	var ops []clientv3.Op
	for _, k := range keys {
		ops = append(ops, mem.get(k))
	}
	zones := s.homes(keys)
	for _, z := range zones {
		ops = append(ops, clientv3.OpGet(z.key))
	}
	mem.stats.Reads.Add(1)
	r, err := mem.client.Txn(ctx).Then(ops...).Commit()
	if errors.Is(err, rpctypes.ErrTooManyOps) && len(keys) > 1 {
		mem.narrow(len(ops))
		if err := s.read(ctx, keys[:len(keys)/2]); err != nil {
			return err
		}
		return s.read(ctx, keys[len(keys)/2:])
	}
	if err != nil {
		return err
	}
	covered := map[string]int64{} // at the revision of which zone
	moved := false
	for i, z := range zones {
		kv := one(r.Responses[len(keys)+i])
		if err := mem.reload(ctx, z, kv, r.Header.Revision); err != nil {
			return err
		}
		// A fact is covered by its zone's revision where the decision compares that anyway.
		seen := s.zone(z.key)
		compared := seen != nil
		moved = moved || compared && seen.mod != modRevision(kv)
		mem.mu.Lock()
		if compared && z.zone != nil && z.mod == modRevision(kv) {
			covered[z.zone.UID] = z.mod
		}
		mem.mu.Unlock()
	}
	for i, k := range keys {
		if err := s.take(ctx, k, r.Responses[i], r.Header.Revision, covered[k.Zone]); err != nil {
			return err
		}
	}
	if moved && s.over != nil {
		return errOverlayMoved
	}
	if moved {
		// Facts of two revisions of one zone: what was read now is remembered at the
		// head, and the decision starts over from it.
		s.reset()
	}
	return nil
}

// take puts one answer into the session. covered is the revision of the zone that proves it, 0: none does.
func (s *session) take(ctx context.Context, k law.Key, r *etcdserverpb.ResponseOp, rev, covered int64) error {
	mem := s.mem
	kvs := r.GetResponseRange().Kvs
	if layout.IsRange(k) {
		v, err := mem.decodeRange(k, kvs)
		if err != nil {
			return err
		}
		s.seen.Put(k, v)
		if covered == 0 {
			s.ranges = append(s.ranges, proof{k, rev})
		}
		return nil
	}
	kv := one(r)
	if k.Kind == law.KindZone {
		mem.mu.Lock()
		h := mem.head(mem.layout.Key(k))
		mem.mu.Unlock()
		if err := mem.reload(ctx, h, kv, rev); err != nil {
			return err
		}
		mem.mu.Lock()
		s.sawZone(k, h)
		mem.mu.Unlock()
		return nil
	}
	var v any
	if kv != nil {
		var err error
		if v, err = layout.DecodeFact(k, kv.Value); err != nil {
			return layout.Unreadable(string(kv.Key), err)
		}
	}
	s.seen.Put(k, v)
	mem.mu.Lock()
	defer mem.mu.Unlock()
	if k.Kind == law.KindHolding {
		h, _ := v.(*law.Holding)
		s.seen.Put(k, h)
		delete(mem.doubt, k)
		mem.remember(k, h, modRevision(kv))
	}
	if covered != 0 {
		if h := mem.byUID[k.Zone]; h != nil && h.mod == covered { // a write since may have changed it, and knows it
			h.know(k, v)
		}
		return nil
	}
	s.prove(k, modRevision(kv))
	return nil
}

// homes are the heads of the zones that the keys belong to.
func (s *session) homes(keys []law.Key) []*head {
	s.mem.mu.Lock()
	defer s.mem.mu.Unlock()
	var out []*head
	for _, k := range keys {
		if h := s.mem.byUID[k.Zone]; zoneScoped(k) && h != nil && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// get is the operation that fetches a fact.
func (mem *memory) get(k law.Key) clientv3.Op {
	key := mem.layout.Key(k)
	if layout.IsRange(k) {
		return clientv3.OpGet(key, clientv3.WithPrefix())
	}
	return clientv3.OpGet(key)
}

// reload makes a head stand at what was read of its zone at revision rev, unless it knows better: a read that took long
// does not take back what a write has made since, be it a zone or its removal.
func (mem *memory) reload(ctx context.Context, h *head, kv *mvccpb.KeyValue, rev int64) error {
	mem.mu.Lock()
	known := h.knows(kv, rev)
	if kv == nil && !known {
		mem.absent(h, rev)
	}
	mem.mu.Unlock()
	if known || kv == nil {
		return nil
	}
	object := &v1alpha1.Zone{}
	if err := mem.zones.Decode(ctx, h.key, kv.Value, kv.ModRevision, object); err != nil {
		return fmt.Errorf("ledger: %s: %w", h.key, err)
	}
	zone, err := LawZone(object)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	mem.mu.Lock()
	defer mem.mu.Unlock()
	if !h.knows(kv, rev) {
		mem.set(h, object, zone, kv.ModRevision)
	}
	return nil
}

// knows: the head stands at what was read at revision rev, or at something later. The caller holds mem.mu.
func (h *head) knows(kv *mvccpb.KeyValue, rev int64) bool {
	switch {
	case kv != nil && kv.ModRevision <= h.gone:
		return true
	case !h.loaded:
		return false
	case kv == nil:
		return h.mod > rev
	}
	return h.mod >= kv.ModRevision
}

// decodeRange reads a fact that is about a range of keys.
func (mem *memory) decodeRange(k law.Key, kvs []*mvccpb.KeyValue) (any, error) {
	switch k.Kind {
	case law.KindZonesBelow:
		out := &law.ZonesBelow{}
		for _, kv := range kvs {
			key, h, err := mem.layout.DecodeName(string(kv.Key), kv.Value)
			if err != nil {
				return nil, err
			}
			out.Zones = append(out.Zones, law.ZoneBelow{FQDN: key.Name, Holding: *h})
		}
		return out, nil
	case law.KindOwnersBelow:
		out := &law.OwnersBelow{}
		for _, kv := range kvs {
			_, owner, err := mem.layout.ParseOwner("owners", string(kv.Key))
			if err != nil {
				return nil, err
			}
			v, err := layout.DecodeFact(law.Key{Kind: law.KindOwner}, kv.Value)
			if err != nil {
				return nil, layout.Unreadable(string(kv.Key), err)
			}
			o := v.(*law.Owner)
			if owner == k.Owner || len(o.Values) == 0 {
				continue
			}
			out.Any = true
		}
		return out, nil
	case law.KindHeldBelow:
		out := &law.HeldBelow{}
		for _, kv := range kvs {
			_, base, err := mem.layout.ParseOwner("holders", string(kv.Key))
			if err != nil {
				return nil, err
			}
			if base == k.Owner {
				continue
			}
			v, err := layout.DecodeFact(law.Key{Kind: law.KindHolders}, kv.Value)
			if err != nil {
				return nil, layout.Unreadable(string(kv.Key), err)
			}
			out.Add(v.(*law.Holders))
		}
		return out, nil
	case law.KindListedBelow:
		out := &law.ListedBelow{}
		for _, kv := range kvs {
			_, owner, err := mem.layout.ParseOwner("listed", string(kv.Key))
			if err != nil {
				return nil, err
			}
			if owner != k.Owner {
				out.Names = append(out.Names, owner)
			}
		}
		return out, nil
	case law.KindArriving:
		out := &law.Arriving{}
		for _, kv := range kvs {
			var w layout.Waiter
			if err := layout.Decode(kv.Value, &w); err != nil {
				return nil, layout.Unreadable(string(kv.Key), err)
			}
			_, namespace, _, ok := layout.WaitingObject(string(kv.Key))
			if w.Left() == "" || !ok {
				continue
			}
			fqdn, err := mem.layout.ParseWaiting(string(kv.Key))
			if err != nil {
				return nil, layout.Unreadable(string(kv.Key), err)
			}
			out.Records = append(out.Records, law.Arrival{FQDN: fqdn, Namespace: namespace, Left: w.Left()})
		}
		return out, nil
	case law.KindTenantsBelow, law.KindRoster:
		tenants, roster := &law.TenantsBelow{}, &law.Roster{}
		at := map[string]int{}
		for _, kv := range kvs {
			_, owner, ns, _, err := mem.layout.ParseMember(string(kv.Key))
			if err != nil {
				return nil, err
			}
			v, err := layout.DecodeFact(law.Key{Kind: law.KindMember}, kv.Value)
			if err != nil {
				return nil, layout.Unreadable(string(kv.Key), err)
			}
			m := v.(*law.Member)
			i, ok := at[ns]
			if !ok {
				i = len(tenants.Tenants)
				at[ns] = i
				tenants.Tenants = append(tenants.Tenants, law.Tenant{Namespace: ns})
			}
			t := &tenants.Tenants[i]
			t.Records++
			if owner == k.Owner {
				t.At++
			}
			if m.Admission != law.AdmittedUnderscore {
				t.Blocking++
			}
			if m.Absolute {
				roster.Absolute++
			}
			octets := 0
			for _, label := range owner.Labels() {
				octets += len(label) + 1
			}
			roster.Longest = max(roster.Longest, octets)
		}
		if k.Kind == law.KindRoster {
			return roster, nil
		}
		return tenants, nil
	}
	return nil, fmt.Errorf("ledger: kind %d is no range", k.Kind)
}

// stands reports whether what is to be written is there already, by a fact that
// the same transaction proves. Half the keys of a record's update are such.
func (s *session) stands(x law.Write) bool {
	seen, known := s.seen.Get(x.Key)
	if !known || !zoneScoped(x.Key) {
		return false // names are remembered with the revision of their last write
	}
	if s.proof(x.Key) >= 0 && !s.seen.Used(x.Key) {
		return false
	}
	if seen != nil && seen == x.Value {
		return false // one object in two roles says nothing
	}
	return reflect.DeepEqual(seen, x.Value)
}

// guards are the compares that prove the facts (I5).
func (s *session) guards() []clientv3.Cmp {
	mem := s.mem
	drop := mem.dropGuards
	out := make([]clientv3.Cmp, 0, len(s.zones)+len(s.single)+len(s.deep)+len(s.ranges)+2) // and the object's own
	for _, z := range s.zones {
		if drop != "zone" && drop != "all" {
			out = append(out, revisionIs(z.key, z.mod))
		}
	}
	for _, p := range s.single {
		if s.seen.Guarded(p.key) && drop != "facts" && drop != "all" {
			out = append(out, revisionIs(mem.layout.Key(p.key), p.rev))
		}
	}
	for _, p := range s.deep {
		out = append(out, clientv3.Compare(clientv3.ModRevision(mem.layout.Key(p.key)), "<", p.rev+1).WithPrefix())
	}
	for _, p := range s.ranges {
		if s.seen.Used(p.key) {
			out = append(out, clientv3.Compare(clientv3.ModRevision(mem.layout.Key(p.key)), "<", p.rev+1).WithPrefix())
		}
	}
	return out
}

// readZone reads one Zone from etcd; nil when there is none.
func (mem *memory) readZone(ctx context.Context, namespace, object string) (*v1alpha1.Zone, int64, error) {
	key := mem.layout.Zone(namespace, object)
	r, err := mem.client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return nil, 0, err
	}
	o := &v1alpha1.Zone{}
	if err := mem.zones.Decode(ctx, key, r.Kvs[0].Value, r.Kvs[0].ModRevision, o); err != nil {
		return nil, 0, fmt.Errorf("ledger: %s: %w", key, err)
	}
	return o, r.Kvs[0].ModRevision, nil
}

// readRecord reads one Record from etcd; nil when there is none.
func (mem *memory) readRecord(ctx context.Context, namespace, object string) (*v1alpha1.Record, int64, error) {
	key := mem.layout.Record(namespace, object)
	kv, _, err := readKey(ctx, mem.client, key)
	if err != nil || kv == nil {
		return nil, 0, err
	}
	o := &v1alpha1.Record{}
	if err := mem.records.Decode(ctx, key, kv.Value, kv.ModRevision, o); err != nil {
		return nil, 0, fmt.Errorf("ledger: %s: %w: %w", key, errDamaged, err)
	}
	return o, kv.ModRevision, nil
}

// isAt: the zone with that uid stands at the key, as far as this server knows.
func (mem *memory) isAt(ctx context.Context, key, uid string) (bool, error) {
	mem.mu.Lock()
	h := mem.head(key)
	known, zone := h.loaded, h.zone
	mem.mu.Unlock()
	if !known {
		r, err := mem.client.Get(ctx, key)
		if err != nil {
			return false, err
		}
		var kv *mvccpb.KeyValue
		if len(r.Kvs) > 0 {
			kv = r.Kvs[0]
		}
		if err := mem.reload(ctx, h, kv, r.Header.Revision); err != nil {
			return false, err
		}
		mem.mu.Lock()
		zone = h.zone
		mem.mu.Unlock()
	}
	return zone != nil && zone.UID == uid && !zone.Pending, nil
}

// errDamaged: what is stored of a record does not decode, or is nothing the law can read.
var errDamaged = errors.New("a record cannot be read; run kubizone fsck, which says what is damaged")

// decideFromMemory runs the law on what is remembered; an empty outcome: that is not enough.
func (s *session) decideFromMemory(ask law.RecordAsk) law.Outcome {
	for {
		out := law.DecideRecord(s.seen, ask)
		if len(out.Need) == 0 {
			return out
		}
		if missing, ok := s.lookUpAll(dedupe(out.Need)); !ok || len(missing) > 0 {
			return law.Outcome{}
		}
	}
}

// hold asks etcd whether the used facts stand, with the object at its present
// revision. A write begun from an older one will be decided from the newer.
func (s *session) hold(ctx context.Context, key string, before *v1alpha1.Record) (bool, error) {
	var expected uint64
	if before != nil {
		var err error
		if expected, err = (storage.APIObjectVersioner{}).ObjectResourceVersion(before); err != nil {
			return false, err
		}
	}
	cmps := append(s.guards(), revisionIs(key, int64(expected)))
	if len(cmps) > maxCompares {
		return false, nil
	}
	s.mem.stats.Transactions.Add(1)
	r, err := s.mem.client.Txn(ctx).If(cmps...).Commit()
	if err != nil {
		return false, err
	}
	return r.Succeeded, nil
}
