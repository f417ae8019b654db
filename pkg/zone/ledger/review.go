// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/records"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
)

// ReviewName reports whether a namespace could create a Record of this name and type.
func (l *Ledger) ReviewName(ctx context.Context, asked *v1alpha1.Record) (status v1alpha1.NameReviewStatus, err error) {
	// A NameReview is judged like a Record without data (S14.1).
	ask, _, err := l.recordAsk(ctx, nil, asked, lawform.RecordWithoutData)
	if err != nil {
		return status, err
	}
	var review records.Review
	w := &commit.Write{Object: commit.Object{Resource: "records", Name: ask.Name, Key: l.mem.Layout.Record(ask.Namespace, ask.Name)},
		Decide: func(seen *law.Facts) (out law.Outcome) {
			review, out = records.ReviewName(seen, ask)
			return out
		}}

	out, err := l.previewPaid(ctx, ask.Namespace, w)
	if err != nil {
		return status, err
	}
	if out.Refusal != nil {
		return status, commit.Status("records", ask.Name, out.Refusal)
	}

	status = v1alpha1.NameReviewStatus{Allowed: review.Allowed, Rule: review.Rule, Reason: review.Reason,
		Claimed: v1alpha1.NameClaim(review.Claimed)}
	for _, warning := range review.Warnings {
		status.Warnings = append(status.Warnings, refusal.Warning(warning.Rule, warning.Text))
	}
	if z := review.Zone; z != nil {
		status.Zone, status.Contact = z.FQDN().String(), z.Header.Contact
	}

	return status, nil
}
