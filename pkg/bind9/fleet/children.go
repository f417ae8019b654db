// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

var childResources = []schema.GroupVersionResource{
	render.Deployments, render.StatefulSets, render.Services, render.NetworkPolicies, render.Disruptions, render.ConfigMaps,
	render.RoleBindings, render.Roles,
	render.Secrets, render.ServiceAccounts,
}

const (
	FieldManager = render.Manager
	// TakeOver permits the take-over of another manager's object.
	TakeOver        = "kubi.zone/take-over"
	labelSuperseded = bind9.GroupName + "/superseded-by"
)

var pods = corev1.SchemeGroupVersion.WithResource("pods")

type children struct {
	cluster      kubernetes.Interface
	installation string
	isOwner      func(namespace, owner string) bool
	// Informers of our objects, and of ReplicaSets with labelSuperseded, by namespace; "" means all.
	factories, superseded map[string]informers.SharedInformerFactory
	mu                    sync.Mutex
	// applied has the last apply of each object, so that an unchanged object needs no request.
	applied map[childKey]appliedObject
}

type childKey struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

type appliedObject struct {
	sentHash [sha256.Size]byte
	observed string
}

// newChildren prepares the informers for the namespaces, which the caller starts. They see only objects with the labels
// of this installation, so that a large cluster costs no memory.
func newChildren(cluster kubernetes.Interface, namespaces []string, installation string) *children {
	c := &children{
		cluster: cluster, installation: installation, applied: map[childKey]appliedObject{},
		factories: map[string]informers.SharedInformerFactory{}, superseded: map[string]informers.SharedInformerFactory{},
	}

	// An informer of all namespaces would see each object twice beside a narrower informer.
	if slices.Contains(namespaces, "") {
		namespaces = []string{""}
	}

	selector := labels.Set{render.LabelManager: render.Manager, render.LabelInstallation: installation}.String()
	newFactory := func(namespace, selector string) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(cluster, 0, informers.WithNamespace(namespace),
			informers.WithTransform(trimObject),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = selector }))
	}

	for _, namespace := range namespaces {
		c.factories[namespace], c.superseded[namespace] = newFactory(namespace, selector), newFactory(namespace, labelSuperseded)
		for _, resource := range childResources {
			c.forgetRemoved(c.factories[namespace], resource)
		}
	}

	for _, informer := range c.listInformers() {
		if err := informer.AddIndexers(cache.Indexers{indexOwner: listOwner}); err != nil {
			panic(err)
		}
	}
	return c
}

const indexOwner = "owner"

func listOwner(object any) ([]string, error) {
	o, ok := object.(metav1.Object)
	if !ok || o.GetAnnotations()[render.AnnotationOwner] == "" {
		return nil, nil
	}
	return []string{o.GetNamespace() + "/" + o.GetAnnotations()[render.AnnotationOwner]}, nil
}

// forgetRemoved drops the record of an apply when the object is deleted, so that the next reconcile makes the object
// again.
func (c *children) forgetRemoved(factory informers.SharedInformerFactory, resource schema.GroupVersionResource) {
	_, err := informerOf(factory, resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if at, err := cache.DeletionHandlingObjectToName(object); err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.applied, childKey{resource, at.Namespace, at.Name})
		}
	}})
	if err != nil {
		panic(err)
	}
}

func trimObject(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}

func (c *children) listInformers() []cache.SharedIndexInformer {
	var all []cache.SharedIndexInformer
	for _, factory := range c.factories {
		for _, resource := range append(slices.Clone(childResources), pods) {
			all = append(all, informerOf(factory, resource).Informer())
		}
	}
	return all
}

func informerOf(factory informers.SharedInformerFactory, resource schema.GroupVersionResource) informers.GenericInformer {
	informer, err := factory.ForResource(resource)
	if err != nil {
		panic(err)
	}
	return informer
}

func (c *children) covers(namespace string) bool { return factoryFor(c.factories, namespace) != nil }

func factoryFor(factories map[string]informers.SharedInformerFactory, namespace string) informers.SharedInformerFactory {
	return cmp.Or(factories[namespace], factories[""])
}

func (c *children) cached(resource schema.GroupVersionResource, namespace, name string) runtime.Object {
	object, err := informerOf(factoryFor(c.factories, namespace), resource).Lister().ByNamespace(namespace).Get(name)
	if err != nil {
		return nil
	}
	return object
}

func findByIndex[T any](in cache.SharedIndexInformer, index, key string) []T {
	found, err := in.GetIndexer().ByIndex(index, key)
	if err != nil {
		panic(err)
	}
	all := make([]T, len(found))
	for i, one := range found {
		all[i] = one.(T)
	}
	return all
}

func (c *children) listOwnedBy(resource schema.GroupVersionResource, namespace, owner string) []runtime.Object {
	informer := informerOf(factoryFor(c.factories, namespace), resource).Informer()
	return findByIndex[runtime.Object](informer, indexOwner, namespace+"/"+owner)
}

type childObject struct {
	resource schema.GroupVersionResource
	object   metav1.Object
}

func (c *children) listChildren(namespace, owner string) []childObject {
	var all []childObject
	for _, resource := range childResources {
		for _, object := range c.listOwnedBy(resource, namespace, owner) {
			all = append(all, childObject{resource, accessor(object)})
		}
	}
	return all
}

// listOwners returns an object of each owner, for the sweep. An owner with several kinds of objects occurs several
// times.
func (c *children) listOwners() (some []metav1.Object) {
	for _, factory := range c.factories {
		for _, resource := range childResources {
			informer := informerOf(factory, resource).Informer()
			for _, owner := range informer.GetIndexer().ListIndexFuncValues(indexOwner) {
				if found := findByIndex[metav1.Object](informer, indexOwner, owner); len(found) > 0 {
					some = append(some, found[0])
				}
			}
		}
	}
	return some
}

