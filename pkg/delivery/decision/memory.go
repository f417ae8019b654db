// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Memory is the memory of a delivery (a zone in a class) between attempts: the state in the store, and findings of this
// process. Only one worker at a time uses it.
type Memory struct {
	Loaded       bool           // Stored equals the state in the Store
	LoadedOnce   bool           // Loaded was true before
	Stored       delivery.State // as read from the Store, or written there
	State        delivery.State // Stored with later changes
	Leaving      bool           // the class must give up the zone
	LoggedReason string         // of the last wait
	// unsavedIntent lists RRsets that may be half written, although no stored intent lists them.
	unsavedIntent *delivery.Intent
	revision      int  // Facts.Revision of the last attempt
	viewed        bool // an attempt had the zone's content (Facts.View)
	// due has the time of the next retry, comparison and so on.
	due      times
	failures int // in a row
	// blocked is true after a permanent error, until another serial than blockedAt is to be written, or the zone to be
	// removed. removing is true if the last decision was about a removal.
	blocked, removing bool
	blockedAt         serial.Serial
	refusals          refusals // RRsets that the provider refused
	// pending is a serial that was written, but not confirmed by all servers. polls counts the attempts since.
	pending    serial.Serial
	polls      int
	cannotList bool       // the provider cannot list RRsets, so no comparison is due
	drift      driftCount // of the last comparison
	// servers, lostAt and request are the last handled Class.Servers, Facts.LostAt and Zone.Request.
	servers  []string
	lostAt   time.Time
	request  string
	takeover takeover // of the zone from another worker
	// absences counts removals in a row that failed because the provider lacks the zone.
	absences int
}

type refusals struct {
	rounds int
	// byRRset has the error of each refused RRset if the intent cannot list all; nil otherwise, and after a load.
	// remaining are to be retried in this round.
	byRRset   map[delivery.RRsetKey]*delivery.Error
	remaining []delivery.RRsetKey
}

type driftCount struct {
	rrsets  map[delivery.RRsetKey]bool
	foreign int
	known   bool
}

type takeover struct {
	// intent is another worker's intent. It stays in the Store until this worker's first write.
	intent delivery.Intent
	// idleHolder is the last State.Holder seen without anything to deliver.
	idleHolder string
	// wroteWhole is true if the repeat writes the whole zone, too. oneSerial is true if all calls of the other worker
	// had the content of a single serial.
	wroteWhole, oneSerial bool
}

type cause int

const (
	dueRetry cause = iota
	dueRefused
	duePoll
	dueCompare
	// dueRepeat is the second write of a taken-over intent, over late calls.
	dueRepeat
	dueView
	// dueRequest is when the next Zone.Request is accepted; it starts no attempt.
	dueRequest
	causes
)

type times [causes]time.Time

func (t *times) clear(ended ...cause) {
	for _, c := range ended {
		t[c] = time.Time{}
	}
}

func (t *times) isSet(c cause) bool { return !t[c].IsZero() }

// advance brings a time forward, and never puts it off.
func (t *times) advance(c cause, at time.Time) {
	if at.Before(t[c]) {
		t[c] = at
	}
}

func (t *times) isFuture(c cause, now time.Time) bool { return t[c].After(now) }

func (t *times) isDue(c cause, now time.Time) bool { return t.isSet(c) && !t.isFuture(c, now) }

func (m *Memory) IsFailing() bool { return m.failures > 0 || m.refusals.rounds > 0 || m.blocked }

// LoadState replaces m.State by the stored state. It keeps an intent that this process could not save, unless the
// stored Intent or Holder is another worker's.
func (m *Memory) LoadState(state delivery.State, identity string) {
	m.Loaded, m.LoadedOnce, m.Stored, m.State = true, true, state, state
	// Another worker may have written since, so refused RRsets in memory may be out of date.
	m.refusals.byRRset, m.refusals.remaining = nil, nil
	m.drift.rrsets = setOf(state.Drift)
	if unsaved := m.unsavedIntent; unsaved != nil && state.Intent == nil && state.Holder == identity {
		m.State.Intent = m.withoutHolder(unsaved, identity)
	} else {
		m.unsavedIntent = nil // the other worker's write includes the RRsets
	}
}

func (m *Memory) KeepStored(state delivery.State) {
	m.Stored, m.State, m.unsavedIntent = state, state, nil
}

// BeginUnrecorded begins without a stored intent. m keeps the intent until a state is stored.
func (m *Memory) BeginUnrecorded(next delivery.State) { m.State, m.unsavedIntent = next, next.Intent }

// withoutHolder returns a copy of intent that any worker may continue, or only this worker while a repeat is due.
func (m *Memory) withoutHolder(intent *delivery.Intent, identity string) *delivery.Intent {
	if intent == nil {
		return nil
	}
	free := *intent
	// A worker that took over must keep its name until the repeat, or its successor would skip the second write.
	if free.Holder = ""; m.due.isSet(dueRepeat) {
		free.Holder = identity
	}
	return &free
}

// NextWake returns the time of the next attempt if nothing changes before; zero means none. If a retry is scheduled,
// this is its time, because Next waits for it. Otherwise it is the earliest scheduled time after began, the start of
// the last attempt.
func (m *Memory) NextWake(began time.Time) (wake time.Time) {
	if m.due.isSet(dueRetry) {
		return m.due[dueRetry]
	}
	for _, due := range m.due[:dueRequest] { // dueRequest starts none
		if due.After(began) && (wake.IsZero() || due.Before(wake)) {
			wake = due
		}
	}
	return wake
}
