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
		for more := true; more; {
			began := time.Now()
			var err error
			if more, err = l.purgeOnce(ctx, from); err != nil {
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

// purgeOnce deletes the first keys below a prefix, and reports whether there are more.
func (l *Ledger) purgeOnce(ctx context.Context, prefix string) (more bool, err error) {
	r, err := l.config.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(purgePage), clientv3.WithKeysOnly())
	if err != nil || len(r.Kvs) == 0 {
		return false, err
	}
	last := string(r.Kvs[len(r.Kvs)-1].Key)
	_, err = l.config.Client.Delete(ctx, prefix, clientv3.WithRange(last+"\x00"))
	return r.More, err
}
