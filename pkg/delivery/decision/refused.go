// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"maps"
	"slices"

	"kubi.zone/kubizone/pkg/delivery"
)

// A zone may have more RRsets that its provider refuses than an Intent lists (attack 8). The others are confirmed all
// the same. Where what stands in the place of those that are not listed was there before, the Intent's From and
// Unlisted say that they are among what the zone changed since; else it has no From, which says that any RRset of the
// zone may be owed: a worker that loads it writes the whole zone once. The worker that set them aside knows all of
// them, and tries maxInTurn in an attempt, so that a change of the zone waits for so many calls at most.

// maxListed bounds the RRsets that an Intent lists, and so what a State can weigh.
const maxListed = 256

// maxInTurn bounds the RRsets set aside that one attempt tries again.
const maxInTurn = 64

// knowsAside reports whether this process has set RRsets aside, knows all of them, and everything else of the zone
// was confirmed.
func (m *Memory) knowsAside() bool {
	return m.refused.aside != nil && m.State.Serial != 0 && m.State.Intent != nil
}

// listOwed are the RRsets that were refused, as far as they are known.
func (m *Memory) listOwed() map[delivery.RRsetKey]bool {
	owed := map[delivery.RRsetKey]bool{}
	if m.knowsAside() {
		for key := range m.refused.aside {
			owed[key] = true
		}
	} else if intent := m.State.Intent; intent != nil {
		for _, key := range intent.RRsets {
			owed[key] = true
		}
	}
	return owed
}

// inTurn is the state that plans are made from: of what is set aside they have those whose turn it is.
func (m *Memory) inTurn() delivery.State {
	state := m.State
	if !m.knowsAside() {
		return state
	}
	if len(m.refused.turn) == 0 {
		m.refused.turn = slices.SortedFunc(maps.Keys(m.refused.aside), delivery.RRsetKey.Compare)
	}
	turn := m.refused.turn[:min(maxInTurn, len(m.refused.turn))]
	state.Intent = &delivery.Intent{Serial: state.Intent.Serial, From: state.Earliest(), RRsets: turn}
	return state
}

// turnTo has RRsets that the provider lost tried before those that it refused.
func (m *Memory) turnTo(lost []delivery.RRsetKey) {
	again := map[delivery.RRsetKey]bool{}
	for _, key := range lost {
		again[key] = true
		m.refused.aside[key] = delivery.Errorf(delivery.ReasonServerError, "the provider does not have it any more; it is delivered again")
	}
	m.refused.turn = slices.Concat(lost, slices.DeleteFunc(m.refused.turn, func(key delivery.RRsetKey) bool { return again[key] }))
}

// withAside adds to what was refused in an attempt what stays set aside. carriedOut says that what had its turn is
// answered.
func (m *Memory) withAside(plans []delivery.Plan, failed []delivery.Failure, carriedOut bool) []delivery.Failure {
	if !m.knowsAside() || slices.ContainsFunc(plans, func(plan delivery.Plan) bool { return plan.Changes == nil }) {
		return failed
	}
	answered := map[delivery.RRsetKey]bool{}
	for _, failure := range failed {
		answered[failure.Key()] = true
	}
	if carriedOut {
		for _, plan := range plans {
			for _, change := range plan.Changes {
				answered[change.After.Key()] = true
			}
		}
		m.refused.turn = slices.DeleteFunc(m.refused.turn, func(key delivery.RRsetKey) bool { return answered[key] })
	}
	for key, err := range m.refused.aside {
		if !answered[key] {
			failed = append(failed, delivery.Failure{Name: key.Name, Type: key.Type, Err: err})
		}
	}
	slices.SortFunc(failed, func(one, other delivery.Failure) int { return one.Key().Compare(other.Key()) })
	return failed
}

// newRefusal is one error for RRsets that were refused: permanent if all of them are, else as urgent as the most
// urgent.
func newRefusal(failed []delivery.Failure) *delivery.Error {
	sum := &delivery.Error{Permanent: true}
	for _, failure := range failed {
		e := failure.Err
		if e == nil {
			e = &delivery.Error{Reason: delivery.ReasonServerError, Message: "refused without a reason"}
		}
		if sum.Reason == "" {
			sum.Reason, sum.Code, sum.Err = e.Reason, e.Code, e.Err
			sum.Message = failure.Key().String() + ": " + e.Message
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

// moreRRsets is what follows the first of several.
func moreRRsets(more int) string {
	if more < 1 {
		return ""
	}
	return fmt.Sprintf(" (and %d more RRsets)", more)
}
