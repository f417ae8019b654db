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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

// kindProvider is the kind of a provider in references to it.
const kindProvider = "ClusterBind9Provider"

// reconcileProvider makes a Bind9Cluster in each namespace of a provider.
func (f *Fleet) reconcileProvider(ctx context.Context, at cache.ObjectName) (time.Duration, error) {
	provider, err := f.providers.Get(at.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	all, err := f.clusters.List(labels.Everything())
	if err != nil {
		return 0, err
	}
	owned := slices.DeleteFunc(all, func(c *bind9.Bind9Cluster) bool { return !metav1.IsControlledBy(c, provider) })
	if provider.DeletionTimestamp != nil {
		return f.finishProvider(ctx, provider, owned)
	}
	if provider, err = hold(provider, func(patch []byte) (*bind9.ClusterBind9Provider, error) {
		return f.Client.Bind9V1alpha1().ClusterBind9Providers().Patch(ctx, at.Name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: FieldManager})
	}); err != nil {
		return 0, err
	}
	s := newStanding(provider.Generation, provider.Status.Conditions)
	status := *provider.Status.DeepCopy()
	namespaces, err := f.namespacesOf(provider)
	if err != nil {
		return 0, err
	}
	status.Clusters, status.Servers = nil, bind9.ServerCount{}
	var wrong []error
	settled := true
	for _, namespace := range namespaces {
		row := bind9.ProvidedCluster{Namespace: namespace}
		cluster, err := f.provideCluster(ctx, provider, namespace)
		switch {
		case err != nil:
			row.Message = err.Error()
			if _, missing := err.(*noNamespace); !missing {
				wrong = append(wrong, err)
			}
		case cluster != nil:
			row.Ready = isTrue(cluster.Status.Conditions, bind9.ConditionReady) && cluster.Status.ObservedGeneration == cluster.Generation
			if !row.Ready {
				row.Message = readyMessage(cluster)
			}
			for _, count := range []bind9.ServerCount{cluster.Status.Primaries, cluster.Status.Secondaries} {
				status.Servers.Desired, status.Servers.Current, status.Servers.Ready = status.Servers.Desired+count.Desired,
					status.Servers.Current+count.Current, status.Servers.Ready+count.Ready
			}
		}
		settled = settled && row.Ready
		status.Clusters = append(status.Clusters, row)
	}
	for _, cluster := range owned {
		if !slices.Contains(namespaces, cluster.Namespace) && cluster.DeletionTimestamp == nil {
			wrong = append(wrong, f.deleteCluster(ctx, cluster))
		}
	}
	ready := 0
	for _, row := range status.Clusters {
		if row.Ready {
			ready++
		}
	}
	judgeCount(s, int32(len(namespaces)), int32(ready))
	if !settled {
		s.set(bind9.ConditionProgressing, true, ReasonRollingOut, fmt.Sprintf("%d of %d clusters are ready", ready, len(namespaces)))
	}
	if err = errors.Join(wrong...); err != nil {
		err = f.degrade(s, err)
	}
	return 0, errors.Join(err, f.writeProvider(ctx, provider, status, s))
}

func readyMessage(cluster *bind9.Bind9Cluster) string {
	for _, c := range cluster.Status.Conditions {
		if c.Type == bind9.ConditionReady && c.Message != "" {
			return c.Message
		}
	}
	return "it is being made"
}

