// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"

	"kubi.zone/kubizone/pkg/delivery"
)

// nextForeign decides whether to take over another worker's write. mine is true if no write of another worker is open,
// or if this worker has taken it over before; otherwise act is DoTakeOver.
func (m *Memory) nextForeign(f *Facts) (act Action, mine bool) {
	intent := m.foreignIntent(f)
	if intent == nil {
		// Remember the holder while nothing waits: a later change then comes after that worker has stopped.
		if m.takeover.intent = (delivery.Intent{}); f.View != nil {
			m.takeover.idleHolder = m.State.Holder
		}
		return Action{}, true
	}

	if m.State.Intent == nil && m.takeover.idleHolder == intent.Holder {
		// The other worker had nothing to deliver when this process began, and has stopped. No call is in flight.
		return Action{Do: DoTakeOver, Quiet: true, Why: fmt.Sprintf("the zone changed after %s, which has stopped, confirmed it",
			intent.Holder)}, false
	}

	// The former worker may have crashed between the intent and its last call, so late calls are possible.
	if m.State.Intent == nil || !intent.Equal(&m.takeover.intent) {
		return Action{Do: DoTakeOver, Why: fmt.Sprintf("%s began serial %d, and has stopped", intent.Holder, intent.Serial)}, false
	}
	return Action{}, true
}

// foreignIntent returns the intent of another worker, its record of a write that it began, or nil.
func (m *Memory) foreignIntent(f *Facts) *delivery.Intent {
	intent := m.openIntent(f)
	// Nothing is open, or an intent is free for any worker, or our own.
	if intent == nil || intent.Holder == "" || intent.Holder == f.Identity {
		return nil
	}
	return intent
}

// openIntent returns the stored intent, or nil. The worker that confirmed State.Serial may begin the next serial
// without a stored intent. If the zone has changed since, the result is of that worker, and covers all changes.
func (m *Memory) openIntent(f *Facts) *delivery.Intent {
	state := &m.State
	if state.Intent != nil || state.Serial == 0 || f.View == nil || !f.View.Serial.Ahead(state.Serial) {
		return state.Intent
	}
	return &delivery.Intent{Serial: state.Serial, From: state.Serial, Holder: state.Holder, Unlisted: true}
}

// TakeOver continues the intent (the record of a begun write) of another worker, which has stopped. It returns the
// intent, or nil if it was taken over before, or if quiet says that no call of that worker can be in flight.
// FindChangedRRsets returns changed and changedOnce.
func (m *Memory) TakeOver(f *Facts, changed []delivery.RRsetKey, changedOnce, quiet bool) (begun *delivery.Intent) {
	// List the RRsets that the other worker may have written, unless there are too many.
	intent := m.foreignIntent(f)
	// At most 256 RRsets fit into the intent. Otherwise the whole zone is written.
	if changed != nil && len(changed) <= maxListed {
		intent.RRsets, intent.Unlisted = changed, false
	}

	if !quiet && !intent.Equal(&m.takeover.intent) {
		// Schedule a second write (dueRepeat) over late calls of the other worker. Failures do not postpone it. If the
		// intent begins and ends at one serial, late calls write the content of that serial, so only RRsets changed
		// later need the second write.
		m.takeover.wroteWhole, m.takeover.oneSerial = false, intent.From != 0 && intent.From == intent.Serial
		if !changedOnce {
			m.due[dueRepeat] = f.Began.Add(f.RepeatAfter)
		}
		begun = intent
	}

	m.takeover.intent, m.State.Intent = *intent, intent
	return begun
}
