// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServerSettings configure servers. A block in a Bind9Instance replaces its Bind9Cluster's.
type ServerSettings struct {
	// version is the release series of BIND: 9.18 or 9.20. Absent: 9.20.
	// +optional
	// +k8s:validation:pattern="^9\\.(18|20)$"
	Version string `json:"version,omitempty" protobuf:"bytes,1,opt,name=version"`
	// image of BIND. Absent: the server's default for version.
	// +optional
	Image *Image `json:"image,omitempty" protobuf:"bytes,2,opt,name=image"`
	// config configures BIND. Absent: an authoritative server for all clients.
	// +optional
	Config *Config `json:"config,omitempty" protobuf:"bytes,3,opt,name=config"`
	// agent adds and removes zones in BIND. Absent: kubizone bind-agent.
	// +optional
	Agent *Agent `json:"agent,omitempty" protobuf:"bytes,4,opt,name=agent"`
	// storage is the volume for BIND's zones. Absent: an emptyDir, empty in each new pod.
	// +optional
	Storage *Storage `json:"storage,omitempty" protobuf:"bytes,5,opt,name=storage"`
	// placement restricts the pods' nodes. Absent: spread over zones and nodes if possible.
	// +optional
	Placement *Placement `json:"placement,omitempty" protobuf:"bytes,6,opt,name=placement"`
	// zoneNamespaces are the namespaces whose zones the servers accept, besides their own. Absent: none.
	// +optional
	ZoneNamespaces *NamespaceSelection `json:"zoneNamespaces,omitempty" protobuf:"bytes,7,opt,name=zoneNamespaces"`
	// tsigKey configures the key for transfers and NOTIFY, shared by all servers of a cluster. Not for instances with a
	// clusterRef. Absent: a key without rotation.
	// +optional
	TSIGKey *TSIGKey `json:"tsigKey,omitempty" protobuf:"bytes,8,opt,name=tsigKey"`
}

// Image names a container image, in a repository of kubizone apiserver --bind9-image-repositories.
type Image struct {
	// repository is the image with registry, without tag and digest: "docker.io/internetsystemsconsortium/bind9".
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=255
	Repository string `json:"repository" protobuf:"bytes,1,opt,name=repository"`
	// tag of the image. Absent, without digest: the version.
	// +optional
	// +k8s:validation:maxLength=128
	Tag string `json:"tag,omitempty" protobuf:"bytes,2,opt,name=tag"`
	// digest of the image: "sha256:" and 64 hexadecimal digits. Takes precedence over tag.
	// +optional
	// +k8s:validation:pattern="^sha256:[0-9a-f]{64}$"
	Digest string `json:"digest,omitempty" protobuf:"bytes,3,opt,name=digest"`
	// pullPolicy decides when kubelet pulls the image. Absent: kubelet's default for the tag.
	// +optional
	PullPolicy PullPolicy `json:"pullPolicy,omitempty" protobuf:"bytes,4,opt,name=pullPolicy,casttype=PullPolicy"`
	// pullSecrets are Secrets in this namespace for pulling.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=10
	PullSecrets []string `json:"pullSecrets,omitempty" protobuf:"bytes,5,rep,name=pullSecrets"`
}

// PullPolicy decides when kubelet pulls an image.
// +enum
type PullPolicy string

const (
	PullAlways       PullPolicy = "Always"
	PullIfNotPresent PullPolicy = "IfNotPresent"
	PullNever        PullPolicy = "Never"
)

// Config configures BIND. The servers are authoritative only, without recursion. Address lists are BIND's
// address_match_list: any, none, localhost, localnets, an IP address, or a prefix such as 192.0.2.0/24; a leading !
// excludes the element.
type Config struct {
	// allowQuery is the address list of clients allowed to query. Absent: any.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=256
	// +k8s:validation:items:minLength=1
	AllowQuery []string `json:"allowQuery,omitempty" protobuf:"bytes,1,rep,name=allowQuery"`
	// allowTransfer is the address list of servers allowed to transfer zones. Absent: the cluster's servers, by their
	// key.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=256
	// +k8s:validation:items:minLength=1
	AllowTransfer []string `json:"allowTransfer,omitempty" protobuf:"bytes,2,rep,name=allowTransfer"`
	// queryLog logs queries in the container's log. Defaults to false.
	// +optional
	QueryLog bool `json:"queryLog,omitempty" protobuf:"varint,3,opt,name=queryLog"`
	// rateLimit enables response rate limiting. Absent: no limit.
	// +optional
	RateLimit *RateLimit `json:"rateLimit,omitempty" protobuf:"bytes,4,opt,name=rateLimit"`
	// updateForwarding is the address list of clients whose dynamic updates the servers forward to the zone's primary,
	// which checks the signature. Absent: none.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=256
	// +k8s:validation:items:minLength=1
	UpdateForwarding []string `json:"updateForwarding,omitempty" protobuf:"bytes,5,rep,name=updateForwarding"`
}

