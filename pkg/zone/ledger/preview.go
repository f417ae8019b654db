// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
)

// PreviewRecord is the dry run of a Record's write: it sets after.Status and returns the write's error, but commits
// nothing. The argument before is nil for a creation, after for a deletion.
func (l *Ledger) PreviewRecord(ctx context.Context, before, after *v1alpha1.Record) error {
	if after != nil && lawform.SameContent(before, after) { // needs no decision
		if after.Generation != before.Generation {
			// spec.description has changed, which is no content.
			after.Status.ObservedGeneration = after.Generation
		}
		return nil
	}

	ask, _, err := l.recordAsk(ctx, before, after, lawform.Record)
	if err != nil {
		return err
	}
	w := &commit.Write{Object: commit.Object{Resource: "records", Name: ask.Name, Key: l.mem.Layout.Record(ask.Namespace, ask.Name)},
		Decide: func(seen *law.Facts) law.Outcome { return records.DecideRecord(seen, ask) }}
	out, err := l.previewPaid(ctx, ask.Namespace, w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return commit.Status("records", ask.Name, out.Refusal)
	}

	commit.Warn(ctx, out.Plan.Warnings...)
	if after != nil {
		l.placer.PlaceRecord(after, out.Plan.Record)
	}
	return nil
}

// PreviewZone is the dry run of a Zone's write: it sets after.Status and sends the Warnings of the write, but commits
// nothing. The argument before is nil for a creation, after for a deletion.
func (l *Ledger) PreviewZone(ctx context.Context, before, after *v1alpha1.Zone) error {
	if before != nil && after != nil && zoneUnchanged(before, after) {
		return nil
	}
	if after != nil && after.UID == "" {
		after.UID = types.UID(etcd.NewID()) // the law tells zones apart by uid
		defer func() { after.UID = "" }()
	}

	ask, err := l.zoneAsk(ctx, before, after)
	if err != nil {
		return err
	}
	object := after
	if object == nil {
		object = before
	}

	w := &commit.Write{Object: commit.Object{Resource: "zones", Name: object.Name, Key: l.mem.Layout.Zone(object.Namespace, object.Name)},
		Decide: func(seen *law.Facts) law.Outcome { return zones.DecideZone(seen, ask) }}
	out, err := l.previewPaid(ctx, object.Namespace, w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return commit.Status("zones", object.Name, out.Refusal)
	}

	commit.Warn(ctx, out.Plan.Warnings...)
	// nil and 0: the child zones and Records of now, as nothing was committed.
	l.warnOfZone(ctx, ask.Before, out.Plan, nil, 0)
	if after != nil {
		after.Status.ObservedGeneration = after.Generation
		l.placer.PlaceZone(after, out.Plan.Zone)
	}

	return nil
}

func (l *Ledger) previewPaid(ctx context.Context, namespace string, w *commit.Write) (law.Outcome, error) {
	return l.com.Preview(etcd.PaidBy(ctx, etcd.Payer{Namespace: namespace, Weight: 1}), w)
}
