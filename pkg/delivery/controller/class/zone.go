// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

type zoneSync struct {
	*shared
	refusals *refusals
	classes  *classSync

	mu sync.Mutex
	// desired has the zones last passed to the Loop.
	desired map[cache.ObjectName]delivery.Zone
}

func (z *zoneSync) desiredAt(at cache.ObjectName) delivery.Zone {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.desired[at]
}

// syncZone passes a Zone to the Loop, or its end. An error leads to a retry.
func (z *zoneSync) syncZone(ctx context.Context, namespace, name string) error {
	at := cache.NewObjectName(namespace, name)
	zone := z.index.ZoneByName(namespace, name)

	// Another Zone may have had the name.
	if before := z.desiredAt(at).UID; before != "" && (zone == nil || before != string(zone.UID)) {
		if err := z.forgetZone(ctx, at, before); err != nil {
			return err
		}
	}
	if zone == nil {
		return nil
	}

	// The Loop must know the classes before the zone.
	_, terminating := z.index.LabelsOf(namespace)
	force, taken := z.index.InForce(zone)
	for _, name := range force.Classes {
		if z.index.ClassByName(name) == nil {
			z.classes.setMissing(name)
		}
	}
	z.enqueueClusters(zone)

	z.setDesired(zone, force, taken, terminating)
	if zone.DeletionTimestamp != nil {
		return z.store.releaseZone(ctx, zone)
	}
	return nil
}

// enqueueClusters enqueues the Bind9Clusters that the zone or a Delivery of the zone names.
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

// setDesired passes the zone with its classes to the Loop, unless nothing changed. taken has the classes that deliver
// the default view's zone of this name; terminating is true if the namespace is being deleted.
func (z *zoneSync) setDesired(zone *v1alpha1.Zone, force objects.InForce, taken []string, terminating bool) {
	uid, ended := string(zone.UID), zone.Status.FQDN == "" // or never in force (S3.2, S3.5)
	desired := delivery.Zone{
		UID: uid, Tenant: zone.Namespace, Classes: force.Classes, Remove: zone.DeletionTimestamp != nil || ended,
		Retain: zone.Spec.DeletionPolicy == v1alpha1.DeletionPolicyRetain &&
			!ended, Paused: zone.Annotations[v1alpha1.AnnotationPaused] == "true",
	}
	// A longer value would not fit the Delivery's status.
	if request := zone.Annotations[v1alpha1.AnnotationVerifyRequestedAt]; len(request) <= validation.MaxVerifyRequest {
		desired.Request = request
	}
	for _, one := range z.index.DeliveriesByUID(uid) {
		// Another process may have written the Delivery: its name counts before this Loop begins with it.
		z.holdNames(one)
		key := objects.KeyOf(one)
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
	at := cache.NewObjectName(zone.Namespace, zone.Name)
	before := z.desiredAt(at)
	// The Deliveries advance in the meantime. The first serial seen has all Records.
	if before.FrozenSerial != 0 && desired.FrozenSerial != 0 {
		desired.FrozenSerial = before.FrozenSerial
	}
	if !reflect.DeepEqual(before, desired) {
		z.mu.Lock()
		z.desired[at] = desired
		z.mu.Unlock()
		z.loop.SetZone(desired)
	}
}

func (z *zoneSync) holdNames(one *v1alpha1.Delivery) {
	if state, err := objects.StateOf(one); err == nil {
		z.loop.Hold(objects.KeyOf(one), one.CreationTimestamp.Time, string(one.UID), state.Zone)
	}
}

// forgetZone also deletes the Deliveries without finalizer, because standalone nothing else would.
func (z *zoneSync) forgetZone(ctx context.Context, at cache.ObjectName, uid string) error {
	z.loop.RemoveZone(uid)
	for _, one := range z.index.DeliveriesByUID(uid) {
		z.loop.Hold(objects.KeyOf(one), time.Time{}, "", name.Name{})
		// Something is still at a server: the finalizer keeps the Delivery for a later worker.
		if slices.Contains(one.Finalizers, v1alpha1.FinalizerDelivery) {
			continue
		}
		if err := z.store.removeUnheld(ctx, one); err != nil {
			return err
		}
	}
	ofZone := func(key delivery.Key) bool { return key.UID == uid }
	z.refusals.forget(ofZone)
	z.store.forgetDeliveries(ofZone)
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.desired, at)
	return nil
}
