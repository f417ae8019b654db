// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

const kindProvider = "ClusterBind9Provider"

// reconcileProvider makes a Bind9Cluster in each namespace of a provider, deletes those in other namespaces, and writes
// the status. A missing namespace is in the status, and is no error.
func (f *Fleet) reconcileProvider(ctx context.Context, at cache.ObjectName) (time.Duration, error) {
	provider, err := f.providers.Get(at.Name)
	if err != nil {
		return 0, ignoreNotFound(err)
	}
	all, err := f.clusters.List(labels.Everything())
	if err != nil {
		return 0, err
	}

	owned := slices.DeleteFunc(all, func(c *bind9.Bind9Cluster) bool { return !metav1.IsControlledBy(c, provider) })
	if provider.DeletionTimestamp != nil {
		return f.finishProvider(ctx, provider, owned)
	}

	if provider, err = addFinalizer(ctx, provider, f.Client.Bind9V1alpha1().ClusterBind9Providers().Patch); err != nil {
		return 0, err
	}
	namespaces, err := f.namespacesOf(provider)
	if err != nil {
		return 0, err
	}

	w := &providerFacts{provider: provider}
	var wrong []error
	for _, namespace := range namespaces {
		one := provided{namespace: namespace}
		one.cluster, one.err = f.provideCluster(ctx, provider, namespace)
		w.provided = append(w.provided, one)
		if _, missing := one.err.(*noNamespace); !missing {
			wrong = append(wrong, one.err)
		}
	}

	surplus := slices.DeleteFunc(owned, func(c *bind9.Bind9Cluster) bool { return slices.Contains(namespaces, c.Namespace) })
	w.err = errors.Join(append(wrong, deleteEach(ctx, surplus, f.Client.Bind9V1alpha1().Bind9Clusters))...)
	return 0, errors.Join(w.err, f.writeProvider(ctx, w))
}

type providerFacts struct {
	provider *bind9.ClusterBind9Provider
	provided []provided
	err      error
}

type provided struct {
	namespace string
	cluster   *bind9.Bind9Cluster
	err       error
}

// judgeProvider returns conditions and status of a provider, with a row for each namespace.
func judgeProvider(w *providerFacts) (*conditionSet, bind9.ClusterBind9ProviderStatus) {
	s, status := newConditionSet(w.provider.Generation, w.provider.Status.Conditions), *w.provider.Status.DeepCopy()
	status.Clusters, status.Servers = nil, bind9.ServerCount{}
	all, ready := len(w.provided), 0
	for _, one := range w.provided {
		row := bind9.ProvidedCluster{Namespace: one.namespace}
		switch cluster := one.cluster; {
		case one.err != nil:
			row.Message = one.err.Error()
		// A Ready from before the last change of the spec does not count.
		case meta.IsStatusConditionTrue(cluster.Status.Conditions, bind9.ConditionReady) &&
			cluster.Status.ObservedGeneration == cluster.Generation:
			row.Ready, ready = true, ready+1
		default:
			row.Message = readyMessage(cluster)
		}
		if one.err == nil {
			status.Servers = sumCounts(status.Servers, one.cluster.Status.Primaries, one.cluster.Status.Secondaries)
		}
		status.Clusters = append(status.Clusters, row)
	}

	judgeCount(s, int32(all), int32(ready))
	if ready < all {
		s.set(bind9.ConditionProgressing, true, ReasonRollingOut, fmt.Sprintf("%d of %d clusters are ready", ready, all))
	}

	if w.err != nil {
		s.degrade(w.err)
	}
	return s, status
}

func (f *Fleet) writeProvider(ctx context.Context, w *providerFacts) error {
	s, status := judgeProvider(w)
	next := w.provider.DeepCopy()
	next.Status = status
	next.Status.Conditions, next.Status.ObservedGeneration = s.conditions, next.Generation
	fitProviderStatus(&next.Status)
	return writeStatus(ctx, f, s, w.provider, next, f.Client.Bind9V1alpha1().ClusterBind9Providers().UpdateStatus)
}

func readyMessage(cluster *bind9.Bind9Cluster) string {
	if ready := meta.FindStatusCondition(cluster.Status.Conditions, bind9.ConditionReady); ready != nil && ready.Message != "" {
		return ready.Message
	}
	return "it is being made"
}

