// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// maxAnswers is divided equally among the tenants of the last hour. leastShare exceeds the number of a tenant's
	// messages in progress.
	maxAnswers, leastShare = 1 << 16, 256
	// idle is the time after the last message until a tenant is forgotten. The clock may be set back by less.
	idle = time.Hour
)

// Memory remembers the answers to signed messages. It is safe for concurrent use.
type Memory struct {
	clock func() time.Time
	valid time.Duration

	mu      sync.Mutex
	began   int64 // unix seconds, as in signatures
	swept   int64
	tenants map[string]*tenant
}

type tenant struct {
	bySecond map[int64]map[string]*Answer
	size     int
	// floor is the latest evicted second. Messages signed in it or before may be replays.
	floor int64
}

func New(clock func() time.Time, valid time.Duration) *Memory {
	return &Memory{clock: clock, valid: valid, began: clock().Unix(), tenants: map[string]*tenant{}}
}

func (m *Memory) AcceptsFrom() time.Time { return time.Unix(m.began+1, 0) }

type Answer struct {
	memory   *Memory
	tenant   string
	signedAt int64
	id       string
	done     chan struct{}
	rcode    uint16
}

// Begin returns the answer to a message that was signed at signedAt, in Unix seconds. If isFirst is true, the caller
// must apply the message and call End. Otherwise a copy came before, and the caller must call Wait. The answer is nil
// if the signature is too old to know whether a copy was applied.
func (m *Memory) Begin(tenantName, id string, signedAt int64) (a *Answer, isFirst bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	m.sweepTenants(now)

	t := m.tenants[tenantName]
	if t == nil {
		// Messages from before the start may have been applied by the process before.
		t = &tenant{bySecond: map[int64]map[string]*Answer{}, floor: m.began}
		m.tenants[tenantName] = t
	}

	t.forgetExpired(now.Add(-m.valid).Unix())

	// A copy gets the first answer, however full the memory is.
	if a = t.bySecond[signedAt][id]; a != nil {
		return a, false
	}

	// Evict the oldest answers beyond the tenant's share.
	share := max(maxAnswers/len(m.tenants), leastShare)
	for t.size >= share {
		oldest := slices.Min(slices.Collect(maps.Keys(t.bySecond)))
		t.forgetSecond(oldest)
	}

	// A copy of the message may be among the evicted.
	if signedAt <= t.floor {
		return nil, false
	}

	a = &Answer{memory: m, tenant: tenantName, signedAt: signedAt, id: id, done: make(chan struct{})}
	if t.bySecond[signedAt] == nil {
		t.bySecond[signedAt] = map[string]*Answer{}
	}
	t.bySecond[signedAt][id] = a
	t.size++
	return a, true
}

// sweepTenants forgets the tenants without answers for an hour, and expired answers. The caller holds mu.
func (m *Memory) sweepTenants(now time.Time) {
	// Once a minute is enough, since Begin runs for each message.
	if now.Unix()/60 == m.swept {
		return
	}
	m.swept = now.Unix() / 60
	maps.DeleteFunc(m.tenants, func(_ string, t *tenant) bool {
		t.forgetExpired(now.Add(-m.valid).Unix())
		return t.size == 0 && t.floor < now.Add(-idle).Unix()
	})
}

func (t *tenant) forgetExpired(until int64) {
	for signed := range t.bySecond {
		if signed < until {
			t.forgetSecond(signed)
		}
	}
}

func (t *tenant) forgetSecond(signed int64) {
	t.size -= len(t.bySecond[signed])
	t.floor = max(t.floor, signed)
	delete(t.bySecond, signed)
}

// End sets the answer and wakes Wait. If outcomeKnown is false, the next copy of the message is applied.
func (a *Answer) End(rcode uint16, outcomeKnown bool) {
	a.memory.mu.Lock()
	defer a.memory.mu.Unlock()
	if t := a.memory.tenants[a.tenant]; !outcomeKnown && t != nil && t.bySecond[a.signedAt][a.id] == a {
		delete(t.bySecond[a.signedAt], a.id)
		t.size--
	}
	a.rcode = rcode
	close(a.done)
}

func (a *Answer) Wait(ctx context.Context) (rcode uint16, ok bool) {
	select {
	case <-a.done:
		return a.rcode, true
	case <-ctx.Done():
		return 0, false
	}
}
