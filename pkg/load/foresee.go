// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

// A dry run of manifests is decided against what is there now: Zones, Delegations and other objects one by one, Records
// by change sets of one namespace and zone. What rests on another object of the same run is marked with it, since the
// server cannot be asked what it would say then.

const (
	// maxSets is how many change sets the server takes of one namespace at a time.
	maxSets = 4
	// maxSetOctets leaves room for the rest of a change set.
	maxSetOctets = v1alpha1.MaxChangeSetOctets - 8<<10
)

// prior is what a dry run would do to a zone, and what others rest on.
type prior struct {
	// object is what has to be applied before.
	object string
	// made says that the zone is not there yet. Then it has fqdn and view.
	made bool
	fqdn name.Name
	view string
	// namespaces are those that it concerns; empty: all.
	namespaces []string
}

// priors are those of a run.
type priors struct {
	// zones have theirs in the order in which they are applied.
	zones map[types.NamespacedName][]prior
	// removed are the Records that the run removes, by their names.
	removed map[name.Name]*v1alpha1.Record
	// live are the zones that there are.
	live map[types.NamespacedName]prior
}

func (p *priors) add(zone types.NamespacedName, of prior) {
	if p.zones == nil {
		p.zones = make(map[types.NamespacedName][]prior)
	}
	p.zones[zone] = append(p.zones[zone], of)
}

func (p *priors) addMade(zone types.NamespacedName, fqdn name.Name, view string) {
	p.add(zone, prior{object: "Zone " + zone.String(), made: true, fqdn: fqdn, view: view})
}

// first is what is to be applied first of what concerns a namespace in a zone; zero: nothing is.
func (p *priors) first(zone types.NamespacedName, namespace string) prior {
	for _, of := range p.zones[zone] {
		if len(of.namespaces) == 0 || slices.Contains(of.namespaces, namespace) {
			return of
		}
	}
	return prior{}
}

// findZone finds the nearest zone at or above a name.
func (p *priors) findZone(fqdn name.Name, view string) (zone types.NamespacedName) {
	longest := -1
	look := func(id types.NamespacedName, of prior) {
		if !of.fqdn.IsZero() && of.view == view && of.fqdn.Encloses(fqdn) && of.fqdn.NumLabels() > longest {
			zone, longest = id, of.fqdn.NumLabels()
		}
	}
	for id, of := range p.live {
		look(id, of)
	}
	for id, all := range p.zones {
		look(id, all[0])
	}
	return zone
}

// removedAt is the removal of a Record at, above or below a name; empty: there is none.
func (p *priors) removedAt(fqdn string) string {
	n, err := name.Parse(fqdn)
	if err != nil {
		return ""
	}
	for _, of := range slices.SortedFunc(maps.Keys(p.removed), name.Name.Compare) {
		if of.Encloses(n) || n.Encloses(of) {
			return "removal of " + titleOf("Record", p.removed[of])
		}
	}
	return ""
}

func titleOf(kind string, o metav1.Object) string {
	if o.GetNamespace() == "" {
		return kind + " " + o.GetName()
	}
	return kind + " " + o.GetNamespace() + "/" + o.GetName()
}

// foreseeManifests is the dry run of manifests. zones are sorted, parents first.
func (l *Loader) foreseeManifests(ctx context.Context, what string, zones, delegations, rest []*manifest) (Result, error) {
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
		one, err := l.foreseeObject(ctx, m)
		if result.Add(one); err != nil {
			return result, err
		}
	}
	one, err := l.foreseeRemovals(ctx, left)
	if result.Add(one); err != nil {
		return result, err
	}
	one, err = l.foreseeRecords(ctx, what, records, left.records)
	result.Add(one)
	return result, err
}

// leftObjects are those that manifests lack.
type leftObjects struct {
	records []*v1alpha1.Record
	others  []*manifest
}

