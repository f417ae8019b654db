// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"maps"
	"slices"

	"kubi.zone/kubizone/pkg/delivery"
)

// A provider may refuse more RRsets than an Intent lists, and confirm the rest. If each unlisted RRset may have earlier
// data there, the intent is Unlisted, and the changes since From include them. Otherwise From is 0, and a worker that
// loads the state writes the whole zone once. All refused RRsets stay in memory. An attempt retries few, so a change of
// the zone need not wait for all.

const maxListed = 256

const maxPerAttempt = 64

func (m *Memory) hasUnlistedRefusals() bool {
	return m.refusals.byRRset != nil && m.State.Serial != 0 && m.State.Intent != nil
}

// listUnconfirmed returns the RRsets that the provider refused, or that may be half written: all refused RRsets if they
// are in memory, otherwise those of the intent. Empty if every RRset is confirmed.
func (m *Memory) listUnconfirmed() map[delivery.RRsetKey]bool {
	switch {
	case m.hasUnlistedRefusals():
		return setOf(slices.Collect(maps.Keys(m.refusals.byRRset)))
	case m.State.Intent != nil:
		return setOf(m.State.Intent.RRsets)
	}
	return nil
}

func setOf(keys []delivery.RRsetKey) map[delivery.RRsetKey]bool {
	set := map[delivery.RRsetKey]bool{}
	for _, key := range keys {
		set[key] = true
	}
	return set
}

// keysOfFailed returns the keys of the RRsets that a provider refused.
func keysOfFailed(failed []delivery.Failure) map[delivery.RRsetKey]bool {
	set := map[delivery.RRsetKey]bool{}
	for _, failure := range failed {
		set[failure.Key()] = true
	}
	return set
}

// roundState returns the state to plan from. If refused RRsets are beyond the intent, the state names only the next
// maxPerAttempt of them, so that a change of www need not wait for 5000 refused RRsets.
func (m *Memory) roundState() delivery.State {
	state := m.State
	if !m.hasUnlistedRefusals() {
		return state
	}
	// The last round is over: begin with all refused RRsets again.
	if len(m.refusals.remaining) == 0 {
		m.refusals.remaining = slices.SortedFunc(maps.Keys(m.refusals.byRRset), delivery.RRsetKey.Compare)
	}
	retried := m.refusals.remaining[:min(maxPerAttempt, len(m.refusals.remaining))]
	state.Intent = &delivery.Intent{Serial: state.Intent.Serial, From: state.Earliest(), RRsets: retried}
	return state
}

// retryFirst puts RRsets that the provider has lost before the refused RRsets of the round. Lost RRsets were confirmed
// once, so their write will most likely succeed.
func (m *Memory) retryFirst(lost []delivery.RRsetKey) {
	again := map[delivery.RRsetKey]bool{}
	for _, key := range lost {
		again[key] = true
		m.refusals.byRRset[key] = delivery.Errorf(delivery.ReasonServerError,
			"the provider does not have it any more; it is delivered again")
	}
	others := slices.DeleteFunc(m.refusals.remaining, func(key delivery.RRsetKey) bool { return again[key] })
	m.refusals.remaining = slices.Concat(lost, others)
}

// appendUnretried adds the refused RRsets that this attempt did not retry to failed, and sorts the result by key. If
// carriedOut, the retried RRsets leave the round. Without unlisted refusals, or after a write of the whole zone, failed
// is returned unchanged.
func (m *Memory) appendUnretried(plans []delivery.Plan, failed []delivery.Failure, carriedOut bool) []delivery.Failure {
	// A whole zone was written, so each refused RRset has its answer in failed.
	if !m.hasUnlistedRefusals() || slices.ContainsFunc(plans, func(plan delivery.Plan) bool { return plan.Changes == nil }) {
		return failed
	}

	answered := keysOfFailed(failed)
	// Without an error the provider took every RRset that it did not report in failed.
	if carriedOut {
		for _, plan := range plans {
			for _, change := range plan.Changes {
				answered[change.After.Key()] = true
			}
		}
		m.refusals.remaining = slices.DeleteFunc(m.refusals.remaining, func(key delivery.RRsetKey) bool { return answered[key] })
	}

	for key, err := range m.refusals.byRRset {
		if !answered[key] {
			failed = append(failed, delivery.Failure{Name: key.Name, Type: key.Type, Err: err})
		}
	}

	slices.SortFunc(failed, func(one, other delivery.Failure) int { return one.Key().Compare(other.Key()) })
	return failed
}

// newRefusal sums up failures in one error, with the reason and the name of the first. The sum is permanent only if all
// failures are, and its RetryAfter is the shortest of those that can be retried.
func newRefusal(failed []delivery.Failure) *delivery.Error {
	sum := &delivery.Error{Permanent: true}
	for _, failure := range failed {
		e := failure.Err
		if sum.Reason == "" {
			sum.Reason, sum.Code, sum.Err = e.Reason, e.Code, e.Err
			sum.Message = failure.Key().String() + ": " + e.Message
		}
		// A rate limit at www ends sooner than a refused TLSA at mail: retry after the earliest.
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
