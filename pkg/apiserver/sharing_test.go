// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

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

// 300 writes to a long Zone's records add statuses to the watch cache, not specs (attack 3).
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
	shared, each := held(newSharing(plain)), held(plain)
	t.Logf("%d events of a Zone of %d octets: %d KiB, %d KiB without sharing", len(stored), len(stored[0]), shared>>10, each>>10)
	if shared > each/10 {
		t.Errorf("%d KiB, %d KiB without sharing", shared>>10, each>>10)
	}
}

// A differing part is not shared, nor is anything of another object with equal content.
func TestSharing_whatDiffersIsItsOwn(t *testing.T) {
	plain := install.New().StorageCodec()
	codec := newSharing(plain)
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
