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
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
)

func (g *group) reply(a Answer) {
	if a.Out = g.members[0].out; !a.Out.OK {
		g.order.breakOff()
	}
	g.answered, a.overtaken = true, g.overtaken
	g.answer <- a
}

func replyAll(groups []*group, a Answer) {
	for _, g := range groups {
		if !g.answered {
			g.reply(a)
		}
	}
}

func (g *group) endTry(raced bool) {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	g.admitted, g.overtaken = false, g.overtaken || raced
}

// answerCommitted answers the groups of a committed batch, and updates memory. The transaction had the etcd revision
// rev, and versions are those of its operations, in the order of b.then.
func (b *batch) answerCommitted(rev int64, versions []int64, trip time.Duration) {
	com := b.com
	if len(b.members) > 1 {
		com.Mem.Stats.Batches.Add(1)
	}
	com.Usage.noteCounts(b.change, b.Facts)
	// Answer first: callers need not wait for the callbacks.
	b.answerLocked(rev, versions, trip)
	if b.change != nil && b.change.BeginsHold {
		com.OnHold(b.object.DeepCopy())
	}
	if notices := b.listNotices(); len(notices) > 0 {
		com.Notify(b.object.DeepCopy(), notices)
	}
}

// listNotices returns the batch's notices, for Events. A name hidden by one write may have got data by a later one:
// such a notice is left out.
func (b *batch) listNotices() []law.Notice {
	if b.change == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.change.Notices), func(x law.Notice) bool {
		at, _ := x.Name.Rel(b.change.Zone.FQDN())
		o, _ := b.Facts[law.OwnerKey(b.change.Zone.UID, at)].(*law.Owner)
		return x.Reason == law.NoticeNameHidden && o != nil && len(o.Values) > 0
	})
}

// answerLocked updates memory and answers the groups, both under Memory.Mu, so that a client's next write finds the
// result of the write before in memory.
func (b *batch) answerLocked(rev int64, versions []int64, trip time.Duration) {
	com := b.com
	com.Mem.Mu.Lock()
	defer com.Mem.Mu.Unlock()
	// 1. Let another server commit at the zone next, if there is one.
	for _, h := range b.locks {
		if time.Since(h.lastContention) < contentionPeriod {
			h.yieldFor = min(time.Duration(yieldTrips+h.yieldRequests)*trip, maxYield)
		} else {
			h.yieldRequests = 0
		}
	}
	// 2. Give each object a version of the response.
	zoneRev := rev
	if b.zoneAt >= 0 {
		zoneRev = versions[b.zoneAt]
	}
	for _, m := range b.writers {
		if m.Plan, m.moved, m.out = m.plan, false, (Outcome{OK: true, Rev: rev}); m.writesObject() { // the objects come first
			m.out.Rev, versions = versions[0], versions[1:]
		}
	}

	// 3. Update memory before the first answer.
	if b.queue != nil {
		b.queue.waiting = b.answerOvertaken(b.queue.waiting)
	}
	b.rememberResult(rev, zoneRev)

	// 4. Answer. A refusal is final now: the transaction has proved its facts.
	for _, g := range b.groups {
		if w := g.members[0]; g.set == nil && g.onlyCompares && !g.preview {
			g.reply(Answer{Err: Status(w.Resource, w.Name, w.refusal)})
		} else {
			g.reply(Answer{})
		}
	}
}

// answerOvertaken answers the waiting groups whose objects this batch has written, and returns the others. Their
// compares would fail anyway. The callers get the stored object, and try again.
func (b *batch) answerOvertaken(waiting []*group) []*group {
	return slices.DeleteFunc(waiting, func(g *group) bool {
		for _, w := range g.members {
			for _, m := range b.writers {
				if !m.out.OK || !m.writesObject() || m.Key != w.Key {
					continue
				}
				w.moved, w.out = true, Outcome{Rev: m.out.Rev}
				if m.op.IsPut() {
					// A deleted object is absent: KV stays nil.
					w.out.KV = &mvccpb.KeyValue{Key: []byte(m.Key), Value: m.op.ValueBytes(), ModRevision: m.out.Rev}
				}
			}
		}
		if g.hasMoved() {
			g.reply(Answer{})
		}
		return g.hasMoved()
	})
}

