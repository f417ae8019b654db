// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Delegation is a rule for a Zone of its namespace, for up to 16 namespaces. All Delegations of a Zone apply together
// with its spec.delegations.
type Delegation struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the rule.
	Spec DelegationSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state. Only the server writes it.
	// +optional
	Status DelegationStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DelegationSpec is a rule for a Zone.
type DelegationSpec struct {
	// zoneRef names the Zone, in this namespace. Immutable.
	ZoneRef DelegatedZone `json:"zoneRef" protobuf:"bytes,1,opt,name=zoneRef"`

	// namespaces of the rule, 1 to 16. Records at a wildcard such as "*.apps" need a rule for a single namespace, or a
	// shared rule, and a rule for the wildcard's base name.
	// +listType=set
	// +k8s:validation:minItems=1
	// +k8s:validation:maxItems=16
	// +k8s:validation:items:maxLength=63
	// +k8s:validation:items:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Namespaces []string `json:"namespaces" protobuf:"bytes,2,rep,name=namespaces"`

	// records are the allowed Records.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	Records []RecordDelegation `json:"records,omitempty" protobuf:"bytes,3,rep,name=records"`

	// zones are patterns of the allowed child zones, as in records[].pattern.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:minLength=1
	Zones []string `json:"zones,omitempty" protobuf:"bytes,4,rep,name=zones"`

	// ds adds the allowed child zones' DS records, from status.dnssec.ds. If false, DS records need Records.
	// +optional
	DS bool `json:"ds,omitempty" protobuf:"varint,5,opt,name=ds"`
}

// DelegatedZone names a Zone of the same namespace.
type DelegatedZone struct {
	// name of the Zone.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	// +k8s:validation:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// DelegationStatus is the observed state of a Delegation.
type DelegationStatus struct {
	// observedGeneration is the generation of this status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// zoneRef names the Zone with the rule in force. Absent: none.
	// +optional
	ZoneRef *AdoptingZone `json:"zoneRef,omitempty" protobuf:"bytes,2,opt,name=zoneRef"`
	// records counts the namespaces' Records in that Zone, by any rule. Lags by at most about ten seconds.
	// +optional
	Records int64 `json:"records,omitempty" protobuf:"varint,3,opt,name=records"`
	// conditions: Accepted is True while the rule is in force, and Ready with it.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,4,rep,name=conditions"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DelegationList lists Delegations.
type DelegationList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Delegations.
	Items []Delegation `json:"items" protobuf:"bytes,2,rep,name=items"`
}
