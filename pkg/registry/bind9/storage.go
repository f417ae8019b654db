// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/registry/fromcache"
	"kubi.zone/kubizone/pkg/registry/status"
)

// Config is what the storage of the group is made of. Every field is required.
type Config struct {
	// Scheme knows bind9.kubi.zone.
	Scheme *runtime.Scheme
	// RESTOptions says where and how the objects are stored.
	RESTOptions generic.RESTOptionsGetter
	// Authorizer answers what the author of an object may do.
	Authorizer authorizer.UnconditionalAuthorizer
	// Rules are what the platform says of all servers.
	Rules validation.FleetRules
}

// NewStorage makes the storage of the group, by path.
func NewStorage(config Config) (map[string]rest.Storage, error) {
	paths := map[string]rest.Storage{"bind9instances/external": &ExternalREST{}}
	for i := range kinds {
		of := &kinds[i]
		strategy := strategy{config.Scheme, names.SimpleNameGenerator, of, config.Rules}
		store := &genericregistry.Store{
			NewFunc:                   of.new,
			NewListFunc:               of.newList,
			PredicateFunc:             match,
			DefaultQualifiedResource:  bind9.Resource(of.resource),
			SingularQualifiedResource: bind9.Resource(of.singular),
			CreateStrategy:            strategy,
			UpdateStrategy:            strategy,
			DeleteStrategy:            strategy,
			ResetFieldsStrategy:       strategy,
			TableConvertor:            of,
		}
		if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: config.RESTOptions, AttrFunc: attributesOf}); err != nil {
			return nil, fmt.Errorf("storage of %s: %w", of.resource, err)
		}
		resource := &REST{store, of, reviewer{config.Authorizer}}
		paths[of.resource] = resource
		paths[of.resource+"/status"] = status.NewREST(store, statusStrategy{strategy})
		if of.resource == "bind9clusters" {
			paths[of.resource+"/scale"] = &ScaleREST{resource}
			paths[of.resource+"/finalizers"] = status.NewREST(store, finalizersStrategy{strategy})
		}
	}
	return paths, nil
}

// REST is the storage of one resource.
type REST struct {
	*genericregistry.Store
	kind     *kind
	reviewer reviewer
}

var (
	_ rest.StandardStorage      = (*REST)(nil)
	_ rest.ShortNamesProvider   = (*REST)(nil)
	_ rest.CategoriesProvider   = (*REST)(nil)
	_ rest.SingularNameProvider = (*REST)(nil)
)

// ShortNames of the resource.
func (r *REST) ShortNames() []string { return r.kind.short }

// Categories the resource belongs to. "kubizone" is not among them: kubectl get kubizone fails where its user may not
// list one of the kinds, and a tenant with rights on zones and records has none on servers.
func (r *REST) Categories() []string {
	if !r.kind.namespaced {
		return nil
	}
	return []string{"bind9"}
}

// Create creates an object, after the review of its author.
func (r *REST) Create(ctx context.Context, obj runtime.Object, further rest.ValidateObjectFunc, options *metav1.CreateOptions) (
	runtime.Object, error) {
	return r.Store.Create(ctx, obj, r.reviewCreation(further), options)
}

// Update updates an object. A change of its spec is reviewed as a creation is.
func (r *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, onCreate rest.ValidateObjectFunc,
	onUpdate rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.Store.Update(ctx, name, info, r.reviewCreation(onCreate), r.reviewUpdate(onUpdate), forceAllowCreate, options)
}

// Delete deletes an object, or marks one that has finalizers, also where they came while it was deleted.
func (r *REST) Delete(ctx context.Context, name string, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object,
	bool, error) {
	return fromcache.Delete(ctx, r.Store, name, validation, options)
}

// match is the predicate of a list or watch.
func match(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributesOf}
}

// attributesOf returns the labels and fields of an object that selectors match.
func attributesOf(obj runtime.Object) (labels.Set, fields.Set, error) {
	meta, ok := obj.(metav1.Object)
	if !ok {
		return nil, nil, fmt.Errorf("%T is no object of %s", obj, bind9.GroupName)
	}
	set := fields.Set{"metadata.name": meta.GetName()}
	if meta.GetNamespace() != "" {
		set["metadata.namespace"] = meta.GetNamespace()
	}
	if instance, ok := obj.(*bind9.Bind9Instance); ok {
		set[bind9.FieldInstanceRole] = string(instance.Spec.Role)
		set[bind9.FieldInstanceClusterRefName] = clusterName(instance)
	}
	return meta.GetLabels(), set, nil
}

func clusterName(instance *bind9.Bind9Instance) string {
	if instance.Spec.ClusterRef == nil {
		return ""
	}
	return instance.Spec.ClusterRef.Name
}
