// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zoneview"
)

// findDeliverable is what of the zone is to be delivered, nil while there is nothing.
func (c *Config) findDeliverable(zone Zone) *zoneview.Snapshot {
	settled, ok := c.Views.Settled(zone.UID)
	if !ok {
		return nil
	}
	if zone.Frozen == 0 || !settled.Serial().Ahead(zone.Frozen) {
		return settled
	}
	steps, err := c.Views.Changes(zone.UID, zone.Frozen, settled.Serial())
	if err != nil {
		return nil // The content of then is not known any more; that of now must not go out.
	}
	for _, step := range slices.Backward(steps) {
		if settled, err = settled.Undo(step); err != nil {
			return nil
		}
	}
	return settled
}

// readChanges are what each serial after since did, up to until. No error but that there is no knowing.
func (c *Config) readChanges(ctx context.Context, uid string, since, until serial.Serial) ([]dns.Change, error) {
	if since == until {
		return nil, nil
	}
	changes, err := c.Views.EntryChanges(uid, since, until)
	if err != nil && c.History != nil {
		changes, err = c.History(ctx, uid, since, until)
	}
	return changes, err
}

// basePlan is the plan of a whole zone.
func (c *Config) basePlan(snapshot *zoneview.Snapshot) Plan {
	soa := snapshot.SOA()
	return Plan{
		Zone: snapshot.FQDN(), UID: snapshot.Zone().UID, Serial: snapshot.Serial(), Hash: snapshot.Hash(),
		SOA: RRset{soa.Name, soa.Type, soa.TTL, []string{soa.Data}}, All: GroupRRsets(snapshot.Entries()),
		CallTimeout: c.CallTimeout,
	}
}

// makePlans lead from state to snapshot: one, and where the whole zone is written after something was written in part a
// second one, of what may stand there and shall not.
func (c *Config) makePlans(ctx context.Context, state State, snapshot *zoneview.Snapshot) ([]Plan, error) {
	plan := c.basePlan(snapshot)
	plan.Since, plan.Delivered = state.Serial, state.Serial != 0
	intent := state.Intent
	if intent == nil {
		if state.Serial != 0 {
			changes, err := c.readDifference(ctx, plan.UID, state.Serial, snapshot)
			if err != nil && !errors.Is(err, zoneview.ErrTrimmed) {
				return nil, err
			}
			plan.Changes, plan.Forgotten = changes, err != nil
		}
		if plan.Changes == nil {
			plan.Since = 0
		}
		return []Plan{plan}, nil
	}
	plan.Uncertain, plan.Owed = true, intent.exhaustive()
	stood := map[RRsetKey][]dns.Entry{}
	history, err := c.readChanges(ctx, plan.UID, state.from(), plan.Serial)
	switch {
	case err == nil:
		stood = undoChanges(snapshot, history)
		plan.History = slices.Concat([]dns.Change{}, history)
	case !errors.Is(err, zoneview.ErrTrimmed):
		return nil, err
	}
	touched, known := maps.Clone(stood), err == nil
	if state.Serial != 0 && state.Serial != state.from() && !intent.Unlisted {
		// Only what is listed stands as it was at From.
		changes, err := c.readChanges(ctx, plan.UID, state.Serial, plan.Serial)
		if err != nil && !errors.Is(err, zoneview.ErrTrimmed) {
			return nil, err
		}
		touched, known = undoChanges(snapshot, changes), err == nil
	}
	for _, key := range intent.RRsets {
		if before, ok := stood[key]; ok {
			touched[key] = before
		} else if _, ok := touched[key]; !ok && plan.Zone.Encloses(key.Name) {
			touched[key] = snapshot.Lookup(key.Name, key.Type)
		}
	}
	owed := toChanges(snapshot, touched)
	if known && state.Serial != 0 && intent.From != 0 {
		plan.Changes = owed
		return []Plan{plan}, nil
	}
	plan.Since = 0
	plan.Forgotten = !known && (state.Serial != 0 || intent.Unlisted)
	// All says what shall be; only what shall not be is left to say.
	removed := slices.DeleteFunc(owed, func(change Change) bool { return len(change.After.Data) > 0 })
	if len(removed) == 0 {
		return []Plan{plan}, nil
	}
	second := plan
	second.Since, second.Changes, second.Forgotten = plan.Serial, removed, false
	return []Plan{plan, second}, nil
}

