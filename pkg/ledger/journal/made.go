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
	maxCachedValues = 128
	maxCachedOctets = 32 << 10
)

// valueCache saves parsing JSON: a server watches the journal, and so receives the values that it has just written. Put
// is called before the transaction, which may fail. So Read returns the cached form only if its octets equal the value
// from etcd.
type valueCache struct {
	mu     sync.Mutex
	values map[string]cachedValue // by journal key
	// keys is a ring in the order of Put. next is the position of the oldest key, overwritten by the next Put.
	keys [maxCachedValues]string
	next int
}

type cachedValue struct {
	octets []byte
	tx     *content.Transaction
}

// Put caches a journal key's value, unless too long, in place of the oldest. Do not change value and tx afterwards.
func (m *valueCache) Put(key string, value []byte, tx *content.Transaction) {
	if len(value) > maxCachedOctets {
		return
	}
	if cap(value) > 2*maxCachedOctets { // grown by a discarded long step
		value = bytes.Clone(value)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = make(map[string]cachedValue, maxCachedValues)
	}
	delete(m.values, m.keys[m.next])
	m.keys[m.next] = key
	m.next = (m.next + 1) % maxCachedValues
	m.values[key] = cachedValue{value, tx}
}

func (m *valueCache) Read(key string, value []byte) (*content.Transaction, error) {
	m.mu.Lock()
	known := m.values[key]
	m.mu.Unlock()
	if known.tx != nil && bytes.Equal(known.octets, value) {
		return known.tx, nil
	}
	tx := &content.Transaction{}
	return tx, json.Unmarshal(value, tx)
}
