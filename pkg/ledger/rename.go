// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"kubi.zone/kubizone/pkg/law"
)

// renameFollowers renames the zones that follow the one that was renamed, parents
// first, each in a transaction of its own (S6.8, I1). The first commit has marked
// them with their names, so it is known which of them are left, whoever goes on.
func (l *Ledger) renameFollowers(ctx context.Context, s *standing) error {
	for _, place := range append([]law.Place(nil), s.work.Zones[1:]...) {
		if err := l.renameFollower(ctx, s, place); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) renameFollower(ctx context.Context, s *standing, place law.Place) error {
	for {
		l.fault("rename-step")
		l.stats.CascadeSteps.Add(1)
		o, mod, err := l.readZone(ctx, place.Namespace, place.Name)
		if err != nil || o == nil || string(o.UID) != place.UID || o.Status.FQDN == "" {
			return err
		}
		z, err := LawZone(o)
		if err != nil {
			return err
		}
		ask := law.FollowAsk{Zone: z, Work: &s.work, Now: l.now(), WorkID: newID()}
		out, tx, err := l.writeZone(ctx, o, mod, s, func(seen *law.Seen) law.Outcome { return law.DecideFollow(seen, ask) })
		if err != nil {
			return err
		}
		if out.ok {
			l.payNow(ctx, tx.plan.Debts)
			return nil
		}
	}
}