// readDifference is never nil without an error.
func (c *Config) readDifference(ctx context.Context, uid string, since serial.Serial, snapshot *zoneview.Snapshot) ([]Change, error) {
	changes := []dns.Change{}
	if net, err := c.Views.Difference(snapshot, since); err == nil {
		changes = append(changes, net.Change)
	} else if changes, err = c.readChanges(ctx, uid, since, snapshot.Serial()); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(toChanges(snapshot, undoChanges(snapshot, changes)), func(change Change) bool {
		before, after := slices.Sorted(slices.Values(change.Before.Data)), slices.Sorted(slices.Values(change.After.Data))
		return slices.Equal(before, after) && change.Before.TTL == change.After.TTL
	}), nil
}

// undoChanges is what changes touched, as it was before them. Names outside the present zone are left out.
func undoChanges(snapshot *zoneview.Snapshot, changes []dns.Change) map[RRsetKey][]dns.Entry {
	touched := map[RRsetKey][]dns.Entry{}
	at := func(entry dns.Entry) (RRsetKey, bool) {
		key := RRsetKey{entry.Name, entry.Type}
		if entry.Type == rdata.SOA || !snapshot.FQDN().Encloses(entry.Name) {
			return key, false
		}
		if _, ok := touched[key]; !ok {
			touched[key] = slices.Clone(snapshot.Lookup(key.Name, key.Type))
		}
		return key, true
	}
	for _, change := range slices.Backward(changes) {
		for _, entry := range change.Added {
			if key, ok := at(entry); ok {
				touched[key] = slices.DeleteFunc(touched[key], func(other dns.Entry) bool { return other == entry })
			}
		}
		for _, entry := range change.Removed {
			if key, ok := at(entry); ok {
				touched[key] = append(touched[key], entry)
			}
		}
	}
	return touched
}

// findTouched names what a zone changed since a serial; nil where that is not known. once says that no RRset of it was
// changed more than once: a worker that confirmed the serial and recorded no intent writes differences from there, so
// what it wrote of such an RRset is what that is now.
func (c *Config) findTouched(ctx context.Context, uid string, since serial.Serial, snapshot *zoneview.Snapshot) (
	keys []RRsetKey, once bool) {
	changes, err := c.readChanges(ctx, uid, since, snapshot.Serial())
	if err != nil {
		return nil, false
	}
	changed := map[RRsetKey]int{}
	once = true
	for n, change := range changes {
		for _, entry := range slices.Concat(change.Removed, change.Added) {
			key := RRsetKey{entry.Name, entry.Type}
			if first, known := changed[key]; known && first != n && entry.Type != rdata.SOA {
				once = false
			}
			changed[key] = n
		}
	}
	keys = slices.AppendSeq([]RRsetKey{}, maps.Keys(undoChanges(snapshot, changes)))
	slices.SortFunc(keys, RRsetKey.Compare)
	return keys, once
}

// toChanges is never nil.
func toChanges(snapshot *zoneview.Snapshot, before map[RRsetKey][]dns.Entry) []Change {
	changes := make([]Change, 0, len(before))
	for _, key := range slices.SortedFunc(maps.Keys(before), RRsetKey.Compare) {
		changes = append(changes, Change{Before: toRRset(key, before[key]), After: toRRset(key, snapshot.Lookup(key.Name, key.Type))})
	}
	return changes
}

func toRRset(key RRsetKey, entries []dns.Entry) RRset {
	set := RRset{Name: key.Name, Type: key.Type}
	for _, entry := range entries {
		set.TTL = entry.TTL
		set.Data = append(set.Data, entry.Data)
	}
	return set
}

