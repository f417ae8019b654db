// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterBind9Provider creates a Bind9Cluster of its name in each of its namespaces. Cluster admins write providers.
type ClusterBind9Provider struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state.
	Spec ClusterBind9ProviderSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state. The fleet controller writes it.
	// +optional
	Status ClusterBind9ProviderStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ClusterBind9ProviderSpec is the desired state of a provider's clusters.
type ClusterBind9ProviderSpec struct {
	// namespaces of the Bind9Clusters. Absent, without namespaceSelector: dns-system.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:maxLength=63
	// +k8s:validation:items:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Namespaces []string `json:"namespaces,omitempty" protobuf:"bytes,1,rep,name=namespaces"`
	// namespaceSelector selects further namespaces by label.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,2,opt,name=namespaceSelector"`
	Bind9ClusterSpec  `json:",inline" protobuf:"bytes,3,opt,name=cluster"`
}

// DefaultProviderNamespace is for providers without namespaces and namespaceSelector.
const DefaultProviderNamespace = "dns-system"

// ClusterBind9ProviderStatus is the observed state of a provider's clusters.
type ClusterBind9ProviderStatus struct {
	// observedGeneration is the generation of this status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// clusters are the Bind9Clusters, by namespace. If there is no room for all, ready clusters are left out first.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	Clusters []ProvidedCluster `json:"clusters,omitempty" protobuf:"bytes,2,rep,name=clusters"`
	// servers counts the servers of all clusters.
	// +optional
	Servers ServerCount `json:"servers,omitempty" protobuf:"bytes,3,opt,name=servers"`
	// conditions: Ready, Progressing and Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,4,rep,name=conditions"`
}

// ProvidedCluster is a provider's Bind9Cluster in one namespace.
type ProvidedCluster struct {
	// namespace of the Bind9Cluster.
	// +k8s:validation:minLength=1
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// ready is true if the Bind9Cluster exists and is ready.
	// +optional
	Ready bool `json:"ready,omitempty" protobuf:"varint,2,opt,name=ready"`
	// message is the reason if ready is false.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterBind9ProviderList lists ClusterBind9Providers.
type ClusterBind9ProviderList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the ClusterBind9Providers.
	Items []ClusterBind9Provider `json:"items" protobuf:"bytes,2,rep,name=items"`
}
