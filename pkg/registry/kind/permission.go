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

// Permission is a subresource that exists only for the RBAC right to create it. Discovery lists it for kubectl;
// requests get 405.
type Permission struct {
	Of     schema.GroupResource
	Object runtime.Object
}

var (
	_ rest.Storage   = Permission{}
	_ rest.Connecter = Permission{}
)

// New is called by discovery.
func (p Permission) New() runtime.Object { return p.Object.DeepCopyObject() }

// Destroy does nothing.
func (Permission) Destroy() {}

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
