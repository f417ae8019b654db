// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"maps"
	"sync"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/ready"
)

type reports struct {
	mu     sync.Mutex
	states map[delivery.Key]report
}

type report struct {
	ready.Report
	// refusals are of the last attempt. The map is replaced, never modified.
	refusals map[delivery.RRsetKey]*delivery.Error
}

func (r *reports) get(key delivery.Key) ready.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states[key].Report
}

func (r *reports) takeEvent(event delivery.Event) []delivery.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	if event.Outcome == delivery.OutcomeRemoved {
		r.states[event.Key] = report{Report: ready.Report{Observed: true}}
		return nil
	}
	before := r.states[event.Key]
	now := before
	now.State, now.Known, now.Observed = event.State, true, true
	refused := map[delivery.RRsetKey]*delivery.Error{}
	for _, failure := range event.Failed {
		refused[delivery.RRsetKey{Name: failure.Name, Type: failure.Type}] = failure.Err
	}
	if len(refused) > 0 || event.Outcome == delivery.OutcomeDelivered || event.Outcome == delivery.OutcomePending {
		now.refusals = refused
	}
	r.states[event.Key] = now
	return newRefusals(event.Failed, before.refusals)
}

func newRefusals(failed []delivery.Failure, before map[delivery.RRsetKey]*delivery.Error) (fresh []delivery.Failure) {
	for _, failure := range failed {
		last, now := before[delivery.RRsetKey{Name: failure.Name, Type: failure.Type}], failure.Err
		if now != nil && (last == nil || last.Reason != now.Reason || last.Code != now.Code || last.Detail != now.Detail) {
			fresh = append(fresh, failure)
		}
	}
	return fresh
}

// After a report of the Loop, a Delivery counts only with another worker's later serial.
func (r *reports) takeDelivery(key delivery.Key, one *v1alpha1.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.states[key]
	if !is.Observed {
		delete(r.states, key)
		is = report{}
	}
	if one == nil {
		return
	}
	state, err := ready.StateOf(one)
	faster := is.Known && is.State.Serial != 0 && state.Holder != is.State.Holder && state.Serial.Ahead(is.State.Serial)
	if err == nil && (!is.Observed || faster) {
		is.State, is.Known = state, true
		r.states[key] = is
	}
}

func (r *reports) forget(which func(delivery.Key) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.states, func(key delivery.Key, _ report) bool { return which(key) })
}
