// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	// A zone is removed at the second sweep without a Zone, because the informer may lag at the first.
	sweepInterval          = 10 * time.Minute
	sweepTimeout, sweepers = time.Minute, 4
	// maxOrphans limits the zones recorded per signer, because an agent can list any names.
	maxOrphans = 1000
)

// sweepSigners removes zones left at the signers, for example by a renamed Zone. Without any signed Zone nothing is
// removed, because the store may be lost.
func (c *Controller) sweepSigners(ctx context.Context) {
	if len(c.Zones.Informer().GetIndexer().ListIndexFuncValues(bySigned)) == 0 {
		return
	}

	byNamespace := map[string][]apiclass.Server{}
	for _, signer := range c.Servers.ListSigners() {
		byNamespace[signer.Namespace] = append(byNamespace[signer.Namespace], signer)
	}

	slots := make(chan struct{}, sweepers)
	var mu sync.Mutex
	orphans := map[v1alpha1.ZoneSigner]map[name.Name]bool{} // guarded by mu
	var sweeping sync.WaitGroup
	for _, signers := range byNamespace {
		// Sweep the signers of a namespace in turn, so that slow signers of a tenant occupy a single slot.
		sweeping.Go(func() {
			for _, signer := range signers {
				key := v1alpha1.ZoneSigner{Namespace: signer.Namespace, Name: signer.Name}
				slots <- struct{}{}
				zones, err := c.sweepSigner(ctx, signer, c.orphans[key])
				<-slots
				if err != nil && ctx.Err() == nil {
					klog.FromContext(ctx).Error(err, "Zones that are left at a signer could not be removed; this is retried",
						"signer", key)
				}
				mu.Lock()
				orphans[key] = zones
				mu.Unlock()
			}
		})
	}
	sweeping.Wait()

	c.orphans = orphans
}

// sweepSigner removes the zones at a signer without a Zone signed there, if the sweep before found them too. It returns
// the names for the next sweep, and before if the signer does not answer.
func (c *Controller) sweepSigner(ctx context.Context, signer apiclass.Server, before map[name.Name]bool) (left map[name.Name]bool,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	agent, err := c.Agents.ClientOf(signer, c.allowsLocal(signer))
	if err != nil {
		return before, err
	}
	zones, err := agent.ListZones(ctx)
	if err != nil {
		return before, err
	}
	// A zone without a key owner was not made for a Zone.
	isOwner := func(owner string) bool { return owner != "" }
	left = map[name.Name]bool{}
	for _, zone := range zones {
		if c.fenceOrphan(signer, zone) != nil || len(left) == maxOrphans {
			continue
		}
		left[zone] = true
		if !before[zone] {
			continue
		}
		// The fence looks again directly before the DELETE: a Zone may have come.
		failed := agent.RemoveIfOwned(ctx, zone, isOwner, func(context.Context) error { return c.fenceOrphan(signer, zone) })
		if ctx.Err() != nil {
			return before, failed
		}
		if err == nil && failed != nil {
			err = fmt.Errorf("zone %s: %w", zone, failed)
		}
	}
	return left, err
}

func (c *Controller) fenceOrphan(signer apiclass.Server, zone name.Name) error {
	signed, err := c.listSignedAt(signer, zone)
	if err == nil && len(signed) > 0 {
		err = errors.New("a Zone is signed by it")
	}
	return err
}
