// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"container/list"
	"context"
	"net/netip"
	"sync"
)

// readers are the requests whose body is being read. Any client can begin one, because the signature covers the body
// and is not checked yet. A client (an IPv4 address, or an IPv6 /64) waits while it has its share of the places. When
// all places are taken the oldest request is cut: a body that a client does send arrives in a moment, so the oldest
// is one that is held back.
type readers struct {
	most, share int

	mu     sync.Mutex
	order  *list.List // of *reader, the oldest first
	client map[netip.Prefix]int
	freed  chan struct{} // closed and replaced whenever a place is given back
}

type reader struct {
	client netip.Prefix
	cut    func()
	at     *list.Element // nil once it has no place
}

func newReaders(most, share int) *readers {
	return &readers{most: most, share: share, order: list.New(), client: map[netip.Prefix]int{}, freed: make(chan struct{})}
}

// findClient returns zero for what is no address: all such clients share one.
func findClient(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address, bits := at.Addr().Unmap().WithZone(""), 64
	if address.Is4() {
		bits = 32
	}
	client, _ := address.Prefix(bits)
	return client
}

// takePlace waits while the client has its share, and returns nil when ctx ends first. cut may be called until
// leavePlace, and may not block.
func (r *readers) takePlace(ctx context.Context, remote string, cut func()) *reader {
	client := findClient(remote)
	for {
		one, freed := r.tryPlace(client, cut)
		if one != nil {
			return one
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *readers) tryPlace(client netip.Prefix, cut func()) (one *reader, freed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client[client] >= r.share {
		return nil, r.freed
	}
	if r.order.Len() >= r.most {
		oldest := r.order.Front().Value.(*reader)
		r.removePlace(oldest)
		oldest.cut()
	}
	one = &reader{client: client, cut: cut}
	one.at = r.order.PushBack(one)
	r.client[client]++
	return one, nil
}

func (r *readers) leavePlace(one *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.at != nil {
		r.removePlace(one)
	}
}

// removePlace is called with mu held.
func (r *readers) removePlace(one *reader) {
	r.order.Remove(one.at)
	one.at = nil
	if r.client[one.client]--; r.client[one.client] == 0 {
		delete(r.client, one.client)
	}
	close(r.freed)
	r.freed = make(chan struct{})
}
