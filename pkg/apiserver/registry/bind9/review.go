// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// reviewer checks the rights of a spec's author, since the controller acts with more rights.
type reviewer struct {
	authorizer authorizer.UnconditionalAuthorizer
	resource   string
}

type right struct {
	group, resource, subresource string
	why                          string
}

var (
	// serverRights are the rights to run the same servers without Kubizone. Many authors lack the right to create pods.
	serverRights = []right{
		{group: "apps", resource: "deployments", why: "the servers of this object are run by Deployments that are made for its author"},
		{resource: "services", why: "the servers of this object are reached by Services that are made for its author"},
	}
	externalRight = right{group: bind9.GroupName, resource: "bind9instances", subresource: "external",
		why: "the controller connects to the address and the URL in spec.external, which its author may be unable to reach"}
)

// reviewAuthor returns 403 unless the author of a spec has the rights to run such servers without Kubizone, or, for an
// external server, the right to bind9instances/external (S11.6).
func (r *reviewer) reviewAuthor(ctx context.Context, object kind.Object) error {
	needs := serverRights
	if instance, ok := object.(*bind9.Bind9Instance); ok && instance.Spec.External != nil {
		needs = []right{externalRight}
	}
	for _, need := range needs {
		allowed, err := kind.IsAllowed(ctx, r.authorizer, authorizer.AttributesRecord{Verb: "create", Namespace: object.GetNamespace(),
			APIGroup: need.group, APIVersion: "*", Resource: need.resource, Subresource: need.subresource})
		if err != nil {
			return err
		}
		if allowed {
			continue
		}
		where := "in namespace " + object.GetNamespace()
		if object.GetNamespace() == "" {
			where = "in every namespace"
		}
		return refusal.ByRule("S11.6", apierrors.NewForbidden(bind9.Resource(r.resource), object.GetName(), fmt.Errorf(
			"the right to create %s %s is needed: %s (S11.6); a RoleBinding to a role with that right gives it", need, where, need.why)))
	}
	return nil
}

func (r right) String() string {
	text := schema.GroupResource{Group: r.group, Resource: r.resource}.String()
	if r.subresource != "" {
		text += "/" + r.subresource
	}
	return text
}
