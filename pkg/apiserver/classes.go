// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/registry/dnsclass"
)

// classes says which DNSClasses are for a namespace: for those who name one by what etcd has, and of the default ones
// by what a watch has told.
type classes struct {
	store *dnsclass.REST
	// namespaces is where labels come from; nil standalone, where every namespace there could be is there and has its
	// name.
	namespaces corev1.NamespaceLister
	// informer follows store and indexes the default classes.
	informer cache.SharedIndexInformer
}

// byDefault is the index, whose one value is "", of the classes that are default ones.
const byDefault = "default"

func newClasses() *classes {
	c := &classes{}
	c.informer = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			within, err := internal(options)
			if err != nil {
				return nil, err
			}
			return c.store.List(ctx, within)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			within, err := internal(options)
			if err != nil {
				return nil, err
			}
			events, err := c.store.Watch(ctx, within)
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, bare), nil
		},
	}, &v1alpha1.DNSClass{}, 0, cache.Indexers{byDefault: func(obj any) ([]string, error) {
		if class.IsDefault(obj.(*v1alpha1.DNSClass)) {
			return []string{""}, nil
		}
		return nil, nil
	}})
	return c
}

// bare takes an object out of what a watch cache wraps it in, so that it is encoded once for all who watch.
func bare(event watch.Event) (watch.Event, bool) {
	if wrapped, ok := event.Object.(runtime.CacheableObject); ok {
		event.Object = wrapped.GetObject()
	}
	return event, true
}

// internal is options in the form that storage takes.
func internal(options metav1.ListOptions) (*internalversion.ListOptions, error) {
	within := &internalversion.ListOptions{}
	err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&options, within, nil)
	return within, err
}

// budget is what the annotation of a namespace says of its budget, "" for nothing. It takes the right to update the
// Namespace.
func (c *classes) budget(namespace string) string {
	if c.namespaces == nil {
		return ""
	}
	of, err := c.namespaces.Get(namespace)
	if err != nil {
		return ""
	}
	return of.Annotations[v1alpha1.AnnotationBudget]
}

// run follows the classes until ctx ends.
func (c *classes) run(ctx context.Context) error {
	c.informer.RunWithContext(ctx)
	return nil
}

// check is the readiness of classes.
func (c *classes) check() error {
	if !c.informer.HasSynced() {
		return errors.New("not listed yet")
	}
	return nil
}

// admits says whether a class may deliver zones of a namespace, and of a view; true where there is no such class (the
// controller says so of the zone), for a zone may be made before its class.
func (c *classes) admits(ctx context.Context, name, namespace, view string) (ofNamespace, ofView bool, err error) {
	named, err := c.store.Class(ctx, name)
	if apierrors.IsNotFound(err) {
		return true, true, nil
	}
	if err != nil {
		return false, false, err
	}
	return class.Admits(named, namespace, c.labels(namespace)), class.Delivers(named, view), nil
}

// first is the class which the zone names first; where it names none, the first by name of the default classes for its
// namespace and view; nil where there is no such class. It is not to be changed.
func (c *classes) first(ctx context.Context, zone *v1alpha1.Zone) (*v1alpha1.DNSClass, error) {
	refs := zone.Spec.DNSClassRefs
	if len(refs) == 0 {
		if all := c.inDefault(zone.Namespace, zone.Spec.View); len(all) > 0 {
			return all[0], nil
		}
		return nil, nil
	}
	if refs[0].Kind == v1alpha1.KindBind9Cluster {
		return nil, nil
	}
	named, err := c.store.Class(ctx, refs[0].Name)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) { // a bad request: no class can have that name, as validation will say
		return nil, nil
	}
	return named, err
}

// withdrawing are the classes that deliver the zone and do not allow it deletionPolicy Retain, by name: those that it
// names and that are there, or the default classes for its namespace and view.
func (c *classes) withdrawing(ctx context.Context, zone *v1alpha1.Zone) ([]string, error) {
	delivering := c.inDefault(zone.Namespace, zone.Spec.View)
	if len(zone.Spec.DNSClassRefs) > 0 {
		delivering = nil
	}
	for _, ref := range zone.Spec.DNSClassRefs {
		if ref.Kind == v1alpha1.KindBind9Cluster {
			continue
		}
		named, err := c.store.Class(ctx, ref.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		delivering = append(delivering, named)
	}
	var names []string
	for _, one := range delivering {
		if !one.Spec.AllowRetain {
			names = append(names, one.Name)
		}
	}
	return names, nil
}

// inDefault are the default classes for zones of a namespace and a view, by their names.
func (c *classes) inDefault(namespace, view string) []*v1alpha1.DNSClass {
	all, err := c.informer.GetIndexer().ByIndex(byDefault, "")
	if err != nil || len(all) == 0 {
		return nil
	}
	labels := c.labels(namespace)
	var admitting []*v1alpha1.DNSClass
	for _, one := range all {
		if one := one.(*v1alpha1.DNSClass); class.Admits(one, namespace, labels) && class.Delivers(one, view) {
			admitting = append(admitting, one)
		}
	}
	slices.SortFunc(admitting, func(one, other *v1alpha1.DNSClass) int { return strings.Compare(one.Name, other.Name) })
	return admitting
}

// deliver says whether a default class delivers zones of a namespace and a view that name none. It is asked with
// every write.
func (c *classes) deliver(namespace, view string) bool { return len(c.inDefault(namespace, view)) > 0 }

// mayDeliver is deliver, and true where the classes are not known yet: a wrong True of Ready is worse than a late one
// (S6.7).
func (c *classes) mayDeliver(namespace, view string) bool {
	return c.check() != nil || c.deliver(namespace, view)
}

// terminating says whether a namespace is being deleted: standalone none is, since none is an object.
func (c *classes) terminating(namespace string) bool {
	if c.namespaces == nil {
		return false
	}
	known, err := c.namespaces.Get(namespace)
	return err == nil && known.DeletionTimestamp != nil
}

func (c *classes) labels(namespace string) map[string]string {
	if c.namespaces != nil {
		if known, err := c.namespaces.Get(namespace); err == nil {
			return known.Labels
		}
	}
	return map[string]string{class.LabelNamespaceName: namespace}
}