func accessor(o runtime.Object) metav1.Object {
	object, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	return object
}

func (c *children) isOwned(o metav1.Object) bool {
	return o.GetLabels()[render.LabelManager] == render.Manager && o.GetLabels()[render.LabelInstallation] == c.installation
}

func (c *children) clientFor(of schema.GroupVersionResource) rest.Interface {
	return map[string]rest.Interface{
		"":                          c.cluster.CoreV1().RESTClient(),
		"apps":                      c.cluster.AppsV1().RESTClient(),
		"networking.k8s.io":         c.cluster.NetworkingV1().RESTClient(),
		"policy":                    c.cluster.PolicyV1().RESTClient(),
		"rbac.authorization.k8s.io": c.cluster.RbacV1().RESTClient(),
	}[of.Group]
}

func (c *children) getLive(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (runtime.Object, error) {
	object, err := c.clientFor(resource).Get().Namespace(namespace).Resource(resource.Resource).Name(name).Do(ctx).Get()
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

type foreign struct{ resource, name, manager, owner string }

func (e *foreign) Error() string {
	if e.owner != "" {
		return fmt.Sprintf("%s %q is that of %s: two servers cannot have an object of one name, so rename one of them", e.resource,
			e.name, e.owner)
	}
	return fmt.Sprintf("%s %q belongs to another manager%s: remove it, or annotate it with %s=true to hand it over", e.resource, e.name,
		e.manager, TakeOver)
}

// formatFingerprint returns a text for comparison, which differs after each change for the fleet to undo. The status of
// a workload changes all the time, so objects with a generation count by generation and metadata.
func formatFingerprint(object runtime.Object) string {
	o := accessor(object)
	if o.GetGeneration() == 0 {
		return o.GetResourceVersion()
	}
	annotations := maps.Clone(o.GetAnnotations())
	// The Deployment controller writes its revision there at each rollout.
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, "deployment.kubernetes.io/") })
	text, err := json.Marshal([]any{o.GetUID(), o.GetGeneration(), o.GetLabels(), annotations, o.GetDeletionTimestamp()})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (c *children) patchMeta(ctx context.Context, key childKey, o metav1.Object, meta map[string]any) error {
	meta["uid"], meta["resourceVersion"] = o.GetUID(), o.GetResourceVersion()
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	return c.clientFor(key.resource).Patch(types.MergePatchType).Namespace(key.namespace).Resource(key.resource.Resource).Name(key.name).
		VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager}, scheme.ParameterCodec).Body(patch).Do(ctx).Error()
}

// removeObject deletes this very object, by its UID. A missing or replaced object is no error.
func (c *children) removeObject(ctx context.Context, resource schema.GroupVersionResource, o metav1.Object) error {
	if o.GetDeletionTimestamp() != nil {
		return nil
	}
	only := metav1.NewPreconditionDeleteOptions(string(o.GetUID()))
	only.PropagationPolicy = new(metav1.DeletePropagationBackground)
	err := c.clientFor(resource).Delete().Namespace(o.GetNamespace()).Resource(resource.Resource).Name(o.GetName()).Body(only).
		Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing %s %q: %w", resource.Resource, o.GetName(), err)
	}
	return nil
}

// removeAll deletes the objects of an owner, read live, and returns their number. Pods are counted and left to the
// garbage collector. The owner stays until the number is 0, or the deletion is late.
func (c *children) removeAll(ctx context.Context, namespace, owner string) (int, error) {
	left, wrong := 0, []error(nil)
	selector := labels.Set{render.LabelManager: render.Manager, render.LabelInstallation: c.installation}.String()
	for _, resource := range append(slices.Clone(childResources), pods) {
		list, err := c.clientFor(resource).Get().Namespace(namespace).Resource(resource.Resource).
			VersionedParams(&metav1.ListOptions{LabelSelector: selector}, scheme.ParameterCodec).Do(ctx).Get()
		if err != nil {
			return left, fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		wrong = append(wrong, meta.EachListItem(list, func(item runtime.Object) error {
			o := accessor(item)
			if o.GetAnnotations()[render.AnnotationOwner] != owner {
				return nil
			}
			left++
			if resource == pods {
				return nil
			}
			return c.removeObject(ctx, resource, o)
		}))
	}
	return left, errors.Join(wrong...)
}

// readSecret reads from the cache only the version applied last. Otherwise a lagging informer could cause a new key.
func (c *children) readSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	c.mu.Lock()
	last, known := c.applied[childKey{render.Secrets, namespace, name}]
	c.mu.Unlock()
	if secret, ok := c.cached(render.Secrets, namespace, name).(*corev1.Secret); ok && known && formatFingerprint(secret) == last.observed {
		return secret, nil
	}
	live, err := c.getLive(ctx, render.Secrets, namespace, name)
	if err != nil || live == nil {
		return nil, err
	}
	secret, ok := live.(*corev1.Secret)
	if !ok {
		return nil, fmt.Errorf("secret %q: the answer is a %T", name, live)
	}
	if !c.isOwned(secret) && secret.Annotations[TakeOver] == "" {
		return nil, &foreign{resource: "secrets", name: name}
	}
	return secret, nil
}

func (c *children) readSecrets(ctx context.Context, namespace string, names []string) (map[string]*corev1.Secret, error) {
	secrets := map[string]*corev1.Secret{}
	for _, name := range names {
		secret, err := c.readSecret(ctx, namespace, name)
		if err != nil {
			return nil, err
		}
		secrets[name] = secret
	}
	return secrets, nil
}
