// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
)

// ReasonDNSClassNotFound of a condition Ready: a zone names a class that is not there.
const ReasonDNSClassNotFound delivery.Reason = "DNSClassNotFound"

// inForce is what delivers a zone.
type inForce struct {
	// classes as the Loop names them, sorted.
	classes []string
	// wrong is why a class that the zone names is not among them, or is but not there; nil for nothing.
	wrong *delivery.Error
}

// classesOf says which classes are in force for a zone: those that it names, else the default ones. One that does not
// exist is in force all the same: what it shall hold waits for it. One that is going, or is for other namespaces or
// views, is not, nor is one of those in taken: the zone of this name in the default view has it (S1.9).
func classesOf(zone *v1alpha1.Zone, of map[string]string, named func(string) *v1alpha1.DNSClass, all []*v1alpha1.DNSClass,
	taken []string) inForce {
	var force inForce
	fault := func(reason delivery.Reason, format string, args ...any) {
		if force.wrong == nil {
			force.wrong = delivery.Errorf(reason, format, args...)
		}
	}
	if len(zone.Spec.DNSClassRefs) == 0 {
		for _, one := range all {
			if !class.IsDefault(one) || one.DeletionTimestamp != nil || !class.Admits(one, zone.Namespace, of) ||
				!class.Delivers(one, zone.Status.View) {
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
		name := class.NameOf(zone.Namespace, ref)
		one := named(name)
		switch {
		case one == nil:
			force.classes = append(force.classes, name)
			fault(ReasonDNSClassNotFound, "there is no %s; make it, or name another one in spec.dnsClassRefs", describeClass(name))
		case one.DeletionTimestamp != nil:
			fault(ReasonDNSClassNotFound, "%s is being deleted; name another one in spec.dnsClassRefs", describeClass(name))
		case !class.Admits(one, zone.Namespace, of):
			fault(delivery.ReasonInvalidConfiguration, "DNSClass %s is not for namespace %s; its spec.namespaces says for which it is",
				ref.Name, zone.Namespace)
		case !class.Delivers(one, zone.Status.View):
			fault(delivery.ReasonInvalidConfiguration, "DNSClass %s does not deliver zones of view %q; "+
				"its spec.views says which it does, and none is the default view alone", ref.Name, zone.Status.View)
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
	return delivery.Errorf(delivery.ReasonConflict, "%s delivers the zone %s of the default view, and a class has one zone of a name; "+
		"name another class in spec.dnsClassRefs", describeClass(class), zone.Status.FQDN)
}

// findExpelled are the classes that a zone names, or has a delivery of, and that are not to have it any more: they are
// going, or are not for its namespace or view, or are taken. That does not wait for other classes that the zone's
// owner names.
func findExpelled(zone *v1alpha1.Zone, force inForce, former []string, named func(string) *v1alpha1.DNSClass, of map[string]string,
	taken []string) []string {
	var out []string
	for _, ref := range zone.Spec.DNSClassRefs {
		former = append(former[:len(former):len(former)], class.NameOf(zone.Namespace, ref))
	}
	for _, name := range former {
		one := named(name)
		mayHave := one != nil && one.DeletionTimestamp == nil && class.Admits(one, zone.Namespace, of) &&
			class.Delivers(one, zone.Status.View) && !slices.Contains(taken, name)
		if mayHave || slices.Contains(force.classes, name) {
			continue
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sameForZones reports whether nothing changed on which the classes in force and their faults depend.
func sameForZones(before, after *v1alpha1.DNSClass) bool {
	return class.IsDefault(before) == class.IsDefault(after) && (before.DeletionTimestamp == nil) == (after.DeletionTimestamp == nil) &&
		reflect.DeepEqual(before.Spec.Namespaces, after.Spec.Namespaces) && slices.Equal(before.Spec.Views, after.Spec.Views) &&
		saysOfItself(before) == saysOfItself(after)
}

// saysOfItself is why a class says that it cannot deliver, empty where it can.
func saysOfItself(of *v1alpha1.DNSClass) string {
	ready := meta.FindStatusCondition(of.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.ObservedGeneration != of.Generation {
		return ""
	}
	return ready.Reason
}

// describeClass is the kind of a class and its name in the API, as people read it.
func describeClass(name string) string {
	ref := class.RefOf(name)
	return string(ref.Kind) + " " + ref.Name
}
