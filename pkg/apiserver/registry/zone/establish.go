// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/pkg/dns/name"
)

// The RBAC right to create zones/establish permits a standalone zone, a zone without a parent zone. A custom
// verb would be in every Role with all verbs.
const subresourceEstablish = "establish"

const maxReviews = 3

// resourceName returns the name for RBAC, "example.org", or "internal:example.org" in the view internal. It returns
// false for a relative or wrong name: these never make a standalone zone.
func resourceName(spec *v1alpha1.ZoneSpec) (string, bool) {
	if !name.IsAbsolute(spec.DomainName) {
		return "", false
	}
	fqdn, err := name.Parse(spec.DomainName)
	if err != nil {
		return "", false
	}
	text := fqdn.String()
	// Of the root zone the dot is the whole name.
	if fqdn != name.Root {
		text = strings.TrimSuffix(text, ".")
	}
	if spec.View != "" {
		text = spec.View + ":" + text
	}
	return text, true
}

func (r *REST) askEstablish(ctx context.Context, resource string) (context.Context, error) {
	allowed, err := isAllowed(ctx, r.config.Authorizer, "create", "zones", subresourceEstablish, genericapirequest.NamespaceValue(ctx),
		resource)
	if err != nil {
		return nil, err
	}
	return r.config.WithEstablish(ctx, allowed), nil
}

func isAllowed(ctx context.Context, by authorizer.UnconditionalAuthorizer, verb, resource, subresource, namespace, object string) (bool,
	error) {
	return kind.IsAllowed(ctx, by, authorizer.AttributesRecord{Verb: verb, Namespace: namespace, Name: object, Resource: resource,
		Subresource: subresource, APIGroup: v1alpha1.GroupName, APIVersion: v1alpha1.SchemeGroupVersion.Version})
}

// Create checks the right to establish before the write, if the Zone may be standalone.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validation rest.ValidateObjectFunc, options *metav1.CreateOptions) (
	runtime.Object, error) {
	if zone, ok := obj.(*v1alpha1.Zone); ok {
		if err := r.setClassDefaults(ctx, zone, true); err != nil {
			return nil, err
		}
		// The commit decides whether another zone encloses the name. Only then does the right count.
		if resource, ok := resourceName(&zone.Spec); ok {
			var err error
			if ctx, err = r.askEstablish(ctx, resource); err != nil {
				return nil, err
			}
		}
	}
	return r.REST.Create(ctx, obj, validation, options)
}

// Update may create, by server-side apply. Patch and admission determine the zone's name, perhaps under a lock, where
// no RBAC check may run. So an unchecked name ends the attempt, and Update checks the name and starts again.
func (r *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	attempt := ctx
	// The first attempt has authorized no name: it ends at a name that needs the right.
	checkedName, neededName := "", "" // neededName is set by each attempt
	info = &rebased{UpdatedObjectInfo: info, read: func(ctx context.Context, version string) *v1alpha1.Zone {
		return r.readAt(ctx, name, version)
	}}
	for range maxReviews {
		out, created, err := r.REST.Update(attempt, name, nameAuthorization{completed{info, r}, checkedName, &neededName}, createValidation,
			updateValidation, forceAllowCreate, options)
		if neededName == checkedName {
			return out, created, err
		}
		checkedName = neededName
		// Patch and admission run again in the next attempt, and may make another name of another stored Zone.
		if attempt, err = r.askEstablish(ctx, checkedName); err != nil {
			return nil, false, err
		}
	}
	return nil, false, apierrors.NewConflict(v1alpha1.Resource("zones"), name,
		errors.New("its domainName keeps changing; please read it and try again"))
}

// nameAuthorization refuses a name that is not authorized, and sets wantedName to it.
type nameAuthorization struct {
	rest.UpdatedObjectInfo
	authorizedName string
	wantedName     *string
}

// UpdatedObject refuses a Zone whose name has not been authorized, before the write. An existing zone keeps its name,
// and needs no right.
func (u nameAuthorization) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj, err := u.UpdatedObjectInfo.UpdatedObject(ctx, old)
	if err != nil {
		return nil, err
	}
	after, ok := obj.(*v1alpha1.Zone)
	if !ok {
		return obj, nil
	}
	before := old.(*v1alpha1.Zone)
	// An existing zone keeps its name.
	same := before.Spec.DomainName == after.Spec.DomainName && equality.Semantic.DeepEqual(before.Spec.ZoneRef, after.Spec.ZoneRef)
	if before.Status.FQDN != "" || before.ResourceVersion != "" && same {
		return obj, nil
	}
	if resource, ok := resourceName(&after.Spec); ok && resource != u.authorizedName {
		*u.wantedName = resource
		return nil, apierrors.NewConflict(v1alpha1.Resource("zones"), after.Name, errors.New("its name has not been authorized"))
	}
	return obj, nil
}
