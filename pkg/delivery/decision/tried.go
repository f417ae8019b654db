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

// PlannedWrite has the plans of a DoDeliver, and the intent to store before the write.
type PlannedWrite struct {
	Plans             []delivery.Plan
	Intent            delivery.Intent
	Repeat            bool
	stateBefore       delivery.State
	unconfirmedBefore map[delivery.RRsetKey]bool
}

// PlanDelivery computes the plans of a DoDeliver, and the intent to store before the first call. makePlans computes the
// plans from a state. The intent names all RRsets that a crash may leave half written. An error is that of makePlans.
func (m *Memory) PlanDelivery(f *Facts, repeat bool, makePlans func(from delivery.State) ([]delivery.Plan, error)) (PlannedWrite, error) {
	m.due.clear(duePoll)
	plans, err := makePlans(m.roundState())
	if err != nil {
		return PlannedWrite{}, err
	}

	// The intent begins at the earliest serial with data at the provider: that of an older intent, or else the
	// confirmed.
	intent := delivery.Intent{Serial: f.View.Serial, From: f.View.Serial, Holder: f.Identity}
	if m.State.Intent != nil {
		intent.From = m.State.Intent.From
	} else if m.State.Serial != 0 {
		intent.From = m.State.Serial
	}

	intent.RRsets, intent.Unlisted = listHalfWritten(m.State.Intent, plans...)
	intent.Unlisted = intent.Unlisted || intent.From == 0 || m.hasUnlistedRefusals()

	// The first write after the takeover wrote the whole zone, so late calls may touch any RRset: the repeat does it
	// again.
	if repeat && m.takeover.wroteWhole {
		state := m.State
		state.Serial = 0
		if plans, err = makePlans(state); err != nil {
			return PlannedWrite{}, err
		}
	}

	// A provider that spares records of others needs to know which RRsets may hold our older data.
	for n := range plans {
		plans[n].Delivered = m.State.Serial != 0
		if m.hasUnlistedRefusals() {
			plans[n].Unconfirmed = slices.SortedFunc(maps.Keys(m.refusals.byRRset), delivery.RRsetKey.Compare)
		}
	}

	planned := PlannedWrite{Plans: plans, Intent: intent, Repeat: repeat, stateBefore: m.State, unconfirmedBefore: f.unconfirmedBefore}
	if m.State.Intent != nil && !f.compared {
		planned.unconfirmedBefore = m.listUnconfirmed()
	}
	return planned, nil
}

// StateDuringDelivery returns the state from the first call on. If covered is true, the state need not be stored,
// because this worker is State.Holder.
func (m *Memory) StateDuringDelivery(f *Facts, planned PlannedWrite) (next delivery.State, covered bool) {
	next = m.State
	next.Zone, next.Target, next.Intent = planned.Plans[0].Zone, f.Class.Target, &planned.Intent

	// After a crash, the next worker finds the RRsets among the changes since Serial, because State.Holder names this
	// worker. Only then may the store be spared a write. A plan of changes begins at the stored serial, zone and
	// target, because nextDelivery otherwise has the whole zone written.
	writesChanges := planned.Plans[0].Changes != nil && m.State.Intent == nil
	return next, writesChanges && m.Stored.Holder == f.Identity
}

// recordRefusals keeps the errors of refused RRsets in memory, and returns the intent to write them again. The intent's
// From is earlier than its Serial if the provider may have older data of a refused RRset.
func (m *Memory) recordRefusals(planned PlannedWrite, written serial.Serial, failed []delivery.Failure, now time.Time) *delivery.Intent {
	m.refusals.byRRset = map[delivery.RRsetKey]*delivery.Error{}
	for _, failure := range failed {
		m.refusals.byRRset[failure.Key()] = failure.Err
	}

	// example.org. went from 7 to 9, and www was refused: at the provider, www has the data of 7, so From stays 7. A
	// refused new name has nothing there, so From is 9.
	earlier, fresh := planned.splitFailed(failed)
	intent := &delivery.Intent{Serial: written, From: written, Time: now, RRsets: slices.Concat(fresh, earlier)}
	if len(earlier) > 0 {
		intent.From = planned.stateBefore.Earliest()
	}

	// The intent cannot list all. Unlisted adds the changes since From, and From 0 means the whole zone.
	if len(m.refusals.byRRset) > maxListed {
		intent.Unlisted = true
		if len(fresh) > maxListed {
			intent.From, intent.RRsets = 0, slices.Concat(earlier, fresh)
		}
		intent.RRsets = intent.RRsets[:maxListed]
	}

	slices.SortFunc(intent.RRsets, delivery.RRsetKey.Compare)
	return intent
}

