// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sethash

import (
	"sync"

	"github.com/cloudflare/circl/group"
)

// A change is hashed in its decision, and moments later in each view that proves it. Hashing an element, or decoding
// a state, costs 7 µs and more, remembering it a few hundred octets.
var (
	elements = memory[string]{size: 4096}
	sums     = memory[State]{size: 1024}
)

// longestRemembered bounds the memory for tenants' long values: 4,096 of them are 2 MiB a generation.
const longestRemembered = 512

// mostRemembered bounds the elements of a remembered call: the proof of a whole zone would evict those of the next
// changes.
const mostRemembered = 512

// memory holds the points put last, between size and twice size.
type memory[K comparable] struct {
	size       int
	mu         sync.Mutex
	young, old map[K]group.Element
}

// get returns nil if k is not remembered.
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
