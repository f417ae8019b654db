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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/ready"
)

type zoneSync struct {
	*shared
	reports *reports
	frozen  *ready.FrozenZones
	classes *classSync

	mu     sync.Mutex
	memory map[cache.ObjectName]*zoneMemory
}

// zoneMemory has the last outcome of a zone's sync, so that the next sync writes only changes. It needs no lock,
// because the queue gives a zone to one worker at a time.
type zoneMemory struct {
	// desired was last passed to the Loop.
	desired delivery.Zone
	// progress has the serials that classes had confirmed at the last sync.
	progress  *ready.Progress
	lastWrite readyWrite // of the condition Ready
	// askedSighting is the secondary's answer last passed to the API server.
	askedSighting sighting
}

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

func (z *zoneSync) syncZone(ctx context.Context, namespace, name string) error {
	at := cache.NewObjectName(namespace, name)
	zone := z.index.ZoneByName(namespace, name)

	// Another Zone may have had the name.
	if before := z.memoryOf(at).desired.UID; before != "" && (zone == nil || before != string(zone.UID)) {
		if err := z.forgetZone(ctx, at, before); err != nil {
			return err
		}
	}
	if zone == nil {
		z.dropMemory(at)
		return nil
	}

	// The Loop must know the classes before the zone.
	m := z.memoryOf(at)
	_, terminating := z.index.LabelsOf(namespace)
	force, taken := z.index.InForce(zone)
	for _, name := range force.Classes {
		if z.index.ClassByName(name) == nil {
			z.classes.setMissing(name)
		}
	}
	z.enqueueClusters(zone)

	z.setDesired(m, zone, force, taken, terminating)
	var err error
	if zone.DeletionTimestamp != nil {
		err = z.store.releaseZone(ctx, zone)
	}
	return errors.Join(err, z.syncStatus(ctx, m, z.readFacts(zone, force)))
}

func (z *zoneSync) enqueueClusters(zone *v1alpha1.Zone) {
	refs := zone.Spec.DNSClassRefs
	for _, one := range z.index.DeliveriesByUID(string(zone.UID)) {
		refs = append(refs[:len(refs):len(refs)], one.Spec.ClassRef)
	}
	for _, ref := range refs {
		if ref.Kind == v1alpha1.KindBind9Cluster {
			z.classes.enqueueCluster(class.NameOf(zone.Namespace, ref))
		}
	}
}

func (z *zoneSync) readFacts(zone *v1alpha1.Zone, force ready.InForce) *ready.Facts {
	return z.index.FactsOf(zone, force, z.frozen.Has(zone), z.reports.get, z.classes.targetOf)
}

func (z *zoneSync) setDesired(m *zoneMemory, zone *v1alpha1.Zone, force ready.InForce, taken []string, terminating bool) {
	uid, ended := string(zone.UID), zone.Status.FQDN == "" // or never in force (S3.2, S3.5)
	desired := delivery.Zone{
		UID: uid, Tenant: zone.Namespace, Classes: force.Classes, Remove: zone.DeletionTimestamp != nil || ended,
		Retain: zone.Spec.DeletionPolicy == v1alpha1.DeletionPolicyRetain &&
			!ended, Paused: zone.Annotations[v1alpha1.AnnotationPaused] == "true",
	}
	if request := zone.Annotations[v1alpha1.AnnotationVerifyRequestedAt]; len(request) <= validation.MaxVerifyRequest {
		desired.Request = request
	}
	for _, one := range z.index.DeliveriesByUID(uid) {
		z.holdNames(one)
		key := ready.KeyOf(one)
		if !slices.Contains(desired.Classes, key.Class) {
			desired.FormerClasses = append(desired.FormerClasses, key.Class)
		}
		if desired.Remove && terminating && one.Status.Serial != 0 {
			// A terminating namespace deletes the Records before the Zone. Remove the content as delivered.
			desired.FrozenSerial = serial.Serial(one.Status.Serial)
		}
	}
	slices.Sort(desired.FormerClasses)
	desired.ExpelledClasses = z.index.ExpelledClasses(zone, force, desired.FormerClasses, taken)
	if m.desired.FrozenSerial != 0 && desired.FrozenSerial != 0 {
		desired.FrozenSerial = m.desired.FrozenSerial
	}
	if !reflect.DeepEqual(m.desired, desired) {
		m.desired = desired
		z.loop.SetZone(desired)
	}
}

