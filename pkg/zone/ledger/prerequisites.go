// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// FindZone returns the zone with a DNS name in a view, verified in etcd, or false if no zone has the name. The read is
// charged to the namespace.
func (l *Ledger) FindZone(ctx context.Context, namespace, view string, apex name.Name) (zone v1alpha1.AdoptingZone, ok bool, err error) {
	w := &commit.Write{Object: commit.Object{Resource: "zones"}, Decide: func(seen *law.Facts) law.Outcome {
		return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
			// The compare of the dry run proves the holding, or the absence.
			h := law.Get[law.Holding](r, law.HoldingKey(view, apex))
			if ok = h != nil; ok {
				zone = v1alpha1.AdoptingZone{Namespace: h.Namespace, Name: h.Name, UID: types.UID(h.UID)}
			}
			return &law.Plan{}, nil
		})
	}}
	_, err = l.previewPaid(ctx, namespace, w)
	return zone, ok, err
}

// JudgePrerequisites returns an error if prerequisites fail in a zone at a single revision. A change set of the
// namespace would get the same result. A zone without rules for the namespace counts as absent.
func (l *Ledger) JudgePrerequisites(ctx context.Context, zone v1alpha1.AdoptingZone, namespace string,
	prerequisites []v1alpha1.ChangeSetPrerequisite) error {
	requires, err := objects.ReadPrerequisites(prerequisites)
	if err != nil {
		return err
	}
	ref := law.Ref{Namespace: zone.Namespace, Name: zone.Name, UID: string(zone.UID)}
	w := &commit.Write{Object: commit.Object{Resource: "zones", Name: zone.Name, Key: l.mem.Layout.Zone(zone.Namespace, zone.Name)},
		Decide: func(seen *law.Facts) law.Outcome { return records.DecideRequirements(seen, ref, namespace, requires) }}
	out, err := l.previewPaid(ctx, namespace, w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return commit.Status("records", "", out.Refusal)
	}
	return nil
}
