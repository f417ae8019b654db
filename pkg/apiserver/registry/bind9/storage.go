// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// Config configures the storage. All fields are required.
type Config struct {
	Scheme      *runtime.Scheme
	RESTOptions generic.RESTOptionsGetter
	Authorizer  authorizer.UnconditionalAuthorizer
	Rules       validation.FleetRules
}

// NewStorage returns the storages by path, and the storage of Bind9Clusters. The right to create
// bind9instances/external permits spec.external.
func NewStorage(config Config) (map[string]rest.Storage, *kind.REST[*bind9.Bind9Cluster], error) {
	paths := map[string]rest.Storage{
		"bind9instances/external": kind.NewPermission(&bind9.Bind9Instance{}, bind9.Resource("bind9instances/external")),
	}
	// Without a Decide function, dry runs only validate.
	if _, err := completeKind(newProviders(config.Rules), config).AddStorage(paths, config.Scheme, config.RESTOptions, nil); err != nil {
		return nil, nil, err
	}
	if _, err := completeKind(newInstances(config.Rules), config).AddStorage(paths, config.Scheme, config.RESTOptions, nil); err != nil {
		return nil, nil, err
	}
	clusters, err := completeKind(newClusters(config.Rules), config).AddStorage(paths, config.Scheme, config.RESTOptions, nil)
	if err != nil {
		return nil, nil, err
	}
	paths["bind9clusters/scale"] = newScale(clusters.Store)
	return paths, clusters, nil
}

// completeKind adds the version, and the checks that all kinds of servers share. It modifies declared, and returns it.
func completeKind[T kind.Object](declared *kind.Kind[T], config Config) *kind.Kind[T] {
	declared.GroupVersion = bind9.SchemeGroupVersion
	declared.Keep = func(_ context.Context, after, before T) { // delivery's finalizer
		after.SetFinalizers(kind.KeepDeliveryFinalizer(before.GetFinalizers(), after.GetFinalizers()))
	}
	// The rules of a new object are those of an update from none.
	declared.Validate = func(obj T) field.ErrorList {
		var none T
		return declared.ValidateUpdate(obj, none)
	}
	review := reviewer{config.Authorizer, declared.Resource}
	declared.Check = func(ctx context.Context, after, before T) error {
		// Labels, finalizers and garbage collection need no such right.
		if !kind.SpecChanged(after, before) {
			return nil
		}
		return review.reviewAuthor(ctx, after)
	}
	return declared
}
