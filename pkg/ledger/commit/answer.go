// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/facts"
)

// answerPanic answers what a panic has left without an answer: all that may be committed, or the request that was
// being decided. Where that is not known each request is decided by itself. It returns the others.
func (b *batch) answerPanic(err error, requests []*request) (others []*request) {
	guilty := b.deciding
	if b.sent {
		b.dropFacts()
		if b.head != nil {
			b.com.mem.Unknown(b.head.Key)
		}
	}
	for _, r := range requests {
		switch in := slices.ContainsFunc(b.members, func(m member) bool { return m.request == r }); {
		case r.answered:
		case b.sent && in, r.set != nil:
			r.reply(Answer{Err: err, sent: b.sent})
		default:
			others = append(others, r)
		}
	}
	if b.sent || len(others) == 0 {
		return others
	}
	if guilty == nil && (len(others) == 1 || others[0].alone) {
		guilty = others[0]
	}
	for _, r := range others {
		r.alone = r.alone || guilty == nil
	}
	return slices.DeleteFunc(others, func(r *request) bool {
		if r == guilty {
			r.reply(Answer{Err: err})
		}
		return r == guilty
	})
}

// dropFacts forgets what a transaction of unknown outcome may have changed.
func (b *batch) dropFacts() {
	for i := range b.members {
		b.com.mem.Drop(b.members[i].session)
	}
}

// isRefusedByEtcd reports whether etcd has refused a transaction before anything of it was done.
func isRefusedByEtcd(err error) bool {
	return errors.Is(err, rpctypes.ErrTooManyOps) || errors.Is(err, rpctypes.ErrDuplicateKey) || etcd.TooLarge(err)
}

// shrinkNext makes the next batches smaller, after etcd has refused this one as too large. It answers a write that is
// too large by itself, and a set, and returns what is to be decided anew.
func (b *batch) shrinkNext(err error, then []clientv3.Op) (again []*request) {
	most := max(len(b.cmps), len(then))
	many := errors.Is(err, rpctypes.ErrTooManyOps)
	switch {
	case b.set != nil && many && b.set.guesses():
		b.raced = true // fewer compares may do
		return b.requests()
	case b.set != nil && many:
		err = b.set.tooLarge(most)
	case b.set != nil && etcd.TooLarge(err):
		err = b.set.tooLarge(0)
	case many && len(b.members) > 1:
		b.com.mem.Narrow(most)
		return b.requests()
	case many:
		if int64(most) <= b.com.mem.Ops.Load() && b.com.mem.Narrow(most) { // fewer facts may do, and else it is refused for them
			return b.requests()
		}
		err = tooManyOperations(b.members[0].w, most)
	case etcd.TooLarge(err) && len(b.members) > 1:
		b.bound = min(b.bound, b.octets) / 2
		return b.requests()
	case etcd.TooLarge(err):
		err = tooLong(b.members[0].w, countOctets(then))
	}
	b.answerAll(Answer{Err: err})
	return nil
}

func (b *batch) answerAll(a Answer) { replyAll(b.requests(), a) }

// applyResult takes what the transaction made true into memory, and answers the requests.
func (b *batch) applyResult(r *clientv3.TxnResponse, trip time.Duration) {
	com := b.com
	if b.provesOnly() {
		b.answerAll(Answer{behind: true})
		return
	}
	if len(b.members) > 1 {
		com.mem.Stats.Batches.Add(1)
	}
	com.Usage.noteCounts(b.change, b.Facts)
	b.applyLocked(r, trip)
	if b.change != nil && b.change.Held && com.held != nil {
		com.held(b.object.DeepCopy())
	}
	if hides := b.listHidden(); len(hides) > 0 && com.hides != nil {
		com.hides(b.object.DeepCopy(), hides)
	}
}

// listHidden lists the names that the batch hides from a wildcard (law.ZoneChange.Hides) and leaves without data.
func (b *batch) listHidden() []name.Name {
	if b.change == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.change.Hides), func(n name.Name) bool {
		at, _ := n.Rel(b.change.Zone.FQDN())
		o, _ := b.Facts[law.OwnerKey(b.change.Zone.UID, at)].(*law.Owner)
		return o != nil && len(o.Values) > 0
	})
}

