// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Memory is what a process knows of one delivery: the state that is stored, and beside it what the process found out
// and has not stored. A new process begins without it. Its worker alone reads and writes it.
type Memory struct {
	// Loaded says that Stored is what the Store has, and State what the delivery goes by; Known that it was loaded
	// once.
	Loaded, Known bool
	Stored, State delivery.State
	// Leaving says that the zone is being removed.
	Leaving bool
	// Why is what the delivery waits for, as it was logged last.
	Why string
	// unsaved is what may stand half written and no store knows of (BeginUnrecorded).
	unsaved *delivery.Intent
	// revision is that of the class; another one forgets failures.
	revision int
	// viewed says that this process had a view of the zone.
	viewed bool
	due    times
	// failures counts those in a row. In a blocked zone nothing is tried before it passes blockedAt.
	failures  int
	blocked   bool
	blockedAt serial.Serial
	refused   refused
	// pending is the serial that servers are on their way to, polls how often they were asked.
	pending serial.Serial
	polls   int
	// cannotList says that the provider cannot be compared.
	cannotList bool
	drift      driftCount
	// servers are the last Class.Servers that the rows were compared with.
	servers []string
	// lost is the last Facts.Lost that was taken up.
	lost time.Time
	// request is the last Zone.Request that was taken up.
	request  string
	takeover takeover
	// absent counts how often in a row the provider said that it has no such zone when it was asked to remove it.
	absent int
}

// refused are RRsets that the provider refused.
type refused struct {
	// times is how often they were since the first refusal of one of them.
	times int
	// aside is what was refused, and why, where that is more than the intent lists; nil where it is not, or not known
	// since the state was loaded. turn are those of it that are still to be tried this time.
	aside map[delivery.RRsetKey]*delivery.Error
	turn  []delivery.RRsetKey
}

// driftCount is for metrics: rrsets are those that a comparison found to be missing or different and that are not
// mended; others is how many of others the last one found, and counts from the second one on (known).
type driftCount struct {
	rrsets map[delivery.RRsetKey]bool
	others int
	known  bool
}

// takeover of what another worker may have under way.
type takeover struct {
	// taken is its intent, which was taken over and stands in the store until the first write.
	taken delivery.Intent
	// rested is the State.Holder that was seen when the zone was as that one had confirmed it.
	rested string
	// whole says that the repeat is of all of the zone, since that was written when the intent was taken over and not
	// all that was written then was of one serial (atOne).
	whole, atOne bool
}

// cause is why a delivery has something to do though nothing has changed.
type cause int

const (
	// dueRetry is when what failed is tried again, and nothing else before.
	dueRetry cause = iota
	// dueOwed is when RRsets that were refused are tried again.
	dueOwed
	// duePoll is when servers that are on their way to the serial are asked again.
	duePoll
	// dueCompare is when provider and zone are compared.
	dueCompare
	// dueRepeat is when the RRsets of an intent that was taken over are written once more.
	dueRepeat
	// dueView is when the view of a zone that is to be removed is waited for no longer.
	dueView
	// dueRequest is when the next Zone.Request is taken up. It wakes nothing by itself.
	dueRequest
	causes
)

// times say when each cause is due. The zero time says that it is not.
type times [causes]time.Time

func (t *times) clear(of ...cause) {
	for _, c := range of {
		t[c] = time.Time{}
	}
}

// isSet reports whether a time stands for the cause, passed or not.
func (t *times) isSet(c cause) bool { return !t[c].IsZero() }

// waits reports whether the cause is due later.
func (t *times) waits(c cause, now time.Time) bool { return t[c].After(now) }

// Fails reports whether what was tried last failed, or RRsets are refused.
func (m *Memory) Fails() bool { return m.failures > 0 || m.refused.times > 0 || m.blocked }

// LoadState goes by what is stored, and on from what this process, me, left half written and could not store.
func (m *Memory) LoadState(state delivery.State, me string) {
	m.Loaded, m.Known, m.Stored, m.State = true, true, state, state
	m.refused.aside, m.refused.turn = nil, nil
	m.drift.rrsets = map[delivery.RRsetKey]bool{}
	for _, key := range state.Drift {
		m.drift.rrsets[key] = true
	}
	if unsaved := m.unsaved; unsaved != nil && state.Intent == nil && state.Holder == me {
		m.State.Intent = m.freeIntent(unsaved, me)
	} else {
		m.unsaved = nil // Another one has begun since, and begins with what the zone changed.
	}
}

// KeepStored takes in that a state was stored.
func (m *Memory) KeepStored(state delivery.State) { m.Stored, m.State, m.unsaved = state, state, nil }

// BeginUnrecorded takes in that from here on something may stand half written, and this process alone knows: it keeps
// the intent of next until that is stored.
func (m *Memory) BeginUnrecorded(next delivery.State) { m.State, m.unsaved = next, next.Intent }

// freeIntent is an intent whose RRsets are still owed and that no worker is writing.
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

// Wake is when there is something to do if nothing changes before, zero for never. Work that was due when the
// last attempt began was dealt with or waits for a change.
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
