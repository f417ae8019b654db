// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
)

// EarlyRecord decides a Record write before it begins, from what this server
// remembers: nothing is read for a write that will pass. rule is the delegation
// that decides (`zone example.org., pattern "*.dev"`), "" where none does or
// memory does not tell. The error is a 403 in the words of the write itself, and
// it is proven: the transaction that a refused write ends with has compared every
// fact it rests on. What is in doubt, and what is 422, is left to the write.
// before is nil for a creation; both are left as they are.
func (l *Ledger) EarlyRecord(ctx context.Context, before, after *v1alpha1.Record) (rule string, err error) {
	if sameContent(before, after) { // S2.4
		return "", nil
	}
	ask, _, err := l.recordAsk(ctx, before, after)
	if err != nil {
		return "", nil
	}
	// Who may have a name does not hang on its data; without data there is nothing to hash, which is the better part of a decision.
	bare, record := ask, *ask.After
	record.Values = nil
	bare.After = &record
	if ask.Before != nil {
		stood := *ask.Before
		stood.Values = nil
		bare.Before = &stood
	}
	s := l.sessions.Get().(*session)
	defer func() {
		s.reset()
		l.sessions.Put(s)
	}()
	out := s.decideFromMemory(bare)
	if p := out.Plan; p != nil && p.Move != nil {
		return fmt.Sprintf("zone %s, pattern %q", p.Move.Move.To.FQDN, p.Rule), nil
	} else if p != nil && p.Rule != "" && p.Zone != nil {
		return fmt.Sprintf("zone %s, pattern %q", p.Zone.Zone.FQDN(), p.Rule), nil
	}
	if out.Refusal == nil || out.Refusal.Kind != law.Forbidden {
		return "", nil
	}
	if set, _ := setOf(ctx); set != nil {
		return "", nil // others of the set may make room for it
	}
	// It will be refused; with its data it may be for a reason that comes first.
	if out = s.decideFromMemory(ask); out.Refusal == nil || out.Refusal.Kind != law.Forbidden {
		return "", nil
	}
	proven, err := s.hold(ctx, l.layout.Record(after.Namespace, after.Name), before)
	if err != nil || !proven {
		return "", nil
	}
	return "", status("records", after.Name, out.Refusal)
}

// decideFromMemory runs the law on what is remembered; an empty outcome: that is not enough.
func (s *session) decideFromMemory(ask law.RecordAsk) law.Outcome {
	for {
		out := law.DecideRecord(s.seen, ask)
		if len(out.Need) == 0 {
			return out
		}
		if missing, ok := s.lookUpAll(dedupe(out.Need)); !ok || len(missing) > 0 {
			return law.Outcome{}
		}
	}
}

// hold asks etcd whether the used facts stand, with the object at its present
// revision. A write begun from an older one will be decided from the newer.
func (s *session) hold(ctx context.Context, key string, before *v1alpha1.Record) (bool, error) {
	var expected uint64
	if before != nil {
		var err error
		if expected, err = (storage.APIObjectVersioner{}).ObjectResourceVersion(before); err != nil {
			return false, err
		}
	}
	cmps := append(s.guards(), revisionIs(key, int64(expected)))
	if len(cmps) > maxCompares {
		return false, nil
	}
	s.l.stats.Transactions.Add(1)
	r, err := s.l.config.Client.Txn(ctx).If(cmps...).Commit()
	if err != nil {
		return false, err
	}
	return r.Succeeded, nil
}
