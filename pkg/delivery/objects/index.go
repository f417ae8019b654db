// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
)

const (
	byUID = "uid"
	// byClass indexes Deliveries by class, and Zones by the Bind9Clusters in their spec.
	byClass = "class"
	// byFQDN indexes Zones with a serial. A pending zone has no name.
	byFQDN = "fqdn"
)

func indexBy[T any](value func(*T) string) cache.IndexFunc {
	return func(object any) ([]string, error) {
		if of := value(object.(*T)); of != "" {
			return []string{of}, nil
		}
		return nil, nil
	}
}

func trimObject(object any) (any, error) {
	if of, ok := object.(metav1.Object); ok {
		of.SetManagedFields(nil)
	}
	return object, nil
}

// trimZone drops unused data, because a spec may be long.
func trimZone(object any) (any, error) {
	if zone, ok := object.(*v1alpha1.Zone); ok {
		zone.ManagedFields = nil
		// kubectl apply repeats the whole spec in an annotation. Only the three annotations read by deliveries stay.
		maps.DeleteFunc(zone.Annotations, func(key, _ string) bool {
			return key != v1alpha1.AnnotationPaused && key != v1alpha1.AnnotationAcceptSerial && key != v1alpha1.AnnotationVerifyRequestedAt
		})
		zone.Spec = v1alpha1.ZoneSpec{DNSClassRefs: zone.Spec.DNSClassRefs, DeletionPolicy: zone.Spec.DeletionPolicy,
			DNSSEC: zone.Spec.DNSSEC}
	}
	return object, nil
}

func KeyOf(one *v1alpha1.Delivery) delivery.Key {
	return delivery.Key{UID: string(one.Spec.Zone.UID), Class: class.NameOf(one.Namespace, one.Spec.ClassRef)}
}

// Index finds the Deliveries and classes of a zone in informers' caches. Do not modify the returned objects.
type Index struct {
	Zones, Deliveries, Classes, Clusters cache.SharedIndexInformer
	// Namespaces is nil without a cluster. A namespace then has only its name as label.
	Namespaces coreinformers.NamespaceInformer

	// stop unregisters from Namespaces, an informer that outlives the index.
	stop func()
}

func (x *Index) Close() {
	if x.stop != nil {
		x.stop()
	}
}

// Prepare adds indexes. Call it before the start of the informers.
func (x *Index) Prepare() error {
	return errors.Join(
		x.Zones.SetTransform(trimZone), x.Deliveries.SetTransform(trimObject), x.Classes.SetTransform(trimObject),
		x.Zones.AddIndexers(cache.Indexers{
			byUID: indexBy(func(zone *v1alpha1.Zone) string { return string(zone.UID) }),
			// A Zone without a serial is pending: another Zone may have its name.
			byFQDN: indexBy(func(zone *v1alpha1.Zone) string {
				if zone.Status.Serial == 0 {
					return ""
				}
				return zone.Status.FQDN
			}),
			byClass: func(object any) (clusters []string, _ error) {
				zone := object.(*v1alpha1.Zone)
				for _, ref := range zone.Spec.DNSClassRefs {
					if ref.Kind == v1alpha1.KindBind9Cluster {
						clusters = append(clusters, class.NameOf(zone.Namespace, ref))
					}
				}
				return clusters, nil
			},
		}),
		x.Deliveries.AddIndexers(cache.Indexers{
			byUID:   indexBy(func(one *v1alpha1.Delivery) string { return string(one.Spec.Zone.UID) }),
			byClass: indexBy(func(one *v1alpha1.Delivery) string { return KeyOf(one).Class }),
		}),
	)
}

// Watch calls onChange for each change in an informer; before is nil for a new object, and after for a deleted one. The
// result reports whether the first list is done.
func Watch[T any](in cache.SharedIndexInformer, onChange func(before, after *T)) (cache.InformerSynced, error) {
	registration, err := registerHandler(in, onChange)
	if err != nil {
		return nil, err
	}
	return registration.HasSynced, nil
}

// registerHandler calls changed for each event of an informer. The registration can be removed from an informer with a
// longer life than the handler. After the informer's stop, registerHandler returns an error.
func registerHandler[T any](in cache.SharedIndexInformer, changed func(before, after *T)) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := in.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { changed(nil, object.(*T)) },
		UpdateFunc: func(before, after any) { changed(before.(*T), after.(*T)) },
		DeleteFunc: func(object any) {
			// The watch broke, and the deletion was found by the next list. gone has the last known object.
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if last, ok := object.(*T); ok {
				changed(last, nil)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("informers: %w", err)
	}
	return registration, nil
}

