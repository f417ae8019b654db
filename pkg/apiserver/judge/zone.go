// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/objects"
)

// writeZone writes the conditions Ready and Stalled of a Zone, and raises its serial if a secondary needs that. asked
// is the last answer of a secondary for which the serial was to be raised.
func (l *leader) writeZone(ctx context.Context, f *Facts, asked *request) error {
	zone, now := f.Zone, Judgement{}
	again := func(in time.Duration) { l.queue.AddAfter(string(zone.UID), in) }

	// 1. Judge Ready, and raise the serial. A pending zone has no serial: its other conditions have the reason.
	if zone.Status.Serial != 0 {
		now = JudgeZone(f)
		raised, outlook, err := l.raiseSerial(ctx, f, now.Reason, asked)
		if err != nil || raised || now == (Judgement{}) {
			return err // the raised Zone is judged at its watch event
		}
		// The outlook has the next step, so the fault before the outlook is cut first.
		kept := max(objects.MaxZoneMessage-len(outlook), objects.MaxZoneMessage/4)
		now.Message = objects.Shorten(objects.Shorten(now.Message, kept)+outlook, objects.MaxZoneMessage)
	}
	if now.Reason == v1alpha1.ReasonPending {
		again(AwaitAfter)
	}

	// 2. Judge Stalled.
	waits := now.AsCondition()
	// The message of Delegated or Servable says more than Ready, a repetition of these.
	if now.Status == "" || now.Reason == v1alpha1.ReasonNotDelegatedOrServable {
		waits = objects.FirstFalse(zone.Status.Conditions, v1alpha1.ConditionDelegated, v1alpha1.ConditionServable)
	}
	stalled := l.stalls.Judge(&zone.ObjectMeta, zone.Status.Conditions, waits, again)
	if hasJudgement(zone, now, stalled) {
		return nil
	}

	// 3. Write both. A confirmation is never late; a fault of a class changes all its zones at once.
	before := objects.ReadyOf(zone.Status.Conditions)
	confirms := before != nil && before.Status == metav1.ConditionUnknown && now.Status == metav1.ConditionTrue
	if !confirms && !l.zoneLimit.Allow() {
		again(time.Second)
		return nil
	}
	written, err := l.config.Ledger.ChangeZone(ctx, zone.Namespace, zone.Name, func(stored *v1alpha1.Zone) bool {
		if stored.ResourceVersion != zone.ResourceVersion {
			return false // the Zone is judged again at its watch event
		}
		// A zero judgement keeps Ready, and only Stalled may change.
		if now.Status != "" {
			condition := *now.AsCondition()
			condition.ObservedGeneration, condition.LastTransitionTime = stored.Generation, metav1.Now()
			meta.SetStatusCondition(&stored.Status.Conditions, condition)
		}
		setStalled(&stored.Status.Conditions, stalled)
		return true
	})
	if err != nil || !written {
		return err
	}
	l.announceStall(zone, now, stalled)
	return nil
}

// hasJudgement reports whether a Zone has the conditions. The message of a Pending is not compared.
func hasJudgement(zone *v1alpha1.Zone, now Judgement, stalled *metav1.Condition) bool {
	if !objects.SameStall(zone.Status.Conditions, stalled) {
		return false
	}
	if now.Status == "" {
		return true
	}
	stored, generation := storedReady(zone.Status.Conditions)
	// A busy zone is Pending after each write, and a write for the message alone would be a further write.
	if now.Reason == v1alpha1.ReasonPending {
		stored.Message = now.Message
	}
	// An Unknown is of any generation: the confirmation that follows is of the last.
	return stored == now && (now.Status == metav1.ConditionUnknown || generation == zone.Generation)
}

// announceStall reports in an Event that a Zone begins to wait for a person, or no longer does.
func (l *leader) announceStall(zone *v1alpha1.Zone, now Judgement, stalled *metav1.Condition) {
	switch before := objects.StalledOf(zone.Status.Conditions); {
	case stalled != nil && before == nil && IsCause(now.AsCondition()):
		l.config.Announce(zone, corev1.EventTypeWarning, now.Reason, now.Message)
	case stalled == nil && before != nil && hasEvent(before.Reason):
		l.config.Announce(zone, corev1.EventTypeNormal, before.Reason, "this is over")
	}
}

// announceDelivery reports in an Event that a class begins to fail at a zone, or has recovered.
func (l *leader) announceDelivery(before, after *v1alpha1.Delivery) {
	if before == nil || after == nil {
		return
	}
	fault := after.Status.Error
	hadFault, hasFault := before.Status.Error != nil, fault != nil
	zone := l.index.ZoneByUID(string(after.Spec.Zone.UID))
	// Only the first error has an Event. A retry with other words is the same fault.
	if hadFault == hasFault || zone == nil {
		return
	}
	class := objects.KeyOf(after).Class
	if hasFault {
		l.config.Announce(zone, corev1.EventTypeWarning, fault.Reason, class+": "+cmp.Or(fault.Message, fault.Reason))
		return
	}
	l.config.Announce(zone, corev1.EventTypeNormal, v1alpha1.ReasonDelivered,
		fmt.Sprintf("%s: the fault is over, serial %d is delivered", class, after.Status.Serial))
}
