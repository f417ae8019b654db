// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/facts"
)

type inSetKey struct{} // of a context: the write is an item of a change set

// EarlyRecord checks, before a Record is written, whether a rule of a zone allows the write, so that admission can
// refuse early and log the rule for audits. The result is the rule, for example `zone example.org., pattern "*.dev"`,
// or a Forbidden error. If memory lacks values, or a refusal has another reason, the rule is empty and the error nil.
// For a creation, before is nil.
func (l *Ledger) EarlyRecord(ctx context.Context, before, after *v1alpha1.Record) (rule string, err error) {
	if lawform.SameContent(before, after) { // needs no decision
		return "", nil
	}
	defer l.com.Recover(ctx, nil, &err)

	// Decide without data first, since the right to a name is independent of data.
	ask, _, err := l.recordAsk(ctx, before, after, lawform.RecordWithoutData)
	if err != nil {
		return "", nil
	}
	if ask.Before != nil {
		// The former data are left out, too.
		ask.Before.Values = nil
	}

	s := l.mem.ReadSets.Get().(*facts.ReadSet)
	defer func() {
		s.Reset()
		l.mem.ReadSets.Put(s)
	}()

	out := s.DecideFromMemory(ask)
	if p := out.Plan; p != nil && p.Rule != "" && p.Zone != nil {
		// For the audit log: the pattern that allows the name.
		return fmt.Sprintf("zone %s, pattern %q", p.Zone.Zone.FQDN(), p.Rule), nil
	}
	if out.Refusal == nil || out.Refusal.Kind != law.Forbidden {
		return "", nil
	}
	if ctx.Value(inSetKey{}) != nil {
		return "", nil // other writes of the change set may remove the reason
	}

	// With the data, the write may be refused for another reason.
	if ask, _, err = l.recordAsk(ctx, before, after, lawform.Record); err != nil {
		return "", nil
	}
	if out = s.DecideFromMemory(ask); out.Refusal == nil || out.Refusal.Kind != law.Forbidden {
		return "", nil
	}

	// The cache may be stale, so a transaction of compares verifies the refusal.
	proven, err := s.VerifyFacts(ctx, l.mem.Layout.Record(after.Namespace, after.Name), before)
	if err != nil || !proven {
		return "", nil
	}
	return "", commit.Status("records", after.Name, out.Refusal)
}
