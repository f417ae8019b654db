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

// Endpoint is embedded in the storage of a path. Discovery lists the path with the kind of Object.
type Endpoint struct{ Object runtime.Object }

func (e Endpoint) New() runtime.Object { return e.Object.DeepCopyObject() }

func (Endpoint) Destroy() {}

type Resource struct {
	Endpoint
	singular   string
	namespaced bool
}

func NewResource(empty runtime.Object, singular string, namespaced bool) Resource {
	return Resource{Endpoint{empty}, singular, namespaced}
}

func (r Resource) NamespaceScoped() bool { return r.namespaced }

func (r Resource) GetSingularName() string { return r.singular }

// Permission is a subresource that exists only for the RBAC right to create it. Requests get 405.
type Permission struct {
	Endpoint
	Resource schema.GroupResource
}

var _ rest.Connecter = Permission{}

func NewPermission(empty runtime.Object, of schema.GroupResource) Permission {
	return Permission{Endpoint{empty}, of}
}

func (Permission) ConnectMethods() []string { return []string{http.MethodPost} }

func (Permission) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }

func (p Permission) Connect(context.Context, string, runtime.Object, rest.Responder) (http.Handler, error) {
	return nil, apierrors.NewMethodNotSupported(p.Resource, "create")
}

// IsAllowed reports whether the user of the request has a right. asked needs neither User nor ResourceRequest. An
// authorizer that allows in spite of an error of another counts as yes.
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
