// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// FindZone returns the zone with a name in a view, verified in etcd. ok is false if no zone has the name. The read is
// charged to the namespace.
func (l *Ledger) FindZone(ctx context.Context, namespace, view string, apex name.Name) (at v1alpha1.AdoptingZone, ok bool, err error) {
	w := &commit.Write{Object: commit.Object{Resource: "zones"}, Decide: func(seen *law.Facts) law.Outcome {
		return law.Decide(seen, func(r *law.Reading) (*law.Plan, *law.Refusal) {
			h := law.Get[law.Holding](r, law.HoldingKey(view, apex))
			if ok = h != nil; ok {
				at = v1alpha1.AdoptingZone{Namespace: h.Namespace, Name: h.Name, UID: types.UID(h.UID)}
			}
			return &law.Plan{}, nil
		})
	}}
	_, err = l.previewPaid(ctx, namespace, w)
	return at, ok, err
}

// JudgePrerequisites returns an error if prerequisites fail in a zone at a single revision, with the same result as in
// a change set of the namespace. A zone without rules for the namespace counts as absent.
func (l *Ledger) JudgePrerequisites(ctx context.Context, at v1alpha1.AdoptingZone, namespace string,
	prerequisites []v1alpha1.ChangeSetPrerequisite) error {
	requires, err := objects.ReadPrerequisites(prerequisites)
	if err != nil {
		return err
	}
	in := law.Ref{Namespace: at.Namespace, Name: at.Name, UID: string(at.UID)}
	w := &commit.Write{Object: commit.Object{Resource: "zones", Name: at.Name, Key: l.mem.Layout.Zone(at.Namespace, at.Name)},
		Decide: func(seen *law.Facts) law.Outcome { return records.DecideRequirements(seen, in, namespace, requires) }}
	out, err := l.previewPaid(ctx, namespace, w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return commit.Status("records", "", out.Refusal)
	}
	return nil
}
