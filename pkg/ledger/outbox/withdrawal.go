// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

const (
	// countsFor is the longest time that a server counts of a withdrawal before it writes it down: a server that ends
	// loses no more. For a short period it is an eighth of that.
	countsFor = time.Hour
	// minCount bounds what short periods write.
	minCount = 10 * time.Second
	// maxCounted bounds the withdrawals that one sweep writes; the others have their turn in the next.
	maxCounted = 100
)

// counted is a withdrawal as this server first met it.
type counted struct {
	law.Withdrawal
	at time.Time
}

// sweepWithdrawals counts how long servers ran since the rule of a zone went, and ends the zones whose time is over
// (S3.4). As with last serials no clock moves it: each server counts from when it met what another wrote down last,
// and the first one that is due writes. The key is the zone and what was written down, not the revision of the
// holding, which the zone's own tenant can move.
func (box *Outbox) sweepWithdrawals(ctx context.Context, seen map[string]counted) map[string]counted {
	known, written := map[string]counted{}, 0
	graces := map[string]int64{}
	for k, h := range box.listWithdrawn() {
		c, ok := seen[h.UID]
		if !ok || c.By != h.Withdrawn.By || c.Since != h.Withdrawn.Since || c.Passed != h.Withdrawn.Passed {
			c = counted{*h.Withdrawn, time.Now()}
		}
		known[h.UID] = c
		grace, ok := graces[h.Withdrawn.By]
		if !ok {
			grace = box.graceOf(ctx, k, h.Withdrawn)
			graces[h.Withdrawn.By] = grace
		}
		passed := time.Since(c.at)
		every := max(minCount, min(countsFor, time.Duration(grace)*time.Second/8))
		over := c.Passed+int64(passed.Seconds()) >= grace
		if !over && passed < every && grace == h.Withdrawn.Grace || written == maxCounted {
			continue
		}
		written++
		if err := box.countWithdrawal(ctx, k, h, c.Withdrawal, passed); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "the end of a zone whose delegation was withdrawn failed; it is tried again", "zone", k.Name.String())
		}
	}
	return known
}

// listWithdrawn lists the zones whose rule went, as far as the memory of this server goes.
func (box *Outbox) listWithdrawn() map[law.Key]*law.Holding {
	return box.mem.Holdings(func(h *law.Holding) bool { return h.Withdrawn != nil })
}

// graceOf returns the period in force, in seconds, of the zone that withdrew the rule; where that cannot be read, the
// period by which status.endsAt was written.
func (box *Outbox) graceOf(ctx context.Context, k law.Key, w *law.Withdrawal) int64 {
	h := box.findAbove(k, w.By)
	if h == nil {
		return w.Grace
	}
	o, _, err := box.mem.ReadZone(ctx, h.Namespace, h.Name)
	if err != nil || o == nil || string(o.UID) != w.By {
		return w.Grace
	}
	spec, err := objects.ZoneSpec(o)
	if err != nil {
		return w.Grace
	}
	return spec.Grace
}

// findAbove returns the holding of the zone with that uid above a name, as far as the memory of this server goes.
func (box *Outbox) findAbove(k law.Key, uid string) *law.Holding {
	for up, ok := k.Name.Parent(); ok; up, ok = up.Parent() {
		if h := box.mem.HoldingOf(law.HoldingKey(k.View, up)); h != nil && h.UID == uid {
			return h
		}
	}
	return nil
}

// countWithdrawal notes how long servers ran since a withdrawal, and ends the zone when that is over.
func (box *Outbox) countWithdrawal(ctx context.Context, k law.Key, h *law.Holding, c law.Withdrawal, passed time.Duration) error {
	if by := box.findAbove(k, c.By); by != nil { // whose rule went, as for the cascade that follows
		ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: by.Namespace, Weight: 1})
	}
	for {
		o, mod, err := box.mem.ReadZone(ctx, h.Namespace, h.Name)
		if err != nil || o == nil || string(o.UID) != h.UID || o.Status.FQDN == "" {
			return err
		}
		z, err := objects.LawZone(o)
		if err != nil {
			return err
		}
		spec, err := objects.ZoneSpec(o)
		if err != nil {
			return err
		}
		ask := law.EndAsk{Zone: z, Spec: spec, Counted: c, Passed: int64(passed.Seconds()), Now: box.mem.Now(), WorkID: etcd.NewID()}
		box.mem.Fault("zone-ends")
		out, tx, err := box.writeZone(ctx, o, mod, nil, func(seen *law.Seen) law.Outcome { return law.DecideEnd(seen, ask) })
		if err != nil {
			return err
		}
		if out.OK {
			box.PayNow(ctx, tx.Plan.PendingCuts)
			return nil
		}
	}
}