// differ reports whether an object came, went, or changed in the fields that same compares.
func differ[T any](before, after *T, same func(before, after *T) bool) bool {
	return before == nil || after == nil || !same(before, after)
}

// WatchZones calls enqueue for each zone whose condition Ready may change after a change of the zone, a class or the
// namespace. The functions in synced report whether the first lists are complete, except for Bind9Clusters, because
// zones are judged even without their APIService.
func (x *Index) WatchZones(enqueue func(*v1alpha1.Zone)) (synced []cache.InformerSynced, err error) {
	everyZone := func(*v1alpha1.Zone) bool { return true }

	zones, err := Watch(x.Zones, func(before, after *v1alpha1.Zone) {
		zone := cmp.Or(after, before)
		x.withViews(zone, enqueue)
		// A Zone with a new name frees the former name for zones of other views.
		if before != nil && before.Status.FQDN != zone.Status.FQDN {
			x.withViews(before, enqueue)
		}
	})

	classes, failed := Watch(x.Classes, func(before, after *v1alpha1.DNSClass) {
		// Most changes of a class, as of the status, concern no zone. For 10,000 zones, the check saves much work.
		if differ(before, after, SameForZones) {
			x.EachZone(everyZone, enqueue)
		}
	})
	err = errors.Join(err, failed)

	_, failed = Watch(x.Clusters, func(before, after *bind9.Bind9Cluster) {
		// A Bind9Cluster concerns zones naming the cluster, by existence alone.
		if differ(before, after, func(x, y *bind9.Bind9Cluster) bool { return x.DeletionTimestamp.Equal(y.DeletionTimestamp) }) {
			for _, zone := range x.ZonesByClass(class.OfCluster(cmp.Or(after, before)).Name) {
				x.withViews(zone, enqueue)
			}
		}
	})

	synced, err = []cache.InformerSynced{zones, classes}, errors.Join(err, failed)
	if x.Namespaces != nil {
		// Labels of a namespace decide on the classes for its zones.
		informer := x.Namespaces.Informer()
		namespaces, failed := registerHandler(informer, func(before, after *corev1.Namespace) {
			if differ(before, after, func(x, y *corev1.Namespace) bool {
				return labels.Equals(x.Labels, y.Labels) && x.DeletionTimestamp.Equal(y.DeletionTimestamp)
			}) {
				x.EachZone(func(zone *v1alpha1.Zone) bool { return zone.Namespace == cmp.Or(after, before).Name }, enqueue)
			}
		})
		if failed != nil {
			return nil, failed
		}
		x.stop = func() { _ = informer.RemoveEventHandler(namespaces) }
		synced = append(synced, namespaces.HasSynced)
	}
	return synced, err
}

// withViews calls visit for a zone. For a zone in the default view, withViews also visits zones of the same name in
// other views, because their classes depend on that zone's.
func (x *Index) withViews(zone *v1alpha1.Zone, visit func(*v1alpha1.Zone)) {
	visit(zone)
	if zone.Status.View != "" || zone.Status.FQDN == "" {
		return
	}
	for _, other := range x.zonesByFQDN(zone.Status.FQDN) {
		if other.Status.View != "" {
			visit(other)
		}
	}
}

func (x *Index) EachZone(selects func(*v1alpha1.Zone) bool, visit func(*v1alpha1.Zone)) {
	for _, zone := range x.AllZones() {
		if selects(zone) {
			x.withViews(zone, visit)
		}
	}
}

// find returns the objects with a value in an index. An unknown index has no objects.
func find[T any](in cache.SharedIndexInformer, by, value string) []T {
	found, err := in.GetIndexer().ByIndex(by, value)
	if err != nil {
		return nil
	}
	return cast[T](found)
}

func cast[T any](objects []any) []T {
	all := make([]T, len(objects))
	for i, object := range objects {
		all[i] = object.(T)
	}
	return all
}

func get[T any](in cache.SharedIndexInformer, key string) (of T) {
	if object, ok, err := in.GetStore().GetByKey(key); err == nil && ok {
		of = object.(T)
	}
	return of
}

// ZoneByUID returns nil if absent, as do the other lookups.
func (x *Index) ZoneByUID(uid string) *v1alpha1.Zone {
	if found := find[*v1alpha1.Zone](x.Zones, byUID, uid); len(found) > 0 {
		return found[0]
	}
	return nil
}

