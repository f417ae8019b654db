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
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/facts"
)

// The minimum of the last latencies ignores a lone delay elsewhere, but shows a slow disk.
func TestLatencies_theLeastOfTheLastCounts(t *testing.T) {
	com := New(facts.New(facts.Config{}), nil, nil, nil, nil, SlowCommit)
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
		if got := (com.latency.least() >= com.slowCommit); got != x.slow {
			t.Errorf("after %d commits of %s: slow is %t, want %t (the least is %s)", x.n, x.trip, got, x.slow, com.latency.least())
		}
	}
}

// On a fast disk no write waits for others, and a small batch means that there are none to wait for.
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
		com, h := New(facts.New(facts.Config{}), nil, nil, nil, nil, SlowCommit), &queue{}
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

// A zone has a single queue while a write waits for its lock, has the lock or commits: only idle queues are evicted.
func TestQueueAt_keepsAQueueInUse(t *testing.T) {
	mem := facts.New(facts.Config{})
	com := New(mem, nil, nil, nil, nil, SlowCommit)
	busy := 0
	evict := func() { // every idle queue
		mem.Mu.Lock()
		defer mem.Mu.Unlock()
		for more := 3; more > 0 || len(com.queues) < facts.MaxHeads; busy++ {
			if len(com.queues) >= facts.MaxHeads {
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

// Eviction drops a zone's queue together with the zone's facts, in constant time.
func TestQueueAt_letsAZoneGoWithItsQueue(t *testing.T) {
	mem := facts.New(facts.Config{})
	com := New(mem, nil, nil, nil, nil, SlowCommit)
	mem.Mu.Lock()
	defer mem.Mu.Unlock()
	const more = 100
	last := com.queueAt("in use")
	last.sem <- struct{}{}
	for i := range facts.MaxHeads + more {
		mem.Head(fmt.Sprint(i)).Mod = 1 // a zone is read before it is written
		com.queueAt(fmt.Sprint(i))
	}
	if len(com.queues) != facts.MaxHeads || com.queueAt("in use") != last {
		t.Errorf("%d queues", len(com.queues))
	}
	known := 0
	for i := range facts.MaxHeads + more {
		key := fmt.Sprint(i)
		if q := com.queues[key]; (mem.Head(key).Mod == 1) != (q != nil) || q != nil && q.Head != mem.Head(key) {
			t.Fatalf("zone %d: queue %v", i, q)
		} else if q != nil {
			known++
		}
	}
	if known != facts.MaxHeads-1 {
		t.Errorf("%d zones are known", known)
	}
}

// The group of a gone caller is not committed, so no later group of its order may be.
func TestAwaitAnswer_aGoneCallerEndsItsOrder_S2_8(t *testing.T) {
	com := New(facts.New(facts.Config{}), nil, nil, nil, nil, SlowCommit)
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

// A pass that lists missing facts reads nothing and answers no caller: the group would be answered twice.
func TestDecideGroup_onlyListsFacts(t *testing.T) {
	com := New(facts.New(facts.Config{}), nil, nil, nil, nil, SlowCommit)
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

// A batch that cannot join, as it compares a put of the sender, takes no room from the next.
func TestJoinParked_countsTheBatchesThatJoin(t *testing.T) {
	com := New(facts.New(facts.Config{}), nil, nil, nil, nil, SlowCommit)
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

// Parked batches of a namespace with many zones must not keep another namespace out of the next transaction.
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
