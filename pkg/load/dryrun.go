// Copyright The Kubizone Authors. SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/rrsets"
)

// dryRunManifests needs zones sorted, parents first.
func (l *Loader) dryRunManifests(ctx context.Context, what string, zones, delegations, rest []*manifest) (Result, error) {
	var result Result
	left, err := l.listLeft(ctx, slices.Concat(zones, delegations, rest))
	if err != nil {
		return result, err
	}
	var records, others []*manifest
	for _, m := range rest {
		if m.object.GroupVersionKind() == v1alpha1.SchemeGroupVersion.WithKind("Record") {
			records = append(records, m)
		} else {
			others = append(others, m)
		}
	}
	if err := l.listZones(ctx, slices.Concat(zones, records)); err != nil {
		return result, err
	}
	for _, m := range slices.Concat(zones, delegations, others) {
		one, err := l.dryRunObject(ctx, m)
		if result.Add(one); err != nil {
			return result, err
		}
	}
	one, err := l.dryRunRemovals(ctx, left)
	if result.Add(one); err != nil {
		return result, err
	}
	one, err = l.dryRunRecords(ctx, what, records, left.records)
	result.Add(one)
	return result, err
}

type leftObjects struct {
	records []*v1alpha1.Record
	others  []*manifest
}

func (l *Loader) listLeft(ctx context.Context, wanted []*manifest) (left leftObjects, err error) {
	if l.cfg.PruneSelector == "" {
		return left, nil
	}
	has, in := make(map[string]bool), map[string]bool{l.cfg.Namespace: true}
	for _, m := range wanted {
		has[describeObject(m.object)] = true
		in[m.object.GetNamespace()] = true
	}
	delete(in, "")
	for _, kind := range []string{"Delegation", "Zone", "Record"} {
		gvk := v1alpha1.SchemeGroupVersion.WithKind(kind)
		mapping, err := l.mapping.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return left, err
		}
		list := func(namespace string) error {
			return EachItem(ctx, l.dynamic.Resource(mapping.Resource).Namespace(namespace).List,
				metav1.ListOptions{LabelSelector: l.cfg.PruneSelector}, func(o *unstructured.Unstructured) error {
					if has[describeObject(o)] || o.GetDeletionTimestamp() != nil {
						return nil
					}
					if kind != "Record" {
						left.others = append(left.others, &manifest{object: o, path: "--prune"})
						return nil
					}
					if r := decodeObject[v1alpha1.Record](o); r != nil {
						left.records = append(left.records, r)
						l.priors.addRemoval(r, "removal of ")
					}
					return nil
				})
		}
		err = list(metav1.NamespaceAll)
		if apierrors.IsForbidden(err) {
			for _, namespace := range slices.Sorted(maps.Keys(in)) {
				if err = list(namespace); err != nil {
					break
				}
			}
		}
		if err != nil {
			return left, fmt.Errorf("--prune: %s objects with %s: %w", kind, l.cfg.PruneSelector, err)
		}
	}
	return left, nil
}

func (l *Loader) listZones(ctx context.Context, wanted []*manifest) error {
	if !slices.ContainsFunc(wanted, func(m *manifest) bool {
		_, found, _ := unstructured.NestedMap(m.object.Object, "spec", "zoneRef")
		return !found
	}) {
		return nil
	}
	l.priors.liveZones = make(map[types.NamespacedName]prior)
	err := EachItem(ctx, l.typed.KubizoneV1alpha1().Zones(metav1.NamespaceAll).List, metav1.ListOptions{}, func(z *v1alpha1.Zone) error {
		if fqdn, err := name.Parse(z.Status.FQDN); err == nil {
			l.priors.liveZones[types.NamespacedName{Namespace: z.Namespace, Name: z.Name}] = prior{fqdn: fqdn, view: z.Status.View}
		}
		return nil
	})
	if apierrors.IsForbidden(err) {
		return nil // the answers to writes name their zones
	}
	return err
}

