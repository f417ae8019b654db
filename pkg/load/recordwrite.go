// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/refusal"
	"kubi.zone/kubizone/pkg/rrsets"
)

type recordsOfFile struct {
	path        string
	destination *destination
	mutex       sync.Mutex
	existing    *existingRecords
	prior       prior
}

type recordWrite struct {
	rrsets.Change
	manifest *manifest
	file     *recordsOfFile
	set      *set
	zone     types.NamespacedName
	applier  applier
	prior    string
	location Refusal
	subject  subject
	refusals []refusal.Refusal
}

type place struct {
	namespace string
	zone      types.NamespacedName
}

func (w *recordWrite) place() place { return place{w.Record().Namespace, w.zone} }

func (l *Loader) writeRecords(ctx context.Context, what string, phases [][]*recordWrite) (result Result, refused []*recordWrite,
	err error) {
	type key struct {
		place
		as applier
	}
	var pages [][][]*recordWrite
	for _, writes := range phases {
		var phase [][]*recordWrite
		for _, group := range groupBy(writes, func(w *recordWrite) key { return key{w.place(), w.applier} }) {
			phase = append(phase, rrsets.Pages(group, func(w *recordWrite) *rrsets.Change { return &w.Change })...)
		}
		pages = append(pages, phase)
	}
	result, err = runWorkers(ctx, l, what, l.workers, pages, l.writePage)
	for _, w := range slices.Concat(phases...) {
		if len(w.refusals) > 0 {
			refused = append(refused, w)
		}
	}
	return result, refused, err
}

func (l *Loader) writePage(ctx context.Context, page []*recordWrite) (result Result, err error) {
	if len(page) > 1 {
		l.setSlots <- struct{}{}
		defer func() { <-l.setSlots }()
	}
	first := page[0]
	writer := rrsets.Writer{Client: l.typed.KubizoneV1alpha1(), Namespace: first.Record().Namespace, Manager: first.applier.manager,
		Force: first.applier.force, DryRun: l.dryRun(),
		Context: func(ctx context.Context, indices []int) context.Context {
			of := subject{}
			for _, i := range indices {
				of.items = append(of.items, page[i].subject)
			}
			return withSubject(ctx, of)
		},
		Replan: func(_ context.Context, i int, now *v1alpha1.Record) (*rrsets.Change, error) {
			if page[i].manifest != nil { // applied over any Record
				return &page[i].Change, nil
			}
			next, done, err := l.replanWrite(page[i], now)
			if result.Add(done); next != nil {
				page[i].Change = *next // a further conflict is about the object of this plan
			}
			return next, err
		}}
	changes := make([]rrsets.Change, len(page))
	for i, w := range page {
		changes[i] = w.Change
	}
	outcomes, err := writer.Write(ctx, changes)
	for i, o := range outcomes {
		w := page[i]
		if w.Change, w.refusals = o.Change, o.Refusals; o.Operation != "" {
			result.Add(l.showWrite(w, o.Operation))
		}
	}
	if err != nil {
		return result, fmt.Errorf("records of namespace %s: %w", first.Record().Namespace, err)
	}
	return result, nil
}

func (l *Loader) showWrite(w *recordWrite, operation string) Result {
	shown := l.showRecord(w.manifest, w.Before, w.After, w.zone, w.prior)
	switch {
	case operation == v1alpha1.OperationDeleted:
		return Result{Removed: 1}
	case operation == v1alpha1.OperationUnchanged || w.manifest != nil && !shown:
		return Result{Present: 1}
	}
	return Result{Written: 1}
}

func isFinal(one refusal.Refusal) bool {
	return one.Reason != metav1.CauseType(metav1.StatusReasonForbidden) && one.Field != "spec.domainName"
}

func (l *Loader) refuseWrites(writes []*recordWrite) (result Result) {
	for _, w := range writes {
		result.Add(l.refuseWrite(w))
	}
	return result
}

func (l *Loader) refuseWrite(w *recordWrite) Result {
	conflict, final := false, false
	for _, one := range w.refusals {
		conflict = conflict || one.Reason == metav1.CauseTypeFieldManagerConflict
		final = final || isFinal(one)
	}
	at := w.location
	at.Reason = refusal.Messages(w.refusals)
	switch {
	case w.After == nil:
		l.reportRefused(at)
		return Result{Refused: 1}
	case conflict:
		l.reportLeftAsIs(at)
		return Result{Left: 1}
	}
	after := w.prior
	if fqdn, err := name.Parse(w.After.Status.FQDN); after == "" && err == nil {
		after = l.priors.removalNear(fqdn, w.After)
	}
	if final || after == "" {
		l.reportRefused(at)
		return Result{Refused: max(len(at.Lines), 1)}
	}
	l.showRecord(w.manifest, w.Before, w.After, w.zone, after)
	return Result{Written: 1}
}

func (l *Loader) showRecord(of *manifest, before, after *v1alpha1.Record, zone types.NamespacedName, prior string) (changed bool) {
	changes := ChangesOfRecord(before, after, zone)
	for _, c := range changes {
		if c.After = prior; of != nil || l.cfg.PruneSelector != "" {
			c.Object = describeName("record", cmp.Or(after, before))
		}
		l.showPlan(c)
	}
	return len(changes) > 0
}
