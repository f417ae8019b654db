// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServerSettings say how servers are run. A Bind9Instance has its own where it says them, block by block, else those
// of its Bind9Cluster.
type ServerSettings struct {
	// version is the release series of BIND: 9.18 or 9.20. Absent: 9.20.
	// +optional
	// +k8s:validation:pattern="^9\\.(18|20)$"
	Version string `json:"version,omitempty" protobuf:"bytes,1,opt,name=version"`
	// image is the image of BIND. Absent: the server's default image for the version.
	// +optional
	Image *Image `json:"image,omitempty" protobuf:"bytes,2,opt,name=image"`
	// config is BIND's configuration, as far as it may be chosen. Absent: an authoritative server that answers every
	// client.
	// +optional
	Config *Config `json:"config,omitempty" protobuf:"bytes,3,opt,name=config"`
	// agent is the program beside BIND that makes and removes zones there. Absent: kubizone bind-agent.
	// +optional
	Agent *Agent `json:"agent,omitempty" protobuf:"bytes,4,opt,name=agent"`
	// storage is where BIND keeps its zones. Absent: an emptyDir, which is empty after each restart of the pod on
	// another node.
	// +optional
	Storage *Storage `json:"storage,omitempty" protobuf:"bytes,5,opt,name=storage"`
	// placement says on which nodes the pods may run. Absent: spread over zones and nodes where that is possible.
	// +optional
	Placement *Placement `json:"placement,omitempty" protobuf:"bytes,6,opt,name=placement"`
	// zoneNamespaces are the namespaces, beside the one of the servers, of which zones may be delivered to them.
	// Absent: zones of their own namespace alone.
	// +optional
	ZoneNamespaces *NamespaceSelection `json:"zoneNamespaces,omitempty" protobuf:"bytes,7,opt,name=zoneNamespaces"`
	// tsigKey is the key that signs transfers and NOTIFY, one for all servers of a cluster: an instance with a
	// clusterRef has none of its own. Absent: a key is made and never rotated.
	// +optional
	TSIGKey *TSIGKey `json:"tsigKey,omitempty" protobuf:"bytes,8,opt,name=tsigKey"`
}

// Image names a container image. Its repository is one that the server allows
// (kubizone apiserver --bind9-image-repositories).
type Image struct {
	// repository is the image without tag and digest, with its registry: "docker.io/internetsystemsconsortium/bind9".
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=255
	Repository string `json:"repository" protobuf:"bytes,1,opt,name=repository"`
	// tag of the image. Absent, with no digest either: the version.
	// +optional
	// +k8s:validation:maxLength=128
	Tag string `json:"tag,omitempty" protobuf:"bytes,2,opt,name=tag"`
	// digest of the image: "sha256:" and 64 hexadecimal digits. It decides where a tag is given too.
	// +optional
	// +k8s:validation:pattern="^sha256:[0-9a-f]{64}$"
	Digest string `json:"digest,omitempty" protobuf:"bytes,3,opt,name=digest"`
	// pullPolicy is Always, IfNotPresent or Never. Absent: as kubelet decides for a tag.
	// +optional
	PullPolicy PullPolicy `json:"pullPolicy,omitempty" protobuf:"bytes,4,opt,name=pullPolicy,casttype=PullPolicy"`
	// pullSecrets are names of Secrets of the namespace with which the image is pulled.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=10
	PullSecrets []string `json:"pullSecrets,omitempty" protobuf:"bytes,5,rep,name=pullSecrets"`
}

// PullPolicy says when kubelet pulls an image.
// +enum
type PullPolicy string

const (
	PullAlways       PullPolicy = "Always"
	PullIfNotPresent PullPolicy = "IfNotPresent"
	PullNever        PullPolicy = "Never"
)

// Config is BIND's configuration, as far as it may be chosen. The servers are authoritative alone: they resolve no
// names that are not theirs. An address list has elements of BIND's address_match_list: any, none, localhost,
// localnets, an IP address, or a prefix as 192.0.2.0/24, each with ! before it where it is excluded.
type Config struct {
	// allowQuery is the address list of clients that are answered. Absent: any.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=256
	// +k8s:validation:items:minLength=1
	AllowQuery []string `json:"allowQuery,omitempty" protobuf:"bytes,1,rep,name=allowQuery"`
	// allowTransfer is the address list of servers that may transfer the zones. Absent: none but the servers of the
	// cluster, by their key.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=256
	// +k8s:validation:items:minLength=1
	AllowTransfer []string `json:"allowTransfer,omitempty" protobuf:"bytes,2,rep,name=allowTransfer"`
	// queryLog writes each query to the log of the container. Defaults to false.
	// +optional
	QueryLog bool `json:"queryLog,omitempty" protobuf:"varint,3,opt,name=queryLog"`
	// rateLimit bounds equal answers to a network (response rate limiting). Absent: no bound.
	// +optional
	RateLimit *RateLimit `json:"rateLimit,omitempty" protobuf:"bytes,4,opt,name=rateLimit"`
	// updateForwarding is the address list of clients whose dynamic updates the servers pass on to the primary of the
	// zone, which checks their signature. Absent: none.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=256
	// +k8s:validation:items:minLength=1
	UpdateForwarding []string `json:"updateForwarding,omitempty" protobuf:"bytes,5,rep,name=updateForwarding"`
}

