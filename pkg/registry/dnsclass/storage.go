// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsclass

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/registry/status"
)

// Config configures the storage of DNSClasses. Fields are required unless marked as optional.
type Config struct {
	// Scheme knows v1alpha1.
	Scheme *runtime.Scheme
	// RESTOptions says where and how DNSClasses are stored.
	RESTOptions generic.RESTOptionsGetter
	// AllowInlineSecrets accepts secrets in the class itself, where every user with read permission for classes sees
	// them. Optional.
	AllowInlineSecrets bool
}

// Storage is the REST storage of DNSClasses, by resource name.
type Storage struct {
	DNSClass *REST
	Status   *status.REST
	// Finalizers is written as a status is.
	Finalizers *status.REST
}

// REST is the storage of dnsclasses.
type REST struct {
	*genericregistry.Store
}

var (
	_ rest.StandardStorage      = (*REST)(nil)
	_ rest.ShortNamesProvider   = (*REST)(nil)
	_ rest.SingularNameProvider = (*REST)(nil)
)

// NewStorage makes the storage of DNSClasses.
func NewStorage(config Config) (*Storage, error) {
	strategy := strategy{config.Scheme, names.SimpleNameGenerator, config.AllowInlineSecrets}
	class := &REST{&genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &v1alpha1.DNSClass{} },
		NewListFunc:               func() runtime.Object { return &v1alpha1.DNSClassList{} },
		PredicateFunc:             match,
		DefaultQualifiedResource:  v1alpha1.Resource("dnsclasses"),
		SingularQualifiedResource: v1alpha1.Resource("dnsclass"),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
	}}
	class.TableConvertor = class
	if err := class.CompleteWithOptions(&generic.StoreOptions{RESTOptions: config.RESTOptions, AttrFunc: attributesOf}); err != nil {
		return nil, fmt.Errorf("storage of dnsclasses: %w", err)
	}
	return &Storage{DNSClass: class, Status: status.NewREST(class.Store, statusStrategy{strategy}), Finalizers: status.NewREST(class.Store,
		finalizersStrategy{strategy})}, nil
}

// Delete refuses a protected class, and warns of the effects of deleting one in use. It checks the object that is
// deleted, not one read before.
func (r *REST) Delete(ctx context.Context, name string, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object,
	bool, error) {
	return r.Store.Delete(ctx, name, refuseProtected(validation), options)
}

// DeleteCollection refuses as Delete does, class by class.
func (r *REST) DeleteCollection(ctx context.Context, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	list *internalversion.ListOptions) (runtime.Object, error) {
	return r.Store.DeleteCollection(ctx, refuseProtected(validation), options, list)
}

func refuseProtected(validation rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		class, ok := obj.(*v1alpha1.DNSClass)
		if ok && class.Spec.DeletionProtection {
			return apierrors.NewForbidden(v1alpha1.Resource("dnsclasses"), class.Name, fmt.Errorf(
				"spec.deletionProtection is on; turn it off first: kubectl patch dnsclass %s --type merge -p "+
					"'{\"spec\":{\"deletionProtection\":false}}'", class.Name))
		}
		if ok && class.DeletionTimestamp == nil && slices.Contains(class.Finalizers, v1alpha1.FinalizerDelivery) {
			warning.AddWarning(ctx, "", "zones are delivered by the class: all of them are withdrawn from its servers now (kubectl get "+
				"deliveries -A lists them); spec.deletionProtection refuses a deletion")
		}
		if validation == nil {
			return nil
		}
		return validation(ctx, obj)
	}
}

// Class reads a DNSClass as etcd has it.
func (r *REST) Class(ctx context.Context, name string) (*v1alpha1.DNSClass, error) {
	obj, err := r.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return obj.(*v1alpha1.DNSClass), nil
}

// ShortNames of the resource. It is in no category: tenants may not list classes, and `kubectl get kubizone` is theirs.
func (*REST) ShortNames() []string { return []string{"dc"} }

// match is the predicate of a list or watch.
func match(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributesOf}
}

// attributesOf returns the labels and fields of a DNSClass that selectors match.
func attributesOf(obj runtime.Object) (labels.Set, fields.Set, error) {
	class, ok := obj.(*v1alpha1.DNSClass)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a DNSClass", obj)
	}
	return class.Labels, fields.Set{"metadata.name": class.Name}, nil
}
