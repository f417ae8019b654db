// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

const (
	namedItems = 10
	maxOutcome = 300
)

// errorOf returns the error of a change set whose items are all answered, or nil. The error of the set precedes those
// of items, and refusals precede faults of the server.
func errorOf(set *v1alpha1.ChangeSet, items []*item, together Set) error {
	if failure := together.Err(); failure != nil {
		if _, ok := failure.(apierrors.APIStatus); ok {
			return failure
		}
		// A transaction may have been committed although the answer was lost. Then a repeated create would be 409.
		if together.NothingWritten() {
			return apierrors.NewInternalError(fmt.Errorf("%w; nothing was written", failure))
		}
		return apierrors.NewInternalError(fmt.Errorf("%w; whether the change set was written is not known: "+
			"read the Records before you repeat it", failure))
	}
	var refused, failed []*item
	for _, one := range items {
		switch {
		// An item ended only because another item was refused explains nothing.
		case one.failure == nil || one.failure.Reason == v1alpha1.StatusReasonChangeSetEnded:
		case one.code >= http.StatusInternalServerError:
			failed = append(failed, one)
		default:
			refused = append(refused, one)
		}
	}
	switch {
	case len(refused) > 0:
		return errorOfItems(set, refused)
	case len(failed) > 0:
		return withoutOutcome(errorOfItems(set, failed))
	}
	return nil
}

func withoutOutcome(e *apierrors.StatusError) error {
	// Timeout means an unknown outcome for clients. Here nothing was written, so they may try again.
	if e.ErrStatus.Reason == metav1.StatusReasonTimeout {
		e.ErrStatus.Reason = metav1.StatusReasonServerTimeout
	}
	return e
}

// errorOfItems returns an error with a cause for each failed item. The code is the items' common code, or else 422. The
// message names namedItems items at most.
func errorOfItems(set *v1alpha1.ChangeSet, items []*item) *apierrors.StatusError {
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: int32(items[0].code), Reason: items[0].failure.Reason,
		Details: &metav1.StatusDetails{Group: v1alpha1.GroupName, Kind: "ChangeSet", Name: set.Name},
	}
	var texts []string
	for _, one := range items {
		// A 403 and a 409 in a set: 422 is for the set as a whole, without a time to retry.
		if one.code != items[0].code {
			status.Code, status.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
		}
		if len(texts) < namedItems {
			texts = append(texts, fmt.Sprintf("%s (%s): %s", one.path(), one.name, one.failure.Message))
		}
		status.Details.Causes = append(status.Details.Causes, one.listCauses()...)
		if d := one.failure.Details; d != nil {
			status.Details.RetryAfterSeconds = max(status.Details.RetryAfterSeconds, d.RetryAfterSeconds)
		}
	}
	if status.Code == http.StatusUnprocessableEntity {
		status.Details.RetryAfterSeconds = 0
	}
	if more := len(items) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	status.Message = fmt.Sprintf("%d of %d items failed, and nothing was written: %s", len(items), len(set.Spec.Items),
		strings.Join(texts, "; "))
	return &apierrors.StatusError{ErrStatus: status}
}

// listCauses returns the causes of an item's failure, with fields relative to the change set: spec.rdata of a Record
// becomes spec.items[2].apply.spec.rdata.
func (x *item) listCauses() (causes []metav1.StatusCause) {
	if d := x.failure.Details; d != nil {
		for _, c := range d.Causes {
			if c.Message == "" {
				c.Message = x.failure.Message
			}
			c.Field = x.fieldOf(c.Field)
			causes = append(causes, c)
		}
	}
	if len(causes) == 0 {
		causes = []metav1.StatusCause{{Type: metav1.CauseType(x.failure.Reason), Field: x.path().String(), Message: x.failure.Message}}
	}
	return causes
}

func (x *item) fieldOf(name string) string {
	if name == "" || x.deletes() != nil {
		return x.path().String()
	}
	return x.path().Child(x.member()).Child(strings.TrimPrefix(name, ".")).String()
}

// describeOutcome returns a line for the audit event of the change set, for example "apply www: 200, resourceVersion
// 1234".
func (x *item) describeOutcome() string {
	what := fmt.Sprintf("%s %s: %d", x.member(), x.name, x.code)
	switch {
	case x.failure != nil:
		what += " " + x.failure.Message
	default:
		if record, ok := x.answer.(*v1alpha1.Record); ok && record.ResourceVersion != "" {
			what += ", resourceVersion " + record.ResourceVersion
		}
	}
	return kind.Shorten(what, maxOutcome)
}