// namespacesOf are those that a provider names or selects.
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
			// One that goes takes no new objects.
			if namespace.DeletionTimestamp == nil {
				names = append(names, namespace.Name)
			}
		}
	} else if len(names) == 0 {
		names = []string{bind9.DefaultProviderNamespace}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// noNamespace is a state of the cluster that the next event about the namespace ends.
type noNamespace struct{ name string }

func (e *noNamespace) Error() string { return fmt.Sprintf("there is no namespace %q: make it", e.name) }

// provideCluster applies the Bind9Cluster of one namespace.
func (f *Fleet) provideCluster(ctx context.Context, provider *bind9.ClusterBind9Provider, namespace string) (*bind9.Bind9Cluster, error) {
	if _, err := f.namespaces.Get(namespace); apierrors.IsNotFound(err) {
		return nil, &noNamespace{namespace}
	}
	have, err := f.clusters.Bind9Clusters(namespace).Get(provider.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if apierrors.IsNotFound(err) {
		have = nil
	}
	if have != nil {
		ours := metav1.IsControlledBy(have, provider)
		switch {
		case !ours && have.Annotations[TakeOver] == "":
			return nil, &foreign{resource: "bind9clusters", name: namespace + "/" + provider.Name}
		case have.DeletionTimestamp != nil || ours && have.Labels[bind9.LabelManagedBy] == kindProvider &&
			equality.Semantic.DeepEqual(have.Spec, provider.Spec.Bind9ClusterSpec):
			return have, nil
		case ours:
			// An apply would keep what others have added.
			next := have.DeepCopy()
			next.Spec = *provider.Spec.Bind9ClusterSpec.DeepCopy()
			metav1.SetMetaDataLabel(&next.ObjectMeta, bind9.LabelManagedBy, kindProvider)
			return f.Client.Bind9V1alpha1().Bind9Clusters(namespace).Update(ctx, next, metav1.UpdateOptions{FieldManager: FieldManager})
		}
	}
	// The spec is the provider's as a whole: an apply configuration of it would be a copy of each field by hand.
	controller := true
	desired := map[string]any{
		"apiVersion": bind9.SchemeGroupVersion.String(), "kind": "Bind9Cluster", "spec": provider.Spec.Bind9ClusterSpec,
		"metadata": map[string]any{
			"name": provider.Name, "namespace": namespace, "labels": map[string]string{bind9.LabelManagedBy: kindProvider,
				bind9.LabelCluster: provider.Name},
			"ownerReferences": []metav1.OwnerReference{{APIVersion: bind9.SchemeGroupVersion.String(), Kind: kindProvider,
				Name: provider.Name, UID: provider.UID, Controller: &controller, BlockOwnerDeletion: &controller}},
		},
	}
	text, err := json.Marshal(desired)
	if err != nil {
		return nil, err
	}
	force := have != nil
	applied, err := f.Client.Bind9V1alpha1().Bind9Clusters(namespace).Patch(ctx, provider.Name, types.ApplyPatchType, text,
		metav1.PatchOptions{FieldManager: FieldManager, Force: &force})
	if err != nil {
		return nil, fmt.Errorf("applying Bind9Cluster %s/%s: %w", namespace, provider.Name, err)
	}
	return applied, nil
}

func (f *Fleet) deleteCluster(ctx context.Context, cluster *bind9.Bind9Cluster) error {
	uid := cluster.UID
	err := f.Client.Bind9V1alpha1().Bind9Clusters(cluster.Namespace).Delete(ctx, cluster.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (f *Fleet) finishProvider(ctx context.Context, provider *bind9.ClusterBind9Provider, owned []*bind9.Bind9Cluster) (time.Duration,
	error) {
	if !slices.Contains(provider.Finalizers, Finalizer) {
		return 0, nil
	}
	var wrong []error
	for _, cluster := range owned {
		if cluster.DeletionTimestamp == nil {
			wrong = append(wrong, f.deleteCluster(ctx, cluster))
		}
	}
	if len(owned) > 0 && f.Clock.Since(provider.DeletionTimestamp.Time) < 3*leaveAfter {
		return askAgain, errors.Join(wrong...)
	}
	_, err := f.Client.Bind9V1alpha1().ClusterBind9Providers().Patch(ctx, provider.Name, types.MergePatchType,
		finalizersPatch(provider.ObjectMeta, without(provider.Finalizers)), metav1.PatchOptions{FieldManager: FieldManager})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	return 0, err
}