// applyLocked is applyResult under Memory.Mu.
func (b *batch) applyLocked(r *clientv3.TxnResponse, trip time.Duration) {
	com, rev := b.com, r.Header.Revision
	com.mem.Mu.Lock()
	defer com.mem.Mu.Unlock()
	for _, h := range b.locks {
		if time.Since(h.met) < contention {
			h.yield = min(time.Duration(yieldTrips+h.asked)*trip, maxYield)
		} else {
			h.asked = 0
		}
	}
	zoneRev := rev
	if b.zoneAt >= 0 && len(r.Responses) > 0 {
		zoneRev = etcd.VersionAt(r, b.offset+b.zoneAt)
	}
	b.rememberResult(rev, zoneRev)
	next := b.offset // of the responses, in which the objects of a batch stand first
	for i := range b.members {
		m := &b.members[i]
		if m.refusal != nil {
			m.reply(Answer{Err: Status(m.w.Resource, m.w.Name, m.refusal)})
			continue
		}
		m.w.Plan = m.plan
		out := Outcome{OK: true, Rev: rev}
		if m.writesObject() {
			out.Rev = etcd.VersionAt(r, next)
			next++
			m.at = out.Rev
		}
		m.reply(Answer{Out: out})
	}
	if b.head != nil {
		b.head.waiting = b.answerOvertaken(b.head.waiting)
	}
}

// answerOvertaken answers requests that began from an object as it stood before the batch wrote it, and returns the
// others.
func (b *batch) answerOvertaken(waiting []*request) []*request {
	return slices.DeleteFunc(waiting, func(r *request) bool {
		i := slices.IndexFunc(b.members, func(m member) bool { return m.at > 0 && m.w.Key == r.w.Key })
		if i < 0 {
			return false
		}
		m := &b.members[i]
		out := Outcome{Rev: m.at}
		if m.op.IsPut() {
			out.KV = &mvccpb.KeyValue{Key: []byte(m.w.Key), Value: m.op.ValueBytes(), ModRevision: m.at}
		}
		r.reply(Answer{Out: out})
		return true
	})
}

// rememberResult takes what the transaction at rev made true of the zone, whose version is zoneRev, and of names into
// memory. The caller holds Memory.Mu.
func (b *batch) rememberResult(rev, zoneRev int64) {
	com := b.com
	if c := b.change; c != nil {
		h := com.queueAt(com.mem.Layout.Zone(c.Zone.Namespace, c.Zone.Name))
		if b.journal > 0 {
			com.jr.Wrote(&h.trimming, h.Key, b.object, rev, len(b.steps.Steps), b.journal)
		}
		if !slices.ContainsFunc(b.members, func(m member) bool { return m.w.Item != nil }) {
			for i := range b.steps.Steps { // what cascades take away, a round finds
				com.noteFreed(c.Zone, &b.steps.Steps[i])
			}
		}
		if h.Mod <= rev {
			if c.Gone {
				com.mem.Absent(h.Head, rev)
			} else {
				b.advanceHead(h.Head, c.Zone, zoneRev)
			}
		}
	} else if b.object != nil && b.head.Mod == b.Mod { // it moved as it is
		b.object = b.Base.DeepCopy()
		b.head.Object, b.head.Mod = b.object, zoneRev
	}
	for k, v := range b.Facts {
		delete(b.Read, k)
		if k.Kind == law.KindHolding {
			h, _ := v.(*law.Holding)
			com.mem.Remember(k, h, rev)
		}
	}
	for _, t := range b.touched {
		t.s.Work, t.s.Mod = t.next, rev
	}
	for i := range b.members {
		if p := b.members[i].plan; p != nil && p.Work != nil {
			com.works[p.Work.ID] = true
			com.Rouse()
		}
	}
}

// advanceHead moves the head of the zone to rev. Facts in memory hold on, unless the zone was read at a revision
// between, or is pending: then its keys are purged, and it may come again with others. The caller holds Memory.Mu.
func (b *batch) advanceHead(h *facts.Head, zone *law.Zone, rev int64) {
	facts := h.Facts
	if h.Mod != b.Mod && h.Mod != rev || zone.Pending {
		facts = nil
	}
	b.com.mem.StandAt(h, b.object, zone, rev)
	h.Facts = facts
	for i := range b.members {
		s := b.members[i].session
		for _, p := range s.Single { // a guess that held is knowledge
			if p.Key.Zone == zone.UID && s.Seen.Used(p.Key) {
				v, _ := s.Seen.Get(p.Key)
				h.Note(p.Key, v)
			}
		}
	}
	for k, v := range b.Facts {
		if k.Zone == zone.UID && k.Kind != law.KindMember { // no decision asks for that
			h.Note(k, v)
		}
	}
}

