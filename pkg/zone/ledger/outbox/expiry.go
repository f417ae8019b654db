// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// A due key has the time at which a Record expires, by the wall clock of the server that reads it. A clock ahead
// expires Records early by no more than it is ahead; the decision compares the time again.

const (
	// announceBefore is the time from the Event to the expiry, announceEvery the period in which the elected server
	// looks for Records to announce.
	announceBefore = time.Hour
	announceEvery  = time.Minute
)

// sweepDue enqueues a work for each namespace whose Records have expired. A namespace whose due keys are as they were,
// because a Record cannot be read for example, gets the next work after TryEvery.
func (ob *Outbox) sweepDue(ctx context.Context, last seenKeys) seenKeys {
	// 1. Sum up the due keys of each namespace.
	now, found := ob.Mem.Now().Unix(), map[string]int64{}
	if err := ob.eachDue(ctx, 0, now, func(k law.Key, kv *mvccpb.KeyValue) error {
		found[k.Namespace] += kv.ModRevision
		return ctx.Err()
	}); err != nil {
		ob.logUnswept(ctx, err)
		return last
	}

	// 2. Enqueue.
	next := seenKeys{}
	for namespace, sum := range found {
		if seen, ok := last[namespace]; ok && seen.mod == sum && time.Since(seen.firstSeen) < ob.TryEvery {
			next[namespace] = seen
			continue
		}
		enqueued, err := ob.enqueueNew(ctx, law.ExpiryWork(namespace, now))
		if ob.logUnswept(ctx, err); enqueued {
			next[namespace] = seenKey{sum, time.Now()}
		}
	}
	return next
}

func (ob *Outbox) logUnswept(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "expired Records stay in their zones; it is tried again")
	}
}

// eachDue visits the due keys of the times in Unix seconds from after to until, in order of time.
func (ob *Outbox) eachDue(ctx context.Context, after, until int64, visit func(law.Key, *mvccpb.KeyValue) error) error {
	keys := ob.Mem.Layout
	_, err := etcd.Scan(ctx, ob.Mem.Client, keys.Room("due"), keys.DueUntil(after+1), noLimit, func(kv *mvccpb.KeyValue) error {
		k, err := keys.ParseDue(string(kv.Key))
		if err != nil {
			return layout.Unreadable(string(kv.Key), err)
		}
		return visit(k, kv)
	}, clientv3.WithRange(keys.DueUntil(until+1)))
	return err
}

// scanDue calls found with the expired Records of the scan's namespaces, oldest expiry first.
func (ob *Outbox) scanDue(ctx context.Context, scan law.Scan, found func(candidate)) error {
	return ob.eachDue(ctx, 0, ob.Mem.Now().Unix(), func(k law.Key, kv *mvccpb.KeyValue) error {
		if !scan.Covers(k.Namespace) {
			return nil
		}
		of, err := dueRecord(k, kv)
		found(candidate{Ref: of, kindLetter: layout.WaitingRecord, created: k.At, inZone: true})
		return err
	})
}

func dueRecord(k law.Key, kv *mvccpb.KeyValue) (law.Ref, error) {
	var due law.Due
	if err := layout.Decode(kv.Value, &due); err != nil {
		return law.Ref{}, layout.Unreadable(string(kv.Key), err)
	}
	return law.Ref{Namespace: k.Namespace, Name: k.Object, UID: due.UID}, nil
}

// FollowExpiring announces each Record an hour before it expires, until ctx ends. A Record that is written later than
// that has no announcement. Only one server should call it.
func (ob *Outbox) FollowExpiring(ctx context.Context, announce Announce) {
	// The minute before this server's election may lack announcements, so some may come twice.
	after := ob.Mem.Now().Add(announceBefore - announceEvery).Unix()
	for ; ; etcd.Pause(ctx, announceEvery) {
		until := ob.Mem.Now().Add(announceBefore).Unix()
		err := ob.eachDue(ctx, after, until, func(k law.Key, kv *mvccpb.KeyValue) error {
			of, err := dueRecord(k, kv)
			if err == nil {
				at := time.Unix(k.At, 0).UTC().Format(time.RFC3339)
				announce(&metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, UID: types.UID(of.UID)}, k.At,
					fmt.Sprintf("the record leaves its zone at %s (S15.1; set a later spec.expiresAt, or remove it)", at))
			}
			return err
		})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "expiring Records are not announced; it is tried again")
			continue
		}
		after = max(after, until)
	}
}
