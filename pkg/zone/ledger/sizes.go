// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
)

// Sizes sums up the stored octets of each namespace, for its budget. FollowSizes calls BeginCount, Add for each stored
// object, EndCount, then Add for each change, never concurrently. After a failure it starts over with BeginCount.
type Sizes interface {
	BeginCount()
	// Add adds octets to a namespace's sum. The number is negative if an object was deleted or became smaller.
	Add(namespace string, octets int64)
	EndCount()
}

// storedOctets counts Records as if they were not compressed, because a budget also bounds memory.
func (l *Ledger) storedOctets(ctx context.Context, key string, data []byte, mod int64) int64 {
	octets, values := len(data), 0
	switch {
	case strings.HasPrefix(key, l.mem.Layout.Objects("records")):
		var r v1alpha1.Record
		if l.mem.Records.Decode(ctx, key, data, mod, &r) == nil {
			octets, values = r.Size(), max(1, len(r.Spec.Values))
		}
	case strings.HasPrefix(key, l.mem.Layout.Objects("delegations")):
		var d v1alpha1.Delegation
		// The copies of a rule, for each namespace, count as well.
		if l.mem.Delegations.Decode(ctx, key, data, mod, &d) == nil {
			values = len(d.Spec.Namespaces)
		}
	}
	return l.mem.Layout.StoredOctets(key, octets, values)
}

// sizedResources is in key order.
var sizedResources = []string{"bind9clusters.bind9.kubi.zone", "bind9instances.bind9.kubi.zone",
	"delegations", "records", "updatekeys", "zones"}

// FollowSizes reports the stored octets of each namespace to sink until ctx ends.
func (l *Ledger) FollowSizes(ctx context.Context, sink Sizes) error {
	for ctx.Err() == nil {
		err := l.countSizes(ctx, sink)
		if ctx.Err() != nil {
			return nil
		}
		klog.FromContext(ctx).V(2).Info("stored octets of all namespaces are counted again", "why", err.Error())
		etcd.Pause(ctx, time.Second)
	}
	return nil
}

// countSizes counts all objects, and then follows their changes. After the error, which is never nil, the count begins
// anew.
func (l *Ledger) countSizes(ctx context.Context, sink Sizes) error {
	sink.BeginCount()
	// Count all resources at the same revision.
	rev := int64(0)
	for _, resource := range sizedResources {
		err := etcd.Each(ctx, l.mem.Client, l.mem.Layout.Objects(resource), &rev, func(key string, data []byte, mod int64) error {
			if namespace, _, ok := l.mem.Layout.ObjectName(key); ok {
				sink.Add(namespace, l.storedOctets(ctx, key, data, mod))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}

	sink.EndCount()

	// Follow the changes. A member without leader ends the watch, or the sums would stay behind.
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	// A common watch keeps the changes of all resources in order. Other keys of the range are skipped.
	from, end := l.mem.Layout.Objects(sizedResources[0]),
		clientv3.GetPrefixRangeEnd(l.mem.Layout.Objects(sizedResources[len(sizedResources)-1]))
	for r := range l.mem.Client.Watch(ctx, from, clientv3.WithRange(end), clientv3.WithRev(rev+1), clientv3.WithPrevKV()) {
		if err := r.Err(); err != nil {
			return err
		}

		for _, e := range r.Events {
			namespace, _, ok := l.mem.Layout.ObjectName(string(e.Kv.Key))
			if !ok || !slices.ContainsFunc(sizedResources, func(r string) bool {
				return strings.HasPrefix(string(e.Kv.Key),
					l.mem.Layout.Objects(r))
			}) {
				continue
			}

			octets := int64(0)
			if e.Type == clientv3.EventTypePut {
				octets = l.storedOctets(ctx, string(e.Kv.Key), e.Kv.Value, e.Kv.ModRevision)
			}
			if !e.IsCreate() {
				// An update, or a deletion: the former octets go.
				if e.PrevKv == nil {
					return fmt.Errorf("etcd no longer has the value of %s before revision %d", e.Kv.Key, e.Kv.ModRevision)
				}
				octets -= l.storedOctets(ctx, string(e.Kv.Key), e.PrevKv.Value, e.PrevKv.ModRevision)
			}

			sink.Add(namespace, octets)
		}
	}

	return errors.New("the watch ended")
}