// GroupRRsets groups entries in canonical order into RRsets, leaving out the SOA.
func GroupRRsets(entries iter.Seq[dns.Entry]) iter.Seq[RRset] {
	return func(yield func(RRset) bool) {
		var set RRset
		for entry := range entries {
			if entry.Type == rdata.SOA {
				continue
			}
			if key := (RRsetKey{entry.Name, entry.Type}); len(set.Data) == 0 || key != set.Key() {
				if len(set.Data) > 0 && !yield(set) {
					return
				}
				set = RRset{Name: entry.Name, Type: entry.Type, TTL: entry.TTL}
			}
			set.Data = append(set.Data, entry.Data)
		}
		if len(set.Data) > 0 {
			yield(set)
		}
	}
}

// planWithdrawal is the plan that takes away what state says the provider has. snapshot may be nil: then only what the
// provider itself knows to be ours can go, and what is left of an ended zone.
func (c *Config) planWithdrawal(ctx context.Context, uid string, state State, snapshot *zoneview.Snapshot, left []RRsetKey) (Plan, error) {
	zone := state.Zone
	plan := Plan{Zone: zone, UID: uid, Serial: state.Serial, Hash: state.Hash, Since: state.Serial, Uncertain: true,
		Delivered: state.Serial != 0, CallTimeout: c.CallTimeout, All: func(func(RRset) bool) {}}
	plan.Owed = []RRsetKey{}
	touched := map[RRsetKey]bool{}
	if state.Intent != nil {
		plan.Owed = state.Intent.exhaustive()
		for _, key := range state.Intent.RRsets {
			touched[key] = zone.Encloses(key.Name)
		}
	}
	if snapshot == nil || snapshot.FQDN() != zone {
		for _, key := range left {
			touched[key] = zone.Encloses(key.Name)
		}
		plan.Changes, plan.Forgotten, plan.Named = changesAway(touched), state.Serial != 0 || state.Intent != nil && state.Intent.Unlisted,
			left != nil
		return plan, nil
	}
	whole := c.basePlan(snapshot)
	plan.SOA, plan.All = whole.SOA, whole.All
	from := state.from()
	if from == 0 || from == snapshot.Serial() {
		plan.History = []dns.Change{}
	} else {
		changes, err := c.readChanges(ctx, uid, from, snapshot.Serial())
		if err != nil && !errors.Is(err, zoneview.ErrTrimmed) && !errors.Is(err, zoneview.ErrUnknown) {
			return Plan{}, err
		}
		if err != nil {
			left = c.readLeft(ctx, uid, state)
			plan.Forgotten, plan.Named = true, left != nil
			for _, key := range left {
				touched[key] = zone.Encloses(key.Name)
			}
		} else {
			plan.History = slices.Concat([]dns.Change{}, changes)
		}
		for _, change := range plan.History {
			for _, entry := range slices.Concat(change.Removed, change.Added) {
				if entry.Type != rdata.SOA {
					touched[RRsetKey{entry.Name, entry.Type}] = zone.Encloses(entry.Name)
				}
			}
		}
	}
	plan.Changes = changesAway(touched)
	if plan.Serial == 0 {
		plan.Serial = snapshot.Serial()
	}
	return plan, nil
}

// readLeft is what a zone that ended had; nil where that is not known.
func (c *Config) readLeft(ctx context.Context, uid string, of State) []RRsetKey {
	since := of.from()
	if c.Left == nil || since == 0 {
		return nil
	}
	keys, err := c.Left(ctx, uid, since)
	if err != nil {
		return nil
	}
	return keys
}

// changesAway are changes after which none of touched is there. It is never nil.
func changesAway(touched map[RRsetKey]bool) []Change {
	changes := []Change{}
	for _, key := range slices.SortedFunc(maps.Keys(touched), RRsetKey.Compare) {
		if touched[key] {
			set := RRset{Name: key.Name, Type: key.Type}
			changes = append(changes, Change{set, set})
		}
	}
	return changes
}
