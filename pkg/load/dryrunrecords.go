// Copyright The Kubizone Authors. SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/rrsets"
)

// A Record is dry-run singly if its zone is unknown or absent, or no change set can write as the Record's client does.
func (l *Loader) dryRunRecords(ctx context.Context, what string, manifests []*manifest, left []*v1alpha1.Record) (Result, error) {
	var result Result
	var writes, removals []*recordWrite
	var alone []*manifest
	existing, err := l.readExisting(ctx, manifests)
	if err != nil {
		return result, err
	}
	for _, m := range manifests {
		w := &recordWrite{manifest: m, Change: rrsets.Change{Before: existing[describeObject(m.object)]},
			subject: subject{title: describeObject(m.object), resolvedWarnings: m.resolvedWarnings}}
		if w.After, w.applier, err = l.recordAfter(m.object, w.Before); err == nil {
			w.AppliedJSON, err = m.object.MarshalJSON()
		}
		if err != nil {
			alone = append(alone, m) // the server names the fault
			continue
		}
		if w.Before != nil && equality.Semantic.DeepEqual(w.Before.Spec, w.After.Spec) {
			result.Present++
			continue
		}
		if w.Before != nil && w.Before.Spec.Type != w.After.Spec.Type {
			l.priors.addRemoval(w.Before, "")
		}
		w.zone, _ = l.zoneOf(m.object)
		if w.Before != nil && w.Before.Status.ZoneRef != nil {
			w.zone = types.NamespacedName{Namespace: w.Before.Status.ZoneRef.Namespace, Name: w.Before.Status.ZoneRef.Name}
		}
		above := l.priors.firstFor(w.zone, m.object.GetNamespace())
		waits := m.object.GetAnnotations()[v1alpha1.AnnotationOnConflict] != "" // no change set waits (S2.14)
		if w.zone.Name == "" || above.isNew || waits || w.applier.client {
			alone = append(alone, m)
			continue
		}
		w.prior, w.location = above.object, m.refusal("", "")
		writes = append(writes, w)
	}
	for _, r := range left {
		w := &recordWrite{Change: rrsets.Change{Before: r}, location: Refusal{Path: "--prune", Text: describeRecord(r)}}
		if by := r.Status.ZoneRef; by != nil && len(r.Finalizers) == 0 {
			w.zone = types.NamespacedName{Namespace: by.Namespace, Name: by.Name}
			removals = append(removals, w)
		} else {
			l.showRecord(nil, r, nil, w.zone, "")
			result.Removed++
		}
	}
	l.fillNames(ctx, writes)
	one, err := runWorkers(ctx, l, what, l.workers, [][][]*manifest{slices.Collect(slices.Chunk(alone, 1))},
		func(ctx context.Context, one []*manifest) (Result, error) { return l.dryRunObject(ctx, one[0]) })
	if result.Add(one); err != nil {
		return result, err
	}
	// Clients apply before they remove, so names that a removal frees are still taken.
	shareManagers(append(slices.Clone(writes), removals...))
	one, refused, err := l.writeRecords(ctx, what, [][]*recordWrite{writes, removals})
	result.Add(one)
	result.Add(l.refuseWrites(refused))
	return result, err
}

const fewRecords = 20

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

func (l *Loader) fillNames(ctx context.Context, writes []*recordWrite) {
	for _, w := range writes {
		if _, known := l.priors.liveZones[w.zone]; !known {
			if l.priors.liveZones == nil {
				l.priors.liveZones = make(map[types.NamespacedName]prior)
			}
			of := prior{}
			if z, err := l.typed.KubizoneV1alpha1().Zones(w.zone.Namespace).Get(ctx, w.zone.Name, metav1.GetOptions{}); err == nil {
				of.fqdn, _ = name.Parse(z.Status.FQDN)
				of.view = z.Status.View
			}
			l.priors.liveZones[w.zone] = of
		}
		if _, fqdn := l.zoneOf(w.manifest.object); !fqdn.IsZero() {
			w.After.Status.FQDN = fqdn.String()
		}
	}
}

func shareManagers(writes []*recordWrite) {
	managers := make(map[place]applier)
	for _, w := range writes {
		if _, known := managers[w.place()]; w.Before != nil && w.After != nil || !known && w.After != nil {
			managers[w.place()] = w.applier
		}
	}
	for _, w := range writes {
		if w.After == nil || w.Before == nil {
			w.applier = managers[w.place()]
		}
	}
}
