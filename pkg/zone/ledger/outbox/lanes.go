// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxLanes  = 8
	laneSlice = 5 * time.Second
)

// lanes limits the namespaces whose works (outbox items) run at the same time. A namespace's works run one after the
// other, in a lane. At most maxLanes lanes have a place. If others wait, a lane gives up its place after each work, or
// within a work after a slice of time, so no namespace blocks the others.
type lanes struct {
	sync.WaitGroup               // the goroutines of lanes
	places         chan struct{} // an element for each taken place; Go serves waiting senders in order
	waiting        atomic.Int32  // lanes waiting for a place
	slice          time.Duration
	busy           sync.Map    // by namespace with a lane
	skippedBusy    atomic.Bool // a work was skipped because its namespace had a lane
}

func newLanes(most int, slice time.Duration) *lanes {
	return &lanes{places: make(chan struct{}, most), slice: slice}
}

type place struct{ since time.Time }

func (p *lanes) takeLane(name string) bool {
	_, busy := p.busy.LoadOrStore(name, true)
	if busy {
		p.skippedBusy.Store(true)
	}
	return !busy
}

func (p *lanes) leaveLane(name string) bool {
	p.busy.Delete(name)
	return p.skippedBusy.Swap(false)
}

// takePlace waits for a place, and notes the time in at. Lanes get places in the order of their calls.
func (p *lanes) takePlace(ctx context.Context, at *place) error {
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	select {
	case p.places <- struct{}{}:
		at.since = time.Now()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *lanes) givePlaceUp(at *place) {
	if !at.since.IsZero() {
		*at = place{}
		<-p.places
	}
}

func (p *lanes) yieldPlace(ctx context.Context, at *place) error {
	if p.waiting.Load() == 0 {
		return nil
	}
	p.givePlaceUp(at)
	return p.takePlace(ctx, at)
}

func (p *lanes) isOverdue(at *place) bool {
	return at != nil && p.waiting.Load() > 0 && time.Since(at.since) >= p.slice
}
