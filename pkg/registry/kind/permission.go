// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Endpoint is embedded by the storage of a path that discovery lists with an object.
type Endpoint struct{ Object runtime.Object }

// New returns an empty object.
func (e Endpoint) New() runtime.Object { return e.Object.DeepCopyObject() }

// Destroy does nothing.
func (Endpoint) Destroy() {}

// Resource is an Endpoint that is no subresource.
type Resource struct {
	Endpoint
	singular   string
	namespaced bool
}

// NewResource returns a Resource of empty objects.
func NewResource(empty runtime.Object, singular string, namespaced bool) Resource {
	return Resource{Endpoint{empty}, singular, namespaced}
}

// NamespaceScoped reports whether the objects are in namespaces.
func (r Resource) NamespaceScoped() bool { return r.namespaced }

// GetSingularName returns the name of an object's resource.
func (r Resource) GetSingularName() string { return r.singular }

// Permission is a subresource that exists only for the RBAC right to create it. Discovery lists it for kubectl;
// requests get 405.
type Permission struct {
	Endpoint
	Of schema.GroupResource
}

var _ rest.Connecter = Permission{}

// NewPermission returns a Permission that discovery lists with empty.
func NewPermission(empty runtime.Object, of schema.GroupResource) Permission {
	return Permission{Endpoint{empty}, of}
}

// ConnectMethods returns POST, the verb create.
func (Permission) ConnectMethods() []string { return []string{http.MethodPost} }

// NewConnectOptions returns none.
func (Permission) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }

// Connect refuses with 405.
func (p Permission) Connect(context.Context, string, runtime.Object, rest.Responder) (http.Handler, error) {
	return nil, apierrors.NewMethodNotSupported(p.Of, "create")
}

// IsAllowed reports whether the user of ctx has the asked right.
func IsAllowed(ctx context.Context, by authorizer.UnconditionalAuthorizer, asked authorizer.AttributesRecord) (bool, error) {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return false, apierrors.NewInternalError(errors.New("the request has no user"))
	}
	asked.User, asked.ResourceRequest = user, true
	decision, _, err := by.Authorize(ctx, asked)
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	if err != nil {
		resource := schema.GroupResource{Group: asked.APIGroup, Resource: asked.Resource}.String() + "/" + asked.Subresource
		return false, apierrors.NewInternalError(fmt.Errorf("asking whether %s %s is allowed: %w", asked.Verb,
			strings.TrimSuffix(resource, "/"), err))
	}
	return false, nil
}
