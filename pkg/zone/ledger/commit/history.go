// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// OriginOf returns the field manager of the changed entry, and the request's audit ID.
func OriginOf(ctx context.Context, before, after metav1.Object) content.Origin {
	id, _ := audit.AuditIDFrom(ctx)
	return content.Origin{Manager: managerOf(before, after), Audit: string(id)}
}

const maxManager = 128

// managerOf returns the field manager of the first entry that the write has added or renewed, cut at maxManager octets,
// or "" for a deletion or a write without a manager.
func managerOf(before, after metav1.Object) string {
	if after == nil {
		return ""
	}
	var had []metav1.ManagedFieldsEntry
	if before != nil {
		had = before.GetManagedFields()
	}
	fields := after.GetManagedFields()
	for i := range fields {
		// The manager of a status, for example the judge of Ready, is no author of content.
		if e := &fields[i]; e.Subresource == "" && !hasEntry(had, e) {
			return e.Manager[:min(len(e.Manager), maxManager)]
		}
	}
	return ""
}

func hasEntry(had []metav1.ManagedFieldsEntry, e *metav1.ManagedFieldsEntry) bool {
	for i := range had {
		if x := &had[i]; x.Manager == e.Manager && x.Operation == e.Operation && x.Subresource == e.Subresource && x.Time.Equal(e.Time) {
			return true
		}
	}
	return false
}

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
		z := com.Mem.Head(zoneKey).Object
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

// addStates adds the former states of the Records that a group changes. If they exceed MaxStepStates, each gets the
// same share, and specs beyond the share get the room left, as long as they fit: of 100 TXT values of 900 octets that
// share names, about a half.
func (b *batch) addStates(ctx context.Context, g *group, step *content.Step) {
	if step == nil {
		// Without a step no serial of the zone shows the change, for example a new label.
		return
	}

	// 1. Find the Records that change content.
	var changed []*member
	octets := 0
	for _, m := range g.members {
		if m.RecordBefore == nil || m.plan == nil || m.plan.Zone == nil || m.plan.Zone.Step == nil || m.plan.Zone.Step.Record == nil ||
			!m.plan.Zone.Step.Record.Was {
			continue
		}
		// Without a zone, the batch's first write has another Base, or none.
		if z := b.Base; z != nil && string(z.UID) == m.plan.Zone.Zone.UID && !b.com.keepsStates(z) {
			return
		}
		changed, octets = append(changed, m), octets+m.state.Counts
	}

	// 2. Pack each Record within an equal share of the step.
	limit := history.MaxState
	if octets > history.MaxStepStates {
		limit = min(limit, history.MaxStepStates/len(changed))
	}
	packed, room := changed[:0], history.MaxStepStates
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

	// 3. Give the room left to Records whose spec did not fit into the share.
	for _, m := range packed {
		if m.state.NoSpec {
			had := m.state.Counts
			if spec, err := history.PackSpec(m.RecordBefore, min(room+had, history.MaxState)); err == nil && !spec.NoSpec {
				m.state, room = spec, room+had-spec.Counts
			}
		}
		b.octets += len(m.state.Text) + etcd.KeyOctets
		b.states = append(b.states, stateBefore{m.Namespace, history.BeforeStep{N: step.N, Name: m.Name, UID: m.uid, State: m.state.Text}})
	}
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
	there := 0
	for _, row := range step.Removed {
		if row.Owner == own.Removed[0].Owner && row.Type == own.Removed[0].Type {
			if there++; !slices.Contains(own.Removed, row) {
				return false
			}
		}
	}
	return there == values
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
