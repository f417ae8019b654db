// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func makeRecord() *v1alpha1.Record {
	return &v1alpha1.Record{
		ObjectMeta: metav1.ObjectMeta{Name: "www", Namespace: "team-a", Generation: 3, Labels: map[string]string{v1alpha1.LabelParentZone: "z.dns"}},
		Spec:       v1alpha1.RecordSpec{DomainName: "www", Type: "a", Class: "IN", Values: []string{"192.0.2.1", "192.0.2.2"}, ZoneRef: &v1alpha1.ZoneReference{Name: "z", Namespace: "dns"}},
		Status: v1alpha1.RecordStatus{
			FQDN: "www.example.org.", Serial: 2026112003, ZoneRef: &v1alpha1.AdoptingZone{Namespace: "dns", Name: "z", UID: types.UID("u")},
			Conditions: []metav1.Condition{{Type: "Adopted", Status: "True", Reason: "Adopted"}, {Type: "Ready", Status: "Unknown", Reason: "Pending", Message: "not confirmed yet"}},
		},
	}
}

// Each field of a Record's status must be either in serverFields, which clients cannot write, or in the list of
// controllers' fields here.
func TestServerFields_areComplete(t *testing.T) {
	controllers := []string{"conditions"}
	kind := reflect.TypeFor[v1alpha1.RecordStatus]()
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		if slices.Contains(serverFields, name) == slices.Contains(controllers, name) {
			t.Errorf("status.%s: whose is it?", name)
		}
	}
}

func TestRow(t *testing.T) {
	record := makeRecord()
	want := []any{"www", "www.example.org.", "A", "192.0.2.1, 192.0.2.2", "Unknown", "<unknown>", "www", "dns/z", "inherit",
		"<none>", int64(2026112003), "Pending: not confirmed yet"}
	if got := recordRow(record); !reflect.DeepEqual(got, want) {
		t.Errorf("row %q, want %q", got, want)
	}
	orphan := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "TXT", RData: strings.Repeat("x", 100), TTL: ptr.To[int32](0)}}
	got := recordRow(orphan)
	if data := got[3].(string); len([]rune(data)) != dataWidth || !strings.HasSuffix(data, "…") {
		t.Errorf("data %q", data)
	}
	if got[1] != "<none>" || got[7] != "<none>" || got[8] != "0" {
		t.Errorf("row %q", got)
	}
}

func TestAttributes(t *testing.T) {
	_, set, err := Kind.AttributesOf(makeRecord())
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"metadata.name": "www", "metadata.namespace": "team-a", "spec.type": "A", "spec.zoneRef.name": "z",
		"status.fqdn": "www.example.org.", "status.zone": "dns/z", "status.adopted": "True",
	} {
		if set[field] != want {
			t.Errorf("%s: %q, want %q", field, set[field], want)
		}
	}
	// Go keeps eight entries of a map in one group of 288 octets, and nine in a table of 900.
	usual := makeRecord()
	usual.Spec.ZoneRef = nil
	if _, set, _ := Kind.AttributesOf(usual); len(set) > 8 {
		t.Errorf("the watch cache keeps %d fields of each Record: %v", len(set), set)
	}
	// kubectl kubizone status lists what is not Ready in its present generation, and what a zone releases.
	for _, test := range []struct {
		status               metav1.ConditionStatus
		generation, observed int64
		ends                 *metav1.Time
		ready, withdrawn     string
	}{
		{"True", 1, 1, nil, "True", "False"}, {"True", 2, 1, nil, "Unknown", "False"}, {"False", 1, 1, &metav1.Time{}, "False", "True"},
		{"", 1, 0, nil, "Unknown", "False"},
	} {
		record := makeRecord()
		record.Generation, record.Status.EndsAt, record.Status.Conditions = test.generation, test.ends, nil
		if test.status != "" {
			record.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: test.status,
				ObservedGeneration: test.observed}}
		}
		_, set, err := Kind.AttributesOf(record)
		if err != nil || set["status.ready"] != test.ready || set["status.withdrawn"] != test.withdrawn {
			t.Errorf("%+v: %v, %v", test, set, err)
		}
		for _, index := range Kind.Indexes {
			if index.Get(record) != set[index.Field] {
				t.Errorf("%+v: the index has %s=%s", test, index.Field, index.Get(record))
			}
		}
	}
	if _, _, err := Kind.AttributesOf(&v1alpha1.Zone{}); err == nil {
		t.Error("a Zone is no Record")
	}
}
