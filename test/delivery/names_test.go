// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

// H7: of two zones of one name in different views a class delivers the one that was first; nothing of the other
// reaches the provider before the first one is gone from there.
func TestViews_oneZoneOfAName_H7(t *testing.T) {
	w, h := start(t), newHook(t)
	w.class("hook", h, func(spec *v1alpha1.DNSClassSpec) { spec.Views = []string{"*"} })
	w.zone("public", "example.org.", "hook")
	if err := w.record("www", "public", "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	w.settle()
	inside := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "inside"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "example.org.", View: "inside", NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
		DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "hook"}}, Delegations: []v1alpha1.DelegationRule{{Namespace: "default", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
	}}
	if _, err := w.api.Zones("default").Create(t.Context(), inside, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.api.Records("default").Create(t.Context(), &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "www-inside"}, Spec: v1alpha1.RecordSpec{
		DomainName: "www", View: "inside", ZoneRef: &v1alpha1.ZoneReference{Name: "inside"}, Type: "A", RData: "10.0.0.1",
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ready := func(name string) *metav1.Condition {
		zone, err := w.api.Zones("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady)
	}
	eventually(t, "the second zone says Conflict", func() bool {
		is := ready("inside")
		return is != nil && is.Reason == string(delivery.ReasonConflict)
	})
	w.change("www", "192.0.2.2")
	eventually(t, "the first is delivered on", func() bool { return h.has("192.0.2.2") == 1 && ready("public").Status == metav1.ConditionTrue })
	if h.has("10.0.0.1") != 0 {
		t.Error("the second zone was delivered into the first")
	}
	if err := w.api.Records("default").Delete(t.Context(), "www", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Zones("default").Delete(t.Context(), "public", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second is delivered when the first is gone", func() bool { return h.has("10.0.0.1") == 1 && ready("inside").Status == metav1.ConditionTrue })
}
