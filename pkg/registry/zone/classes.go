// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
)

// classed refuses a new Zone that names a class which is not for its namespace, after whatever else is to be asked: the last word on dnsClassRefs is
// that of admission webhooks.
func (r *REST) classed(validation rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if validation != nil {
			if err := validation(ctx, obj); err != nil {
				return err
			}
		}
		return r.mayName(ctx, obj.(*v1alpha1.Zone), nil)
	}
}

// reclassed refuses an update by the classes it adds. What a Zone names already it keeps naming: whoever narrows a class stops its delivery, and must not
// stop every other change of the Zone too.
func (r *REST) reclassed(validation rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if validation != nil {
			if err := validation(ctx, obj, old); err != nil {
				return err
			}
		}
		return r.mayName(ctx, obj.(*v1alpha1.Zone), old.(*v1alpha1.Zone).Spec.DNSClassRefs)
	}
}

func (r *REST) mayName(ctx context.Context, zone *v1alpha1.Zone, named []v1alpha1.DNSClassReference) error {
	for i, ref := range zone.Spec.DNSClassRefs {
		// A Bind9Cluster is one of the zone's own namespace.
		if ref.Kind == v1alpha1.KindBind9Cluster || slices.Contains(named, ref) {
			continue
		}
		admitted, err := r.admits(ctx, ref.Name, zone.Namespace)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("asking whether DNSClass %s is for namespace %s: %w", ref.Name, zone.Namespace, err))
		}
		if !admitted {
			return apierrors.NewForbidden(v1alpha1.Resource("zones"), zone.Name, fmt.Errorf(
				"%s: DNSClass %q does not deliver zones of namespace %q; a cluster admin can add the namespace to spec.namespaces.names of that DNSClass, or make its labels ones that spec.namespaces.selector selects",
				field.NewPath("spec", "dnsClassRefs").Index(i), ref.Name, zone.Namespace))
		}
	}
	return nil
}
