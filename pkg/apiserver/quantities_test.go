// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/test/must"
)

// S11.2: a quantity with a huge exponent would occupy the server for hours. Look-alikes, such as a commit in a label
// or a uid, are accepted.
func testFleetQuantities(t *testing.T, client *versioned.Clientset) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	clusters := client.Bind9V1alpha1().Bind9Clusters("quantities")
	cluster := fleetCluster("edge")
	cluster.Spec.Storage = &bind9.Storage{Type: bind9.StorageEmptyDir, Capacity: "2Gi"}
	made := must.Get(clusters.Create(ctx, cluster, metav1.CreateOptions{}))(t)
	object := func(storage string) string {
		return `{"apiVersion":"bind9.kubi.zone/v1alpha1","kind":"Bind9Cluster","metadata":{"name":"edge"},"spec":{"storage":{"type":"EmptyDir",` + storage + `}}}`
	}
	cluster.Spec.Storage.Capacity = "1e-1000000000"
	raw := must.Get(cluster.Marshal())(t)
	wrapped, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: bind9.SchemeGroupVersion.String(), Kind: "Bind9Cluster"}, Raw: raw}).Marshal()
	if err != nil || !bytes.Contains(wrapped, []byte("1e-1000000000")) {
		t.Fatalf("%v: %q", err, wrapped)
	}
	rest := client.Bind9V1alpha1().RESTClient()
	send := func(verb, contentType, body string) error {
		request := rest.Verb(verb).Namespace("quantities").Resource("bind9clusters").SetHeader("Content-Type", contentType).Body([]byte(body))
		if verb == "PATCH" {
			request = request.Name("edge").Param("fieldManager", "m")
		}
		if contentType == string(types.ApplyYAMLPatchType) {
			request = request.Param("force", "true")
		}
		return request.Do(ctx).Error()
	}
	for _, test := range []struct {
		verb, contentType, body string
	}{
		{"POST", "application/json", object(`"capacity":"1e-1000000000"`)},
		{"POST", "application/json", object(`"capacity":1e1000000000`)},
		{"POST", "application/json", object(`"capacity":"1Gi","capacity":" 1\u0065-1000000000"`)},
		{"POST", "application/json", object(`"capacity":"1` + strings.Repeat("0", 100_000) + `.1"`)},
		{"POST", "application/json", object(`"capacity":"lots"`)},
		{"POST", "application/yaml", "apiVersion: bind9.kubi.zone/v1alpha1\nkind: Bind9Cluster\nmetadata: {name: edge}\nspec: {storage: {type: EmptyDir, capacity: '1e-1000000000'}}\n"},
		{"POST", runtime.ContentTypeProtobuf, "k8s\x00" + string(wrapped)},
		{"PATCH", string(types.MergePatchType), `{"spec":{"primary":{"resources":{"limits":{"cpu":"1e-1000000000"}}}}}`},
		{"PATCH", string(types.JSONPatchType), `[{"op":"add","path":"/spec/storage","value":{"type":"EmptyDir","capacity":"1e-1000000000"}}]`},
		{"PATCH", string(types.JSONPatchType), `[{"op":"add","path":"/metadata/labels","value":{"n":"1e1000000000"}},{"op":"copy","from":"/metadata/labels/n","path":"/spec/storage/capacity"}]`},
		{"PATCH", string(types.ApplyYAMLPatchType), object(`"capacity":"1e1000000000"`)},
	} {
		err := send(test.verb, test.contentType, test.body)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `such as "1Gi"`) || len(err.Error()) > 1000 {
			t.Errorf("%s %.150q: %.1000v", test.contentType, test.body, err)
		}
	}
	for _, body := range []string{
		`{"metadata":{"uid":"` + string(made.UID) + `","labels":{"commit":"36e05271","n":"1e12345"},"annotations":{"a":"36e05271-9b92-4972-a264-a24f6ba0f682"}}}`,
		`{"spec":{"storage":{"capacity":"1.5Gi"},"primary":{"resources":{"requests":{"cpu":0.5},"limits":{"cpu":"1e3","memory":4294967296}}}}}`,
	} {
		if err := send("PATCH", string(types.MergePatchType), body); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	if got, err := clusters.Get(ctx, "edge", metav1.GetOptions{}); err != nil || got.Spec.Storage.Capacity != "1.5Gi" || got.Spec.Primary.Resources.Limits.Memory != "4294967296" {
		t.Errorf("%v: %v", err, got)
	}
}
