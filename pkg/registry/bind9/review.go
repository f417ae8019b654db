// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

// reviewer asks whether the author of a spec has the rights that the spec uses: an object here is carried out by
// service accounts that have more of them (S11.6).
type reviewer struct {
	authorizer authorizer.UnconditionalAuthorizer
}

// right is what an author must have.
type right struct {
	group, resource, subresource string
	// why says what uses it.
	why string
}

var (
	// serverRights: the fleet makes a Deployment and a Service for each server. An author with both rights could run
	// the same pods without the fleet. Pods themselves are not asked for: users who deploy by Deployments alone often
	// lack that right.
	serverRights = []right{
		{group: "apps", resource: "deployments", why: "the servers of this object are run by Deployments that are made for its author"},
		{resource: "services", why: "the servers of this object are reached by Services that are made for its author"},
	}
	externalRight = right{group: bind9.GroupName, resource: "bind9instances", subresource: "external",
		why: "the controller connects to the address and the URL in spec.external, which its author may be unable to reach"}
)

// reviewCreation runs after further, since admission webhooks may change the object.
func (r *REST) reviewCreation(further rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if further != nil {
			if err := further(ctx, obj); err != nil {
				return err
			}
		}
		return r.reviewAuthor(ctx, obj)
	}
}

// reviewUpdate reviews a change of spec. Labels, finalizers and what the garbage collector changes need no right to
// run servers.
func (r *REST) reviewUpdate(further rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if further != nil {
			if err := further(ctx, obj, old); err != nil {
				return err
			}
		}
		if !specChanged(obj, old) {
			return nil
		}
		return r.reviewAuthor(ctx, obj)
	}
}

func (r *REST) reviewAuthor(ctx context.Context, obj runtime.Object) error {
	needs := serverRights
	if instance, ok := obj.(*bind9.Bind9Instance); ok && instance.Spec.External != nil {
		needs = []right{externalRight}
	}
	object := obj.(metav1.Object)
	for _, need := range needs {
		allowed, err := r.reviewer.mayCreate(ctx, need, object.GetNamespace())
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
		return apierrors.NewForbidden(bind9.Resource(r.kind.resource), object.GetName(), fmt.Errorf(
			"the right to create %s %s is needed: %s (S11.6); a RoleBinding to a role with that right gives it", need, where, need.why))
	}
	return nil
}

func (r right) String() string {
	text := r.resource
	if r.group != "" {
		text += "." + r.group
	}
	if r.subresource != "" {
		text += "/" + r.subresource
	}
	return text
}

// mayCreate reports whether the user of the request may create a resource in a namespace, "" for all of them.
func (r *reviewer) mayCreate(ctx context.Context, need right, namespace string) (bool, error) {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return false, apierrors.NewInternalError(errors.New("the request has no user"))
	}
	decision, _, err := r.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: user, Verb: "create", Namespace: namespace, APIGroup: need.group, APIVersion: "*", Resource: need.resource,
		Subresource: need.subresource, ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("asking whether create %s is allowed: %w", need, err))
	}
	return false, nil
}

// ExternalREST is the subresource external of bind9instances: a permission alone. Discovery lists it, so that kubectl
// knows it, and it takes no requests.
type ExternalREST struct{}

var (
	_ rest.Storage   = (*ExternalREST)(nil)
	_ rest.Connecter = (*ExternalREST)(nil)
)

// New makes an empty object, for discovery.
func (*ExternalREST) New() runtime.Object { return &bind9.Bind9Instance{} }

// Destroy has nothing to let go of.
func (*ExternalREST) Destroy() {}

// ConnectMethods is POST, which authorization calls create.
func (*ExternalREST) ConnectMethods() []string { return []string{http.MethodPost} }

// NewConnectOptions are none.
func (*ExternalREST) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }

// Connect refuses with 405: an external server is made by creating a Bind9Instance.
func (*ExternalREST) Connect(context.Context, string, runtime.Object, rest.Responder) (http.Handler, error) {
	return nil, apierrors.NewMethodNotSupported(bind9.Resource("bind9instances/external"), "create")
}