// RateLimit bounds equal answers to a network.
type RateLimit struct {
	// responsesPerSecond is the number of equal answers a second to one network, 1 to 1000.
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=1000
	ResponsesPerSecond int32 `json:"responsesPerSecond" protobuf:"varint,1,opt,name=responsesPerSecond"`
	// exemptClients is the address list of clients that are not bounded.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=256
	// +k8s:validation:items:minLength=1
	ExemptClients []string `json:"exemptClients,omitempty" protobuf:"bytes,2,rep,name=exemptClients"`
}

// Agent is the program beside BIND that makes and removes zones there.
type Agent struct {
	// kind is Kubizone, for kubizone bind-agent, or Bindcar. Defaults to Kubizone.
	// +optional
	// +default=ref(AgentKubizone)
	Kind AgentKind `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind,casttype=AgentKind"`
	// image is its image. Absent: the server's default image of the kind.
	// +optional
	Image *Image `json:"image,omitempty" protobuf:"bytes,2,opt,name=image"`
	// resources of its container.
	// +optional
	Resources *Resources `json:"resources,omitempty" protobuf:"bytes,3,opt,name=resources"`
}

// AgentKind is a program that makes and removes zones in BIND.
// +enum
type AgentKind string

const (
	AgentKubizone AgentKind = "Kubizone"
	AgentBindcar  AgentKind = "Bindcar"
)

// TSIGKey is the key that signs transfers and NOTIFY.
type TSIGKey struct {
	// algorithm is hmac-sha256, hmac-sha384 or hmac-sha512. Defaults to hmac-sha256. A key of another algorithm is
	// replaced.
	// +optional
	// +default=ref(KeyHMACSHA256)
	Algorithm KeyAlgorithm `json:"algorithm,omitempty" protobuf:"bytes,1,opt,name=algorithm,casttype=KeyAlgorithm"`
	// rotateAfter is the age at which a new key is made, whole minutes from 1h to 8760h. It is used when every server
	// and the hidden primary take it, and the former key is taken for a while after that. Absent: never.
	// +optional
	RotateAfter *metav1.Duration `json:"rotateAfter,omitempty" protobuf:"bytes,2,opt,name=rotateAfter"`
}

// KeyAlgorithm is the algorithm of a key.
// +enum
type KeyAlgorithm string

const (
	KeyHMACSHA256 KeyAlgorithm = "hmac-sha256"
	KeyHMACSHA384 KeyAlgorithm = "hmac-sha384"
	KeyHMACSHA512 KeyAlgorithm = "hmac-sha512"
)

// Storage is where BIND keeps its zones.
type Storage struct {
	// type is EmptyDir or PersistentVolumeClaim.
	Type StorageType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=StorageType"`
	// capacity of the volume. Required with PersistentVolumeClaim; of an emptyDir it is the limit.
	// +optional
	Capacity Quantity `json:"capacity,omitempty" protobuf:"bytes,2,opt,name=capacity,casttype=Quantity"`
	// storageClassName of the claim. Absent: the default of the cluster.
	// +optional
	// +k8s:validation:maxLength=253
	StorageClassName string `json:"storageClassName,omitempty" protobuf:"bytes,3,opt,name=storageClassName"`
}

// StorageType is a kind of volume.
// +enum
type StorageType string

const (
	StorageEmptyDir              StorageType = "EmptyDir"
	StoragePersistentVolumeClaim StorageType = "PersistentVolumeClaim"
)

// Placement says on which nodes pods may run.
type Placement struct {
	// required refuses nodes where the servers of one role are not spread over zones and nodes
	// (topology.kubernetes.io/zone, kubernetes.io/hostname); else they are taken where there are no others. Defaults to
	// false.
	// +optional
	Required bool `json:"required,omitempty" protobuf:"varint,1,opt,name=required"`
	// nodeSelector are labels that a node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty" protobuf:"bytes,2,rep,name=nodeSelector"`
	// tolerations are taints that a node may have.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=32
	Tolerations []Toleration `json:"tolerations,omitempty" protobuf:"bytes,3,rep,name=tolerations"`
	// priorityClassName of the pods.
	// +optional
	// +k8s:validation:maxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty" protobuf:"bytes,4,opt,name=priorityClassName"`
}

