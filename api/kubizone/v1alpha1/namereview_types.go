// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxNameReviewRules limits the rules in the answer without a name.
const MaxNameReviewRules = 500

// +genclient
// +genclient:onlyVerbs=create
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NameReview asks whether its namespace may have a Record of a name and type, like a dry run of the creation. The
// answer, not stored, has the rule that allows it, or the reason for a refusal. Needs permission to create Records in
// the namespace.
type NameReview struct {
	metav1.TypeMeta `json:",inline"`
	// metadata needs no name and is not stored.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the question.
	// +optional
	Spec NameReviewSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the answer.
	// +optional
	Status NameReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// NameReviewSpec is the question.
type NameReviewSpec struct {
	// name is absolute, with or without trailing dot. Absent: the answer lists the namespace's rules.
	// +optional
	// +k8s:validation:maxLength=1024
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// type of the Record: a mnemonic in any case, or TYPE123 (RFC 3597). Required with name.
	// +optional
	// +k8s:validation:maxLength=32
	Type string `json:"type,omitempty" protobuf:"bytes,2,opt,name=type"`
	// view of the zone. Empty: the default view; without name, every view.
	// +optional
	// +k8s:validation:maxLength=63
	View string `json:"view,omitempty" protobuf:"bytes,3,opt,name=view"`
}

// NameClaim is the holder of a name.
// +enum
type NameClaim string

const (
	// NameClaimMine: the namespace of the NameReview.
	NameClaimMine NameClaim = "Mine"
	// NameClaimAnother: another namespace, not disclosed.
	NameClaimAnother NameClaim = "Another"
	// NameClaimUnclaimed: no namespace.
	NameClaimUnclaimed NameClaim = "Unclaimed"
)

// NameReviewStatus is the answer. If no rule gives the namespace the name, it is that for a name without a zone.
type NameReviewStatus struct {
	// zone is the name of the Record's zone. Absent: none.
	// +optional
	Zone string `json:"zone,omitempty" protobuf:"bytes,1,opt,name=zone"`
	// allowed is true if the zone would accept the Record, apart from its data.
	Allowed bool `json:"allowed" protobuf:"varint,2,opt,name=allowed"`
	// rule is the pattern of the rule that allows the Record.
	// +optional
	Rule string `json:"rule,omitempty" protobuf:"bytes,3,opt,name=rule"`
	// reason for a refusal, with rule number and next step.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// claimed is the holder of the name, or of a name above or below that comes with it. Absent: no rule gives the
	// namespace the name that the Record would claim.
	// +optional
	Claimed NameClaim `json:"claimed,omitempty" protobuf:"bytes,5,opt,name=claimed,casttype=NameClaim"`
	// contact is spec.contact of the Zone.
	// +optional
	Contact string `json:"contact,omitempty" protobuf:"bytes,6,opt,name=contact"`
	// warnings of the creation, apart from the data.
	// +optional
	// +listType=atomic
	Warnings []string `json:"warnings,omitempty" protobuf:"bytes,7,rep,name=warnings"`
	// rules that give the namespace names, without spec.name. At most 500.
	// +optional
	// +listType=atomic
	Rules []NameReviewRule `json:"rules,omitempty" protobuf:"bytes,8,rep,name=rules"`
	// remaining counts the rules left out.
	// +optional
	Remaining int64 `json:"remaining,omitempty" protobuf:"varint,9,opt,name=remaining"`
}

// NameReviewRule has the records or zones that a zone's rule gives a namespace, except names at and below child zones.
type NameReviewRule struct {
	// zone is the name of the zone.
	Zone string `json:"zone" protobuf:"bytes,1,opt,name=zone"`
	// view of the zone. Absent: the default view.
	// +optional
	View string `json:"view,omitempty" protobuf:"bytes,2,opt,name=view"`
	// records are patterns with types, as in the rule.
	// +optional
	// +listType=atomic
	Records []RecordDelegation `json:"records,omitempty" protobuf:"bytes,3,rep,name=records"`
	// zones are patterns of child zones.
	// +optional
	// +listType=atomic
	Zones []string `json:"zones,omitempty" protobuf:"bytes,4,rep,name=zones"`
	// contact of the zone.
	// +optional
	Contact string `json:"contact,omitempty" protobuf:"bytes,5,opt,name=contact"`
	// elsewhere is true if the patterns give no name: delegated zones have all matching names.
	// +optional
	Elsewhere bool `json:"elsewhere,omitempty" protobuf:"varint,6,opt,name=elsewhere"`
}
