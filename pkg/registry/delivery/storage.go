// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

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
	"kubi.zone/kubizone/pkg/registry/status"
)

// Config is what the storage of Deliveries is made of. Every field is required.
type Config struct {
	// Scheme knows v1alpha1.
	Scheme *runtime.Scheme
	// RESTOptions says where and how Deliveries are stored.
	RESTOptions generic.RESTOptionsGetter
}

// Storage is the REST storage of Deliveries, by resource name.
type Storage struct {
	Delivery *REST
	Status   *status.REST
}

// REST is the storage of deliveries.
type REST struct {
	*genericregistry.Store
}

var (
	_ rest.StandardStorage      = (*REST)(nil)
	_ rest.CategoriesProvider   = (*REST)(nil)
	_ rest.SingularNameProvider = (*REST)(nil)
)

// NewStorage makes the storage of Deliveries.
func NewStorage(config Config) (*Storage, error) {
	strategy := strategy{config.Scheme, names.SimpleNameGenerator}
	delivery := &REST{&genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &v1alpha1.Delivery{} },
		NewListFunc:               func() runtime.Object { return &v1alpha1.DeliveryList{} },
		PredicateFunc:             match,
		DefaultQualifiedResource:  v1alpha1.Resource("deliveries"),
		SingularQualifiedResource: v1alpha1.Resource("delivery"),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
	}}
	delivery.TableConvertor = delivery
	if err := delivery.CompleteWithOptions(&generic.StoreOptions{RESTOptions: config.RESTOptions, AttrFunc: attributesOf}); err != nil {
		return nil, fmt.Errorf("storage of deliveries: %w", err)
	}
	return &Storage{Delivery: delivery, Status: status.NewREST(delivery.Store, statusStrategy{strategy})}, nil
}

// Categories the resource belongs to.
func (*REST) Categories() []string { return []string{"kubizone"} }

// match is the predicate of a list or watch.
func match(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributesOf}
}

// attributesOf returns the labels and fields of a Delivery that selectors match.
func attributesOf(obj runtime.Object) (labels.Set, fields.Set, error) {
	delivery, ok := obj.(*v1alpha1.Delivery)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a Delivery", obj)
	}
	return delivery.Labels, fields.Set{
		"metadata.name":                    delivery.Name,
		"metadata.namespace":               delivery.Namespace,
		v1alpha1.FieldDeliveryZoneName:     delivery.Spec.Zone.Name,
		v1alpha1.FieldDeliveryClassRefName: delivery.Spec.ClassRef.Name,
	}, nil
}