func (l *Loader) zoneOf(o *unstructured.Unstructured) (zone types.NamespacedName, fqdn name.Name) {
	domainName, _, _ := unstructured.NestedString(o.Object, "spec", "domainName")
	if target, _, _ := unstructured.NestedString(o.Object, "spec", "zoneRef", "name"); target != "" {
		namespace, _, _ := unstructured.NestedString(o.Object, "spec", "zoneRef", "namespace")
		zone = types.NamespacedName{Namespace: cmp.Or(namespace, o.GetNamespace()), Name: target}
		if of := cmp.Or(l.priors.liveZones[zone].fqdn, l.priors.firstFor(zone, "").fqdn); !of.IsZero() {
			fqdn, _ = name.ParseIn(domainName, of)
		}
		return zone, fqdn
	}
	fqdn, err := name.Parse(domainName)
	if err != nil {
		return zone, name.Name{}
	}
	view, _, _ := unstructured.NestedString(o.Object, "spec", "view")
	above := fqdn
	if o.GetKind() == "Zone" {
		up, ok := fqdn.Parent()
		if !ok {
			return zone, fqdn
		}
		above = up
	}
	return l.priors.findZone(above, view), fqdn
}

func (l *Loader) dryRunObject(ctx context.Context, m *manifest) (Result, error) {
	kind := m.object.GetKind()
	id := types.NamespacedName{Namespace: m.object.GetNamespace(), Name: m.object.GetName()}
	var fqdn name.Name
	var of types.NamespacedName
	switch kind {
	case "Zone", "Record":
		of, fqdn = l.zoneOf(m.object)
	case "Delegation":
		target, _, _ := unstructured.NestedString(m.object.Object, "spec", "zoneRef", "name")
		of = types.NamespacedName{Namespace: id.Namespace, Name: target}
	}
	above := l.priors.firstFor(of, id.Namespace)
	if kind != "Delegation" || above.isNew {
		m.after = above.object // rules add up, so none depends on another
	}
	written := subject{title: describeObject(m.object), resolvedWarnings: m.resolvedWarnings}
	if above.isNew {
		written.resolvedWarnings = withReasons(m.resolvedWarnings, waitReasons...)
	}
	ctx = withSubject(ctx, written)
	one, refused, err := l.applyManifest(ctx, m)
	if err != nil {
		return one, err
	}
	if refused != nil {
		one = l.refuseOrDefer(m, *refused, fqdn)
	}
	if one.Refused+one.Left > 0 {
		return one, nil
	}
	switch {
	case kind == "Zone" && m.before == nil:
		view, _, _ := unstructured.NestedString(m.object.Object, "spec", "view")
		l.priors.addNewZone(id, fqdn, cmp.Or(view, above.view))
	case kind == "Zone" && (m.answer == nil || !equality.Semantic.DeepEqual(specField(m.before, "delegations"),
		specField(m.answer, "delegations"))):
		l.priors.add(id, prior{object: titleOf(kind, m.object)})
	case kind == "Delegation" && one.Written > 0:
		concerned := namesIn(m.object)
		if m.before != nil {
			concerned = append(concerned, namesIn(m.before)...)
		}
		l.priors.add(of, prior{object: titleOf(kind, m.object), namespaces: concerned})
	}
	return one, nil
}

func (l *Loader) refuseOrDefer(m *manifest, refused Refusal, fqdn name.Name) Result {
	if !refused.final && m.after == "" && m.object.GetKind() == "Record" {
		m.after = l.priors.removalNear(fqdn, m.object)
	}
	if refused.final || m.after == "" {
		l.reportRefused(refused)
		return Result{Refused: 1}
	}
	l.showManifest(m, m.before, m.object)
	return Result{Written: 1}
}

func namesIn(o *unstructured.Unstructured) []string {
	names, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "namespaces")
	return names
}

func specField(o *unstructured.Unstructured, field string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", field)
	return value
}