// RateLimit configures response rate limiting.
type RateLimit struct {
	// responsesPerSecond is the maximum of equal answers a second to one network, 1 to 1000.
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=1000
	ResponsesPerSecond int32 `json:"responsesPerSecond" protobuf:"varint,1,opt,name=responsesPerSecond"`
	// exemptClients is the address list of clients without limit.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=256
	// +k8s:validation:items:minLength=1
	ExemptClients []string `json:"exemptClients,omitempty" protobuf:"bytes,2,rep,name=exemptClients"`
}

// Agent configures the agent.
type Agent struct {
	// kind of the agent: Kubizone for kubizone bind-agent. Defaults to Kubizone.
	// +optional
	// +default=ref(AgentKubizone)
	Kind AgentKind `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind,casttype=AgentKind"`
	// image of the agent. Absent: the server's default for kind.
	// +optional
	Image *Image `json:"image,omitempty" protobuf:"bytes,2,opt,name=image"`
	// resources of the agent's container.
	// +optional
	Resources *Resources `json:"resources,omitempty" protobuf:"bytes,3,opt,name=resources"`
}

// AgentKind is a kind of agent.
// +enum
type AgentKind string

const (
	AgentKubizone AgentKind = "Kubizone"
	AgentBindcar  AgentKind = "Bindcar"
)

// TSIGKey configures a TSIG key.
type TSIGKey struct {
	// algorithm of the key. Defaults to hmac-sha256. A change replaces the key.
	// +optional
	// +default=ref(KeyHMACSHA256)
	Algorithm KeyAlgorithm `json:"algorithm,omitempty" protobuf:"bytes,1,opt,name=algorithm,casttype=KeyAlgorithm"`
	// rotateAfter is the age at which a new key is created, whole minutes from 1h to 8760h. It is used once every
	// server and the hidden primary accept it; the former key is accepted for a while longer. Absent: never.
	// +optional
	RotateAfter *metav1.Duration `json:"rotateAfter,omitempty" protobuf:"bytes,2,opt,name=rotateAfter"`
}

// KeyAlgorithm is a TSIG algorithm.
// +enum
type KeyAlgorithm string

const (
	KeyHMACSHA256 KeyAlgorithm = "hmac-sha256"
	KeyHMACSHA384 KeyAlgorithm = "hmac-sha384"
	KeyHMACSHA512 KeyAlgorithm = "hmac-sha512"
)

