// Copyright The Kubizone Authors. SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/dns/name"
)

// dryRunManifests expects zones with parents first.
func (l *Loader) dryRunManifests(ctx context.Context, what string, zones, delegations, rest []*manifest) (Result, error) {
	var result Result
	left, err := l.listLeft(ctx, slices.Concat(zones, delegations, rest))
	if err != nil {
		return result, err
	}
	var records, others []*manifest
	for _, m := range rest {
		if m.isRecord() {
			records = append(records, m)
		} else {
			others = append(others, m)
		}
	}
	if records, result.Present = l.dropUnchanged(ctx, records); ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	if err := l.listZones(ctx, slices.Concat(zones, records)); err != nil {
		return result, err
	}
	verdicts := l.judgeOnce(slices.Concat(zones, delegations, records))
	// In order, because later objects depend on earlier ones.
	for _, m := range slices.Concat(zones, delegations, others) {
		one, err := l.dryRunObject(ctx, m, verdicts)
		if err != nil {
			return result, err
		}
		result.Add(one)
		result.Add(l.refuseOrDefer(m))
	}
	// Removals before Records, because they free names.
	for _, step := range []struct {
		of []*manifest
		do func(context.Context, *manifest) (Result, error)
	}{{left, l.dryRunRemoval}, {records, func(ctx context.Context, m *manifest) (Result, error) {
		return l.dryRunObject(ctx, m, verdicts)
	}}} {
		one, err := runWorkers(ctx, l, what, l.workers, [][][]*manifest{slices.Collect(slices.Chunk(step.of, 1))},
			func(ctx context.Context, one []*manifest) (Result, error) { return step.do(ctx, one[0]) })
		if result.Add(one); err != nil {
			return result, err
		}
	}
	for _, m := range records {
		if m.before != nil && specField(m.before, "type") != specField(m.object, "type") {
			l.priors.addRemoval(m.before, "")
		}
	}
	for _, m := range records {
		result.Add(l.refuseOrDefer(m))
	}
	return result, nil
}

