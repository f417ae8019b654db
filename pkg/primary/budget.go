// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"container/list"
	"context"
	"net/netip"
	"sync"
)

// budget bounds how many of something run at once, in total and for one client.
type budget struct {
	total, perClient int

	mu     sync.Mutex
	order  *list.List // of *place, the oldest first
	client map[client]int
	freed  chan struct{} // closed and replaced whenever a place is given back
}

// client has a share of a budget: an IPv4 address, an IPv6 /64, which is the smallest network that a host is given,
// or a tenant, which has as many addresses as it makes pods.
type client struct {
	network netip.Addr
	tenant  string
}

// place is one of the places of a budget, and is taken.
type place struct {
	of     *budget
	client client
	// cut ends what has the place, and may not block. Without it the place is kept until it is given back.
	cut func()
	at  *list.Element // nil once it is given back or cut
}

func newBudget(total, perClient int) *budget {
	return &budget{total: total, perClient: perClient, order: list.New(), client: map[client]int{}, freed: make(chan struct{})}
}

// clientOf is the client that a source is, or the tenant where there is one.
func clientOf(a netip.Addr, tenant string) client {
	if tenant != "" {
		return client{tenant: tenant}
	}
	if a.Is6() {
		p, _ := a.WithZone("").Prefix(64)
		a = p.Addr()
	}
	return client{network: a}
}

// takePlace takes a place where there is one; else freed is closed when the next one is given back. Where all places
// are taken the oldest is cut, if it can be; a client that has its share waits for places of its own.
func (b *budget) takePlace(client client, cut func()) (p *place, freed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client[client] >= b.perClient {
		return nil, b.freed
	}
	if b.order.Len() >= b.total {
		oldest := b.order.Front().Value.(*place)
		if oldest.cut == nil {
			return nil, b.freed
		}
		oldest.remove()
		oldest.cut()
	}
	p = &place{of: b, client: client, cut: cut}
	p.at = b.order.PushBack(p)
	b.client[client]++
	return p, nil
}

// giveBack gives the place back, and is false for one that was cut.
func (p *place) giveBack() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.at == nil {
		return false
	}
	p.remove()
	return true
}

// remove is called with mu held.
func (p *place) remove() {
	b := p.of
	b.order.Remove(p.at)
	p.at = nil
	if b.client[p.client]--; b.client[p.client] == 0 {
		delete(b.client, p.client)
	}
	close(b.freed)
	b.freed = make(chan struct{})
}

// takeWhenFreed calls take until it has a place, each time when freed is closed. It returns nil when ctx ends first.
func takeWhenFreed(ctx context.Context, take func() (p *place, freed <-chan struct{})) *place {
	for {
		p, freed := take()
		if p != nil {
			return p
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil
		}
	}
}
