// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/registry/kind"
)

var strategy = kind.Strategy[*v1alpha1.Delivery]{Of: &Kind}

func makeDelivery() *v1alpha1.Delivery {
	return &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Name: "example-org-0123456789", Namespace: "dns", Generation: 1, Finalizers: []string{v1alpha1.FinalizerDelivery}},
		Spec: v1alpha1.DeliverySpec{
			Zone:     v1alpha1.DeliveredZone{Name: "example-org", UID: "u1", FQDN: "example.org."},
			ClassRef: v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: "public"},
		},
		Status: v1alpha1.DeliveryStatus{
			Serial:     7,
			Servers:    []v1alpha1.DeliveryServer{{Name: "a", State: v1alpha1.ServerCurrent}, {Name: "b", State: v1alpha1.ServerBehind}},
			Conditions: []metav1.Condition{{Type: "Ready", Status: "Unknown", Reason: "Pending"}},
		},
	}
}

// Promise 3; status writes do not change the spec.
func TestStrategy_prepare(t *testing.T) {
	created := makeDelivery()
	strategy.PrepareForCreate(t.Context(), created)
	if !reflect.DeepEqual(created.Status, v1alpha1.DeliveryStatus{Conditions: kind.Unjudged(created)}) || created.Generation != 1 {
		t.Errorf("created %+v", created)
	}
	before, after := makeDelivery(), makeDelivery()
	after.Status, after.Finalizers = v1alpha1.DeliveryStatus{}, nil
	strategy.PrepareForUpdate(t.Context(), after, before)
	if !reflect.DeepEqual(after.Status, before.Status) || after.Finalizers != nil {
		t.Errorf("updated %+v", after)
	}
	written := makeDelivery()
	written.Spec.ClassRef.Name, written.Finalizers, written.Status = "other", nil, v1alpha1.DeliveryStatus{Serial: 8}
	strategy.Sub("status").PrepareForUpdate(t.Context(), written, before)
	if written.Spec != before.Spec || len(written.Finalizers) != 1 || !reflect.DeepEqual(written.Status, v1alpha1.DeliveryStatus{Serial: 8}) {
		t.Errorf("status written: %+v", written)
	}
}

func TestRow(t *testing.T) {
	want := []any{"example-org-0123456789", "example-org", "public", int64(7), "Unknown", "<unknown>", "1/2", "Pending"}
	if got := row(makeDelivery()); !reflect.DeepEqual(got, want) {
		t.Errorf("row %q, want %q", got, want)
	}
	other := makeDelivery()
	other.Spec.ClassRef.Kind, other.Status.Servers = v1alpha1.KindBind9Cluster, nil
	if got := row(other); got[2] != "Bind9Cluster/public" || got[6] != "<none>" {
		t.Errorf("row %q", got)
	}
}

func TestAttributes(t *testing.T) {
	_, set, err := Kind.AttributesOf(makeDelivery())
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"metadata.name": "example-org-0123456789", "metadata.namespace": "dns", "spec.zone.name": "example-org", "spec.classRef.name": "public",
	} {
		if set[field] != want {
			t.Errorf("%s: %q, want %q", field, set[field], want)
		}
	}
	if _, _, err := Kind.AttributesOf(&v1alpha1.Zone{}); err == nil {
		t.Error("a Zone is no Delivery")
	}
}
