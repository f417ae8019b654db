// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"maps"
	"sync"

	"kubi.zone/kubizone/pkg/delivery"
)

// refusals has the RRsets refused in the last attempts, to log each refusal once.
type refusals struct {
	mu   sync.Mutex
	last map[delivery.Key]map[delivery.RRsetKey]*delivery.Error
}

// takeEvent returns the refusals absent from the attempt before.
func (r *refusals) takeEvent(event delivery.Event) []delivery.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Outcome == delivery.OutcomeRemoved {
		delete(r.last, event.Key)
		return nil
	}
	before, now := r.last[event.Key], map[delivery.RRsetKey]*delivery.Error{}
	for _, failure := range event.Failed {
		now[failure.Key()] = failure.Err
	}
	// A failed attempt without refusals may have asked nothing, so the former refusals stay known.
	if len(now) > 0 || event.Outcome == delivery.OutcomeDelivered || event.Outcome == delivery.OutcomePending {
		r.last[event.Key] = now
	}
	return newRefusals(event.Failed, before)
}

func newRefusals(failed []delivery.Failure, before map[delivery.RRsetKey]*delivery.Error) (fresh []delivery.Failure) {
	for _, failure := range failed {
		last, now := before[failure.Key()], failure.Err
		if now != nil && (last == nil || last.Reason != now.Reason || last.Code != now.Code || last.Detail != now.Detail) {
			fresh = append(fresh, failure)
		}
	}
	return fresh
}

func (r *refusals) forget(which func(delivery.Key) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.last, func(key delivery.Key, _ map[delivery.RRsetKey]*delivery.Error) bool { return which(key) })
}