// Toleration is a taint that a node may have, as in a pod.
type Toleration struct {
	// key of the taint. Empty, with operator Exists: every taint.
	// +optional
	// +k8s:validation:maxLength=316
	Key string `json:"key,omitempty" protobuf:"bytes,1,opt,name=key"`
	// operator is Equal or Exists. Absent: Equal.
	// +optional
	Operator TolerationOperator `json:"operator,omitempty" protobuf:"bytes,2,opt,name=operator,casttype=TolerationOperator"`
	// value of the taint, with Equal.
	// +optional
	// +k8s:validation:maxLength=63
	Value string `json:"value,omitempty" protobuf:"bytes,3,opt,name=value"`
	// effect is NoSchedule, PreferNoSchedule or NoExecute. Absent: each of them.
	// +optional
	Effect TaintEffect `json:"effect,omitempty" protobuf:"bytes,4,opt,name=effect,casttype=TaintEffect"`
	// tolerationSeconds is how long a pod stays, with NoExecute. Absent: for ever.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" protobuf:"varint,5,opt,name=tolerationSeconds"`
}

// TolerationOperator compares a taint.
// +enum
type TolerationOperator string

const (
	TolerationEqual  TolerationOperator = "Equal"
	TolerationExists TolerationOperator = "Exists"
)

// TaintEffect is what a taint does.
// +enum
type TaintEffect string

const (
	TaintNoSchedule       TaintEffect = "NoSchedule"
	TaintPreferNoSchedule TaintEffect = "PreferNoSchedule"
	TaintNoExecute        TaintEffect = "NoExecute"
)

// Resources of a container.
type Resources struct {
	// requests are what it is given at least.
	// +optional
	Requests *Amounts `json:"requests,omitempty" protobuf:"bytes,1,opt,name=requests"`
	// limits are what it is given at most.
	// +optional
	Limits *Amounts `json:"limits,omitempty" protobuf:"bytes,2,opt,name=limits"`
}

// Amounts of the resources of a container.
type Amounts struct {
	// cpu in processors: "500m", "2".
	// +optional
	CPU Quantity `json:"cpu,omitempty" protobuf:"bytes,1,opt,name=cpu,casttype=Quantity"`
	// memory in octets: "64Mi".
	// +optional
	Memory Quantity `json:"memory,omitempty" protobuf:"bytes,2,opt,name=memory,casttype=Quantity"`
}

// Service is how the Service of an instance is reached.
type Service struct {
	// type is ClusterIP, NodePort or LoadBalancer. Defaults to ClusterIP.
	// +optional
	// +default=ref(ServiceClusterIP)
	Type ServiceType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=ServiceType"`
	// annotations of the Service.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,2,rep,name=annotations"`
	// externalTrafficPolicy is Cluster or Local: with Local BIND sees the addresses of clients. Absent: Cluster. Not
	// with ClusterIP.
	// +optional
	ExternalTrafficPolicy TrafficPolicy `json:"externalTrafficPolicy,omitempty" protobuf:"bytes,3,opt,name=externalTrafficPolicy,casttype=TrafficPolicy"`
	// loadBalancerSourceRanges are prefixes of clients that reach a LoadBalancer. Absent: all.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=256
	// +k8s:validation:items:minLength=1
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty" protobuf:"bytes,4,rep,name=loadBalancerSourceRanges"`
}

// ServiceType is how a Service is reached.
// +enum
type ServiceType string

const (
	ServiceClusterIP    ServiceType = "ClusterIP"
	ServiceNodePort     ServiceType = "NodePort"
	ServiceLoadBalancer ServiceType = "LoadBalancer"
)

// TrafficPolicy is which nodes take traffic from outside.
// +enum
type TrafficPolicy string

const (
	TrafficCluster TrafficPolicy = "Cluster"
	TrafficLocal   TrafficPolicy = "Local"
)

// NamespaceSelection selects namespaces by name, by label, or by either.
type NamespaceSelection struct {
	// names of namespaces.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:maxLength=63
	// +k8s:validation:items:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Names []string `json:"names,omitempty" protobuf:"bytes,1,rep,name=names"`
	// selector selects namespaces by their labels. Empty ({}) selects all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`
}
