// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const historyEvery = 10 * time.Minute

// SweepHistory deletes steps older than their retention, and adjusts the shares of namespaces.
func (ob *Outbox) SweepHistory(ctx context.Context) error {
	retentions, rev, complete := map[string]int64{}, int64(0), true
	err := etcd.Each(ctx, ob.Mem.Client, ob.Mem.Layout.Objects("zones"), &rev, func(key string, data []byte, mod int64) error {
		var z v1alpha1.Zone
		if err := ob.Mem.Zones.Decode(ctx, key, data, mod, &z); err != nil {
			// An unreadable Zone may keep its history for 90 days, so nothing of an absent Zone is deleted now.
			klog.FromContext(ctx).Error(err, "The history of removed zones stays until the Zone is repaired", "key", key)
			complete = false
			return ctx.Err()
		}
		retentions[string(z.UID)] = int64(history.RetentionOf(&z, ob.Journal.Archive.Retention).Seconds())
		return nil
	})
	if err == nil {
		err = ob.Journal.Archive.Sweep(ctx, retentions, complete)
	}
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "The history is not swept; the next sweep tries again")
	}
	return err
}

// zoneStates describes the former Records of a zone, of all namespaces: the key and step of the oldest, and the octets
// by namespace.
type zoneStates struct {
	oldestKey  string
	oldestStep uint64
	octets     map[string]int64
}

// SweepStates archives the journals of zones with former Records older than the retention, because rarely changing
// zones keep steps in the journal, and of namespaces with too many former Records.
func (ob *Outbox) SweepStates(ctx context.Context) error {
	// Sum up the former Records by zone and namespace.
	zones, octetsByNamespace, total := map[string]*zoneStates{}, map[string]int64{}, int64(0)
	_, err := etcd.Scan(ctx, ob.Mem.Client, ob.Mem.Layout.Room("before"), fromStart, noLimit, func(kv *mvccpb.KeyValue) error {
		ns, uid, step, ok := ob.Mem.Layout.ParseBefore(string(kv.Key))
		if !ok {
			return nil
		}
		states := zones[uid]
		if states == nil {
			states = &zoneStates{octets: map[string]int64{}}
			zones[uid] = states
		}
		if states.oldestKey == "" || step < states.oldestStep { // keys are in the order of namespaces first
			states.oldestKey, states.oldestStep = string(kv.Key), step
		}
		octets := int64(len(kv.Value))
		states.octets[ns] += octets
		octetsByNamespace[ns] += octets
		total += octets
		return nil
	})
	if err != nil {
		return err
	}

	// Archive the journals of zones that are due.
	ob.Journal.States.Store(total)
	for _, h := range ob.Mem.Holdings(func(h *law.Holding) bool { return zones[h.UID] != nil }) {
		states := zones[h.UID]
		full := false
		for ns := range states.octets {
			// A namespace has too many former Records, so archive them early.
			full = full || octetsByNamespace[ns] > ob.Journal.Archive.StatesRoomOf(ns)
		}
		archived, err := ob.archiveStates(ctx, h, states.oldestKey, full)
		if err != nil {
			return err
		}

		for ns, octets := range states.octets {
			if archived {
				// The namespace has room again, so the journals of further zones may stay.
				octetsByNamespace[ns] -= octets
				ob.Journal.States.Add(-octets)
			}
		}
	}

	return nil
}

// archiveStates archives the journal of the zone of h if the oldest former Record is older than the zone's retention,
// or full is true. The result is true if the archiving was begun.
func (ob *Outbox) archiveStates(ctx context.Context, h *law.Holding, oldest string, full bool) (archived bool, err error) {
	kv, _, err := etcd.ReadKey(ctx, ob.Mem.Client, oldest)
	if err != nil {
		return false, err
	}
	var before history.Before
	if kv == nil || layout.Decode(kv.Value, &before) != nil {
		return false, nil // archived, or damaged
	}
	z, mod, err := ob.Mem.ReadZone(ctx, h.Namespace, h.Name)
	if err != nil {
		return false, err
	}
	if z == nil || string(z.UID) != h.UID ||
		!full && before.Time >= ob.Mem.Now().Add(-history.RetentionOf(z, ob.Journal.Archive.Retention)).Unix() {
		return false, nil
	}
	return true, ob.Journal.ArchiveAll(ctx, z, mod)
}
