// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/test/must"
)

// longZone has rules of about 60 KB.
func longZone(serial uint32) *v1alpha1.Zone {
	z := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "z", UID: "u", Annotations: map[string]string{"a": "b"}}}
	for i := range 300 {
		z.Spec.Delegations = append(z.Spec.Delegations, v1alpha1.DelegationRule{Namespace: "team-b", Records: []v1alpha1.RecordDelegation{{Pattern: fmt.Sprint(i) + strings.Repeat("a", 180)}}})
	}
	z.Status.Serial = int64(serial)
	return z
}

// A Zone with many rules is stored again by each write of its Records, and the watch cache decodes each version. The
// unchanged spec is shared between the versions, so 300 writes add only 300 statuses to memory (attack 3).
func TestSharing_aLongSpecIsHeldOnce(t *testing.T) {
	plain := install.New().StorageCodec()
	var stored [][]byte
	for i := range 300 {
		data := must.Get(apiruntime.Encode(plain, longZone(uint32(i))))(t)
		stored = append(stored, data)
	}
	held := func(codec apiruntime.Codec) uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		events := make([]apiruntime.Object, len(stored))
		var all sync.WaitGroup
		for part := range 2 { // upstream decodes events concurrently
			all.Go(func() {
				for i := part; i < len(stored); i += 2 {
					events[i], _ = apiruntime.Decode(codec, stored[i])
				}
			})
		}
		all.Wait()
		runtime.GC()
		runtime.ReadMemStats(&after)
		for i, e := range events {
			if want, err := apiruntime.Decode(plain, stored[i]); err != nil || !reflect.DeepEqual(e, want) {
				t.Fatalf("event %d is another object: %v", i, err)
			}
		}
		return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	}
	shared, each := held(New(plain)), held(plain)
	t.Logf("%d events of a Zone of %d octets: %d KiB, %d KiB without sharing", len(stored), len(stored[0]), shared>>10, each>>10)
	if shared > each/10 {
		t.Errorf("%d KiB, %d KiB without sharing", shared>>10, each>>10)
	}
}

// When the decoder shares parts between versions of an object, a part that differs is a copy of its own. Parts of
// another object (another uid) are not shared, even if they are equal.
func TestSharing_whatDiffersIsItsOwn(t *testing.T) {
	plain := install.New().StorageCodec()
	codec := New(plain)
	decode := func(o apiruntime.Object) apiruntime.Object {
		t.Helper()
		data := must.Get(apiruntime.Encode(plain, o))(t)
		out := must.Get(apiruntime.Decode(codec, data))(t)
		if want, err := apiruntime.Decode(plain, data); err != nil || !reflect.DeepEqual(out, want) {
			t.Fatalf("%v, %v; want %v", out, err, want)
		}
		return out
	}
	first := decode(longZone(1)).(*v1alpha1.Zone)
	other := longZone(2)
	other.Spec.Delegations[299].Records[0].Pattern = "b"
	if second := decode(other).(*v1alpha1.Zone); &second.Spec.Delegations[0] == &first.Spec.Delegations[0] {
		t.Error("other rules are those of before")
	}
	other.UID = "v"
	if third := decode(other).(*v1alpha1.Zone); third.Spec.Delegations[299].Records[0].Pattern != "b" {
		t.Error("another object")
	}
	r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{UID: "r"}, Spec: v1alpha1.RecordSpec{Values: []string{"a", "b"}}}
	one := decode(r).(*v1alpha1.Record)
	r.Spec.TTL = new(int32)
	if two := decode(r).(*v1alpha1.Record); &two.Spec.Values[0] != &one.Spec.Values[0] {
		t.Error("equal values are held twice")
	}
	r.Spec.Values = nil
	decode(r)
}

// commonRecord is adopted, Ready and written by kubectl.
func commonRecord(i int) *v1alpha1.Record {
	name, now := fmt.Sprintf("www-%d", i), metav1.Now().Rfc3339Copy()
	fields := metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{}},"f:spec":{"f:domainName":{},"f:rdata":{},"f:ttl":{},"f:type":{}}}`)
	return &v1alpha1.Record{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID(fmt.Sprintf("5b0b9d0e-77c1-4d2e-9d2c-%012d", i)),
			CreationTimestamp: now, Generation: 1, Labels: map[string]string{v1alpha1.LabelParentZone: "example-org.platform"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl-client-side-apply",
				Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "kubi.zone/v1alpha1", Time: &now,
				FieldsType: "FieldsV1", FieldsV1: fields}}},
		Spec: v1alpha1.RecordSpec{DomainName: name + ".example.org.", Type: "A", RData: "192.0.2.1"},
		Status: v1alpha1.RecordStatus{ObservedGeneration: 1, FQDN: name + ".example.org.", Serial: 2026010101,
			ZoneRef: &v1alpha1.AdoptingZone{Namespace: "platform", Name: "example-org", UID: "0d5a7cf5-3a5c-4a53-8c4e-9b2e0d8f0a11"},
			Conditions: []metav1.Condition{
				{Type: "Ready", Status: "True", ObservedGeneration: 1, LastTransitionTime: now, Reason: "Delivered",
					Message: "every class in force has serial 2026010101"},
				{Type: "Adopted", Status: "True", ObservedGeneration: 1, LastTransitionTime: now, Reason: "Adopted",
					Message: "in zone example.org. by delegation pattern \"*\""},
			}},
	}
}

// Records of a list have many equal texts, in conditions, managed fields and labels. The decoder keeps each text once,
// so the list needs less memory, and each object stays equal to a plainly decoded one.
func TestSharing_recordsShareTheirTexts(t *testing.T) {
	plain := install.New().StorageCodec()
	const n = 5000
	var stored [][]byte
	for i := range n {
		stored = append(stored, must.Get(apiruntime.Encode(plain, commonRecord(i)))(t))
	}
	decoder := etcd3.NewDefaultDecoder(plain, storage.APIObjectVersioner{})
	held := func(decodes etcd3.Decoder) uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		list := make([]apiruntime.Object, n)
		for i := range list {
			list[i] = must.Get(decodes.DecodeListItem(t.Context(), stored[i], 1, func() apiruntime.Object { return &v1alpha1.Record{} }))(t)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		for i, o := range list {
			want := &v1alpha1.Record{}
			if must.Succeed(t, decoder.Decode(stored[i], want, 1)); !reflect.DeepEqual(o, want) {
				t.Fatalf("Record %d is another object", i)
			}
		}
		return (after.HeapAlloc - before.HeapAlloc) / n
	}
	each, shared := held(decoder), held(New(plain).Decoder(decoder))
	t.Logf("%d octets a Record, %d without sharing", shared, each)
	if shared > each*7/10 {
		t.Errorf("a Record takes %d octets, %d without sharing", shared, each)
	}
}

// Decoding a version of an object shares parts with earlier versions that watchers read at the same time, so it must
// never write to them. The test has no check of its own: the race detector reports such a write.
func TestSharing_writesNothingThatIsShared(t *testing.T) {
	plain := install.New().StorageCodec()
	codec, stored := New(plain), must.Get(apiruntime.Encode(plain, commonRecord(1)))(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				o, err := apiruntime.Decode(codec, stored)
				if err != nil {
					t.Error(err)
					return
				}
				o.DeepCopyObject()
			}
		})
	}
	all.Wait()
}
