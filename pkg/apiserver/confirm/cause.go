// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ready"
)

// writeCauseOfZone writes the cause of a pending Zone into the conditions Ready and Stalled while no controller works.
// Once a controller works again, it replaces the reason NoController.
func (l *leader) writeCauseOfZone(ctx context.Context, f *ready.Facts) error {
	zone, now := f.Zone, ready.JudgeZone(f)
	before := ready.ReadyOf(zone.Status.Conditions)
	staysPending := before != nil && before.Status == metav1.ConditionUnknown && now.Status == metav1.ConditionUnknown
	if !staysPending {
		return nil
	}
	controllerWorks := f.Processes.Controller.Ended.IsZero()
	mustReplace := before.Reason == v1alpha1.ReasonNoController
	if controllerWorks && !mustReplace {
		return nil
	}

	uid := string(zone.UID)
	stalled := l.stalls.Judge(&zone.ObjectMeta, zone.Status.Conditions, now.AsCondition(),
		func(delay time.Duration) { l.queue.AddAfter(uid, delay) })
	sameMessage := before.Message == now.Message || now.Reason == v1alpha1.ReasonPending
	isWritten := before.Reason == now.Reason && sameMessage
	if isWritten && ready.SameStall(zone.Status.Conditions, stalled) {
		return nil
	}
	if !l.zoneLimit.Allow() {
		l.queue.AddAfter(uid, time.Second)
		return nil
	}

	changed, err := l.config.Ledger.ChangeZone(ctx, zone.Namespace, zone.Name, func(stored *v1alpha1.Zone) bool {
		if stored.ResourceVersion != zone.ResourceVersion {
			return false // the Zone is judged again at its watch event
		}
		condition := *now.AsCondition()
		condition.ObservedGeneration, condition.LastTransitionTime = stored.Generation, metav1.Now()
		meta.SetStatusCondition(&stored.Status.Conditions, condition)
		setStalled(&stored.Status.Conditions, stalled)
		return true
	})
	newlyStalled := stalled != nil && ready.StalledOf(zone.Status.Conditions) == nil
	if changed && newlyStalled && l.config.Announce != nil {
		l.config.Announce(zone, stalled.Reason, stalled.Message)
	}
	return err
}

func setStalled(conditions *[]metav1.Condition, stalled *metav1.Condition) {
	if stalled != nil {
		meta.SetStatusCondition(conditions, *stalled)
	} else {
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
	}
}

func (l *leader) chooseNoCause(z *zone) (page []law.Ref, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if z.noCause.isEmpty() {
		z.noCauseSince = time.Time{}
		return nil, 0
	}
	if z.noCauseSince.IsZero() {
		z.noCauseSince = time.Now()
	}
	if wait := causeDelay - time.Since(z.noCauseSince); wait > 0 && len(z.noCause.fresh) < pageRecords && len(z.noCause.pages) == 0 {
		return nil, wait
	}
	if l.otherLimit.Tokens() < pageRecords { // a page must not be split
		return nil, time.Second
	}

	limit := l.causes
	if z.progress != nil && !z.progress.IsHeldByPlatform() {
		limit = z.causes
	}
	page = z.choosePages(&z.noCause, 1)[0]
	if !limit.AllowN(time.Now(), len(page)) { // for now only the Zone has the cause
		for _, ref := range page {
			z.noCause.fresh[ref] = true
		}
		return nil, time.Minute
	}
	z.noCauseSince = time.Time{}
	return page, 0
}
