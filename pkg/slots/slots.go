// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"container/list"
	"context"
	"net/netip"
	"sync"
)

// Slots bound how many of something run at once, in total and for one client.
type Slots struct {
	total, perClient, spare int

	mu     sync.Mutex
	order  *list.List // of *Slot, the oldest first
	client map[Client]int
	beyond int           // those that clients have beyond their shares
	freed  chan struct{} // closed and replaced whenever a slot is given back
	queues map[Client]*queue
}

// queue is where those wait that want a slot of one client.
type queue struct {
	turn  chan struct{} // has one element while the first of them waits for a slot; Go serves those behind in order
	users int
}

// Client has a share of the slots: an address, a network by its first address, or a tenant, which has as many addresses
// as it makes pods.
type Client struct {
	Network netip.Addr
	Tenant  string
}

// Slot is one that is taken.
type Slot struct {
	of     *Slots
	client Client
	// cut ends the work that has the slot, and may not block. Without it the slot is kept until it is given back.
	cut func()
	at  *list.Element // nil once it is given back or cut
}

// New makes slots, so many in total and for one client.
func New(total, perClient int) *Slots {
	return &Slots{total: total, perClient: perClient, order: list.New(), client: map[Client]int{}, freed: make(chan struct{}),
		queues: map[Client]*queue{}}
}

// WithSpare adds slots that clients take beyond their shares, the first that comes. No share is less for that.
func (s *Slots) WithSpare(spare int) *Slots {
	s.spare = spare
	return s
}

// Take takes a slot where there is one; else freed is closed when the next one is given back. Where all are taken the
// oldest is cut, if it can be; a client that has its share waits for slots of its own.
func (s *Slots) Take(client Client, cut func()) (slot *Slot, freed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch within := s.client[client] < s.perClient; {
	case !within && s.beyond >= s.spare:
		return nil, s.freed
	case !within:
		s.beyond++
	case s.order.Len()-s.beyond >= s.total:
		oldest := s.order.Front().Value.(*Slot)
		if oldest.cut == nil {
			return nil, s.freed
		}
		oldest.removeSlot()
		oldest.cut()
	}
	slot = &Slot{of: s, client: client, cut: cut}
	slot.at = s.order.PushBack(slot)
	s.client[client]++
	return slot, nil
}

// GiveBack gives the slot back, and is false for one that was cut.
func (slot *Slot) GiveBack() bool {
	slot.of.mu.Lock()
	defer slot.of.mu.Unlock()
	if slot.at == nil {
		return false
	}
	slot.removeSlot()
	return true
}

// removeSlot is called with mu held.
func (slot *Slot) removeSlot() {
	s := slot.of
	s.order.Remove(slot.at)
	slot.at = nil
	if s.client[slot.client] > s.perClient {
		s.beyond--
	}
	if s.client[slot.client]--; s.client[slot.client] == 0 {
		delete(s.client, slot.client)
	}
	close(s.freed)
	s.freed = make(chan struct{})
}

// TakeWhenFreed calls take until it has a slot, each time when freed is closed. It returns nil when ctx ends first.
func TakeWhenFreed(ctx context.Context, take func() (slot *Slot, freed <-chan struct{})) *Slot {
	for {
		slot, freed := take()
		if slot != nil {
			return slot
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil
		}
	}
}

// TakeInOrder takes a slot for a client once those have one that came before for the same client. It returns nil when
// ctx ends first.
func (s *Slots) TakeInOrder(ctx context.Context, client Client) *Slot {
	q := s.enterQueue(client)
	defer s.leaveQueue(client, q)
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-q.turn }()
	return TakeWhenFreed(ctx, func() (*Slot, <-chan struct{}) { return s.Take(client, nil) })
}

func (s *Slots) enterQueue(client Client) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[client]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		s.queues[client] = q
	}
	q.users++
	return q
}

func (s *Slots) leaveQueue(client Client, q *queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(s.queues, client)
	}
}
