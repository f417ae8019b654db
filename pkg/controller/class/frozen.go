// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
)

// frozen is the Ready of a zone that cannot be proven, whatever else is to be said of it. What exactly is damaged may
// be a Record of others (S1.7): that is for the log and fsck.
var frozen = judgement{metav1.ConditionFalse, v1alpha1.ReasonFrozen,
	"what is stored of the zone is not what its hash says: it is handed out as it was proven last, or not at all, and no change of it is delivered. Have kubizone fsck say what is damaged, and mend it or restore a backup"}

// watchFrozen has zones looked at that are frozen since the last look, or not any more.
func (c *Controller) watchFrozen(ctx context.Context) {
	tick := time.NewTicker(frozenInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, zone := range c.lookForFrozen() {
			c.queue.Add(task{zoneTask, zone.Namespace, zone.Name})
		}
	}
}

// lookForFrozen notes which zones are frozen and returns those of which that is new.
func (c *Controller) lookForFrozen() []cache.ObjectName {
	if c.config.Frozen == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var changed []cache.ObjectName
	now := map[cache.ObjectName]bool{}
	for _, zone := range c.config.Frozen() {
		told, was := c.frozen[zone]
		if now[zone] = told; !was {
			changed = append(changed, zone)
		}
	}
	for zone := range c.frozen {
		if _, is := now[zone]; !is {
			changed = append(changed, zone)
		}
	}
	c.frozen = now
	return changed
}

func (c *Controller) isFrozen(zone *v1alpha1.Zone) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, is := c.frozen[cache.NewObjectName(zone.Namespace, zone.Name)]
	return is
}

// announceFrozen tells once that a zone is frozen, whoever writes to it meanwhile, and that it no longer is.
func (c *Controller) announceFrozen(zone *v1alpha1.Zone, before *metav1.Condition, now judgement) {
	at, was := cache.NewObjectName(zone.Namespace, zone.Name), before != nil && before.Reason == v1alpha1.ReasonFrozen
	c.mu.Lock()
	told, is := c.frozen[at]
	if is && now == frozen {
		c.frozen[at] = true
	}
	c.mu.Unlock()
	switch {
	case is && now == frozen && !was && !told:
		c.config.Events.Eventf(referTo("Zone", &zone.ObjectMeta), nil, corev1.EventTypeWarning, now.reason, actionDeliver, "%s", now.message)
	case !is && was:
		c.config.Events.Eventf(referTo("Zone", &zone.ObjectMeta), nil, corev1.EventTypeNormal, now.reason, actionDeliver, "the zone is proven again")
	}
}
