// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/history"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// historyEvery is the period of sweeps of the history.
const historyEvery = 10 * time.Minute

// SweepHistory removes steps beyond their retention, and adjusts the namespaces' shares.
func (ob *Outbox) SweepHistory(ctx context.Context) error {
	retentions, rev, complete := map[string]int64{}, int64(0), true
	err := etcd.Each(ctx, ob.mem.Client, ob.mem.Layout.Objects("zones"), &rev, func(key string, data []byte, mod int64) error {
		var z v1alpha1.Zone
		if err := ob.mem.Zones.Decode(ctx, key, data, mod, &z); err != nil {
			klog.FromContext(ctx).Error(err, "The history of removed zones stays until the Zone is repaired", "key", key)
			complete = false
			return ctx.Err()
		}
		retentions[string(z.UID)] = int64(history.RetentionOf(&z, ob.jr.Archive.Retention).Seconds())
		return nil
	})
	if err == nil {
		err = ob.jr.Archive.Sweep(ctx, retentions, complete)
	}
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "The history is not swept; the next sweep tries again")
	}
	return err
}

// SweepStates archives the steps of each zone whose oldest stored Record before a step is older than the retention: a
// zone that changes rarely keeps its steps in the journal, and such Records beside them.
func (ob *Outbox) SweepStates(ctx context.Context) error {
	oldest := map[string]string{} // key by zone
	room := ob.mem.Layout.Room("before")
	_, err := etcd.Scan(ctx, ob.mem.Client, room, "", 0, func(kv *mvccpb.KeyValue) error {
		if _, zone, _, ok := ob.mem.Layout.ParseBefore(string(kv.Key)); ok && oldest[zone] == "" {
			oldest[zone] = string(kv.Key)
		}
		return nil
	}, clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	for _, h := range ob.mem.Holdings(func(h *law.Holding) bool { return oldest[h.UID] != "" }) {
		kv, _, err := etcd.ReadKey(ctx, ob.mem.Client, oldest[h.UID])
		if err != nil {
			return err
		}
		var before history.Before
		if kv == nil || layout.Decode(kv.Value, &before) != nil {
			continue // archived, or damaged
		}
		z, mod, err := ob.mem.ReadZone(ctx, h.Namespace, h.Name)
		if err != nil {
			return err
		}
		if z == nil || string(z.UID) != h.UID ||
			before.Time >= ob.mem.Now().Add(-history.RetentionOf(z, ob.jr.Archive.Retention)).Unix() {
			continue
		}
		if err := ob.jr.ArchiveAll(ctx, z, mod); err != nil {
			return err
		}
	}
	return nil
}
