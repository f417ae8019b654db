// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// A Record written inside the process is applied without a JSON request. Its field set must equal the fields of the
// JSON that a client would send, because it decides the ownership of fields.
func TestReadPatch_hasTheFieldsOfJSON(t *testing.T) {
	ttl := int32(0)
	for what, record := range map[string]*v1alpha1.Record{
		"empty": {},
		"full": {TypeMeta: metav1.TypeMeta{Kind: "Record", APIVersion: "kubi.zone/v1alpha1"},
			ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "7", Labels: map[string]string{"a": "b"}},
			Spec:       v1alpha1.RecordSpec{DomainName: "a", Type: "TXT", Values: []string{"x", ""}, TTL: &ttl}},
	} {
		var want map[string]any
		must.Succeed(t, json.Unmarshal(must.Get(json.Marshal(record))(t), &want))
		made := must.Get((&Write{Object: record}).readPatch(t.Context()))(t)
		var got map[string]any // with the numbers of JSON
		must.Succeed(t, json.Unmarshal(must.Get(json.Marshal(made.Object))(t), &got))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (- as JSON, + as applied)\n%s", what, diff)
		}
	}
}
