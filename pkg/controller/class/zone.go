// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// zoneSync tells the Loop what shall be done with zones, and writes how far each is.
type zoneSync struct {
	*shared
	reports *reports
	frozen  *frozenZones
	classes *classSync
	records *recordSync

	mu     sync.Mutex
	memory map[cache.ObjectName]*zoneMemory
}

// zoneMemory is what was last said of one zone. The queue gives it to one worker at a time.
type zoneMemory struct {
	// told is what the Loop was told.
	told delivery.Zone
	// written is the last write of Ready.
	written written
	// asked is the secondary ahead of the zone for which the server was asked last to go past it.
	asked sighting
}

// memoryOf is that of a zone, empty at first.
func (z *zoneSync) memoryOf(at cache.ObjectName) *zoneMemory {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.memory[at] == nil {
		z.memory[at] = &zoneMemory{}
	}
	return z.memory[at]
}

func (z *zoneSync) dropMemory(at cache.ObjectName) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.memory, at)
}

// syncZone tells the Loop what shall be done with a zone, and people how far it is.
func (z *zoneSync) syncZone(ctx context.Context, namespace, name string) error {
	at := cache.NewObjectName(namespace, name)
	zone := z.index.zoneByName(namespace, name)
	if before := z.memoryOf(at).told.UID; before != "" && (zone == nil || before != string(zone.UID)) {
		if err := z.forgetZone(ctx, at, before); err != nil {
			return err
		}
	}
	if zone == nil {
		z.dropMemory(at)
		return nil
	}
	m := z.memoryOf(at)
	_, terminating := z.index.labelsOf(namespace)
	force, taken := z.findInForce(zone)
	for _, name := range force.classes {
		if z.index.classByName(name) == nil {
			z.classes.tellMissing(name)
		}
	}
	z.tellClusters(zone)
	z.tellLoop(m, zone, force, taken, terminating)
	var err error
	if zone.DeletionTimestamp != nil {
		err = z.store.releaseZone(ctx, zone)
	}
	// Many Records take a while: the Zone is judged by what is known then.
	return errors.Join(err, z.records.syncRecords(ctx, zone, standingOf(z.readFacts(zone, force))),
		z.syncStatus(ctx, m, z.readFacts(zone, force)))
}

// findInForce returns the classes in force for a zone, and those that a zone of the default view has taken.
func (z *zoneSync) findInForce(zone *v1alpha1.Zone) (force inForce, taken []string) {
	of, _ := z.index.labelsOf(zone.Namespace)
	all := z.index.allClasses()
	taken = z.takenFrom(zone, all)
	return classesOf(zone, of, z.index.classByName, all, taken), taken
}

// tellClusters has the Loop told of the Bind9Clusters that a zone names, and of those that have a Delivery of it.
func (z *zoneSync) tellClusters(zone *v1alpha1.Zone) {
	refs := zone.Spec.DNSClassRefs
	for _, one := range z.index.deliveriesOf(string(zone.UID)) {
		refs = append(refs[:len(refs):len(refs)], one.Spec.ClassRef)
	}
	for _, ref := range refs {
		if ref.Kind == v1alpha1.KindBind9Cluster {
			z.classes.tellCluster(class.NameOf(zone.Namespace, ref))
		}
	}
}

// takenFrom are the classes of the zone that has the name of this one in the default view; none where this one is of
// that view.
func (z *zoneSync) takenFrom(zone *v1alpha1.Zone, all []*v1alpha1.DNSClass) []string {
	if zone.Status.View == "" {
		return nil
	}
	var taken []string
	for _, other := range z.index.zonesNamed(zone.Status.FQDN) {
		if other.Status.View == "" {
			of, _ := z.index.labelsOf(other.Namespace)
			taken = append(taken, classesOf(other, of, z.index.classByName, all, nil).classes...)
		}
	}
	return taken
}

// readFacts reads all that the Ready of a Zone and of its Records is judged from.
func (z *zoneSync) readFacts(zone *v1alpha1.Zone, force inForce) *facts {
	f := &facts{zone: zone, force: force, frozen: z.frozen.has(zone)}
	of := func(key delivery.Key) classFacts {
		known := classFacts{class: key.Class, report: z.reports.get(key)}
		if one := z.index.classByName(key.Class); one != nil {
			known.says, known.nameServers = saysOfItself(one), class.HasNameServers(&one.Spec)
		}
		return known
	}
	for _, name := range force.classes {
		f.classes = append(f.classes, of(delivery.Key{UID: string(zone.UID), Class: name}).at(z.classes.targetOf(name)))
	}
	for _, one := range z.index.deliveriesOf(string(zone.UID)) {
		if one.Status.FQDN != "" { // else nothing was begun
			f.remains = append(f.remains, of(keyOf(one)))
		}
	}
	return f
}

