// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// A plan of many Records asks for dry runs only of Records whose spec differs from the server's, whatever the reason.
func TestDropUnchanged(t *testing.T) {
	wanted := func(object string, change func(spec map[string]any)) *manifest {
		spec := map[string]any{"domainName": object + ".example.org.", "type": "A", "rdata": "192.0.2.1"}
		change(spec)
		return &manifest{object: &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.SchemeGroupVersion.String(),
			"kind": "Record", "metadata": map[string]any{"namespace": "team", "name": object}, "spec": spec}}}
	}
	same := func(map[string]any) {}
	var all []*manifest
	for i := range fewRecords {
		all = append(all, wanted(fmt.Sprint("same", i), same))
	}
	all = append(all,
		wanted("class", func(spec map[string]any) { spec["class"] = "IN" }),
		wanted("other", func(spec map[string]any) { spec["rdata"] = "192.0.2.2" }),
		wanted("more", func(spec map[string]any) { spec["ttl"] = int64(60) }),
		wanted("unknown", func(spec map[string]any) { spec["tll"] = int64(60) }),
		wanted("leaving", same),
	)
	var live []runtime.Object
	for _, m := range all {
		r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: m.object.GetName()}, Spec: v1alpha1.RecordSpec{
			DomainName: m.object.GetName() + ".example.org.", Class: v1alpha1.ClassIN, Type: "A", RData: "192.0.2.1"}}
		if r.Name == "leaving" {
			r.DeletionTimestamp, r.Finalizers = new(metav1.Now()), []string{"example.org/wait"}
		}
		live = append(live, r)
	}
	all = append(all, wanted("absent", same))
	names := func(all []*manifest) (names []string) {
		for _, m := range all {
			names = append(names, m.object.GetName())
		}
		return names
	}
	server := fake.NewSimpleClientset(live...)
	l := newLab(t, server)
	differ, equal := l.dropUnchanged(t.Context(), all)
	if want := []string{"other", "more", "unknown", "leaving", "absent"}; !slices.Equal(names(differ), want) || equal != fewRecords+1 {
		t.Errorf("%d equal, others %q, want %q", equal, names(differ), want)
	}
	server.ClearActions()
	if differ, equal := l.dropUnchanged(t.Context(), all[:fewRecords]); len(differ) != fewRecords || equal != 0 || len(server.Actions()) > 0 {
		t.Errorf("few: %d equal, requests %v", equal, server.Actions())
	}
	server.PrependReactor("list", "records", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	if differ, equal := l.dropUnchanged(t.Context(), all); len(differ) != len(all) || equal != 0 {
		t.Errorf("without the right to list: %d equal", equal)
	}
}

// A zone that cannot be read for now is not absent: the plan ends with the reason. A zone that does not exist, or that
// the user may not read, is absent for the plan.
func TestListZones_endsAtATemporaryError(t *testing.T) {
	zones := v1alpha1.Resource("zones")
	for _, c := range []struct {
		err   error
		fails bool
	}{
		{apierrors.NewNotFound(zones, "shop"), false},
		{apierrors.NewForbidden(zones, "shop", errors.New("no right")), false},
		{apierrors.NewServiceUnavailable("etcd does not answer"), true},
	} {
		server := fake.NewSimpleClientset()
		server.PrependReactor("get", "zones", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
		record := &manifest{object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "Record",
			"metadata": map[string]any{"namespace": "team", "name": "www"},
			"spec":     map[string]any{"domainName": "www", "zoneRef": map[string]any{"name": "shop"}, "type": "A", "rdata": "192.0.2.1"},
		}}}
		err := newLab(t, server).listZones(t.Context(), []*manifest{record})
		if fails := err != nil; fails != c.fails {
			t.Errorf("after %v: %v", c.err, err)
		}
	}
}

// A user who may not list the zones of all namespaces makes a dry run of a Record without a zoneRef, and no zone is
// read.
func TestListZones_withoutARightToList(t *testing.T) {
	server := fake.NewSimpleClientset()
	server.PrependReactor("list", "zones", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(v1alpha1.Resource("zones"), "", errors.New("no right"))
	})
	server.PrependReactor("get", "zones", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("resource name may not be empty")
	})
	record := &manifest{object: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "Record",
		"metadata": map[string]any{"namespace": "team", "name": "www"},
		"spec":     map[string]any{"domainName": "www.example.org.", "type": "A", "rdata": "192.0.2.1"},
	}}}
	if err := newLab(t, server).listZones(t.Context(), []*manifest{record}); err != nil {
		t.Error(err)
	}
}
