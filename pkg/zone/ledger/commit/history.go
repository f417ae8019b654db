// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"slices"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

func CauseOf(item *Item) content.Origin {
	if item == nil {
		return content.Origin{}
	}
	return content.Origin{Cause: item.Work.Reason, CausedBy: item.Work.By}
}

func (com *Committer) keepsStates(z *v1alpha1.Zone) bool {
	return z == nil || history.RetentionOf(z, com.Retention) > 0
}

// packStates compresses former Records for the history, before the groups join the queue, where other writes would
// wait for the work.
func (com *Committer) packStates(zoneKey string, groups ...*group) {
	if zoneKey != "" {
		com.Mem.Mu.Lock()
		z := com.Mem.CachedZone(zoneKey).Object
		com.Mem.Mu.Unlock()
		if !com.keepsStates(z) {
			// historyRetention is 0s (S7.13). An unknown zone is nil, and may keep states.
			return
		}
	}
	for _, g := range groups {
		for _, m := range g.members {
			if m.RecordBefore != nil && m.RecordBefore.Status.ZoneRef != nil {
				// A Record in no zone has no former state in a history.
				m.state, _ = history.PackRecord(m.RecordBefore, false, history.MaxState) // addStates tries again, and logs
			}
		}
	}
}

// addStates adds the former states of the Records changed by a group.
func (b *batch) addStates(ctx context.Context, g *group, step *content.Step) {
	if step == nil {
		// Without a step no serial of the zone shows the change, for example a new label.
		return
	}
	changed := g.listChanged()
	if len(changed) == 0 || !b.keepsStatesOf(changed[0].plan.Zone.Zone) {
		return
	}
	packed, room := packShares(ctx, step, changed)
	for _, m := range packed {
		room -= m.packSpec(room)
		b.octets += len(m.state.Text) + etcd.KeyOctets
		b.states = append(b.states, stateBefore{m.Namespace, history.BeforeStep{N: step.N, Name: m.Name, UID: m.uid, State: m.state.Text}})
	}
}

func (b *batch) keepsStatesOf(zone *law.Zone) bool {
	// Without a known zone, the batch's first write has another Base, or none.
	isBase := b.Base != nil && string(b.Base.UID) == zone.UID
	return !isBase || b.com.keepsStates(b.Base)
}

// listChanged returns the writes that change the content of Records in the zone.
func (g *group) listChanged() (changed []*member) {
	for _, m := range g.members {
		if m.plan == nil || m.plan.Zone == nil || m.plan.Zone.Step == nil {
			continue
		}
		if of := m.plan.Zone.Step.Record; of != nil && of.Was {
			changed = append(changed, m)
		}
	}
	return changed
}

// packShares packs the former Records of a step. If they exceed MaxStepStates, each gets the same share. The result is
// the packed ones, and the room left.
func packShares(ctx context.Context, step *content.Step, changed []*member) (packed []*member, room int) {
	octets, limit := 0, history.MaxState
	for _, m := range changed {
		octets += m.state.Counts
	}
	if octets > history.MaxStepStates {
		limit = min(limit, history.MaxStepStates/len(changed))
	}
	room = history.MaxStepStates
	for _, m := range changed {
		if !m.state.Whole || m.state.Counts > limit {
			var err error
			if m.state, err = history.PackRecord(m.RecordBefore, hasValues(step, m), limit); err != nil {
				// The write goes on: a gap in the history is better than a refused change.
				klog.FromContext(ctx).Error(err, "The history lacks a Record's state", "record", klog.KObj(m.RecordBefore))
				continue
			}
		}
		packed, room = append(packed, m), room-m.state.Counts
	}
	return packed, room
}

// packSpec packs a spec beyond the share, if the room left is enough: of 100 TXT values of 900 octets with common
// names, about a half. The result is the octets taken from the room.
func (m *member) packSpec(room int) (octets int) {
	had := m.state.Counts
	if !m.state.NoSpec {
		return 0
	}
	spec, err := history.PackSpec(m.RecordBefore, min(room+had, history.MaxState))
	if err != nil || spec.NoSpec {
		return 0
	}
	m.state = spec
	return spec.Counts - had
}

// hasValues reports whether the removed rows of a step, at the name and type of a removed Record, are the Record's
// values and no others. If another Record keeps a value, the step has no row of it.
func hasValues(step *content.Step, m *member) bool {
	own := m.plan.Zone.Step
	values := max(len(m.RecordBefore.Spec.Values), 1)
	if !own.Record.Left || len(own.Removed) != values || len(own.Added) > 0 {
		return false
	}
	// The step of the whole group decides, as another Record of the set may have the same value.
	there := rowsBeside(own.Removed[0], step.Removed)
	isOthers := func(row content.Row) bool { return !slices.Contains(own.Removed, row) }
	return len(there) == values && !slices.ContainsFunc(there, isOthers)
}

// rowsBeside returns the rows of a row's RRset.
func rowsBeside(row content.Row, all []content.Row) []content.Row {
	isElsewhere := func(x content.Row) bool { return x.Owner != row.Owner || x.Type != row.Type }
	return slices.DeleteFunc(slices.Clone(all), isElsewhere)
}

// putStates puts the former Records of all groups, a key for each namespace, and counts their octets in stateOctets. It
// puts nothing without a step, or if the zone keeps no history.
func (b *batch) putStates(c *law.ZoneChange) {
	// Nothing to put: no Record has changed content, or historyRetention is 0s (S7.13).
	if b.stateOctets = 0; len(b.states) == 0 || len(b.steps.Steps) == 0 || history.RetentionOf(b.object, b.com.Retention) == 0 {
		return
	}
	// Each namespace reads, and is charged for, former Records of the namespace alone.
	by := map[string]*history.Before{}
	for _, x := range b.states {
		if by[x.namespace] == nil {
			by[x.namespace] = &history.Before{Time: b.steps.Steps[len(b.steps.Steps)-1].Time}
		}
		by[x.namespace].Of = append(by[x.namespace].Of, x.BeforeStep)
	}
	for ns, before := range by {
		value := layout.Encode(before)
		b.stateOctets += len(value)
		b.then = append(b.then, etcd.OpPut(b.com.Mem.Layout.Before(ns, c.Zone.UID, b.steps.LastStep()), value))
	}
}

// removalOf describes the end of a zone, for its last journal value: the user of the removal, the time, and for how
// long the history stays. If the object is deleted, the description has the former spec: an undo can restore
// the Zone.
func (b *batch) removalOf(z *law.Zone, deleted bool) *content.Removal {
	// A batch that removes a zone has a single write.
	w := b.writers[0]
	x := &content.Removal{Identity: content.Identity{View: z.View, Namespace: z.Namespace, Name: z.Name}, FQDN: z.FQDN(), Serial: z.Serial,
		By: w.By, Origin: w.Origin, Time: z.NextTime(b.com.Mem.Now()),
		Retention: int64(history.RetentionOf(b.Base, b.com.Retention).Seconds())}
	if deleted && x.Retention > 0 && w.ZoneBefore != nil {
		if state, err := history.PackZone(w.ZoneBefore, &w.ZoneBefore.Spec); err == nil {
			x.State = state.Text
		}
	}
	return x
}
