// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
)

// S11.2: a quantity with an exponent of many digits would keep the server busy for hours where it is read.
func testFleetQuantities(t *testing.T, client *versioned.Clientset) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	clusters := client.Bind9V1alpha1().Bind9Clusters("quantities")
	if _, err := clusters.Create(ctx, fleetCluster("edge"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	object := func(storage string) string {
		return `{"apiVersion":"bind9.kubi.zone/v1alpha1","kind":"Bind9Cluster","metadata":{"name":"edge"},"spec":{"storage":{"type":"EmptyDir",` + storage + `}}}`
	}
	cluster := fleetCluster("edge")
	cluster.Spec.Storage = &bind9.Storage{Type: bind9.StorageEmptyDir, Capacity: resource.NewQuantity(123456789012345, resource.DecimalSI)}
	raw, err := cluster.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: bind9.SchemeGroupVersion.String(), Kind: "Bind9Cluster"}, Raw: bytes.Replace(raw, []byte("123456789012345"), []byte("000001e-1000000"), 1)}
	wrapped, err := unknown.Marshal()
	if err != nil || !bytes.Contains(wrapped, []byte("1e-1000000")) {
		t.Fatalf("%v: %q", err, wrapped)
	}
	rest := client.Bind9V1alpha1().RESTClient()
	for _, test := range []struct {
		verb, contentType, body string
	}{
		{"POST", "application/json", object(`"capacity":"1e-1000000"`)},
		{"POST", "application/json", object(`"capacity":1e1000000`)},
		{"POST", "application/json", object(`"capacity":" 1\u0065-1000000"`)},
		{"POST", "application/json", object(`"capacity":"1e-1000000","capacity":"1Gi"`)},
		{"POST", "application/json", object(`"capacity":"1e-1000000"`) + strings.Repeat(" ", keptBody)},
		{"POST", "application/json", object(`"capacity":"1` + strings.Repeat("0", 100_000) + `.1"`)},
		{"POST", "application/yaml", "apiVersion: bind9.kubi.zone/v1alpha1\nkind: Bind9Cluster\nmetadata: {name: edge}\nspec: {storage: {type: EmptyDir, capacity: '1e-1000000'}}\n"},
		{"POST", runtime.ContentTypeProtobuf, "k8s\x00" + string(wrapped)},
		{"PATCH", string(types.MergePatchType), `{"spec":{"primary":{"resources":{"limits":{"cpu":"1e-1000000"}}}}}`},
		{"PATCH", string(types.JSONPatchType), `[{"op":"add","path":"/spec/storage","value":{"type":"EmptyDir","capacity":"1e-1000000"}}]`},
		{"PATCH", string(types.ApplyYAMLPatchType), object(`"capacity":"1e1000000000"`)},
	} {
		request := rest.Verb(test.verb).Namespace("quantities").Resource("bind9clusters").SetHeader("Content-Type", test.contentType).Param("fieldManager", "m").Body([]byte(test.body))
		if test.verb == "PATCH" {
			request = request.Name("edge")
		}
		shown := fmt.Sprintf("%s %.150q", test.contentType, test.body)
		if err := request.Do(ctx).Error(); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "exponent of at most 4") {
			t.Errorf("%s: %v", shown, err)
		}
	}
	if err := rest.Patch(types.MergePatchType).Namespace("quantities").Resource("bind9clusters").Name("edge").
		Body([]byte(`{"metadata":{"labels":{"commit":"1e12345"}},"spec":{"storage":{"type":"EmptyDir","capacity":"1.5Gi"},"primary":{"resources":{"limits":{"cpu":"1e3"}}}}}`)).Do(ctx).Error(); err == nil || !strings.Contains(err.Error(), "1e12345") {
		t.Errorf("a label that would be such a number is refused too: %v", err)
	}
	if err := rest.Patch(types.MergePatchType).Namespace("quantities").Resource("bind9clusters").Name("edge").
		Body([]byte(`{"metadata":{"annotations":{"a":"` + strings.Repeat("x1e-1000000", 100) + `"}},"spec":{"storage":{"type":"EmptyDir","capacity":"1.5Gi"},"primary":{"resources":{"limits":{"cpu":"1e3","memory":2000}}}}}`)).Do(ctx).Error(); err != nil {
		t.Error(err)
	}
}
