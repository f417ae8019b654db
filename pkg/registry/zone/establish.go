// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

// subresourceEstablish is the subresource of zones whose creation is the right to have a standalone zone (S3.2). A
// verb of its own on zones would come with every Role that has all verbs on them.
const subresourceEstablish = "establish"

// maxReviews bounds how often one update asks anew because the zone was renamed under it.
const maxReviews = 3

// EstablishREST is the subresource establish. It stands for a right alone: discovery lists it, so that kubectl knows
// it, and nothing can be sent to it.
type EstablishREST struct{}

var (
	_ rest.Storage   = (*EstablishREST)(nil)
	_ rest.Connecter = (*EstablishREST)(nil)
)

// New is what a request would be about.
func (*EstablishREST) New() runtime.Object { return &v1alpha1.Zone{} }

// Destroy has nothing to let go of.
func (*EstablishREST) Destroy() {}

// ConnectMethods are those of the right: POST is create.
func (*EstablishREST) ConnectMethods() []string { return []string{http.MethodPost} }

// NewConnectOptions are none.
func (*EstablishREST) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }

// Connect refuses with 405: a standalone zone is made by creating a Zone.
func (*EstablishREST) Connect(context.Context, string, runtime.Object, rest.Responder) (http.Handler, error) {
	return nil, apierrors.NewMethodNotSupported(v1alpha1.Resource("zones/"+subresourceEstablish), "create")
}

// establisher asks whether the user of a request may establish a zone and hands the answer on to the decision.
type establisher struct {
	authorizer authorizer.UnconditionalAuthorizer
	// with puts the answer into the context of the write.
	with func(ctx context.Context, allowed bool) context.Context
}

// resourceName is the name that a role lists to allow one zone: the fqdn without its trailing dot, "." for the root,
// behind `view:` outside of the default view. False for a zone that cannot be standalone: one whose name is relative,
// or is none.
func resourceName(spec *v1alpha1.ZoneSpec) (string, bool) {
	if !name.IsAbsolute(spec.DomainName) {
		return "", false
	}
	fqdn, err := name.Parse(spec.DomainName)
	if err != nil {
		return "", false
	}
	text := fqdn.String()
	if fqdn != name.Root {
		text = strings.TrimSuffix(text, ".")
	}
	if spec.View != "" {
		text = spec.View + ":" + text
	}
	return text, true
}

// askEstablish returns ctx with the answer for resource in it.
func (e *establisher) askEstablish(ctx context.Context, resource string) (context.Context, error) {
	allowed, err := isAllowed(ctx, e.authorizer, "create", "zones", subresourceEstablish, genericapirequest.NamespaceValue(ctx), resource)
	if err != nil {
		return nil, err
	}
	return e.with(ctx, allowed), nil
}

// isAllowed asks whether the user of the request may do something with a resource of this group.
func isAllowed(ctx context.Context, by authorizer.UnconditionalAuthorizer, verb, resource, subresource, namespace, object string) (bool, error) {
	who, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return false, apierrors.NewInternalError(errors.New("the request has no user"))
	}
	decision, _, err := by.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: verb, Namespace: namespace, Name: object, Resource: resource, Subresource: subresource,
		APIGroup: v1alpha1.GroupName, APIVersion: v1alpha1.SchemeGroupVersion.Version, ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("asking whether %s %s is allowed: %w", verb, strings.TrimSuffix(resource+"/"+subresource, "/"), err))
	}
	return false, nil
}

// Create creates a Zone, after asking whether it may be established where it could be standalone.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if zone, ok := obj.(*v1alpha1.Zone); ok {
		if err := r.setClassDefaults(ctx, zone, true); err != nil {
			return nil, err
		}
		if resource, ok := resourceName(&zone.Spec); ok {
			var err error
			if ctx, err = r.establisher.askEstablish(ctx, resource); err != nil {
				return nil, err
			}
		}
	}
	return r.Store.Create(ctx, obj, r.checkClassesOnCreate(validation), options)
}

// Update updates a Zone. Which name it comes to is known only within the update, after the patch and the admission,
// where a lock may be held; so a name that must be asked for ends the attempt, is asked for, and the update begins
// again.
func (r *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	attempt, asked := ctx, ""
	createValidation, updateValidation = r.checkClassesOnCreate(createValidation), r.checkClassesOnUpdate(updateValidation)
	for range maxReviews {
		out, created, err := r.Store.Update(attempt, name, unasked{completed{info, r}, asked}, createValidation, updateValidation, forceAllowCreate, options)
		var review *reviewFirst
		if !errors.As(err, &review) {
			return out, created, err
		}
		asked = review.resource
		if attempt, err = r.establisher.askEstablish(ctx, asked); err != nil {
			return nil, false, err
		}
	}
	return nil, false, apierrors.NewConflict(v1alpha1.Resource("zones"), name, errors.New("its domainName keeps changing; please read it and try again"))
}

// reviewFirst ends an attempt to update.
type reviewFirst struct{ resource string }

func (r *reviewFirst) Error() string {
	return "to be asked first: " + subresourceEstablish + " " + r.resource
}

// unasked stops an update that comes to a name nobody was asked about.
type unasked struct {
	rest.UpdatedObjectInfo
	asked string
}

func (u unasked) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj, err := u.UpdatedObjectInfo.UpdatedObject(ctx, old)
	if err != nil {
		return nil, err
	}
	after, ok := obj.(*v1alpha1.Zone)
	if !ok {
		return obj, nil
	}
	before := old.(*v1alpha1.Zone)
	// A zone that only gives up its zoneRef keeps its name and may become standalone by it.
	if before.ResourceVersion != "" && before.Spec.DomainName == after.Spec.DomainName && equality.Semantic.DeepEqual(before.Spec.ZoneRef, after.Spec.ZoneRef) {
		return obj, nil
	}
	if resource, ok := resourceName(&after.Spec); ok && resource != u.asked {
		return nil, &reviewFirst{resource}
	}
	return obj, nil
}
