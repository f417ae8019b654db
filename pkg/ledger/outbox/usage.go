// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"cmp"
	"context"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law"
)

// The status of a Delegation has the number of its namespaces' Records in the zone (S4.3), updated by a sweep: a
// write of a Record changes only its counts/ key.

const (
	// UsageEvery is the period of Delegations' sweeps.
	UsageEvery  = 10 * time.Second
	usageAtOnce = 500
)

// sweepUsage writes changed numbers. The first sweep counts all zones, as earlier writes may not be noted.
func (box *Outbox) sweepUsage(ctx context.Context, last sightings) sightings {
	delegated := map[string]*law.Holding{}
	for _, h := range box.mem.Holdings(func(h *law.Holding) bool { return h.Delegations > 0 }) {
		if delegated[h.UID] = h; last == nil {
			box.com.Usage.Add(law.CountKey(h.UID, ""))
		}
	}
	for _, k := range box.com.Usage.Take(usageAtOnce) {
		h := delegated[k.Zone]
		if h == nil {
			continue
		}
		names, err := box.delegationsOf(ctx, k.Zone, k.Namespace)
		for _, name := range names {
			err = cmp.Or(box.countUsage(ctx, k.Zone, h.Namespace, name), err)
		}
		if err != nil {
			box.com.Usage.Add(k)
			klog.FromContext(ctx).V(2).Info("Delegations are counted later", "zone", h.Name, "why", err.Error())
		}
	}
	return sightings{}
}

func (box *Outbox) countUsage(ctx context.Context, uid, namespace, name string) error {
	for {
		o, mod, err := box.readDelegation(ctx, namespace, name)
		if err != nil || o == nil || o.Status.ZoneRef == nil || string(o.Status.ZoneRef.UID) != uid {
			return err
		}
		records := int64(0)
		for _, ns := range o.Spec.Namespaces {
			v, err := box.readFact(ctx, law.CountKey(uid, ns))
			if err != nil {
				return err
			}
			if c, _ := v.(*law.Count); c != nil {
				records += c.Records
			}
		}
		if o.Status.Records == records {
			return nil
		}
		o.Status.Records = records
		key := box.mem.Layout.Delegation(namespace, name)
		data, err := box.mem.Delegations.Encode(ctx, key, o)
		if err != nil {
			return err
		}
		if out, err := box.com.Plain(ctx, key, mod, data); err != nil || out.OK {
			return err
		}
	}
}
