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
	l    *Ledger
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
	// batch is the one that the decision is a part of, nil for none: its zone and facts are as its earlier parts leave them.
	batch *batch
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

func (l *Ledger) session(guess bool) *session {
	return &session{l: l, guess: guess, depth: deepName, seen: law.NewSeen(), single: make([]proof, 0, 8), zones: make([]zoneSeen, 0, 2)}
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
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	for _, k := range keys {
		switch {
		case k.Kind == law.KindZone:
			s.l.head(s.l.layout.Key(k)).loaded = false
		case k.Kind == law.KindHolding:
			s.l.unname(k)
			if h := s.l.byUID[k.Zone]; h != nil {
				h.loaded = false
			}
		case zoneScoped(k):
			if h := s.l.byUID[k.Zone]; h != nil {
				h.loaded = false
			}
		}
	}
	for _, k := range keys {
		if k.Kind == law.KindHolding {
			s.l.doubt[k] = true
		}
	}
}

// stoodAt: the decision looked at the zone, and at the revision that the head
// stands at.
func (s *session) stoodAt(h *head) bool {
	z := s.zone(h.key)
	return z != nil && z.mod == h.mod
}

// lookUp finds a fact in memory: as the batch leaves it, in the index of names, at the head of a zone that the
// decision looked at, or by guess. The caller holds l.mu. false: it has to be read.
func (s *session) lookUp(k law.Key) bool {
	l := s.l
	if s.batch != nil {
		if v, ok := s.batch.facts[k]; ok {
			s.seen.Put(k, v)
			return true
		}
	}
	switch {
	case layout.IsRange(k):
		return false
	case k.Kind == law.KindHolding:
		if l.doubt[k] || k.Name.NumLabels() > s.depth {
			return false
		}
		var holding *law.Holding
		var mod int64
		if x := l.index[k]; x != nil {
			holding, mod = x.holding, x.mod
		}
		s.seen.Put(k, holding)
		s.prove(k, mod)
	case k.Kind == law.KindZone:
		key := l.layout.Key(k)
		if b := s.batch; b != nil && b.head != nil && key == b.head.key {
			s.seen.Put(k, b.zone)
			s.zones = append(s.zones, zoneSeen{key, b.mod, b.base})
			return true
		}
		h := l.heads[key]
		if h == nil || !h.loaded {
			return false
		}
		s.sawZone(k, h)
	case !zoneScoped(k):
		return false
	default:
		h := l.byUID[k.Zone]
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
	if s.batch == nil {
		return nil
	}
	for _, k := range need {
		if !layout.IsRange(k) {
			continue
		}
		prefix := s.l.layout.Key(k)
		for written := range s.batch.facts {
			if at := written.Owner == k.Owner && k.Kind != law.KindTenantsBelow; !at && strings.HasPrefix(s.l.layout.Key(written), prefix) {
				return &overlapError{k.Owner.String()}
			}
		}
		for _, x := range s.batch.puts {
			if strings.HasPrefix(x.key, prefix) {
				return &overlapError{k.Owner.String()}
			}
		}
	}
	return nil
}

// lookUpAll finds facts in memory. missing have to be read; not ok: they are asked for again, or have no place in memory.
func (s *session) lookUpAll(need []law.Key) (missing []law.Key, ok bool) {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
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
	s.l.mu.Lock()
	for _, k := range need {
		switch {
		case k.Kind == law.KindHolding && k.Name.NumLabels() > s.depth:
			deep = append(deep, k)
		case !s.lookUp(k):
			read = append(read, k)
		}
	}
	s.l.mu.Unlock()
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
		r, err := s.l.config.Client.Get(ctx, s.l.layout.Key(all), clientv3.WithPrefix())
		if err != nil {
			return err
		}
		v, err := s.l.decodeRange(all, r.Kvs)
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
					if string(kv.Key) == s.l.layout.Key(k) {
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
	l := s.l
	var ops []clientv3.Op
	for _, k := range keys {
		ops = append(ops, l.get(k))
	}
	zones := s.homes(keys)
	for _, z := range zones {
		ops = append(ops, clientv3.OpGet(z.key))
	}
	l.stats.Reads.Add(1)
	r, err := l.config.Client.Txn(ctx).Then(ops...).Commit()
	if errors.Is(err, rpctypes.ErrTooManyOps) && len(keys) > 1 {
		l.narrow(len(ops))
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
		if err := l.reload(ctx, z, kv, r.Header.Revision); err != nil {
			return err
		}
		// A fact is covered by its zone's revision where the decision compares that anyway.
		seen := s.zone(z.key)
		compared := seen != nil
		moved = moved || compared && seen.mod != modRevision(kv)
		l.mu.Lock()
		if compared && z.zone != nil && z.mod == modRevision(kv) {
			covered[z.zone.UID] = z.mod
		}
		l.mu.Unlock()
	}
	for i, k := range keys {
		if err := s.take(ctx, k, r.Responses[i], r.Header.Revision, covered[k.Zone]); err != nil {
			return err
		}
	}
	if moved && s.batch != nil {
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
	l := s.l
	kvs := r.GetResponseRange().Kvs
	if layout.IsRange(k) {
		v, err := l.decodeRange(k, kvs)
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
		l.mu.Lock()
		h := l.head(l.layout.Key(k))
		l.mu.Unlock()
		if err := l.reload(ctx, h, kv, rev); err != nil {
			return err
		}
		l.mu.Lock()
		s.sawZone(k, h)
		l.mu.Unlock()
		return nil
	}
	var v any
	if kv != nil {
		var err error
		if v, err = layout.DecodeFact(k, kv.Value); err != nil {
			return unreadable(string(kv.Key), err)
		}
	}
	s.seen.Put(k, v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.Kind == law.KindHolding {
		h, _ := v.(*law.Holding)
		s.seen.Put(k, h)
		delete(l.doubt, k)
		l.remember(k, h, modRevision(kv))
	}
	if covered != 0 {
		if h := l.byUID[k.Zone]; h != nil && h.mod == covered { // a write since may have changed it, and knows it
			h.know(k, v)
		}
		return nil
	}
	s.prove(k, modRevision(kv))
	return nil
}

// homes are the heads of the zones that the keys belong to.
func (s *session) homes(keys []law.Key) []*head {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	var out []*head
	for _, k := range keys {
		if h := s.l.byUID[k.Zone]; zoneScoped(k) && h != nil && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// get is the operation that fetches a fact.
func (l *Ledger) get(k law.Key) clientv3.Op {
	key := l.layout.Key(k)
	if layout.IsRange(k) {
		return clientv3.OpGet(key, clientv3.WithPrefix())
	}
	return clientv3.OpGet(key)
}

func one(r *etcdserverpb.ResponseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().Kvs; len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

func modRevision(kv *mvccpb.KeyValue) int64 {
	if kv == nil {
		return 0
	}
	return kv.ModRevision
}

// reload makes a head stand at what was read of its zone at revision rev, unless it knows better: a read that took long
// does not take back what a write has made since, be it a zone or its removal.
func (l *Ledger) reload(ctx context.Context, h *head, kv *mvccpb.KeyValue, rev int64) error {
	l.mu.Lock()
	known := h.knows(kv, rev)
	if kv == nil && !known {
		l.absent(h, rev)
	}
	l.mu.Unlock()
	if known || kv == nil {
		return nil
	}
	object := &v1alpha1.Zone{}
	if err := l.config.Zones.decode(ctx, h.key, kv.Value, kv.ModRevision, object); err != nil {
		return fmt.Errorf("ledger: %s: %w", h.key, err)
	}
	zone, err := LawZone(object)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !h.knows(kv, rev) {
		l.set(h, object, zone, kv.ModRevision)
	}
	return nil
}

// knows: the head stands at what was read at revision rev, or at something later. The caller holds l.mu.
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
func (l *Ledger) decodeRange(k law.Key, kvs []*mvccpb.KeyValue) (any, error) {
	switch k.Kind {
	case law.KindZonesBelow:
		out := &law.ZonesBelow{}
		for _, kv := range kvs {
			key, h, err := l.decodeName(kv)
			if err != nil {
				return nil, err
			}
			out.Zones = append(out.Zones, law.ZoneBelow{FQDN: key.Name, Holding: *h})
		}
		return out, nil
	case law.KindOwnersBelow:
		out := &law.OwnersBelow{}
		for _, kv := range kvs {
			_, owner, err := l.layout.ParseOwner("owners", string(kv.Key))
			if err != nil {
				return nil, err
			}
			v, err := layout.DecodeFact(law.Key{Kind: law.KindOwner}, kv.Value)
			if err != nil {
				return nil, unreadable(string(kv.Key), err)
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
			_, base, err := l.layout.ParseOwner("holders", string(kv.Key))
			if err != nil {
				return nil, err
			}
			if base == k.Owner {
				continue
			}
			v, err := layout.DecodeFact(law.Key{Kind: law.KindHolders}, kv.Value)
			if err != nil {
				return nil, unreadable(string(kv.Key), err)
			}
			out.Add(v.(*law.Holders))
		}
		return out, nil
	case law.KindListedBelow:
		out := &law.ListedBelow{}
		for _, kv := range kvs {
			_, owner, err := l.layout.ParseOwner("listed", string(kv.Key))
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
				return nil, unreadable(string(kv.Key), err)
			}
			_, namespace, _, ok := layout.WaitingObject(string(kv.Key))
			if w.Left() == "" || !ok {
				continue
			}
			fqdn, err := l.layout.ParseWaiting(string(kv.Key))
			if err != nil {
				return nil, unreadable(string(kv.Key), err)
			}
			out.Records = append(out.Records, law.Arrival{FQDN: fqdn, Namespace: namespace, Left: w.Left()})
		}
		return out, nil
	case law.KindTenantsBelow, law.KindRoster:
		tenants, roster := &law.TenantsBelow{}, &law.Roster{}
		at := map[string]int{}
		for _, kv := range kvs {
			_, owner, ns, _, err := l.layout.ParseMember(string(kv.Key))
			if err != nil {
				return nil, err
			}
			v, err := layout.DecodeFact(law.Key{Kind: law.KindMember}, kv.Value)
			if err != nil {
				return nil, unreadable(string(kv.Key), err)
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
	l := s.l
	drop := l.config.dropGuards
	out := make([]clientv3.Cmp, 0, len(s.zones)+len(s.single)+len(s.deep)+len(s.ranges)+2) // and the object's own
	for _, z := range s.zones {
		if drop != "zone" && drop != "all" {
			out = append(out, revisionIs(z.key, z.mod))
		}
	}
	for _, p := range s.single {
		if s.seen.Guarded(p.key) && drop != "facts" && drop != "all" {
			out = append(out, revisionIs(l.layout.Key(p.key), p.rev))
		}
	}
	for _, p := range s.deep {
		out = append(out, clientv3.Compare(clientv3.ModRevision(l.layout.Key(p.key)), "<", p.rev+1).WithPrefix())
	}
	for _, p := range s.ranges {
		if s.seen.Used(p.key) {
			out = append(out, clientv3.Compare(clientv3.ModRevision(l.layout.Key(p.key)), "<", p.rev+1).WithPrefix())
		}
	}
	return out
}
