// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/ledger/layout"
)

// purgePage is how many keys of a removed zone one transaction deletes. etcd carries out
// nothing else meanwhile: all keys of a large zone at once would stop every tenant's
// writes for seconds.
const purgePage = 500

// purge deletes the internal keys of a removed zone, page by page, and rests between
// them. No zone is marked by the work any longer, so no decision reads these keys. A
// purge that was interrupted goes on with what is left.
func (l *Ledger) purge(ctx context.Context, s *standing) error {
	if len(s.work.Scans) > 0 { // the server that goes on has nothing to decide anew
		next := s.work
		next.Scans, next.Damaged = nil, s.damaged
		if err := s.rewrite(ctx, l, next); err != nil {
			return err
		}
	}
	waits, err := l.waitsForDelivery(ctx, s)
	if err != nil {
		return err
	}
	rooms := layout.ZoneRooms
	if waits {
		rooms = layout.ZoneRooms[:layout.OwnRooms]
	}
	for _, room := range rooms {
		from := l.layout.Room(room) + s.work.Purge + "/"
		end := clientv3.GetPrefixRangeEnd(from)
		for more := true; more; {
			began := time.Now()
			var err error
			if from, more, err = l.deletePage(ctx, from, end); err != nil {
				return err
			}
			l.fault("purge-page")
			if err := s.beat(ctx, l); err != nil {
				return err
			}
			if more {
				rest(ctx, time.Since(began), l.lanes.len())
			}
			if err := l.giveWay(ctx, s); err != nil {
				return err
			}
		}
	}
	if waits && ctx.Err() == nil {
		return errDelivered
	}
	return ctx.Err()
}

// waitsForDelivery: the zone ended, and Delivery has yet to withdraw it (S3.4, S8.2).
func (l *Ledger) waitsForDelivery(ctx context.Context, s *standing) (bool, error) {
	if s.work.Ended == nil || s.work.Had == nil {
		return false, nil
	}
	o, _, err := l.readZone(ctx, s.work.Ended.Namespace, s.work.Ended.Name)
	return err == nil && o != nil && string(o.UID) == s.work.Purge && l.held(o), err
}

// deletePage deletes the first purgePage keys from one key to another, and says from which on there may be more. The next page begins
// there, not where this one did: etcd goes through keys that are gone until it has compacted them.
func (l *Ledger) deletePage(ctx context.Context, from, end string) (next string, more bool, err error) {
	r, err := l.config.Client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(purgePage), clientv3.WithKeysOnly())
	if err != nil || len(r.Kvs) == 0 {
		return end, false, err
	}
	next = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	_, err = l.config.Client.Delete(ctx, from, clientv3.WithRange(next))
	return next, r.More, err
}
