// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxNameReviewRules is how many rules the answer to a NameReview without a name has at most.
const MaxNameReviewRules = 500

// +genclient
// +genclient:onlyVerbs=create
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// NameReview answers whether its namespace may have a Record of a name and a type, as a dry run of the creation would:
// by which rule, or why not. It is created and answered, and not stored. The user that creates it needs the right to
// create Records in the namespace.
type NameReview struct {
	metav1.TypeMeta `json:",inline"`
	// metadata needs no name: nothing of it is stored.
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
	// name is absolute, with or without the dot at its end. Absent: the answer lists the rules for the namespace.
	// +optional
	// +k8s:validation:maxLength=1024
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// type of the Record: a mnemonic in any case, or TYPE123 (RFC 3597). A name needs it.
	// +optional
	// +k8s:validation:maxLength=32
	Type string `json:"type,omitempty" protobuf:"bytes,2,opt,name=type"`
	// view of the zone. Empty: the default view, and without a name every view.
	// +optional
	// +k8s:validation:maxLength=63
	View string `json:"view,omitempty" protobuf:"bytes,3,opt,name=view"`
}

// NameClaim says whose a name is.
// +enum
type NameClaim string

const (
	// NameClaimMine is the namespace of the NameReview.
	NameClaimMine NameClaim = "Mine"
	// NameClaimAnother is another one, which is not named.
	NameClaimAnother NameClaim = "Another"
	// NameClaimUnclaimed is no namespace.
	NameClaimUnclaimed NameClaim = "Unclaimed"
)

// NameReviewStatus is the answer. Of a name that no rule gives to the namespace it is the one of a name without a zone.
type NameReviewStatus struct {
	// zone is the name of the zone that would take the Record. Absent: none does.
	// +optional
	Zone string `json:"zone,omitempty" protobuf:"bytes,1,opt,name=zone"`
	// allowed says whether the zone would take the Record, as far as that does not depend on its data.
	Allowed bool `json:"allowed" protobuf:"varint,2,opt,name=allowed"`
	// rule is the pattern of the rule by which it would.
	// +optional
	Rule string `json:"rule,omitempty" protobuf:"bytes,3,opt,name=rule"`
	// reason says why it would not, with the number of the rule and the next step.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// claimed says whose the name is, or one above or below that comes with it: Mine, Another or
	// Unclaimed. Absent: no rule gives the namespace the name that the Record would claim.
	// +optional
	Claimed NameClaim `json:"claimed,omitempty" protobuf:"bytes,5,opt,name=claimed,casttype=NameClaim"`
	// contact of the zone, as spec.contact of the Zone has it.
	// +optional
	Contact string `json:"contact,omitempty" protobuf:"bytes,6,opt,name=contact"`
	// warnings are those that the creation would have, as far as they do not depend on its data.
	// +optional
	// +listType=atomic
	Warnings []string `json:"warnings,omitempty" protobuf:"bytes,7,rep,name=warnings"`
	// rules are those that give the namespace names, in the answer to a question without a name: at most 500.
	// +optional
	// +listType=atomic
	Rules []NameReviewRule `json:"rules,omitempty" protobuf:"bytes,8,rep,name=rules"`
	// remaining is how many rules there are beside them.
	// +optional
	Remaining int64 `json:"remaining,omitempty" protobuf:"varint,9,opt,name=remaining"`
}

// NameReviewRule is what one rule of a zone gives a namespace. It has records or zones. Names at and below a zone below
// are that one's.
type NameReviewRule struct {
	// zone is the name of the zone.
	Zone string `json:"zone" protobuf:"bytes,1,opt,name=zone"`
	// view of the zone; absent: the default view.
	// +optional
	View string `json:"view,omitempty" protobuf:"bytes,2,opt,name=view"`
	// records are patterns of names with types, as in the rule.
	// +optional
	// +listType=atomic
	Records []RecordDelegation `json:"records,omitempty" protobuf:"bytes,3,rep,name=records"`
	// zones are patterns of names of child zones.
	// +optional
	// +listType=atomic
	Zones []string `json:"zones,omitempty" protobuf:"bytes,4,rep,name=zones"`
	// contact of the zone.
	// +optional
	Contact string `json:"contact,omitempty" protobuf:"bytes,5,opt,name=contact"`
	// elsewhere says that these patterns give no name: zones that this one delegates have all of theirs.
	// +optional
	Elsewhere bool `json:"elsewhere,omitempty" protobuf:"varint,6,opt,name=elsewhere"`
}
