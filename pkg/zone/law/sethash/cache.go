// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sethash

import (
	"sync"

	"github.com/cloudflare/circl/group"
)

// The decision and each view hash a change, at 7 µs or more for an element or state.
var (
	elements = cache[string]{size: 4096}
	sums     = cache[State]{size: 1024}
)

// maxCachedLength limits the memory for long values of tenants: 4,096 elements take 2 MiB a generation.
const maxCachedLength = 512

// maxCachedElements limits the elements of a call that uses the cache, because the check of a whole zone would evict
// all others.
const maxCachedElements = 512

type cache[K comparable] struct {
	size       int
	mu         sync.Mutex
	young, old map[K]group.Element
}

func (m *cache[K]) get(k K) group.Element {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.young[k]; e != nil {
		return e
	}
	return m.old[k]
}

func (m *cache[K]) put(k K, e group.Element) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.young == nil || len(m.young) >= m.size {
		m.young, m.old = make(map[K]group.Element, m.size), m.young
	}
	m.young[k] = e
}