// namespacesOf returns the namespaces of a provider, sorted: the named and the selected, or the default. Namespaces in
// deletion are left out of the selected.
func (f *Fleet) namespacesOf(provider *bind9.ClusterBind9Provider) ([]string, error) {
	names := slices.Clone(provider.Spec.Namespaces)
	if of := provider.Spec.NamespaceSelector; of != nil {
		selector, err := metav1.LabelSelectorAsSelector(of)
		if err != nil {
			return nil, fmt.Errorf("spec.namespaceSelector: %w", err)
		}
		selected, err := f.namespaces.List(selector)
		if err != nil {
			return nil, err
		}
		for _, namespace := range selected {
			if namespace.DeletionTimestamp == nil {
				names = append(names, namespace.Name)
			}
		}
	} else if len(names) == 0 {
		// Neither names nor a selector. An empty selection would be no namespace instead.
		names = []string{bind9.DefaultProviderNamespace}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// noNamespace is not retried, because a new namespace enqueues the provider.
type noNamespace struct{ name string }

func (e *noNamespace) Error() string { return fmt.Sprintf("there is no namespace %q: make it", e.name) }

// provideCluster makes or updates the provider's Bind9Cluster in a namespace. Another manager's cluster of this name is
// an error, unless annotated with TakeOver.
func (f *Fleet) provideCluster(ctx context.Context, provider *bind9.ClusterBind9Provider, namespace string) (*bind9.Bind9Cluster, error) {
	if _, err := f.namespaces.Get(namespace); apierrors.IsNotFound(err) {
		return nil, &noNamespace{namespace}
	}

	have, err := f.clusters.Bind9Clusters(namespace).Get(provider.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if have != nil {
		controlled := metav1.IsControlledBy(have, provider)
		switch {
		case !controlled && have.Annotations[TakeOver] == "":
			return nil, &foreign{resource: "bind9clusters", name: namespace + "/" + provider.Name}
		case have.DeletionTimestamp != nil || controlled && have.Labels[bind9.LabelManagedBy] == kindProvider &&
			equality.Semantic.DeepEqual(have.Spec, provider.Spec.Bind9ClusterSpec):
			return have, nil
		case controlled:
			// Server-side apply would keep fields of other managers.
			next := have.DeepCopy()
			next.Spec = *provider.Spec.Bind9ClusterSpec.DeepCopy()
			metav1.SetMetaDataLabel(&next.ObjectMeta, bind9.LabelManagedBy, kindProvider)
			return f.Client.Bind9V1alpha1().Bind9Clusters(namespace).Update(ctx, next, metav1.UpdateOptions{FieldManager: FieldManager})
		}
	}

	// Create the cluster, or take it over with force.
	desired := map[string]any{
		"apiVersion": bind9.SchemeGroupVersion.String(), "kind": "Bind9Cluster", "spec": provider.Spec.Bind9ClusterSpec,
		"metadata": map[string]any{
			"name": provider.Name, "namespace": namespace, "labels": map[string]string{bind9.LabelManagedBy: kindProvider,
				bind9.LabelCluster: provider.Name},
			"ownerReferences": []metav1.OwnerReference{{APIVersion: bind9.SchemeGroupVersion.String(), Kind: kindProvider,
				Name: provider.Name, UID: provider.UID, Controller: new(true), BlockOwnerDeletion: new(true)}},
		},
	}
	text, err := json.Marshal(desired)
	if err != nil {
		return nil, err
	}
	applied, err := f.Client.Bind9V1alpha1().Bind9Clusters(namespace).Patch(ctx, provider.Name, types.ApplyPatchType, text,
		metav1.PatchOptions{FieldManager: FieldManager, Force: new(have != nil)})
	if err != nil {
		return nil, fmt.Errorf("applying Bind9Cluster %s/%s: %w", namespace, provider.Name, err)
	}
	return applied, nil
}

func (f *Fleet) finishProvider(ctx context.Context, provider *bind9.ClusterBind9Provider,
	owned []*bind9.Bind9Cluster) (time.Duration, error) {
	return finishObject(ctx, f, finisher[*bind9.ClusterBind9Provider]{object: provider, covered: true, timeout: 3 * deletionLimit,
		patch:      f.Client.Bind9V1alpha1().ClusterBind9Providers().Patch,
		childCount: len(owned), deleteChildren: func() error { return deleteEach(ctx, owned, f.Client.Bind9V1alpha1().Bind9Clusters) },
		removeObjects: func() (int, error) { return 0, nil }})
}
