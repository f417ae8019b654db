// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rrsets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/refusal"
)

// MaxSets is how many change sets of one namespace the server carries out at a time.
const MaxSets = 4

// Pages divides writes of one namespace and zone into change sets, in their order. What is at one name is in one of
// them, as far as it fits. A write that no change set can have is alone. of returns the change of a write.
func Pages[T any](writes []T, of func(T) *Change) (pages [][]T) {
	var page []T
	octets := 0
	flush := func() {
		if len(page) > 0 {
			pages = append(pages, page)
		}
		page, octets = nil, 0
	}
	var names []string
	byName := make(map[string][]T)
	for _, w := range writes {
		if of(w).isAlone() {
			pages = append(pages, []T{w})
			continue
		}
		at := of(w).Record().Status.FQDN
		if byName[at] == nil {
			names = append(names, at)
		}
		byName[at] = append(byName[at], w)
	}
	for _, at := range names {
		size := 0
		for _, w := range byName[at] {
			if item, err := of(w).Item(); err == nil {
				size += item.Size()
			}
		}
		if len(page)+len(byName[at]) > v1alpha1.MaxChangeSetItems || octets+size > v1alpha1.MaxChangeSetOctets {
			flush()
		}
		for _, w := range byName[at] {
			if len(page) == v1alpha1.MaxChangeSetItems {
				flush()
			}
			page = append(page, w)
		}
		octets += size
	}
	flush()
	return pages
}

// Writer writes changes of Records in one namespace.
type Writer struct {
	Client    typed.KubizoneV1alpha1Interface
	Namespace string
	// Manager is the field manager. Force takes over the fields of other managers in changes that are applied.
	Manager string
	Force   bool
	// DryRun is that of the requests: with metav1.DryRunAll the server decides about each change and keeps none.
	DryRun []string
	// Context returns the context of a request for the changes with these indices; nil: that of Write.
	Context func(ctx context.Context, indices []int) context.Context
	// Anew returns the change to make instead of one whose Record is another one than Before. now is that Record; nil:
	// there is none. No change: nothing is left to do. A nil function has the change refused.
	Anew func(ctx context.Context, index int, now *v1alpha1.Record) (*Change, error)
}

// Outcome is the outcome of one change.
type Outcome struct {
	// Change is the change as it was made, maybe anew.
	Change Change
	// Operation is one of those of v1alpha1.ChangeSetItemStatus; "": the change is refused, or Anew left nothing to do.
	Operation string
	// Refused has the refusals of the change.
	Refused []refusal.Refusal
}

// Write writes a page of Pages, each change for itself: a refused one does not keep the others from being written. An
// error says that the server does not answer, or that the caller may not create change sets.
func (w *Writer) Write(ctx context.Context, page []Change) ([]Outcome, error) {
	outcomes, indices := make([]Outcome, len(page)), make([]int, len(page))
	for i := range page {
		outcomes[i].Change, indices[i] = page[i], i
	}
	return outcomes, w.writeItems(ctx, outcomes, indices)
}

// WriteAll writes changes in one request, which is sent once, or none of them. made is the Record of a change that is
// alone; nil: a deletion, or a change set.
func (w *Writer) WriteAll(ctx context.Context, changes ...Change) (made *v1alpha1.Record, err error) {
	if len(changes) == 1 && changes[0].isAlone() {
		return w.sendAlone(ctx, &changes[0])
	}
	_, err = w.sendSet(ctx, changes)
	return nil, err
}

// writeItems writes the changes with these indices, until each has its outcome.
func (w *Writer) writeItems(ctx context.Context, outcomes []Outcome, left []int) error {
	for attempt := 1; len(left) > 0; attempt++ {
		operations, err := w.sendPage(ctx, outcomes, left)
		if err == nil {
			for i, index := range left {
				outcomes[index].Operation = operations[i]
			}
			return nil
		}
		refused := refusedItems(err)
		switch {
		case len(refused) > 0:
		case !isRefusal(err):
			return err
		case len(left) == 1:
			refused = map[int][]refusal.Refusal{0: refusal.Of(err)}
		default: // the whole of it is refused, as by the bound of a transaction
			half := len(left) / 2
			if err := w.writeItems(ctx, outcomes, left[:half]); err != nil {
				return err
			}
			return w.writeItems(ctx, outcomes, left[half:])
		}
		var again, alone []int
		for i, index := range left {
			o := &outcomes[index]
			if causes := refused[i]; causes != nil && (attempt == maxAttempts || w.Anew == nil || !isStale(causes)) {
				o.Refused = causes
				continue
			} else if causes != nil {
				next, err := w.makeAnew(ctx, index, o.Change.Record().Name)
				if err != nil {
					return err
				} else if next == nil {
					continue
				}
				if o.Change = *next; next.isAlone() && len(left) > 1 {
					alone = append(alone, index)
					continue
				}
			}
			again = append(again, index)
		}
		for _, index := range alone {
			if err := w.writeItems(ctx, outcomes, []int{index}); err != nil {
				return err
			}
		}
		left = again
	}
	return nil
}

