// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Bind9Cluster is a set of BIND 9 servers with the same settings: a Bind9Instance for each primary and each secondary.
type Bind9Cluster struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the cluster.
	Spec Bind9ClusterSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state of the cluster. The fleet controller writes it.
	// +optional
	Status Bind9ClusterStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// Bind9ClusterSpec is the desired state of a cluster.
type Bind9ClusterSpec struct {
	// ServerSettings are those of every server of the cluster.
	ServerSettings `json:",inline" protobuf:"bytes,1,opt,name=serverSettings"`
	// primary are the primaries, named NAME-primary-0 and so on. Absent: none.
	// +optional
	Primary *RoleSettings `json:"primary,omitempty" protobuf:"bytes,2,opt,name=primary"`
	// secondary are the secondaries, named NAME-secondary-0 and so on. Absent: none. The subresource scale counts
	// them.
	// +optional
	Secondary *RoleSettings `json:"secondary,omitempty" protobuf:"bytes,3,opt,name=secondary"`
}

// RoleSettings are what the servers of one role have for themselves.
type RoleSettings struct {
	// replicas is the number of servers, 0 to 100. The highest numbers go first. Defaults to 0.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=100
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
	// labels of the Bind9Instances, beside those of the cluster, for the selectors of a DNSClass.
	// +optional
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,2,rep,name=labels"`
	// service of each server. Absent: a ClusterIP.
	// +optional
	Service *Service `json:"service,omitempty" protobuf:"bytes,3,opt,name=service"`
	// resources of BIND's container.
	// +optional
	Resources *Resources `json:"resources,omitempty" protobuf:"bytes,4,opt,name=resources"`
}

// Bind9ClusterStatus is the observed state of a cluster.
type Bind9ClusterStatus struct {
	// observedGeneration is the metadata.generation that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// primaries counts the primaries.
	// +optional
	Primaries ServerCount `json:"primaries,omitempty" protobuf:"bytes,2,opt,name=primaries"`
	// secondaries counts the secondaries.
	// +optional
	Secondaries ServerCount `json:"secondaries,omitempty" protobuf:"bytes,3,opt,name=secondaries"`
	// instances are the names of the Bind9Instances.
	// +optional
	// +listType=set
	Instances []string `json:"instances,omitempty" protobuf:"bytes,4,rep,name=instances"`
	// conditions: Ready, Progressing, Degraded and ConfigValid.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,5,rep,name=conditions"`
	// tsigKey is the age of the key that signs transfers and NOTIFY.
	// +optional
	TSIGKey *KeyRotation `json:"tsigKey,omitempty" protobuf:"bytes,6,opt,name=tsigKey"`
}

// ServerCount counts servers.
type ServerCount struct {
	// desired is how many there shall be.
	// +optional
	Desired int32 `json:"desired,omitempty" protobuf:"varint,1,opt,name=desired"`
	// current is how many Bind9Instances there are.
	// +optional
	Current int32 `json:"current,omitempty" protobuf:"varint,2,opt,name=current"`
	// ready is how many of them are ready.
	// +optional
	Ready int32 `json:"ready,omitempty" protobuf:"varint,3,opt,name=ready"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Bind9ClusterList is a list of Bind9Clusters.
type Bind9ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Bind9Clusters.
	Items []Bind9Cluster `json:"items" protobuf:"bytes,2,rep,name=items"`
}
