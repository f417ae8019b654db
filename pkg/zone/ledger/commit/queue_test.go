// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
)

// Whether the disk is slow is decided by the least of the last commit latencies. A single delay for another reason does
// not count, but on a slow disk even the least is long.
func TestLatencies_theLeastOfTheLastCounts(t *testing.T) {
	com := New(Config{Mem: facts.New(facts.Config{}), SlowCommit: SlowCommit})
	for _, x := range []struct {
		trip time.Duration
		n    int
		slow bool
	}{
		{0, 0, false},
		{SlowCommit, 1, true}, // the only measurement
		{SlowCommit / 2, 1, false},
		{3 * SlowCommit, manyLatencies - 1, false},
		{SlowCommit, 1, true},
		{SlowCommit - 1, 1, false},
	} {
		for range x.n {
			com.latency.note(x.trip)
		}
		if got := (com.latency.least() >= com.SlowCommit); got != x.slow {
			t.Errorf("after %d commits of %s: slow is %t, want %t (the least is %s)", x.n, x.trip, got, x.slow, com.latency.least())
		}
	}
}

// On a slow disk a batch waits for further writes, so that fewer transactions are needed. On a fast disk there is no
// wait, nor after a small batch, since few writers are there.
func TestWaitForBatch_waitsWhereTheDiskIsSlow(t *testing.T) {
	for _, x := range []struct {
		turn time.Duration
		size int
		want int // batch size to wait for
	}{
		{SlowCommit, largeBatch, largeBatch},
		{SlowCommit, largeBatch - 1, 0},
		{SlowCommit / 2, largeBatch, 0},
	} {
		com, h := New(Config{Mem: facts.New(facts.Config{}), SlowCommit: SlowCommit}), &queue{}
		com.latency.note(x.turn)
		com.waitForBatch(h, x.size, time.Now())
		if h.sizeReached != nil {
			t.Error("the pause has ended, and its channel is still in the queue")
		}
		if h.targetSize != x.want {
			t.Errorf("after a turn of %s and a batch of %d: %d are waited for, want %d", x.turn, x.size, h.targetSize, x.want)
		}
	}
}

// A zone must have a single queue, since the queue orders the zone's writes. A queue is in use while a write waits for
// the lock, has the lock or commits. Only idle queues are evicted.
func TestQueueAt_keepsAQueueInUse(t *testing.T) {
	mem := facts.New(facts.Config{})
	com := New(Config{Mem: mem, SlowCommit: SlowCommit})
	busy := 0
	evict := func() { // every idle queue
		mem.Mu.Lock()
		defer mem.Mu.Unlock()
		for more := 3; more > 0 || len(com.queues) < facts.MaxCachedZones; busy++ {
			if len(com.queues) >= facts.MaxCachedZones {
				more--
			}
			com.queueAt(fmt.Sprint(busy)).sem <- struct{}{}
		}
	}
	find := func(key string) *queue {
		mem.Mu.Lock()
		defer mem.Mu.Unlock()
		return com.queues[key]
	}
	locked := &Write{}
	if err := com.Acquire(t.Context(), locked, "locked"); err != nil {
		t.Fatal(err)
	}
	committing, _ := com.joinQueue("committing", []*group{newGroup(&Write{})})
	com.takeBatch(committing)
	waiting := &Write{}
	if err := com.Acquire(evictingContext{t.Context(), evict}, waiting, "waiting"); err != nil {
		t.Fatal(err)
	}
	for key, q := range map[string]*queue{"locked": locked.Locks[0], "committing": committing, "waiting": waiting.Locks[0]} {
		if find(key) != q {
			t.Errorf("%s: another queue, or none", key)
		}
	}
	com.releaseAll(locked)
	com.releaseAll(waiting)
	evict()
	if find("locked") != nil || find("waiting") != nil {
		t.Error("an idle queue stays")
	}
}

// evictingContext evicts when its end is awaited: the caller has the queue, but not yet its lock.
type evictingContext struct {
	context.Context
	evict func()
}

func (c evictingContext) Done() <-chan struct{} {
	c.evict()
	return c.Context.Done()
}

// When the queue of a zone is evicted from memory, the cached facts about the zone go with it. Eviction takes the same
// time however many zones are in memory.
func TestQueueAt_letsAZoneGoWithItsQueue(t *testing.T) {
	mem := facts.New(facts.Config{})
	com := New(Config{Mem: mem, SlowCommit: SlowCommit})
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	const more = 100
	last := com.queueAt("in use")
	last.sem <- struct{}{}
	for i := range facts.MaxCachedZones + more {
		mem.CachedZone(fmt.Sprint(i)).Mod = 1 // a zone is read before it is written
		com.queueAt(fmt.Sprint(i))
	}
	if len(com.queues) != facts.MaxCachedZones || com.queueAt("in use") != last {
		t.Errorf("%d queues", len(com.queues))
	}
	known := 0
	for i := range facts.MaxCachedZones + more {
		key := fmt.Sprint(i)
		if q := com.queues[key]; (mem.CachedZone(key).Mod == 1) != (q != nil) || q != nil && q.CachedZone != mem.CachedZone(key) {
			t.Fatalf("zone %d: queue %v", i, q)
		} else if q != nil {
			known++
		}
	}
	if known != facts.MaxCachedZones-1 {
		t.Errorf("%d zones are known", known)
	}
}

