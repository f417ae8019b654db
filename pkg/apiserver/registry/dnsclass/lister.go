// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsclass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// Lister reads named DNSClasses from etcd. Default classes and HaveNameServers use a watch, and may lag.
type Lister struct {
	store    *kind.REST[*v1alpha1.DNSClass]
	labelsOf func(namespace string) map[string]string
	informer cache.SharedIndexInformer
}

const byDefault = "default"

// NewLister returns a Lister. Until Run has listed the classes, there are no default classes.
func NewLister(store *kind.REST[*v1alpha1.DNSClass], labelsOf func(namespace string) map[string]string) *Lister {
	return &Lister{store, labelsOf, store.NewInformer(cache.Indexers{byDefault: func(obj any) ([]string, error) {
		if class.IsDefault(obj.(*v1alpha1.DNSClass)) {
			return []string{""}, nil
		}
		return nil, nil
	}})}
}

func (l *Lister) Run(ctx context.Context) error {
	l.informer.RunWithContext(ctx)
	return nil
}

// Check fails until the classes are listed.
func (l *Lister) Check() error {
	if !l.informer.HasSynced() {
		return errors.New("not listed yet")
	}
	return nil
}

// Admits reports whether a DNSClass may deliver zones of a namespace, and zones of a view. For an absent class, both
// are true, and the client gets a Warning.
func (l *Lister) Admits(ctx context.Context, name, namespace, view string) (ofNamespace, ofView bool, err error) {
	named, err := l.get(ctx, name)
	if apierrors.IsNotFound(err) {
		warning.AddWarning(ctx, v1alpha1.ReasonNoClass, refusal.Warning("S5.15", fmt.Sprintf("spec.dnsClassRefs: there is no DNSClass "+
			"%q yet, and the zone waits for it; kubectl get dnsclasses lists all classes", name)))
		return true, true, nil
	}
	if err != nil {
		return false, false, err
	}
	return class.Admits(named, namespace, l.labelsOf(namespace)), class.Delivers(named, view), nil
}

func (l *Lister) get(ctx context.Context, name string) (*v1alpha1.DNSClass, error) {
	obj, err := l.store.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return obj.(*v1alpha1.DNSClass), nil
}

// FirstClass returns the first class that the zone names or, if none is named, the first default class. It returns nil
// if the class is absent. The caller must not modify the class.
func (l *Lister) FirstClass(ctx context.Context, zone *v1alpha1.Zone) (*v1alpha1.DNSClass, error) {
	refs := zone.Spec.DNSClassRefs
	if len(refs) == 0 {
		if defaults := l.defaultClasses(zone.Namespace, zone.Spec.View); len(defaults) > 0 {
			return defaults[0], nil
		}
		return nil, nil
	}
	if refs[0].Kind == v1alpha1.KindBind9Cluster {
		return nil, nil // a Bind9Cluster has no defaults for Zones
	}
	named, err := l.get(ctx, refs[0].Name)
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) { // BadRequest: invalid name
		return nil, nil
	}
	return named, err
}

// ClassesWithoutRetain returns the zone's classes that forbid the deletionPolicy Retain: each Bind9Cluster, and
// DNSClasses without allowRetain. Absent classes are left out.
func (l *Lister) ClassesWithoutRetain(ctx context.Context, zone *v1alpha1.Zone) ([]v1alpha1.DNSClassReference, error) {
	// Default classes deliver only zones that name no class.
	delivering := l.defaultClasses(zone.Namespace, zone.Spec.View)
	if len(zone.Spec.DNSClassRefs) > 0 {
		delivering = nil
	}

	var refs []v1alpha1.DNSClassReference
	for _, ref := range zone.Spec.DNSClassRefs {
		if ref.Kind == v1alpha1.KindBind9Cluster {
			refs = append(refs, ref)
			continue
		}
		named, err := l.get(ctx, ref.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		delivering = append(delivering, named)
	}

	for _, one := range delivering {
		if !one.Spec.AllowRetain {
			refs = append(refs, v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: one.Name})
		}
	}
	return refs, nil
}

// defaultClasses returns the default classes that deliver zones of the namespace and view, by name. Before the first
// list there are none.
func (l *Lister) defaultClasses(namespace, view string) []*v1alpha1.DNSClass {
	all, err := l.informer.GetIndexer().ByIndex(byDefault, "")
	if err != nil || len(all) == 0 {
		return nil
	}
	labels := l.labelsOf(namespace)
	var admitting []*v1alpha1.DNSClass
	for _, one := range all {
		if one := one.(*v1alpha1.DNSClass); class.Admits(one, namespace, labels) && class.Delivers(one, view) {
			admitting = append(admitting, one)
		}
	}
	slices.SortFunc(admitting, func(one, other *v1alpha1.DNSClass) int { return strings.Compare(one.Name, other.Name) })
	return admitting
}

// HaveNameServers reports whether every class of the zone exists and has name servers of its own.
func (l *Lister) HaveNameServers(zone *v1alpha1.Zone) bool {
	var delivering []*v1alpha1.DNSClass
	if len(zone.Spec.DNSClassRefs) == 0 {
		delivering = l.defaultClasses(zone.Namespace, zone.Status.View)
	}
	for _, ref := range zone.Spec.DNSClassRefs {
		named, ok, err := l.informer.GetIndexer().GetByKey(ref.Name)
		// A Bind9Cluster transfers the zone with its NS, so the zone needs name servers.
		if ref.Kind == v1alpha1.KindBind9Cluster || !ok || err != nil {
			return false
		}
		delivering = append(delivering, named.(*v1alpha1.DNSClass))
	}
	return len(delivering) > 0 && !slices.ContainsFunc(delivering, func(one *v1alpha1.DNSClass) bool {
		return !class.HasNameServers(&one.Spec)
	})
}

// MayDeliver reports whether a default class delivers zones of a namespace and view. Until classes are listed it
// returns true, because a late Ready is better than a wrong Ready.
func (l *Lister) MayDeliver(namespace, view string) bool {
	return l.Check() != nil || len(l.defaultClasses(namespace, view)) > 0
}
