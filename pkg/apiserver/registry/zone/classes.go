// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// checkReferences checks the classes that a Zone names, and warns of namespaces that do not exist. before is an empty
// Zone for a creation.
func (r *REST) checkReferences(ctx context.Context, zone, before *v1alpha1.Zone) error {
	if before.Name == "" {
		warnings := validation.BareZoneWarnings(zone)
		for _, reason := range slices.Sorted(maps.Keys(warnings)) {
			warning.AddWarning(ctx, reason, warnings[reason])
		}
	}
	r.config.WarnOfAbsent(ctx, listNamespaces(zone), listNamespaces(before))
	return r.checkClasses(ctx, zone, before)
}

// listNamespaces returns the namespaces of a Zone's rules, sorted, each once. A rule names them in namespace,
// namespaces, or both.
func listNamespaces(zone *v1alpha1.Zone) (names []string) {
	for i := range zone.Spec.Delegations {
		rule := &zone.Spec.Delegations[i]
		if rule.Namespace != "" {
			names = append(names, rule.Namespace)
		}
		names = append(names, rule.Namespaces...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkClasses checks only added classes, because a former class must not block other changes.
func (r *REST) checkClasses(ctx context.Context, zone, before *v1alpha1.Zone) error {
	if err := r.checkClassRefs(ctx, zone, before.Spec.DNSClassRefs); err != nil || !kind.SpecChanged(zone, before) {
		return err
	}
	return r.checkRetain(ctx, zone, before)
}

// checkRetain refuses deletionPolicy Retain if a class does not allow it (S8.4). A Zone that had such a class and
// Retain before keeps both, with a Warning: a later change of the class must not block other updates.
func (r *REST) checkRetain(ctx context.Context, zone, before *v1alpha1.Zone) error {
	if zone.Spec.DeletionPolicy != v1alpha1.DeletionPolicyRetain {
		return nil
	}
	// Find the classes that forbid Retain, and those of them that the stored Zone has already.
	withdrawing, err := r.config.ClassesWithoutRetain(ctx, zone)
	var existing []v1alpha1.DNSClassReference
	if err == nil && len(withdrawing) > 0 && before.Spec.DeletionPolicy == v1alpha1.DeletionPolicyRetain {
		existing, err = r.config.ClassesWithoutRetain(ctx, before)
	}
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("asking the classes of the zone for spec.allowRetain: %w", err))
	}
	for _, class := range withdrawing {
		if slices.Contains(existing, class) {
			warning.AddWarning(ctx, "", refusal.Warning("S8.4", fmt.Sprintf("spec.deletionPolicy: %s does not allow Retain, "+
				"so the zone is withdrawn from it as with Delete", describeClass(class))))
			continue
		}
		rule, next := "S8.4", "use Delete, or have a cluster admin set spec.allowRetain of that DNSClass"
		// A Bind9Cluster has no spec.allowRetain, so no admin can help (S11.30).
		if class.Kind == v1alpha1.KindBind9Cluster {
			rule, next = "S11.30", "use Delete"
		}
		return refusal.NewInvalid(v1alpha1.Kind("Zone"), zone.Name, field.ErrorList{refusal.Cite(rule, field.Invalid(
			field.NewPath("spec", "deletionPolicy"), zone.Spec.DeletionPolicy, fmt.Sprintf(
				"%s does not allow Retain, because retained data would mix with the next zone of the name: %s",
				describeClass(class), next)))})
	}
	return nil
}

func describeClass(ref v1alpha1.DNSClassReference) string {
	return fmt.Sprintf("%s %q", ref.Kind, ref.Name)
}

// checkClassRefs refuses an added class that does not deliver zones of the namespace or view. named has the classes of
// the stored Zone, which are not checked again.
func (r *REST) checkClassRefs(ctx context.Context, zone *v1alpha1.Zone, named []v1alpha1.DNSClassReference) error {
	for i, ref := range zone.Spec.DNSClassRefs {
		// The class may have been narrowed since, and other changes of the zone must pass.
		if slices.Contains(named, ref) {
			continue
		}
		if ref.Kind == v1alpha1.KindBind9Cluster {
			continue // delivers all views of its namespace
		}
		ofNamespace, ofView, err := r.config.Admits(ctx, ref.Name, zone.Namespace, zone.Spec.View)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("asking whether DNSClass %s is for namespace %s: %w", ref.Name, zone.Namespace,
				err))
		}
		if !ofNamespace {
			return apierrors.NewForbidden(v1alpha1.Resource("zones"), zone.Name, fmt.Errorf(
				"%s: DNSClass %q does not deliver zones of namespace %q; a cluster admin can add the namespace to spec.namespaces.names "+
					"of that DNSClass, or label it so that spec.namespaces.selector selects it",
				field.NewPath("spec", "dnsClassRefs").Index(i), ref.Name, zone.Namespace))
		}
		// A zone with a zoneRef and no view gets its view at the commit. Then the controller checks the class.
		if !ofView && (zone.Spec.View != "" || zone.Spec.ZoneRef == nil) {
			return refusal.ByRule("S1.9", apierrors.NewForbidden(v1alpha1.Resource("zones"), zone.Name, fmt.Errorf(
				"%s: DNSClass %q does not deliver zones of view %q (S1.9); a cluster admin can add the view to spec.views of that "+
					"DNSClass, where \"\" is the default view and \"*\" every view",
				field.NewPath("spec", "dnsClassRefs").Index(i), ref.Name, zone.Spec.View)))
		}
	}
	return nil
}

// setClassDefaults fills in ttl, and for a new Zone nameServers, from the zone's first class (S6.6). made is true for a
// creation. An update may clear nameServers, but never ttl.
func (r *REST) setClassDefaults(ctx context.Context, zone *v1alpha1.Zone, made bool) error {
	lacks := made && zone.Spec.NameServers == nil
	if zone.Spec.TTL != nil && !lacks {
		return nil
	}
	class, err := r.config.FirstClass(ctx, zone)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("asking the class of the zone for its defaults: %w", err))
	}
	if class == nil {
		class = &v1alpha1.DNSClass{}
	}
	if zone.Spec.TTL == nil {
		zone.Spec.TTL = ptr.To(ptr.Deref(class.Spec.DefaultTTL, v1alpha1.DefaultTTL))
	}
	if lacks {
		// The class is of the shared cache, and admission may modify the Zone.
		zone.Spec.NameServers = class.DeepCopy().Spec.NameServers
	}
	return nil
}

// completed keeps the stored ttl of a Zone if an update has none.
type completed struct {
	rest.UpdatedObjectInfo
	r *REST
}

// UpdatedObject keeps the stored ttl if the update has none, because a later change of the class must not change the
// TTL of all entries.
func (c completed) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj, err := c.UpdatedObjectInfo.UpdatedObject(ctx, old)
	if err != nil {
		return nil, err
	}
	if zone, ok := obj.(*v1alpha1.Zone); ok {
		before, ok := old.(*v1alpha1.Zone)
		if ok && zone.Spec.TTL == nil && before.Spec.TTL != nil {
			zone.Spec.TTL = ptr.To(*before.Spec.TTL)
		}
		// An apply of an absent Zone creates: old is empty and has no UID.
		err = c.r.setClassDefaults(ctx, zone, !ok || before.UID == "")
	}
	return obj, err
}
