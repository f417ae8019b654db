// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// inForce is what delivers a zone.
type inForce struct {
	// classes as the Loop names them, sorted.
	classes []string
	// wrong is why a class that the zone names is not among them, or is but not there; nil for nothing.
	wrong *delivery.Error
}

// classesOf says which classes are in force for a zone: those that it names, else the default ones. One that does not
// exist is in force all the same: what it shall hold waits for it. One that is going, or is for other namespaces or
// views, is not, nor is one of those in taken: the zone of this name in the default view has it (S1.8).
func classesOf(zone *v1alpha1.Zone, of map[string]string, named func(string) *v1alpha1.DNSClass, all []*v1alpha1.DNSClass, taken []string) inForce {
	var force inForce
	fault := func(reason delivery.Reason, format string, args ...any) {
		if force.wrong == nil {
			force.wrong = delivery.Errorf(reason, format, args...)
		}
	}
	if len(zone.Spec.DNSClassRefs) == 0 {
		for _, one := range all {
			if !class.IsDefault(one) || one.DeletionTimestamp != nil || !class.Admits(one, zone.Namespace, of) || !class.Delivers(one, zone.Status.View) {
				continue
			}
			if slices.Contains(taken, one.Name) {
				force.wrong = cmp.Or(force.wrong, takenByDefault(zone, one.Name))
				continue
			}
			force.classes = append(force.classes, one.Name)
		}
	}
	for _, ref := range zone.Spec.DNSClassRefs {
		name := nameOf(ref)
		one := named(name)
		switch {
		case one == nil:
			force.classes = append(force.classes, name)
			fault(ReasonDNSClassNotFound, "there is no %s %s; make it, or name another one in spec.dnsClassRefs", kindOf(ref), ref.Name)
		case one.DeletionTimestamp != nil:
			fault(ReasonDNSClassNotFound, "DNSClass %s is being deleted; name another one in spec.dnsClassRefs", ref.Name)
		case !class.Admits(one, zone.Namespace, of):
			fault(delivery.ReasonInvalidConfiguration, "DNSClass %s is not for namespace %s; its spec.namespaces says for which it is", ref.Name, zone.Namespace)
		case !class.Delivers(one, zone.Status.View):
			fault(delivery.ReasonInvalidConfiguration, "DNSClass %s does not deliver zones of view %q; its spec.views says which it does, and none is the default view alone", ref.Name, zone.Status.View)
		case slices.Contains(taken, name):
			force.wrong = cmp.Or(force.wrong, takenByDefault(zone, name))
		default:
			force.classes = append(force.classes, name)
		}
	}
	slices.Sort(force.classes)
	return force
}

// takenByDefault is why a class is not in force for a zone of another view than the default one.
func takenByDefault(zone *v1alpha1.Zone, class string) *delivery.Error {
	return delivery.Errorf(delivery.ReasonConflict, "DNSClass %s delivers the zone %s of the default view, and a class has one zone of a name; name another class in spec.dnsClassRefs", class, zone.Status.FQDN)
}