// listLeft lists objects that match PruneSelector and have no manifest.
func (l *Loader) listLeft(ctx context.Context, wanted []*manifest) (left []*manifest, err error) {
	if l.cfg.PruneSelector == "" {
		return nil, nil
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
			return nil, err
		}
		list := func(namespace string) error {
			return EachItem(ctx, l.dynamic.Resource(mapping.Resource).Namespace(namespace).List,
				metav1.ListOptions{LabelSelector: l.cfg.PruneSelector}, func(o *unstructured.Unstructured) error {
					if !has[describeObject(o)] && o.GetDeletionTimestamp() == nil {
						left = append(left, &manifest{object: o, path: "--prune"})
						l.priors.addLeft(o)
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
			return nil, fmt.Errorf("--prune: %s objects with %s: %w", kind, l.cfg.PruneSelector, err)
		}
	}
	return left, nil
}

// fewRecords of a namespace are dry-run without a list, because the namespace may have many more.
const fewRecords = 8

// dropUnchanged returns the Records that need a dry run, and the number of Records whose spec equals the server's. If a
// namespace has few manifests, or the user may not list it, all need a dry run.
func (l *Loader) dropUnchanged(ctx context.Context, records []*manifest) (pending []*manifest, equal int) {
	for _, group := range groupBy(records, func(m *manifest) string { return m.object.GetNamespace() }) {
		live := make(map[string]any, len(group))
		if len(group) > fewRecords {
			for _, m := range group {
				live[m.object.GetName()] = nil
			}
			_ = l.eachRecord(ctx, group[0].object.GetNamespace(), "", func(r *v1alpha1.Record) {
				if _, wanted := live[r.Name]; wanted && r.DeletionTimestamp == nil {
					live[r.Name], _ = runtime.DefaultUnstructuredConverter.ToUnstructured(&r.Spec)
				}
			})
		}
		for _, m := range group {
			spec, _, _ := unstructured.NestedMap(m.object.Object, "spec")
			if spec != nil && spec["class"] == nil {
				spec["class"] = string(v1alpha1.ClassIN) // the server's default
			}
			if liveSpec, _ := live[m.object.GetName()].(map[string]any); liveSpec != nil && equality.Semantic.DeepEqual(liveSpec, spec) {
				equal++
			} else {
				pending = append(pending, m)
			}
		}
	}
	return pending, equal
}

// listZones reads the zones named by objects, or all if an object leaves its zone to the server.
func (l *Loader) listZones(ctx context.Context, wanted []*manifest) error {
	l.priors.liveZones = make(map[types.NamespacedName]prior)
	add := func(z *v1alpha1.Zone) error {
		if fqdn, err := name.Parse(z.Status.FQDN); err == nil {
			l.priors.liveZones[types.NamespacedName{Namespace: z.Namespace, Name: z.Name}] = prior{fqdn: fqdn, view: z.Status.View}
		}
		return nil
	}
	refs, all := make(map[types.NamespacedName]bool), false
	for _, m := range wanted {
		ref, found := zoneRefOf(m.object)
		refs[ref], all = true, all || !found
	}
	if all {
		err := EachItem(ctx, l.typed.KubizoneV1alpha1().Zones(metav1.NamespaceAll).List, metav1.ListOptions{}, add)
		if !apierrors.IsForbidden(err) {
			return err
		}
	}
	// An object without a zoneRef gives a namespace alone, and client-go refuses to get an object without a name.
	maps.DeleteFunc(refs, func(ref types.NamespacedName, _ bool) bool { return ref.Name == "" })
	for ref := range refs {
		switch z, err := l.typed.KubizoneV1alpha1().Zones(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{}); {
		case err == nil:
			_ = add(z)
		case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
			return fmt.Errorf("reading zone %s: %w", ref, err)
		}
	}
	return nil
}

func (l *Loader) zoneOf(o *unstructured.Unstructured) (zone types.NamespacedName, fqdn name.Name) {
	domainName, _, _ := unstructured.NestedString(o.Object, "spec", "domainName")
	if zone, found := zoneRefOf(o); found {
		if of := cmp.Or(l.priors.liveZones[zone].fqdn, l.priors.firstFor(zone, "").fqdn); !of.IsZero() {
			fqdn, _ = name.ParseIn(domainName, of)
		}
		return zone, fqdn
	}
	fqdn, err := name.Parse(domainName)
	if err != nil {
		return types.NamespacedName{}, name.Name{}
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

// judgeOnce returns a function with the reasons of Config.Judge against manifests, which it asks at the first call.
func (l *Loader) judgeOnce(all []*manifest) func() map[*manifest]string {
	return sync.OnceValue(func() map[*manifest]string {
		reasons := make(map[*manifest]string)
		if l.cfg.Judge == nil {
			return reasons
		}
		objects := make([]*unstructured.Unstructured, len(all))
		for i, m := range all {
			objects[i] = m.object
		}
		for i, reason := range l.cfg.Judge(objects) {
			reasons[all[i]] = reason
		}
		return reasons
	})
}

// dryRunObject dry-runs a manifest. The server may refuse an object for lack of an earlier object, which a dry run does
// not store. So m.refused keeps the refusal, and m.after the earlier object, for refuseOrDefer. If the earlier object
// is a new Zone, all rules are in the plan, and verdicts has the refusal.
func (l *Loader) dryRunObject(ctx context.Context, m *manifest, verdicts func() map[*manifest]string) (result Result, err error) {
	var zone types.NamespacedName
	var fqdn name.Name
	kind := m.object.GetKind()
	switch kind {
	case "Zone", "Record":
		zone, fqdn = l.zoneOf(m.object)
	case "Delegation":
		zone, _ = zoneRefOf(m.object)
	}
	earlier := l.priors.firstFor(zone, m.object.GetNamespace())
	if kind != "Delegation" || earlier.isNew {
		m.after, m.afterNew = earlier.object, earlier.isNew // rules add up, so a Delegation depends only on a new Zone
	}
	if m.afterNew && verdicts()[m] != "" {
		r := m.refusal(verdicts()[m], "")
		r.final = true
		m.refused = &r
		return Result{}, nil
	}

	written := subject{title: describeObject(m.object), resolvedWarnings: m.resolvedWarnings}
	if earlier.isNew {
		written.resolvedWarnings = withReasons(m.resolvedWarnings, waitReasons...)
	}
	result, m.refused, err = l.applyManifest(withSubject(ctx, written), m)
	if err != nil {
		return result, err
	}

	mayBeWritten := m.refused == nil || !m.refused.final && m.after != ""
	if mayBeWritten && result.Left == 0 {
		hasEffect := result.Written > 0 || m.refused != nil
		l.addPrior(m, zone, fqdn, hasEffect)
	}
	return result, nil
}

// addPrior notes a new Zone or changed rules, for later objects.
func (l *Loader) addPrior(m *manifest, zone types.NamespacedName, fqdn name.Name, hasEffect bool) {
	id := types.NamespacedName{Namespace: m.object.GetNamespace(), Name: m.object.GetName()}
	switch m.object.GetKind() {
	case "Zone":
		if m.before == nil {
			view, _, _ := unstructured.NestedString(m.object.Object, "spec", "view")
			earlier := l.priors.firstFor(zone, id.Namespace)
			l.priors.addNewZone(id, fqdn, cmp.Or(view, earlier.view))
			return
		}
		sameRules := m.answer != nil && equality.Semantic.DeepEqual(specField(m.before, "delegations"), specField(m.answer, "delegations"))
		if !sameRules {
			l.priors.add(id, prior{object: titleOf(m.object)})
		}
	case "Delegation":
		if !hasEffect {
			return
		}
		concerned := namesIn(m.object)
		if m.before != nil {
			concerned = append(concerned, namesIn(m.before)...)
		}
		l.priors.add(zone, prior{object: titleOf(m.object), namespaces: concerned})
	}
}

// refuseOrDefer reports a refusal, or shows the object as written after another object of the plan that may lift it.
func (l *Loader) refuseOrDefer(m *manifest) Result {
	if m.refused == nil {
		return Result{}
	}
	// A removal may free the name.
	if m.isRecord() && m.after == "" {
		_, fqdn := l.zoneOf(m.object)
		m.after = l.priors.removalNear(fqdn, m.object)
	}
	if m.refused.final || m.after == "" {
		l.reportRefused(*m.refused)
		return Result{Refused: 1}
	}
	m.undecided = !m.afterNew
	l.showManifest(m, m.before, m.object)
	if m.undecided {
		return Result{Undecided: 1}
	}
	return Result{Written: 1}
}

func specField(o *unstructured.Unstructured, field string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", field)
	return value
}

func (l *Loader) showManifest(m *manifest, before, after *unstructured.Unstructured) (changed bool) {
	if m.isRecord() {
		had, has := decodeObject[v1alpha1.Record](before), decodeObject[v1alpha1.Record](after)
		if has != nil && (had != nil || before == nil) {
			zone, fqdn := l.zoneOf(m.object)
			if has.Status.FQDN == "" && !fqdn.IsZero() {
				has.Status.FQDN = fqdn.String()
			}
			if by := has.Status.ZoneRef; by != nil {
				zone = types.NamespacedName{Namespace: by.Namespace, Name: by.Name}
			}
			return l.showRecord(true, had, has, zone, deferral{m.after, m.undecided})
		}
	}
	shown := Change{Op: "+", Text: objectLine(describeObject(m.object), after), After: m.after, Undecided: m.undecided}
	switch m.object.GetKind() {
	case "Zone":
		shown.Zone = m.object.GetNamespace() + "/" + m.object.GetName()
		shown.ZoneBefore, shown.ZoneAfter = decodeObject[v1alpha1.Zone](before), l.decodeZone(m, after)
	case "Delegation":
		of, _ := zoneRefOf(m.object)
		shown.Zone = of.String()
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

func (l *Loader) dryRunRemoval(ctx context.Context, m *manifest) (Result, error) {
	kind := m.object.GroupVersionKind()
	mapping, err := l.mapping.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return Result{}, err
	}
	warned := withSubject(ctx, subject{title: "removal of " + describeObject(m.object)})
	_, err = rrsets.Retry(warned, func() (struct{}, error) {
		objects := l.dynamic.Resource(mapping.Resource).Namespace(m.object.GetNamespace())
		return struct{}{}, objects.Delete(warned, m.object.GetName(), metav1.DeleteOptions{DryRun: l.dryRun()})
	})
	if reason, refused := refusalReason(err); refused {
		l.reportRefused(m.refusal("removal: "+reason, ""))
		return Result{Refused: 1}, nil
	} else if err != nil && !apierrors.IsNotFound(err) {
		return Result{}, fmt.Errorf("--prune: %s: %w", describeObject(m.object), err)
	}
	shown := Change{Op: "-", Zone: zoneIDOf(m.object).String(), Text: objectLine(describeObject(m.object), m.object)}
	switch kind.Kind {
	case "Record":
		if r := decodeObject[v1alpha1.Record](m.object); r != nil {
			var zone types.NamespacedName
			if by := r.Status.ZoneRef; by != nil {
				zone = types.NamespacedName{Namespace: by.Namespace, Name: by.Name}
			}
			l.showRecord(true, r, nil, zone, deferral{})
		}
		return Result{Removed: 1}, nil
	case "Zone":
		shown.ZoneBefore = decodeObject[v1alpha1.Zone](m.object)
	}
	l.showPlan(shown)
	return Result{Removed: 1}, nil
}
