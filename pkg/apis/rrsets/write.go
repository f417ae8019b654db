// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rrsets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

// MaxSets is the number of a namespace's change sets that the server handles at once.
const MaxSets = 4

// Pages divides writes of a namespace and zone into pages, each for a change set. Writes of a name share a page if they
// fit. A write that cannot be in a change set (Change.Separate, for example) has its own page. The function changeOf
// returns the change that a write makes.
func Pages[T any](writes []T, changeOf func(T) *Change) (pages [][]T) {
	var page []T
	octets := 0
	flush := func() {
		if len(page) > 0 {
			pages = append(pages, page)
		}
		page, octets = nil, 0
	}
	// Group the writes by name.
	var names []string
	byName := make(map[string][]T)
	for _, write := range writes {
		if changeOf(write).isSeparate() {
			pages = append(pages, []T{write})
			continue
		}
		fqdn := changeOf(write).Record().Status.FQDN
		if byName[fqdn] == nil {
			names = append(names, fqdn)
		}
		byName[fqdn] = append(byName[fqdn], write)
	}
	// Begin a page if the writes of a name do not fit into the last.
	for _, fqdn := range names {
		size := 0
		for _, write := range byName[fqdn] {
			if item, err := changeOf(write).Item(); err == nil {
				size += item.Size()
			}
		}
		if len(page)+len(byName[fqdn]) > v1alpha1.MaxChangeSetItems || octets+size > v1alpha1.MaxChangeSetOctets {
			flush()
		}
		for _, write := range byName[fqdn] {
			if len(page) == v1alpha1.MaxChangeSetItems {
				flush()
			}
			page = append(page, write)
		}
		octets += size
	}
	flush()
	return pages
}

// Writer sends changes of a namespace's Records to the API, as change sets if possible.
type Writer struct {
	Client    typed.KubizoneV1alpha1Interface
	Namespace string
	// Manager is the field manager. If Force is true, applied changes take over the fields of other managers.
	Manager string
	Force   bool
	DryRun  []string // {"All"}, or nil to write
	// Context, if not nil, returns the context for a request with the changes at these indices of the page, the
	// argument of Write.
	Context func(ctx context.Context, indices []int) context.Context
	// Replan plans the change at index of the page again, because others may have changed its Record since Before was
	// read. Replan gets the current Record, or nil if it was deleted, and returns the new change, or nil if none is
	// needed. If Replan is nil, a change of a changed Record is refused.
	Replan func(ctx context.Context, index int, current *v1alpha1.Record) (*Change, error)
}

type Outcome struct {
	Change Change
	// Operation is the operation in v1alpha1.ChangeSetItemStatus, or "" if nothing was written.
	Operation string
	Refusals  []refusal.Refusal
}

// Write writes each change independently. It returns an error if the server does not answer, or does not let the client
// create change sets.
func (w *Writer) Write(ctx context.Context, page []Change) ([]Outcome, error) {
	outcomes, indices := make([]Outcome, len(page)), make([]int, len(page))
	for i := range page {
		outcomes[i].Change, indices[i] = page[i], i
	}
	return outcomes, w.writeItems(ctx, outcomes, indices)
}

// WriteAll writes all changes or none, in one request. The result is the written Record of a separate change, or nil
// for a deletion and for change sets.
func (w *Writer) WriteAll(ctx context.Context, changes ...Change) (written *v1alpha1.Record, err error) {
	if len(changes) == 1 && changes[0].isSeparate() {
		return w.sendAlone(ctx, &changes[0])
	}
	_, err = w.sendSet(ctx, changes)
	return nil, err
}

