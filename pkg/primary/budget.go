// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"net/netip"
	"sync"
)

// budget bounds how many of something run at once, in total and for one client. A client
// is an IPv4 address or an IPv6 /64, the smallest network a host is given.
type budget struct {
	total, perClient int

	mu     sync.Mutex
	used   int
	client map[netip.Addr]int
	freed  chan struct{} // closed and replaced whenever something is given back
}

func newBudget(total, perClient int) *budget {
	return &budget{total: total, perClient: perClient, client: map[netip.Addr]int{}, freed: make(chan struct{})}
}

func clientOf(a netip.Addr) netip.Addr {
	if a.Is6() {
		p, _ := a.WithZone("").Prefix(64)
		return p.Addr()
	}
	return a
}

// takePlace reports whether there was room, and takes it. When there was none, freed is closed
// at the next give.
func (b *budget) takePlace(from netip.Addr) (ok bool, freed <-chan struct{}) {
	c := clientOf(from)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used >= b.total || b.client[c] >= b.perClient {
		return false, b.freed
	}
	b.used++
	b.client[c]++
	return true, nil
}

// waitForPlace takes as soon as there is room, or reports false when ctx ends first.
func (b *budget) waitForPlace(ctx context.Context, from netip.Addr) bool {
	return takeWhenFreed(ctx, func() (bool, <-chan struct{}) { return b.takePlace(from) })
}

// takeWhenFreed calls take until it has taken, each time when freed is closed, or reports false when ctx ends first.
func takeWhenFreed(ctx context.Context, take func() (ok bool, freed <-chan struct{})) bool {
	for {
		ok, freed := take()
		if ok {
			return true
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (b *budget) givePlace(from netip.Addr) {
	c := clientOf(from)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used--
	if b.client[c]--; b.client[c] == 0 {
		delete(b.client, c)
	}
	close(b.freed)
	b.freed = make(chan struct{})
}
