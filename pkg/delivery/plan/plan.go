// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

type Source struct {
	// Views has this process's zones. Their settled content is delivered.
	Views *zoneview.Set
	// History returns the changes after since up to until, if Views no longer has them. For trimmed changes the error
	// wraps zoneview.ErrTrimmed. May be nil.
	History func(ctx context.Context, uid string, since, until serial.Serial) ([]dns.Change, error)
	// ChangedAt returns the time of the first change after since up to until, if Views no longer have the change; zero
	// if unknown. May be nil.
	ChangedAt func(ctx context.Context, uid string, since, until serial.Serial) time.Time
	// EndedRRsets returns the RRsets of an ended zone at since or later; nil if unknown. May be nil.
	EndedRRsets func(ctx context.Context, uid string, since serial.Serial) ([]delivery.RRsetKey, error)
}

// FindDeliverable returns the content of a zone to deliver, or nil if unknown. This is the newest content without an
// unfinished cascade (a change in many steps) or mass deletion on hold. While a terminating namespace deletes its
// Records, this is the content before, at zone.FrozenSerial.
func (s Source) FindDeliverable(zone delivery.Zone) *zoneview.Snapshot {
	settled, ok := s.Views.Settled(zone.UID)
	if !ok {
		return nil
	}
	// No namespace is deleting its Records, or the view is not beyond the frozen serial yet.
	if zone.FrozenSerial == 0 || !settled.Serial().Ahead(zone.FrozenSerial) {
		return settled
	}

	// Undo the changes since FrozenSerial.
	changes, err := s.Views.Changes(zone.UID, zone.FrozenSerial, settled.Serial())
	if err != nil {
		return nil // the present content must not be delivered
	}
	if settled, err = settled.UndoAll(changes); err != nil {
		return nil
	}
	return settled
}

// readChanges returns the changes after since up to until: from memory, or from History if memory no longer has them.
// known is false if the changes are trimmed there, too, or the zone is gone.
func (s Source) readChanges(ctx context.Context, uid string, since, until serial.Serial) (changes []dns.Change, known bool, err error) {
	if since == until {
		return nil, true, nil
	}
	changes, err = s.Views.EntryChanges(uid, since, until)
	if err != nil && s.History != nil {
		changes, err = s.History(ctx, uid, since, until)
	}
	if errors.Is(err, zoneview.ErrTrimmed) || errors.Is(err, zoneview.ErrUnknown) {
		return nil, false, nil
	}
	return changes, true, err
}

// FindChangedAt returns the time of the first change after since up to until, in whole seconds; zero if unknown.
func (s Source) FindChangedAt(ctx context.Context, uid string, since, until serial.Serial) time.Time {
	steps, err := s.Views.Changes(uid, since, until)
	if err == nil && len(steps) > 0 && steps[0].Time != 0 {
		return time.Unix(steps[0].Time, 0)
	}
	if err == nil || s.ChangedAt == nil {
		return time.Time{}
	}
	return s.ChangedAt(ctx, uid, since, until)
}

func (s Source) PlanZone(snapshot *zoneview.Snapshot) delivery.Plan {
	soa := snapshot.SOA()
	return delivery.Plan{
		Zone: snapshot.FQDN(), UID: snapshot.Zone().UID, Serial: snapshot.Serial(), Hash: snapshot.Hash(),
		SOA: delivery.RRset{Name: soa.Name, Type: soa.Type, TTL: soa.TTL, Data: []string{soa.Data}},
		All: delivery.GroupRRsets(snapshot.Entries()),
	}
}

func listUnconfirmed(i *delivery.Intent) []delivery.RRsetKey {
	if i.Unlisted {
		return nil
	}
	return slices.Concat([]delivery.RRsetKey{}, i.RRsets)
}

