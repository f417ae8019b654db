// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/test/must"
)

// Choose returns at most one endpoint for an RRset, and each can be expressed as a Record (X2). After the Records are
// written, the next answer is the same, in any order of endpoints (X3).
func FuzzChoose(f *testing.F) {
	f.Add([]byte(`[{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"],"labels":{"resource":"ingress/a/x"}},
		{"dnsName":"WWW.example.org","recordType":"A","targets":["192.0.2.2","192.0.2.1"],"labels":{"resource":"crd/b/x"}}]`))
	f.Add([]byte(`[{"dnsName":"x.org","recordType":"AAAA","targets":["2001:DB8::1"],"labels":{"resource":"service/a/x"},"recordTTL":60},
		{"dnsName":"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa","recordType":"PTR","targets":["x.org"]}]`))
	f.Add([]byte(`[{"dnsName":"a.org","recordType":"CNAME","targets":["b.org."],"labels":{"resource":"pod/a/x"}},null,
		{"dnsName":"a.org","recordType":"txt","targets":["\"heritage=external-dns\"",""],"providerSpecific":[{"name":"alias"}]}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		show := func(all []*contract.Endpoint) (shown []string) {
			for _, e := range all {
				key := must.Get(e.Key())(t)
				targets := slices.Sorted(slices.Values(e.Targets))
				shown = append(shown, strings.ToLower(key.String()+" "+strings.Join(targets, ","))+e.Labels[contract.LabelResource])
			}
			slices.Sort(shown)
			return shown
		}
		var records []v1alpha1.Record
		var before []string
		for cycle := range 3 {
			endpoints, err := contract.ReadEndpoints(bytes.NewReader(body))
			if err != nil {
				return
			}
			if cycle == 2 {
				slices.Reverse(endpoints)
			}
			answer, _ := chooseAmong(own.ReadExisting(records), endpoints, admitCandidate)
			if shown := show(answer); cycle > 0 && !slices.Equal(shown, before) {
				t.Fatalf("cycle %d: %q, before %q", cycle, shown, before)
			}
			before = show(answer)
			seen := map[contract.Key]bool{}
			records = nil
			for _, e := range answer {
				key := must.Get(e.Key())(t)
				if seen[key] {
					t.Fatalf("%s is answered twice", key)
				}
				seen[key] = true
				r := must.Get(own.MakeRecord(e))(t)
				resource, _ := ReadResource(e)
				r.Namespace = resource.Namespace
				r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: FieldManager}}
				r.Status.ZoneRef = &v1alpha1.AdoptingZone{Name: "zone"}
				records = append(records, *r)
			}
		}
	})
}

// An endpoint read from a Record becomes the same Record again (X3).
func FuzzReadEndpoints(f *testing.F) {
	f.Add([]byte(`[{"dnsName":"www.example.org","targets":["192.0.2.1"],"recordType":"A","recordTTL":60}]`))
	f.Add([]byte(`[{"dnsName":"*.example.org","targets":["10 mail.example.org"],"recordType":"MX","labels":{"resource":"crd/a/b"}}]`))
	f.Add([]byte(`[{"dnsName":"1.2.0.192.in-addr.arpa","targets":["www.example.org"],"recordType":"PTR"},null]`))
	f.Add([]byte(`[{"dnsName":"x.org","targets":["\"heritage=external-dns\""],"recordType":"TXT","labels":{"ownedRecord":"y.org"}}]`))
	f.Add([]byte(`[{"dnsName":"x.org","targets":["::FFFF:1.2.3.4","a"],"recordType":"aaaa","recordTTL":-1}]`))
	m := Mapping{Owner: "default", Default: "dns"}
	f.Fuzz(func(t *testing.T, body []byte) {
		endpoints, err := contract.ReadEndpoints(bytes.NewReader(body))
		if err != nil {
			return
		}
		answer, _ := Existing{}.Choose(Group(m.MakeCandidates(nil, endpoints)), admitCandidate)
		for _, e := range answer {
			first, err := m.MakeRecord(e)
			if err != nil {
				t.Fatalf("%+v: %v", e, err)
			}
			again, err := m.MakeRecord(ReadEndpoint(first))
			if err != nil || !reflect.DeepEqual(first.Spec, again.Spec) {
				t.Fatalf("%+v is %+v, %v", first.Spec, again, err)
			}
			if first.Labels[v1alpha1.LabelExternalDNS] != "default" {
				t.Fatalf("%+v", first.Labels)
			}
		}
	})
}
