// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/warning"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
)

// namespaces is what the server knows of the cluster's namespaces. Standalone both fields are nil: every namespace that
// there could be is there, and has its name.
type namespaces struct {
	lister listers.NamespaceLister
	synced cache.InformerSynced
}

// find returns nil for a namespace that is not there.
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

// labelsOf are those of a namespace; of one that is not there its name.
func (n *namespaces) labelsOf(name string) map[string]string {
	if found := n.find(name); found != nil {
		return found.Labels
	}
	return map[string]string{class.LabelNamespaceName: name}
}

// budgetOf is what the annotation of a namespace says of its budget, "" for nothing. A user needs the right to update
// the Namespace to set it.
func (n *namespaces) budgetOf(name string) string {
	if found := n.find(name); found != nil {
		return found.Annotations[v1alpha1.AnnotationBudget]
	}
	return ""
}

// countGone counts those of names that are not there; false before it is known which are.
func (n *namespaces) countGone(names []string) (float64, bool) {
	if n.lister == nil {
		return 0, true
	}
	gone := 0.0
	for _, name := range names {
		if n.find(name) == nil {
			gone++
		}
	}
	return gone, n.synced()
}

// warnOfAbsent warns of namespaces that a rule is for, was not for before, and that are not there: a misspelt one gets
// no name.
func (n *namespaces) warnOfAbsent(ctx context.Context, after, before []string) {
	if n.lister == nil || !n.synced() {
		return
	}
	for _, name := range after {
		if !slices.Contains(before, name) && n.find(name) == nil {
			warning.AddWarning(ctx, "", fmt.Sprintf("there is no namespace %q yet: what the rule gives, one of that name gets (S5.15)",
				name))
		}
	}
}

// isTerminating says whether a namespace is being deleted.
func (n *namespaces) isTerminating(name string) bool {
	found := n.find(name)
	return found != nil && found.DeletionTimestamp != nil
}
