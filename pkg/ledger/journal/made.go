// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"encoding/json"
	"sync"

	"kubi.zone/kubizone/pkg/law/content"
)

const (
	// A watch lags only by transactions in flight: maxCachedValues are enough.
	maxMade       = 128
	maxMadeOctets = 32 << 10
)

// valueCache has the journal values that this process sent last, so that its feed need not parse them. Read compares
// the octets: etcd's value counts.
type made struct {
	mu     sync.Mutex
	values map[string]madeValue // by journal key
	keys   [maxMade]string      // ring in the order of Put; next is the oldest
	next   int
}

type madeValue struct {
	octets []byte
	tx     *content.Transaction
}

// Put caches a value unless too long. The caller must not change value and tx afterwards.
func (m *made) Put(key string, value []byte, tx *content.Transaction) {
	if len(value) > maxMadeOctets {
		return
	}
	if cap(value) > 2*maxMadeOctets { // grown by a discarded long step
		value = bytes.Clone(value)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = make(map[string]madeValue, maxMade)
	}
	delete(m.values, m.keys[m.next])
	m.keys[m.next] = key
	m.next = (m.next + 1) % maxMade
	m.values[key] = madeValue{value, tx}
}

// Read returns the transaction in a journal value, decoded unless cached.
func (m *made) Read(key string, value []byte) (*content.Transaction, error) {
	m.mu.Lock()
	known := m.values[key]
	m.mu.Unlock()
	if known.tx != nil && bytes.Equal(known.octets, value) {
		return known.tx, nil
	}
	tx := &content.Transaction{}
	return tx, json.Unmarshal(value, tx)
}
