// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// A change set may carry Records as Go objects instead of JSON. The same checks apply to both: the object's name,
// namespace, kind and apiVersion, and the size limit of the whole set (S10.4).
func TestChangeSet_readsObjects_S10_4(t *testing.T) {
	record := func(octets int) *v1alpha1.Record {
		return &v1alpha1.Record{TypeMeta: metav1.TypeMeta{Kind: "Record", APIVersion: v1alpha1.SchemeGroupVersion.String()},
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "team"},
			Spec:       v1alpha1.RecordSpec{Values: []string{strings.Repeat("x", octets)}}}
	}
	changed := func(change func(*v1alpha1.Record)) *v1alpha1.Record {
		r := record(1)
		change(r)
		return r
	}
	for what, test := range map[string]struct {
		object *v1alpha1.Record
		want   string
	}{
		"fits":               {record(1), "[a] []"},
		"too large":          {record(v1alpha1.MaxChangeSetOctets), "spec.items: Invalid value: takes 262"},
		"another namespace":  {changed(func(r *v1alpha1.Record) { r.Namespace = "other" }), "spec.items[0].create.metadata.namespace"},
		"no name":            {changed(func(r *v1alpha1.Record) { r.Name = "" }), "spec.items[0].create.metadata.name"},
		"another kind":       {changed(func(r *v1alpha1.Record) { r.Kind = "Zone" }), "spec.items[0].create.kind"},
		"another apiVersion": {changed(func(r *v1alpha1.Record) { r.APIVersion = "v1" }), "spec.items[0].create.apiVersion"},
	} {
		set := &v1alpha1.ChangeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}, Spec: v1alpha1.ChangeSetSpec{
			Items: []v1alpha1.ChangeSetItem{{Create: &runtime.RawExtension{Object: test.object}}}}}
		names, errs := ChangeSet(set)
		if got := fmt.Sprint(names, errs); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %q", what, got, test.want)
		}
	}
}

// Prerequisites count as items do: a set of a single item could have megabytes of values to compare (S10.4).
func TestChangeSet_boundsPrerequisites_S10_4(t *testing.T) {
	value := strings.Repeat("x", 100)
	for each, want := range map[int]string{20: "[a] []", 30: "spec.prerequisites: Invalid value: takes 3"} {
		set := &v1alpha1.ChangeSet{Spec: v1alpha1.ChangeSetSpec{
			Items: []v1alpha1.ChangeSetItem{{Delete: &v1alpha1.ChangeSetDelete{Name: "a"}}}}}
		for i := range v1alpha1.MaxChangeSetItems {
			p := v1alpha1.ChangeSetPrerequisite{Name: fmt.Sprintf("n%d.example.org.", i), Type: "TXT"}
			for j := range each {
				p.Values = append(p.Values, fmt.Sprintf("%q", fmt.Sprint(j, value)))
			}
			set.Spec.Prerequisites = append(set.Spec.Prerequisites, p)
		}
		if names, errs := ChangeSet(set); !strings.HasPrefix(fmt.Sprint(names, errs), want) && !strings.Contains(fmt.Sprint(errs), want) {
			t.Errorf("%d values each: %v %v, want %q", each, names, errs, want)
		}
	}
}