// Storage is a volume.
type Storage struct {
	// type of the volume.
	Type StorageType `json:"type" protobuf:"bytes,1,opt,name=type,casttype=StorageType"`
	// capacity of the volume: required with PersistentVolumeClaim, the limit of an emptyDir.
	// +optional
	Capacity Quantity `json:"capacity,omitempty" protobuf:"bytes,2,opt,name=capacity,casttype=Quantity"`
	// storageClassName of the claim. Absent: the cluster's default.
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

// Placement restricts the nodes of pods.
type Placement struct {
	// required excludes nodes that would not spread the servers of a role over zones and nodes
	// (topology.kubernetes.io/zone, kubernetes.io/hostname). If false, such nodes are used when there are no others.
	// Defaults to false.
	// +optional
	Required bool `json:"required,omitempty" protobuf:"varint,1,opt,name=required"`
	// nodeSelector are required labels of a node.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty" protobuf:"bytes,2,rep,name=nodeSelector"`
	// tolerations of the pods for node taints.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=32
	Tolerations []Toleration `json:"tolerations,omitempty" protobuf:"bytes,3,rep,name=tolerations"`
	// priorityClassName of the pods.
	// +optional
	// +k8s:validation:maxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty" protobuf:"bytes,4,opt,name=priorityClassName"`
}

// Toleration is a toleration of a pod.
type Toleration struct {
	// key of the taint. Empty, with operator Exists: all taints.
	// +optional
	// +k8s:validation:maxLength=316
	Key string `json:"key,omitempty" protobuf:"bytes,1,opt,name=key"`
	// operator matches the taint. Absent: Equal.
	// +optional
	Operator TolerationOperator `json:"operator,omitempty" protobuf:"bytes,2,opt,name=operator,casttype=TolerationOperator"`
	// value of the taint, with Equal.
	// +optional
	// +k8s:validation:maxLength=63
	Value string `json:"value,omitempty" protobuf:"bytes,3,opt,name=value"`
	// effect of the taint. Absent: all.
	// +optional
	Effect TaintEffect `json:"effect,omitempty" protobuf:"bytes,4,opt,name=effect,casttype=TaintEffect"`
	// tolerationSeconds is the time in seconds before eviction, with NoExecute. Absent: no eviction.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" protobuf:"varint,5,opt,name=tolerationSeconds"`
}

// TolerationOperator matches a taint.
// +enum
type TolerationOperator string

const (
	TolerationEqual  TolerationOperator = "Equal"
	TolerationExists TolerationOperator = "Exists"
)

// TaintEffect is the effect of a taint.
// +enum
type TaintEffect string

const (
	TaintNoSchedule       TaintEffect = "NoSchedule"
	TaintPreferNoSchedule TaintEffect = "PreferNoSchedule"
	TaintNoExecute        TaintEffect = "NoExecute"
)

// Resources of a container.
type Resources struct {
	// requests are guaranteed amounts.
	// +optional
	Requests *Amounts `json:"requests,omitempty" protobuf:"bytes,1,opt,name=requests"`
	// limits are maximum amounts.
	// +optional
	Limits *Amounts `json:"limits,omitempty" protobuf:"bytes,2,opt,name=limits"`
}

// Amounts of resources of a container.
type Amounts struct {
	// cpu in processors: "500m", "2".
	// +optional
	CPU Quantity `json:"cpu,omitempty" protobuf:"bytes,1,opt,name=cpu,casttype=Quantity"`
	// memory in octets: "64Mi".
	// +optional
	Memory Quantity `json:"memory,omitempty" protobuf:"bytes,2,opt,name=memory,casttype=Quantity"`
}

// Service configures the Service of an instance.
type Service struct {
	// type of the Service. Defaults to ClusterIP.
	// +optional
	// +default=ref(ServiceClusterIP)
	Type ServiceType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=ServiceType"`
	// annotations of the Service.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,2,rep,name=annotations"`
	// externalTrafficPolicy as in a Service: with Local, BIND sees the addresses of clients. Absent: Cluster. Not with
	// ClusterIP.
	// +optional
	ExternalTrafficPolicy TrafficPolicy `json:"externalTrafficPolicy,omitempty" protobuf:"bytes,3,opt,name=externalTrafficPolicy,casttype=TrafficPolicy"`
	// loadBalancerSourceRanges are the prefixes of clients allowed at a LoadBalancer. Absent: all.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=256
	// +k8s:validation:items:minLength=1
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty" protobuf:"bytes,4,rep,name=loadBalancerSourceRanges"`
}

// ServiceType is the type of a Service.
// +enum
type ServiceType string

const (
	ServiceClusterIP    ServiceType = "ClusterIP"
	ServiceNodePort     ServiceType = "NodePort"
	ServiceLoadBalancer ServiceType = "LoadBalancer"
)

// TrafficPolicy decides about the nodes for external traffic.
// +enum
type TrafficPolicy string

const (
	TrafficCluster TrafficPolicy = "Cluster"
	TrafficLocal   TrafficPolicy = "Local"
)

// NamespaceSelection selects namespaces by name or label.
type NamespaceSelection struct {
	// names of namespaces.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:maxLength=63
	// +k8s:validation:items:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Names []string `json:"names,omitempty" protobuf:"bytes,1,rep,name=names"`
	// selector selects namespaces by label. Empty ({}) selects all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`
}