// rememberResult moves memory to the state after the transaction: names, the Zone with the facts there, and outbox
// items. The caller holds Memory.Mu.
func (b *batch) rememberResult(rev, zoneRev int64) {
	com := b.com
	for k, v := range b.Facts {
		// An earlier batch's read of the key is older than this write.
		delete(b.CachedFacts, k)
		if k.Kind == law.KindHolding {
			h, _ := v.(*law.Holding)
			com.Mem.UpdateName(k, h, rev)
		}
	}
	if c := b.change; c != nil {
		// The change may be of another zone than the queue's, for example of a Zone just created.
		h := com.queueAt(com.Mem.Layout.Zone(c.Zone.Namespace, c.Zone.Name))
		for i := range b.steps.Steps {
			if !b.hasOutboxItem() { // names freed by cascades wait for the outbox's next round
				com.noteFreed(c.Zone, &b.steps.Steps[i])
			}
		}
		// A reload by another goroutine may already have a later revision.
		if h.Mod <= rev {
			if c.Removed {
				com.Mem.SetCachedZoneAbsent(h.CachedZone, rev)
			} else {
				com.Mem.CommitCachedZone(h.CachedZone, &b.Overlay, b.object, zoneRev, b.readSets)
			}
		}
		if b.journalOctets > 0 {
			com.Journal.CountWrite(&h.trimming, h.Key, b.object, rev, len(b.steps.Steps), b.journalOctets,
				b.stateOctets)
		}
	} else if b.object != nil && b.queue.Mod == b.Mod { // rewritesZone: same content, new revision
		b.queue.Object, b.queue.Mod = b.object, zoneRev
	}
	for _, t := range b.itemUpdates {
		// The cascade that runs here must not take this write for another server's.
		t.item.Work, t.item.Mod = t.work, rev
	}
	for _, m := range b.writers {
		if m.plan != nil && m.plan.Work != nil {
			com.OwnItem(m.plan.Work.ID)
		}
	}
}

// answerMoved handles a group (a write or a change set) whose facts (stored values read by the decision) contradict its
// objects. The group is decided again after the first contradiction, because a guess may have caused the contradiction:
// for example, a set writes *.b, guessed absent, and then moves a Record away from *.b. A change set has
// up to maxContradictions tries, because its zone may have changed. In both cases answerMoved returns true. If an
// object has changed, the caller begins again. Otherwise the error reports damage.
func (b *batch) answerMoved(ctx context.Context, g *group) (again bool) {
	if g.contradictions++; g.contradictions == 1 {
		return true
	}
	if g.preview {
		g.reply(Answer{Err: facts.ErrMoved})
		return false
	}

	// Read the objects: if none has changed, facts and object contradict each other in etcd itself.
	var damaged error
	for _, m := range g.members {
		kv, rev, err := etcd.ReadKey(ctx, b.com.Mem.Client, m.Key)
		if err != nil {
			damaged = err
		} else if !m.compareStored(kv, rev) {
			damaged = fmt.Errorf("%s contradicts its stored index keys: run kubizone fsck, which names the damage", m.Key)
		}
	}

	switch {
	case g.hasMoved():
		g.reply(Answer{})
	case g.set == nil || g.contradictions > maxContradictions:
		// No other writer changed the object, so no retry can help.
		g.reply(Answer{Err: damaged})
	default:
		return true
	}
	return false
}

func (m *member) compareStored(kv *mvccpb.KeyValue, rev int64) (moved bool) {
	if m.moved = kv.GetModRevision() != m.Expected; m.moved {
		m.out = Outcome{Rev: rev, KV: kv}
	}
	return m.moved
}

