// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// purgeKeys deletes the internal keys of a removed zone, page by page, and rests between the pages. The work marks no
// zone any longer, so no decision reads these keys. A purge that was interrupted goes on with what is left.
func (box *Outbox) purgeKeys(ctx context.Context, s *standing) error {
	if len(s.Work.Scans) > 0 { // the server that goes on has nothing to decide anew
		next := s.Work
		next.Scans, next.Damaged = nil, s.damaged
		if err := s.rewriteItem(ctx, box, next); err != nil {
			return err
		}
	}
	waits, err := box.waitsForDelivery(ctx, s)
	if err != nil {
		return err
	}
	rooms := layout.ZoneRooms
	if waits {
		rooms = layout.ZoneRooms[:layout.OwnRooms]
	}
	for _, room := range rooms {
		from := box.mem.Layout.Room(room) + s.Work.Purge + "/"
		end := clientv3.GetPrefixRangeEnd(from)
		for more := true; more; {
			began := time.Now()
			var err error
			if from, more, err = etcd.DeletePage(ctx, box.mem.Client, from, end); err != nil {
				return err
			}
			box.mem.Fault("purge-page")
			if err := s.renewLease(ctx, box); err != nil {
				return err
			}
			if more {
				yieldToClients(ctx, time.Since(began), box.lanes.len())
			}
			if err := box.giveWay(ctx, s); err != nil {
				return err
			}
		}
	}
	if waits && ctx.Err() == nil {
		return journal.ErrDelivered
	}
	return ctx.Err()
}

// waitsForDelivery reports whether the zone ended, and Delivery has yet to withdraw it (S3.7, S8.4).
func (box *Outbox) waitsForDelivery(ctx context.Context, s *standing) (bool, error) {
	if s.Work.Ended == nil || s.Work.Had == nil {
		return false, nil
	}
	o, _, err := box.mem.ReadZone(ctx, s.Work.Ended.Namespace, s.Work.Ended.Name)
	return err == nil && o != nil && string(o.UID) == s.Work.Purge && box.jr.Holds(o), err
}
