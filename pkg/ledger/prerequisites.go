// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/records"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// JudgePrerequisites judges what is required of a zone as a change set of the namespace would, at one moment, and
// writes nothing (S10.5). A zone without a rule for the namespace is as absent.
func (l *Ledger) JudgePrerequisites(ctx context.Context, at v1alpha1.AdoptingZone, namespace string,
	prerequisites []v1alpha1.ChangeSetPrerequisite) error {
	requires, err := objects.ReadPrerequisites(prerequisites)
	if err != nil {
		return err
	}
	in := law.Ref{Namespace: at.Namespace, Name: at.Name, UID: string(at.UID)}
	w := &commit.Write{Resource: "zones", Name: at.Name, Key: l.mem.Layout.Zone(at.Namespace, at.Name),
		Ask: func(seen *law.Seen) law.Outcome { return records.DecideRequirements(seen, in, namespace, requires) }}
	out, err := l.com.Preview(etcd.PaidBy(ctx, etcd.Payer{Namespace: namespace, Weight: 1}), w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return commit.Status("records", "", out.Refusal)
	}
	return nil
}
