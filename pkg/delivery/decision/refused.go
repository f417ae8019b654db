// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"maps"
	"slices"

	"kubi.zone/kubizone/pkg/delivery"
)

// A provider may refuse more RRsets of a zone than an Intent lists (attack 8); the rest is confirmed. If the provider
// may have earlier data of each unlisted RRset, they are among the changes since From (Unlisted). Otherwise From is 0,
// and a worker that loads the state writes the whole zone once. A worker with all refused RRsets in memory retries few
// in an attempt.

// maxListed bounds the RRsets in an Intent, and so the size of a State.
const maxListed = 256

const maxPerAttempt = 64

func (m *Memory) hasUnlisted() bool {
	return m.refused.unlisted != nil && m.State.Serial != 0 && m.State.Intent != nil
}

func (m *Memory) listUnconfirmed() map[delivery.RRsetKey]bool {
	unconfirmed := map[delivery.RRsetKey]bool{}
	if m.hasUnlisted() {
		for key := range m.refused.unlisted {
			unconfirmed[key] = true
		}
	} else if intent := m.State.Intent; intent != nil {
		for _, key := range intent.RRsets {
			unconfirmed[key] = true
		}
	}
	return unconfirmed
}

// The returned state's intent lists the refused RRsets to retry next.
func (m *Memory) roundState() delivery.State {
	state := m.State
	if !m.hasUnlisted() {
		return state
	}
	if len(m.refused.remaining) == 0 {
		m.refused.remaining = slices.SortedFunc(maps.Keys(m.refused.unlisted), delivery.RRsetKey.Compare)
	}
	retried := m.refused.remaining[:min(maxPerAttempt, len(m.refused.remaining))]
	state.Intent = &delivery.Intent{Serial: state.Intent.Serial, From: state.Earliest(), RRsets: retried}
	return state
}

func (m *Memory) retryFirst(lost []delivery.RRsetKey) {
	again := map[delivery.RRsetKey]bool{}
	for _, key := range lost {
		again[key] = true
		m.refused.unlisted[key] = delivery.Errorf(delivery.ReasonServerError,
			"the provider does not have it any more; it is delivered again")
	}
	others := slices.DeleteFunc(m.refused.remaining, func(key delivery.RRsetKey) bool { return again[key] })
	m.refused.remaining = slices.Concat(lost, others)
}

// addUnlisted returns failed with the refused RRsets that the attempt did not retry. carriedOut is true if the provider
// answered for the planned RRsets.
func (m *Memory) addUnlisted(plans []delivery.Plan, failed []delivery.Failure, carriedOut bool) []delivery.Failure {
	if !m.hasUnlisted() || slices.ContainsFunc(plans, func(plan delivery.Plan) bool { return plan.Changes == nil }) {
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
		m.refused.remaining = slices.DeleteFunc(m.refused.remaining, func(key delivery.RRsetKey) bool { return answered[key] })
	}
	for key, err := range m.refused.unlisted {
		if !answered[key] {
			failed = append(failed, delivery.Failure{Name: key.Name, Type: key.Type, Err: err})
		}
	}
	slices.SortFunc(failed, func(one, other delivery.Failure) int { return one.Key().Compare(other.Key()) })
	return failed
}

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

func moreRRsets(more int) string {
	if more < 1 {
		return ""
	}
	return fmt.Sprintf(" (and %d more RRsets)", more)
}
