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
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

const (
	// maxCountPeriod bounds the time lost when a server stops; a short grace period loses at most an eighth.
	maxCountPeriod = 10 * time.Minute
	// minCountPeriod bounds the writes of short grace periods.
	minCountPeriod  = 10 * time.Second
	maxCountsAtOnce = 100
)

func countEvery(period time.Duration) time.Duration {
	return max(minCountPeriod, min(maxCountPeriod, period/8))
}

func mustCount(w law.Withdrawal, unchangedFor time.Duration) bool {
	isOver := w.Passed+int64(unchangedFor.Seconds()) >= w.Grace
	return !w.IsOver() && (isOver || unchangedFor >= countEvery(time.Duration(w.Grace)*time.Second))
}

// sweepWithdrawals counts how much of each withdrawal's grace period has passed while servers ran, and starts the
// release of the names at the end.
func (ob *Outbox) sweepWithdrawals(ctx context.Context, last seenKeys) seenKeys {
	written := 0
	var places map[string]law.Place
	return ob.sweepRoom(ctx, "withdrawn", last, func(kv *mvccpb.KeyValue, unchangedFor time.Duration) {
		k, w, err := ob.decodeWithdrawal(kv)
		if err != nil {
			klog.FromContext(ctx).Error(layout.Unreadable(string(kv.Key), err), "a withdrawal cannot be ended")
			return
		}

		if written == maxCountsAtOnce || !mustCount(w, unchangedFor) { // later sweeps count the others
			return
		}
		if places == nil {
			// Most sweeps count nothing, so the zones are listed only when needed.
			places = ob.listPlaces()
		}
		place, exists := places[k.Object]
		if !exists {
			// The zone is gone, and the purge deletes the key.
			return
		}

		written++
		if err := ob.countWithdrawal(ctx, k, kv.ModRevision, place, w, unchangedFor); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "the end of a withdrawal failed; it is tried again", "key", string(kv.Key))
		}
	})
}

func (ob *Outbox) decodeWithdrawal(kv *mvccpb.KeyValue) (k law.Key, w law.Withdrawal, err error) {
	k, err = ob.Mem.Layout.ParseWithdrawal(string(kv.Key))
	if err != nil {
		return k, w, err
	}
	return k, w, layout.Decode(kv.Value, &w)
}

// listPlaces returns the places of all zones by UID.
func (ob *Outbox) listPlaces() map[string]law.Place {
	places := map[string]law.Place{}
	for k, h := range ob.Mem.Holdings(func(*law.Holding) bool { return true }) {
		places[h.UID] = law.Place{Ref: h.Ref, View: k.View, FQDN: k.Name}
	}
	return places
}

// countWithdrawal adds the passed time to a withdrawal. At the end of the period the same transaction enqueues the
// release. If the withdrawal was changed at another server, nothing is written, and that change counts.
func (ob *Outbox) countWithdrawal(ctx context.Context, k law.Key, mod int64, place law.Place, w law.Withdrawal,
	passed time.Duration) (err error) {
	defer ob.Committer.Recover(ctx, nil, &err)
	ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: place.Namespace, Weight: 1})
	ob.Mem.Fault("zone-ends")
	id := etcd.NewID()
	_, err = ob.Committer.Commit(ctx, &commit.Write{
		Object:   commit.Object{Resource: "zones", Namespace: place.Namespace, Name: place.Name, Key: ob.Mem.Layout.Key(k)},
		Expected: mod, LikelyZone: ob.Mem.Layout.Zone(place.Namespace, place.Name),
		Decide: func(seen *law.Facts) law.Outcome {
			return zones.DecideElapsed(seen, place, k.Namespace, w, int64(passed.Seconds()), id, ob.Mem.Now().Unix())
		},
		ObjectOp: func(context.Context, *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) { return nil, nil, nil },
	})
	return err
}
