// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package reaper

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	// page is how many objects are in memory at a time.
	page = 250
	// recheck is after how many removals the namespace is asked for again (R4).
	recheck = 100
)

// errFound ends a walk that has found what it looked for.
var errFound = errors.New("found")

// kind is one kind of namespaced objects of ours.
type kind struct {
	name   string
	list   func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	remove func(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// listKinds returns the kinds in the order they are removed: a zone that goes last need not release its records, and
// a Delegation that is in force nowhere releases none. A cluster goes before its instances, which its controller
// would make anew.
func (r *Reaper) listKinds(namespace string) []kind {
	all, fleet := r.config.Objects.KubizoneV1alpha1(), r.config.Objects.Bind9V1alpha1()
	records, zones, delegations := all.Records(namespace), all.Zones(namespace), all.Delegations(namespace)
	clusters, instances := fleet.Bind9Clusters(namespace), fleet.Bind9Instances(namespace)
	return []kind{
		{"records", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return records.List(ctx, o) }, records.Delete},
		{"zones", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return zones.List(ctx, o) }, zones.Delete},
		{"delegations", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return delegations.List(ctx, o)
		}, delegations.Delete},
		{"bind9clusters", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return clusters.List(ctx, o) }, clusters.Delete},
		{"bind9instances", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return instances.List(ctx, o)
		}, instances.Delete},
	}
}

// walkRemovable calls f with every object of a kind that can be removed. An object that is being deleted or protected
// cannot, nor can a Delegation of a zone that stands: what other namespaces have there by it goes with the zone.
func walkRemovable(ctx context.Context, k kind, f func(metav1.Object) error) error {
	p := pager.New(k.list)
	p.PageSize, p.PageBufferSize = page, 1
	return p.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		if zone, ok := item.(*v1alpha1.Zone); ok && zone.Spec.DeletionProtection {
			return nil
		}
		if d, ok := item.(*v1alpha1.Delegation); ok && d.Status.ZoneRef != nil {
			return nil
		}
		object := item.(metav1.Object)
		if object.GetDeletionTimestamp() != nil {
			return nil
		}
		return f(object)
	})
}

// hasRemovable reports whether there is an object to remove.
func (r *Reaper) hasRemovable(ctx context.Context, namespace string) (bool, error) {
	for _, k := range r.listKinds(namespace) {
		err := walkRemovable(ctx, k, func(metav1.Object) error { return errFound })
		if errors.Is(err, errFound) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("reaper: listing the %s of namespace %s: %w", k.name, namespace, err)
		}
	}
	return false, nil
}

// emptyNamespace removes what the namespace left. An object that another client removed meanwhile is no failure.
func (r *Reaper) emptyNamespace(ctx context.Context, namespace string) error {
	tried, removed, failed := 0, 0, 0
	var last error
	for _, k := range r.listKinds(namespace) {
		err := walkRemovable(ctx, k, func(object metav1.Object) error {
			if tried++; tried%recheck == 1 {
				if gone, err := r.isGone(ctx, namespace); err != nil || !gone {
					return errors.Join(fmt.Errorf("reaper: namespace %s is back, or may be, after %d removals: the rest of its objects stays", namespace, removed), err)
				}
			}
			uid, background := object.GetUID(), metav1.DeletePropagationBackground
			err := k.remove(ctx, object.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background})
			switch {
			case err == nil:
				removed++
			case apierrors.IsNotFound(err) || apierrors.IsConflict(err): // it is gone, or is another one by now
			case ctx.Err() != nil:
				return ctx.Err()
			default:
				failed++
				last = fmt.Errorf("%s %q: %w", k.name, object.GetName(), err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	klog.FromContext(ctx).Info("removed what a namespace that is gone left", "namespace", namespace, "objects", removed)
	if last != nil {
		return fmt.Errorf("reaper: %d objects of namespace %s, which is gone, are not removed; the last: %w", failed, namespace, last)
	}
	return nil
}
