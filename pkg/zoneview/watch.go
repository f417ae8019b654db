// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zoneview

import (
	"context"
	"fmt"
	"sync"
)

// waiters are the callers of Wait for one zone. They share a channel that is closed at the zone's next change. The last
// one to return removes the entry, so that waiting for zones that never come leaves nothing behind.
type waiters struct {
	changed chan struct{}
	count   int
	gone    bool
}

// wakeWaiters wakes the callers of Wait. It is called with mu held, after the change.
func (v *Set) wakeWaiters(uid string) {
	if waiting := v.waiting[uid]; waiting != nil {
		close(waiting.changed)
		delete(v.waiting, uid)
	}
}

// Wait returns the newest snapshot of a zone once its N is at least atLeast. It
// waits for a zone that is not there yet, too. The error is that of ctx, or
// ErrGone when the zone is removed meanwhile. It does not poll.
func (v *Set) Wait(ctx context.Context, uid string, atLeast uint64) (*Snapshot, error) {
	for {
		v.mu.Lock()
		known := v.zones[uid]
		if known != nil && known.newest.n >= atLeast {
			v.mu.Unlock()
			return known.newest, nil
		}
		waiting := v.waiting[uid]
		if waiting == nil {
			waiting = &waiters{changed: make(chan struct{})}
			v.waiting[uid] = waiting
		}
		waiting.count++
		v.mu.Unlock()

		select {
		case <-waiting.changed:
			if waiting.gone { // written before the channel was closed
				return nil, fmt.Errorf("zone %s, waiting for step %d: %w", uid, atLeast, ErrGone)
			}
		case <-ctx.Done():
			v.mu.Lock()
			if waiting.count--; waiting.count == 0 && v.waiting[uid] == waiting {
				delete(v.waiting, uid)
			}
			v.mu.Unlock()
			return nil, fmt.Errorf("zone %s, waiting for step %d: %w", uid, atLeast, ctx.Err())
		}
	}
}

// Event says that a zone changed or is gone. A subscriber asks the Set for what changed. Last is what a zone that is
// gone had when it settled last, so that it can be withdrawn elsewhere.
type Event struct {
	Zone Zone
	Gone bool
	Last *Snapshot
}

// Subscribe returns a channel of events from now on and the function that ends
// it; the channel is closed then. Events of one zone that were not received yet
// become one, the latest, so a slow receiver misses nothing that still holds
// and holds up no other one. Subscribe first, then go through All.
func (v *Set) Subscribe() (<-chan Event, func()) {
	sub := &subscriber{pending: map[string]Event{}, more: make(chan struct{}, 1), end: make(chan struct{})}
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

// tellSubscribers is called with mu held, after the change.
func (v *Set) tellSubscribers(event Event) {
	for sub := range v.subs {
		sub.addEvent(event)
	}
}

type subscriber struct {
	mu      sync.Mutex
	pending map[string]Event
	order   []string // uids in pending, longest waiting first
	more    chan struct{}
	end     chan struct{}
}

func (s *subscriber) addEvent(event Event) {
	s.mu.Lock()
	if _, ok := s.pending[event.Zone.UID]; !ok {
		s.order = append(s.order, event.Zone.UID)
	}
	s.pending[event.Zone.UID] = event
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *subscriber) takeEvent() (Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == 0 {
		s.order = nil // lets go of what a burst needed
		return Event{}, false
	}
	uid := s.order[0]
	s.order = s.order[1:]
	event := s.pending[uid]
	delete(s.pending, uid)
	return event, true
}

func (s *subscriber) passEvents(events chan<- Event) {
	defer close(events)
	for {
		event, ok := s.takeEvent()
		if !ok {
			select {
			case <-s.more:
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