// splitFailed returns two lists of refused RRsets. In place of those in earlier, the provider may have older data,
// known from the history. In place of those in fresh, it has none.
func (t PlannedWrite) splitFailed(failed []delivery.Failure) (earlier, fresh []delivery.RRsetKey) {
	if len(failed) == 0 {
		return nil, nil
	}

	hadData := t.findEarlierData()
	beganEarlier := t.stateBefore.Earliest() != t.stateBefore.Serial
	for _, failure := range failed {
		key := failure.Key()
		// If an RRset was also refused before, older data is there only if the intent began at an earlier serial.
		mayBeOlder := beganEarlier || !t.unconfirmedBefore[key]
		if hadData[key] && mayBeOlder {
			earlier = append(earlier, key)
		} else {
			fresh = append(fresh, key)
		}
	}
	return earlier, fresh
}

// findEarlierData returns the RRsets that had data before this write, by the plans' Before and by the history.
func (t PlannedWrite) findEarlierData() map[delivery.RRsetKey]bool {
	hadData := map[delivery.RRsetKey]bool{}
	for _, plan := range t.Plans {
		for _, change := range plan.Changes {
			if len(change.Before.Data) > 0 {
				hadData[change.After.Key()] = true
			}
		}
		for _, step := range plan.History {
			for _, entry := range slices.Concat(step.Removed, step.Added) {
				hadData[delivery.RRsetKey{Name: entry.Name, Type: entry.Type}] = true
			}
		}
	}
	return hadData
}

// findMissingZone returns the error ZoneNotFound if the provider refused every RRset of the plans and at least one
// because the zone is missing; otherwise nil. The zone then counts as lost, and not as a zone with refused RRsets.
func (t PlannedWrite) findMissingZone(failures []delivery.Failure) *delivery.Error {
	failed := map[delivery.RRsetKey]*delivery.Error{}
	for _, failure := range failures {
		failed[failure.Key()] = failure.Err
	}
	var zoneless *delivery.Error
	for _, plan := range t.Plans {
		for set := range listPuts(plan) {
			e := failed[set.Key()]
			// The provider took this RRset, so the zone exists there.
			if e == nil {
				return nil
			}
			// An RRset that was refused before proves nothing, because others of the zone were written then.
			if e.Reason == delivery.ReasonZoneNotFound && (plan.Changes == nil || !t.unconfirmedBefore[set.Key()]) {
				zoneless = e
			}
		}
	}
	return zoneless
}

// listHalfWritten returns the RRsets that the plans write, with those of intent (may be nil). unlisted is true for a
// plan of the whole zone, or if the list would be longer than maxListed.
func listHalfWritten(intent *delivery.Intent, plans ...delivery.Plan) (rrsets []delivery.RRsetKey, unlisted bool) {
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

// addRRsets returns the sorted union of two lists. If the union is longer than maxListed, the result is rrsets and
// true.
func addRRsets(rrsets []delivery.RRsetKey, unlisted bool, more []delivery.RRsetKey) ([]delivery.RRsetKey, bool) {
	all := slices.Concat(rrsets, more)
	slices.SortFunc(all, delivery.RRsetKey.Compare)
	if all = slices.Compact(all); len(all) > maxListed {
		return rrsets, true
	}
	return all, unlisted
}

// listPuts yields the RRsets that a plan writes, without removals.
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
