// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/test/must"
)

// unjudged has an object of each kind that a controller judges.
const unjudged = `
dnsclasses: {metadata: {name: a}, spec: {webhook: {server: "https://192.0.2.1"}}}
deliveries: {metadata: {name: a-4679d3c887}, spec: {zone: {name: a, uid: u, fqdn: a.example.}, classRef: {name: a}}}
updatekeys: {metadata: {name: a}, spec: {tsigSecretRef: {name: a}, records: [{pattern: a.example.}]}}
bind9instances: {metadata: {name: a}, spec: {role: Primary}}
bind9clusters: {metadata: {name: a}, spec: {secondary: {replicas: 1}}}
clusterbind9providers: {metadata: {name: a}, spec: {secondary: {replicas: 1}}}
`

// Each object is created with the condition Ready=Unknown, and a status that the client sends is ignored. Without this
// condition, tools such as GitOps controllers would take the new object for ready, because no condition says otherwise
// (S7.11).
func TestCreate_saysThatNothingIsJudged_S7_11(t *testing.T) {
	client, _ := wholeServer(t, func(c *Config) { c.Fleet = validation.FleetRules{Repositories: []string{"docker.io/"}} })
	all := map[string]map[string]any{}
	must.Succeed(t, yaml.Unmarshal([]byte(unjudged), &all))
	for resource, object := range all {
		api := client.KubizoneV1alpha1().RESTClient()
		if strings.Contains(resource, "bind9") {
			api = client.Bind9V1alpha1().RESTClient()
		}
		object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Forged",
			"message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}
		request := api.Post().Resource(resource)
		if resource != "dnsclasses" && resource != "clusterbind9providers" {
			request = request.Namespace("team")
		}
		answer, err := request.Body(must.Get(yaml.Marshal(object))(t)).SetHeader("Content-Type", "application/yaml").
			SetHeader("Accept", "application/json").Do(t.Context()).Raw()
		if err != nil {
			t.Errorf("%s: %v %s", resource, err, answer)
			continue
		}
		var made unstructured.Unstructured
		must.Succeed(t, made.UnmarshalJSON(answer))
		conditions, _, _ := unstructured.NestedSlice(made.Object, "status", "conditions")
		if len(conditions) != 1 {
			t.Errorf("%s: the conditions are %v", resource, conditions)
			continue
		}
		want := map[string]any{"type": "Ready", "status": "Unknown", "reason": "Pending", "message": "no controller has judged it yet",
			"observedGeneration": int64(1), "lastTransitionTime": made.Object["metadata"].(map[string]any)["creationTimestamp"]}
		if !reflect.DeepEqual(conditions[0], want) {
			t.Errorf("%s: %v, want %v", resource, conditions[0], want)
		}
	}
}
