// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
)

// Facts is the input for the condition Ready of a Zone (JudgeZone) and of its Records (ProgressOf).
type Facts struct {
	Zone    *v1alpha1.Zone
	InForce objects.InForce // the classes that must deliver the zone
	// Frozen is true if the stored content does not match status.hash.
	Frozen bool
	// Classes has the facts of each of InForce.Classes, in that order.
	Classes []ClassFacts
	// BegunDeliveries have begun to write. Some may be of classes that no longer deliver the zone.
	BegunDeliveries []ClassFacts
	Processes       Processes
	// LastChange is when a class last changed its state of the zone; zero if unknown.
	LastChange time.Time
}

// Processes has the lives of the processes that deliver.
type Processes struct {
	Controller, Primary heartbeat.Life
}

type ClassFacts struct {
	Class string
	// State is zero, and Known false, if there is no Delivery.
	State delivery.State
	Known bool
	// FaultReason is "" if the class works.
	FaultReason string
	// NameServers is true if the class has its own name servers, NeedsPrimary if its servers transfer zones from a
	// primary.
	NameServers, Paused, NeedsPrimary bool
	// BehindServers did not have the zone as it was when they were asked last.
	BehindServers []string
	// Notify has the servers that do not confirm NOTIFY, from the Delivery.
	Notify []v1alpha1.DeliveryNotify
}

// isDelayedByNotify reports whether a server without the zone's last change refuses NOTIFY. NOTAUTH is Knot's refusal,
// and a server's answer for an absent zone; NSD's is NXDOMAIN. So these count only of the catalog, or of a server with
// the zone.
func (f *ClassFacts) isDelayedByNotify() bool {
	return slices.ContainsFunc(f.Notify, func(row v1alpha1.DeliveryNotify) bool {
		hasZone := slices.ContainsFunc(f.State.Servers, func(s delivery.Server) bool { return s.Name == row.Server && s.Serial != 0 })
		isOfNotify := class.TLSFault(&row) == ""
		return f.isBehind(row) && isOfNotify && (row.Answer != "NOTAUTH" && row.Answer != "NXDOMAIN" || row.Catalog != "" || hasZone)
	})
}

func (f *ClassFacts) isBehind(row v1alpha1.DeliveryNotify) bool {
	return len(f.State.Servers) == 0 || slices.Contains(f.State.LaggingServers(), row.Server)
}

// findTLSFault returns why a server without the zone's last change transfers nothing over TLS, or "".
func (f *ClassFacts) findTLSFault() string {
	for i := range f.Notify {
		if fault := class.TLSFault(&f.Notify[i]); fault != "" && f.isBehind(f.Notify[i]) {
			return fault
		}
	}
	return ""
}

// isUnknownToServers reports whether servers lack the zone because they refuse NOTIFY for the catalog, or fail to
// transfer that over TLS. To make the zone there by hand would mend the symptom alone.
func (f *ClassFacts) isUnknownToServers() bool {
	return f.State.Ready.Reason == delivery.ReasonZoneNotFound && (f.isDelayedByNotify() || f.findTLSFault() != "")
}

// refusesRRsets reports whether the provider refused single RRsets, such as an unsupported CAA.
func (f *ClassFacts) refusesRRsets() bool { return f.State.Failed > 0 && !f.State.FailedWhole }

func (f *ClassFacts) isAheadOf(zone *v1alpha1.Zone) bool {
	return f.State.Serial != 0 && f.State.Serial.Ahead(serial.Serial(zone.Status.Serial))
}

// ForTarget returns f without a confirmation of another target, or of a zone under removal. "" matches any target.
func (f ClassFacts) ForTarget(target string) ClassFacts {
	moved := target != "" && f.State.Target != target
	if !moved && f.State.Hash != "" {
		return f
	}
	f.State.Serial = 0
	if moved { // the rows are of the former servers
		f.BehindServers = nil
	}
	if f.State.Ready.Status == delivery.True {
		f.State.Ready = delivery.Condition{Status: delivery.Unknown, Reason: delivery.ReasonPending}
	}
	return f
}

// findFault returns the class's fault for Records of the zone, without the data of other Records, or zero if the class
// has no fault.
func (f ClassFacts) findFault() Judgement {
	if f.isUnknownToServers() {
		return Judgement{} // findCause names the NOTIFY
	}
	if f.State.Ready.Status == delivery.False {
		// Only the Records of refused RRsets have the fault.
		if f.refusesRRsets() {
			return Judgement{}
		}
		return Judgement{metav1.ConditionFalse, string(f.State.Ready.Reason), objects.KindOfFault(f.Class, f.State.Ready.Reason)}
	}
	// While a fault of the class makes all zones wait, a single zone is tried. The others have the class's fault.
	if f.FaultReason != "" {
		return Judgement{metav1.ConditionFalse, f.FaultReason, objects.KindOfFault(f.Class, delivery.Reason(f.FaultReason))}
	}
	return Judgement{}
}

