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
// same. The Intent then has no From, which says that any RRset of the zone may be owed: a worker that loads it writes the
// whole zone once. The worker that set them aside knows all of them, and tries maxInTurn in an attempt, so that a change of the
// zone waits for so many calls at most.

// maxInTurn bounds the RRsets set aside that one attempt tries again.
const maxInTurn = 64

// knowsAside: this process has set RRsets aside, knows all of them, and everything else of the zone was confirmed.
func (a *attempt) knowsAside() bool {
	i := a.item
	return i.aside != nil && i.state.Serial != 0 && i.state.Intent != nil && i.state.Intent.From == 0
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

// setAside is the intent of what was refused while all else was confirmed. What the zone has no more is listed first: all
// else of it is found by writing the whole zone.
func (a *attempt) setAside(at serial.Serial, failed []Failure, now time.Time) *Intent {
	i := a.item
	i.aside = map[RRsetKey]*Error{}
	for _, failure := range failed {
		i.aside[RRsetKey{failure.Name, failure.Type}] = failure.Err
	}
	intent := &Intent{Serial: at, From: at, Time: now, RRsets: slices.SortedFunc(maps.Keys(i.aside), RRsetKey.Compare)}
	if len(i.aside) > maxListed {
		intent.From, intent.Unlisted, intent.RRsets = 0, true, a.foremost(intent.RRsets)
	}
	return intent
}

// foremost are as many RRsets as are listed, those that the zone has no more before others.
func (a *attempt) foremost(keys []RRsetKey) []RRsetKey {
	gone, there := []RRsetKey{}, []RRsetKey{}
	for _, key := range keys {
		if a.isGone(key) {
			gone = append(gone, key)
		} else {
			there = append(there, key)
		}
	}
	listed := append(gone, there...)[:maxListed]
	slices.SortFunc(listed, RRsetKey.Compare)
	return listed
}

// isGone: the zone that is being delivered has no such RRset.
func (a *attempt) isGone(key RRsetKey) bool { return len(a.view.Lookup(key.Name, key.Type)) == 0 }

// removals counts the refusals to remove what the zone has no more.
func (a *attempt) removals(failed []Failure) int {
	count := 0
	for _, failure := range failed {
		if a.isGone(RRsetKey{failure.Name, failure.Type}) {
			count++
		}
	}
	return count
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
	state.Intent = &Intent{Serial: state.Intent.Serial, From: state.Serial, RRsets: i.turn[:min(maxInTurn, len(i.turn))]}
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
