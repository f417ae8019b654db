// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
)

// PreviewRecord runs the whole decision of a Record write without writing:
// after.Status says what would be (S7.3). before nil: create; after nil: delete.
// Errors are those of the write itself.
func (l *Ledger) PreviewRecord(ctx context.Context, before, after *v1alpha1.Record) error {
	if set, index := setOf(ctx); set != nil {
		return l.previewInSet(ctx, set, index, before, after)
	}
	if after != nil && sameContent(before, after) {
		if after.Generation != before.Generation {
			after.Status.ObservedGeneration = after.Generation
		}
		return nil
	}
	ask, _, err := l.recordAsk(ctx, before, after)
	if err != nil {
		return err
	}
	w := &write{resource: "records", name: ask.Name, key: l.mem.layout.Record(ask.Namespace, ask.Name), ask: func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) }}
	out, err := l.com.preview(paidBy(ctx, payer{ask.Namespace, 1}), w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return status("records", ask.Name, out.Refusal)
	}
	warn(ctx, out.Plan.Warnings)
	if after != nil {
		place := out.Plan.Record
		if out.Plan.Arrival != nil { // it moves, and that is where it ends
			place = out.Plan.Arrival
		}
		l.placer.placeRecord(after, place)
	}
	return nil
}

// PreviewZone is PreviewRecord for a Zone.
func (l *Ledger) PreviewZone(ctx context.Context, before, after *v1alpha1.Zone) error {
	if before != nil && after != nil && zoneUnchanged(before, after) {
		return nil
	}
	if after != nil && after.UID == "" {
		after.UID = types.UID(newID()) // a dry run has not given it one; the law tells zones apart by it
		defer func() { after.UID = "" }()
	}
	ask, err := l.box.zoneAsk(ctx, mayEstablish(ctx), before, after)
	if err != nil {
		return err
	}
	object := after
	if object == nil {
		object = before
	}
	w := &write{resource: "zones", name: object.Name, key: l.mem.layout.Zone(object.Namespace, object.Name), ask: func(seen *law.Seen) law.Outcome { return law.DecideZone(seen, ask) }}
	out, err := l.com.preview(ctx, w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return status("zones", object.Name, out.Refusal)
	}
	warn(ctx, out.Plan.Warnings)
	if after != nil {
		after.Status.ObservedGeneration = after.Generation
		l.placer.placeZone(after, out.Plan.Zone)
	}
	return nil
}
