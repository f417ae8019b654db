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

// Bind9Cluster is a set of BIND 9 servers with equal settings, each a Bind9Instance.
type Bind9Cluster struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state.
	Spec Bind9ClusterSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state. The fleet controller writes it.
	// +optional
	Status Bind9ClusterStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// Bind9ClusterSpec is the desired state of a cluster.
type Bind9ClusterSpec struct {
	ServerSettings `json:",inline" protobuf:"bytes,1,opt,name=serverSettings"`
	// primary configures the primaries, NAME-primary-0 and so on. Absent: none.
	// +optional
	Primary *RoleSettings `json:"primary,omitempty" protobuf:"bytes,2,opt,name=primary"`
	// secondary configures the secondaries, NAME-secondary-0 and so on. Absent: none. The subresource scale sets their
	// number.
	// +optional
	Secondary *RoleSettings `json:"secondary,omitempty" protobuf:"bytes,3,opt,name=secondary"`
	// dnssec has the cluster sign zones with spec.dnssec, on an additional server NAME-signer-0, from which the others
	// transfer. Absent: no signing.
	// +optional
	DNSSEC *ClusterDNSSEC `json:"dnssec,omitempty" protobuf:"bytes,4,opt,name=dnssec"`
}

// ClusterDNSSEC configures signing.
type ClusterDNSSEC struct {
	// storage of the signer, of type PersistentVolumeClaim: the only place of the keys. The claim outlives the signer.
	// Absent: the cluster's storage.
	// +optional
	Storage *Storage `json:"storage,omitempty" protobuf:"bytes,1,opt,name=storage"`
	// policies for Zones, besides BIND's "default", a single key without rollover.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:validation:maxItems=16
	Policies []DNSSECPolicy `json:"policies,omitempty" protobuf:"bytes,2,rep,name=policies"`
}

// DNSSECPolicy configures a key-signing key (KSK) and a zone-signing key (ZSK) for zones.
type DNSSECPolicy struct {
	// name in spec.dnssec.policy of Zones: a DNS label, except BIND's own "default", "insecure" and "none".
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// algorithm of both keys. Defaults to ECDSAP256SHA256.
	// +optional
	Algorithm DNSSECAlgorithm `json:"algorithm,omitempty" protobuf:"bytes,2,opt,name=algorithm,casttype=DNSSECAlgorithm"`
	// kskLifetime is the age at which the KSK, and so the DS, is replaced. Absent: never.
	// +optional
	KSKLifetime *metav1.Duration `json:"kskLifetime,omitempty" protobuf:"bytes,3,opt,name=kskLifetime"`
	// zskLifetime is the age at which the ZSK is replaced. Absent: never.
	// +optional
	ZSKLifetime *metav1.Duration `json:"zskLifetime,omitempty" protobuf:"bytes,4,opt,name=zskLifetime"`
	// nsec3 denies names by their hashes (NSEC3, 0 iterations, no salt, RFC 9276). Defaults to false: NSEC.
	// +optional
	NSEC3 bool `json:"nsec3,omitempty" protobuf:"varint,5,opt,name=nsec3"`
	// timing has the times of rollovers. Absent: BIND's.
	// +optional
	Timing *DNSSECTiming `json:"timing,omitempty" protobuf:"bytes,6,opt,name=timing"`
}

// DNSSECAlgorithm is a signing algorithm.
// +enum
type DNSSECAlgorithm string

const (
	DNSSECRSASHA256       DNSSECAlgorithm = "RSASHA256"
	DNSSECECDSAP256SHA256 DNSSECAlgorithm = "ECDSAP256SHA256"
	DNSSECECDSAP384SHA384 DNSSECAlgorithm = "ECDSAP384SHA384"
	DNSSECED25519         DNSSECAlgorithm = "ED25519"
)

