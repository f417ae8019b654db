// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"math/rand"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

func TestStorageCodec_keepsEveryField(t *testing.T) {
	registry := New()
	stored, text := registry.StorageCodec(), registry.Codecs.LegacyCodec(StoredVersions...)
	fill := randfill.New().NilChance(0.3).NumElements(1, 3).RandSource(rand.NewSource(1)).Funcs(
		// Some meta types hold more than they serialize.
		func(at *metav1.Time, c randfill.Continue) { at.Time = time.Unix(c.Int63n(1<<32), 0) },
		func(fields *metav1.FieldsV1, c randfill.Continue) { fields.SetRawBytes([]byte(`{"f:spec":{}}`)) },
		func(meta *metav1.TypeMeta, c randfill.Continue) {},
		func(quantity *resource.Quantity, c randfill.Continue) {
			*quantity = *resource.NewQuantity(c.Int63n(1<<40), resource.BinarySI)
		},
	)
	for i := range 500 {
		for _, object := range []runtime.Object{&v1alpha1.Zone{}, &v1alpha1.Record{}, &v1alpha1.Delegation{}, &v1alpha1.DNSClass{}, &v1alpha1.Delivery{},
			&bind9.ClusterBind9Provider{}, &bind9.Bind9Cluster{}, &bind9.Bind9Instance{}} {
			fill.Fill(object)
			data := must.Get(runtime.Encode(stored, object.DeepCopyObject()))(t)
			if !bytes.HasPrefix(data, []byte("k8s\x00")) {
				t.Fatalf("stored as %q, not as protobuf", data[:min(len(data), 20)])
			}
			got := must.Get(runtime.Decode(stored, data))(t)
			json := must.Get(runtime.Encode(text, object.DeepCopyObject()))(t)
			want, err := runtime.Decode(stored, json) // JSON in etcd is read, too
			if err != nil {
				t.Fatal(err)
			}
			if !equality.Semantic.DeepEqual(got, want) {
				t.Fatalf("object %d: got %+v, want %+v", i, got, want)
			}
		}
	}
}
