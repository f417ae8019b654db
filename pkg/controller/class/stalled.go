// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

// stallAfter is how long a reason stands before Stalled says that it waits for a person (S7.4).
const stallAfter = 2 * time.Minute

// waitsForPerson are the reasons that do not end by themselves. The others are tried again, or follow another object
// that says more.
var waitsForPerson = map[string]bool{
	v1alpha1.ReasonNoEnclosingZone: true, v1alpha1.ReasonBelowZoneCut: true, v1alpha1.ReasonNameHeld: true, v1alpha1.ReasonCNAMEConflict: true,
	v1alpha1.ReasonLimitExceeded: true, v1alpha1.ReasonNameTooLong: true, v1alpha1.ReasonValidationFailed: true, v1alpha1.ReasonInvalid: true,
	v1alpha1.ReasonZoneNotFound: true, v1alpha1.ReasonDelegationWithdrawn: true, v1alpha1.ReasonNotDelegated: true,
	v1alpha1.ReasonNoNameServers: true, v1alpha1.ReasonNameServerWithoutAddress: true, v1alpha1.ReasonNameServerIsAlias: true, v1alpha1.ReasonTooManyNameServers: true,
	v1alpha1.ReasonNotDelegatedOrServable: true, v1alpha1.ReasonFrozen: true, v1alpha1.ReasonSerialBehind: true, v1alpha1.ReasonMassDeletion: true,
	string(ReasonDNSClassNotFound): true, string(delivery.ReasonSecretNotFound): true, string(delivery.ReasonAuthenticationFailed): true,
	string(delivery.ReasonInvalidConfiguration): true, string(delivery.ReasonConflict): true, string(delivery.ReasonQuotaExceeded): true,
}

// stood is since when a reason of an object stands.
type stood struct {
	reason     string
	generation int64
	since      time.Time
}

// stall is the condition Stalled of an object that waits for the reason of a condition, nil for none. It is that of a
// person once it has stood stallAfter; until then in says when to look again.
func (c *Controller) stall(of *metav1.ObjectMeta, conditions []metav1.Condition, waits *metav1.Condition) (stalled *metav1.Condition, in time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waits == nil || waits.Status != metav1.ConditionFalse || !waitsForPerson[waits.Reason] {
		delete(c.stood, of.UID)
		return nil, 0
	}
	now := metav1.NewTime(time.Now())
	said := meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled)
	last, known := c.stood[of.UID]
	switch {
	case known && last.reason == waits.Reason && last.generation == of.Generation:
	case !known && said != nil && said.Reason == waits.Reason && said.ObservedGeneration == of.Generation:
		last = stood{waits.Reason, of.Generation, said.LastTransitionTime.Add(-stallAfter)}
	default:
		last = stood{waits.Reason, of.Generation, now.Time}
		for _, before := range conditions {
			if !known && before.Type == waits.Type && before.Status == waits.Status && before.Reason == waits.Reason && before.ObservedGeneration == of.Generation {
				last.since = before.LastTransitionTime.Time
			}
		}
	}
	c.stood[of.UID] = last
	if in = stallAfter - now.Sub(last.since); in > 0 {
		return nil, in
	}
	stalled = &metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: waits.Reason, Message: waits.Message, ObservedGeneration: of.Generation, LastTransitionTime: now}
	if said != nil {
		stalled.LastTransitionTime = said.LastTransitionTime
	}
	return stalled, 0
}

// sameStall reports whether the conditions say what stalled does.
func sameStall(conditions []metav1.Condition, stalled *metav1.Condition) bool {
	said := meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled)
	if said == nil || stalled == nil {
		return said == nil && stalled == nil
	}
	return said.Reason == stalled.Reason && said.ObservedGeneration == stalled.ObservedGeneration
}

// lacks is the condition of an object that its server says is not True, of those types; nil for none.
func lacks(conditions []metav1.Condition, types ...string) *metav1.Condition {
	for _, kind := range types {
		if of := meta.FindStatusCondition(conditions, kind); of != nil && of.Status == metav1.ConditionFalse {
			return of
		}
	}
	return nil
}

// waitsBy is the condition that a judgement makes.
func waitsBy(j judgement) *metav1.Condition {
	return &metav1.Condition{Type: v1alpha1.ConditionReady, Status: j.status, Reason: j.reason, Message: j.message}
}

// syncUnadopted says of a Record that no zone has taken in whether it waits for a person. Its Ready is the server's.
func (c *Controller) syncUnadopted(ctx context.Context, record *v1alpha1.Record) error {
	conditions := record.Status.Conditions
	stalled, in := c.stall(&record.ObjectMeta, conditions, lacks(conditions, v1alpha1.ConditionAdopted))
	if in > 0 {
		c.queue.AddAfter(task{recordTask, record.Namespace, record.Name}, in)
	}
	if sameStall(conditions, stalled) {
		return nil
	}
	if !c.mass.Allow() {
		c.queue.AddAfter(task{recordTask, record.Namespace, record.Name}, time.Second)
		return nil
	}
	// The version: it may have been taken in meanwhile.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": record.UID, "resourceVersion": record.ResourceVersion}, "status": map[string]any{"conditions": stallPatch(conditions, stalled)}})
	if err != nil {
		return err
	}
	_, err = c.store.client.Records(record.Namespace).Patch(ctx, record.Name, patchType, patch, metav1.PatchOptions{FieldManager: FieldManager}, "status")
	return gone(err)
}

// stallPatch is what of the conditions says stalled, and takes away what says another.
func stallPatch(conditions []metav1.Condition, stalled *metav1.Condition) []any {
	switch {
	case stalled != nil:
		return []any{stalled}
	case meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled) != nil:
		return []any{map[string]any{"$patch": "delete", "type": v1alpha1.ConditionStalled}}
	}
	return nil
}
