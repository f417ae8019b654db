// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// facts are all that decides about the Ready of a Zone (judgeZone) and of its Records (standingOf, judgeRecord).
type facts struct {
	zone  *v1alpha1.Zone
	force inForce
	// frozen says that the content of the zone cannot be proven.
	frozen bool
	// classes are what is known of each class in force, in the order of force.classes.
	classes []classFacts
	// remains are the deliveries of the zone that were begun, of classes in force and of others.
	remains []classFacts
}

// classFacts are what is known of a zone at one class.
type classFacts struct {
	class string
	report
	// says is the reason for which the class says that it delivers nothing at all; empty for none.
	says string
	// nameServers says that the class has name servers of its own for the zone.
	nameServers bool
}

// at voids what was confirmed for another place than target, to which the class delivers now, or has begun to be
// removed. An empty target is not known.
func (f classFacts) at(target string) classFacts {
	moved := target != "" && f.state.Target != target
	if !f.known || !moved && f.state.Hash != "" {
		return f
	}
	if f.state.Serial = 0; f.state.Ready.Status == delivery.True {
		f.state.Ready = delivery.Condition{Status: delivery.Unknown, Reason: delivery.ReasonPending}
	}
	return f
}

// findFault says why the class does not confirm the whole of a zone, as a tenant reads it. The zero judgement: it is on
// its way, or the provider refuses single RRsets.
func (f classFacts) findFault() judgement {
	if f.state.Ready.Status == delivery.False {
		if f.state.Failed > 0 && !f.failedWhole {
			return judgement{}
		}
		return judgement{metav1.ConditionFalse, string(f.state.Ready.Reason), kindOfFault(f.class, f.state.Ready.Reason)}
	}
	// One zone of a class tries when all have to wait, so what holds the others up is what the class says of itself.
	if f.says != "" {
		return judgement{metav1.ConditionFalse, f.says, kindOfFault(f.class, delivery.Reason(f.says))}
	}
	return judgement{}
}

// judgement is what a condition Ready says. The zero judgement says nothing.
type judgement struct {
	status          metav1.ConditionStatus
	reason, message string
}

func (j judgement) condition() *metav1.Condition {
	return &metav1.Condition{Type: v1alpha1.ConditionReady, Status: j.status, Reason: j.reason, Message: j.message}
}

var (
	pending = judgement{metav1.ConditionUnknown, v1alpha1.ReasonPending, "written; not yet confirmed by every class in force"}
	noClass = judgement{metav1.ConditionTrue, v1alpha1.ReasonNoClass, class.MessageNoClass}
	leaving = judgement{metav1.ConditionUnknown, v1alpha1.ReasonPending, "no class is in force, " +
		"and the zone is being withdrawn from those that had it"}
	// held is for Records, also of other namespaces: it names no Zone (S1.8).
	held = judgement{metav1.ConditionFalse, v1alpha1.ReasonMassDeletion, "not delivered yet: a mass deletion by the namespace of the " +
		"zone holds the zone back (S7.5); the owner of the zone lets it through, as the condition Settled of the Zone says, " +
		"or puts enough back"}
	settling = judgement{metav1.ConditionUnknown, v1alpha1.ReasonPending, "the consequences of a change are still being carried out"}
	// frozen is for a zone whose content cannot be proven, and comes before every other fault. The damage itself may be
	// in a Record of another namespace (S1.8), so it stands in the log and in what fsck says alone.
	frozen = judgement{metav1.ConditionFalse, v1alpha1.ReasonFrozen,
		"what is stored of the zone is not what its hash says: it is handed out as it was proven last, or not at all, " +
			"and no change of it is delivered. Have kubizone fsck say what is damaged, and mend it or restore a backup"}
)

func confirmedBy(all serial.Serial) judgement {
	return judgement{metav1.ConditionTrue, v1alpha1.ReasonDelivered, fmt.Sprintf("every class in force has confirmed serial %d", all)}
}

// judgeZone decides what the Ready of a Zone says (S6.13).
func judgeZone(f *facts) judgement {
	zone := f.zone
	if zone.DeletionTimestamp != nil {
		return f.findRemovalFault()
	}
	if f.frozen {
		return frozen
	}
	held := heldBy(zone)
	if lacks := f.findLacking(); lacks != "" {
		if held.status != "" { // what was removed may be what it lacks
			return held
		}
		return judgement{metav1.ConditionFalse, v1alpha1.ReasonNotDelegatedOrServable, "the condition " + lacks + " is not True; " +
			"its message says why"}
	}
	isSettled := meta.IsStatusConditionTrue(zone.Status.Conditions, v1alpha1.ConditionSettled)
	if f.force.wrong != nil {
		return judgement{metav1.ConditionFalse, string(f.force.wrong.Reason), f.force.wrong.Message}
	}
	if len(f.classes) == 0 {
		fault := f.findRemovalFault()
		switch {
		case fault.status != "":
			return fault
		case len(f.remains) > 0:
			return leaving
		case held.status != "":
			return held
		case !isSettled:
			return settling
		}
		return noClass
	}
	waits := judgement{}
	for _, of := range f.classes {
		state := &of.state
		switch {
		case of.known && state.Serial.Ahead(serial.Serial(zone.Status.Serial)):
			return judgement{} // The known zone is older than the delivered one; its event is on the way.
		case of.known && state.Ready.Status == delivery.False:
			return judgement{metav1.ConditionFalse, string(state.Ready.Reason),
				cutMessage(publicFault(of.class, state.Ready.Reason, state.Ready.Message))}
		case !of.known || state.Serial == 0 || int64(state.Serial) != zone.Status.Serial || state.Ready.Status != delivery.True:
			if waits = pending; !of.known || state.Error == nil {
				if fault := of.findFault(); fault.status != "" {
					return fault
				}
			}
		}
	}
	switch {
	case held.status != "":
		return held
	case waits.status != "":
		return waits
	case zone.Annotations[v1alpha1.AnnotationPaused] == "true" || isSettled:
		return confirmedBy(serial.Serial(zone.Status.Serial))
	}
	return settling
}

