// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// renameFollowers renames the zones that follow a renamed zone, parents first, each in a transaction of its own
// (S6.8, I1). The first commit has marked them with their names, so a server that goes on finds which of them are
// left.
func (box *Outbox) renameFollowers(ctx context.Context, s *standing) error {
	for _, place := range append([]law.Place(nil), s.Work.Zones[1:]...) {
		if err := box.renameFollower(ctx, s, place); err != nil {
			return err
		}
	}
	return nil
}

func (box *Outbox) renameFollower(ctx context.Context, s *standing, place law.Place) error {
	for {
		box.mem.Fault("rename-step")
		box.mem.Stats.CascadeSteps.Add(1)
		o, mod, err := box.mem.ReadZone(ctx, place.Namespace, place.Name)
		if err != nil || o == nil || string(o.UID) != place.UID || o.Status.FQDN == "" {
			return err
		}
		z, err := objects.LawZone(o)
		if err != nil {
			return err
		}
		ask := law.FollowAsk{Zone: z, Work: &s.Work, Now: box.mem.Now(), WorkID: etcd.NewID()}
		out, tx, err := box.writeZone(ctx, o, mod, s, func(seen *law.Seen) law.Outcome { return law.DecideFollow(seen, ask) })
		if err != nil {
			return err
		}
		if out.OK {
			box.PayNow(ctx, tx.Plan.PendingCuts)
			return nil
		}
	}
}
