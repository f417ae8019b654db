// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// BenchmarkStorage uses a typical Zone and Record in both forms; octets are per object in etcd.
func BenchmarkStorage(b *testing.B) {
	registry := New()
	forms := map[string]runtime.Codec{"protobuf": registry.StorageCodec(), "json": registry.Codecs.LegacyCodec(v1alpha1.SchemeGroupVersion)}
	meta := metav1.ObjectMeta{Name: "example-org", Namespace: "dns", UID: "3f0ad5b6-1d6b-4f4e-9d7c-5a1c8a1e7b11", Generation: 3,
		CreationTimestamp: metav1.NewTime(time.Unix(1700000000, 0)), ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "kubi.zone/v1alpha1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:domainName":{},"f:type":{},"f:rdata":{}}}`), Time: ptr.To(metav1.NewTime(time.Unix(1700000000, 0))),
		}}}
	condition := func(kind, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "AsItShouldBe", Message: message, LastTransitionTime: metav1.NewTime(time.Unix(1700000000, 0)), ObservedGeneration: 3}
	}
	zone := &v1alpha1.Zone{ObjectMeta: meta}
	zone.Spec = v1alpha1.ZoneSpec{DomainName: "example.org.", TTL: ptr.To[int32](300), Refresh: ptr.To[int32](86400), Retry: ptr.To[int32](7200), Expire: ptr.To[int32](3600000), NegativeResponseCache: ptr.To[int32](360),
		NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.1"}}, {Name: "ns2", Addresses: []string{"192.0.2.2"}}}, DeletionPolicy: v1alpha1.DeletionPolicyDelete}
	for i := range 4 {
		zone.Spec.Delegations = append(zone.Spec.Delegations, v1alpha1.DelegationRule{Namespaces: []string{fmt.Sprintf("team-%d", i)}, Records: []v1alpha1.RecordDelegation{{Pattern: fmt.Sprintf("*.team-%d", i), Types: []string{"A", "AAAA", "CNAME"}}}})
	}
	zone.Status = v1alpha1.ZoneStatus{ObservedGeneration: 3, FQDN: "example.org.", Serial: 2026112001, SettledSerial: 2026112001, Hash: fmt.Sprintf("%064x", 7), ContentState: fmt.Sprintf("%043d", 7), ContentGeneration: 4711, EntryCount: 1000,
		Conditions: []metav1.Condition{condition("Delegated", "has no parent here"), condition("Servable", "has 2 name servers"), condition("Settled", "nothing is outstanding"), condition("Ready", "nothing delivers it elsewhere")}}
	record := &v1alpha1.Record{ObjectMeta: meta}
	record.Spec = v1alpha1.RecordSpec{DomainName: "www", ZoneRef: &v1alpha1.ZoneReference{Name: "example-org"}, Type: "A", Class: "IN", RData: "192.0.2.80"}
	record.Status = v1alpha1.RecordStatus{ObservedGeneration: 3, FQDN: "www.example.org.", ZoneRef: &v1alpha1.AdoptingZone{Namespace: "dns", Name: "example-org", UID: meta.UID}, Serial: 2026112001,
		Conditions: []metav1.Condition{condition("Adopted", `in zone example.org. by delegation pattern "*"`), condition("Ready", "nothing delivers it elsewhere")}}
	for kind, object := range map[string]runtime.Object{"Zone": zone, "Record": record} {
		for form, codec := range forms {
			data := must.Get(runtime.Encode(codec, object))(b)
			b.Run(kind+"/"+form+"/read", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					must.Get(runtime.Decode(codec, data))(b)
				}
				b.ReportMetric(float64(len(data)), "octets")
			})
			b.Run(kind+"/"+form+"/write", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					must.Get(runtime.Encode(codec, object))(b)
				}
			})
		}
	}
}
