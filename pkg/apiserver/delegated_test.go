// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"testing"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// A namespace's Role gives no write of a Delivery, its subresources, finalizers, DNSSEC keys or the state of update
// keys.
func TestWritesDelivery_needsARightInEveryNamespace_S8_3(t *testing.T) {
	for _, test := range []struct {
		resource, subresource string
		want                  bool
	}{
		{"deliveries", "", true}, {"deliveries", "status", true}, {"deliveries", "notify", true}, {"zones", "finalizers", true},
		{"zones", "dnssec", true}, {"updatekeys", "update", true}, {"updatekeys", "", false}, {"zones", "", false},
		{"zones", "status", false}, {"records", "", false},
	} {
		for verb, isWrite := range map[string]bool{"create": true, "update": true, "patch": true, "delete": true,
			"deletecollection": true, "get": false, "list": false, "watch": false} {
			asked := authorizer.AttributesRecord{ResourceRequest: true, APIGroup: v1alpha1.GroupName, Namespace: "team", Verb: verb,
				Resource: test.resource, Subresource: test.subresource, Name: "any"}
			if got := writesDelivery(asked); got != (test.want && isWrite) {
				t.Errorf("%s %s/%s: %v", verb, test.resource, test.subresource, got)
			}
		}
	}
}
