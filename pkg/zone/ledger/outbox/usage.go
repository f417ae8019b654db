// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/law"
)

// A Record's write changes only a key under counts/. A sweep adds the counts up in the status of Delegations.

const (
	UsageEvery  = 10 * time.Second
	usageAtOnce = 500
)

// The first sweep counts all zones, since earlier writes may not be noted.
func (ob *Outbox) sweepUsage(ctx context.Context, last seenKeys) seenKeys {
	delegated := map[string]*law.Holding{}
	for _, h := range ob.Mem.Holdings(func(h *law.Holding) bool { return h.Delegations > 0 }) {
		if delegated[h.UID] = h; last == nil {
			ob.Committer.Usage.MarkDirty(law.CountKey(h.UID, ""))
		}
	}

	for _, k := range ob.Committer.Usage.TakeDirty(usageAtOnce) {
		h := delegated[k.Zone]
		if h == nil {
			continue
		}
		// Only the Delegations of the namespace whose count has changed, or all of the zone.
		names, err := ob.delegationsOf(ctx, k.Zone, k.Namespace)
		for _, name := range names {
			err = cmp.Or(ob.countUsage(ctx, k.Zone, h.Namespace, name), err)
		}
		if err != nil {
			ob.Committer.Usage.MarkDirty(k)
			klog.FromContext(ctx).V(2).Info("Delegations are counted later", "zone", h.Name, "why", err.Error())
		}
	}

	return seenKeys{}
}

// countUsage sets status.records of a Delegation to the number of Records that the namespaces of the Delegation have in
// the zone.
func (ob *Outbox) countUsage(ctx context.Context, uid, namespace, name string) error {
	for {
		o, mod, err := ob.readDelegation(ctx, namespace, name)
		if err != nil || o == nil || o.Status.ZoneRef == nil || string(o.Status.ZoneRef.UID) != uid {
			return err
		}
		// Again from the counts in each try, so concurrent sweeps of two servers end with the same number.
		records := int64(0)
		for _, ns := range o.Spec.Namespaces {
			v, err := ob.readFact(ctx, law.CountKey(uid, ns))
			if err != nil {
				return err
			}
			if c, _ := v.(*law.Count); c != nil {
				records += c.Records
			}
		}

		if o.Status.Records == records {
			// Most sweeps end here, without a write that watches would see.
			return nil
		}
		o.Status.Records = records
		key := ob.Mem.Layout.Delegation(namespace, name)
		data, err := ob.Mem.Delegations.Encode(ctx, key, o)
		if err != nil {
			return err
		}
		if out, err := ob.Committer.WriteObjectOnly(ctx, key, mod, data); err != nil || out.OK {
			return err
		}
	}
}
