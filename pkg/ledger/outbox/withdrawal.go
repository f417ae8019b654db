// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/zones"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

const (
	// countsFor is the longest time that a server counts of a withdrawal before it writes it down: a server that ends
	// loses no more. For a short period it is an eighth of that.
	countsFor = 10 * time.Minute
	// minCount bounds what short periods write.
	minCount = 10 * time.Second
	// maxCounted bounds the withdrawals that one sweep writes; the others have their turn in the next.
	maxCounted = 100
)

// Announce is called for each Record and Zone that the rules allow no more since a cascade came to it, with the time at
// which it ends, and with 0 where a rule came back (S2.12, S3.5). It must not wait.
type Announce func(o metav1.Object, endsAt int64, message string)

// announceRecord announces what a committed plan says of a Record; o is the Record before it.
func (box *Outbox) announceRecord(o *v1alpha1.Record, plan *law.Plan) {
	p := plan.Record
	if box.announce == nil || p == nil || p.Zone == nil || (p.EndsAt != 0) == (o.Status.EndsAt != nil) {
		return
	}
	box.announce(o, p.EndsAt, p.Message)
}

// announceZone is announceRecord for a Zone.
func (box *Outbox) announceZone(o *v1alpha1.Zone, plan *law.Plan) {
	c := plan.Zone
	if box.announce == nil || c == nil || c.Zone.Pending || c.Delegated == nil || (c.Holding.Withdrawn != "") == (o.Status.EndsAt != nil) {
		return
	}
	box.announce(o, c.EndsAt, c.Delegated.Message)
}

// counted is a withdrawal as this server first met it.
type counted struct {
	law.Withdrawal
	at time.Time
}

// followWithdrawals sweeps beside the other sweeps: a hundred commits take up to a second, and no cascade waits for
// them.
func (box *Outbox) followWithdrawals(ctx context.Context) {
	tick := time.NewTicker(4 * sweepEvery)
	defer tick.Stop()
	for seen := box.sweepWithdrawals(ctx, nil); ; seen = box.sweepWithdrawals(ctx, seen) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// countEvery is the time after which a server writes down what it counted of a period.
func countEvery(period time.Duration) time.Duration { return max(minCount, min(countsFor, period/8)) }

// sweepWithdrawals counts how long servers ran since the rules of a zone took something from a namespace, and has that
// released when the period is over (S2.5, S3.5). As with last serials no clock moves it: each server counts from when
// it met what another wrote down last, and the first one that is due writes.
func (box *Outbox) sweepWithdrawals(ctx context.Context, seen map[law.Key]counted) map[law.Key]counted {
	known, written := map[law.Key]counted{}, 0
	var zones map[string]law.Place
	var rev int64
	if err := etcd.EachPage(ctx, box.mem.Client, box.mem.Layout.Room("withdrawn"), &rev, func(key string, data []byte, mod int64) error {
		var w law.Withdrawal
		k, err := box.mem.Layout.ParseWithdrawal(key)
		if err == nil {
			err = layout.Decode(data, &w)
		}
		if err != nil {
			klog.FromContext(ctx).Error(layout.Unreadable(key, err), "a withdrawal does not end")
			return nil
		}
		c, ok := seen[k]
		if !ok || c.Withdrawal != w {
			c = counted{w, time.Now()}
		}
		known[k] = c
		passed := time.Since(c.at)
		every := countEvery(time.Duration(w.Grace) * time.Second)
		if over := w.Passed+int64(passed.Seconds()) >= w.Grace; w.Over() || !over && passed < every || written == maxCounted {
			return nil
		}
		written++
		if zones == nil {
			zones = box.listPlaces()
		}
		place, ok := zones[k.Object]
		if !ok {
			return nil // the zone is gone, or about to be
		}
		if err := box.countWithdrawal(ctx, k, mod, place, w, passed); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "the end of a withdrawal failed; it is tried again", "key", key)
		}
		return nil
	}); err != nil {
		return seen
	}
	return known
}

// listPlaces returns where zones stand, by uid, as far as the memory of this server goes.
func (box *Outbox) listPlaces() map[string]law.Place {
	places := map[string]law.Place{}
	for k, h := range box.mem.Holdings(func(*law.Holding) bool { return true }) {
		places[h.UID] = law.Place{Ref: h.Ref, View: k.View, FQDN: k.Name}
	}
	return places
}

// countWithdrawal notes how long servers ran since a withdrawal, and owes the release when its period is over.
func (box *Outbox) countWithdrawal(ctx context.Context, k law.Key, mod int64, place law.Place, w law.Withdrawal,
	passed time.Duration) (err error) {
	defer box.com.Recover(ctx, nil, &err)
	ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: place.Namespace, Weight: 1})
	box.mem.Fault("zone-ends")
	id := etcd.NewID()
	_, err = box.com.Commit(ctx, &commit.Write{
		Resource: "zones", Namespace: place.Namespace, Name: place.Name, Key: box.mem.Layout.Key(k), Expected: mod,
		Hint: box.mem.Layout.Zone(place.Namespace, place.Name),
		Ask: func(seen *law.Seen) law.Outcome {
			return zones.DecideDue(seen, place, k.Namespace, w, int64(passed.Seconds()), id, box.mem.Now().Unix())
		},
		Primary: func(context.Context, *law.Plan) (*clientv3.Op, *v1alpha1.Zone, error) { return nil, nil, nil },
	})
	return err
}
