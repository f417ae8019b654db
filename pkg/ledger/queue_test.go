// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"
	"time"
)

// A turn that something else held up says nothing of the disk; many that all took long do.
func TestLatencies_theLeastOfTheLastCounts(t *testing.T) {
	com := newCommitter(newMemory(memoryConfig{}), nil, nil, nil, slowCommit)
	for _, x := range []struct {
		trip time.Duration
		n    int
		slow bool
	}{
		{0, 0, false},
		{slowCommit, 1, true}, // all that is known
		{slowCommit / 2, 1, false},
		{3 * slowCommit, manyLatencies - 1, false},
		{slowCommit, 1, true},
		{slowCommit - 1, 1, false},
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
func TestGather_waitsWhereTheDiskIsSlow(t *testing.T) {
	for _, x := range []struct {
		turn    time.Duration
		company int
		want    int // that are waited for
	}{
		{slowCommit, companyOf, companyOf},
		{slowCommit, companyOf - 1, 0},
		{slowCommit / 2, companyOf, 0},
	} {
		com, h := newCommitter(newMemory(memoryConfig{}), nil, nil, nil, slowCommit), &queue{}
		com.latency.took(x.turn)
		com.gather(h, x.company, time.Now())
		if h.want != x.want {
			t.Errorf("after a turn of %s and a batch of %d: %d are waited for, want %d", x.turn, x.company, h.want, x.want)
		}
	}
}
