// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

const moreSteps = 5 * v1alpha1.MaxHistoryLimit

// MakePlan plans a revert, with the server's refusals.
func (r *Reader) MakePlan(ctx context.Context, s Subject, m Moment, options Options) (*Plan, error) {
	beyond := 0
	past, err := r.Read(ctx, s, func(x *v1alpha1.HistoryStep) bool {
		if !m.IsBefore(x) {
			beyond++
		}
		return beyond > moreSteps
	})
	if err != nil {
		return nil, err
	}
	if s.Zone == nil && past.FQDN == options.Name.String() {
		options.Name = name.Name{}
	}
	undone, err := past.Since(m)
	if err != nil {
		if former := r.DescribeFormer(ctx, s, past); former != "" {
			err = fmt.Errorf("%w; %s", err, former)
		}
		return nil, err
	}
	undone = options.selectSteps(undone)
	ownNamespace := ""
	if s.Zone != nil {
		ownNamespace = s.Zone.Namespace
	}
	now, err := r.ReadPresent(ctx, undone, ownNamespace)
	if err != nil {
		return nil, err
	}
	plan, err := PlanRevert(past, s, m, now, options)
	if err != nil {
		return nil, err
	}
	if s.Zone != nil {
		if err := r.foreseeHold(ctx, plan, s.Zone); err != nil {
			return nil, err
		}
		if err := r.foreseeShared(ctx, plan, s.Zone, undone); err != nil {
			return nil, err
		}
	}
	return plan, r.Judge(ctx, plan)
}
