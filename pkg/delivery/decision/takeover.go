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
		if m.takeover.taken = (delivery.Intent{}); f.View != nil {
			m.takeover.idleHolder = m.State.Holder
		}
		return Action{}, true
	}
	if m.State.Intent == nil && m.takeover.idleHolder == intent.Holder {
		// The other worker had nothing to deliver when this process began, and has stopped: no call is in flight.
		return Action{Do: DoTakeOver, Quiet: true, Why: fmt.Sprintf("the zone changed after %s, which has stopped, confirmed it",
			intent.Holder)}, false
	}
	if m.State.Intent == nil || !intent.Same(&m.takeover.taken) {
		return Action{Do: DoTakeOver, Why: fmt.Sprintf("%s began serial %d, and has stopped", intent.Holder, intent.Serial)}, false
	}
	return Action{}, true
}

// foreignIntent returns the intent of another worker; nil means none. If the other worker confirmed the last serial,
// and so records no intent, foreignIntent makes one from State.Serial on, and TakeOver adds the RRsets.
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

// TakeOver makes another worker's intent the current intent, and schedules a repeat to overwrite calls that arrive
// late. It returns the intent, or nil if it was taken over before, or if no call is in flight (quiet). touched has the
// RRsets changed since the confirmation, if no intent was recorded; nil if unknown. If once is true, late calls write
// the present content, and no repeat is needed.
func (m *Memory) TakeOver(f *Facts, touched []delivery.RRsetKey, once, quiet bool) (begun *delivery.Intent) {
	intent := m.foreignIntent(f)
	if touched != nil && len(touched) <= maxListed {
		intent.RRsets, intent.Unlisted = touched, false
	}
	if !quiet && !intent.Same(&m.takeover.taken) {
		// The other worker may still be calling the server. If its delivery began and ends at the same serial, its late
		// calls can write only the content of this serial, so only the changes after this serial need a repeat. The
		// repeat is scheduled only once, because frequent failures would otherwise postpone it forever.
		m.takeover.whole, m.takeover.oneSerial = false, intent.From != 0 && intent.From == intent.Serial
		if !once {
			m.due[dueRepeat] = f.Began.Add(f.RepeatAfter)
		}
		begun = intent
	}
	m.takeover.taken, m.State.Intent = *intent, intent
	return begun
}
