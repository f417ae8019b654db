// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
)

// PreviewRecord runs the whole decision of a Record write without writing:
// after.Status says what would be (S7.3). before nil: create; after nil: delete.
// Errors are those of the write itself.
func (l *Ledger) PreviewRecord(ctx context.Context, before, after *v1alpha1.Record) error {
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
	out, err := l.session(false).decide(ctx, func(seen *law.Seen) law.Outcome { return law.DecideRecord(seen, ask) })
	if errors.Is(err, errMoved) {
		return tooBusy("records", ask.Name, err)
	}
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
		l.placeRecord(after, place)
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
	ask, err := l.zoneAsk(ctx, before, after)
	if err != nil {
		return err
	}
	out, err := l.session(false).decide(ctx, func(seen *law.Seen) law.Outcome { return law.DecideZone(seen, ask) })
	var object string
	if after != nil {
		object = after.Name
	}
	if errors.Is(err, errMoved) {
		return tooBusy("zones", object, err)
	}
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return status("zones", object, out.Refusal)
	}
	warn(ctx, out.Plan.Warnings)
	if after != nil {
		after.Status.ObservedGeneration = after.Generation
		l.placeZone(after, out.Plan.Zone)
	}
	return nil
}
