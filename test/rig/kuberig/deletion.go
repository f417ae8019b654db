// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kuberig

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
)

// DeleteZone sets the annotation if other namespaces have objects in the zone (S8.1).
func DeleteZone(ctx context.Context, zones typed.ZoneInterface, name string) error {
	err := zones.Delete(ctx, name, metav1.DeleteOptions{})
	if !apierrors.HasStatusCause(err, law.ReasonInUse) {
		return err
	}
	zone, err := zones.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationDelete, zone.UID)
	if _, err := zones.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	return zones.Delete(ctx, name, metav1.DeleteOptions{})
}
