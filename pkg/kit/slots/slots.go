// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package slots

import (
	"container/list"
	"context"
	"net/netip"
	"sync"
)

type Slots struct {
	// perClient is the share of each client in the total slots. Clients beyond their share take the spare slots.
	total, perClient, spare int

	mu         sync.Mutex
	order      *list.List // oldest first
	takenBy    map[Client]int
	spareTaken int           // taken by clients with a full share
	freed      chan struct{} // closed and replaced when a slot is freed
	queues     map[Client]*queue
}

type queue struct {
	turn  chan struct{} // full while the first caller waits
	users int
}

// Client has a share of the slots: an address, a network by its first address, or a tenant.
type Client struct {
	Network netip.Addr
	Tenant  string
}

type Slot struct {
	slots  *Slots
	client Client
	// endWork frees the slot's resources, without blocking. If nil, the slot stays.
	endWork func()
	element *list.Element // nil once the slot is freed
}

func New(total, perClient int) *Slots {
	return &Slots{total: total, perClient: perClient, order: list.New(), takenBy: map[Client]int{}, freed: make(chan struct{}),
		queues: map[Client]*queue{}}
}

func (s *Slots) WithSpare(spare int) *Slots {
	s.spare = spare
	return s
}

// Take returns a slot, or nil and a channel that is closed when the next slot is freed. A client with a full share gets
// only spare slots. For other clients, if all slots are taken, Take frees the oldest and calls its endWork, for example
// to close a connection. If the oldest has no endWork, the result is nil.
func (s *Slots) Take(client Client, endWork func()) (slot *Slot, freed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	withinShare := s.takenBy[client] < s.perClient
	switch {
	// A client with a full share waits, and ends no work of others (L3).
	case !withinShare && s.spareTaken >= s.spare:
		return nil, s.freed
	case !withinShare:
		s.spareTaken++
	}

	for withinShare && s.order.Len()-s.spareTaken >= s.total { // freeing a spare slot makes no room, so continue
		// All slots are taken: the oldest work gives way to a client within its share (L2).
		oldest := s.order.Front().Value.(*Slot)
		if oldest.endWork == nil {
			return nil, s.freed
		}
		oldest.removeSlot()
		oldest.endWork()
	}

	slot = &Slot{slots: s, client: client, endWork: endWork}
	slot.element = s.order.PushBack(slot)
	s.takenBy[client]++
	return slot, nil
}

// Release frees the slot. The result is false if Take has already freed the slot.
func (slot *Slot) Release() bool {
	slot.slots.mu.Lock()
	defer slot.slots.mu.Unlock()
	if slot.element == nil {
		return false
	}
	slot.removeSlot()
	return true
}

// removeSlot frees the slot and wakes all waiting callers. The caller holds mu.
func (slot *Slot) removeSlot() {
	s := slot.slots
	s.order.Remove(slot.element)
	slot.element = nil
	// The client had more than its share, so a spare slot becomes free.
	if s.takenBy[slot.client] > s.perClient {
		s.spareTaken--
	}
	if s.takenBy[slot.client]--; s.takenBy[slot.client] == 0 {
		delete(s.takenBy, slot.client)
	}
	close(s.freed)
	s.freed = make(chan struct{})
}

// TakeWhenFreed calls take until take returns a slot, and waits between calls until a slot is freed. The result is nil
// if ctx ends.
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

// TakeInOrder waits for a slot after the client's earlier callers, or returns nil when ctx ends.
func (s *Slots) TakeInOrder(ctx context.Context, client Client) *Slot {
	q := s.enterQueue(client)
	defer s.leaveQueue(client, q)
	select {
	// The first caller of the client waits for a slot, all others wait here. Go serves them in order of arrival.
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