func (x *Index) zonesByFQDN(fqdn string) []*v1alpha1.Zone {
	return find[*v1alpha1.Zone](x.Zones, byFQDN, fqdn)
}

func (x *Index) ZoneByName(namespace, name string) *v1alpha1.Zone {
	return get[*v1alpha1.Zone](x.Zones, namespace+"/"+name)
}

func (x *Index) AllZones() []*v1alpha1.Zone { return cast[*v1alpha1.Zone](x.Zones.GetStore().List()) }

func (x *Index) AllClasses() []*v1alpha1.DNSClass {
	return cast[*v1alpha1.DNSClass](x.Classes.GetStore().List())
}

func (x *Index) AllDeliveries() []*v1alpha1.Delivery {
	return cast[*v1alpha1.Delivery](x.Deliveries.GetStore().List())
}

// ClassByName returns a DNSClass, or nil. A name NAMESPACE/NAME is that of a Bind9Cluster, which a zone may name in
// place of a class. The cluster is converted to a DNSClass. Until clusters are listed, each counts as existing, so
// zones keep their classes.
func (x *Index) ClassByName(name string) *v1alpha1.DNSClass {
	namespace, cluster, ok := class.SplitCluster(name)
	if !ok {
		return get[*v1alpha1.DNSClass](x.Classes, name)
	}
	if !x.Clusters.HasSynced() {
		return class.OfCluster(&bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster}})
	}
	found := x.ClusterByName(name)
	if found == nil {
		return nil
	}
	return class.OfCluster(found)
}

func (x *Index) ClusterByName(name string) *bind9.Bind9Cluster {
	return get[*bind9.Bind9Cluster](x.Clusters, name)
}

func (x *Index) ZonesByClass(name string) []*v1alpha1.Zone {
	return find[*v1alpha1.Zone](x.Zones, byClass, name)
}

func (x *Index) DeliveriesByUID(uid string) []*v1alpha1.Delivery {
	return find[*v1alpha1.Delivery](x.Deliveries, byUID, uid)
}

func (x *Index) DeliveriesByClass(class string) []*v1alpha1.Delivery {
	return find[*v1alpha1.Delivery](x.Deliveries, byClass, class)
}

// LabelsOf returns the labels of a namespace, and whether the namespace is being deleted. Without a cluster, or for an
// unknown namespace, the only label is the name.
func (x *Index) LabelsOf(namespace string) (of map[string]string, terminating bool) {
	if x.Namespaces != nil {
		if known, err := x.Namespaces.Lister().Get(namespace); err == nil {
			return known.Labels, known.DeletionTimestamp != nil
		}
	}
	return map[string]string{class.LabelNamespaceName: namespace}, false
}

// InForce returns the classes in force, which must deliver a zone. A class delivers a single zone of a name, and
// prefers the default view's. So for a zone of another view, taken has the classes of the default view's zone of this
// name, and force excludes them.
func (x *Index) InForce(zone *v1alpha1.Zone) (force InForce, taken []string) {
	namespaceLabels, _ := x.LabelsOf(zone.Namespace)
	all := x.AllClasses()
	// Zone example.org. of view "internal" gives way to example.org. of the default view, class by class.
	if zone.Status.View != "" {
		for _, other := range x.zonesByFQDN(zone.Status.FQDN) {
			if other.Status.View == "" {
				labels, _ := x.LabelsOf(other.Namespace)
				taken = append(taken, ClassesInForce(other, labels, x.ClassByName, all, nil).Classes...)
			}
		}
	}
	return ClassesInForce(zone, namespaceLabels, x.ClassByName, all, taken), taken
}

func (x *Index) ExpelledClasses(zone *v1alpha1.Zone, force InForce, former, taken []string) []string {
	of, _ := x.LabelsOf(zone.Namespace)
	return FindExpelled(zone, force, former, x.ClassByName, of, taken)
}

func (x *Index) NamesClass(name string) bool {
	return len(x.ZonesByClass(name)) > 0 || len(x.DeliveriesByClass(name)) > 0
}

func NamesAnyCluster(zone *v1alpha1.Zone) bool {
	return slices.ContainsFunc(zone.Spec.DNSClassRefs,
		func(ref v1alpha1.DNSClassReference) bool { return ref.Kind == v1alpha1.KindBind9Cluster })
}
