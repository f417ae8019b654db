// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"errors"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
)

// Indexes of the informers.
const (
	// byUID is of Zones by their own UID, of Deliveries by their zone's, and of those Records by their zone's that
	// are not Ready.
	byUID = "uid"
	// byZone is of Records by their zone's UID.
	byZone = "zone"
	// byClass is of Deliveries by the name of their class, of Zones by those of the Bind9Clusters that they name.
	byClass = "class"
	// byFQDN is of Zones that have a serial: a pending one has no name (S3.2).
	byFQDN = "fqdn"
)

// indexBy is an index of objects by a value; those without one are not in it.
func indexBy[T any](value func(*T) string) cache.IndexFunc {
	return func(object any) ([]string, error) {
		if of := value(object.(*T)); of != "" {
			return []string{of}, nil
		}
		return nil, nil
	}
}

func zoneOf(record *v1alpha1.Record) string {
	if ref := record.Status.ZoneRef; ref != nil {
		return string(ref.UID)
	}
	return ""
}

// isPending reports whether a Record is part of a zone and not said to be delivered, or not in the present generation,
// as kubectl wait reads it.
func isPending(record *v1alpha1.Record) bool {
	if record.Status.ZoneRef == nil {
		return false
	}
	ready := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady)
	return ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration < record.Generation
}

// trimObject is what every object here can do without.
func trimObject(object any) (any, error) {
	if of, ok := object.(metav1.Object); ok {
		of.SetManagedFields(nil)
	}
	return object, nil
}

// trimZone leaves what classes, feeds and status need: a spec may be long.
func trimZone(object any) (any, error) {
	if zone, ok := object.(*v1alpha1.Zone); ok {
		zone.ManagedFields = nil
		maps.DeleteFunc(zone.Annotations, func(key, _ string) bool {
			return key != v1alpha1.AnnotationPaused && key != v1alpha1.AnnotationAcceptSerial && key != v1alpha1.AnnotationVerifyRequestedAt
		})
		zone.Spec = v1alpha1.ZoneSpec{DNSClassRefs: zone.Spec.DNSClassRefs, DeletionPolicy: zone.Spec.DeletionPolicy,
			DNSSEC: zone.Spec.DNSSEC}
	}
	return object, nil
}

// trimRecord leaves what says whether a Record is Ready: there may be millions.
func trimRecord(object any) (any, error) {
	record, ok := object.(*v1alpha1.Record)
	if !ok {
		return object, nil
	}
	small := &v1alpha1.Record{
		ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Name, UID: record.UID,
			ResourceVersion: record.ResourceVersion, Generation: record.Generation},
		Spec: v1alpha1.RecordSpec{Type: record.Spec.Type},
		Status: v1alpha1.RecordStatus{FQDN: record.Status.FQDN, ZoneRef: record.Status.ZoneRef, Serial: record.Status.Serial,
			LastDeliveryError: record.Status.LastDeliveryError},
	}
	for _, condition := range record.Status.Conditions {
		if condition.Type == v1alpha1.ConditionReady || condition.Type == v1alpha1.ConditionStalled ||
			condition.Type == v1alpha1.ConditionAdopted && condition.Status != metav1.ConditionTrue {
			small.Status.Conditions = append(small.Status.Conditions, condition)
		}
	}
	return small, nil
}

// keyOf is how the Loop names a delivery.
func keyOf(one *v1alpha1.Delivery) delivery.Key {
	return delivery.Key{UID: string(one.Spec.Zone.UID), Class: class.NameOf(one.Namespace, one.Spec.ClassRef)}
}

// index finds objects in the informers.
type index struct {
	zones, records, deliveries, classes, clusters cache.SharedIndexInformer
	// namespaces is nil without a cluster: a namespace has its name alone.
	namespaces coreinformers.NamespaceInformer
}