// tellLoop is level-triggered as the Loop is: only what is new is told.
func (z *zoneSync) tellLoop(m *zoneMemory, zone *v1alpha1.Zone, force inForce, taken []string, terminating bool) {
	uid, ended := string(zone.UID), zone.Status.FQDN == "" // or it never stood, and nothing is delivered (S3.2, S3.5)
	desired := delivery.Zone{
		UID: uid, Tenant: zone.Namespace, Classes: force.classes, Remove: zone.DeletionTimestamp != nil || ended,
		Retain: zone.Spec.DeletionPolicy == v1alpha1.DeletionPolicyRetain &&
			!ended, Paused: zone.Annotations[v1alpha1.AnnotationPaused] == "true",
	}
	if request := zone.Annotations[v1alpha1.AnnotationVerifyRequestedAt]; len(request) <= validation.MaxVerifyRequest {
		desired.Request = request
	}
	for _, one := range z.index.deliveriesOf(uid) {
		z.holdNames(one)
		key := keyOf(one)
		if !slices.Contains(desired.Classes, key.Class) {
			desired.Former = append(desired.Former, key.Class)
		}
		if desired.Remove && terminating && one.Status.Serial != 0 {
			// The namespace takes the Records before the Zone: what is removed is what was delivered.
			desired.Frozen = serial.Serial(one.Status.Serial)
		}
	}
	slices.Sort(desired.Former)
	of, _ := z.index.labelsOf(zone.Namespace)
	desired.Expelled = findExpelled(zone, force, desired.Former, z.index.classByName, of, taken)
	if m.told.Frozen != 0 && desired.Frozen != 0 {
		desired.Frozen = m.told.Frozen
	}
	if !reflect.DeepEqual(m.told, desired) {
		m.told = desired
		z.loop.SetZone(desired)
	}
}

// holdNames tells the Loop which names a Delivery has, if its Zone is there: one whose Zone is gone keeps no name. Of
// two the earlier has a name, as primaries see it (transferclass).
func (z *zoneSync) holdNames(one *v1alpha1.Delivery) {
	if state, err := stateOf(one); err == nil {
		z.loop.Hold(keyOf(one), one.CreationTimestamp.Time, string(one.UID), state)
	}
}

// forgetZone is for a Zone that is gone. Deliveries that hold nothing go with it: a server without a cluster has no
// garbage collector.
func (z *zoneSync) forgetZone(ctx context.Context, at cache.ObjectName, uid string) error {
	z.loop.RemoveZone(uid)
	for _, one := range z.index.deliveriesOf(uid) {
		z.loop.Hold(keyOf(one), time.Time{}, "", delivery.State{})
		if slices.Contains(one.Finalizers, v1alpha1.FinalizerDelivery) {
			continue
		}
		if err := z.store.removeUnheld(ctx, one); err != nil {
			return err
		}
	}
	ours := func(key delivery.Key) bool { return key.UID == uid }
	z.reports.forget(ours)
	z.store.forgetDeliveries(ours)
	z.stalls.forget(types.UID(uid))
	z.records.forgetZone(uid)
	z.dropMemory(at)
	return nil
}

// syncStatus writes the Ready of a Zone, and Stalled where that waits for a person.
func (z *zoneSync) syncStatus(ctx context.Context, m *zoneMemory, f *facts) error {
	var j judgement
	var ahead sighting
	zone := f.zone
	if zone.Status.Serial != 0 { // else the server says what it waits for
		if j = judgeZone(f); j == (judgement{}) {
			return nil
		}
		ahead = passSecondary(f, &j, m.asked)
		j.message = shortenText(j.message, maxZoneMessage)
	}
	waits := j.condition()
	if j.status == "" || j.reason == v1alpha1.ReasonNotDelegatedOrServable {
		waits = firstFalse(zone.Status.Conditions, v1alpha1.ConditionDelegated, v1alpha1.ConditionServable)
	}
	stalled := z.stalls.judgeStalled(task{zoneTask, zone.Namespace, zone.Name}, &zone.ObjectMeta, zone.Status.Conditions, waits)
	now := written{zone.ResourceVersion, j, stalled != nil}
	// A write from the object that the informer still has needs no other: its own event is on the way.
	if ahead.serial == 0 && (m.written == now || saysAlready(zone, j, stalled)) {
		return nil
	}
	of := zone.Status.Serial
	if ahead.serial != 0 {
		of = int64(ahead.serial) // The server goes past it, where S6.11 lets it.
	}
	err := z.status.writeZone(ctx, readyPatch{of: zone.ObjectMeta, serial: of, before: zone.Status.Conditions, judgement: j,
		stalled: stalled})
	if err != nil {
		return err
	}
	if m.written = now; ahead.serial != 0 {
		m.asked = ahead
	}
	return nil
}

// saysAlready reports whether a Zone says a judgement already. Programs such as kubectl wait take what speaks of an
// older generation for old.
func saysAlready(zone *v1alpha1.Zone, j judgement, stalled *metav1.Condition) bool {
	if !sameStall(zone.Status.Conditions, stalled) {
		return false
	}
	if j.status == "" {
		return true
	}
	before := readyOf(zone.Status.Conditions)
	return before != nil && before.Status == j.status && before.Reason == j.reason &&
		(before.Message == j.message && before.ObservedGeneration == zone.Generation || j.reason == v1alpha1.ReasonPending)
}