// MakePlans returns the plans from state to snapshot, usually one. After a partial write of unknown extent, the first
// writes the whole zone, and a second removes RRsets that the zone no longer has.
func (s Source) MakePlans(ctx context.Context, state delivery.State, snapshot *zoneview.Snapshot) ([]delivery.Plan, error) {
	// Begin with the plan of the whole zone. Changes make the plan smaller.
	plan := s.PlanZone(snapshot)
	plan.Since, plan.Delivered = state.Serial, state.Serial != 0
	// 1. Without an intent, plan the changes since the confirmed serial.
	intent := state.Intent

	if intent == nil {
		if state.Serial != 0 {
			changes, known, err := s.readDifference(ctx, state.Serial, snapshot)
			if err != nil {
				return nil, err
			}
			plan.Changes, plan.Forgotten = changes, !known
		}
		// Nothing confirmed, or the journal was trimmed: the plan is that of the whole zone.
		if plan.Changes == nil {
			plan.Since = 0
		}
		return []delivery.Plan{plan}, nil
	}

	// 2. With an intent, find the RRsets that may differ at the provider.
	plan.Uncertain, plan.Unconfirmed = true, listUnconfirmed(intent)

	// Undo the changes since the earliest serial: former is then the content that the provider may still have.
	history, known, err := s.readChanges(ctx, plan.UID, state.Earliest(), plan.Serial)
	if err != nil {
		return nil, err
	}
	if known {
		plan.History = slices.Concat([]dns.Change{}, history)
	}
	former := undoChanges(snapshot, history)
	touched := maps.Clone(former)
	if state.Serial != 0 && state.Serial != state.Earliest() && !intent.Unlisted {
		// Only RRsets in the intent may still have the content of serial From.
		var changes []dns.Change
		if changes, known, err = s.readChanges(ctx, plan.UID, state.Serial, plan.Serial); err != nil {
			return nil, err
		}
		touched = undoChanges(snapshot, changes)
	}

	// RRsets of the intent are written even if unchanged: a refused www has old data at the provider.
	for _, key := range intent.RRsets {
		if before, ok := former[key]; ok {
			touched[key] = before
		} else if _, ok := touched[key]; !ok && plan.Zone.Encloses(key.Name) {
			touched[key] = snapshot.Lookup(key.Name, key.Type)
		}
	}

	// 3. Write only these RRsets if all are known, or else the whole zone.
	unconfirmed := toChanges(snapshot, touched)
	if known && state.Serial != 0 && intent.From != 0 {
		plan.Changes = unconfirmed
		return []delivery.Plan{plan}, nil
	}

	// Write the whole zone. A whole write removes no RRset, so removed RRsets follow in a second plan.
	plan.Since = 0
	plan.Forgotten = !known && (state.Serial != 0 || intent.Unlisted)
	removed := slices.DeleteFunc(unconfirmed, func(change delivery.Change) bool { return len(change.After.Data) > 0 })
	if len(removed) == 0 {
		return []delivery.Plan{plan}, nil
	}

	second := plan
	second.Since, second.Changes, second.Forgotten = plan.Serial, removed, false
	return []delivery.Plan{plan, second}, nil
}

// readDifference returns the RRsets that differ between since and snapshot; nil only with an error. An RRset that
// changed and changed back is left out.
func (s Source) readDifference(ctx context.Context, since serial.Serial, snapshot *zoneview.Snapshot) (_ []delivery.Change, known bool,
	err error) {
	changes := []dns.Change{}
	// The net difference is ready in memory. Otherwise add up the single changes.
	if net, err := s.Views.Difference(snapshot, since); err == nil {
		changes = append(changes, net.Change)
	} else if changes, known, err = s.readChanges(ctx, snapshot.Zone().UID, since, snapshot.Serial()); err != nil || !known {
		return nil, known, err
	}
	return slices.DeleteFunc(toChanges(snapshot, undoChanges(snapshot, changes)), func(change delivery.Change) bool {
		before, after := slices.Sorted(slices.Values(change.Before.Data)), slices.Sorted(slices.Values(change.After.Data))
		return slices.Equal(before, after) && change.Before.TTL == change.After.TTL
	}), true, nil
}

// undoChanges returns each RRset that the changes touch, with its entries before them. A new RRset has no entries. The
// SOA and names outside the zone are left out.
func undoChanges(snapshot *zoneview.Snapshot, changes []dns.Change) map[delivery.RRsetKey][]dns.Entry {
	touched := map[delivery.RRsetKey][]dns.Entry{}
	// The first look at an RRset starts from the snapshot. The copy keeps the snapshot unchanged.
	original := func(entry dns.Entry) (delivery.RRsetKey, bool) {
		key := delivery.RRsetKey{Name: entry.Name, Type: entry.Type}
		if entry.Type == rdata.SOA || !snapshot.FQDN().Encloses(entry.Name) {
			return key, false
		}
		if _, ok := touched[key]; !ok {
			touched[key] = slices.Clone(snapshot.Lookup(key.Name, key.Type))
		}
		return key, true
	}
	// Newest change first, as in a film played backwards: take out the added entries, put back the removed.
	for _, change := range slices.Backward(changes) {
		for _, entry := range change.Added {
			if key, ok := original(entry); ok {
				touched[key] = slices.DeleteFunc(touched[key], func(other dns.Entry) bool { return other == entry })
			}
		}
		for _, entry := range change.Removed {
			if key, ok := original(entry); ok {
				touched[key] = append(touched[key], entry)
			}
		}
	}
	return touched
}

// FindChangedRRsets returns the RRsets changed since state, which another worker confirmed; nil if state has an intent,
// or the changes are unknown. If each RRset changed once, changedOnce is true, and late writes of the other worker have
// the present content.
func (s Source) FindChangedRRsets(ctx context.Context, state delivery.State, snapshot *zoneview.Snapshot) (
	keys []delivery.RRsetKey, changedOnce bool) {
	if state.Intent != nil {
		return nil, false
	}
	changes, known, err := s.readChanges(ctx, snapshot.Zone().UID, state.Serial, snapshot.Serial())
	if err != nil || !known {
		return nil, false
	}

	keys = []delivery.RRsetKey{} // not nil, even if empty
	keys = slices.AppendSeq(keys, maps.Keys(undoChanges(snapshot, changes)))
	slices.SortFunc(keys, delivery.RRsetKey.Compare)
	return keys, !haveCommonRRset(changes)
}

