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
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apis/rrsets"
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
	file     *recordsOfFile
	set      *set
	zone     types.NamespacedName
	prior    string
	location Refusal
	subject  subject
	refusals []refusal.Refusal
}

func (l *Loader) writeRecords(ctx context.Context, what string, phases [][]*recordWrite) (result Result, refused []*recordWrite,
	err error) {
	type place struct {
		namespace string
		zone      types.NamespacedName
	}
	var pages [][][]*recordWrite
	for _, writes := range phases {
		var phase [][]*recordWrite
		for _, group := range groupBy(writes, func(w *recordWrite) place { return place{w.Record().Namespace, w.zone} }) {
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
	writer := rrsets.Writer{Client: l.typed.KubizoneV1alpha1(), Namespace: first.Record().Namespace, Manager: l.cfg.FieldManager,
		DryRun: l.dryRun(),
		Context: func(ctx context.Context, indices []int) context.Context {
			of := subject{}
			for _, i := range indices {
				of.items = append(of.items, page[i].subject)
			}
			return withSubject(ctx, of)
		},
		Replan: func(_ context.Context, i int, now *v1alpha1.Record) (*rrsets.Change, error) {
			next, done, err := l.replanWrite(page[i], now)
			if result.Add(done); next != nil {
				page[i].Change = *next // a further conflict concerns the object of the new plan
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
	changed := l.showRecord(false, w.Before, w.After, w.zone, deferral{object: w.prior})
	switch {
	case operation == v1alpha1.OperationDeleted:
		return Result{Removed: 1}
	case operation == v1alpha1.OperationUnchanged, l.cfg.DryRun && !changed:
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
	if w.prior != "" && !slices.ContainsFunc(w.refusals, isFinal) {
		if w.file.prior.isNew { // and no rule of the Zone refuses it
			l.showRecord(false, w.Before, w.After, w.zone, deferral{object: w.prior})
			return Result{Written: 1}
		}
		l.showRecord(false, w.Before, w.After, w.zone, deferral{w.prior, true})
		return Result{Undecided: 1}
	}
	at := w.location
	at.Reason = refusal.Messages(w.refusals)
	l.reportRefused(at)
	return Result{Refused: max(len(at.Lines), 1)}
}

// deferral names the object of a dry run that must be written first, or "". The write is undecided if the server
// refuses it now.
type deferral struct {
	object    string
	undecided bool
}

// showRecord adds the changes of a Record to the plan, and reports whether the zone's content changes. Another spelling
// of the same data is a note.
func (l *Loader) showRecord(named bool, before, after *v1alpha1.Record, zone types.NamespacedName,
	later deferral) (changed bool) {
	of := cmp.Or(after, before)
	object := "record " + of.Namespace + "/" + of.Name
	for _, c := range ChangesOfRecord(before, after, zone) {
		if c.SameData {
			if l.cfg.Plan != nil {
				l.note("spelling", object+": "+c.Text)
			}
			continue
		}
		if c.After, c.Undecided = later.object, later.undecided; named {
			c.Object = object
		}
		l.showPlan(c)
		changed = true
	}
	return changed
}
