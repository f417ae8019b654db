// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
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

		isRemovedZone := ok && ns == "" && !exists
		var archived Archived
		if !isRemovedZone || layout.Decode(kv.Value, &archived) != nil {
			return nil
		}
		removed.retentions[zone] = archived.Retention
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

func (a *Archive) dropArchives(ctx context.Context, expired map[string][]string) error {
	for zone, names := range expired {
		x, mod, err := a.readArchived(ctx, zone, 0)
		if err != nil {
			return err
		}
		if x.Gone == 0 {
			continue
		}

		ops := []clientv3.Op{clientv3.OpDelete(a.Layout.Archived(zone), clientv3.WithPrefix())}
		for _, key := range names {
			ops = append(ops, clientv3.OpDelete(key))
		}
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
		cmps, ops, err := a.raiseWhole(ctx, some)
		if err != nil {
			return err
		}

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

func (a *Archive) raiseWhole(ctx context.Context, segments []layout.SegmentKey) (cmps []clientv3.Cmp, ops []clientv3.Op, err error) {
	whole := map[string]int64{}
	for _, k := range segments {
		whole[k.Zone] = max(whole[k.Zone], k.Time+1)
	}
	for zone, t := range whole {
		x, mod, err := a.readArchived(ctx, zone, 0)
		if err != nil {
			return nil, nil, err
		}
		if mod == 0 || x.Whole >= t {
			continue
		}
		x.Whole = t
		cmps = append(cmps, etcd.RevisionIs(a.Layout.Archived(zone), mod))
		ops = append(ops, etcd.OpPut(a.Layout.Archived(zone), layout.Encode(&x)))
	}
	return cmps, ops, nil
}
