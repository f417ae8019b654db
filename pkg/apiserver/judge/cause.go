// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
)

const (
	roleOwner    = "the zone's owner"
	rolePlatform = objects.RolePlatform
)

// findPause returns the pause of the zone or class, or zero. A pause hides faults, because no provider is asked.
func (f *Facts) findPause(of *ClassFacts) Judgement {
	if f.Zone.Annotations[v1alpha1.AnnotationPaused] == "true" {
		return newCause(v1alpha1.ReasonPaused, "the zone is paused, so changes are stored and not delivered", roleOwner,
			"removes the annotation "+v1alpha1.AnnotationPaused)
	}
	return of.findPause(of.Class)
}

func (f *ClassFacts) findPause(prefix string) Judgement {
	if !f.Paused {
		return Judgement{}
	}
	return newCause(v1alpha1.ReasonClassPaused, prefix+": the class is paused, so changes are stored and not delivered", rolePlatform,
		"sets spec.paused of the class to false")
}

// findCause returns why a delivery under way does not end (S7.12), or zero if no cause is known. The order is from the
// widest cause to the nearest: a pause, the controller, the primary, a server that went back, NOTIFY.
func (f *Facts) findCause(of *ClassFacts) Judgement {
	if cause := cmp.Or(f.findPause(of), f.findDeadController()); cause.Status != "" {
		return cause
	}
	// Secondaries that transfer from a primary wait until the primary works again. A class with a webhook needs no
	// primary.
	if ended := f.Processes.Primary.Ended; of.NeedsPrimary && !ended.IsZero() {
		return newCause(v1alpha1.ReasonNoPrimary, of.Class+": its servers transfer zones from a primary, and none has worked since "+
			formatTime(ended), rolePlatform, "starts the process primary")
	}
	// A server restored from an old disk answers an earlier serial than the confirmed serial.
	if of.State.Ready.Reason == delivery.ReasonServerWentBack {
		return Judgement{metav1.ConditionUnknown, v1alpha1.ReasonServerWentBack,
			objects.PublicFault(of.Class, delivery.ReasonServerWentBack, "")}
	}
	if fault := of.findTLSFault(); fault != "" {
		return newCause(v1alpha1.ReasonTLSFailing, of.Class+": a server transfers nothing over TLS: "+fault, rolePlatform,
			class.StepFindServer)
	}
	if of.isDelayedByNotify() {
		return newCause(v1alpha1.ReasonNotifyFailing, of.Class+": a server does not confirm NOTIFY, so changes wait for the "+
			"server's own refresh", rolePlatform, class.StepFindServer)
	}
	return Judgement{}
}

// AwaitAfter is the age at which Ready names the class that has not confirmed the change.
const AwaitAfter = 40 * time.Second

// awaitClass returns the cause AwaitsClass if Ready has been Unknown for AwaitAfter and the class silent for as long,
// or else zero. lastChange is the last change by a class, or zero.
func awaitClass(name string, before *metav1.Condition, lastChange time.Time) Judgement {
	if name == "" || lastChange.IsZero() || before == nil || before.Status != metav1.ConditionUnknown ||
		time.Since(before.LastTransitionTime.Time) < AwaitAfter || time.Since(lastChange) < AwaitAfter {
		return Judgement{}
	}
	// All other causes were ruled out before: the class works, and yet the servers do not have the change.
	return newCause(v1alpha1.ReasonAwaitsClass, name+": it has not confirmed the change yet, and its servers tell no fault", rolePlatform,
		class.StepFindServer)
}

// untilAwait returns the time until a Pending may become AwaitsClass. before and lastChange are those of awaitClass. A
// Pending that waits for another cause is judged again each AwaitAfter.
func untilAwait(before *metav1.Condition, lastChange time.Time) time.Duration {
	// www is Pending at 12:00:00, Conflict at 12:00:01, and Pending again at 12:00:02: it awaits its class at 12:00:42.
	since := lastChange
	if before != nil && before.Status == metav1.ConditionUnknown && before.LastTransitionTime.After(since) {
		since = before.LastTransitionTime.Time
	}
	if left := AwaitAfter - time.Since(since); left > 0 {
		return left
	}
	return AwaitAfter
}

func (f *Facts) findDeadController() Judgement { return JudgeController(f.Processes.Controller) }

// JudgeController returns the cause NoController if no controller works, or zero. The cause has the last time of work,
// so that a reader sees since when changes wait.
func JudgeController(life heartbeat.Life) Judgement {
	if life.Ended.IsZero() {
		return Judgement{}
	}
	return newCause(v1alpha1.ReasonNoController, "no controller has worked since "+formatTime(life.Ended)+", so changes are stored and "+
		"not delivered", rolePlatform, "starts the process controller")
}

func newCause(reason, what, role, step string) Judgement {
	return Judgement{metav1.ConditionUnknown, reason, what + "; " + role + " " + step}
}

func formatTime(at time.Time) string { return at.UTC().Format("15:04:05Z on 2 January") }

// keepsReady reports whether a Ready that names a dead process stays, until the Lease shows whether the process works.
func (p *Processes) keepsReady(before *metav1.Condition) bool {
	return before != nil && (before.Reason == v1alpha1.ReasonNoController && p.Controller.Unsure ||
		before.Reason == v1alpha1.ReasonNoPrimary && p.Primary.Unsure)
}

func IsCause(of *metav1.Condition) bool {
	return of != nil && of.Status == metav1.ConditionUnknown && of.Reason != v1alpha1.ReasonPending
}

// hasEvent reports whether the end of a Stalled with this reason has an Event.
func hasEvent(reason string) bool {
	switch reason {
	case v1alpha1.ReasonPaused, v1alpha1.ReasonClassPaused, v1alpha1.ReasonNoController, v1alpha1.ReasonNoPrimary,
		v1alpha1.ReasonServerWentBack, v1alpha1.ReasonNotifyFailing, v1alpha1.ReasonTLSFailing, v1alpha1.ReasonMassDeletion:
		return true
	}
	return false
}
