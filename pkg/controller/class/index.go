// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

// Indexes of the informers.
const (
	// byUID is of Zones by their own UID, of Deliveries by their zone's, and of those Records by their zone's that
	// are not Ready.
	byUID = "uid"
	// byZone is of Records by their zone's UID.
	byZone  = "zone"
	byClass = "class"
	// byFQDN is of Zones that have a serial: a pending one has no name (S3.1).
	byFQDN = "fqdn"
)

func zoneFQDN(object any) ([]string, error) {
	if zone := object.(*v1alpha1.Zone); zone.Status.Serial != 0 {
		return []string{zone.Status.FQDN}, nil
	}
	return nil, nil
}

func zoneUID(object any) ([]string, error) { return []string{string(object.(*v1alpha1.Zone).UID)}, nil }

func deliveredZone(object any) ([]string, error) {
	return []string{string(object.(*v1alpha1.Delivery).Spec.Zone.UID)}, nil
}

func deliveringClass(object any) ([]string, error) {
	return []string{keyOf(object.(*v1alpha1.Delivery)).Class}, nil
}

func inZone(object any) ([]string, error) {
	if ref := object.(*v1alpha1.Record).Status.ZoneRef; ref != nil {
		return []string{string(ref.UID)}, nil
	}
	return nil, nil
}

func pendingInZone(object any) ([]string, error) {
	if record := object.(*v1alpha1.Record); isPending(record) {
		return []string{string(record.Status.ZoneRef.UID)}, nil
	}
	return nil, nil
}

// isPending: it is part of a zone and not said to be delivered, or not of the present generation, as kubectl wait
// looks at it.
func isPending(record *v1alpha1.Record) bool {
	if record.Status.ZoneRef == nil {
		return false
	}
	ready := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady)
	return ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration < record.Generation
}

// trim is what every object here can do without.
func trim(object any) (any, error) {
	if of, ok := object.(metav1.Object); ok {
		of.SetManagedFields(nil)
	}
	return object, nil
}

// trimZone leaves what classes, feeds and status look at: a spec may be long.
func trimZone(object any) (any, error) {
	if zone, ok := object.(*v1alpha1.Zone); ok {
		zone.ManagedFields = nil
		zone.Annotations = only(zone.Annotations, v1alpha1.AnnotationPaused, v1alpha1.AnnotationAcceptSerial, v1alpha1.AnnotationVerifyRequestedAt)
		zone.Spec = v1alpha1.ZoneSpec{DNSClassRefs: zone.Spec.DNSClassRefs, DeletionPolicy: zone.Spec.DeletionPolicy}
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
		ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Name, UID: record.UID, ResourceVersion: record.ResourceVersion, Generation: record.Generation},
		Spec:       v1alpha1.RecordSpec{Type: record.Spec.Type},
		Status:     v1alpha1.RecordStatus{FQDN: record.Status.FQDN, ZoneRef: record.Status.ZoneRef, Serial: record.Status.Serial, LastDeliveryError: record.Status.LastDeliveryError},
	}
	for _, condition := range record.Status.Conditions {
		if condition.Type == v1alpha1.ConditionReady || condition.Type == v1alpha1.ConditionStalled || condition.Type == v1alpha1.ConditionAdopted && condition.Status != metav1.ConditionTrue {
			small.Status.Conditions = append(small.Status.Conditions, condition)
		}
	}
	return small, nil
}

func only(annotations map[string]string, keys ...string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if value, ok := annotations[key]; ok {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

// keyOf is how the Loop names a delivery.
func keyOf(one *v1alpha1.Delivery) delivery.Key {
	return delivery.Key{UID: string(one.Spec.Zone.UID), Class: nameOf(one.Spec.ClassRef)}
}

// nameOf is how the Loop names a class. A DNSClass has its own name, which has no slash.
func nameOf(ref v1alpha1.DNSClassReference) string {
	if ref.Kind == "" || ref.Kind == v1alpha1.KindDNSClass {
		return ref.Name
	}
	return string(ref.Kind) + "/" + ref.Name
}

// refOf is the reverse of nameOf.
func refOf(name string) v1alpha1.DNSClassReference {
	if kind, of, ok := cutKind(name); ok {
		return v1alpha1.DNSClassReference{Kind: v1alpha1.ClassKind(kind), Name: of}
	}
	return v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: name}
}

func (c *Controller) zoneByUID(uid string) *v1alpha1.Zone {
	found, err := c.zones.GetIndexer().ByIndex(byUID, uid)
	if err != nil || len(found) == 0 {
		return nil
	}
	return found[0].(*v1alpha1.Zone)
}

// zonesNamed are the zones of that name, of every view.
func (c *Controller) zonesNamed(fqdn string) []*v1alpha1.Zone {
	found, err := c.zones.GetIndexer().ByIndex(byFQDN, fqdn)
	if err != nil {
		return nil
	}
	all := make([]*v1alpha1.Zone, len(found))
	for i := range found {
		all[i] = found[i].(*v1alpha1.Zone)
	}
	return all
}

func (c *Controller) zoneByName(namespace, name string) *v1alpha1.Zone {
	found, ok, err := c.zones.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !ok {
		return nil
	}
	return found.(*v1alpha1.Zone)
}

func (c *Controller) classByName(name string) *v1alpha1.DNSClass {
	found, ok, err := c.classes.GetStore().GetByKey(name)
	if err != nil || !ok {
		return nil
	}
	return found.(*v1alpha1.DNSClass)
}

func (c *Controller) deliveriesOf(uid string) []*v1alpha1.Delivery {
	found, err := c.deliveries.GetIndexer().ByIndex(byUID, uid)
	if err != nil {
		return nil
	}
	all := make([]*v1alpha1.Delivery, len(found))
	for i := range found {
		all[i] = found[i].(*v1alpha1.Delivery)
	}
	return all
}

// labelsOf are those of a namespace.
func (c *Controller) labelsOf(namespace string) (of map[string]string, terminating bool) {
	if c.config.Namespaces != nil {
		if known, err := c.config.Namespaces.Lister().Get(namespace); err == nil {
			return known.Labels, known.DeletionTimestamp != nil
		}
	}
	return map[string]string{class.LabelNamespaceName: namespace}, false
}