// resolveConflicts follows a failed compare: it answers some groups, and returns the groups to decide again. The slice
// stored has the compared keys at revision rev, first the zones, then the objects.
func (b *batch) resolveConflicts(ctx context.Context, rev int64, stored []*mvccpb.KeyValue) (again []*group) {
	com := b.com
	// 1. Compare the objects, then the zones.
	hasMovedObject := false
	for i, kv := range stored[len(b.zones):] {
		if b.members[i].compareStored(kv, rev) {
			hasMovedObject = true
		}
	}
	moved, unlocked, err := b.reloadMoved(ctx, rev, stored)
	if err != nil {
		replyAll(b.groups, Answer{Err: err})
		return nil
	}
	// 2. Zones and objects are as read. So a holding in the index, such as the parent's, must be outdated.
	onlyNamesCanBeWrong := !hasMovedObject && len(moved) == 0
	if onlyNamesCanBeWrong {
		com.Mem.MarkNamesStale(b.readSets...)
	}

	// 3. Answer the groups that cannot go on, and keep the others.
	refreshed := map[*Item]error{nil: nil} // a client's write has no outbox item
	for _, g := range b.groups {
		item := g.firstWrite().OutboxItem
		if _, known := refreshed[item]; !known {
			refreshed[item] = item.Refresh(ctx, com.Mem)
		}
		needs := b.locksFor(g, unlocked)
		switch {
		case refreshed[item] != nil:
			// Another server has the cascade now, or has ended the work.
			g.reply(Answer{Err: refreshed[item]})
		case g.followsFailure(), g.hasMoved(): // etcd3 runs the caller's update again, or reports AlreadyExists
			g.reply(Answer{})
		case len(needs) > 0:
			// Another zone changed under the group: with its lock, the next try cannot lose to this server's writes
			// there.
			g.reply(Answer{Locks: needs})
		default:
			again = append(again, g)
		}
	}
	klog.FromContext(ctx).V(4).Info("groups decided anew", "groups", len(again), "moved", moved, "try", b.retries)
	return again
}

// locksFor returns the keys of the zones to lock before a group's next try: the zones locked now, and the changed
// zones that the group has read without a lock (unlocked). A preview needs no lock, nor do the first two tries of
// several groups.
func (b *batch) locksFor(g *group, unlocked []string) (needs []string) {
	mayTryUnlocked := len(b.groups) > 1 && b.retries <= 1
	if g.preview || mayTryUnlocked {
		return nil
	}
	needs = slices.DeleteFunc(slices.Clone(unlocked), func(key string) bool { return !g.hasReadZone(key) })
	if len(needs) == 0 {
		return nil
	}
	for _, h := range b.locks {
		needs = append(needs, h.Key)
	}
	return needs
}

// hasReadZone reports whether a decision of the group has read a Zone besides the written one.
func (g *group) hasReadZone(key string) bool {
	return slices.ContainsFunc(g.members, func(m *member) bool {
		return key != m.Key && m.readSet != nil && m.readSet.Zone(key) != nil
	})
}

