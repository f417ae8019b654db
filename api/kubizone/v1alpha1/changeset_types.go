// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Bounds of a ChangeSet (S10.4).
const (
	// MaxChangeSetItems is how many items a ChangeSet may have.
	MaxChangeSetItems = 100
	// MaxChangeSetOctets is how many octets of JSON all its items may take together.
	MaxChangeSetOctets = 256 << 10
)

// CauseWritesTooFast is the cause of a refusal (429) for the write rate of a namespace. Its message is constant, so
// that a client can keep it in a status.
const CauseWritesTooFast metav1.CauseType = "NamespaceWritesTooFast"

// StatusReasonChangeSetEnded is the reason of the answer to an item that is not written, since its ChangeSet is not.
const StatusReasonChangeSetEnded metav1.StatusReason = "ChangeSetEnded"

// StatusReasonPrerequisiteFailed is the reason of the answer, with code 412, to a ChangeSet of which a prerequisite is
// not met.
const StatusReasonPrerequisiteFailed metav1.StatusReason = "PrerequisiteFailed"

// Outcomes of an item of a ChangeSet: values of its status.items[].operation.
const (
	OperationCreated   = "Created"
	OperationUpdated   = "Updated"
	OperationUnchanged = "Unchanged"
	OperationDeleted   = "Deleted"
)

// +genclient
// +genclient:onlyVerbs=create
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ChangeSet changes Records of its namespace that belong to one zone: all of them in one transaction with one new
// serial of the zone, or none. It is created and answered, and not stored. Each item is authorized, admitted and
// counted like an apply or delete of its Record.
type ChangeSet struct {
	metav1.TypeMeta `json:",inline"`
	// metadata needs no name: nothing of it is stored.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec has the changes.
	Spec ChangeSetSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status of the answer has the outcome.
	// +optional
	Status ChangeSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ChangeSetSpec has the changes.
type ChangeSetSpec struct {
	// items are the changes: at most 100 of them, which take at most 256 KiB of JSON together. No two are of one
	// Record.
	// +required
	// +listType=atomic
	// +k8s:validation:minItems=1
	// +k8s:validation:maxItems=100
	Items []ChangeSetItem `json:"items" protobuf:"bytes,1,rep,name=items"`
	// fieldManager is the manager of the items that are applied. Without it, it is that of the request.
	// +optional
	// +k8s:validation:maxLength=128
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,2,opt,name=fieldManager"`
	// force takes over fields that other managers own.
	// +optional
	Force bool `json:"force,omitempty" protobuf:"varint,3,opt,name=force"`
	// prerequisites are what the zone must be like before the changes, at most 100. If one is not met, nothing is
	// written (412, PrerequisiteFailed).
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	Prerequisites []ChangeSetPrerequisite `json:"prerequisites,omitempty" protobuf:"bytes,4,rep,name=prerequisites"`
}

// ChangeSetPrerequisite is what one name, or one RRset, must be like. It has either exists or values. Wildcards do not
// count, nor do names that have nothing but names below them.
type ChangeSetPrerequisite struct {
	// name is absolute, and one that a rule lets the namespace write.
	// +k8s:validation:minLength=1
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// type of the RRset. Absent: the name itself, with an RRset of any type.
	// +optional
	Type string `json:"type,omitempty" protobuf:"bytes,2,opt,name=type"`
	// exists says whether the RRset, or any at the name, must be there.
	// +optional
	Exists *bool `json:"exists,omitempty" protobuf:"varint,3,opt,name=exists"`
	// values are all that the RRset must have, in any order, as in a Record. Its TTL does not count.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	Values []string `json:"values,omitempty" protobuf:"bytes,4,rep,name=values"`
}

// ChangeSetItem is one change. It has exactly one member.
type ChangeSetItem struct {
	// apply is a Record to apply, as a server-side apply sends it: with apiVersion, kind, metadata.name and the
	// fields that its manager sets. With metadata.uid or metadata.resourceVersion it is refused if the Record has
	// another one.
	// +optional
	Apply *runtime.RawExtension `json:"apply,omitempty" protobuf:"bytes,1,opt,name=apply"`
	// delete names a Record to delete.
	// +optional
	Delete *ChangeSetDelete `json:"delete,omitempty" protobuf:"bytes,2,opt,name=delete"`
	// create is a Record to create, with apiVersion, kind and metadata.name. It is refused if there is one of the name.
	// +optional
	Create *runtime.RawExtension `json:"create,omitempty" protobuf:"bytes,3,opt,name=create"`
}

// ChangeSetDelete names a Record to delete. One that has finalizers cannot be deleted by a ChangeSet.
type ChangeSetDelete struct {
	// name of the Record.
	// +required
	// +k8s:validation:minLength=1
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// uid that the Record must have.
	// +optional
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,2,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
	// resourceVersion that the Record must have.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,3,opt,name=resourceVersion"`
}

// ChangeSetStatus has the outcome.
type ChangeSetStatus struct {
	// zoneRef is the zone of the items.
	// +optional
	ZoneRef *AdoptingZone `json:"zoneRef,omitempty" protobuf:"bytes,1,opt,name=zoneRef"`
	// serial of the zone with the changes. If they do not change the zone's content, it is the previous one.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,2,opt,name=serial"`
	// items are in the order of spec.
	// +optional
	// +listType=atomic
	Items []ChangeSetItemStatus `json:"items,omitempty" protobuf:"bytes,3,rep,name=items"`
}

// ChangeSetItemStatus is the outcome of one item.
type ChangeSetItemStatus struct {
	// name of the Record.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// uid of the Record.
	// +optional
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,2,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
	// resourceVersion of the Record; absent where it was deleted.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,3,opt,name=resourceVersion"`
	// generation of the Record; absent where it was deleted.
	// +optional
	Generation int64 `json:"generation,omitempty" protobuf:"varint,4,opt,name=generation"`
	// operation is Created, Updated, Unchanged or Deleted.
	Operation string `json:"operation" protobuf:"bytes,5,opt,name=operation"`
}