// expelled are the classes that a zone names, or has a delivery of, and that are not to have it any more: they are
// going, or are not for its namespace or view, or are taken. That does not wait for other classes that the zone's
// owner names.
func expelled(zone *v1alpha1.Zone, force inForce, former []string, named func(string) *v1alpha1.DNSClass, of map[string]string, taken []string) []string {
	var out []string
	for _, ref := range zone.Spec.DNSClassRefs {
		former = append(former[:len(former):len(former)], nameOf(ref))
	}
	for _, name := range former {
		one := named(name)
		mayHave := one != nil && one.DeletionTimestamp == nil && class.Admits(one, zone.Namespace, of) && class.Delivers(one, zone.Status.View) && !slices.Contains(taken, name)
		if mayHave || slices.Contains(force.classes, name) {
			continue
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sameForZones: nothing changed that classesOf or faultOf looks at.
func sameForZones(before, after *v1alpha1.DNSClass) bool {
	return class.IsDefault(before) == class.IsDefault(after) && (before.DeletionTimestamp == nil) == (after.DeletionTimestamp == nil) &&
		reflect.DeepEqual(before.Spec.Namespaces, after.Spec.Namespaces) && slices.Equal(before.Spec.Views, after.Spec.Views) && saysOfItself(before) == saysOfItself(after)
}

// saysOfItself is why a class says that it cannot deliver, empty where it can.
func saysOfItself(of *v1alpha1.DNSClass) string {
	ready := meta.FindStatusCondition(of.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.ObservedGeneration != of.Generation {
		return ""
	}
	return ready.Reason
}

func kindOf(ref v1alpha1.DNSClassReference) v1alpha1.ClassKind {
	return cmp.Or(ref.Kind, v1alpha1.KindDNSClass)
}

func cutKind(name string) (kind, of string, ok bool) {
	kind, of, ok = strings.Cut(name, "/")
	return kind, of, ok
}

// syncZone tells the Loop what shall be done with a zone, and people how far it is.
func (c *Controller) syncZone(ctx context.Context, namespace, name string) error {
	at := cache.NewObjectName(namespace, name)
	zone := c.zoneByName(namespace, name)
	c.mu.Lock()
	before := c.uids[at]
	c.mu.Unlock()
	if before != "" && (zone == nil || before != string(zone.UID)) {
		if err := c.forget(ctx, at, before); err != nil {
			return err
		}
	}
	if zone == nil {
		return nil
	}
	of, terminating := c.labelsOf(namespace)
	var all []*v1alpha1.DNSClass
	for _, one := range c.classes.GetStore().List() {
		all = append(all, one.(*v1alpha1.DNSClass))
	}
	taken := c.takenFrom(zone, all)
	force := classesOf(zone, of, c.classByName, all, taken)
	for _, name := range force.classes {
		if c.classByName(name) == nil {
			c.missing(name)
		}
	}
	c.tell(zone, force, taken, terminating)
	var err error
	if zone.DeletionTimestamp != nil {
		err = c.store.releaseZone(ctx, zone)
	}
	return errors.Join(err, c.syncRecords(ctx, zone, force), c.syncZoneStatus(ctx, zone, force))
}

// takenFrom are the classes of the zone that has the name of this one in the default view; none where this one is of
// that view.
func (c *Controller) takenFrom(zone *v1alpha1.Zone, all []*v1alpha1.DNSClass) []string {
	if zone.Status.View == "" {
		return nil
	}
	var taken []string
	for _, other := range c.zonesNamed(zone.Status.FQDN) {
		if other.Status.View == "" {
			of, _ := c.labelsOf(other.Namespace)
			taken = append(taken, classesOf(other, of, c.classByName, all, nil).classes...)
		}
	}
	return taken
}

// tell is level-triggered as the Loop is: only what is new is told.
func (c *Controller) tell(zone *v1alpha1.Zone, force inForce, taken []string, terminating bool) {
	uid, ended := string(zone.UID), zone.Status.FQDN == "" // or it never stood, and nothing is delivered (S3.1, S3.4)
	desired := delivery.Zone{
		UID: uid, Classes: force.classes, Withdraw: zone.DeletionTimestamp != nil || ended,
		Retain: zone.Spec.DeletionPolicy == v1alpha1.DeletionPolicyRetain && !ended, Paused: zone.Annotations[v1alpha1.AnnotationPaused] == "true",
	}
	if request := zone.Annotations[v1alpha1.AnnotationVerifyRequestedAt]; len(request) <= v1alpha1.MaxVerifyRequest {
		desired.Request = request
	}
	for _, one := range c.deliveriesOf(uid) {
		c.hold(one)
		key := keyOf(one)
		if !slices.Contains(desired.Classes, key.Class) {
			desired.Former = append(desired.Former, key.Class)
		}
		if desired.Withdraw && terminating && one.Status.Serial != 0 {
			// The namespace takes the Records before the Zone: what is withdrawn is what was delivered.
			desired.Frozen = serial.Serial(one.Status.Serial)
		}
	}
	slices.Sort(desired.Former)
	of, _ := c.labelsOf(zone.Namespace)
	desired.Expelled = expelled(zone, force, desired.Former, c.classByName, of, taken)
	c.mu.Lock()
	defer c.mu.Unlock()
	before, told := c.told[uid]
	if before.Frozen != 0 && desired.Frozen != 0 {
		desired.Frozen = before.Frozen
	}
	if told && reflect.DeepEqual(before, desired) {
		return
	}
	c.told[uid] = desired
	c.uids[cache.NewObjectName(zone.Namespace, zone.Name)] = uid
	c.loop.SetZone(desired)
}

// forget is for a Zone that is gone. Deliveries that hold nothing go with it: a server without a cluster has no garbage
// collector.
func (c *Controller) forget(ctx context.Context, at cache.ObjectName, uid string) error {
	c.loop.RemoveZone(uid)
	for _, one := range c.deliveriesOf(uid) {
		c.loop.Hold(keyOf(one), time.Time{}, "", delivery.State{})
		if slices.Contains(one.Finalizers, v1alpha1.FinalizerDelivery) {
			continue
		}
		err := c.store.client.Deliveries(one.Namespace).Delete(ctx, one.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &one.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.uids, at)
	delete(c.told, uid)
	delete(c.patched, types.UID(uid))
	delete(c.asked, types.UID(uid))
	delete(c.stood, types.UID(uid))
	delete(c.standings, uid)
	delete(c.unsaid, uid)
	ours := func(key delivery.Key) bool { return key.UID == uid }
	maps.DeleteFunc(c.states, func(key delivery.Key, _ delivery.State) bool { return ours(key) })
	maps.DeleteFunc(c.observed, func(key delivery.Key, _ bool) bool { return ours(key) })
	maps.DeleteFunc(c.failures, func(key delivery.Key, _ map[delivery.RRsetKey]*delivery.Error) bool { return ours(key) })
	maps.DeleteFunc(c.failedWhole, func(key delivery.Key, _ bool) bool { return ours(key) })
	c.store.forget(ours)
	return nil
}

// Observe keeps what the Loop tells and has the zone looked at.
func (c *Controller) Observe(event delivery.Event) {
	c.learn(event)
	zone := c.zoneByUID(event.Key.UID)
	var said []delivery.Failure
	c.mu.Lock()
	c.observed[event.Key] = true
	if event.Outcome == delivery.OutcomeWithdrawn {
		delete(c.states, event.Key)
		delete(c.failures, event.Key)
		delete(c.failedWhole, event.Key)
	} else {
		c.states[event.Key] = event.State
		if event.Outcome != delivery.OutcomeDrifted && event.Outcome != delivery.OutcomeCompared {
			c.failedWhole[event.Key] = event.Outcome == delivery.OutcomeFailed
		}
		refused := map[delivery.RRsetKey]*delivery.Error{}
		for _, failure := range event.Failed {
			refused[delivery.RRsetKey{Name: failure.Name, Type: failure.Type}] = failure.Err
		}
		said = sayings(event.Failed, c.failures[event.Key])
		// A comparison says nothing of what was refused.
		if len(refused) > 0 || event.Outcome == delivery.OutcomeDelivered || event.Outcome == delivery.OutcomePending {
			c.failures[event.Key] = refused
		}
	}
	c.mu.Unlock()
	if zone == nil {
		return
	}
	for n, failure := range said {
		if n == maxSayings {
			klog.Background().Error(nil, "A provider refuses more RRsets of the zone, with words of its own", "class", event.Key.Class, "namespace", zone.Namespace, "zone", zone.Name, "more", len(said)-n)
			break
		}
		klog.Background().Error(nil, "A provider refuses an RRset", "class", event.Key.Class, "namespace", zone.Namespace, "zone", zone.Name,
			"rrset", delivery.RRsetKey{Name: failure.Name, Type: failure.Type}.String(), "reason", failure.Err.Reason, "code", failure.Err.Code, "said", failure.Err.Said)
	}
	c.queue.Add(task{zoneTask, zone.Namespace, zone.Name})
	c.announce(zone, event)
}

// maxSayings bounds the lines that one attempt writes into the log.
const maxSayings = 20

// sayings are the failures of which the provider says something that it did not say of them before: what it says goes
// into the log alone (S6.7), once.
func sayings(failed []delivery.Failure, before map[delivery.RRsetKey]*delivery.Error) []delivery.Failure {
	var fresh []delivery.Failure
	for _, failure := range failed {
		if failure.Err == nil || failure.Err.Said == "" {
			continue
		}
		if last := before[delivery.RRsetKey{Name: failure.Name, Type: failure.Type}]; last == nil || last.Said != failure.Err.Said {
			fresh = append(fresh, failure)
		}
	}
	return fresh
}

// judgement is what a Zone's Ready says.
type judgement struct {
	status          metav1.ConditionStatus
	reason, message string
}

// heldBy is the Ready of a zone that a mass deletion holds back (S7.5); empty where none does.
func heldBy(zone *v1alpha1.Zone) judgement {
	settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled)
	if settled == nil || settled.Reason != v1alpha1.ReasonMassDeletion {
		return judgement{}
	}
	return judgement{metav1.ConditionFalse, v1alpha1.ReasonMassDeletion, "its own namespace removed much of it, and nothing from then on is delivered; the condition Settled says how to let that through (S7.5)"}
}

// judge is the Ready of a zone (S6.7); empty while there is nothing to say.
func (c *Controller) judge(zone *v1alpha1.Zone, force inForce) judgement {
	if zone.DeletionTimestamp != nil {
		fault, _ := c.withdrawing(zone)
		return fault
	}
	held := heldBy(zone)
	if lacks := lacking(zone); lacks != "" {
		if held.status != "" { // what was removed may be what it lacks
			return held
		}
		return judgement{metav1.ConditionFalse, v1alpha1.ReasonNotDelegatedOrServable, "the condition " + lacks + " is not True; its message says why"}
	}
	isSettled := meta.IsStatusConditionTrue(zone.Status.Conditions, v1alpha1.ConditionSettled)
	if force.wrong != nil {
		return judgement{metav1.ConditionFalse, string(force.wrong.Reason), force.wrong.Message}
	}
	if len(force.classes) == 0 {
		fault, remains := c.withdrawing(zone)
		switch {
		case fault.status != "":
			return fault
		case remains:
			return leaving
		case held.status != "":
			return held
		case !isSettled:
			return settling
		}
		return noClass
	}
	waits, states := judgement{}, c.stateOfClass(string(zone.UID))
	for _, name := range force.classes {
		state, ok := states(name)
		switch {
		case ok && state.Serial.Ahead(serial.Serial(zone.Status.Serial)):
			return judgement{} // What is known of the zone is older than what was delivered; its event is on the way.
		case ok && state.Ready.Status == delivery.False:
			return judgement{metav1.ConditionFalse, string(state.Ready.Reason), cut(public(name, state.Ready.Reason, state.Ready.Message))}
		case !ok || state.Serial == 0 || int64(state.Serial) != zone.Status.Serial || state.Ready.Status != delivery.True:
			if waits = pending; !ok || state.Error == nil {
				if fault := c.faultOf(string(zone.UID), name, state); fault.status != "" {
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

func (c *Controller) syncZoneStatus(ctx context.Context, zone *v1alpha1.Zone, force inForce) error {
	var j judgement
	var ahead serial.Serial
	if zone.Status.Serial != 0 { // else the server says what it waits for
		j = c.judge(zone, force)
		if c.isFrozen(zone) && zone.DeletionTimestamp == nil {
			j = frozen
		}
		if j == (judgement{}) {
			return nil
		}
		ahead = c.behind(zone, force, &j)
		j.message = shorten(j.message, maxZoneMessage)
	}
	waits := waitsBy(j)
	if j.status == "" || j.reason == v1alpha1.ReasonNotDelegatedOrServable {
		waits = lacks(zone.Status.Conditions, v1alpha1.ConditionDelegated, v1alpha1.ConditionServable)
	}
	stalled, in := c.stall(&zone.ObjectMeta, zone.Status.Conditions, waits)
	if in > 0 {
		c.queue.AddAfter(task{zoneTask, zone.Namespace, zone.Name}, in)
	}
	isSaid := sameStall(zone.Status.Conditions, stalled)
	before := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady)
	// kubectl wait takes what speaks of an older generation for old.
	if ahead == 0 && isSaid && (j.status == "" || before != nil && before.Status == j.status && before.Reason == j.reason &&
		(before.Message == j.message && before.ObservedGeneration == zone.Generation || j.reason == v1alpha1.ReasonPending)) {
		return nil
	}
	// What the informer has is what the last write was made from: its own event is still on the way.
	c.mu.Lock()
	again := c.patched[zone.UID] == patched{zone.ResourceVersion, j, stalled != nil}
	c.mu.Unlock()
	if again && ahead == 0 {
		return nil
	}
	of := zone.Status.Serial
	if ahead != 0 {
		of = int64(ahead) // The server goes past it, where S6.6 lets it.
	}
	err := c.patchReady(ctx, statusOf{
		uid: zone.UID, serial: of, generation: zone.Generation, before: before, judgement: j, stalled: stallPatch(zone.Status.Conditions, stalled),
	}, func(ctx context.Context, patch []byte, options metav1.PatchOptions) error {
		_, err := c.store.client.Zones(zone.Namespace).Patch(ctx, zone.Name, patchType, patch, options, "status")
		return err
	})
	if err == nil {
		c.announceFrozen(zone, before, j)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.patched[zone.UID] = patched{zone.ResourceVersion, j, stalled != nil}
	} else {
		delete(c.asked, zone.UID)
	}
	return err
}

// patched is the last write of a Ready: what was written, and the version that it was worked out from.
type patched struct {
	from string
	judgement
	stalled bool
}

// stateOfClass are the states of a zone by class. What a class has confirmed for another place than it delivers to
// now, or has begun to withdraw, is void.
func (c *Controller) stateOfClass(uid string) func(string) (delivery.State, bool) {
	return func(class string) (delivery.State, bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		state, ok := c.states[delivery.Key{UID: uid, Class: class}]
		known := c.known[class]
		moved := known != nil && known.spec.Target != "" && state.Target != known.spec.Target
		if !ok || !moved && state.Hash != "" {
			return state, ok
		}
		if state.Serial = 0; state.Ready.Status == delivery.True {
			state.Ready = delivery.Condition{Status: delivery.Unknown, Reason: delivery.ReasonPending}
		}
		return state, true
	}
}
