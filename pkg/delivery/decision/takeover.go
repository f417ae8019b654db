// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"

	"kubi.zone/kubizone/pkg/delivery"
)

// nextForeign has another worker's intent taken over. mine says that there is none, or that it was taken over.
func (m *Memory) nextForeign(f *Facts) (act Action, mine bool) {
	intent := m.foreignIntent(f)
	if intent == nil {
		if m.takeover.taken = (delivery.Intent{}); f.View != nil {
			m.takeover.rested = m.State.Holder
		}
		return Action{}, true
	}
	if m.State.Intent == nil && m.takeover.rested == intent.Holder {
		// It had nothing to do when this process began to look, and has been gone since: nothing of it is on its way.
		return Action{Do: DoTakeOver, Quiet: true, Why: fmt.Sprintf("the zone changed since %s, which is gone, confirmed it",
			intent.Holder)}, false
	}
	if m.State.Intent == nil || !intent.Same(&m.takeover.taken) {
		return Action{Do: DoTakeOver, Why: fmt.Sprintf("%s began serial %d, and works no more", intent.Holder, intent.Serial)}, false
	}
	return Action{}, true
}

// foreignIntent is what another worker may have under way, nil for nothing. One that keeps the zone records no
// intent: it may be at what the zone changed since it confirmed it, which takeOver adds.
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

// TakeOver goes on from what another worker may have under way, and returns what that one began, nil where it was
// taken over before or nothing of it is on its way (quiet). A write of that worker that may still arrive is written
// over by a repeat, where it is not the present content. Where it recorded no intent, touched is what the zone changed
// since it confirmed it, nil where that is not known, and once says that what of that arrives late is what is written
// now.
func (m *Memory) TakeOver(f *Facts, touched []delivery.RRsetKey, once, quiet bool) (begun *delivery.Intent) {
	intent := m.foreignIntent(f)
	if touched != nil && len(touched) <= maxListed {
		intent.RRsets, intent.Unlisted = touched, false
	}
	if !quiet && !intent.Same(&m.takeover.taken) {
		// Once, however often the first write after it fails: else the repeat would be put off for ever. A
		// worker that began with a serial has the content of that serial on its way, and only changes since are
		// written over.
		m.takeover.whole, m.takeover.atOne = false, intent.From != 0 && intent.From == intent.Serial
		if !once {
			m.due[dueRepeat] = f.Began.Add(f.RepeatAfter)
		}
		begun = intent
	}
	m.takeover.taken, m.State.Intent = *intent, intent
	return begun
}
