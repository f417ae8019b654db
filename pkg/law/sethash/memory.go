// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sethash

import (
	"sync"

	"github.com/cloudflare/circl/group"
)

// A change is hashed where it is decided, and again by each view that proves it,
// moments later. To hash an element to the group, or to decode a state, costs 7 µs
// and more; to remember it, a few hundred octets.
var (
	elements = memory[string]{size: 4096}
	sums     = memory[State]{size: 1024}
)

// longestRemembered bounds what a tenant's long values take: 4,096 elements of
// this many octets are 2 MiB a generation.
const longestRemembered = 512

// mostRemembered is the number of elements of one call that are remembered: a zone that is proven whole would push out
// what the next changes need.
const mostRemembered = 512

// memory holds the points that were put last, between size and twice size of them.
type memory[K comparable] struct {
	size       int
	mu         sync.Mutex
	young, old map[K]group.Element
}

// get returns nil for what is not remembered.
func (m *memory[K]) get(k K) group.Element {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.young[k]; e != nil {
		return e
	}
	return m.old[k]
}

func (m *memory[K]) put(k K, e group.Element) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.young == nil || len(m.young) >= m.size {
		m.young, m.old = make(map[K]group.Element, m.size), m.young
	}
	m.young[k] = e
}
