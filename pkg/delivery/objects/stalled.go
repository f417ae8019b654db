// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

// StallAfter is the age of a reason at which Stalled is set.
const StallAfter = 2 * time.Minute

// waitsForPerson are reasons that last until a person acts. Others are retried, or follow another object.
var waitsForPerson = map[string]bool{
	v1alpha1.ReasonNoEnclosingZone: true, v1alpha1.ReasonBelowZoneCut: true, v1alpha1.ReasonNameHeld: true,
	v1alpha1.ReasonCNAMEConflict: true,
	v1alpha1.ReasonLimitExceeded: true, v1alpha1.ReasonNameTooLong: true, v1alpha1.ReasonValidationFailed: true,
	v1alpha1.ReasonInvalid:      true,
	v1alpha1.ReasonZoneNotFound: true, v1alpha1.ReasonDelegationWithdrawn: true, v1alpha1.ReasonNotDelegated: true,
	v1alpha1.ReasonNoNameServers: true, v1alpha1.ReasonNameServerWithoutAddress: true, v1alpha1.ReasonNameServerIsAlias: true,
	v1alpha1.ReasonTooManyNameServers:     true,
	v1alpha1.ReasonNotDelegatedOrServable: true, v1alpha1.ReasonFrozen: true, v1alpha1.ReasonSerialBehind: true,
	v1alpha1.ReasonMassDeletion: true, v1alpha1.ReasonContentDiffers: true,
	v1alpha1.ReasonPaused: true, v1alpha1.ReasonClassPaused: true, v1alpha1.ReasonNoController: true, v1alpha1.ReasonNoPrimary: true,
	v1alpha1.ReasonServerWentBack: true, v1alpha1.ReasonNotifyFailing: true, v1alpha1.ReasonTLSFailing: true,
	string(ReasonDNSClassNotFound): true, string(delivery.ReasonSecretNotFound): true, string(delivery.ReasonAuthenticationFailed): true,
	string(delivery.ReasonInvalidConfiguration): true, string(delivery.ReasonConflict): true, string(delivery.ReasonQuotaExceeded): true,
}

type stallStart struct {
	reason     string
	generation int64
	time       time.Time
}

// Stalls has the start of each reason, by UID. The zero value is ready to use.
type Stalls struct {
	mu     sync.Mutex
	starts map[types.UID]stallStart
}

func (s *Stalls) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.starts, uid)
}

// Judge returns the condition Stalled if an object has been waiting for StallAfter, for a reason that only a person can
// resolve; otherwise nil. The condition waiting has the reason. Before StallAfter has passed, Judge calls retryIn with
// the time left.
func (s *Stalls) Judge(object *metav1.ObjectMeta, conditions []metav1.Condition, waiting *metav1.Condition,
	retryIn func(time.Duration)) *metav1.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The object is ready, or waits for a retry or another object: no person has to act.
	if waiting == nil || waiting.Status == metav1.ConditionTrue || !waitsForPerson[waiting.Reason] {
		delete(s.starts, object.UID)
		return nil
	}

	now := metav1.NewTime(time.Now())
	start, known := s.starts[object.UID]
	isSame := start.reason == waiting.Reason && start.generation == object.Generation
	// The first look since the start of this process.
	if !known {
		start = storedStart(object, conditions, waiting, now.Time)
	} else if !isSame {
		start = stallStart{reason: waiting.Reason, generation: object.Generation, time: now.Time}
	}
	if s.starts == nil {
		s.starts = map[types.UID]stallStart{}
	}
	s.starts[object.UID] = start

	if left := StallAfter - now.Sub(start.time); left > 0 {
		retryIn(left)
		return nil
	}

	current := StalledOf(conditions)
	stalled := &metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: waiting.Reason,
		Message: waiting.Message, ObservedGeneration: object.Generation, LastTransitionTime: now}
	if current != nil {
		stalled.LastTransitionTime = current.LastTransitionTime
	}
	return stalled
}

// storedStart continues, after a restart, from the times in the stored conditions; otherwise from now.
func storedStart(object *metav1.ObjectMeta, conditions []metav1.Condition, waiting *metav1.Condition, now time.Time) stallStart {
	start := stallStart{reason: waiting.Reason, generation: object.Generation, time: now}
	stalled, before := StalledOf(conditions), meta.FindStatusCondition(conditions, waiting.Type)
	switch {
	// Stalled was set already, at the earliest StallAfter after the beginning.
	case start.isOf(stalled):
		start.time = stalled.LastTransitionTime.Add(-StallAfter)
	case start.isOf(before) && before.Status == waiting.Status:
		start.time = before.LastTransitionTime.Time
	}
	return start
}

func (s stallStart) isOf(condition *metav1.Condition) bool {
	return condition != nil && condition.Reason == s.reason && condition.ObservedGeneration == s.generation
}

// SameStall reports whether conditions have the reason and generation of stalled; for nil, no Stalled.
func SameStall(conditions []metav1.Condition, stalled *metav1.Condition) bool {
	current := StalledOf(conditions)
	if current == nil || stalled == nil {
		return current == nil && stalled == nil
	}
	return current.Reason == stalled.Reason && current.ObservedGeneration == stalled.ObservedGeneration
}

func FirstFalse(conditions []metav1.Condition, types ...string) *metav1.Condition {
	for _, kind := range types {
		if of := meta.FindStatusCondition(conditions, kind); of != nil && of.Status == metav1.ConditionFalse {
			return of
		}
	}
	return nil
}

func ReadyOf(conditions []metav1.Condition) *metav1.Condition {
	return meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
}

func StalledOf(conditions []metav1.Condition) *metav1.Condition {
	return meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled)
}
