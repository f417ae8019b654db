// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law/content"
)

// fill gives an object's metadata so many octets, in the ways that nothing else bounds.
var fill = map[string]func(o *metav1.ObjectMeta, octets int){
	"labels": func(o *metav1.ObjectMeta, octets int) {
		o.Labels = map[string]string{}
		for i := range octets / 120 {
			o.Labels[fmt.Sprintf("l%08d", i)] = strings.Repeat("x", 60) + "x"
		}
	},
	"finalizers": func(o *metav1.ObjectMeta, octets int) {
		o.Finalizers = nil
		for i := range octets / 60 {
			o.Finalizers = append(o.Finalizers, fmt.Sprintf("example.org/f%d%s", i, strings.Repeat("x", 40)))
		}
	},
	"annotations that JSON escapes": func(o *metav1.ObjectMeta, octets int) {
		o.Annotations = map[string]string{"a": strings.Repeat("<", octets/6)}
	},
	"managed fields": func(o *metav1.ObjectMeta, octets int) {
		o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", APIVersion: "kubi.zone/v1alpha1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:` + strings.Repeat("x", octets) + `":{}}`)}}
	},
}

// S2.5: an object cannot be made so large that the step of a cascade which takes it from its zone does not fit into a
// transaction; one that is too large already may change, and shrink.
func TestSize_S2_5(t *testing.T) {
	for how, fill := range fill {
		t.Run(how, func(t *testing.T) {
			at := func(octets int) (*v1alpha1.Record, *v1alpha1.Zone) {
				record, zone := newRecord(nil), newZone(nil)
				record.ResourceVersion, zone.ResourceVersion = "1", "1"
				fill(&record.ObjectMeta, octets)
				fill(&zone.ObjectMeta, octets)
				return record, zone
			}
			small, zone := at(300 << 10)
			if errs := append(Record(small), Zone(zone)...); len(errs) > 0 {
				t.Errorf("300 KiB: %v", errs)
			}
			record, zone := at(900 << 10)
			text, err := json.Marshal(record)
			if err != nil || len(text) < MaxZoneOctets {
				t.Fatalf("%d octets, %v", len(text), err)
			}
			for what, errs := range map[string]fmt.Stringer{"record": list(Record(record)), "zone": list(Zone(zone)), "update": list(RecordUpdate(record, small))} {
				if !strings.Contains(errs.String(), "are stored with what it belongs to") {
					t.Errorf("%s of 900 KiB: %s", what, errs)
				}
			}
			less, lessZone := at(800 << 10)
			if text := list(RecordUpdate(less, record)).String() + list(ZoneUpdate(lessZone, zone)).String(); strings.Contains(text, "are stored with") {
				t.Errorf("shrinks: %s", text)
			}
		})
	}
}

type list field.ErrorList

func (l list) String() string {
	var all []string
	for _, e := range l {
		all = append(all, e.Error())
	}
	return strings.Join(all, "; ")
}

// S6.2: what a zone's name servers are in its parent and in itself is bounded alike.
func TestNameServers_addressesAreBounded_S6_2(t *testing.T) {
	if MaxAddresses != content.MaxGlue {
		t.Errorf("%d addresses of a zone, %d of a delegation", MaxAddresses, content.MaxGlue)
	}
	servers := func(hosts, each int) func(*v1alpha1.ZoneSpec) {
		return func(s *v1alpha1.ZoneSpec) {
			s.NameServers = nil
			for i := range hosts {
				ns := v1alpha1.NameServer{Name: fmt.Sprintf("ns%d", i)}
				for j := range each {
					ns.Addresses = append(ns.Addresses, fmt.Sprintf("10.0.%d.%d", i, j))
				}
				s.NameServers = append(s.NameServers, ns)
			}
		}
	}
	if errs := Zone(newZone(servers(8, 64))); len(errs) > 0 {
		t.Errorf("512: %v", errs)
	}
	if errs := Zone(newZone(servers(9, 57))); len(errs) != 1 || errs[0].Field != "spec.nameServers.addresses" {
		t.Errorf("513: %v", errs)
	}
}