// reloadMoved updates memory with the zones in stored that have another revision than the decisions read. The results
// are the keys of these zones, and of those among them that the batch has not locked.
func (b *batch) reloadMoved(ctx context.Context, rev int64, stored []*mvccpb.KeyValue) (moved, unlocked []string, err error) {
	mem := b.com.Mem
	for i, z := range b.zones {
		kv := stored[i]
		if kv.GetModRevision() == z.Mod {
			continue
		}
		moved = append(moved, z.Key)
		mem.Mu.Lock()
		heads := []*facts.CachedZone{mem.CachedZone(z.Key)}
		if i := slices.IndexFunc(b.locks, func(q *queue) bool { return q.Key == z.Key }); i >= 0 {
			// The batch had the lock, so another server wrote the zone. Every second time, ask that server for a pause.
			q := b.locks[i]
			heads = append(heads, q.CachedZone) // memory may have replaced the cached zone while the write waited
			if q.lastContention, q.yieldRequests = time.Now(), 0; b.retries%2 == 1 {
				mem.Spawn(func() { b.com.requestYield(q.Key) })
			}
		} else {
			unlocked = append(unlocked, z.Key)
		}
		mem.Mu.Unlock()
		// Decodes the Zone, so without Memory.Mu.
		for _, h := range heads {
			if err := mem.Reload(ctx, h, kv, rev); err != nil {
				return nil, nil, err
			}
		}
	}
	return moved, unlocked, nil
}

// shrinkNext follows etcd's refusal of a transaction for too many operations or octets. It returns the groups to try
// again in smaller batches, or answers the only group with the error.
func (b *batch) shrinkNext(err error) (again []*group) {
	g, operations := b.groups[0], max(len(b.cmps), len(b.then))
	switch {
	case errors.Is(err, rpctypes.ErrDuplicateKey):
		// A fault of this program, which no smaller batch repairs.
	case errors.Is(err, rpctypes.ErrTooManyOps):
		if b.saveOperations(operations) {
			return b.groups
		}
		// A single group with more operations than etcd's --max-txn-ops: 413, with the number to set.
		err = g.tooManyOperations(operations)
	case len(b.groups) > 1:
		b.bound = min(b.bound, b.octets) / 2
		return b.groups
	default:
		// A single group with more octets than etcd's --max-request-bytes: 413.
		err = g.tooLong(b.size)
	}
	replyAll(b.groups, Answer{Err: err})
	return nil
}

// saveOperations makes the next tries need fewer operations than the given number, or returns false.
func (b *batch) saveOperations(operations int) bool {
	mem, g := b.com.Mem, b.groups[0]
	if len(b.groups) > 1 {
		// isFull keeps the next batches below the lower limit.
		mem.LowerOps(operations)
		return true
	}
	hasGuessed := b.retries == 0 && g.firstWrite().Guess
	if hasGuessed && g.set != nil {
		// Reads need fewer compares than guesses.
		b.raced = true
		return true
	}
	// A lower limit saves compares.
	return int64(operations) <= mem.Ops.Load() && mem.LowerOps(operations)
}

// answerPanic answers groups after a panic, and returns the groups to decide again. If the transaction was sent, each
// unanswered group of the batch gets the error. Otherwise only the guilty group, whose decision panicked, gets the
// error. If the guilty group is unknown, each group is decided again in a batch of its own.
func (b *batch) answerPanic(err error, groups []*group) (others []*group) {
	// 1. The transaction may be committed, so read again before the next decision.
	if b.sent {
		b.com.Mem.DropFacts(b.readSets...)
		if b.queue != nil {
			b.com.Mem.InvalidateCachedZone(b.queue.Key)
		}
	}

	// 2. Answer the sent groups.
	for _, g := range groups {
		isSent := b.sent && slices.Contains(b.groups, g)
		switch {
		case g.answered:
		case isSent:
			g.reply(Answer{Err: err, sent: true})
		default:
			others = append(others, g)
		}
	}
	if b.sent || len(others) == 0 {
		return others
	}

	// 3. Find the guilty group. A panic outside a decision has none, unless a single group was in the batch.
	guilty := b.deciding
	hadOneGroup := len(others) == 1 || others[0].alone
	if guilty == nil && hadOneGroup {
		guilty = others[0]
	}

	// The next batches have a group each, so a second panic finds the guilty one.
	if guilty == nil {
		for _, g := range others {
			g.alone = true
		}
		return others
	}

	return slices.DeleteFunc(others, func(g *group) bool {
		if g == guilty {
			g.reply(Answer{Err: err})
		}
		return g == guilty
	})
}
