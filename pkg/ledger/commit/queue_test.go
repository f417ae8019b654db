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
		if h.targetSize != x.want {
			t.Errorf("after a turn of %s and a batch of %d: %d are waited for, want %d", x.turn, x.size, h.targetSize, x.want)
		}
	}
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