// findRemovalFault says why a zone that is deleted, or for which no class is in force, is not removed from every
// class.
func (f *facts) findRemovalFault() judgement {
	for _, of := range f.remains {
		fault := of.findFault()
		if fault.status == "" {
			continue
		}
		fault.message = "not withdrawn from class " + fault.message
		if f.zone.DeletionTimestamp != nil {
			fault.message += "; the Zone goes when it is, or with spec.deletionPolicy: Retain where the class allows that"
		}
		return fault
	}
	return judgement{}
}

// heldBy is the Ready of a zone that a mass deletion holds back (S7.5); the zero judgement where none does.
func heldBy(zone *v1alpha1.Zone) judgement {
	settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled)
	if settled == nil || settled.Reason != v1alpha1.ReasonMassDeletion {
		return judgement{}
	}
	return judgement{metav1.ConditionFalse, v1alpha1.ReasonMassDeletion, "its own namespace removed much of it, " +
		"and nothing from then on is delivered; the condition Settled says how to let that through (S7.8)"}
}

// findLacking returns the condition that a zone lacks to be served, empty for none. Servable may be older than the
// classes are: the server judges it anew when Ready is written.
func (f *facts) findLacking() string {
	of := f.zone.Status.Conditions
	servable := meta.FindStatusCondition(of, v1alpha1.ConditionServable)
	switch {
	case !meta.IsStatusConditionTrue(of, v1alpha1.ConditionDelegated):
		return v1alpha1.ConditionDelegated
	case len(f.classes) > 0 && !slices.ContainsFunc(f.classes, func(of classFacts) bool { return !of.nameServers }):
		return ""
	case servable == nil || servable.Status != metav1.ConditionTrue || servable.Reason == v1alpha1.ReasonClassNameServers:
		return v1alpha1.ConditionServable
	}
	return ""
}

// Reasons of a class's Ready beside those of delivery.
const (
	// ReasonServerHealthy says that its last health check went well, or a delivery since.
	ReasonServerHealthy = "ServerHealthy"
	// ReasonNotProven says that no fault is known, and no delivery shows that there is none (delivery.ErrNotProven).
	ReasonNotProven = "NotProven"
)

// judgeHealth decides what a class says of the health that was found then: nil for good.
func judgeHealth(ctx context.Context, of *v1alpha1.DNSClass, found error, now metav1.Time) (metav1.Condition, v1alpha1.ClassHealth) {
	health := v1alpha1.ClassHealth{Status: v1alpha1.HealthStatusHealthy, LastCheck: &now}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonServerHealthy,
		Message: "the provider answers and lets us in", ObservedGeneration: of.Generation, LastTransitionTime: now}
	switch {
	case errors.Is(found, delivery.ErrNotProven):
		ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, ReasonNotProven, cutMessage(found.Error())
		health.Status, health.Message = v1alpha1.HealthStatusUnknown, ready.Message
	case found != nil:
		reason, message := delivery.ReasonServerError, "the provider failed in a way that it does not explain; "+
			"the controller's log has the error"
		var e *delivery.Error
		if errors.As(found, &e) {
			reason, message = e.Reason, cmp.Or(e.Message, string(e.Reason))
			if e.Said != "" {
				message += "; it says: " + e.Said
			}
		} else {
			klog.FromContext(ctx).Error(found, "a health check failed", "class", of.Name)
		}
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, string(reason), cutMessage(message)
		health.Status, health.Message = v1alpha1.HealthStatusUnhealthy, ready.Message
	}
	if before := readyOf(of.Status.Conditions); before != nil && before.Status == ready.Status {
		ready.LastTransitionTime = before.LastTransitionTime
	}
	return ready, health
}

// judgeDelivering decides what a Bind9Cluster that is a class says of the health that was found last. A team reads it,
// so it has no word of the controller's network in it, as a Zone has none.
func judgeDelivering(ctx context.Context, name string, found error) metav1.Condition {
	ready, _ := judgeHealth(ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, found, metav1.Now())
	ready.Type = bind9.ConditionDelivering
	if ready.Status == metav1.ConditionFalse {
		ready.Message = publicMessage(name, delivery.Reason(ready.Reason), ready.Message)
	}
	return ready
}
