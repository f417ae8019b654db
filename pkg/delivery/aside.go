// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"maps"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// A zone may have more RRsets that its provider refuses than an Intent lists (attack 8). The others are confirmed all the
// same. Where what stands in the place of those that are not listed was there before, the Intent's From and Unlisted say that they
// are among what the zone changed since; else it has no From, which says that any RRset of the zone may be owed: a worker that loads it
// writes the whole zone once. The worker that set them aside knows all of them, and tries maxInTurn in an attempt, so that a change of the
// zone waits for so many calls at most.

// maxInTurn bounds the RRsets set aside that one attempt tries again.
const maxInTurn = 64

// knowsAside: this process has set RRsets aside, knows all of them, and everything else of the zone was confirmed.
func (a *attempt) knowsAside() bool {
	i := a.item
	return i.aside != nil && i.state.Serial != 0 && i.state.Intent != nil
}

// isOwed are the RRsets that were refused, as far as they are known.
func (a *attempt) isOwed() map[RRsetKey]bool {
	owed := map[RRsetKey]bool{}
	if a.knowsAside() {
		for key := range a.item.aside {
			owed[key] = true
		}
	} else if intent := a.item.state.Intent; intent != nil {
		for _, key := range intent.RRsets {
			owed[key] = true
		}
	}
	return owed
}

// setAside is the intent of what was refused while all else was confirmed. Its From is that of the attempt while something that
// the zone had stands in the place of an RRset that was refused: the history since then names it, and what was in it.
func (a *attempt) setAside(at serial.Serial, failed []Failure, now time.Time) *Intent {
	i := a.item
	i.aside = map[RRsetKey]*Error{}
	for _, failure := range failed {
		i.aside[RRsetKey{failure.Name, failure.Type}] = failure.Err
	}
	stood, fresh := a.split(failed)
	intent := &Intent{Serial: at, From: at, Time: now, RRsets: slices.Concat(fresh, stood)}
	if len(stood) > 0 {
		intent.From = a.before.from()
	}
	if len(i.aside) > maxListed {
		intent.Unlisted = true
		if len(fresh) > maxListed {
			intent.From, intent.RRsets = 0, slices.Concat(stood, fresh)
		}
		intent.RRsets = intent.RRsets[:maxListed]
	}
	slices.SortFunc(intent.RRsets, RRsetKey.Compare)
	return intent
}

// split divides RRsets that were refused: those in whose place something may stand that the zone had, which is in its history, and others.
func (a *attempt) split(failed []Failure) (stood, fresh []RRsetKey) {
	if len(failed) == 0 {
		return nil, nil
	}
	had := map[RRsetKey]bool{}
	for _, plan := range a.plans {
		for _, change := range plan.Changes {
			had[change.After.Key()] = had[change.After.Key()] || len(change.Before.Data) > 0
		}
		for _, step := range plan.History {
			for _, entry := range slices.Concat(step.Removed, step.Added) {
				had[RRsetKey{entry.Name, entry.Type}] = true
			}
		}
	}
	// What was owed where nothing was kept of the history was never there.
	lags := a.before.from() != a.before.Serial
	for _, failure := range failed {
		key := RRsetKey{failure.Name, failure.Type}
		if had[key] && (lags || !a.owed[key]) {
			stood = append(stood, key)
		} else {
			fresh = append(fresh, key)
		}
	}
	return stood, fresh
}

// inTurn is the state that plans are made from: of what is set aside they have those whose turn it is.
func (a *attempt) inTurn() State {
	i, state := a.item, a.item.state
	if !a.knowsAside() {
		return state
	}
	if len(i.turn) == 0 {
		i.turn = slices.SortedFunc(maps.Keys(i.aside), RRsetKey.Compare)
	}
	state.Intent = &Intent{Serial: state.Intent.Serial, From: state.from(), RRsets: i.turn[:min(maxInTurn, len(i.turn))]}
	return state
}

// turnTo has RRsets that the provider lost tried before those that it refused.
func (a *attempt) turnTo(lost []RRsetKey) {
	i := a.item
	again := map[RRsetKey]bool{}
	for _, key := range lost {
		again[key], i.aside[key] = true, Errorf(ReasonServerError, "the provider does not have it any more; it is delivered again")
	}
	i.turn = slices.Concat(lost, slices.DeleteFunc(i.turn, func(key RRsetKey) bool { return again[key] }))
}

// withAside adds to what was refused in an attempt what stays set aside. carriedOut: what had its turn is answered.
func (a *attempt) withAside(plans []Plan, failed []Failure, carriedOut bool) []Failure {
	i := a.item
	if !a.knowsAside() || slices.ContainsFunc(plans, func(plan Plan) bool { return plan.Changes == nil }) {
		return failed
	}
	answered := map[RRsetKey]bool{}
	for _, failure := range failed {
		answered[RRsetKey{failure.Name, failure.Type}] = true
	}
	if carriedOut {
		for _, plan := range plans {
			for _, change := range plan.Changes {
				answered[change.After.Key()] = true
			}
		}
		i.turn = slices.DeleteFunc(i.turn, func(key RRsetKey) bool { return answered[key] })
	}
	for key, err := range i.aside {
		if !answered[key] {
			failed = append(failed, Failure{key.Name, key.Type, err})
		}
	}
	slices.SortFunc(failed, func(one, other Failure) int {
		return RRsetKey{one.Name, one.Type}.Compare(RRsetKey{other.Name, other.Type})
	})
	return failed
}
