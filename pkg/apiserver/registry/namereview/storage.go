// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package namereview

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// Config configures the storage. All fields are required.
type Config struct {
	Authorizer authorizer.UnconditionalAuthorizer
	// Admit checks the namespace's budgets.
	Admit func(ctx context.Context, asked *v1alpha1.Record) error
	// Review decides whether the ledger would accept a Record without data.
	Review             func(ctx context.Context, asked *v1alpha1.Record) (v1alpha1.NameReviewStatus, error)
	Zones, Delegations rest.Lister
}

type REST struct {
	kind.Resource
	config Config
	rules  *ruleReader
}

var _ rest.Creater = (*REST)(nil)

func NewREST(config Config) *REST {
	return &REST{kind.NewResource(&v1alpha1.NameReview{}, "namereview", true), config,
		&ruleReader{zones: config.Zones, delegations: config.Delegations}}
}

// Create answers a NameReview, which is never stored: for a name, as the dry run of a Record there, and without a name,
// with the namespace's rules.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (
	runtime.Object, error) {
	review, ok := obj.(*v1alpha1.NameReview)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a NameReview: %T", obj))
	}
	review.ManagedFields, review.Status = nil, v1alpha1.NameReviewStatus{}
	review.Namespace = genericapirequest.NamespaceValue(ctx)
	asked, errs := validation.NameReview(review)
	if len(errs) > 0 {
		return nil, refusal.NewInvalid(v1alpha1.Kind("NameReview"), review.Name, errs)
	}
	if err := r.reviewAuthor(ctx, review); err != nil {
		return nil, err
	}
	if err := kind.ValidateObject(ctx, review, validate); err != nil {
		return nil, err
	}
	// The Record that is asked about has a random name, so no stored Record has it.
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: review.Namespace}}
	rest.FillObjectMetaSystemFields(record)
	record.Name = string(record.UID)
	if asked != nil {
		record.Spec = *asked
	}
	// A review reads as much as a dry run, so the budget counts it, with or without a name (S14.1).
	err := r.config.Admit(ctx, record)
	if err != nil {
		return nil, err
	}
	if asked != nil {
		review.Status, err = r.config.Review(ctx, record)
	} else {
		var table *ruleTable
		if table, err = r.rules.readRules(ctx); err == nil {
			review.Status = table.listFor(review.Namespace, review.Spec.View)
		}
	}
	if err != nil {
		return nil, err
	}
	return review, nil
}

func (r *REST) ListRules(ctx context.Context, namespace string) (rules []v1alpha1.NameReviewRule, complete bool) {
	table, err := r.rules.readRules(ctx)
	if err != nil {
		return nil, false
	}
	status := table.listFor(namespace, "")
	return status.Rules, status.Remaining == 0
}

func (r *REST) reviewAuthor(ctx context.Context, review *v1alpha1.NameReview) error {
	allowed, err := kind.IsAllowed(ctx, r.config.Authorizer, authorizer.AttributesRecord{Verb: "create", Namespace: review.Namespace,
		APIGroup: v1alpha1.GroupName, APIVersion: "*", Resource: "records"})
	if err != nil || allowed {
		return err
	}
	return refusal.ByRule("S14.1", apierrors.NewForbidden(v1alpha1.Resource("namereviews"), review.Name, fmt.Errorf("the right to create "+
		"records in namespace %s is needed (S14.1); a RoleBinding to kubizone-record-editor gives it", review.Namespace)))
}