// DNSSECTiming has the times of a BIND dnssec-policy, in whole seconds.
type DNSSECTiming struct {
	// dnskeyTTL is the TTL of DNSKEY records. Absent: 1h.
	// +optional
	DNSKEYTTL *metav1.Duration `json:"dnskeyTTL,omitempty" protobuf:"bytes,1,opt,name=dnskeyTTL"`
	// maxZoneTTL is the longest TTL in the zones, so the longest caching of former answers. Absent: 24h.
	// +optional
	MaxZoneTTL *metav1.Duration `json:"maxZoneTTL,omitempty" protobuf:"bytes,2,opt,name=maxZoneTTL"`
	// parentDSTTL is the TTL of DS records in parent zones. Absent: 24h.
	// +optional
	ParentDSTTL *metav1.Duration `json:"parentDSTTL,omitempty" protobuf:"bytes,3,opt,name=parentDSTTL"`
	// zonePropagationDelay is the maximum time until all servers of the zone have a change. Absent: 5m.
	// +optional
	ZonePropagationDelay *metav1.Duration `json:"zonePropagationDelay,omitempty" protobuf:"bytes,4,opt,name=zonePropagationDelay"`
	// parentPropagationDelay is the same for the parent zone. Absent: 1h.
	// +optional
	ParentPropagationDelay *metav1.Duration `json:"parentPropagationDelay,omitempty" protobuf:"bytes,5,opt,name=parentPropagationDelay"`
	// publishSafety is an additional delay before a new key is used. Absent: 1h.
	// +optional
	PublishSafety *metav1.Duration `json:"publishSafety,omitempty" protobuf:"bytes,6,opt,name=publishSafety"`
	// retireSafety is an additional delay before a former key is removed. Absent: 1h.
	// +optional
	RetireSafety *metav1.Duration `json:"retireSafety,omitempty" protobuf:"bytes,7,opt,name=retireSafety"`
	// signaturesValidity is the validity of a signature. Absent: 336h.
	// +optional
	SignaturesValidity *metav1.Duration `json:"signaturesValidity,omitempty" protobuf:"bytes,8,opt,name=signaturesValidity"`
	// signaturesRefresh is the remaining validity at which a signature is renewed, less than nine tenths of
	// signaturesValidity. Absent: 120h.
	// +optional
	SignaturesRefresh *metav1.Duration `json:"signaturesRefresh,omitempty" protobuf:"bytes,9,opt,name=signaturesRefresh"`
}

// RoleSettings configure the servers of one role.
type RoleSettings struct {
	// replicas is the number of servers, 0 to 100. Scaling down removes the highest numbers. Defaults to 0.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=100
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`
	// labels of the Bind9Instances, added to the cluster's.
	// +optional
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,2,rep,name=labels"`
	// service of each server. Absent: ClusterIP.
	// +optional
	Service *Service `json:"service,omitempty" protobuf:"bytes,3,opt,name=service"`
	// resources of the BIND container.
	// +optional
	Resources *Resources `json:"resources,omitempty" protobuf:"bytes,4,opt,name=resources"`
}

// Bind9ClusterStatus is the observed state of a cluster.
type Bind9ClusterStatus struct {
	// observedGeneration is the generation of this status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// primaries counts the primaries.
	// +optional
	Primaries ServerCount `json:"primaries,omitempty" protobuf:"bytes,2,opt,name=primaries"`
	// secondaries counts the secondaries.
	// +optional
	Secondaries ServerCount `json:"secondaries,omitempty" protobuf:"bytes,3,opt,name=secondaries"`
	// conditions: Ready, Progressing, Degraded and ConfigValid; Delivering while zones name the cluster as class.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,4,rep,name=conditions"`
	// tsigKey has the dates of the key for transfers and NOTIFY.
	// +optional
	TSIGKey *KeyRotation `json:"tsigKey,omitempty" protobuf:"bytes,5,opt,name=tsigKey"`
	// target as in the status of a DNSClass.
	// +optional
	Target string `json:"target,omitempty" protobuf:"bytes,6,opt,name=target"`
}

// ServerCount counts servers.
type ServerCount struct {
	// desired is the number of servers in the spec.
	// +optional
	Desired int32 `json:"desired,omitempty" protobuf:"varint,1,opt,name=desired"`
	// current is the number of Bind9Instances.
	// +optional
	Current int32 `json:"current,omitempty" protobuf:"varint,2,opt,name=current"`
	// ready is the number of ready Bind9Instances.
	// +optional
	Ready int32 `json:"ready,omitempty" protobuf:"varint,3,opt,name=ready"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Bind9ClusterList lists Bind9Clusters.
type Bind9ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Bind9Clusters.
	Items []Bind9Cluster `json:"items" protobuf:"bytes,2,rep,name=items"`
}
