// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/warning"
	coreinformers "k8s.io/client-go/informers/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

// In a standalone server all fields are nil, and every namespace exists.
type namespaces struct {
	lister   listers.NamespaceLister
	synced   cache.InformerSynced
	informer coreinformers.NamespaceInformer
}

func (n *namespaces) find(name string) *corev1.Namespace {
	if n.lister == nil {
		return nil
	}
	found, err := n.lister.Get(name)
	if err != nil {
		return nil
	}
	return found
}

func (n *namespaces) labelsOf(name string) map[string]string {
	if found := n.find(name); found != nil {
		return found.Labels
	}
	return map[string]string{class.LabelNamespaceName: name}
}

// Only users who may update the Namespace set the annotation.
func (n *namespaces) budgetOf(name string) string {
	if found := n.find(name); found != nil {
		return found.Annotations[v1alpha1.AnnotationBudget]
	}
	return ""
}

func (n *namespaces) listGone(names []string) (gone []string, known bool) {
	if n.lister == nil {
		return nil, true
	}
	for _, name := range names {
		if n.find(name) == nil {
			gone = append(gone, name)
		}
	}
	return gone, n.synced()
}

// listTerminating returns those of the names that are under deletion.
func (n *namespaces) listTerminating(names []string) []string {
	if n.lister == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !n.isTerminating(name) })
}

func (n *namespaces) warnOfAbsent(ctx context.Context, after, before []string) {
	if n.lister == nil || !n.synced() {
		return
	}
	for _, name := range after {
		if !slices.Contains(before, name) && n.find(name) == nil {
			warning.AddWarning(ctx, "", refusal.Warning("S5.15", fmt.Sprintf("there is no namespace %q yet: a later namespace of that "+
				"name gets the names of the rule", name)))
		}
	}
}

func (n *namespaces) isTerminating(name string) bool {
	found := n.find(name)
	return found != nil && found.DeletionTimestamp != nil
}

// began returns a namespace's creation in Unix seconds. It fails for a terminating namespace, because the informer may
// still lack a new namespace of that name.
func (n *namespaces) began(name string) (int64, error) {
	if n.lister == nil {
		return 0, nil // a standalone server has no Namespaces
	}
	if found := n.find(name); found != nil && found.DeletionTimestamp == nil {
		return found.CreationTimestamp.Unix() + 1, nil // a predecessor may have made steps in the second of the creation
	}
	return 0, apierrors.NewTimeoutError(fmt.Sprintf("namespace %q is not known here, or is being deleted: please try again after its "+
		"creation", name), 1)
}
