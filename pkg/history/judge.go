// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/load"
	"kubi.zone/kubizone/pkg/refusal"
	"kubi.zone/kubizone/pkg/rrsets"
)

const fewRecords = 20

// ReadPresent reads the Records that steps wrote. It returns the server's refusals by namespace.
func (r *Reader) ReadPresent(ctx context.Context, undone []v1alpha1.HistoryStep) (now Present, unreadable map[string]string, err error) {
	now, unreadable = Present{}, map[string]string{}
	for namespace, names := range Namespaces(undone) {
		records := r.Client.Records(namespace)
		add := func(object string, x *v1alpha1.Record) {
			now[types.NamespacedName{Namespace: namespace, Name: object}] = x
		}
		if len(names) > fewRecords {
			err = load.EachItem(ctx, func(ctx context.Context, options metav1.ListOptions) (*v1alpha1.RecordList, error) {
				return rrsets.Retry(ctx, func() (*v1alpha1.RecordList, error) { return records.List(ctx, options) })
			}, metav1.ListOptions{}, func(x *v1alpha1.Record) error {
				add(x.Name, x)
				return nil
			})
		} else {
			for _, object := range names {
				var x *v1alpha1.Record
				x, err = rrsets.Retry(ctx, func() (*v1alpha1.Record, error) { return records.Get(ctx, object, metav1.GetOptions{}) })
				if apierrors.IsNotFound(err) {
					err = nil
					continue
				}
				if err != nil {
					break
				}
				add(object, x)
			}
		}
		if apierrors.IsForbidden(err) {
			unreadable[namespace] = err.Error()
		} else if err != nil {
			return nil, nil, fmt.Errorf("records of namespace %s: %w", namespace, err)
		}
	}
	return now, unreadable, nil
}

// Judge dry-runs a plan's changes, and adds the refusals.
func (r *Reader) Judge(ctx context.Context, p *Plan) error {
	if p.Refused > 0 {
		return nil
	}
	for _, phase := range p.orderSets(false) {
		if err := eachSet(ctx, phase, func(ctx context.Context, set []write) error {
			_, err := r.writeSet(ctx, set, p.awaits, []string{metav1.DryRunAll})
			return err
		}); err != nil {
			return err
		}
	}
	for i := range p.Changes {
		if len(p.Changes[i].Refused) > 0 {
			p.Refused++
		}
	}
	return nil
}

// Run writes a plan accepted by Judge, several change sets (transactions) at once. After a refusal Run returns
// ErrStopped, and the sets written so far stay.
func (r *Reader) Run(ctx context.Context, p *Plan) error {
	if p.Refused > 0 {
		return ErrStopped{"the plan has refusals"}
	}
	// A deleted Zone comes before its Records.
	if err := r.runObjects(ctx, p); err != nil {
		return err
	}
	// A phase ends before the next begins. The first phases free names for other namespaces.
	var mu sync.Mutex
	writeAndCount := func(ctx context.Context, set []write) error {
		const awaitsZone = false // the Zone exists now
		written, err := r.writeSet(ctx, set, awaitsZone, nil)
		mu.Lock()
		defer mu.Unlock()
		p.Written += written
		if err != nil {
			return err
		}
		for _, w := range set {
			if c := w.Reversal; len(c.Refused) > 0 {
				return ErrStopped{fmt.Sprintf("record %s/%s: %s", c.Namespace, c.Name, strings.Join(c.Refused, "; "))}
			}
		}
		return nil
	}
	for _, phase := range p.orderSets(true) {
		if err := eachSet(ctx, phase, writeAndCount); err != nil {
			return err
		}
	}
	return nil
}

