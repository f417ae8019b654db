// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

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

const ReasonDNSClassNotFound delivery.Reason = "DNSClassNotFound"

type InForce struct {
	Classes []string
	// Fault is the error of a named class that is absent or not in force, or nil.
	Fault *delivery.Error
}

// ClassesInForce returns the classes that a zone names, else the default classes. An absent class is in force, so its
// zones wait. A class under deletion, for other namespaces or views, or in taken is not. The classes in taken already
// deliver the zone of this name in the default view.
func ClassesInForce(zone *v1alpha1.Zone, namespaceLabels map[string]string, classByName func(string) *v1alpha1.DNSClass,
	all []*v1alpha1.DNSClass, taken []string) InForce {
	var force InForce

	fault := func(reason delivery.Reason, format string, args ...any) {
		if force.Fault == nil {
			force.Fault = delivery.Errorf(reason, format, args...)
		}
	}

	// A zone that names no class: all default classes that admit its namespace and view.
	if len(zone.Spec.DNSClassRefs) == 0 {
		for _, one := range all {
			if !class.IsDefault(one) || !isOpenTo(one, zone, namespaceLabels) {
				continue
			}
			if slices.Contains(taken, one.Name) {
				force.Fault = cmp.Or(force.Fault, takenByDefault(zone, one.Name))
				continue
			}
			force.Classes = append(force.Classes, one.Name)
		}
	}

	// A zone that names classes: each must admit the zone, and an absent class counts.
	for _, ref := range zone.Spec.DNSClassRefs {
		name := class.NameOf(zone.Namespace, ref)
		one := classByName(name)
		switch {
		// The class may follow in the same kubectl apply. Until then the zone waits, and keeps its other classes.
		case one == nil:
			force.Classes = append(force.Classes, name)
			fault(ReasonDNSClassNotFound, "there is no %s; create it, or name another class in spec.dnsClassRefs", Describe(name))
		// A class under deletion gives its zones away, so no new zone may come.
		case one.DeletionTimestamp != nil:
			fault(ReasonDNSClassNotFound, "%s is being deleted; name another class in spec.dnsClassRefs", Describe(name))
		case !class.Admits(one, zone.Namespace, namespaceLabels):
			fault(delivery.ReasonInvalidConfiguration, "DNSClass %s does not deliver zones of namespace %s; its spec.namespaces selects "+
				"the namespaces",
				ref.Name, zone.Namespace)
		case !class.Delivers(one, zone.Status.View):
			fault(delivery.ReasonInvalidConfiguration, "DNSClass %s does not deliver zones of view %q; "+
				"its spec.views lists the views, or is absent for the default view alone", ref.Name, zone.Status.View)
		case slices.Contains(taken, name):
			force.Fault = cmp.Or(force.Fault, takenByDefault(zone, name))
		default:
			force.Classes = append(force.Classes, name)
		}
	}

	slices.Sort(force.Classes)
	return force
}

func takenByDefault(zone *v1alpha1.Zone, class string) *delivery.Error {
	return delivery.Errorf(delivery.ReasonConflict, "%s already delivers zone %s of the default view, and a class delivers one zone of "+
		"a name; name another class in spec.dnsClassRefs", Describe(class), zone.Status.FQDN)
}

// FindExpelled returns the classes that must release the zone without waiting until others have it. They are in the
// zone's spec or in former, but absent, under deletion, in taken (they deliver the default view's zone of this name),
// or not for the namespace or view.
func FindExpelled(zone *v1alpha1.Zone, force InForce, former []string, classByName func(string) *v1alpha1.DNSClass,
	namespaceLabels map[string]string, taken []string) []string {
	var expelled []string
	for _, ref := range zone.Spec.DNSClassRefs {
		// The capacity is cut, so the append does not write into the caller's array.
		former = append(former[:len(former):len(former)], class.NameOf(zone.Namespace, ref))
	}
	for _, name := range former {
		found := classByName(name)
		// A class no longer named by the zone may keep the zone until the new class has it.
		mayKeep := found != nil && isOpenTo(found, zone, namespaceLabels) && !slices.Contains(taken, name)
		if !mayKeep && !slices.Contains(force.Classes, name) {
			expelled = append(expelled, name)
		}
	}
	slices.Sort(expelled)
	return slices.Compact(expelled)
}

// isOpenTo reports whether a class may deliver the zone: the class is not under deletion, and for the zone's namespace
// and view.
func isOpenTo(one *v1alpha1.DNSClass, zone *v1alpha1.Zone, namespaceLabels map[string]string) bool {
	return one.DeletionTimestamp == nil && class.Admits(one, zone.Namespace, namespaceLabels) && class.Delivers(one, zone.Status.View)
}

// SameForZones reports whether a class's change leaves Ready of zones unchanged: the classes in force, and each fact of
// a class that Ready depends on.
func SameForZones(before, after *v1alpha1.DNSClass) bool {
	return class.IsDefault(before) == class.IsDefault(after) && before.Spec.Paused == after.Spec.Paused &&
		(before.DeletionTimestamp == nil) == (after.DeletionTimestamp == nil) &&
		reflect.DeepEqual(before.Spec.Namespaces, after.Spec.Namespaces) && slices.Equal(before.Spec.Views, after.Spec.Views) &&
		class.HasNameServers(&before.Spec) == class.HasNameServers(&after.Spec) &&
		class.NeedsPrimary(&before.Spec) == class.NeedsPrimary(&after.Spec) &&
		FaultOf(before) == FaultOf(after) && before.Status.Target == after.Status.Target
}

// FaultOf returns the reason of a class's Ready=False in the present generation; otherwise "".
func FaultOf(dnsClass *v1alpha1.DNSClass) string {
	ready := meta.FindStatusCondition(dnsClass.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.ObservedGeneration != dnsClass.Generation {
		return ""
	}
	return ready.Reason
}

func Describe(name string) string {
	ref := class.RefOf(name)
	return string(ref.Kind) + " " + ref.Name
}
