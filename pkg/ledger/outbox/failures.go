// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"sync"
	"time"
)

// A work that failed rests before it is tried again, each time twice as long.
const (
	firstRest   = time.Second
	longestRest = 5 * time.Minute
	// longestWait is the longest rest of a work that has not failed, and waits for Delivery.
	longestWait = 10 * time.Second
)

// failures counts, for each work, the failures at this server since the work last went through.
type failures struct {
	mu sync.Mutex
	of map[string]failure
}

type failure struct {
	rest  time.Duration
	until time.Time
}

// countFailure counts one more failure, and returns how long the work rests.
func (f *failures) countFailure(id string, longest time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]failure{}
	}
	rest := max(firstRest, min(2*f.of[id].rest, longest))
	f.of[id] = failure{rest, time.Now().Add(rest)}
	return rest
}

func (f *failures) hasFailed(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, failed := f.of[id]
	return failed
}

func (f *failures) isResting(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Before(f.of[id].until)
}

// keepOnly drops works that are not in the outbox any longer.
func (f *failures) keepOnly(known map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.of {
		if !known[id] {
			delete(f.of, id)
		}
	}
}
