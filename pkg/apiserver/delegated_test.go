// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/changeset"
	"kubi.zone/kubizone/pkg/apiserver/registry/updatekey"
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

type asking = authorizer.AttributesRecord

// An UpdateKey lets a client of RFC 2136 write Records. While the server acts for such a key, the server may create,
// patch and delete Records of the key's namespace and do nothing else, whatever RBAC allows (S13.1). The user name of
// the key alone grants nothing, because any request could claim the name (attack 98).
func TestActingAuthorizer_allowsRecordsOfOneNamespace_S13_1(t *testing.T) {
	by := updatekey.User(&v1alpha1.UpdateKey{}, "192.0.2.7")
	acting := changeset.ActFor(t.Context(), "team")
	all := actingAuthorizer{authorizerfactory.NewAlwaysAllowAuthorizer()}
	none := actingAuthorizer{authorizerfactory.NewAlwaysDenyAuthorizer()}
	records := authorizer.AttributesRecord{User: by, ResourceRequest: true, APIGroup: v1alpha1.GroupName, Resource: "records",
		Namespace: "team"}
	asked := func(verb string, change func(*asking)) authorizer.AttributesRecord {
		a := records
		a.Verb = verb
		if change != nil {
			change(&a)
		}
		return a
	}
	for what, test := range map[string]struct {
		ctx   context.Context
		by    actingAuthorizer
		asked authorizer.AttributesRecord
		want  bool
	}{
		"creates":               {acting, none, asked("create", nil), true},
		"patches":               {acting, none, asked("patch", nil), true},
		"deletes":               {acting, none, asked("delete", nil), true},
		"deletes all":           {acting, all, asked("deletecollection", nil), false},
		"another namespace":     {acting, all, asked("create", func(a *asking) { a.Namespace = "other" }), false},
		"zones":                 {acting, all, asked("create", func(a *asking) { a.Resource = "zones" }), false},
		"a subresource":         {acting, all, asked("patch", func(a *asking) { a.Subresource = "status" }), false},
		"another group":         {acting, all, asked("create", func(a *asking) { a.APIGroup = "" }), false},
		"its name from outside": {t.Context(), none, asked("create", nil), false},
		"another user, without a mark": {t.Context(), all,
			asked("create", func(a *asking) { a.User = &user.DefaultInfo{Name: "x"} }), true},
	} {
		decision, _, err := test.by.Authorize(test.ctx, test.asked)
		if err != nil || (decision == authorizer.DecisionAllow) != test.want {
			t.Errorf("%s: %v, %v", what, decision, err)
		}
	}
}
