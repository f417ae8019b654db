// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Bind9Instance is one BIND 9 server: a pod, or an external server (spec.external).
type Bind9Instance struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state.
	Spec Bind9InstanceSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state. The fleet controller writes it.
	// +optional
	Status Bind9InstanceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// Bind9InstanceSpec is the desired state of a server.
type Bind9InstanceSpec struct {
	// role of the server. Every role transfers its zones; a Signer signs zones for the other servers of its cluster,
	// and serves no clients. Immutable.
	Role Role `json:"role" protobuf:"bytes,1,opt,name=role,casttype=Role"`
	// clusterRef names the server's Bind9Cluster, in this namespace. Absent: none. Immutable.
	// +optional
	ClusterRef *ClusterReference `json:"clusterRef,omitempty" protobuf:"bytes,2,opt,name=clusterRef"`
	// replicas is 1, or 0 for a stopped server, which keeps its keys and storage. Defaults to 1.
	// +optional
	// +default=ref(DefaultInstanceReplicas)
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=1
	Replicas       *int32 `json:"replicas,omitempty" protobuf:"varint,3,opt,name=replicas"`
	ServerSettings `json:",inline" protobuf:"bytes,4,opt,name=serverSettings"`
	// service of the server. Absent: the cluster's for its role.
	// +optional
	Service *Service `json:"service,omitempty" protobuf:"bytes,5,opt,name=service"`
	// resources of the BIND container. Absent: the cluster's for its role.
	// +optional
	Resources *Resources `json:"resources,omitempty" protobuf:"bytes,6,opt,name=resources"`
	// external describes a server run elsewhere, for which the fleet creates nothing. zoneNamespaces is the only other
	// setting allowed. Needs permission to create bind9instances/external.
	// +optional
	External *ExternalServer `json:"external,omitempty" protobuf:"bytes,7,opt,name=external"`
}

// DefaultInstanceReplicas is the number of pods of an instance.
const DefaultInstanceReplicas int32 = 1

// Role of a server.
// +enum
type Role string

const (
	RolePrimary   Role = "Primary"
	RoleSecondary Role = "Secondary"
	RoleSigner    Role = "Signer"
)

// ClusterReference names a Bind9Cluster of the same namespace.
type ClusterReference struct {
	// name of the Bind9Cluster.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	// +k8s:validation:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// ExternalServer is a server run elsewhere.
type ExternalServer struct {
	// address for queries: an IP address with or without a port (53), "192.0.2.1" or "[2001:db8::1]:5353".
	// +k8s:validation:minLength=1
	Address string `json:"address" protobuf:"bytes,1,opt,name=address"`
	// agentURL is the base URL of the server's agent or bindcar: https, or http with allowPlainHTTP, such as
	// "https://192.0.2.1:8443".
	// +k8s:validation:pattern="^[Hh][Tt][Tt][Pp][Ss]?://."
	// +k8s:validation:maxLength=2048
	AgentURL string `json:"agentURL" protobuf:"bytes,2,opt,name=agentURL"`
	// allowPlainHTTP allows http in agentURL. Hosts on the way can read the token.
	// +optional
	AllowPlainHTTP bool `json:"allowPlainHTTP,omitempty" protobuf:"varint,3,opt,name=allowPlainHTTP"`
	// caBundle has PEM certificates of authorities for the agent's certificate. Absent: the system's.
	// +optional
	CABundle []byte `json:"caBundle,omitempty" protobuf:"bytes,4,opt,name=caBundle"`
	// tokenSecretRef names the agent's bearer token, in a Secret of this namespace.
	// +optional
	TokenSecretRef *SecretKeyReference `json:"tokenSecretRef,omitempty" protobuf:"bytes,5,opt,name=tokenSecretRef"`
	// tsigSecretName is a Secret of this namespace with the server's key for transfers and updates, as in tsigSecretRef
	// of a DNSClass.
	// +optional
	// +k8s:validation:maxLength=253
	TSIGSecretName string `json:"tsigSecretName,omitempty" protobuf:"bytes,6,opt,name=tsigSecretName"`
}

// SecretKeyReference names a value in a Secret of this namespace.
type SecretKeyReference struct {
	// name of the Secret.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// key in the Secret's data.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	Key string `json:"key" protobuf:"bytes,2,opt,name=key"`
}

// Bind9InstanceStatus is the observed state of a server.
type Bind9InstanceStatus struct {
	// observedGeneration is the generation of this status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// addresses for queries, from the Service: "192.0.2.1:53".
	// +optional
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty" protobuf:"bytes,2,rep,name=addresses"`
	// agentURL is the URL of the agent.
	// +optional
	AgentURL string `json:"agentURL,omitempty" protobuf:"bytes,3,opt,name=agentURL"`
	// configHash identifies the running configuration.
	// +optional
	ConfigHash string `json:"configHash,omitempty" protobuf:"bytes,4,opt,name=configHash"`
	// conditions: Ready, Progressing, Degraded and ConfigValid.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,5,rep,name=conditions"`
	// tsigKey has the dates of the server's own TSIG key. Those of a cluster's key are in the cluster's status.
	// +optional
	TSIGKey *KeyRotation `json:"tsigKey,omitempty" protobuf:"bytes,6,opt,name=tsigKey"`
}

// KeyRotation has the dates of a key.
type KeyRotation struct {
	// createdAt is the creation time of the key.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty" protobuf:"bytes,1,opt,name=createdAt"`
	// rotateAt is the creation time of the next key.
	// +optional
	RotateAt *metav1.Time `json:"rotateAt,omitempty" protobuf:"bytes,2,opt,name=rotateAt"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Bind9InstanceList lists Bind9Instances.
type Bind9InstanceList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Bind9Instances.
	Items []Bind9Instance `json:"items" protobuf:"bytes,2,rep,name=items"`
}