func (w *Writer) writeItems(ctx context.Context, outcomes []Outcome, left []int) error {
	for attempt := 1; len(left) > 0; attempt++ {
		operations, err := w.sendPage(ctx, outcomes, left)
		if err == nil {
			for i, index := range left {
				outcomes[index].Operation = operations[i]
			}
			return nil
		}
		refused := refusedItems(err, len(left))
		switch {
		case len(refused) > 0:
		case !isRefusal(err):
			return err
		case len(left) == 1:
			refused = map[int][]refusal.Refusal{0: refusal.Of(err)}
		default: // the whole set is refused, such as for its size
			half := len(left) / 2
			if err := w.writeItems(ctx, outcomes, left[:half]); err != nil {
				return err
			}
			return w.writeItems(ctx, outcomes, left[half:])
		}
		r := w.newRound(refused, attempt)
		if err := r.pause(ctx, attempt); err != nil {
			return err
		}
		again, alone, err := w.planAgain(ctx, outcomes, left, r)
		if err != nil {
			return err
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

// round has the decisions after an attempt in which the server refused items of a set, and so wrote none.
type round struct {
	refused map[int][]refusal.Refusal // by position in the set
	// resends is true if items refused for now (429) are sent again. If all refusals are of this kind, Retry has
	// repeated already.
	resends bool
	// replans is true if items of changed Records are planned again, and stale if others may have changed, too.
	replans, stale bool
}

func (w *Writer) newRound(refused map[int][]refusal.Refusal, attempt int) *round {
	r := &round{refused: refused, replans: w.Replan != nil && attempt < maxAttempts}
	for _, causes := range refused {
		r.resends = r.resends || attempt < maxAttempts && !waits(causes)
		r.stale = r.stale || attempt > 1 && isStale(causes)
	}
	return r
}

// pause waits if Records change at the moment, so that all are read after the changes.
func (r *round) pause(ctx context.Context, attempt int) error {
	if !r.stale || attempt >= maxAttempts {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(stalePause << (attempt - 2)):
		return nil
	}
}

// planAgain returns the items to send again, and those to send alone after a new plan. It notes the refusals of all
// others.
func (w *Writer) planAgain(ctx context.Context, outcomes []Outcome, left []int, r *round) (again, alone []int, err error) {
	for i, index := range left {
		o, causes := &outcomes[index], r.refused[i]
		switch {
		// The Record of www has changed. That of mail in the same set may have, too.
		case causes == nil && r.stale && w.Replan != nil && o.Change.Before != nil:
		// The item is sound, or refused for now, beside an item refused for good.
		case causes == nil, r.resends && waits(causes):
			again = append(again, index)
			continue
		case !r.replans || !isStale(causes):
			o.Refusals = causes
			continue
		}
		next, err := w.replanChange(ctx, index, o.Change.Record().Name)
		if err != nil {
			return nil, nil, err
		}
		if next == nil { // the Record is as wanted
			continue
		}
		if o.Change = *next; next.isSeparate() && len(left) > 1 {
			alone = append(alone, index)
		} else {
			again = append(again, index)
		}
	}
	return again, alone, nil
}

const stalePause = 100 * time.Millisecond

func (w *Writer) replanChange(ctx context.Context, index int, object string) (*Change, error) {
	now, err := Retry(ctx, func() (*v1alpha1.Record, error) {
		return w.Client.Records(w.Namespace).Get(ctx, object, metav1.GetOptions{})
	})
	if apierrors.IsNotFound(err) {
		now, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	return w.Replan(ctx, index, now)
}

func (w *Writer) sendPage(ctx context.Context, outcomes []Outcome, indices []int) (operations []string, err error) {
	if w.Context != nil {
		ctx = w.Context(ctx, indices)
	}
	changes := make([]Change, len(indices))
	for i, index := range indices {
		changes[i] = outcomes[index].Change
	}
	return Retry(ctx, func() ([]string, error) {
		if len(changes) > 1 || !changes[0].isSeparate() {
			return w.sendSet(ctx, changes)
		}
		_, err := w.sendAlone(ctx, &changes[0])
		return []string{changes[0].operation()}, err
	})
}

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
	patch, err := c.makePatch()
	if err != nil {
		return nil, err
	}
	return records.Patch(ctx, c.Before.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: w.Manager, DryRun: w.DryRun})
}

func refusedItems(err error, n int) map[int][]refusal.Refusal {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code/100 != 4 {
		return nil
	}
	out := make(map[int][]refusal.Refusal)
	for _, one := range refusal.Of(err) {
		if one.Item >= 0 && one.Item < n {
			out[one.Item] = append(out[one.Item], one)
		}
	}
	return out
}

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

func waits(refused []refusal.Refusal) bool {
	return slices.ContainsFunc(refused, func(one refusal.Refusal) bool {
		return one.Reason == metav1.CauseType(metav1.StatusReasonTooManyRequests) || one.Reason == v1alpha1.CauseWritesTooFast
	})
}

func isStale(refused []refusal.Refusal) bool {
	return slices.ContainsFunc(refused, func(one refusal.Refusal) bool {
		switch metav1.StatusReason(one.Reason) {
		case metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonNotFound:
			return true
		}
		return false
	})
}
