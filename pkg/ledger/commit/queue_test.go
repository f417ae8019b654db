// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/ledger/facts"
)

// A turn that something else held up says nothing of the disk; many that all took long do.
func TestLatencies_theLeastOfTheLastCounts(t *testing.T) {
	com := New(facts.New(facts.Config{}), nil, nil, nil, SlowCommit)
	for _, x := range []struct {
		trip time.Duration
		n    int
		slow bool
	}{
		{0, 0, false},
		{SlowCommit, 1, true}, // all that is known
		{SlowCommit / 2, 1, false},
		{3 * SlowCommit, manyLatencies - 1, false},
		{SlowCommit, 1, true},
		{SlowCommit - 1, 1, false},
	} {
		for range x.n {
			com.latency.took(x.trip)
		}
		if got := (com.latency.disk() >= com.slowCommit); got != x.slow {
			t.Errorf("after %d commits of %s: slow is %t, want %t (the least is %s)", x.n, x.trip, got, x.slow, com.latency.disk())
		}
	}
}

// Where the disk is fast no write waits for others, and a small batch says that there is no company.
func TestWaitForBatch_waitsWhereTheDiskIsSlow(t *testing.T) {
	for _, x := range []struct {
		turn time.Duration
		size int
		want int // that are waited for
	}{
		{SlowCommit, largeBatch, largeBatch},
		{SlowCommit, largeBatch - 1, 0},
		{SlowCommit / 2, largeBatch, 0},
	} {
		com, h := New(facts.New(facts.Config{}), nil, nil, nil, SlowCommit), &queue{}
		com.latency.took(x.turn)
		com.waitForBatch(h, x.size, time.Now())
		if h.want != x.want {
			t.Errorf("after a turn of %s and a batch of %d: %d are waited for, want %d", x.turn, x.size, h.want, x.want)
		}
	}
}
