// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Delegation is one rule for a Zone of its namespace, as an object of its own: which names and types, or which child
// zones, up to 16 namespaces may have. The rules of all Delegations of a Zone apply together with those in its
// spec.delegations.
type Delegation struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the rule.
	Spec DelegationSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status tells whether the rule is in force. The server writes it, and ignores what a client sends here.
	// +optional
	Status DelegationStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DelegationSpec is a rule for one Zone.
type DelegationSpec struct {
	// zoneRef names the Zone, which is in the namespace of the Delegation. Immutable.
	ZoneRef DelegatedZone `json:"zoneRef" protobuf:"bytes,1,opt,name=zoneRef"`

	// namespaces that the rule applies to, 1 to 16. A wildcard, such as the name "*.apps", needs a rule for one
	// namespace alone, or shared, and a rule for its base name.
	// +listType=set
	// +k8s:validation:minItems=1
	// +k8s:validation:maxItems=16
	// +k8s:validation:items:maxLength=63
	// +k8s:validation:items:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Namespaces []string `json:"namespaces" protobuf:"bytes,2,rep,name=namespaces"`

	// records are the Records the rule allows.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	Records []RecordDelegation `json:"records,omitempty" protobuf:"bytes,3,rep,name=records"`

	// zones are patterns of the child zones the rule allows, written as records[].pattern.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:minLength=1
	Zones []string `json:"zones,omitempty" protobuf:"bytes,4,rep,name=zones"`

	// ds has the zone contain the DS records of the child zones that the rule allows, as their status.dnssec.ds says.
	// Without it they are Records.
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
	// observedGeneration is the metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// zoneRef is the Zone that the rule is in force in. Absent: it is in force nowhere.
	// +optional
	ZoneRef *AdoptingZone `json:"zoneRef,omitempty" protobuf:"bytes,2,opt,name=zoneRef"`
	// records is how many Records the namespaces of the rule have in that Zone, by this rule or another one. It lags
	// by about ten seconds at most.
	// +optional
	Records int64 `json:"records,omitempty" protobuf:"varint,3,opt,name=records"`
	// conditions: Accepted is True while the rule is in force in the Zone, and Ready says the same.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,4,rep,name=conditions"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DelegationList is a list of Delegations.
type DelegationList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Delegations.
	Items []Delegation `json:"items" protobuf:"bytes,2,rep,name=items"`
}