// listLeft lists what Config.PruneSelector selects and the manifests lack, of all namespaces that may be read.
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
	l.priors.removed = make(map[name.Name]*v1alpha1.Record)
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
					r := &v1alpha1.Record{}
					if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, r); err != nil {
						return err
					}
					left.records = append(left.records, r)
					if n, err := name.Parse(r.Status.FQDN); err == nil {
						l.priors.removed[n] = r
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

// listZones lists the zones that there are, where an absolute name has to find its own.
func (l *Loader) listZones(ctx context.Context, wanted []*manifest) error {
	if !slices.ContainsFunc(wanted, func(m *manifest) bool {
		_, found, _ := unstructured.NestedMap(m.object.Object, "spec", "zoneRef")
		return !found
	}) {
		return nil
	}
	l.priors.live = make(map[types.NamespacedName]prior)
	err := EachItem(ctx, l.typed.KubizoneV1alpha1().Zones(metav1.NamespaceAll).List, metav1.ListOptions{}, func(z *v1alpha1.Zone) error {
		if fqdn, err := name.Parse(z.Status.FQDN); err == nil {
			l.priors.live[types.NamespacedName{Namespace: z.Namespace, Name: z.Name}] = prior{fqdn: fqdn, view: z.Status.View}
		}
		return nil
	})
	if apierrors.IsForbidden(err) {
		return nil // the answers to writes say in which zones they are
	}
	return err
}

// zoneOf is the zone in which a Zone or Record lies, and its name there, as far as is known.
func (l *Loader) zoneOf(o *unstructured.Unstructured) (zone types.NamespacedName, fqdn name.Name) {
	domainName, _, _ := unstructured.NestedString(o.Object, "spec", "domainName")
	if target, _, _ := unstructured.NestedString(o.Object, "spec", "zoneRef", "name"); target != "" {
		namespace, _, _ := unstructured.NestedString(o.Object, "spec", "zoneRef", "namespace")
		zone = types.NamespacedName{Namespace: cmp.Or(namespace, o.GetNamespace()), Name: target}
		if of := cmp.Or(l.priors.live[zone].fqdn, l.priors.first(zone, "").fqdn); !of.IsZero() {
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

// foreseeObject decides one object, and notes what others of the run rest on.
func (l *Loader) foreseeObject(ctx context.Context, m *manifest) (Result, error) {
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
	above := l.priors.first(of, id.Namespace)
	if kind != "Delegation" || above.made {
		m.after = above.object // rules add up, so one does not rest on the others
	}
	ctx = context.WithValue(ctx, warnedKey{}, func(text string) string { return describeObject(m.object) + ": " + text })
	if above.made { // the server says of each that there is no zone
		ctx = context.WithValue(ctx, needlessKey{}, func(text string) bool { return !strings.Contains(text, "(S5.") })
	}
	one, refused, err := l.applyManifest(ctx, m)
	if err != nil {
		return one, err
	}
	if refused != nil {
		one = l.refuseOrDefer(m, *refused)
	}
	if refused != nil && m.after == "" {
		return one, nil
	}
	switch {
	case kind == "Zone" && m.before == nil:
		view, _, _ := unstructured.NestedString(m.object.Object, "spec", "view")
		l.priors.addMade(id, fqdn, cmp.Or(view, above.view))
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

// refuseOrDefer reports a refusal, or that another object of the run decides about it.
func (l *Loader) refuseOrDefer(m *manifest, refused Refusal) Result {
	if m.after == "" || refused.final {
		l.reportRefused(refused)
		return Result{Refused: 1}
	}
	l.showManifest(m, m.before, m.object)
	return Result{Written: 1}
}

// namesIn are the namespaces that a Delegation is for.
func namesIn(o *unstructured.Unstructured) []string {
	names, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "namespaces")
	return names
}

func specField(o *unstructured.Unstructured, field string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", field)
	return value
}

// showManifest shows what becomes of an object; before is nil for a new one. It reports whether anything does.
func (l *Loader) showManifest(m *manifest, before, after *unstructured.Unstructured) (changed bool) {
	if m.object.GroupVersionKind() == v1alpha1.SchemeGroupVersion.WithKind("Record") {
		var had, has *v1alpha1.Record
		for _, one := range []struct {
			from *unstructured.Unstructured
			to   **v1alpha1.Record
		}{{before, &had}, {after, &has}} {
			if one.from == nil {
				continue
			}
			*one.to = &v1alpha1.Record{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(one.from.Object, *one.to); err != nil {
				*one.to = nil
			}
		}
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

// showRecord shows what becomes of a Record, of a manifest or not, nil where it is not there. It reports whether
// anything does.
func (l *Loader) showRecord(of *manifest, before, after *v1alpha1.Record, zone types.NamespacedName, prior string) (changed bool) {
	show := func(op string, r *v1alpha1.Record, text string) {
		c := changeOf(op, r, zone, text)
		if c.After = prior; of != nil || l.cfg.PruneSelector != "" {
			c.Object = describeName("record", r)
		}
		l.showPlan(c)
	}
	switch {
	case after == nil:
		show("-", before, recordLine(before))
	case before == nil:
		show("+", after, recordLine(after))
	case after.Spec.Type != before.Spec.Type || after.Status.FQDN != before.Status.FQDN:
		show("-", before, recordLine(before))
		show("+", after, recordLine(after))
	default:
		change := recordChange(&before.Spec, &after.Spec)
		if change == "" {
			return false
		}
		show("~", after, after.Status.FQDN+" "+after.Spec.Type+": "+change)
	}
	return true
}

func describeName(kind string, o metav1.Object) string {
	return strings.ToLower(kind) + " " + o.GetNamespace() + "/" + o.GetName()
}

// foreseeRemovals decides the removal of Delegations and Zones.
func (l *Loader) foreseeRemovals(ctx context.Context, left leftObjects) (Result, error) {
	var result Result
	for _, m := range left.others {
		kind := m.object.GroupVersionKind()
		mapping, err := l.mapping.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return result, err
		}
		warned := context.WithValue(ctx, warnedKey{}, func(text string) string {
			return "removal of " + describeObject(m.object) + ": " + text
		})
		_, err = retryTransient(warned, func() (struct{}, error) {
			objects := l.dynamic.Resource(mapping.Resource).Namespace(m.object.GetNamespace())
			return struct{}{}, objects.Delete(warned, m.object.GetName(), metav1.DeleteOptions{DryRun: l.dryRun()})
		})
		zone := types.NamespacedName{Namespace: m.object.GetNamespace(), Name: m.object.GetName()}
		if kind.Kind == "Delegation" {
			zone.Name, _, _ = unstructured.NestedString(m.object.Object, "spec", "zoneRef", "name")
		}
		if reason, refused := refusalReason(err); refused {
			l.reportRefused(m.refusal("removal: "+reason, ""))
			result.Refused++
			continue
		} else if err != nil && !apierrors.IsNotFound(err) {
			return result, fmt.Errorf("--prune: %s: %w", describeObject(m.object), err)
		}
		l.showPlan(Change{Op: "-", Zone: zone.String(), Text: objectLine(describeObject(m.object), m.object)})
		l.priors.add(zone, prior{object: "removal of " + titleOf(kind.Kind, m.object), namespaces: namesIn(m.object)})
		result.Removed++
	}
	return result, nil
}

// recordWrite is a write of a Record in a change set.
type recordWrite struct {
	// manifest is nil for a Record of a zone file, and for a removal, which has no after.
	manifest      *manifest
	before, after *v1alpha1.Record
	zone          types.NamespacedName
	as            applier
	// prior is the object that it rests on, and at where it comes from.
	prior string
	at    Refusal
	// needless tells which Warnings the rest of its file answers; nil: none.
	needless func(text string) bool
}

func (w *recordWrite) object() *v1alpha1.Record {
	if w.after != nil {
		return w.after
	}
	return w.before
}

func (w *recordWrite) makeItem() (v1alpha1.ChangeSetItem, error) {
	if w.after == nil {
		return v1alpha1.ChangeSetItem{Delete: &v1alpha1.ChangeSetDelete{Name: w.before.Name}}, nil
	}
	var raw []byte
	var err error
	if w.manifest != nil {
		raw, err = w.manifest.object.MarshalJSON()
	} else {
		var content map[string]any
		if content, err = AsWritten(w.after); err == nil {
			raw, err = json.Marshal(content)
		}
	}
	return v1alpha1.ChangeSetItem{Apply: &runtime.RawExtension{Raw: raw}}, err
}

// foreseeRecords decides Records: those of one namespace and zone together, and one by one those whose zone is not
// known or not there yet, or that no change set can write.
func (l *Loader) foreseeRecords(ctx context.Context, what string, manifests []*manifest, left []*v1alpha1.Record) (Result, error) {
	var result Result
	var writes, removals []*recordWrite
	var alone []*manifest
	existing, err := l.readExisting(ctx, manifests)
	if err != nil {
		return result, err
	}
	for _, m := range manifests {
		w := &recordWrite{manifest: m, before: existing[describeObject(m.object)]}
		var removes []string
		if w.after, removes, w.as, err = l.recordAfter(m.object, w.before); err != nil {
			alone = append(alone, m) // the server says what is wrong with it
			continue
		}
		if w.before != nil && equality.Semantic.DeepEqual(w.before.Spec, w.after.Spec) {
			result.Present++
			continue
		}
		w.zone, _ = l.zoneOf(m.object)
		if w.before != nil && w.before.Status.ZoneRef != nil {
			w.zone = types.NamespacedName{Namespace: w.before.Status.ZoneRef.Namespace, Name: w.before.Status.ZoneRef.Name}
		}
		above := l.priors.first(w.zone, m.object.GetNamespace())
		waits := m.object.GetAnnotations()[v1alpha1.AnnotationOnConflict] != "" // which no change set does (S2.14)
		if w.zone.Name == "" || above.made || waits || w.as.client && len(removes) > 0 {
			alone = append(alone, m)
			continue
		}
		w.prior, w.at = above.object, m.refusal("", "")
		writes = append(writes, w)
	}
	for _, r := range left {
		w := &recordWrite{before: r}
		if by := r.Status.ZoneRef; by != nil && len(r.Finalizers) == 0 {
			w.zone = types.NamespacedName{Namespace: by.Namespace, Name: by.Name}
			removals = append(removals, w)
		} else { // it is in no zone
			l.showRecord(nil, r, nil, w.zone, "")
			result.Removed++
		}
	}
	l.fillNames(ctx, writes)
	one, err := runWorkers(ctx, l, what, l.workers, slices.Collect(slices.Chunk(alone, 1)),
		func(ctx context.Context, one []*manifest) (Result, error) { return l.foreseeObject(ctx, one[0]) })
	if result.Add(one); err != nil {
		return result, err
	}
	// Clients apply before they remove, so an apply does not have what a removal frees.
	one, err = runWorkers(ctx, l, what, maxSets, slices.Concat(splitSets(writes), splitSets(removals)), l.foreseeSet)
	result.Add(one)
	return result, err
}

// readExisting reads the Records of manifests, by what describeObject says.
func (l *Loader) readExisting(ctx context.Context, manifests []*manifest) (map[string]*v1alpha1.Record, error) {
	out := make(map[string]*v1alpha1.Record)
	for _, group := range groupBy(manifests, func(m *manifest) string { return m.object.GetNamespace() }) {
		err := l.eachRecord(ctx, group[0].object.GetNamespace(), "", func(r *v1alpha1.Record) { out[describeName("record", r)] = r })
		if err != nil {
			return nil, fmt.Errorf("records in namespace %s: %w", group[0].object.GetNamespace(), err)
		}
	}
	return out, nil
}

// fillNames gives new Records the names that they get.
func (l *Loader) fillNames(ctx context.Context, writes []*recordWrite) {
	for _, w := range writes {
		if w.manifest == nil {
			continue
		}
		if _, known := l.priors.live[w.zone]; !known {
			if l.priors.live == nil {
				l.priors.live = make(map[types.NamespacedName]prior)
			}
			of := prior{}
			if z, err := l.typed.KubizoneV1alpha1().Zones(w.zone.Namespace).Get(ctx, w.zone.Name, metav1.GetOptions{}); err == nil {
				of.fqdn, _ = name.Parse(z.Status.FQDN)
				of.view = z.Status.View
			}
			l.priors.live[w.zone] = of
		}
		if _, fqdn := l.zoneOf(w.manifest.object); !fqdn.IsZero() {
			w.after.Status.FQDN = fqdn.String()
		}
	}
}

// splitSets makes change sets of one namespace, zone and manager, with all that is at one name in one of them, as far
// as it has room.
func splitSets(writes []*recordWrite) (sets [][]*recordWrite) {
	type place struct {
		namespace string
		zone      types.NamespacedName
	}
	type key struct {
		place
		as applier
	}
	in := func(w *recordWrite) place { return place{w.object().Namespace, w.zone} }
	slices.SortStableFunc(writes, func(a, b *recordWrite) int { return strings.Compare(a.object().Status.FQDN, b.object().Status.FQDN) })
	// A manager that applies what is there makes and removes the others, too.
	managers := make(map[place]applier)
	for _, w := range writes {
		if _, known := managers[in(w)]; w.before != nil && w.after != nil || !known && w.after != nil {
			managers[in(w)] = w.as
		}
	}
	for _, w := range writes {
		if w.after == nil || w.before == nil {
			w.as = managers[in(w)]
		}
	}
	for _, group := range groupBy(writes, func(w *recordWrite) key { return key{in(w), w.as} }) {
		var set []*recordWrite
		octets := 0
		for _, there := range groupBy(group, func(w *recordWrite) string { return w.object().Status.FQDN }) {
			size := 0
			for _, w := range there {
				if item, err := w.makeItem(); err == nil && item.Apply != nil {
					size += len(item.Apply.Raw)
				}
			}
			if len(set) > 0 && (len(set)+len(there) > v1alpha1.MaxChangeSetItems || octets+size > maxSetOctets) {
				sets, set, octets = append(sets, set), nil, 0
			}
			set, octets = append(set, there...), octets+size
		}
		sets = append(sets, set)
	}
	for i := 0; i < len(sets); i++ { // one name with more than that
		if most := v1alpha1.MaxChangeSetItems; len(sets[i]) > most {
			sets = append(sets, sets[i][most:])
			sets[i] = sets[i][:most]
		}
	}
	return sets
}

// inSet matches the item in a field of a refused change set, or at the beginning of a Warning, with its Record there.
var inSet = regexp.MustCompile(`^spec\.items\[(\d+)\](?: \([^()]*\): )?`)

// warnOfItems has the Warnings of a change set name the Record of their item, and drops needless ones.
func warnOfItems(ctx context.Context, writes []*recordWrite) context.Context {
	split := func(text string) (w *recordWrite, rest string) {
		if at := inSet.FindStringSubmatch(text); at != nil {
			if i, err := strconv.Atoi(at[1]); err == nil && i < len(writes) {
				return writes[i], strings.TrimPrefix(text, at[0])
			}
		}
		return nil, text
	}
	ctx = context.WithValue(ctx, needlessKey{}, func(text string) bool {
		w, rest := split(text)
		return w != nil && w.needless != nil && w.needless(rest)
	})
	return context.WithValue(ctx, warnedKey{}, func(text string) string {
		if w, rest := split(text); w != nil && w.manifest != nil {
			return describeName("record", w.object()) + ": " + rest
		} else {
			return rest
		}
	})
}

// foreseeSet decides a change set, and again without the items that are refused.
func (l *Loader) foreseeSet(ctx context.Context, writes []*recordWrite) (result Result, err error) {
	for len(writes) > 0 {
		set := &v1alpha1.ChangeSet{Spec: v1alpha1.ChangeSetSpec{FieldManager: writes[0].as.manager, Force: writes[0].as.force}}
		for _, w := range writes {
			item, err := w.makeItem()
			if err != nil {
				return result, err
			}
			set.Spec.Items = append(set.Spec.Items, item)
		}
		warned := warnOfItems(ctx, writes)
		made, err := retryTransient(warned, func() (*v1alpha1.ChangeSet, error) {
			return l.typed.KubizoneV1alpha1().ChangeSets(writes[0].object().Namespace).Create(warned, set, l.createOptions())
		})
		if err == nil {
			for i, item := range made.Status.Items {
				result.Add(l.showWrite(writes[i], item.Operation))
			}
			return result, nil
		}
		refused := refusedItems(err)
		if len(refused) == 0 {
			reason, ok := refusalReason(err)
			switch {
			case !ok:
				return result, fmt.Errorf("change set of namespace %s: %w", writes[0].object().Namespace, err)
			case len(writes) == 1:
				refused = map[int][]metav1.StatusCause{0: {{Message: reason}}}
			default: // it is refused as a whole: each says why
				for _, w := range writes {
					one, err := l.foreseeSet(ctx, []*recordWrite{w})
					if result.Add(one); err != nil {
						return result, err
					}
				}
				return result, nil
			}
		}
		var others []*recordWrite
		for i, w := range writes {
			if causes := refused[i]; causes != nil {
				result.Add(l.refuseWrite(w, causes))
			} else {
				others = append(others, w)
			}
		}
		writes = others
	}
	return result, nil
}

// refusedItems are the items that an answer refuses, and why.
func refusedItems(err error) map[int][]metav1.StatusCause {
	out := make(map[int][]metav1.StatusCause)
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || status.Status().Code < 400 || status.Status().Code >= 500 {
		return nil
	}
	for _, cause := range status.Status().Details.Causes {
		if at := inSet.FindStringSubmatch(cause.Field); at != nil {
			if i, err := strconv.Atoi(at[1]); err == nil {
				out[i] = append(out[i], cause)
			}
		}
	}
	return out
}

// showWrite shows what a change set does to a Record.
func (l *Loader) showWrite(w *recordWrite, operation string) Result {
	switch {
	case operation == v1alpha1.OperationDeleted:
		l.showRecord(w.manifest, w.before, nil, w.zone, "")
		return Result{Removed: 1}
	case operation == v1alpha1.OperationUnchanged || !l.showRecord(w.manifest, w.before, w.after, w.zone, w.prior):
		return Result{Present: 1}
	}
	return Result{Written: 1}
}

// refuseWrite reports the refusal of an item, or what else of the run decides about it.
func (l *Loader) refuseWrite(w *recordWrite, causes []metav1.StatusCause) Result {
	var reasons []string
	conflict, forbidden := false, false
	for _, cause := range causes {
		reasons = append(reasons, cause.Message)
		conflict = conflict || cause.Type == metav1.CauseTypeFieldManagerConflict
		forbidden = forbidden || cause.Type == metav1.CauseType(metav1.StatusReasonForbidden)
	}
	refusal := w.at
	refusal.Reason = strings.Join(reasons, ", ")
	if w.after == nil {
		refusal.Path, refusal.Text = "--prune", describeRecord(w.before)
		l.reportRefused(refusal)
		return Result{Refused: 1}
	}
	if conflict {
		l.reportLeftAsIs(refusal)
		return Result{Left: 1}
	}
	after := w.prior
	if after == "" || !forbidden {
		after = l.priors.removedAt(w.after.Status.FQDN)
	}
	if after == "" {
		l.reportRefused(refusal)
		return Result{Refused: max(len(refusal.Lines), 1)}
	}
	l.showRecord(w.manifest, w.before, w.after, w.zone, after)
	return Result{Written: 1}
}

// applier is the client that applies an object.
type applier struct {
	manager string
	// client says that the client works out what to change, as kubectl apply does without --server-side.
	client bool
	force  bool
}

// clientApplier stands for kubectl apply.
var clientApplier = applier{manager: "kubectl-client-side-apply", client: true, force: true}

// applierOf is the client that applied an object last, and kubectl apply where none did: it takes over what others
// wrote.
func (l *Loader) applierOf(before metav1.Object) applier {
	if !l.cfg.AsLastApplied {
		return applier{manager: l.cfg.FieldManager, force: l.cfg.ForceConflicts}
	}
	var last *metav1.ManagedFieldsEntry
	for _, entry := range before.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" && touchesSpec(entry.FieldsV1) &&
			(last == nil || last.Time.Before(entry.Time)) {
			last = &entry
		}
	}
	if last == nil {
		return clientApplier
	}
	return applier{manager: last.Manager, force: l.cfg.ForceConflicts}
}

// removedFields are the fields of the spec that an apply removes, since its last one had them and o does not.
func removedFields(o *unstructured.Unstructured, before metav1.Object, as applier) (removes []string) {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	had := make(map[string]any)
	if as.client {
		var last struct {
			Spec map[string]any `json:"spec"`
		}
		if json.Unmarshal([]byte(before.GetAnnotations()[lastAppliedAnnotation]), &last) == nil {
			had = last.Spec
		}
	} else {
		for _, own := range []bool{true, false} { // what others own as well stays
			for _, entry := range before.GetManagedFields() {
				var fields struct {
					Spec map[string]json.RawMessage `json:"f:spec"`
				}
				ours := entry.Manager == as.manager && entry.Operation == metav1.ManagedFieldsOperationApply
				if ours != own || entry.Subresource != "" || entry.FieldsV1 == nil ||
					json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
					continue
				}
				for field := range fields.Spec {
					if field = strings.TrimPrefix(field, "f:"); own {
						had[field] = nil
					} else {
						delete(had, field)
					}
				}
			}
		}
	}
	for _, field := range slices.Sorted(maps.Keys(had)) {
		if _, has := spec[field]; !has {
			removes = append(removes, field)
		}
	}
	return removes
}

// lastAppliedAnnotation has what kubectl apply applied last.
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// recordAfter is a Record as an apply of o leaves it, the fields of the spec that go by that, and the client that
// applies. The status is that of before.
func (l *Loader) recordAfter(o *unstructured.Unstructured, before *v1alpha1.Record) (*v1alpha1.Record, []string, applier, error) {
	as := applier{manager: l.cfg.FieldManager, force: l.cfg.ForceConflicts}
	want := o.DeepCopy()
	var removes []string
	if before != nil {
		as = l.applierOf(before)
		removes = removedFields(o, before, as)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
		if err != nil {
			return nil, nil, as, err
		}
		all, _, _ := unstructured.NestedMap(content, "spec")
		spec, _, _ := unstructured.NestedMap(o.Object, "spec")
		maps.Copy(all, spec)
		for _, field := range removes {
			delete(all, field)
		}
		if err := unstructured.SetNestedMap(want.Object, all, "spec"); err != nil {
			return nil, nil, as, err
		}
	}
	record := &v1alpha1.Record{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(want.Object, record, true); err != nil {
		return nil, nil, as, err
	}
	if before != nil {
		record.Status = before.Status
	}
	return record, removes, as, nil
}
