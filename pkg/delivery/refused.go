// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"maps"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// A zone may have more RRsets that its provider refuses than an Intent lists (attack 8). The others are confirmed all
// the same. Where what stands in the place of those that are not listed was there before, the Intent's From and
// Unlisted say that they are among what the zone changed since; else it has no From, which says that any RRset of the
// zone may be owed: a worker that loads it writes the whole zone once. The worker that set them aside knows all of
// them, and tries maxInTurn in an attempt, so that a change of the zone waits for so many calls at most.

// maxInTurn bounds the RRsets set aside that one attempt tries again.
const maxInTurn = 64

// knowsAside reports whether this process has set RRsets aside, knows all of them, and everything else of the zone
// was confirmed.
func (m *memory) knowsAside() bool {
	return m.refused.aside != nil && m.state.Serial != 0 && m.state.Intent != nil
}

// listOwed are the RRsets that were refused, as far as they are known.
func (m *memory) listOwed() map[RRsetKey]bool {
	owed := map[RRsetKey]bool{}
	if m.knowsAside() {
		for key := range m.refused.aside {
			owed[key] = true
		}
	} else if intent := m.state.Intent; intent != nil {
		for _, key := range intent.RRsets {
			owed[key] = true
		}
	}
	return owed
}

// setAside is the intent of what was refused while all else was confirmed. Its From is that of the attempt while
// something that the zone had stands in the place of an RRset that was refused: the history since then names it, and
// what was in it.
func (m *memory) setAside(t tried, at serial.Serial, failed []Failure, now time.Time) *Intent {
	m.refused.aside = map[RRsetKey]*Error{}
	for _, failure := range failed {
		m.refused.aside[failure.key()] = failure.Err
	}
	stood, fresh := t.splitFailed(failed)
	intent := &Intent{Serial: at, From: at, Time: now, RRsets: slices.Concat(fresh, stood)}
	if len(stood) > 0 {
		intent.From = t.before.from()
	}
	if len(m.refused.aside) > maxListed {
		intent.Unlisted = true
		if len(fresh) > maxListed {
			intent.From, intent.RRsets = 0, slices.Concat(stood, fresh)
		}
		intent.RRsets = intent.RRsets[:maxListed]
	}
	slices.SortFunc(intent.RRsets, RRsetKey.Compare)
	return intent
}

// inTurn is the state that plans are made from: of what is set aside they have those whose turn it is.
func (m *memory) inTurn() State {
	state := m.state
	if !m.knowsAside() {
		return state
	}
	if len(m.refused.turn) == 0 {
		m.refused.turn = slices.SortedFunc(maps.Keys(m.refused.aside), RRsetKey.Compare)
	}
	state.Intent = &Intent{Serial: state.Intent.Serial, From: state.from(), RRsets: m.refused.turn[:min(maxInTurn, len(m.refused.turn))]}
	return state
}

// turnTo has RRsets that the provider lost tried before those that it refused.
func (m *memory) turnTo(lost []RRsetKey) {
	again := map[RRsetKey]bool{}
	for _, key := range lost {
		again[key], m.refused.aside[key] = true, Errorf(ReasonServerError, "the provider does not have it any more; it is delivered again")
	}
	m.refused.turn = slices.Concat(lost, slices.DeleteFunc(m.refused.turn, func(key RRsetKey) bool { return again[key] }))
}

// withAside adds to what was refused in an attempt what stays set aside. carriedOut says that what had its turn is
// answered.
func (m *memory) withAside(plans []Plan, failed []Failure, carriedOut bool) []Failure {
	if !m.knowsAside() || slices.ContainsFunc(plans, func(plan Plan) bool { return plan.Changes == nil }) {
		return failed
	}
	answered := map[RRsetKey]bool{}
	for _, failure := range failed {
		answered[failure.key()] = true
	}
	if carriedOut {
		for _, plan := range plans {
			for _, change := range plan.Changes {
				answered[change.After.Key()] = true
			}
		}
		m.refused.turn = slices.DeleteFunc(m.refused.turn, func(key RRsetKey) bool { return answered[key] })
	}
	for key, err := range m.refused.aside {
		if !answered[key] {
			failed = append(failed, Failure{key.Name, key.Type, err})
		}
	}
	slices.SortFunc(failed, func(one, other Failure) int { return one.key().Compare(other.key()) })
	return failed
}

// newRefusal is one error for RRsets that were refused: permanent if all of them are, else as urgent as the most
// urgent.
func newRefusal(failed []Failure) *Error {
	sum := &Error{Permanent: true}
	for _, failure := range failed {
		e := failure.Err
		if e == nil {
			e = &Error{Reason: ReasonServerError, Message: "refused without a reason"}
		}
		if sum.Reason == "" {
			sum.Reason, sum.Code, sum.Err = e.Reason, e.Code, e.Err
			sum.Message = failure.key().String() + ": " + e.Message
		}
		if !e.Permanent {
			sum.Permanent = false
			if e.RetryAfter > 0 && (sum.RetryAfter == 0 || e.RetryAfter < sum.RetryAfter) {
				sum.RetryAfter = e.RetryAfter
			}
		}
	}
	sum.Message += moreRRsets(len(failed) - 1)
	return sum
}