func (f *Facts) findFault(of *ClassFacts) Judgement {
	if f.findPause(of).Status != "" {
		return Judgement{}
	}
	return of.findFault()
}

// Judgement is a condition Ready; zero keeps the present condition.
type Judgement struct {
	Status          metav1.ConditionStatus
	Reason, Message string
}

func (j Judgement) AsCondition() *metav1.Condition {
	return &metav1.Condition{Type: v1alpha1.ConditionReady, Status: j.Status, Reason: j.Reason, Message: j.Message}
}

var (
	pending = Judgement{metav1.ConditionUnknown, v1alpha1.ReasonPending, "written, and not yet confirmed by every class in force"}
	noClass = Judgement{metav1.ConditionTrue, v1alpha1.ReasonNoClass, class.MessageNoClass}
	leaving = Judgement{metav1.ConditionUnknown, v1alpha1.ReasonPending, "no class is in force, " +
		"and the zone is being withdrawn from those that had it"}
	// onHold names no Zone, because Records of any namespace have this Ready.
	onHold = Judgement{metav1.ConditionFalse, v1alpha1.ReasonMassDeletion, "not delivered yet: a mass deletion by the namespace of the " +
		"zone holds the zone (S7.5); the owner of the zone restores records, or lets the deletion through, as the condition Settled of " +
		"the Zone says"}
	settling = Judgement{metav1.ConditionUnknown, v1alpha1.ReasonPending, "a change of many records or zones is still in progress"}
	// readyFrozen precedes all other faults. Only log and fsck name the damage, which may be in another namespace.
	readyFrozen = Judgement{metav1.ConditionFalse, v1alpha1.ReasonFrozen,
		"the stored content of the zone does not match its hash: its last proven content is served, or none, and no change is " +
			"delivered. Run kubizone fsck, which names the damage, and restore a backup"}
)

func confirmedBy(all serial.Serial) Judgement {
	return Judgement{metav1.ConditionTrue, v1alpha1.ReasonDelivered, fmt.Sprintf("every class in force has confirmed serial %d", all)}
}

// JudgeZone returns the Ready of a Zone with a serial: True if every class in force has confirmed the present serial,
// and otherwise the most important reason. Zero keeps the present Ready.
func JudgeZone(f *Facts) Judgement {
	zone, held, lacks := f.Zone, heldBy(f.Zone), f.findLacking()
	// 1. Faults of the zone itself, and of its choice of classes.
	switch {
	// A Zone under deletion gets no more changes. Ready names the class from which the zone is not withdrawn.
	case zone.DeletionTimestamp != nil:
		return f.findRemovalFault()
	// Damaged content precedes the faults of classes, which deliver none of it.
	case f.Frozen:
		return readyFrozen
	// Without name servers, or with a host without an address, no class delivers the zone. The removal that holds the
	// zone may have caused the lack.
	case lacks.Type != "":
		text := fmt.Sprintf("%s is %s, %s: %s", lacks.Type, lacks.Status, lacks.Reason, lacks.Message)
		fault := Judgement{metav1.ConditionFalse, v1alpha1.ReasonNotDelegatedOrServable, objects.ShortenMessage(text)}
		return cmp.Or(held, fault)
	case f.InForce.Fault != nil:
		return Judgement{metav1.ConditionFalse, string(f.InForce.Fault.Reason), f.InForce.Fault.Message}
	case len(f.Classes) == 0:
		return f.judgeWithoutClass()
	// The cached Zone is older than the delivered zone; its event is on the way.
	case slices.ContainsFunc(f.Classes, func(of ClassFacts) bool { return of.isAheadOf(zone) }):
		return Judgement{}
	}

	// 2. Faults of each class, and the first wait. Of two classes, a dead primary says more than a mere Pending.
	var cause, waits Judgement
	for i := range f.Classes {
		of := &f.Classes[i]
		switch j, isFinal := f.judgeClass(of); {
		case isFinal:
			return j
		case j == pending:
			waits = cmp.Or(waits, awaitClass(of.Class, objects.ReadyOf(zone.Status.Conditions), f.LastChange), pending)
		default:
			cause = cmp.Or(cause, j)
		}
	}

	// 3. Holds and waits. The hold explains why the servers keep the former data, so the hold precedes every wait.
	if held.Status != "" {
		return held
	}
	if wait := cmp.Or(cause, waits); wait.Status != "" {
		return f.unlessKept(wait)
	}
	if zone.Annotations[v1alpha1.AnnotationPaused] == "true" || f.isSettled() {
		return confirmedBy(serial.Serial(zone.Status.Serial))
	}
	return settling
}

func (f *Facts) isSettled() bool {
	return meta.IsStatusConditionTrue(f.Zone.Status.Conditions, v1alpha1.ConditionSettled)
}

