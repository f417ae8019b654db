// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// A list with a field selector uses an index only for a value for which the index holds all objects. With any other
// value the index would return nothing, although such objects exist.
func TestIndex_isAskedForItsValuesAlone(t *testing.T) {
	k := &Kind[*v1alpha1.Record]{Indexes: []Index[*v1alpha1.Record]{{Field: "spec.type", Values: []string{"A", "MX"},
		Get: func(record *v1alpha1.Record) string { return record.Spec.Type }}}}
	for selector, want := range map[string][]string{"": nil, "spec.type=A": {"f:spec.type"},
		"metadata.name=x,spec.type=MX": {"f:spec.type"}, "spec.type=TXT": nil, "spec.type!=A": nil, "metadata.name=A": nil} {
		selected := k.selectObjects(labels.Everything(), must.Get(fields.ParseSelector(selector))(t))
		var got []string
		for _, one := range selected.MatcherIndex(t.Context()) {
			got = append(got, one.IndexName)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q asks %q, want %q", selector, got, want)
		}
	}
	of := (*k.makeIndexers())["f:spec.type"]
	for rrtype, want := range map[string][]string{"A": {"A"}, "MX": {"MX"}, "TXT": nil} {
		if got := must.Get(of(&v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: rrtype}}))(t); !slices.Equal(got, want) {
			t.Errorf("a Record of type %s is at %q, want %q", rrtype, got, want)
		}
	}
}