func eachSet(ctx context.Context, phase [][]write, do func(ctx context.Context, set []write) error) error {
	group := errgroup.Group{}
	group.SetLimit(rrsets.MaxSets)
	var failed atomic.Bool
	for _, set := range phase {
		if failed.Load() {
			break
		}
		group.Go(func() error {
			if failed.Load() {
				return nil
			}
			err := do(ctx, set)
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	return group.Wait()
}

// write is a request to the server for a Reversal (a Record to revert). A Reversal has two writes if the Record's
// present DNS name goes back to another namespace: an early deletion to free the name, and a later creation.
type write struct {
	*Reversal // gets the refusals
	change    rrsets.Change
	// counts is false for the early deletion, so that a Reversal is counted once.
	counts bool
}

// orderSets returns change sets by phase. With split, the first phases delete the Records whose names pass to other
// namespaces.
func (p *Plan) orderSets(split bool) (out [][][]write) {
	type phase struct {
		last      bool
		namespace string
	}
	passes := map[string]bool{} // by "NAMESPACE NAME" of the former namespace
	for i := range p.Changes {
		if c := &p.Changes[i]; c.After != "" {
			passes[c.After+" "+c.FQDN] = true
		}
	}
	groups := map[phase][]write{}
	var order []phase
	add := func(last bool, w write) {
		at := phase{last, w.Namespace}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], w)
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		before := c.change.Before
		switch {
		case before == nil || !split || !passes[c.Namespace+" "+before.Status.FQDN]:
			add(true, write{c, c.change, true})
		case c.change.After == nil:
			add(false, write{c, c.change, true})
		default:
			add(false, write{c, rrsets.Change{Before: before}, false})
			add(true, write{c, rrsets.Change{After: c.change.After}, true})
		}
	}
	slices.SortStableFunc(order, func(x, y phase) int {
		switch {
		case x.last == y.last:
			return strings.Compare(x.namespace, y.namespace)
		case x.last:
			return 1
		}
		return -1
	})
	for _, at := range order {
		out = append(out, rrsets.Pages(groups[at], func(w write) *rrsets.Change { return &w.change }))
	}
	return out
}

func (r *Reader) writeSet(ctx context.Context, set []write, awaits bool, dryRun []string) (written int, err error) {
	writer := rrsets.Writer{Client: r.Client, Namespace: set[0].Namespace, Manager: FieldManager, Force: true, DryRun: dryRun,
		Replan: func(_ context.Context, i int, now *v1alpha1.Record) (*rrsets.Change, error) {
			return set[i].replanWrite(now), nil
		}}
	changes := make([]rrsets.Change, len(set))
	for i := range set {
		changes[i] = set[i].change
	}
	outcomes, err := writer.Write(ctx, changes)
	switch {
	case err != nil && apierrors.IsForbidden(err):
		for _, c := range set {
			c.Refused = []string{err.Error()}
		}
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("change set of namespace %s: %w", set[0].Namespace, err)
	}
	for i, o := range outcomes {
		c := set[i]
		if c.counts && o.Operation != "" && o.Operation != v1alpha1.OperationUnchanged {
			written++
		}
		refused := o.Refusals
		if len(dryRun) > 0 && c.After != "" {
			refused = slices.DeleteFunc(slices.Clone(refused), isFreed)
		}
		if awaits {
			refused = slices.DeleteFunc(slices.Clone(refused), isOfZone)
		}
		if len(refused) > 0 {
			c.Refused = append(c.Refused, refusal.Messages(refused))
		}
	}
	return written, nil
}

// isFreed reports a refusal that another namespace's write may lift.
func isFreed(one refusal.Refusal) bool {
	switch one.Reason {
	case v1alpha1.ReasonNameHeld, v1alpha1.ReasonCNAMEConflict:
		return true
	case v1alpha1.ReasonLimitExceeded: // of an RRset, not of the namespace
		return one.Field == "spec.values"
	}
	return false
}

func isOfZone(one refusal.Refusal) bool {
	switch one.Reason {
	case v1alpha1.ReasonDelegationWithdrawn, v1alpha1.ReasonZoneNotFound, v1alpha1.ReasonBelowZoneCut:
		return true
	case metav1.CauseTypeForbidden:
		return one.Field == "spec.domainName"
	}
	return strings.HasPrefix(one.Rule, "S2.") || strings.HasPrefix(one.Rule, "S4.") || isFreed(one)
}

func (w *write) replanWrite(now *v1alpha1.Record) *rrsets.Change {
	want, before := w.change.After, w.change.Before
	switch {
	case want == nil && now == nil, want != nil && now != nil && sameSpec(&want.Spec, &now.Spec):
		return nil
	case now != nil && before != nil && now.UID == before.UID && sameSpec(&now.Spec, &before.Spec):
		next := w.change
		if next.Before = now; want != nil {
			next.AppliedJSON = applyOver(want, now)
		}
		return &next
	}
	w.Refused = append(w.Refused, "it was written since the plan: look at a new plan")
	return nil
}
