// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"

	"kubi.zone/kubizone/pkg/delivery"
)

func (m *Memory) nextForeign(f *Facts) (act Action, mine bool) {
	intent := m.foreignIntent(f)
	if intent == nil {
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

	if m.State.Intent == nil || !intent.Equal(&m.takeover.intent) {
		return Action{Do: DoTakeOver, Why: fmt.Sprintf("%s began serial %d, and has stopped", intent.Holder, intent.Serial)}, false
	}
	return Action{}, true
}

// foreignIntent returns another worker's intent, or nil. The worker that confirmed State.Serial may have begun a later
// serial without a stored intent. The result then covers all changes since State.Serial.
func (m *Memory) foreignIntent(f *Facts) *delivery.Intent {
	state, me := &m.State, f.Identity
	if intent := state.Intent; intent != nil {
		if intent.Holder == "" || intent.Holder == me {
			return nil
		}
		return intent
	}

	if state.Holder == "" || state.Holder == me || state.Serial == 0 || f.View == nil || f.View.Serial == state.Serial ||
		state.Serial.Ahead(f.View.Serial) {
		return nil
	}
	return &delivery.Intent{Serial: state.Serial, From: state.Serial, Holder: state.Holder, Unlisted: true}
}

// TakeOver makes the intent of another, stopped worker this worker's own, and returns it; nil if taken over before, or
// if no call can be in flight (quiet). touched and once come from FindChangedRRsets.
func (m *Memory) TakeOver(f *Facts, touched []delivery.RRsetKey, once, quiet bool) (begun *delivery.Intent) {
	// List the RRsets that the other worker may have written, unless there are too many.
	intent := m.foreignIntent(f)
	if touched != nil && len(touched) <= maxListed {
		intent.RRsets, intent.Unlisted = touched, false
	}

	if !quiet && !intent.Equal(&m.takeover.intent) {
		// Schedule a second write (dueRepeat) over late calls of the other worker. Failures do not postpone it. If the
		// other delivery begins and ends at the same serial, its late calls write the content of that serial, so only
		// RRsets changed later need it.
		m.takeover.wroteWhole, m.takeover.oneSerial = false, intent.From != 0 && intent.From == intent.Serial
		if !once {
			m.due[dueRepeat] = f.Began.Add(f.RepeatAfter)
		}
		begun = intent
	}

	m.takeover.intent, m.State.Intent = *intent, intent
	return begun
}
