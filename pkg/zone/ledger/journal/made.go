// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"encoding/json"
	"sync"

	"kubi.zone/kubizone/pkg/zone/law/content"
)

const (
	// maxCachedValues is enough, because a watch lags only by transactions in flight.
	maxCachedValues = 128
	maxCachedOctets = 32 << 10
)

// valueCache saves parsing JSON, because a server watches the journal and receives its own values. Put is called before
// the transaction, which may fail, so Read returns the cached form only if the octets equal the value from etcd.
type valueCache struct {
	mu     sync.Mutex
	values map[string]cachedValue  // by journal key
	keys   [maxCachedValues]string // a ring, in the order of Put
	next   int                     // position of the oldest key, overwritten by the next Put
}

type cachedValue struct {
	octets []byte
	tx     *content.Transaction
}

// Put caches the value of a journal key with its decoded form tx. In a full cache, they replace the oldest value. A
// long value is not cached. Afterwards the caller must change neither value nor tx.
func (m *valueCache) Put(key string, value []byte, tx *content.Transaction) {
	if len(value) > maxCachedOctets {
		return
	}
	if cap(value) > 2*maxCachedOctets { // its buffer has held a longer value
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
