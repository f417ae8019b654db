// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/test/must"
)

// A namespace is terminating from its deletionTimestamp on, so zones take in none of its objects (S2.6). A missing
// namespace is not terminating, but listed as gone. Standalone there are no namespace objects, so no namespace is
// terminating or gone.
func TestNamespaces_terminate_S2_6(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	now := metav1.Now()
	for _, of := range []metav1.ObjectMeta{{Name: "stays", Labels: map[string]string{"dns": "public"}},
		{Name: "goes", DeletionTimestamp: &now}} {
		must.Succeed(t, indexer.Add(&corev1.Namespace{ObjectMeta: of}))
	}
	cluster, standalone := namespaces{lister: listers.NewNamespaceLister(indexer)}, namespaces{}
	for namespace, want := range map[string]bool{"stays": false, "goes": true, "gone": false} {
		if got := cluster.isTerminating(namespace); got != want {
			t.Errorf("%s terminates: %t", namespace, got)
		}
		if standalone.isTerminating(namespace) {
			t.Errorf("%s terminates standalone", namespace)
		}
	}
	cluster.synced = func() bool { return true }
	if n, known := cluster.listGone([]string{"stays", "goes", "gone"}); !slices.Equal(n, []string{"gone"}) || !known {
		t.Errorf("%q are gone, known %t", n, known)
	}
	if n := cluster.listTerminating([]string{"stays", "goes", "gone"}); !slices.Equal(n, []string{"goes"}) {
		t.Errorf("terminating: %q", n)
	}
	if n, known := standalone.listGone([]string{"gone"}); len(n) != 0 || !known {
		t.Errorf("standalone %q are gone, known %t", n, known)
	}
	// An unknown namespace has its name as the only label.
	if labels := cluster.labelsOf("stays"); len(labels) != 1 || labels["dns"] != "public" {
		t.Errorf("labels %v", labels)
	}
	for _, one := range []namespaces{cluster, standalone} {
		if labels := one.labelsOf("gone"); len(labels) != 1 || labels["kubernetes.io/metadata.name"] != "gone" {
			t.Errorf("labels %v", labels)
		}
	}
}

// To read the history of its Records, a namespace may go back to the second after its own creation only, because an
// earlier namespace of that name may have had other users (S7.14). An absent or terminating namespace gets an error.
// Standalone no namespace has a bound, since there are no namespace objects.
func TestNamespaces_begin_S7_14(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	at := metav1.Unix(1000, 0)
	for _, meta := range []metav1.ObjectMeta{{Name: "stays", CreationTimestamp: at},
		{Name: "goes", CreationTimestamp: at, DeletionTimestamp: &at}} {
		must.Succeed(t, indexer.Add(&corev1.Namespace{ObjectMeta: meta}))
	}
	cluster, standalone := namespaces{lister: listers.NewNamespaceLister(indexer)}, namespaces{}
	for namespace, want := range map[string]int64{"stays": 1001, "goes": 0, "gone": 0} {
		if got, err := cluster.began(namespace); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s began %d: %v", namespace, got, err)
		}
		if got, err := standalone.began(namespace); got != 0 || err != nil {
			t.Errorf("%s began %d standalone: %v", namespace, got, err)
		}
	}
}
