// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"encoding/json"
	"sync"

	"kubi.zone/kubizone/pkg/law/content"
)

// The feed of this process gets from etcd mostly what this process wrote, which need not be parsed again. The value in
// etcd counts, so the octets are compared, not the keys alone.

const (
	// maxMade bounds the values in memory, each of at most maxMadeOctets: a watch is behind by the transactions that
	// are under way.
	maxMade       = 128
	maxMadeOctets = 32 << 10
)

// made are the journal values sent last.
type made struct {
	mu     sync.Mutex
	values map[string]madeValue // by journal key
	keys   [maxMade]string      // in the order in which they were put, around and around
	next   int
}

type madeValue struct {
	octets []byte
	tx     *content.Transaction
}

// Put remembers a value that is about to be sent; value and tx do not change from here on.
func (m *made) Put(key string, value []byte, tx *content.Transaction) {
	if len(value) > maxMadeOctets {
		return
	}
	if cap(value) > 2*maxMadeOctets { // a long step was encoded behind it, and went alone
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

// Read returns the transaction of a value of the journal.
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
