// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/refusal"
)

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
	// subject is that of a Record of a zone file.
	subject subject
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
// known or not there yet, and those that no change set writes as their client does.
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
		if w.after, w.as, err = l.recordAfter(m.object, w.before); err != nil {
			alone = append(alone, m) // the server says what is wrong with it
			continue
		}
		if w.before != nil && equality.Semantic.DeepEqual(w.before.Spec, w.after.Spec) {
			result.Present++
			continue
		}
		if w.before != nil && w.before.Spec.Type != w.after.Spec.Type {
			l.priors.addRemoved(w.before, "")
		}
		w.zone, _ = l.zoneOf(m.object)
		if w.before != nil && w.before.Status.ZoneRef != nil {
			w.zone = types.NamespacedName{Namespace: w.before.Status.ZoneRef.Namespace, Name: w.before.Status.ZoneRef.Name}
		}
		above := l.priors.first(w.zone, m.object.GetNamespace())
		waits := m.object.GetAnnotations()[v1alpha1.AnnotationOnConflict] != "" // which no change set does (S2.14)
		if w.zone.Name == "" || above.made || waits || w.as.client {
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
	one, err := runWorkers(ctx, l, what, l.workers, [][][]*manifest{slices.Collect(slices.Chunk(alone, 1))},
		func(ctx context.Context, one []*manifest) (Result, error) { return l.foreseeObject(ctx, one[0]) })
	if result.Add(one); err != nil {
		return result, err
	}
	// Clients apply before they remove, so an apply does not have what a removal frees.
	one, err = runWorkers(ctx, l, what, maxSets, [][][]*recordWrite{splitSets(writes), splitSets(removals)}, l.foreseeSet)
	result.Add(one)
	return result, err
}

// readExisting reads the Records of manifests, by what describeObject says.
func (l *Loader) readExisting(ctx context.Context, manifests []*manifest) (map[string]*v1alpha1.Record, error) {
	out := make(map[string]*v1alpha1.Record)
	for _, group := range groupBy(manifests, func(m *manifest) string { return m.object.GetNamespace() }) {
		if len(group) <= fewRecords {
			for _, m := range group {
				r, err := l.typed.KubizoneV1alpha1().Records(m.object.GetNamespace()).Get(ctx, m.object.GetName(), metav1.GetOptions{})
				if err == nil {
					out[describeName("record", r)] = r
				} else if !apierrors.IsNotFound(err) {
					return nil, fmt.Errorf("%s: %w", describeObject(m.object), err)
				}
			}
			continue
		}
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

// withItems returns the context of a change set: its Warnings name the Records of their items.
func withItems(ctx context.Context, writes []*recordWrite) context.Context {
	set := subject{items: make([]subject, len(writes))}
	for i, w := range writes {
		if set.items[i] = w.subject; w.manifest != nil {
			set.items[i] = subject{title: describeName("record", w.object()), answered: w.manifest.answered}
		}
	}
	return withSubject(ctx, set)
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
		warned := withItems(ctx, writes)
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
			var status apierrors.APIStatus
			mayNot := errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "changesets"
			switch {
			case !ok || mayNot:
				return result, fmt.Errorf("change set of namespace %s: %w", writes[0].object().Namespace, err)
			case len(writes) == 1:
				refused = map[int][]refusal.Refusal{0: {{Message: reason}}}
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

// refusedItems returns the refusals of an answer by item.
func refusedItems(err error) map[int][]refusal.Refusal {
	out := make(map[int][]refusal.Refusal)
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code < 400 || status.Status().Code >= 500 {
		return nil
	}
	for _, one := range refusal.Of(err) {
		if one.Item >= 0 {
			out[one.Item] = append(out[one.Item], one)
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

// isFinal reports that no other object would change a refusal: it is of data, and not of a name.
func isFinal(one refusal.Refusal) bool {
	return one.Reason != metav1.CauseType(metav1.StatusReasonForbidden) && one.Field != "spec.domainName"
}

// refuseWrite reports the refusal of an item, or what else of the run decides about it.
func (l *Loader) refuseWrite(w *recordWrite, refused []refusal.Refusal) Result {
	var reasons []string
	conflict, final := false, false
	for _, one := range refused {
		reasons = append(reasons, one.Message)
		conflict = conflict || one.Reason == metav1.CauseTypeFieldManagerConflict
		final = final || isFinal(one)
	}
	at := w.at
	at.Reason = strings.Join(reasons, ", ")
	if w.after == nil {
		at.Path, at.Text = "--prune", describeRecord(w.before)
		l.reportRefused(at)
		return Result{Refused: 1}
	}
	if conflict {
		l.reportLeftAsIs(at)
		return Result{Left: 1}
	}
	after := w.prior
	if fqdn, err := name.Parse(w.after.Status.FQDN); after == "" && err == nil {
		after = l.priors.removedAt(fqdn, w.after)
	}
	if final || after == "" {
		l.reportRefused(at)
		return Result{Refused: max(len(at.Lines), 1)}
	}
	l.showRecord(w.manifest, w.before, w.after, w.zone, after)
	return Result{Written: 1}
}
