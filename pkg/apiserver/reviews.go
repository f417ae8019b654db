// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// The generic apiserver decodes to the internal version, so addReviews registers the served types as internal too.
func addReviews(scheme *runtime.Scheme) {
	utilruntime.Must(authenticationv1.AddToScheme(scheme))
	utilruntime.Must(authorizationv1.AddToScheme(scheme))
	scheme.AddKnownTypes(schema.GroupVersion{Group: authenticationv1.GroupName, Version: runtime.APIVersionInternal},
		&authenticationv1.SelfSubjectReview{})
	scheme.AddKnownTypes(schema.GroupVersion{Group: authorizationv1.GroupName, Version: runtime.APIVersionInternal},
		&authorizationv1.SelfSubjectAccessReview{})
}

type subjectReviews struct{ kind.Resource }

var _ rest.Creater = subjectReviews{}

func newSubjectReviews() subjectReviews {
	return subjectReviews{kind.NewResource(&authenticationv1.SelfSubjectReview{}, "selfsubjectreview", false)}
}

// Create answers kubectl auth whoami: the user of the request, as authenticated.
func (subjectReviews) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (
	runtime.Object, error) {
	user, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	if err := kind.ValidateObject(ctx, object, validate); err != nil {
		return nil, err
	}
	info := authenticationv1.UserInfo{Username: user.GetName(), UID: user.GetUID(), Groups: user.GetGroups(),
		Extra: map[string]authenticationv1.ExtraValue{}}
	for key, value := range user.GetExtra() {
		info.Extra[key] = value
	}
	return &authenticationv1.SelfSubjectReview{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: info},
	}, nil
}

// accessReviews implements SelfSubjectAccessReview. The standalone authorizer ignores selectors, so these are dropped.
type accessReviews struct {
	kind.Resource
	authorizer authorizer.Authorizer
}

var _ rest.Creater = accessReviews{}

func newAccessReviews(by authorizer.Authorizer) accessReviews {
	return accessReviews{kind.NewResource(&authorizationv1.SelfSubjectAccessReview{}, "selfsubjectaccessreview", false), by}
}

// Create answers kubectl auth can-i: whether the user of the request has a right.
func (a accessReviews) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (
	runtime.Object, error) {
	asked, ok := object.(*authorizationv1.SelfSubjectAccessReview)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a SelfSubjectAccessReview: %T", object))
	}
	user, ok := request.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	resource, path := asked.Spec.ResourceAttributes, asked.Spec.NonResourceAttributes
	if (resource == nil) == (path == nil) {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName, Kind: "SelfSubjectAccessReview"}, "",
			field.ErrorList{
				field.Invalid(field.NewPath("spec"), asked.Spec, "give exactly one of resourceAttributes and nonResourceAttributes")})
	}
	if err := kind.ValidateObject(ctx, object, validate); err != nil {
		return nil, err
	}
	attributes := authorizer.AttributesRecord{User: user}
	if resource != nil {
		attributes.ResourceRequest = true
		attributes.Verb, attributes.Namespace, attributes.Name = resource.Verb, resource.Namespace, resource.Name
		attributes.APIGroup, attributes.APIVersion = resource.Group, resource.Version
		attributes.Resource, attributes.Subresource = resource.Resource, resource.Subresource
		// As in kube-apiserver: no version means every version.
		if attributes.APIVersion == "" {
			attributes.APIVersion = "*"
		}
	} else {
		attributes.Verb, attributes.Path = path.Verb, path.Path
	}
	decision, reason, err := a.authorizer.Authorize(ctx, attributes)
	answer := asked.DeepCopy()
	answer.Status = authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.DecisionAllow, Denied: decision == authorizer.DecisionDeny, Reason: reason,
	}
	if err != nil {
		answer.Status.EvaluationError = err.Error()
	}
	return answer, nil
}
