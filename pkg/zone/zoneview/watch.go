// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"context"
	"fmt"
	"sync"
)

type waiters struct {
	wake  chan struct{}
	count int
	gone  bool
}

// The caller must hold v.mu.
func (v *Set) wakeWaiters(uid string) {
	if waiting := v.waiting[uid]; waiting != nil {
		close(waiting.wake)
		delete(v.waiting, uid)
	}
}

// Wait blocks until a zone has reached the step with the number atLeast, and returns its newest snapshot. The Set need
// not have the zone yet. If the zone is removed, Wait returns ErrGone.
func (v *Set) Wait(ctx context.Context, uid string, atLeast uint64) (*Snapshot, error) {
	for {
		v.mu.Lock()
		known := v.zones[uid]
		// The zone's snapshot may be newer than the awaited step.
		if known != nil && known.newest.n >= atLeast {
			v.mu.Unlock()
			return known.newest, nil
		}

		waiting := v.waiting[uid]
		if waiting == nil {
			waiting = &waiters{wake: make(chan struct{})}
			v.waiting[uid] = waiting
		}
		waiting.count++
		v.mu.Unlock()

		select {
		case <-waiting.wake:
			if waiting.gone { // written before the channel was closed
				return nil, fmt.Errorf("zone %s, waiting for step %d: %w", uid, atLeast, ErrGone)
			}
		case <-ctx.Done():
			// The last waiter takes the entry along, so that unknown UIDs leave nothing behind.
			v.mu.Lock()
			waiting.count--
			isLast := waiting.count == 0 && v.waiting[uid] == waiting
			if isLast {
				delete(v.waiting, uid)
			}
			v.mu.Unlock()
			return nil, fmt.Errorf("zone %s, waiting for step %d: %w", uid, atLeast, ctx.Err())
		}
	}
}

// Event reports that a zone changed or was removed. LastSettled is the last settled snapshot of a removed zone, or nil
// if it never settled.
type Event struct {
	Zone        Zone
	Gone        bool
	LastSettled *Snapshot
}

// Subscribe returns a channel of events, and a function that closes the channel. Pending events for a zone are merged,
// so a slow receiver does not delay others. Subscribe before iterating over All, to miss no change.
func (v *Set) Subscribe() (<-chan Event, func()) {
	sub := &subscriber{pending: map[string]Event{}, wake: make(chan struct{}, 1), end: make(chan struct{})}
	events := make(chan Event)
	v.mu.Lock()
	v.subs[sub] = struct{}{}
	v.mu.Unlock()
	go sub.passEvents(events)
	var once sync.Once
	return events, func() {
		once.Do(func() {
			v.mu.Lock()
			delete(v.subs, sub)
			v.mu.Unlock()
			close(sub.end)
		})
	}
}

// The caller must hold v.mu.
func (v *Set) notifySubscribers(event Event) {
	for sub := range v.subs {
		sub.addEvent(event)
	}
}

type subscriber struct {
	mu      sync.Mutex
	pending map[string]Event
	order   []string // uids in pending, longest waiting first
	wake    chan struct{}
	end     chan struct{}
}

// addEvent queues an event. A pending event of the same zone is replaced and keeps its place.
func (s *subscriber) addEvent(event Event) {
	s.mu.Lock()
	if _, ok := s.pending[event.Zone.UID]; !ok {
		s.order = append(s.order, event.Zone.UID)
	}
	s.pending[event.Zone.UID] = event
	s.mu.Unlock()
	// One token is enough, as the receiver takes all pending events.
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// takeEvent returns the event that has waited longest, or false if none waits.
func (s *subscriber) takeEvent() (Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == 0 {
		s.order = nil // frees the memory of a burst
		return Event{}, false
	}
	uid := s.order[0]
	s.order = s.order[1:]
	event := s.pending[uid]
	delete(s.pending, uid)
	return event, true
}

// passEvents sends the pending events to the subscriber until the subscription ends. It alone sends to events and
// closes it.
func (s *subscriber) passEvents(events chan<- Event) {
	defer close(events)
	for {
		event, ok := s.takeEvent()
		if !ok {
			select {
			case <-s.wake:
				continue
			case <-s.end:
				return
			}
		}
		select {
		case events <- event:
		case <-s.end:
			return
		}
	}
}
