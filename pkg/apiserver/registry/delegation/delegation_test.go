// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func inForce() *v1alpha1.Delegation {
	d := &v1alpha1.Delegation{ObjectMeta: metav1.ObjectMeta{Name: "team-a", Namespace: "dns", Generation: 3}}
	d.Spec = v1alpha1.DelegationSpec{ZoneRef: v1alpha1.DelegatedZone{Name: "example-org"}, Namespaces: []string{"team-a", "team-b"}, Records: []v1alpha1.RecordDelegation{{Pattern: "*.a"}}, Zones: []string{"sub"}}
	d.Status = v1alpha1.DelegationStatus{ObservedGeneration: 3, Records: 7, ZoneRef: &v1alpha1.AdoptingZone{Namespace: "dns", Name: "example-org", UID: "u"},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: "True", Reason: v1alpha1.ReasonAccepted}}}
	return d
}

func TestRow(t *testing.T) {
	want := []any{"team-a", "example-org", "team-a,team-b", int64(7), "True", "<unknown>", "*.a,sub", "<none>"}
	if got := delegationRow(inForce()); !reflect.DeepEqual(got, want) {
		t.Errorf("row %q, want %q", got, want)
	}
	waits := inForce()
	waits.Spec.Namespaces[0] = strings.Repeat("x", 50)
	waits.Status.Conditions[0] = metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: "False", Reason: "ZoneNotFound", Message: "there is none"}
	got := delegationRow(waits)
	if cell := got[2].(string); len([]rune(cell)) != namespacesWidth || got[4] != "False" || got[7] != "ZoneNotFound: there is none" {
		t.Errorf("row %q", got)
	}
}

func TestAttributes(t *testing.T) {
	_, set, err := Kind.AttributesOf(inForce())
	if err != nil || set[v1alpha1.FieldDelegationZoneRefName] != "example-org" {
		t.Errorf("%v, %v", set, err)
	}
}