func (l *Loader) showManifest(m *manifest, before, after *unstructured.Unstructured) (changed bool) {
	if m.object.GroupVersionKind() == v1alpha1.SchemeGroupVersion.WithKind("Record") {
		had, has := decodeObject[v1alpha1.Record](before), decodeObject[v1alpha1.Record](after)
		if has != nil && (had != nil || before == nil) {
			zone, fqdn := l.zoneOf(m.object)
			if has.Status.FQDN == "" && !fqdn.IsZero() {
				has.Status.FQDN = fqdn.String()
			}
			if by := has.Status.ZoneRef; by != nil {
				zone = types.NamespacedName{Namespace: by.Namespace, Name: by.Name}
			}
			return l.showRecord(m, had, has, zone, m.after)
		}
	}
	shown := Change{Op: "+", Text: objectLine(describeObject(m.object), after), After: m.after}
	switch m.object.GetKind() {
	case "Zone":
		shown.Zone = m.object.GetNamespace() + "/" + m.object.GetName()
		shown.ZoneBefore, shown.ZoneAfter = decodeObject[v1alpha1.Zone](before), l.decodeZone(m, after)
	case "Delegation":
		target, _, _ := unstructured.NestedString(m.object.Object, "spec", "zoneRef", "name")
		shown.Zone = m.object.GetNamespace() + "/" + target
	}
	if before != nil {
		change := objectChange(before, after)
		if change == "" {
			return false
		}
		shown.Op, shown.Text = "~", describeObject(m.object)+": "+change
	}
	l.showPlan(shown)
	return true
}

func decodeObject[T any](o *unstructured.Unstructured) *T {
	typed := new(T)
	if o == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed) != nil {
		return nil
	}
	return typed
}

func (l *Loader) decodeZone(m *manifest, o *unstructured.Unstructured) *v1alpha1.Zone {
	zone := decodeObject[v1alpha1.Zone](o)
	if above, fqdn := l.zoneOf(m.object); zone != nil && zone.Status.FQDN == "" && !fqdn.IsZero() && m.after != "" {
		zone.Status.FQDN, zone.Status.ParentRef = fqdn.String(), &v1alpha1.ZoneParent{Namespace: above.Namespace, Name: above.Name}
	}
	return zone
}

func (l *Loader) dryRunRemovals(ctx context.Context, left leftObjects) (Result, error) {
	var result Result
	for _, m := range left.others {
		kind := m.object.GroupVersionKind()
		mapping, err := l.mapping.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return result, err
		}
		warned := withSubject(ctx, subject{title: "removal of " + describeObject(m.object)})
		_, err = rrsets.Retry(warned, func() (struct{}, error) {
			objects := l.dynamic.Resource(mapping.Resource).Namespace(m.object.GetNamespace())
			return struct{}{}, objects.Delete(warned, m.object.GetName(), metav1.DeleteOptions{DryRun: l.dryRun()})
		})
		zone := types.NamespacedName{Namespace: m.object.GetNamespace(), Name: m.object.GetName()}
		var before *v1alpha1.Zone
		if kind.Kind == "Delegation" {
			zone.Name, _, _ = unstructured.NestedString(m.object.Object, "spec", "zoneRef", "name")
		} else {
			before = decodeObject[v1alpha1.Zone](m.object)
		}
		if reason, refused := refusalReason(err); refused {
			l.reportRefused(m.refusal("removal: "+reason, ""))
			result.Refused++
			continue
		} else if err != nil && !apierrors.IsNotFound(err) {
			return result, fmt.Errorf("--prune: %s: %w", describeObject(m.object), err)
		}
		l.showPlan(Change{Op: "-", Zone: zone.String(), Text: objectLine(describeObject(m.object), m.object), ZoneBefore: before})
		l.priors.add(zone, prior{object: "removal of " + titleOf(kind.Kind, m.object), namespaces: namesIn(m.object)})
		result.Removed++
	}
	return result, nil
}