// Groups of a cascade are committed in a fixed order. If the caller of one is gone, that group may not be committed, so
// no later group of the order may be either (S2.8).
func TestAwaitAnswer_aGoneCallerEndsItsOrder_S2_8(t *testing.T) {
	com := New(Config{Mem: facts.New(facts.Config{}), SlowCommit: SlowCommit})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, x := range map[string]struct{ waits, admitted bool }{
		"waiting": {true, false}, "taken": {false, false}, "in a batch": {false, true},
	} {
		h, in, groups := &queue{}, &order{}, []*group{newGroup(&Write{}), newGroup(&Write{})}
		for _, g := range groups {
			g.order = in
		}
		groups[0].admitted = x.admitted
		if h.waiting = slices.Clone(groups); !x.waits {
			h.waiting = h.waiting[1:]
		}
		a := com.awaitAnswer(ended, h, groups[0])
		if !errors.Is(a.Err, context.Canceled) || a.sent != x.admitted {
			t.Errorf("%s: %+v", what, a)
		}
		if !groups[0].callerGone || !groups[1].followsFailure() || !slices.Equal(h.waiting, groups[1:]) {
			t.Errorf("%s: gone %t, the next may be committed %t, %d wait", what, groups[0].callerGone, !groups[1].followsFailure(),
				len(h.waiting))
		}
	}
}

// Before a group of writes is decided, a first pass only lists the missing facts. This pass reads nothing and answers
// no caller, because the group would otherwise be answered twice.
func TestDecideGroup_onlyListsFacts(t *testing.T) {
	com := New(Config{Mem: facts.New(facts.Config{}), SlowCommit: SlowCommit})
	ended, cancel := context.WithCancel(t.Context()) // a read fails
	cancel()
	missing := func(*law.Facts) law.Outcome { return law.Outcome{Need: []law.Key{law.ZoneKey("team", "z")}} }
	single := newGroup(&Write{Object: Object{Resource: "records"}, Decide: missing})
	ofNoZone := newGroup(&Write{Object: Object{Resource: "records"}, Decide: missing})
	ofNoZone.members[0].setWrite = &SetWrite{decided: true, After: &v1alpha1.Record{}}
	ofNoZone.set = &Set{Committer: com, Writes: []*SetWrite{ofNoZone.members[0].setWrite}}
	for what, x := range map[string]struct {
		g    *group
		want verdict
	}{"a write": {single, factsMissing}, "a change set of no zone": {ofNoZone, beginsNextBatch}} {
		b := &batch{com: com}
		if got, _ := b.decideGroup(ended, x.g, listMissing); got != x.want || x.g.answered {
			t.Errorf("%s: verdict %d, answered %t; want %d", what, got, x.g.answered, x.want)
		}
	}
}

// Batches that wait may join the transaction of another batch, up to a size. A batch that cannot join, because it
// compares a key that the other puts, does not count toward this size.
func TestJoinParked_countsTheBatchesThatJoin(t *testing.T) {
	com := New(Config{Mem: facts.New(facts.Config{}), SlowCommit: SlowCommit})
	park := func(octets int) *parked {
		return &parked{b: &batch{com: com, puts: puts{size: octets}}, examined: true}
	}
	sender, dependent, small, large, last := park(1), park(MaxBatchOctets), park(1), park(MaxBatchOctets), park(1)
	sender.foreignPuts = []string{"key"}
	dependent.foreignCompares = []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision("key"), "=", 1)}
	com.gate.parked = []*parked{dependent, small, large, last}
	all, left := com.gate.joinParked(sender), com.gate.parked
	if !slices.Equal(all, []*parked{sender, small}) || !slices.Equal(left, []*parked{dependent, large, last}) {
		t.Errorf("%d batches are sent together, %d are left; want the small one, and none after the large one", len(all), len(left))
	}
}

// Batches wait in turns of their namespaces. A namespace with many zones therefore does not keep the single batch of
// another namespace out of the next transaction.
func TestParkBatch_sharesPlacesBetweenNamespaces(t *testing.T) {
	g := &gate{}
	var order []string
	for _, payer := range []string{"many", "many", "many", "few", "many", "few", "one"} {
		g.parkBatch(&parked{payer: payer})
	}
	for _, p := range g.parked {
		order = append(order, p.payer)
	}
	if got, want := fmt.Sprint(order), "[many few one many few many many]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