// resolveConflicts reads what stands where a compare failed, and returns the requests to be decided again. A write
// whose object has changed is answered with the new object. Where a zone moved that the batch has no lock of, the
// writes that looked at it take that lock first.
func (b *batch) resolveConflicts(ctx context.Context, r *clientv3.TxnResponse) (again []*request) {
	com := b.com
	if len(r.Responses) == 0 {
		var err error
		if r, err = com.mem.Client.Txn(ctx).Then(b.readCompared()...).Commit(); err != nil {
			b.answerAll(Answer{Err: err})
			return nil
		}
	}
	moved, strange, err := b.reloadMoved(ctx, r)
	if err != nil {
		b.answerAll(Answer{Err: err})
		return nil
	}
	explained := len(moved) > 0
	refreshed := map[*Item]error{}
	for i := range b.members {
		m := &b.members[i]
		kv := etcd.One(r.Responses[len(b.zones)+i])
		own := etcd.ModRevision(kv) != m.w.Expected
		explained = explained || own
		if s := m.w.Item; s != nil {
			if _, known := refreshed[s]; !known {
				refreshed[s] = s.Refresh(ctx, com.mem)
			}
			if err := refreshed[s]; err != nil {
				m.reply(Answer{Err: err})
				continue
			}
		}
		needs := b.locksFor(m, strange)
		switch {
		case m.isBehind():
			m.reply(Answer{behind: true})
		case own: // etcd3 runs the caller's update again, or reports AlreadyExists
			m.reply(Answer{Out: Outcome{Rev: r.Header.Revision, KV: kv}})
		case len(needs) > 0:
			m.reply(Answer{Locks: needs})
		default:
			again = append(again, m.request)
		}
	}
	if !explained { // then a name is not held as it is remembered
		com.mem.Mu.Lock()
		for i := range b.members {
			com.mem.Suspect(b.members[i].session)
		}
		com.mem.Mu.Unlock()
	}
	klog.FromContext(ctx).V(4).Info("writes decided anew", "writes", len(again), "moved", moved, "try", b.try)
	return again
}

// locksFor are the locks that a write needs to be decided anew: those of the batch, and of the strange zones that it
// looked at; none where it needs none of these, or may yet go with the others.
func (b *batch) locksFor(m *member, strange []string) (needs []string) {
	if len(b.members) > 1 && b.try <= 1 {
		return nil
	}
	for _, key := range strange {
		if key != m.w.Key && m.session.Zone(key) != nil {
			needs = append(needs, key)
		}
	}
	if len(needs) == 0 {
		return nil
	}
	for _, h := range b.locks {
		needs = append(needs, h.Key)
	}
	return needs
}

// reloadMoved reads the zones that have moved into memory, and notes another server that was met there. strange are
// those whose lock the batch does not have.
func (b *batch) reloadMoved(ctx context.Context, r *clientv3.TxnResponse) (moved, strange []string, err error) {
	mem := b.com.mem
	for i, z := range b.zones {
		kv := etcd.One(r.Responses[i])
		if etcd.ModRevision(kv) == z.Mod {
			continue
		}
		moved = append(moved, z.Key)
		mem.Mu.Lock()
		heads := []*facts.Head{mem.Head(z.Key)}
		if i := slices.IndexFunc(b.locks, func(q *queue) bool { return q.Key == z.Key }); i >= 0 {
			q := b.locks[i]
			heads = append(heads, q.Head) // another zone may have put it out of memory while this write was about to wait
			if q.met, q.asked = time.Now(), 0; b.try%2 == 1 {
				mem.Spawn(func() { b.com.askFor(q.Key) })
			}
		} else {
			strange = append(strange, z.Key)
		}
		mem.Mu.Unlock()
		for _, h := range heads {
			if err := mem.Reload(ctx, h, kv, r.Header.Revision); err != nil {
				return nil, nil, err
			}
		}
	}
	return moved, strange, nil
}

// presentState returns the outcome of a write whose object has changed since it was read: the present object.
func (com *Committer) presentState(ctx context.Context, w *Write) (Outcome, error) {
	kv, rev, err := etcd.ReadKey(ctx, com.mem.Client, w.Key)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Rev: rev, KV: kv}
	if etcd.ModRevision(out.KV) == w.Expected {
		return Outcome{}, fmt.Errorf("what is known of %s does not go together with it: run kubizone fsck, which says what is damaged", w.Key)
	}
	return out, nil
}