// makeAnew returns the change to make of the Record that has the name now; nil: nothing is left to do.
func (w *Writer) makeAnew(ctx context.Context, index int, object string) (*Change, error) {
	now, err := Retry(ctx, func() (*v1alpha1.Record, error) {
		return w.Client.Records(w.Namespace).Get(ctx, object, metav1.GetOptions{})
	})
	if apierrors.IsNotFound(err) {
		now, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	return w.Anew(ctx, index, now)
}

// sendPage sends the changes with these indices, and returns the operation of each.
func (w *Writer) sendPage(ctx context.Context, outcomes []Outcome, indices []int) (operations []string, err error) {
	if w.Context != nil {
		ctx = w.Context(ctx, indices)
	}
	changes := make([]Change, len(indices))
	for i, index := range indices {
		changes[i] = outcomes[index].Change
	}
	return Retry(ctx, func() ([]string, error) {
		if len(changes) > 1 || !changes[0].isAlone() {
			return w.sendSet(ctx, changes)
		}
		_, err := w.sendAlone(ctx, &changes[0])
		return []string{changes[0].operation()}, err
	})
}

// sendSet sends changes in one change set, and returns the operation of each.
func (w *Writer) sendSet(ctx context.Context, changes []Change) (operations []string, err error) {
	set, err := NewSet(changes)
	if err != nil {
		return nil, err
	}
	set.Spec.FieldManager, set.Spec.Force = w.Manager, w.Force
	answer, err := w.Client.ChangeSets(w.Namespace).Create(ctx, set, metav1.CreateOptions{FieldManager: w.Manager, DryRun: w.DryRun})
	if err != nil {
		return nil, err
	}
	if len(answer.Status.Items) != len(changes) {
		return nil, fmt.Errorf("the answer to a change set of %d items has %d", len(changes), len(answer.Status.Items))
	}
	for _, item := range answer.Status.Items {
		operations = append(operations, item.Operation)
	}
	return operations, nil
}

// sendAlone sends a change by a request of its own, and returns the Record in the answer, nil for a deletion.
func (w *Writer) sendAlone(ctx context.Context, c *Change) (*v1alpha1.Record, error) {
	records := w.Client.Records(w.Namespace)
	switch {
	case c.After == nil:
		required := &metav1.Preconditions{UID: &c.Before.UID}
		if c.Before.ResourceVersion != "" {
			required.ResourceVersion = &c.Before.ResourceVersion
		}
		return nil, records.Delete(ctx, c.Before.Name, metav1.DeleteOptions{DryRun: w.DryRun, Preconditions: required})
	case c.Before == nil:
		return records.Create(ctx, c.After, metav1.CreateOptions{FieldManager: w.Manager, DryRun: w.DryRun})
	}
	patch, err := c.patch()
	if err != nil {
		return nil, err
	}
	return records.Patch(ctx, c.Before.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: w.Manager, DryRun: w.DryRun})
}

// refusedItems returns the refusals of an answer by item.
func refusedItems(err error) map[int][]refusal.Refusal {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code < 400 || status.Status().Code >= 500 {
		return nil
	}
	out := make(map[int][]refusal.Refusal)
	for _, one := range refusal.Of(err) {
		if one.Item >= 0 {
			out[one.Item] = append(out[one.Item], one)
		}
	}
	return out
}

// isRefusal reports whether an answer refuses what was sent, and not that the caller creates change sets.
func isRefusal(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	status, about := answer.Status(), ""
	if status.Details != nil {
		about = status.Details.Kind
	}
	switch status.Code {
	case http.StatusForbidden:
		return about != "changesets"
	case http.StatusNotFound:
		return about == "records"
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return status.Code/100 == 4
}

// isStale reports whether the Record of a change is another one than the change was made for.
func isStale(refused []refusal.Refusal) bool {
	return slices.ContainsFunc(refused, func(one refusal.Refusal) bool {
		switch metav1.StatusReason(one.Reason) {
		case metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonNotFound:
			return true
		}
		return false
	})
}
