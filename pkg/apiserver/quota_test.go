// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/test/must"
)

const quotaOfRecords = "count/records.kubi.zone"

// Admission counts each Record of a change set in the namespace's ResourceQuota before the set commits. A refused set
// gives its count back, never below the actual number of Records, and leaves other quotas alone. A dry run counts
// nothing, so it gives nothing back (S10.3).
func TestGiveBack_S10_3(t *testing.T) {
	quota := func(name string, counts corev1.ResourceName) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Status: corev1.ResourceQuotaStatus{Used: corev1.ResourceList{counts: *resource.NewQuantity(7, resource.DecimalSI)}}}
	}
	core := fake.NewClientset(quota("records", quotaOfRecords), quota("secrets", "count/secrets"))
	w := newWatched(t, nil, func(s *Server) { s.core = core })
	used := func(name string) (n int64) {
		t.Helper()
		quota := must.Get(core.CoreV1().ResourceQuotas("team").Get(t.Context(), name, metav1.GetOptions{}))(t)
		for _, used := range quota.Status.Used {
			n = used.Value()
		}
		return n
	}
	w.mustSend(t, makeChangeSet(applyItem("one", "192.0.2.1"), applyItem("two", "192.0.2.1")))
	refused := makeChangeSet(applyItem("three", "192.0.2.1"), applyItem("four", "192.0.2.1"), applyItem("one", "192.0.2.9"),
		deleteItem("missing"))
	if _, err := w.api.ChangeSets("team").Create(t.Context(), refused, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil || used("records") != 7 {
		t.Errorf("a dry run gives back: %d, %v", used("records"), err)
	}
	for _, left := range []int64{5, 3, 2, 2} {
		if _, err := w.sendSet(t, refused); err == nil || used("records") != left || used("secrets") != 7 {
			t.Errorf("%v: %d are counted, want %d", err, used("records"), left)
		}
	}
}

// If another writer was faster at one of several quotas, this quota alone is read and reduced again.
func TestGiveBack_repeatsAConflict(t *testing.T) {
	quota := func(name string) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
			Status: corev1.ResourceQuotaStatus{Used: corev1.ResourceList{quotaOfRecords: *resource.NewQuantity(7, resource.DecimalSI)}}}
	}
	core := fake.NewClientset(quota("first"), quota("second"))
	failed := false
	core.PrependReactor("update", "resourcequotas", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.UpdateAction).GetObject().(*corev1.ResourceQuota).Name
		if failed || name != "second" {
			return false, nil, nil
		}
		failed = true
		return true, nil, apierrors.NewConflict(corev1.Resource("resourcequotas"), name, errors.New("modified"))
	})
	w := newWatched(t, nil, func(s *Server) { s.core = core })
	if _, err := w.sendSet(t, makeChangeSet(applyItem("one", "192.0.2.1"), deleteItem("missing"), deleteItem("other"))); err == nil {
		t.Fatal("the set is not refused")
	}
	for _, name := range []string{"first", "second"} {
		quota := must.Get(core.CoreV1().ResourceQuotas("team").Get(t.Context(), name, metav1.GetOptions{}))(t)
		if used := quota.Status.Used[quotaOfRecords]; used.Value() != 6 {
			t.Errorf("quota %s counts %d Records, want 6", name, used.Value())
		}
	}
}
