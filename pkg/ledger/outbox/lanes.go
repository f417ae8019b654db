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
	// maxLanes bounds the namespaces whose cascades run side by side on one server.
	maxLanes = 8
	// laneSlice is the time for which a work runs while others wait for a place.
	laneSlice = 5 * time.Second
)

// lanes has one lane for each namespace whose works are being carried out. Works of one namespace follow each other.
// As many run at a time as there are places, and the others wait in the order in which they came. A lane gives its
// place up to them, and waits behind them, after each work and within a work after a slice. So no namespace's cascades
// wait for the end of another's, however many records or zones that one has set moving.
type lanes struct {
	sync.WaitGroup
	places  chan struct{} // those that are taken; a channel serves its senders in the order in which they came
	waiting atomic.Int32  // lanes that have no place
	slice   time.Duration
	busy    sync.Map // by namespace
	// missed says that a work was due while its lane was busy.
	missed atomic.Bool
}

func newLanes(most int, slice time.Duration) *lanes {
	return &lanes{places: make(chan struct{}, most), slice: slice}
}

// place is what a lane has while it runs: since when, zero for none.
type place struct{ since time.Time }

// takeLane takes a lane until leaveLane, and reports whether it was free.
func (p *lanes) takeLane(name string) bool {
	_, busy := p.busy.LoadOrStore(name, true)
	if busy {
		p.missed.Store(true)
	}
	return !busy
}

// leaveLane frees a lane, and reports whether a work waits for one.
func (p *lanes) leaveLane(name string) bool {
	p.busy.Delete(name)
	return p.missed.Swap(false)
}

// takePlace waits for a place behind the lanes that wait already.
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

// givePlaceUp gives a place, if the lane has it, to the next lane that waits.
func (p *lanes) givePlaceUp(at *place) {
	if !at.since.IsZero() {
		*at = place{}
		<-p.places
	}
}

// yieldPlace lets the lanes that wait go first, between two works.
func (p *lanes) yieldPlace(ctx context.Context, at *place) error {
	if p.waiting.Load() == 0 {
		return nil
	}
	p.givePlaceUp(at)
	return p.takePlace(ctx, at)
}

// isOverdue reports whether a lane has had its slice while another waits.
func (p *lanes) isOverdue(at *place) bool {
	return at != nil && p.waiting.Load() > 0 && time.Since(at.since) >= p.slice
}