func (z *zoneSync) holdNames(one *v1alpha1.Delivery) {
	if state, err := ready.StateOf(one); err == nil {
		z.loop.Hold(ready.KeyOf(one), one.CreationTimestamp.Time, string(one.UID), state)
	}
}

// forgetZone also deletes the Deliveries without finalizer, because standalone nothing else would.
func (z *zoneSync) forgetZone(ctx context.Context, at cache.ObjectName, uid string) error {
	z.loop.RemoveZone(uid)
	for _, one := range z.index.DeliveriesByUID(uid) {
		z.loop.Hold(ready.KeyOf(one), time.Time{}, "", delivery.State{})
		if slices.Contains(one.Finalizers, v1alpha1.FinalizerDelivery) {
			continue
		}
		if err := z.store.removeUnheld(ctx, one); err != nil {
			return err
		}
	}
	ofZone := func(key delivery.Key) bool { return key.UID == uid }
	z.reports.forget(ofZone)
	z.store.forgetDeliveries(ofZone)
	z.stalls.Forget(types.UID(uid))
	z.dropMemory(at)
	return nil
}

func (z *zoneSync) syncStatus(ctx context.Context, m *zoneMemory, f *ready.Facts) error {
	// 1. Judge Ready.
	var j ready.Judgement
	var ahead sighting
	zone := f.Zone
	if zone.Status.Serial != 0 { // the API server's conditions have the reason otherwise
		progress := ready.ProgressOf(f)
		f.LastChange, m.progress = progress.Follow(m.progress), progress
		if j = ready.JudgeZone(f); j == (ready.Judgement{}) {
			return nil
		}
		ahead = passSecondary(f, &j, m.askedSighting)
		j.Message = ready.Shorten(j.Message, ready.MaxZoneMessage)
	}
	if j.Reason == v1alpha1.ReasonPending {
		z.queue.AddAfter(task{zoneTask, zone.Namespace, zone.Name}, ready.AwaitAfter)
	}
	// 2. Judge Stalled.
	waits := j.AsCondition()
	if j.Status == "" || j.Reason == v1alpha1.ReasonNotDelegatedOrServable {
		waits = ready.FirstFalse(zone.Status.Conditions, v1alpha1.ConditionDelegated, v1alpha1.ConditionServable)
	}
	stalled := z.judgeStalled(task{zoneTask, zone.Namespace, zone.Name}, &zone.ObjectMeta, zone.Status.Conditions, waits)
	now := readyWrite{zone.ResourceVersion, j, stalled != nil}
	// The last write was of this version of the object, and its event is still to come.
	if ahead.serial == 0 && (m.lastWrite == now || hasJudgement(zone, j, stalled)) {
		return nil
	}
	// 3. Write both.
	written := zone.Status.Serial
	if ahead.serial != 0 {
		written = int64(ahead.serial) // the API server raises the zone's serial past it, if S6.11 allows
	}
	err := z.status.writeZone(ctx, readyPatch{object: zone.ObjectMeta, serial: written, conditions: zone.Status.Conditions, judgement: j,
		stalled: stalled})
	if err != nil {
		return err
	}
	// 4. Report in Events.
	before := ready.StalledOf(zone.Status.Conditions)
	// The cached Zone may still be stalled.
	ended := before != nil && stalled == nil && (m.lastWrite == readyWrite{} || m.lastWrite.stalled)
	if m.lastWrite = now; ahead.serial != 0 {
		m.askedSighting = ahead
	}
	if stalled != nil && before == nil && ready.IsCause(j.AsCondition()) {
		z.events.announceZone(zone, corev1.EventTypeWarning, j.Reason, "%s", j.Message)
	}
	if ended && ready.HasEvent(before.Reason) {
		z.events.announceZone(zone, corev1.EventTypeNormal, before.Reason, "this is over")
	}
	return nil
}

func hasJudgement(zone *v1alpha1.Zone, j ready.Judgement, stalled *metav1.Condition) bool {
	if !ready.SameStall(zone.Status.Conditions, stalled) {
		return false
	}
	if j.Status == "" {
		return true
	}
	before := ready.ReadyOf(zone.Status.Conditions)
	return before != nil && before.Status == j.Status && before.Reason == j.Reason && (j.Reason == v1alpha1.ReasonPending ||
		before.Message == j.Message && (before.ObservedGeneration == zone.Generation || ready.IsCause(before)))
}
