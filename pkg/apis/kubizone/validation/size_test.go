// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// fill grows the metadata of an object in each way that no other limit bounds. field is the field of the error.
var fill = map[string]struct {
	field, wayOut string
	put           func(o *metav1.ObjectMeta, octets int)
}{
	"labels": {"metadata", "labels, annotations", func(o *metav1.ObjectMeta, octets int) {
		o.Labels = map[string]string{}
		for i := range octets / 76 {
			o.Labels[fmt.Sprintf("l%08d", i)] = strings.Repeat("x", 60)
		}
	}},
	"finalizers": {"metadata", "finalizers", func(o *metav1.ObjectMeta, octets int) {
		o.Finalizers = nil
		for i := range octets / 62 {
			o.Finalizers = append(o.Finalizers, fmt.Sprintf("example.org/f%07d%s", i, strings.Repeat("x", 40)))
		}
	}},
	"annotations": {"metadata", "annotations", func(o *metav1.ObjectMeta, octets int) {
		o.Annotations = map[string]string{"a": strings.Repeat("<", octets)}
	}},
	"managed fields": {"metadata.managedFields", "fewer field managers",
		func(o *metav1.ObjectMeta, octets int) { o.ManagedFields = makeManagedFields("", octets) }},
	"managed fields that are said to be those of status": {"status", "fewer field managers",
		func(o *metav1.ObjectMeta, octets int) { o.ManagedFields = makeManagedFields("status", octets) }},
}

func makeManagedFields(subresource string, octets int) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", APIVersion: "kubi.zone/v1alpha1", FieldsType: "FieldsV1", Subresource: subresource,
		FieldsV1: metav1.NewFieldsV1(`{"f:` + strings.Repeat("x", octets) + `":{}}`)}}
}

// A Record or Zone has at most 96 KiB in storage (S5.10). The refusal names the field that is too long, the object's
// size and the limit. An object that is already larger may keep its size or shrink, because otherwise its owner could
// change nothing in it (S2.4).
func TestSize_S5_10(t *testing.T) {
	for how, fill := range fill {
		t.Run(how, func(t *testing.T) {
			at := func(octets int) (*v1alpha1.Record, *v1alpha1.Zone) {
				record, zone := newRecord(nil), newZone(nil)
				record.ResourceVersion, zone.ResourceVersion = "1", "1"
				fill.put(&record.ObjectMeta, octets)
				fill.put(&zone.ObjectMeta, octets)
				return record, zone
			}
			small, zone := at(15 << 10)
			if errs := append(Record(small), Zone(zone)...); len(errs) > 0 {
				t.Errorf("15 KiB: %v", errs)
			}
			record, zone := at(250 << 10)
			for what, errs := range map[string]field.ErrorList{"record": Record(record), "zone": Zone(zone), "update": RecordUpdate(record, small)} {
				wantRules(t, errs)
				if text := list(errs).String(); !strings.HasPrefix(text, fill.field+": Too long") || !strings.Contains(text, " octets when stored, and the limit is ") || !strings.Contains(text, fill.wayOut) {
					t.Errorf("%s of 250 KiB: %s", what, text)
				}
			}
			less, lessZone := at(240 << 10)
			for what, errs := range map[string]field.ErrorList{
				"shrinks": append(RecordUpdate(less, record), ZoneUpdate(lessZone, zone)...), "stays": append(RecordUpdate(record, record), ZoneUpdate(zone, zone)...),
				"status": append(RecordStatusUpdate(record, record), ZoneStatusUpdate(zone, zone)...),
			} {
				if len(errs) > 0 {
					t.Errorf("%s: %v", what, errs)
				}
			}
		})
	}
}

// S5.10: a Record may have values of 60,000 octets, a Zone rules of 64 KiB; with controllers' status, both stay
// below 96 KiB.
func TestSize_ofSpecAndStatus_S5_10(t *testing.T) {
	if errs := Record(newRecord(func(s *v1alpha1.RecordSpec) {
		s.Type, s.RData = "TXT", ""
		for range 15 {
			s.Values = append(s.Values, strings.Repeat("x", 3978)+fmt.Sprint(len(s.Values)))
		}
	})); len(errs) > 0 {
		t.Errorf("60,000 octets of values on the wire: %v", errs)
	}
	wide := newRecord(func(s *v1alpha1.RecordSpec) {
		s.Type, s.RData = "TXT", ""
		for i := range 14 {
			s.Values = append(s.Values, `"`+strings.TrimSuffix(strings.Repeat(strings.Repeat(`\200`, 250)+`" "`, 16), `" "`)+fmt.Sprint(i)+`"`)
		}
	})
	if text := list(Record(wide)).String(); !strings.HasPrefix(text, "spec: Too long") || !strings.Contains(text, "several Records of the same name") {
		t.Errorf("octets written as numbers: %s", text)
	}
	rules := func(octets int) *v1alpha1.Zone {
		return newZone(func(s *v1alpha1.ZoneSpec) {
			for i := range octets / 200 {
				s.Delegations = append(s.Delegations, v1alpha1.DelegationRule{Namespace: "team-a", Records: []v1alpha1.RecordDelegation{{Pattern: fmt.Sprintf("%05d%s.%s.%s", i, strings.Repeat("a", 55), strings.Repeat("b", 60), strings.Repeat("c", 54))}}})
			}
		})
	}
	fits, large := rules(60<<10), rules(80<<10)
	if errs := Zone(fits); len(errs) > 0 {
		t.Errorf("60 KiB of rules: %v", errs)
	}
	for what, errs := range map[string]field.ErrorList{"zone": Zone(large), "update": ZoneUpdate(markStored(large), markStored(fits))} {
		if text := list(errs).String(); !strings.HasPrefix(text, "spec: Too long") || !strings.Contains(text, "the limit is 65536") || !strings.Contains(text, "child zones") {
			t.Errorf("%s of 80 KiB of rules: %s", what, text)
		}
	}
	zone := markStored(fits)
	for i := range maxConditions {
		zone.Status.Conditions = append(zone.Status.Conditions, metav1.Condition{Type: fmt.Sprintf("C%d%s", i, strings.Repeat("c", 300)), Status: "True", Reason: "R" + strings.Repeat("r", 1000),
			Message: strings.Repeat("m", maxMessage), LastTransitionTime: metav1.Now()})
	}
	if text := list(ZoneStatusUpdate(zone, markStored(fits))).String(); !strings.HasPrefix(text, "status: Too long") {
		t.Errorf("a status of %d octets: %s", zone.Status.Size(), text)
	}
	if most := MaxZoneOctets; MaxRecordOctets != most || MaxZoneSpecOctets > most-maxStatusOctets {
		t.Error("the parts are larger than the whole")
	}
}

func markStored(zone *v1alpha1.Zone) *v1alpha1.Zone {
	zone = zone.DeepCopy()
	zone.ResourceVersion = "1"
	return zone
}

type list field.ErrorList

func (l list) String() string {
	var all []string
	for _, e := range l {
		all = append(all, e.Error())
	}
	return strings.Join(all, "; ")
}

// S6.2.
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
	if errs := Zone(newZone(servers(8, 6))); len(errs) > 0 {
		t.Errorf("48: %v", errs)
	}
	if errs := Zone(newZone(servers(7, 7))); len(errs) != 1 || errs[0].Field != "spec.nameServers.addresses" {
		t.Errorf("49: %v", errs)
	}
}
