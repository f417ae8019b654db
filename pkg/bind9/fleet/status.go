// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
)

const (
	ReasonReady           = "AllReady"
	ReasonNotReady        = "NotReady"
	ReasonPartlyReady     = "PartiallyReady"
	ReasonNone            = "NoChildren"
	ReasonStopped         = "Stopped"
	ReasonExternal        = "External"
	ReasonRollingOut      = "RollingOut"
	ReasonRotating        = "RotatingKey"
	ReasonRotationHeld    = "RotationHeld"
	ReasonStable          = "Stable"
	ReasonForeign         = "Foreign"
	ReasonTakingOver      = "TakingOver"
	ReasonApplyFailed     = "ApplyFailed"
	ReasonUnavailable     = "Unavailable"
	ReasonAgentSilent     = "AgentSilent"
	ReasonAsExpected      = "AsExpected"
	ReasonClusterNotFound = "ClusterNotFound"
	ReasonKeyNotReady     = "KeyNotReady"
	ReasonNotCovered      = "NamespaceNotCovered"
	ReasonInvalid         = "Invalid"
	ReasonValid           = "Valid"
	ReasonLeft            = "LeftObjects"
)

// maxMessage is the API's limit in octets, also of an Event's note.
const maxMessage = 1024

type conditionSet struct {
	generation int64
	conditions []metav1.Condition
	before     []metav1.Condition
}

// initially are the conditions of an object without a fault or a change.
var initially = []metav1.Condition{
	{Type: bind9.ConditionDegraded, Status: metav1.ConditionFalse, Reason: ReasonAsExpected},
	{Type: bind9.ConditionProgressing, Status: metav1.ConditionFalse, Reason: ReasonStable},
}

func newConditionSet(generation int64, before []metav1.Condition) *conditionSet {
	s := &conditionSet{generation: generation, before: before, conditions: slices.Clone(before)}
	for _, one := range initially {
		s.setStatus(one.Type, one.Status, one.Reason, "")
	}
	return s
}

func (s *conditionSet) set(condition string, is bool, reason, message string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	s.setStatus(condition, status, reason, message)
}

func (s *conditionSet) setHeld(class *v1alpha1.DNSClass) {
	if class != nil && !meta.IsStatusConditionTrue(s.conditions, bind9.ConditionProgressing) {
		s.set(bind9.ConditionProgressing, false, ReasonRotationHeld, fmt.Sprintf("the TSIG key is due for renewal but stays: DNSClass "+
			"%q has mode %s, and zones that it made at the servers name the key; "+
			"deliver these zones by a class with mode Catalog and delete this one, or leave spec.tsigKey out", class.Name,
			apiclass.ModeOf(class.Spec.Bind9)))
	}
}

// setStatus sets a condition. The time of the transition stays if the stored status is the same.
func (s *conditionSet) setStatus(condition string, status metav1.ConditionStatus, reason, message string) {
	next := metav1.Condition{Type: condition, Status: status, Reason: reason, Message: cutMessage(message, maxMessage),
		ObservedGeneration: s.generation}
	// Compare with the stored status, because several calls are a single transition.
	if had := meta.FindStatusCondition(s.before, condition); had != nil && had.Status == status {
		next.LastTransitionTime = had.LastTransitionTime
	} else {
		next.LastTransitionTime = metav1.Now()
	}
	s.conditions = slices.DeleteFunc(s.conditions, func(c metav1.Condition) bool { return c.Type == condition })
	s.conditions = append(s.conditions, next)
	slices.SortFunc(s.conditions, func(x, y metav1.Condition) int { return strings.Compare(x.Type, y.Type) })
}

func (s *conditionSet) degrade(err error) {
	reason := ReasonApplyFailed
	if other := (*foreign)(nil); errors.As(err, &other) {
		reason, err = ReasonForeign, other
	}
	s.set(bind9.ConditionDegraded, true, reason, err.Error())
}

// In octets.
const maxStatus, maxRowMessage = 16 << 10, 128

// fitProviderStatus shortens messages, then drops ready clusters, then others, until the status fits.
func fitProviderStatus(status *bind9.ClusterBind9ProviderStatus) {
	octets := status.Size()
	for i := range status.Clusters {
		row := &status.Clusters[i]
		// First shorten: a row without its full message still names the namespace.
		if before := row.Size(); octets > maxStatus && len(row.Message) > maxRowMessage {
			row.Message = cutMessage(row.Message, maxRowMessage)
			octets -= before - row.Size()
		}
	}
	// Ready clusters go first, because they need no action.
	for _, ready := range []bool{true, false} {
		status.Clusters = slices.DeleteFunc(status.Clusters, func(row bind9.ProvidedCluster) bool {
			drops := octets > maxStatus && row.Ready == ready
			if drops {
				octets -= row.Size() + 2
			}
			return drops
		})
	}
}

func cutMessage(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}

func judgeCount(s *conditionSet, desired, ready int32) {
	switch {
	case desired == 0:
		s.set(bind9.ConditionReady, false, ReasonNone, "no server is asked for")
	case ready >= desired:
		s.set(bind9.ConditionReady, true, ReasonReady, "")
	case ready > 0:
		s.set(bind9.ConditionReady, false, ReasonPartlyReady, fmt.Sprintf("%d of %d servers are ready", ready, desired))
	default:
		s.set(bind9.ConditionReady, false, ReasonNotReady, fmt.Sprintf("none of %d servers is ready", desired))
	}
}

func sumCounts(counts ...bind9.ServerCount) (sum bind9.ServerCount) {
	for _, one := range counts {
		sum.Desired, sum.Current, sum.Ready = sum.Desired+one.Desired, sum.Current+one.Current, sum.Ready+one.Ready
	}
	return sum
}

// faults has the status of a condition that is a fault.
var faults = map[string]metav1.ConditionStatus{bind9.ConditionDegraded: metav1.ConditionTrue,
	bind9.ConditionConfigValid: metav1.ConditionFalse}

func eventType(of metav1.Condition) string {
	if faults[of.Type] == of.Status || of.Reason == ReasonRotationHeld {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// recordEvents sends an Event for each condition whose status or reason has changed. Faults are warnings. A new object
// has no Event for its initial conditions.
func (f *Fleet) recordEvents(object runtime.Object, s *conditionSet) {
	for _, after := range s.conditions {
		before := cmp.Or(meta.FindStatusCondition(s.before, after.Type), meta.FindStatusCondition(initially, after.Type))
		if before != nil && before.Status == after.Status && before.Reason == after.Reason {
			continue
		}
		text := strings.TrimSuffix(after.Type+"="+string(after.Status)+": "+after.Message, ": ")
		f.Events.Eventf(object, nil, eventType(after), after.Reason, "Reconcile", "%s", cutMessage(text, maxMessage))
	}
}

// writeStatus writes a changed status, and sends Events for the changed conditions after the write, so that a conflict
// sends none twice.
func writeStatus[T runtime.Object](ctx context.Context, f *Fleet, s *conditionSet, before, after T,
	update func(context.Context, T, metav1.UpdateOptions) (T, error)) error {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	if _, err := update(ctx, after, metav1.UpdateOptions{FieldManager: FieldManager}); err != nil {
		return err
	}
	f.recordEvents(after, s)
	return nil
}
