// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxLanes bounds the namespaces whose cascades run side by side on one server.
	maxLanes = 8
	// laneSlice is the time for which a namespace's cascades run while others wait for a place.
	laneSlice = 5 * time.Second
)

// lanes has one lane for each namespace whose works are being carried out. Works of one namespace follow each other.
// At most most lanes run at a time, and the others wait in the order in which they came. A lane that has run for a
// slice gives its place up to them and waits behind them. So no namespace's cascades wait for the end of another's,
// however many records that one has set moving.
type lanes struct {
	sync.WaitGroup
	most  int
	slice time.Duration

	mu   sync.Mutex
	busy map[string]bool
	wide int             // places that are taken
	wait []chan struct{} // each closed when it has a place
	// missed says that a work was due while its lane was busy.
	missed bool
}

// place is held by a lane while it runs.
type place struct {
	since time.Time
	lost  bool // given up, and not had back before the end
}

// takeLane takes a lane until leaveLane, and reports whether it was free.
func (p *lanes) takeLane(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[name] {
		p.missed = true
		return false
	}
	p.busy[name] = true
	return true
}

// leaveLane frees a lane, and reports whether a work waits for it.
func (p *lanes) leaveLane(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, name)
	missed := p.missed
	p.missed = false
	return missed
}

// awaitPlace waits for a place. It returns false where ctx ended.
func (p *lanes) awaitPlace(ctx context.Context) (*place, bool) {
	turn := p.joinQueue()
	select {
	case <-turn:
	case <-ctx.Done():
		if !p.leaveQueue(turn) {
			return nil, false
		}
	}
	return &place{since: time.Now()}, true
}

// joinQueue returns a channel that is closed when its caller has a place.
func (p *lanes) joinQueue() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := make(chan struct{})
	if p.wide < p.most {
		p.wide++
		close(ch)
	} else {
		p.wait = append(p.wait, ch)
	}
	return ch
}

// leaveQueue takes a caller out of the queue, and reports whether it has a place already.
func (p *lanes) leaveQueue(turn chan struct{}) (has bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.wait, turn)
	if i >= 0 {
		p.wait = slices.Delete(p.wait, i, i+1)
	}
	return i < 0
}

// givePlaceUp gives a place to the next lane that waits.
func (p *lanes) givePlaceUp(at *place) {
	if at == nil || at.lost {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.wait) == 0 {
		p.wide--
		return
	}
	close(p.wait[0])
	p.wait = slices.Delete(p.wait, 0, 1)
}

// isOverdue reports whether a lane has had its slice while another waits.
func (p *lanes) isOverdue(at *place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return at != nil && len(p.wait) > 0 && time.Since(at.since) >= p.slice
}

func (p *lanes) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wide
}
