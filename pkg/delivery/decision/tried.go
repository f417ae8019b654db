// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"iter"
	"maps"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Tried is what an attempt has the provider carry out.
type Tried struct {
	Plans []delivery.Plan
	// Intent is what carrying them out may leave half written.
	Intent delivery.Intent
	// Repeat says that what was written when an intent was taken over is written once more.
	Repeat bool
	// before is the state that the plans lead from, owed what was refused before.
	before delivery.State
	owed   map[delivery.RRsetKey]bool
}

// PlanDelivery plans an attempt. makePlans makes those that lead from a state to what is to be delivered.
func (m *Memory) PlanDelivery(f *Facts, repeat bool, makePlans func(from delivery.State) ([]delivery.Plan, error)) (Tried, error) {
	m.due.clear(duePoll)
	plans, err := makePlans(m.inTurn())
	if err != nil {
		return Tried{}, err
	}
	intent := delivery.Intent{Serial: f.View.Serial, From: f.View.Serial, Holder: f.Identity}
	if m.State.Intent != nil {
		intent.From = m.State.Intent.From
	} else if m.State.Serial != 0 {
		intent.From = m.State.Serial
	}
	intent.RRsets, intent.Unlisted = halfWritten(m.State.Intent, plans...)
	intent.Unlisted = intent.Unlisted || intent.From == 0 || m.knowsAside()
	if repeat && m.takeover.whole {
		state := m.State
		state.Serial = 0
		if plans, err = makePlans(state); err != nil {
			return Tried{}, err
		}
	}
	for n := range plans {
		if plans[n].Delivered = m.State.Serial != 0; m.knowsAside() {
			plans[n].Owed = slices.SortedFunc(maps.Keys(m.refused.aside), delivery.RRsetKey.Compare)
		}
	}
	t := Tried{Plans: plans, Intent: intent, Repeat: repeat, before: m.State, owed: f.owed}
	if m.State.Intent != nil && !f.compared {
		t.owed = m.listOwed()
	}
	return t, nil
}

// StateDelivering is the state while an attempt is carried out. covered says that what is stored lets this worker go on
// from there without recording it: another worker finds what it leaves half written by the changes of the zone since.
func (m *Memory) StateDelivering(f *Facts, t Tried) (next delivery.State, covered bool) {
	next, stored := m.State, &m.Stored
	next.Zone, next.Target, next.Intent = t.Plans[0].Zone, f.Class.Target, &t.Intent
	return next, len(t.Plans) == 1 && t.Plans[0].Changes != nil && !m.due.isSet(dueRepeat) &&
		stored.Holder == f.Identity && stored.Intent == nil && stored.Serial != 0 && m.State.Intent == nil &&
		m.State.Serial == stored.Serial && stored.Zone == next.Zone && stored.Target == next.Target
}

// setAside is the intent of what was refused while all else was confirmed. Its From is that of the attempt while
// something that the zone had stands in the place of an RRset that was refused: the history since then names it, and
// what was in it.
func (m *Memory) setAside(t Tried, at serial.Serial, failed []delivery.Failure, now time.Time) *delivery.Intent {
	m.refused.aside = map[delivery.RRsetKey]*delivery.Error{}
	for _, failure := range failed {
		m.refused.aside[failure.Key()] = failure.Err
	}
	stood, fresh := t.splitFailed(failed)
	intent := &delivery.Intent{Serial: at, From: at, Time: now, RRsets: slices.Concat(fresh, stood)}
	if len(stood) > 0 {
		intent.From = t.before.Earliest()
	}
	if len(m.refused.aside) > maxListed {
		intent.Unlisted = true
		if len(fresh) > maxListed {
			intent.From, intent.RRsets = 0, slices.Concat(stood, fresh)
		}
		intent.RRsets = intent.RRsets[:maxListed]
	}
	slices.SortFunc(intent.RRsets, delivery.RRsetKey.Compare)
	return intent
}

// splitFailed divides RRsets that were refused: those in whose place something may stand that the zone had, which is
// in its history, and others.
func (t Tried) splitFailed(failed []delivery.Failure) (stood, fresh []delivery.RRsetKey) {
	if len(failed) == 0 {
		return nil, nil
	}
	had := map[delivery.RRsetKey]bool{}
	for _, plan := range t.Plans {
		for _, change := range plan.Changes {
			had[change.After.Key()] = had[change.After.Key()] || len(change.Before.Data) > 0
		}
		for _, step := range plan.History {
			for _, entry := range slices.Concat(step.Removed, step.Added) {
				had[delivery.RRsetKey{Name: entry.Name, Type: entry.Type}] = true
			}
		}
	}
	// An owed RRset of which the history keeps nothing was never there.
	lags := t.before.Earliest() != t.before.Serial
	for _, failure := range failed {
		if key := failure.Key(); had[key] && (lags || !t.owed[key]) {
			stood = append(stood, key)
		} else {
			fresh = append(fresh, key)
		}
	}
	return stood, fresh
}

// splitZoneless is what a provider says that answers for each RRset alone and has no zone for any that it was to
// take; nil where it took one, or was asked for nothing but some that it refused before.
func (t Tried) splitZoneless(failures []delivery.Failure) *delivery.Error {
	if len(failures) == 0 {
		return nil
	}
	failed := map[delivery.RRsetKey]*delivery.Error{}
	for _, failure := range failures {
		failed[failure.Key()] = failure.Err
	}
	var zoneless *delivery.Error
	for _, plan := range t.Plans {
		for set := range listPuts(plan) {
			e, refused := failed[set.Key()]
			if !refused {
				return nil
			}
			if e != nil && e.Reason == delivery.ReasonZoneNotFound && (plan.Changes == nil || !t.owed[set.Key()]) {
				zoneless = e
			}
		}
	}
	return zoneless
}

// halfWritten are the RRsets that stand half written while plans are carried out on what intent owes, which may be nil.
// Where they are more than an Intent lists, they are those that are owed.
func halfWritten(intent *delivery.Intent, plans ...delivery.Plan) (rrsets []delivery.RRsetKey, unlisted bool) {
	if intent != nil {
		rrsets = intent.RRsets
	}
	var changed []delivery.RRsetKey
	for _, plan := range plans {
		if plan.Changes == nil {
			return rrsets, true
		}
		for _, change := range plan.Changes {
			changed = append(changed, change.After.Key())
		}
	}
	return addRRsets(rrsets, false, changed)
}

// addRRsets adds RRsets to those of an Intent, in order, unless there are too many then.
func addRRsets(rrsets []delivery.RRsetKey, unlisted bool, more []delivery.RRsetKey) ([]delivery.RRsetKey, bool) {
	all := slices.Concat(rrsets, more)
	slices.SortFunc(all, delivery.RRsetKey.Compare)
	if all = slices.Compact(all); len(all) > maxListed {
		return rrsets, true
	}
	return all, unlisted
}

// listPuts are the RRsets that the provider is to take.
func listPuts(p delivery.Plan) iter.Seq[delivery.RRset] {
	if p.Changes == nil {
		return p.All
	}
	return func(yield func(delivery.RRset) bool) {
		for _, change := range p.Changes {
			if len(change.After.Data) > 0 && !yield(change.After) {
				return
			}
		}
	}
}
