// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// Sweep deletes history older than its zone's retention, in seconds by zone UID. If complete is true, retentions has
// all zones, so that the history of removed zones expires too. At the end, setLevel shrinks the history of namespaces
// above their share of the octets.
func (a *Archive) Sweep(ctx context.Context, retentions map[string]int64, complete bool) error {
	began := a.Now().Unix()
	var removed removedZones
	if complete {
		var err error
		if removed, err = a.findRemoved(ctx, retentions); err != nil {
			return err
		}
	}

	// Expire the segments of each account by their zones' retention.
	shares, err := a.readShares(ctx)
	if err != nil {
		return err
	}

	for account := range shares {
		if err := a.expireSegments(ctx, account, func(k layout.SegmentKey) bool {
			retention, exists := retentions[k.Zone]
			if !exists { // removed, or newer than retentions
				retention = max(removed.retentions[k.Zone], newZoneAge)
			}
			_, expired := removed.expired[k.Zone]
			// If retentions lacks zones, an unlisted zone may still exist, and its retention is not known.
			knowsRetention := exists || complete
			return expired || knowsRetention && k.Time < began-retention
		}); err != nil {
			return err
		}
	}

	// The archives go last, because a segment without its zone's archive is damage.
	if err := a.dropArchives(ctx, removed.expired); err != nil {
		return err
	}
	return a.setLevel(ctx)
}

// newZoneAge is the age in seconds up to which segments of an unknown zone stay.
const newZoneAge = 3600

type removedZones struct {
	// retentions holds each zone's retention of steps, in seconds.
	retentions map[string]int64
	// expired holds the zones removed longer ago than their retention, and the index keys under which each is stored.
	expired map[string][]string
}

// findRemoved reads the archives of zones that retentions lacks, and deletes old Delegations that no removal of a zone
// has taken along. Unreadable values are left to fsck.
func (a *Archive) findRemoved(ctx context.Context, retentions map[string]int64) (removedZones, error) {
	now := a.Now().Unix()
	removed := removedZones{retentions: map[string]int64{}, expired: map[string][]string{}}
	var expiredZones, oldDelegations []string
	indexKeys := map[string][]string{} // by zone uid
	_, err := etcd.Scan(ctx, a.Client, a.Layout.Room("archived"), "", 0, func(kv *mvccpb.KeyValue) error {
		key := string(kv.Key)
		zone, ns, ok := a.Layout.ParseArchived(key)
		_, exists := retentions[zone]
		if zone == layout.RemovedZones || zone == layout.RemovedFQDNs {
			// An index key leads from a name to the removed zone, and expires with the zone.
			var header Header
			if layout.Decode(kv.Value, &header) == nil {
				indexKeys[header.Zone] = append(indexKeys[header.Zone], key)
			}
			return nil
		}
		if exists && strings.HasPrefix(ns, layout.LeftDelegations) {
			var delegation OldDelegation
			isReadable := layout.Decode(kv.Value, &delegation) == nil // fsck reports the others
			if isReadable && delegation.Time < now-int64(oldDelegationTTL.Seconds()) {
				oldDelegations = append(oldDelegations, key)
			}
			return nil
		}

		// The zone's archive is the key without an account.
		isRemovedZone := ok && ns == "" && !exists
		var archived Archived
		if !isRemovedZone || layout.Decode(kv.Value, &archived) != nil {
			return nil
		}
		removed.retentions[zone] = archived.Retention
		// Without Gone, the journal of the removed zone is not yet archived to its end.
		if archived.Gone != 0 && archived.Gone+archived.Retention < now {
			expiredZones = append(expiredZones, zone)
		}
		return nil
	})
	if err == nil {
		err = a.sweepOldDelegations(ctx, oldDelegations)
	}

	for _, zone := range expiredZones {
		removed.expired[zone] = indexKeys[zone]
	}
	return removed, err
}