// haveCommonRRset ignores the SOA.
func haveCommonRRset(changes []dns.Change) bool {
	lastChange := map[delivery.RRsetKey]int{} // index in changes
	for index, change := range changes {
		for _, entry := range slices.Concat(change.Removed, change.Added) {
			key := delivery.RRsetKey{Name: entry.Name, Type: entry.Type}
			previous, known := lastChange[key]
			// www changed at serials 8 and 9: a late write of 8 would bring old data back.
			if known && previous != index && entry.Type != rdata.SOA {
				return true
			}
			lastChange[key] = index
		}
	}
	return false
}

func toChanges(snapshot *zoneview.Snapshot, before map[delivery.RRsetKey][]dns.Entry) []delivery.Change {
	changes := make([]delivery.Change, 0, len(before))
	for _, key := range slices.SortedFunc(maps.Keys(before), delivery.RRsetKey.Compare) {
		after := toRRset(key, snapshot.Lookup(key.Name, key.Type))
		changes = append(changes, delivery.Change{Before: toRRset(key, before[key]), After: after})
	}
	return changes
}

func toRRset(key delivery.RRsetKey, entries []dns.Entry) delivery.RRset {
	set := delivery.RRset{Name: key.Name, Type: key.Type}
	for _, entry := range entries {
		set.TTL = entry.TTL
		set.Data = append(set.Data, entry.Data)
	}
	return set
}

// PlanRemoval plans the removal of the zone in state. Without a snapshot of that name, the plan has only the RRsets in
// remaining (nil if unknown) and in the intent, and the provider adds its own.
func (s Source) PlanRemoval(ctx context.Context, uid string, state delivery.State, snapshot *zoneview.Snapshot,
	remaining []delivery.RRsetKey) (delivery.Plan, error) {
	zone := state.Zone
	plan := delivery.Plan{Zone: zone, UID: uid, Serial: state.Serial, Hash: state.Hash, Since: state.Serial, Uncertain: true,
		Delivered: state.Serial != 0, All: func(func(delivery.RRset) bool) {}}
	plan.Unconfirmed = []delivery.RRsetKey{}

	touched := map[delivery.RRsetKey]bool{}
	touch := func(keys []delivery.RRsetKey) {
		for _, key := range keys {
			touched[key] = zone.Encloses(key.Name)
		}
	}

	if state.Intent != nil {
		plan.Unconfirmed = listUnconfirmed(state.Intent)
		touch(state.Intent.RRsets)
	}

	// No content, or that of the zone under its next name, which must stay: remove the RRsets known by name.
	if snapshot == nil || snapshot.FQDN() != zone {
		touch(remaining)
		plan.Changes, plan.Forgotten, plan.Named = newRemovals(touched), state.Serial != 0 || state.Intent != nil && state.Intent.Unlisted,
			remaining != nil
		return plan, nil
	}

	// Add the RRsets of every serial that may be at the provider.
	whole := s.PlanZone(snapshot)
	plan.SOA, plan.All = whole.SOA, whole.All

	from := state.Earliest()
	// Nothing confirmed, or the confirmed content is the snapshot: no other serial left RRsets there.
	if from == 0 || from == snapshot.Serial() {
		plan.History = []dns.Change{}
	} else {
		changes, known, err := s.readChanges(ctx, uid, from, snapshot.Serial())
		if err != nil {
			return delivery.Plan{}, err
		}
		if known {
			plan.History = slices.Concat([]dns.Change{}, changes)
		} else {
			// Ask for the names of RRsets kept from the ended zone.
			remaining = s.ReadEndedRRsets(ctx, uid, state)
			plan.Forgotten, plan.Named = true, remaining != nil
			touch(remaining)
		}
		for _, change := range plan.History {
			for _, entry := range slices.Concat(change.Removed, change.Added) {
				if entry.Type != rdata.SOA {
					touched[delivery.RRsetKey{Name: entry.Name, Type: entry.Type}] = zone.Encloses(entry.Name)
				}
			}
		}
	}

	plan.Changes = newRemovals(touched)
	// Nothing was confirmed: the intent of the removal needs a serial all the same.
	if plan.Serial == 0 {
		plan.Serial = snapshot.Serial()
	}
	return plan, nil
}

// ReadEndedRRsets returns nil if unknown, or after an error.
func (s Source) ReadEndedRRsets(ctx context.Context, uid string, state delivery.State) []delivery.RRsetKey {
	since := state.Earliest()
	if s.EndedRRsets == nil || since == 0 {
		return nil
	}
	keys, err := s.EndedRRsets(ctx, uid, since)
	if err != nil {
		return nil
	}
	return keys
}

func newRemovals(touched map[delivery.RRsetKey]bool) []delivery.Change {
	changes := []delivery.Change{}
	for _, key := range slices.SortedFunc(maps.Keys(touched), delivery.RRsetKey.Compare) {
		if touched[key] {
			set := delivery.RRset{Name: key.Name, Type: key.Type}
			changes = append(changes, delivery.Change{Before: set, After: set})
		}
	}
	return changes
}
