// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"container/list"
	"net/netip"
	"sync"
)

// newcomers are the connections of sources that a key could get allowed and that have shown none yet (attack 78). Where
// all places are taken the oldest is cut: a peer signs its first message, so it is through in a moment, and what holds
// a place for longer is not one. Beyond its share a client waits for places of its own.
type newcomers struct {
	total, perClient int

	mu     sync.Mutex
	order  *list.List // of *newcomer, the oldest first
	client map[netip.Addr]int
	freed  chan struct{} // closed and replaced whenever a place is given back
}

type newcomer struct {
	client netip.Addr
	cut    func()
	at     *list.Element // nil once it has no place
}

func newNewcomers(total, perClient int) *newcomers {
	return &newcomers{total: total, perClient: perClient, order: list.New(), client: map[netip.Addr]int{}, freed: make(chan struct{})}
}

// takePlace is nil where the client has its share; freed is closed then at the next leave. cut ends the connection
// and may not block.
func (n *newcomers) takePlace(from netip.Addr, cut func()) (c *newcomer, freed <-chan struct{}) {
	client := clientOf(from)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.client[client] >= n.perClient {
		return nil, n.freed
	}
	if n.order.Len() >= n.total {
		oldest := n.order.Front().Value.(*newcomer)
		n.removeNewcomer(oldest)
		oldest.cut()
	}
	c = &newcomer{client: client, cut: cut}
	c.at = n.order.PushBack(c)
	n.client[client]++
	return c, nil
}

// leavePlace gives the place back, and is false for one that was cut.
func (n *newcomers) leavePlace(c *newcomer) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.at == nil {
		return false
	}
	n.removeNewcomer(c)
	return true
}

// removeNewcomer is called with mu held.
func (n *newcomers) removeNewcomer(c *newcomer) {
	n.order.Remove(c.at)
	c.at = nil
	if n.client[c.client]--; n.client[c.client] == 0 {
		delete(n.client, c.client)
	}
	close(n.freed)
	n.freed = make(chan struct{})
}
