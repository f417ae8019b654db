// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Memory is the stored state of a delivery, with findings of this process. Only the delivery's worker uses it.
type Memory struct {
	// Loaded: Stored is the content of the Store, State is Stored with the changes of this process. Known: the state
	// was loaded once.
	Loaded, Known bool
	Stored, State delivery.State
	Leaving       bool
	Why           string
	// unsaved has RRsets possibly half written that no store has (BeginUnrecorded).
	unsaved  *delivery.Intent
	revision int
	viewed   bool
	due      times
	failures int
	// blocked: the delivery waits for another serial than blockedAt.
	blocked   bool
	blockedAt serial.Serial
	refused   refused
	// pending is the serial that some servers have not fetched yet.
	pending    serial.Serial
	polls      int
	cannotList bool
	drift      driftCount
	servers    []string
	lost       time.Time
	request    string
	takeover   takeover
	// absent counts removals in a row from a provider without the zone.
	absent int
}

type refused struct {
	times int
	// unlisted has the error of each refused RRset if the intent cannot list all; nil otherwise, and after a load.
	// remaining are still to be retried in this round.
	unlisted  map[delivery.RRsetKey]*delivery.Error
	remaining []delivery.RRsetKey
}

// driftCount counts drift for metrics: RRsets not repaired yet, and foreign RRsets in the last comparison.
type driftCount struct {
	rrsets map[delivery.RRsetKey]bool
	others int
	known  bool
}

type takeover struct {
	// taken is the other worker's intent, which stays in the Store until the first write.
	taken delivery.Intent
	// idleHolder is the last State.Holder seen while there was nothing to deliver.
	idleHolder string
	// oneSerial: all calls of the other worker were of one serial. Otherwise whole: the takeover wrote the whole zone,
	// and the repeat does too.
	whole, oneSerial bool
}

// cause is a reason for an attempt in the absence of changes.
type cause int

const (
	dueRetry cause = iota
	dueRefused
	duePoll
	dueCompare
	// dueRepeat is the second write of the RRsets of a taken-over intent.
	dueRepeat
	dueView
	// dueRequest is the time from which the next Zone.Request is accepted. It wakes no attempt.
	dueRequest
	causes
)

// times has the due time of each cause, zero for none.
type times [causes]time.Time

func (t *times) clear(of ...cause) {
	for _, c := range of {
		t[c] = time.Time{}
	}
}

func (t *times) isSet(c cause) bool { return !t[c].IsZero() }

func (t *times) waits(c cause, now time.Time) bool { return t[c].After(now) }

// Fails reports whether the last attempt failed or RRsets are refused.
func (m *Memory) Fails() bool { return m.failures > 0 || m.refused.times > 0 || m.blocked }

// LoadState sets the stored state. It adds the unsaved intent of this process, named me, unless another worker has
// begun.
func (m *Memory) LoadState(state delivery.State, me string) {
	m.Loaded, m.Known, m.Stored, m.State = true, true, state, state
	m.refused.unlisted, m.refused.remaining = nil, nil
	m.drift.rrsets = map[delivery.RRsetKey]bool{}
	for _, key := range state.Drift {
		m.drift.rrsets[key] = true
	}
	if unsaved := m.unsaved; unsaved != nil && state.Intent == nil && state.Holder == me {
		m.State.Intent = m.freeIntent(unsaved, me)
	} else {
		m.unsaved = nil // The other worker writes all changes of the zone, with the RRsets in unsaved.
	}
}

// KeepStored sets the state after a write to the Store.
func (m *Memory) KeepStored(state delivery.State) { m.Stored, m.State, m.unsaved = state, state, nil }

// BeginUnrecorded sets the state before the first call without a stored intent. The intent stays in memory until a
// state is stored.
func (m *Memory) BeginUnrecorded(next delivery.State) { m.State, m.unsaved = next, next.Intent }

// freeIntent drops the holder. While a repeat is due, the holder is me.
func (m *Memory) freeIntent(intent *delivery.Intent, me string) *delivery.Intent {
	if intent == nil {
		return nil
	}
	free := *intent
	if free.Holder = ""; m.due.isSet(dueRepeat) {
		free.Holder = me
	}
	return &free
}

// Wake returns the time of the next attempt if nothing changes before, zero for none. Causes already due at the time
// began do not count: the last attempt dealt with them, or they wait for a change.
func (m *Memory) Wake(began time.Time) (wake time.Time) {
	if m.due.isSet(dueRetry) {
		return m.due[dueRetry]
	}
	for _, at := range m.due[:dueRequest] {
		if at.After(began) && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	return wake
}
