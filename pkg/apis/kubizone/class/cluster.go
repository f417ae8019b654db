// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// NameOf is the name by which everything but the API keys the class that a Zone or a Delivery of a namespace refers to:
// that of a DNSClass, or NAMESPACE/NAME of a Bind9Cluster, which a DNSClass cannot have as its name (S11.30).
func NameOf(namespace string, ref v1alpha1.DNSClassReference) string {
	if ref.Kind == v1alpha1.KindBind9Cluster {
		return namespace + "/" + ref.Name
	}
	return ref.Name
}

// RefOf is the reference that NameOf has the name of.
func RefOf(name string) v1alpha1.DNSClassReference {
	if _, cluster, ok := SplitCluster(name); ok {
		return v1alpha1.DNSClassReference{Kind: v1alpha1.KindBind9Cluster, Name: cluster}
	}
	return v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: name}
}

// SplitCluster returns the Bind9Cluster that a class of this name is; false: it is a DNSClass.
func SplitCluster(name string) (namespace, cluster string, ok bool) {
	return strings.Cut(name, "/")
}

// catalogSuffix is of no zone of the public DNS (RFC 6761), and catalogs are transferred by key alone.
const catalogSuffix = "bind9clusters.kubizone.invalid."

// OfCluster is the class that a Bind9Cluster is for the zones of its own namespace that name it (S11.30). It has the
// cluster's metadata, and no default of a field of a Zone. Its generation is always 1, because no setting of the
// cluster changes the class: a change of the number of servers makes no provider anew.
func OfCluster(cluster *bind9.Bind9Cluster) *v1alpha1.DNSClass {
	return &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: cluster.Namespace + "/" + cluster.Name, UID: cluster.UID, Generation: 1, ResourceVersion: cluster.ResourceVersion,
			CreationTimestamp: cluster.CreationTimestamp, DeletionTimestamp: cluster.DeletionTimestamp,
			Finalizers: slices.Clone(cluster.Finalizers),
		},
		Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{cluster.Namespace}},
			Views:      []string{EveryView},
			Bind9: &v1alpha1.Bind9Provider{
				ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: cluster.Namespace, Name: cluster.Name},
				// Both are labels, so no two clusters have one catalog.
				CatalogZone: cluster.Name + "." + cluster.Namespace + "." + catalogSuffix,
			},
		},
	}
}

// InUse reports whether a Bind9Cluster is, or was, the class of a zone. The finalizer is put there before a zone is
// delivered and stays as long as the cluster: its servers follow the catalog from then on, also an empty one.
func InUse(cluster *bind9.Bind9Cluster) bool {
	return slices.Contains(cluster.Finalizers, v1alpha1.FinalizerDelivery)
}