// newIndex prepares the informers, which the caller starts.
func newIndex(config *Config) (*index, error) {
	api := config.Informers.Kubizone().V1alpha1()
	x := &index{
		zones: api.Zones().Informer(), records: api.Records().Informer(), deliveries: api.Deliveries().Informer(),
		classes: api.DNSClasses().Informer(), clusters: config.Clusters.Informer(), namespaces: config.Namespaces,
	}
	return x, errors.Join(
		x.zones.SetTransform(trimZone), x.records.SetTransform(trimRecord), x.deliveries.SetTransform(trimObject),
		x.classes.SetTransform(trimObject),
		x.zones.AddIndexers(cache.Indexers{
			byUID: indexBy(func(zone *v1alpha1.Zone) string { return string(zone.UID) }),
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
		x.records.AddIndexers(cache.Indexers{byZone: indexBy(zoneOf), byUID: indexBy(func(record *v1alpha1.Record) string {
			if !isPending(record) {
				return ""
			}
			return zoneOf(record)
		})}),
		x.deliveries.AddIndexers(cache.Indexers{
			byUID:   indexBy(func(one *v1alpha1.Delivery) string { return string(one.Spec.Zone.UID) }),
			byClass: indexBy(func(one *v1alpha1.Delivery) string { return keyOf(one).Class }),
		}),
	)
}

// find are the objects of an informer that have a value in one of its indexes.
func find[T any](in cache.SharedIndexInformer, by, value string) []T {
	found, err := in.GetIndexer().ByIndex(by, value)
	if err != nil {
		return nil // the index is not one of newIndex
	}
	return cast[T](found)
}

// list are all objects of an informer.
func list[T any](in cache.SharedIndexInformer) []T { return cast[T](in.GetStore().List()) }

func cast[T any](objects []any) []T {
	all := make([]T, len(objects))
	for i, object := range objects {
		all[i] = object.(T)
	}
	return all
}

// get is one object by its name; the zero value where there is none.
func get[T any](in cache.SharedIndexInformer, key string) (of T) {
	if object, ok, err := in.GetStore().GetByKey(key); err == nil && ok {
		of = object.(T)
	}
	return of
}

func (x *index) zoneByUID(uid string) *v1alpha1.Zone {
	if found := find[*v1alpha1.Zone](x.zones, byUID, uid); len(found) > 0 {
		return found[0]
	}
	return nil
}

// zonesNamed are the zones of that name, of every view.
func (x *index) zonesNamed(fqdn string) []*v1alpha1.Zone {
	return find[*v1alpha1.Zone](x.zones, byFQDN, fqdn)
}

func (x *index) zoneByName(namespace, name string) *v1alpha1.Zone {
	return get[*v1alpha1.Zone](x.zones, namespace+"/"+name)
}

func (x *index) recordByName(namespace, name string) *v1alpha1.Record {
	return get[*v1alpha1.Record](x.records, namespace+"/"+name)
}

func (x *index) allClasses() []*v1alpha1.DNSClass { return list[*v1alpha1.DNSClass](x.classes) }

// classByName is a DNSClass, or the class that a Bind9Cluster is. While it is not known which clusters there are each
// is taken to be there, without a UID: its zones keep what they say of it.
func (x *index) classByName(name string) *v1alpha1.DNSClass {
	namespace, cluster, ok := class.SplitCluster(name)
	if !ok {
		return get[*v1alpha1.DNSClass](x.classes, name)
	}
	if !x.clusters.HasSynced() {
		return class.OfCluster(&bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster}})
	}
	of := x.clusterByName(name)
	if of == nil {
		return nil
	}
	return class.OfCluster(of)
}

// clusterByName is the Bind9Cluster that is the class of this name, nil where none is known.
func (x *index) clusterByName(name string) *bind9.Bind9Cluster {
	return get[*bind9.Bind9Cluster](x.clusters, name)
}

// namesCluster reports whether a zone names the Bind9Cluster that is the class of this name, or has been delivered by
// it.
func (x *index) namesCluster(name string) bool {
	return len(x.zonesNaming(name)) > 0 || len(x.deliveriesBy(name)) > 0
}

// zonesNaming are those that name the Bind9Cluster that is the class of this name.
func (x *index) zonesNaming(name string) []*v1alpha1.Zone {
	return find[*v1alpha1.Zone](x.zones, byClass, name)
}

// deliveriesOf are those of the zone with the UID.
func (x *index) deliveriesOf(uid string) []*v1alpha1.Delivery {
	return find[*v1alpha1.Delivery](x.deliveries, byUID, uid)
}

func (x *index) deliveriesBy(class string) []*v1alpha1.Delivery {
	return find[*v1alpha1.Delivery](x.deliveries, byClass, class)
}

// labelsOf are those of a namespace.
func (x *index) labelsOf(namespace string) (of map[string]string, terminating bool) {
	if x.namespaces != nil {
		if known, err := x.namespaces.Lister().Get(namespace); err == nil {
			return known.Labels, known.DeletionTimestamp != nil
		}
	}
	return map[string]string{class.LabelNamespaceName: namespace}, false
}
