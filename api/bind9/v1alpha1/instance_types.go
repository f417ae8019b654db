// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Bind9Instance is one BIND 9 server: a pod of the cluster, or with spec.external a server elsewhere.
type Bind9Instance struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the server.
	Spec Bind9InstanceSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state of the server. The fleet controller writes it.
	// +optional
	Status Bind9InstanceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// Bind9InstanceSpec is the desired state of a server.
type Bind9InstanceSpec struct {
	// role is Primary, Secondary or Signer. Servers of each role transfer the zones that they are to have; a Signer
	// signs zones for the others of its cluster and answers no clients. Immutable.
	Role Role `json:"role" protobuf:"bytes,1,opt,name=role,casttype=Role"`
	// clusterRef names the Bind9Cluster of the namespace that the server belongs to. Absent: it stands alone.
	// Immutable.
	// +optional
	ClusterRef *ClusterReference `json:"clusterRef,omitempty" protobuf:"bytes,2,opt,name=clusterRef"`
	// replicas is 1, or 0 for a server that is stopped and keeps its keys and its storage. Defaults to 1.
	// +optional
	// +default=ref(DefaultInstanceReplicas)
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=1
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,3,opt,name=replicas"`
	// ServerSettings are the server's own. Absent blocks are those of the cluster.
	ServerSettings `json:",inline" protobuf:"bytes,4,opt,name=serverSettings"`
	// service of the server. Absent: that of its role in the cluster.
	// +optional
	Service *Service `json:"service,omitempty" protobuf:"bytes,5,opt,name=service"`
	// resources of BIND's container. Absent: those of its role in the cluster.
	// +optional
	Resources *Resources `json:"resources,omitempty" protobuf:"bytes,6,opt,name=resources"`
	// external is a server that is not run here: nothing is made for it. It has no other settings than zoneNamespaces.
	// Its author needs the right to create bind9instances/external.
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

// ExternalServer is a server that is not run here.
type ExternalServer struct {
	// address at which it answers queries, an IP address with or without a port (53): "192.0.2.1",
	// "[2001:db8::1]:5353".
	// +k8s:validation:minLength=1
	Address string `json:"address" protobuf:"bytes,1,opt,name=address"`
	// agentURL is the base URL of its agent or bindcar, https, or http with allowPlainHTTP: "https://192.0.2.1:8443".
	// +k8s:validation:pattern="^[Hh][Tt][Tt][Pp][Ss]?://."
	// +k8s:validation:maxLength=2048
	AgentURL string `json:"agentURL" protobuf:"bytes,2,opt,name=agentURL"`
	// allowPlainHTTP lets agentURL be http: the token is read by every host on the way.
	// +optional
	AllowPlainHTTP bool `json:"allowPlainHTTP,omitempty" protobuf:"varint,3,opt,name=allowPlainHTTP"`
	// caBundle are the PEM certificates of the authorities that the agent's certificate is verified with. Absent:
	// those of the system.
	// +optional
	CABundle []byte `json:"caBundle,omitempty" protobuf:"bytes,4,opt,name=caBundle"`
	// tokenSecretRef names the bearer token that the agent takes, in a Secret of the namespace.
	// +optional
	TokenSecretRef *SecretKeyReference `json:"tokenSecretRef,omitempty" protobuf:"bytes,5,opt,name=tokenSecretRef"`
	// tsigSecretName is a Secret of the namespace with the key by which the server transfers zones and takes updates:
	// data name, algorithm and secret, as tsigSecretRef of a DNSClass has them.
	// +optional
	// +k8s:validation:maxLength=253
	TSIGSecretName string `json:"tsigSecretName,omitempty" protobuf:"bytes,6,opt,name=tsigSecretName"`
}

// SecretKeyReference names one value in a Secret of the namespace.
type SecretKeyReference struct {
	// name of the Secret.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// key of the value in the Secret's data.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	Key string `json:"key" protobuf:"bytes,2,opt,name=key"`
}

// Bind9InstanceStatus is the observed state of a server.
type Bind9InstanceStatus struct {
	// observedGeneration is the metadata.generation that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// addresses at which it answers queries, those of its Service: "192.0.2.1:53".
	// +optional
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty" protobuf:"bytes,2,rep,name=addresses"`
	// agentURL is where its agent is reached.
	// +optional
	AgentURL string `json:"agentURL,omitempty" protobuf:"bytes,3,opt,name=agentURL"`
	// configHash identifies the configuration that the server runs with.
	// +optional
	ConfigHash string `json:"configHash,omitempty" protobuf:"bytes,4,opt,name=configHash"`
	// conditions: Ready, Progressing, Degraded and ConfigValid.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,5,rep,name=conditions"`
	// tsigKey is the age of its TSIG key, where that is its own: that of a cluster is in the status of the cluster.
	// +optional
	TSIGKey *KeyRotation `json:"tsigKey,omitempty" protobuf:"bytes,6,opt,name=tsigKey"`
}

// KeyRotation is the age of a key.
type KeyRotation struct {
	// createdAt is when the key was made.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty" protobuf:"bytes,1,opt,name=createdAt"`
	// rotateAt is when the next one is made.
	// +optional
	RotateAt *metav1.Time `json:"rotateAt,omitempty" protobuf:"bytes,2,opt,name=rotateAt"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Bind9InstanceList is a list of Bind9Instances.
type Bind9InstanceList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Bind9Instances.
	Items []Bind9Instance `json:"items" protobuf:"bytes,2,rep,name=items"`
}
