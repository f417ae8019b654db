// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

type endedSet struct {
	Set
	failure   error
	unwritten bool
}

func (s endedSet) Err() error           { return s.failure }
func (s endedSet) NothingWritten() bool { return s.unwritten }

// Only reason Timeout means an unknown outcome (docs/changesets.md).
func TestErrorOf_saysWhetherTheOutcomeIsKnown_S10_4(t *testing.T) {
	set := &v1alpha1.ChangeSet{Spec: v1alpha1.ChangeSetSpec{Items: make([]v1alpha1.ChangeSetItem, 2)}}
	status := func(code int, reason metav1.StatusReason) *metav1.Status {
		return &metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "m"}
	}
	timeout, webhook := status(504, metav1.StatusReasonTimeout), status(500, metav1.StatusReasonInternalError)
	ended := status(http.StatusFailedDependency, v1alpha1.StatusReasonChangeSetEnded)
	const unknown, nothing = "is not known", "nothing was written"
	for _, test := range []struct {
		what         string
		first, other *metav1.Status
		failure      error
		unwritten    bool
		code         int32
		reason       metav1.StatusReason
		want         string
	}{
		{"an item takes too long", timeout, ended, nil, true, 504, metav1.StatusReasonServerTimeout, nothing},
		{"a webhook fails", webhook, ended, nil, true, 500, metav1.StatusReasonInternalError, nothing},
		{"an item is refused", status(422, metav1.StatusReasonInvalid), timeout, nil, true, 422, metav1.StatusReasonInvalid, nothing},
		{"etcd does not answer", timeout, timeout, apierrors.NewTimeoutError("it is not known", 0), false, 504, metav1.StatusReasonTimeout, unknown},
		{"etcd fails", webhook, webhook, errors.New("etcd"), false, 500, metav1.StatusReasonInternalError, unknown},
		{"a key is not read", webhook, webhook, errors.New("KMS"), true, 500, metav1.StatusReasonInternalError, nothing},
	} {
		items := []*item{{set: set, code: int(test.first.Code), failure: test.first}, {set: set, index: 1, code: int(test.other.Code), failure: test.other}}
		err := errorOf(set, items, endedSet{failure: test.failure, unwritten: test.unwritten})
		var s apierrors.APIStatus
		if !errors.As(err, &s) || s.Status().Code != test.code || s.Status().Reason != test.reason || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v: want %d %s that says %q", test.what, err, test.code, test.reason, test.want)
		}
	}
}

// The audit event of a change set describes each item by its verb, object name and status code (S10.3).
func TestDescribeOutcome_namesTheChange_S10_3(t *testing.T) {
	set := &v1alpha1.ChangeSet{Spec: v1alpha1.ChangeSetSpec{Items: []v1alpha1.ChangeSetItem{
		{Create: &runtime.RawExtension{}}, {Apply: &runtime.RawExtension{}}, {Delete: &v1alpha1.ChangeSetDelete{}}}}}
	for i, want := range []string{"create www: 200", "apply www: 200", "delete www: 200"} {
		if got := (&item{index: i, name: "www", set: set, code: http.StatusOK}).describeOutcome(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
