// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

// stallAfter is how long a reason stands before Stalled says that it waits for a person (S7.4).
const stallAfter = 2 * time.Minute

// waitsForPerson are the reasons that do not end by themselves. The others are tried again, or follow another object
// that says more.
var waitsForPerson = map[string]bool{
	v1alpha1.ReasonNoEnclosingZone: true, v1alpha1.ReasonBelowZoneCut: true, v1alpha1.ReasonNameHeld: true,
	v1alpha1.ReasonCNAMEConflict: true,
	v1alpha1.ReasonLimitExceeded: true, v1alpha1.ReasonNameTooLong: true, v1alpha1.ReasonValidationFailed: true,
	v1alpha1.ReasonInvalid:      true,
	v1alpha1.ReasonZoneNotFound: true, v1alpha1.ReasonDelegationWithdrawn: true, v1alpha1.ReasonNotDelegated: true,
	v1alpha1.ReasonNoNameServers: true, v1alpha1.ReasonNameServerWithoutAddress: true, v1alpha1.ReasonNameServerIsAlias: true,
	v1alpha1.ReasonTooManyNameServers:     true,
	v1alpha1.ReasonNotDelegatedOrServable: true, v1alpha1.ReasonFrozen: true, v1alpha1.ReasonSerialBehind: true,
	v1alpha1.ReasonMassDeletion:    true,
	string(ReasonDNSClassNotFound): true, string(delivery.ReasonSecretNotFound): true, string(delivery.ReasonAuthenticationFailed): true,
	string(delivery.ReasonInvalidConfiguration): true, string(delivery.ReasonConflict): true, string(delivery.ReasonQuotaExceeded): true,
}

// stood is since when a reason of an object stands.
type stood struct {
	reason     string
	generation int64
	since      time.Time
}

// stalls remembers since when objects wait for a person, by their UID.
type stalls struct {
	queue queue
	mu    sync.Mutex
	stood map[types.UID]stood
}

func (s *stalls) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stood, uid)
}

// judgeStalled decides about the condition Stalled of an object that waits for the reason of the condition waits, nil
// for none. The reason has to stand stallAfter; until then the object is enqueued for that time.
func (s *stalls) judgeStalled(again task, of *metav1.ObjectMeta, conditions []metav1.Condition, waits *metav1.Condition) *metav1.Condition {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits == nil || waits.Status != metav1.ConditionFalse || !waitsForPerson[waits.Reason] {
		delete(s.stood, of.UID)
		return nil
	}
	now := metav1.NewTime(time.Now())
	said := stalledOf(conditions)
	last, known := s.stood[of.UID]
	switch before := meta.FindStatusCondition(conditions, waits.Type); {
	case known && last.reason == waits.Reason && last.generation == of.Generation:
	case !known && givesReason(said, waits.Reason, of.Generation):
		last = stood{waits.Reason, of.Generation, said.LastTransitionTime.Add(-stallAfter)}
	case !known && givesReason(before, waits.Reason, of.Generation) && before.Status == waits.Status:
		last = stood{waits.Reason, of.Generation, before.LastTransitionTime.Time}
	default:
		last = stood{waits.Reason, of.Generation, now.Time}
	}
	s.stood[of.UID] = last
	if in := stallAfter - now.Sub(last.since); in > 0 {
		s.queue.AddAfter(again, in)
		return nil
	}
	stalled := &metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: waits.Reason,
		Message: waits.Message, ObservedGeneration: of.Generation, LastTransitionTime: now}
	if said != nil {
		stalled.LastTransitionTime = said.LastTransitionTime
	}
	return stalled
}

// givesReason reports whether there is a condition, and it has the reason for that generation of its object.
func givesReason(of *metav1.Condition, reason string, generation int64) bool {
	return of != nil && of.Reason == reason && of.ObservedGeneration == generation
}

// sameStall reports whether the conditions say what stalled does.
func sameStall(conditions []metav1.Condition, stalled *metav1.Condition) bool {
	said := stalledOf(conditions)
	if said == nil || stalled == nil {
		return said == nil && stalled == nil
	}
	return said.Reason == stalled.Reason && said.ObservedGeneration == stalled.ObservedGeneration
}

// firstFalse is the first condition of these types that is False; nil for none.
func firstFalse(conditions []metav1.Condition, types ...string) *metav1.Condition {
	for _, kind := range types {
		if of := meta.FindStatusCondition(conditions, kind); of != nil && of.Status == metav1.ConditionFalse {
			return of
		}
	}
	return nil
}

func readyOf(conditions []metav1.Condition) *metav1.Condition {
	return meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
}

func stalledOf(conditions []metav1.Condition) *metav1.Condition {
	return meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled)
}