// dropArchives deletes the archives and index keys of expired zones. A zone that came back meanwhile keeps its archive.
func (a *Archive) dropArchives(ctx context.Context, expired map[string][]string) error {
	for zone, names := range expired {
		x, mod, err := a.readArchived(ctx, zone, 0)
		if err != nil {
			return err
		}
		// The zone came back after the scan.
		if x.Gone == 0 {
			continue
		}

		ops := []clientv3.Op{clientv3.OpDelete(a.Layout.Archived(zone), clientv3.WithPrefix())}
		for _, key := range names {
			ops = append(ops, clientv3.OpDelete(key))
		}
		// The compare fails if a server has archived steps of the zone since.
		if _, err := a.Client.Txn(ctx).If(etcd.RevisionIs(a.Layout.Archived(zone), mod)).Then(ops...).Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) sweepOldDelegations(ctx context.Context, old []string) error {
	for some := range slices.Chunk(old, expiredAtOnce) {
		var ops []clientv3.Op
		for _, key := range some {
			ops = append(ops, clientv3.OpDelete(key))
		}
		if _, err := a.Client.Txn(ctx).Then(ops...).Commit(); err != nil {
			return err
		}
	}
	return nil
}

const expiredAtOnce = 32

// expireSegments deletes the segments of an account that isOld selects, a few in each transaction. Another server may
// archive into the account meanwhile: the compare of the share then fails, and the same segments are tried again.
func (a *Archive) expireSegments(ctx context.Context, account string, isOld func(layout.SegmentKey) bool) error {
	old, err := a.listSegments(ctx, account, 0, isOld)
	if err != nil {
		return err
	}

	for len(old) > 0 {
		s, mod, err := a.readShare(ctx, account)
		if err != nil {
			return err
		}
		some := old[:min(len(old), expiredAtOnce)]
		// The zones' archives tell readers since when no step is missing, so they change in the same transaction.
		cmps, ops, err := a.raiseWhole(ctx, some)
		if err != nil {
			return err
		}

		// Count each segment out of the share. A segment that another server has deleted is not counted twice.
		for _, k := range some {
			key := a.Layout.Segment(k)
			r, err := a.Client.Get(ctx, key)
			if err != nil {
				return err
			}
			for _, kv := range r.Kvs {
				segment, _ := DecodeSegment(kv.Value) // nil for damage
				s.removeSegment(segment, int64(len(kv.Key)+len(kv.Value)))
				ops = append(ops, clientv3.OpDelete(key))
			}
		}

		a.Fault("expire")
		key := a.Layout.Share(account)
		cmps = append(cmps, etcd.RevisionIs(key, mod))
		r, err := a.Client.Txn(ctx).If(cmps...).Then(append(ops, etcd.OpPut(key, layout.Encode(&s)))...).Commit()
		if err != nil {
			return err
		}
		if r.Succeeded {
			old = old[len(some):]
		}
	}

	return nil
}

// raiseWhole returns the compares and puts that raise Archived.Whole of the segments' zones above the segments' times.
func (a *Archive) raiseWhole(ctx context.Context, segments []layout.SegmentKey) (cmps []clientv3.Cmp, ops []clientv3.Op, err error) {
	whole := map[string]int64{}
	for _, k := range segments {
		whole[k.Zone] = max(whole[k.Zone], k.Time+1)
	}
	for zone, t := range whole {
		x, mod, err := a.readArchived(ctx, zone, 0)
		if errors.Is(err, layout.ErrUnreadable) { // fsck reports it, and the other zones expire
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		// Without an archive, or with a later time, nothing changes.
		if mod == 0 || x.Whole >= t {
			continue
		}
		x.Whole = t
		cmps = append(cmps, etcd.RevisionIs(a.Layout.Archived(zone), mod))
		ops = append(ops, etcd.OpPut(a.Layout.Archived(zone), layout.Encode(&x)))
	}
	return cmps, ops, nil
}
