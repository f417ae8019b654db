// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func TestReadChanges_asExternalDNSWritesThem(t *testing.T) {
	c, err := ReadChanges(strings.NewReader(`{"create":[null,{"dnsName":"www.example.org","targets":["192.0.2.1"],"recordType":"A",
		"recordTTL":60,"labels":{"resource":"ingress/team-a/web"}}],"updateOld":[{"dnsName":"a"}],"updateNew":[{"dnsName":"b"}]}`))
	if err != nil || len(c.Create) != 1 || len(c.UpdateNew) != 1 || c.UpdateNew[0].DNSName != "b" || len(c.Delete) != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if key, err := c.Create[0].Key(); err != nil || key != (Key{"www.example.org.", "A"}) {
		t.Errorf("%v, %v", key, err)
	}
}

// The body is bounded: more is an error, and is not kept.
func TestReadEndpoints_areBounded(t *testing.T) {
	if _, err := ReadEndpoints(io.LimitReader(spaces{}, MaxBody+10)); err == nil || !strings.Contains(err.Error(), "octets") {
		t.Errorf("%v", err)
	}
	if all, err := ReadEndpoints(strings.NewReader("")); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

type spaces struct{}

func (spaces) Read(to []byte) (int, error) { return copy(to, bytes.Repeat([]byte(" "), len(to))), nil }

// Whatever comes in, nothing panics, and an endpoint that becomes a Record comes back from it as the same Record (X3).
func FuzzReadEndpoints(f *testing.F) {
	f.Add([]byte(`[{"dnsName":"www.example.org","targets":["192.0.2.1"],"recordType":"A","recordTTL":60}]`))
	f.Add([]byte(`[{"dnsName":"*.example.org","targets":["10 mail.example.org"],"recordType":"MX","labels":{"resource":"crd/a/b"}}]`))
	f.Add([]byte(`[{"dnsName":"1.2.0.192.in-addr.arpa","targets":["www.example.org"],"recordType":"PTR"},null]`))
	f.Add([]byte(`[{"dnsName":"x.org","targets":["\"heritage=external-dns\""],"recordType":"TXT","labels":{"ownedRecord":"y.org"}}]`))
	f.Add([]byte(`[{"dnsName":"x.org","targets":["::FFFF:1.2.3.4","a"],"recordType":"aaaa","recordTTL":-1}]`))
	m := Mapping{Owner: "default", Default: "dns"}
	f.Fuzz(func(t *testing.T, body []byte) {
		endpoints, err := ReadEndpoints(bytes.NewReader(body))
		if err != nil {
			return
		}
		wanted := Group(m.MakeCandidates(endpoints))
		answer, _ := Standing{}.Choose(wanted, func(*Candidate) Verdict { return Verdict{Decided: true} })
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
