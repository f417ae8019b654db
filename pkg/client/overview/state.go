// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Words of a State.
const (
	Current    = "current"
	NotCurrent = "not current"
	// Stalled waits for a person; NotCurrent may end by itself.
	Stalled = "stalled"
	// Behind is Ready=Unknown: servers have not confirmed the last change yet.
	Behind  = "behind"
	Pending = "pending"
	Deleted = "being deleted"
	// Waiting is a Record that no zone takes.
	Waiting = "waiting"
)

// State is the summary of a Zone, Record or Delivery: do its servers have its spec? Reason and Message
// are those of the condition Ready, or say why there is none. Since is nil if unknown.
type State struct {
	Word, Reason, Message string
	Since                 *metav1.Time
}

// isJudged reports whether the condition Ready gave the State.
func (s *State) isJudged() bool { return s.Word != Pending && s.Word != Deleted }

// StateOf returns the State by the condition Ready. A deletion precedes every condition, and Ready of a former
// generation is Pending.
func StateOf(object metav1.Object, conditions []metav1.Condition) State {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case object.GetDeletionTimestamp() != nil:
		// A deleted Zone stays until its servers have dropped it, whatever Ready says.
		return State{Deleted, v1alpha1.ReasonTerminating, "it is deleted when its servers no longer have it", object.GetDeletionTimestamp()}
	case ready == nil:
		return State{Pending, v1alpha1.ReasonPending, "no controller has judged it yet", knownTime(object.GetCreationTimestamp())}
	}
	s := State{Reason: ready.Reason, Message: ready.Message, Since: knownTime(ready.LastTransitionTime)}
	switch {
	case ready.Status == metav1.ConditionTrue && ready.ObservedGeneration < object.GetGeneration():
		return State{Pending, v1alpha1.ReasonPending, "no controller has judged the last change yet", nil}
	case ready.Status == metav1.ConditionTrue:
		s.Word = Current
	case meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled):
		s.Word = Stalled
	case ready.Status == metav1.ConditionFalse:
		s.Word = NotCurrent
	default:
		s.Word = Behind
	}
	return s
}

// RecordState is the State of a Record. If no zone takes the Record, the condition Adopted has the reason.
func RecordState(record *v1alpha1.Record) State {
	s := StateOf(record, record.Status.Conditions)
	if s.Word == Deleted {
		s.Message = "it is deleted when it has no finalizer"
	}
	adopted := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionAdopted)
	if record.Status.ZoneRef != nil || adopted == nil || adopted.Status == metav1.ConditionTrue {
		return s
	}
	s.Reason, s.Message, s.Since = adopted.Reason, adopted.Message, knownTime(adopted.LastTransitionTime)
	// A stalled Record waits for a person, which says more.
	if s.Word != Stalled {
		s.Word = Waiting
	}
	return s
}

func knownTime(at metav1.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// Marks are facts of a zone beside its State, several at once.
type Marks struct {
	// Held is the condition Settled of a zone whose mass deletion waits for its owner (S7.8), or nil.
	Held   *metav1.Condition
	Paused bool
	// EndsAt is the end of a withdrawn zone.
	EndsAt *metav1.Time
}

func MarksOf(zone *v1alpha1.Zone) Marks {
	marks := Marks{Paused: zone.Annotations[v1alpha1.AnnotationPaused] == "true", EndsAt: zone.Status.EndsAt}
	// Settled has other reasons, such as a cascade, and those pass without a person.
	if settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled); settled != nil &&
		settled.Status != metav1.ConditionTrue && settled.Reason == v1alpha1.ReasonMassDeletion {
		marks.Held = settled
	}
	return marks
}
