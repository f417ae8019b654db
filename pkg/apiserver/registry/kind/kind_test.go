// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func makeCondition(kind, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason}
}

// A client's write of conditions keeps the server's conditions, such as Adopted, and takes the client's others (S7.4).
func TestConditions(t *testing.T) {
	before := []metav1.Condition{makeCondition("Adopted", "Server"), makeCondition("Ready", "Before"), makeCondition("Mine", "Before")}
	written := []metav1.Condition{makeCondition("Ready", "Written"), makeCondition("Adopted", "Forged"),
		makeCondition("Stalled", "Written"), makeCondition("Other", "Written")}
	var got []string
	for _, c := range Conditions(before, written, "Adopted", "Ready", "Stalled") {
		got = append(got, c.Type+"="+c.Reason)
	}
	if text := strings.Join(got, " "); text != "Adopted=Server Ready=Before Other=Written" {
		t.Error(text)
	}
}

func TestKeepParentLabel(t *testing.T) {
	const label = v1alpha1.LabelParentZone
	for name, test := range map[string]struct{ before, written, want map[string]string }{
		"kept":        {map[string]string{label: "z.dns"}, map[string]string{"a": "b"}, map[string]string{"a": "b", label: "z.dns"}},
		"kept alone":  {map[string]string{label: "z.dns"}, nil, map[string]string{label: "z.dns"}},
		"not forged":  {nil, map[string]string{"a": "b", label: "x"}, map[string]string{"a": "b"}},
		"not changed": {map[string]string{label: "z.dns"}, map[string]string{label: "x"}, map[string]string{label: "z.dns"}},
	} {
		before, after := &metav1.ObjectMeta{Labels: test.before}, &metav1.ObjectMeta{Labels: test.written}
		keepParentLabel(after, before)
		if len(after.Labels) != len(test.want) {
			t.Errorf("%s: %v", name, after.Labels)
		}
		for key, value := range test.want {
			if after.Labels[key] != value {
				t.Errorf("%s: %v", name, after.Labels)
			}
		}
	}
}

func TestNotOwnedOfStatus(t *testing.T) {
	of := &Kind[*v1alpha1.Zone]{GroupVersion: v1alpha1.SchemeGroupVersion, Subresources: map[string]Subresource[*v1alpha1.Zone]{
		"status": {ResetFields: ResetFieldsOfStatus([]string{"serial"}, []string{"Adopted"})},
	}}
	set := Strategy[*v1alpha1.Zone]{Kind: of}.Sub("status").GetResetFields()[fieldpath.APIVersion("kubi.zone/v1alpha1")]
	owned := func(parts ...any) bool { return !set.Has(fieldpath.MakePathOrDie(parts...)) }
	adopted, ready := fieldpath.KeyByFields("type", "Adopted"), fieldpath.KeyByFields("type", "Ready")
	if owned("status", "serial") || owned("status", "conditions", adopted) || owned("spec") || owned("metadata", "labels") {
		t.Errorf("the server's part can be owned: %v", set)
	}
	if !owned("status", "conditions", ready) || !owned("status", "lastDeliveryError") {
		t.Errorf("a controller's part cannot be owned: %v", set)
	}
}

func TestCells(t *testing.T) {
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Delivered"}
	adopted := metav1.Condition{Type: "Adopted", Status: metav1.ConditionFalse, Reason: "NameHeld", Message: "held"}
	for _, test := range []struct{ name, got, want string }{
		{"ready", Ready([]metav1.Condition{ready}), "True"},
		{"never ready", Ready(nil), "Unknown"},
		{"nothing in the way", Message([]metav1.Condition{ready}, "Adopted", "Ready"), "<none>"},
		{"the first in the way", Message([]metav1.Condition{makeCondition("Ready", "Pending"), adopted}, "Adopted", "Ready"),
			"NameHeld: held"},
		{"no message", Message([]metav1.Condition{makeCondition("Ready", "Pending")}, "Adopted", "Ready"), "Pending"},
		{"no age", Age(metav1.Time{}), "<unknown>"},
		{"age", Age(metav1.NewTime(time.Now().Add(-3 * time.Hour))), "3h"},
		{"short", Shorten("äbc", 3), "äbc"},
		{"long", Shorten("äbcd", 3), "äb…"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", test.name, test.got, test.want)
		}
	}
}

// kubectl escapes only ESC and line breaks in cells (attack 28).
func TestTable_escapesTextsOfTenants(t *testing.T) {
	row := func(*v1alpha1.Record) []any { return []any{"\u009b31m\u202e\n", 5} }
	table, err := makeTable(nil, &v1alpha1.Record{}, nil, row)
	if err != nil || table.Rows[0].Cells[0] != `\u009b31m\u202e\n` || table.Rows[0].Cells[1] != 5 {
		t.Errorf("%v, %+v", err, table)
	}
}

func TestTable_ofListKeepsItsMetadata(t *testing.T) {
	list := &v1alpha1.RecordList{ListMeta: metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, Items: []v1alpha1.Record{{}, {}}}
	row := func(*v1alpha1.Record) []any { return []any{"x"} }
	table, err := makeTable([]metav1.TableColumnDefinition{{Name: "X"}}, list, &metav1.TableOptions{}, row)
	if err != nil || len(table.Rows) != 2 || table.ResourceVersion != "5" || table.Continue != "more" || len(table.ColumnDefinitions) != 1 {
		t.Errorf("%v, %+v", err, table)
	}
	if table, err = makeTable([]metav1.TableColumnDefinition{{Name: "X"}}, list, &metav1.TableOptions{NoHeaders: true}, row); err != nil || table.ColumnDefinitions != nil {
		t.Errorf("no headers: %v, %+v", err, table)
	}
}