// judgeWithoutClass returns the Ready of a Zone that no class delivers, or no longer.
func (f *Facts) judgeWithoutClass() Judgement {
	fault, held := f.findRemovalFault(), heldBy(f.Zone)
	switch {
	case fault.Status != "":
		return fault
	// The last class was removed from spec.dnsClassRefs, and the servers still answer the zone.
	case len(f.BegunDeliveries) > 0:
		return f.unlessKept(cmp.Or(f.findDeadController(), leaving))
	case held.Status != "":
		return held
	case !f.isSettled():
		return settling
	}
	return noClass
}

// judgeClass returns why a class has not confirmed the zone's present serial, or zero after a confirmation. isFinal is
// true for a fault, which is Ready of the Zone whatever other classes report.
func (f *Facts) judgeClass(of *ClassFacts) (j Judgement, isFinal bool) {
	state := &of.State
	isConfirmed := int64(state.Serial) == f.Zone.Status.Serial
	switch pause := f.findPause(of); {
	case isConfirmed && state.Ready.Status == delivery.True:
		return Judgement{}, false
	// A pause hides faults, but not RRsets that the provider has refused: no later delivery mends these.
	case pause.Status != "" && !(isConfirmed && of.refusesRRsets()):
		return pause, false
	// The catalog did not reach the servers, so the fault is the refused NOTIFY, not the absent zone.
	case of.isUnknownToServers():
		return f.findCause(of), true
	case state.Ready.Status == delivery.False:
		return Judgement{metav1.ConditionFalse, string(state.Ready.Reason),
			objects.ShortenMessage(objects.PublicFault(of.Class, state.Ready.Reason, state.Ready.Message))}, true
	}
	// The class is at fault as a whole, for example without credentials, and this zone was not tried yet.
	if fault := f.findFault(of); fault.Status != "" && state.Error == nil {
		return fault, true
	}
	return cmp.Or(f.findCause(of), pending), false
}

func (f *Facts) unlessKept(j Judgement) Judgement {
	if f.Processes.keepsReady(objects.ReadyOf(f.Zone.Status.Conditions)) {
		return Judgement{}
	}
	return j
}

const notWithdrawn = "not withdrawn from class "

// findRemovalFault returns the fault of a class from which the zone is not yet withdrawn, or zero. A pause counts,
// since a paused class withdraws nothing.
func (f *Facts) findRemovalFault() Judgement {
	for _, of := range f.BegunDeliveries {
		if pause := of.findPause(notWithdrawn + of.Class); pause.Status != "" {
			return pause
		}
		fault := of.findFault()
		if fault.Status == "" {
			continue
		}
		fault.Message = notWithdrawn + fault.Message
		// The owner who deleted the Zone waits for kubectl delete, and finds the way out here.
		if f.Zone.DeletionTimestamp != nil {
			fault.Message += "; the Zone is removed after that, or at once with spec.deletionPolicy: Retain if the class allows it"
		}
		return fault
	}
	return Judgement{}
}

// heldBy returns the Ready of a Zone during a mass deletion (S7.5), or zero if the zone is not held. The text is that
// of the condition Settled.
func heldBy(zone *v1alpha1.Zone) Judgement {
	settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled)
	if settled == nil || settled.Reason != v1alpha1.ReasonMassDeletion {
		return Judgement{}
	}
	// Ready omits the command at the end, which publishes the deletions. The restore comes first.
	text := settled.Message
	if end := strings.LastIndex(text, "; "); end > 0 {
		text = text[:end]
	}
	text += ", or publishes the deletions as the condition Settled says"
	return Judgement{metav1.ConditionFalse, v1alpha1.ReasonMassDeletion, text}
}

// findLacking returns the condition without which no class delivers the zone, or zero.
func (f *Facts) findLacking() metav1.Condition {
	find := func(name string) metav1.Condition {
		absent := &metav1.Condition{Type: name, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending, Message: "not judged yet"}
		return *cmp.Or(meta.FindStatusCondition(f.Zone.Status.Conditions, name), absent)
	}
	delegated, servable := find(v1alpha1.ConditionDelegated), find(v1alpha1.ConditionServable)
	switch {
	// No zone above delegates the zone, so no resolver finds its servers.
	case delegated.Status != metav1.ConditionTrue:
		return delegated
	// Every class has its own name servers, for example of dynamic updates, so the zone needs none (S6.15).
	case len(f.Classes) > 0 && !slices.ContainsFunc(f.Classes, func(of ClassFacts) bool { return !of.NameServers }):
		return metav1.Condition{}
	// ClassNameServers is True only while all classes have name servers, which this set of classes has not.
	case servable.Status != metav1.ConditionTrue || servable.Reason == v1alpha1.ReasonClassNameServers:
		return servable
	}
	return metav1.Condition{}
}
