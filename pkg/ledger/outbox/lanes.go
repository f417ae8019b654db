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
	// maxLanes bounds the namespaces whose cascades run in parallel on a server.
	maxLanes = 8
	// laneSlice is the time after which a work gives way to waiting ones.
	laneSlice = 5 * time.Second
)

// lanes schedules works. Each namespace has a lane, in which its works run one after the other. As many lanes run as
// there are places; the others wait in order. Under contention, a lane releases its place after each work, and within
// a work after a slice. So no namespace waits for the end of another's cascades, however large.
type lanes struct {
	sync.WaitGroup
	places  chan struct{} // taken places; a channel serves its senders in order
	waiting atomic.Int32  // lanes without a place
	slice   time.Duration
	busy    sync.Map // by namespace
	// missed is true if a work was due while its lane was busy.
	missed atomic.Bool
}

func newLanes(most int, slice time.Duration) *lanes {
	return &lanes{places: make(chan struct{}, most), slice: slice}
}

// place is a lane's place: the time when it was taken, zero for none.
type place struct{ since time.Time }

// takeLane takes a lane until leaveLane. False: the lane is busy.
func (p *lanes) takeLane(name string) bool {
	_, busy := p.busy.LoadOrStore(name, true)
	if busy {
		p.missed.Store(true)
	}
	return !busy
}

// leaveLane frees a lane, and reports whether a work was due meanwhile.
func (p *lanes) leaveLane(name string) bool {
	p.busy.Delete(name)
	return p.missed.Swap(false)
}

// takePlace waits for a place, after the lanes already waiting.
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

// givePlaceUp releases the place, if the lane has one.
func (p *lanes) givePlaceUp(at *place) {
	if !at.since.IsZero() {
		*at = place{}
		<-p.places
	}
}

// yieldPlace lets waiting lanes go first, between two works.
func (p *lanes) yieldPlace(ctx context.Context, at *place) error {
	if p.waiting.Load() == 0 {
		return nil
	}
	p.givePlaceUp(at)
	return p.takePlace(ctx, at)
}

// isOverdue reports whether a lane has used up the slice while another waits.
func (p *lanes) isOverdue(at *place) bool {
	return at != nil && p.waiting.Load() > 0 && time.Since(at.since) >= p.slice
}
