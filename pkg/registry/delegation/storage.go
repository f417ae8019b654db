// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/registry/preview"
)

// Config is what the storage of Delegations is made of. Every field is required.
type Config struct {
	// Scheme knows v1alpha1.
	Scheme *runtime.Scheme
	// RESTOptions says where and how Delegations are stored.
	RESTOptions generic.RESTOptionsGetter
	// Preview decides a dry run.
	Preview preview.Decide[*v1alpha1.Delegation]
}

// REST is the storage of delegations.
type REST struct {
	*preview.Store[*v1alpha1.Delegation]
}

var (
	_ rest.StandardStorage      = (*REST)(nil)
	_ rest.ShortNamesProvider   = (*REST)(nil)
	_ rest.CategoriesProvider   = (*REST)(nil)
	_ rest.SingularNameProvider = (*REST)(nil)
)

// NewStorage makes the storage of Delegations.
func NewStorage(config Config) (*REST, error) {
	strategy := strategy{config.Scheme, names.SimpleNameGenerator}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &v1alpha1.Delegation{} },
		NewListFunc:               func() runtime.Object { return &v1alpha1.DelegationList{} },
		PredicateFunc:             match,
		DefaultQualifiedResource:  v1alpha1.Resource("delegations"),
		SingularQualifiedResource: v1alpha1.Resource("delegation"),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
	}
	delegation := &REST{&preview.Store[*v1alpha1.Delegation]{Store: store, Decide: config.Preview}}
	store.TableConvertor = delegation
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: config.RESTOptions, AttrFunc: attributesOf}); err != nil {
		return nil, fmt.Errorf("storage of delegations: %w", err)
	}
	return delegation, nil
}

// ShortNames of the resource.
func (*REST) ShortNames() []string { return []string{"zdel"} }

// Categories the resource belongs to.
func (*REST) Categories() []string { return []string{"kubizone"} }

// match is the predicate of a list or watch.
func match(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributesOf}
}

// attributesOf returns the labels and fields of a Delegation that selectors match.
func attributesOf(obj runtime.Object) (labels.Set, fields.Set, error) {
	delegation, ok := obj.(*v1alpha1.Delegation)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a Delegation", obj)
	}
	return delegation.Labels, fields.Set{
		"metadata.name":                     delegation.Name,
		"metadata.namespace":                delegation.Namespace,
		v1alpha1.FieldDelegationZoneRefName: delegation.Spec.ZoneRef.Name,
	}, nil
}
