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
	// MaxChangeSetItems is the maximum number of items.
	MaxChangeSetItems = 100
	// MaxChangeSetOctets bounds all items together, as JSON.
	MaxChangeSetOctets = 256 << 10
)

// CauseWritesTooFast is the cause of a 429 for a namespace's write rate. Its message is constant, for clients that keep
// it in a status.
const CauseWritesTooFast metav1.CauseType = "NamespaceWritesTooFast"

// StatusReasonChangeSetEnded is for an item not written because its ChangeSet was not.
const StatusReasonChangeSetEnded metav1.StatusReason = "ChangeSetEnded"

// StatusReasonPrerequisiteFailed (412) is for a ChangeSet with an unmet prerequisite.
const StatusReasonPrerequisiteFailed metav1.StatusReason = "PrerequisiteFailed"

// Values of status.items[].operation.
const (
	OperationCreated   = "Created"
	OperationUpdated   = "Updated"
	OperationUnchanged = "Unchanged"
	OperationDeleted   = "Deleted"
)

// +genclient
// +genclient:onlyVerbs=create
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ChangeSet changes Records of one namespace and zone: all in one transaction, with one new serial of the zone, or
// none. It is not stored. Each item is authorized, admitted and counted like a single write of its Record.
type ChangeSet struct {
	metav1.TypeMeta `json:",inline"`
	// metadata needs no name and is not stored.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec has the changes.
	Spec ChangeSetSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status has the outcome, in the answer.
	// +optional
	Status ChangeSetStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ChangeSetSpec has the changes.
type ChangeSetSpec struct {
	// items are the changes: at most 100, together at most 256 KiB of JSON, each of another Record.
	// +required
	// +listType=atomic
	// +k8s:validation:minItems=1
	// +k8s:validation:maxItems=100
	Items []ChangeSetItem `json:"items" protobuf:"bytes,1,rep,name=items"`
	// fieldManager of applied items. Absent: the request's.
	// +optional
	// +k8s:validation:maxLength=128
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,2,opt,name=fieldManager"`
	// force takes over fields of other managers.
	// +optional
	Force bool `json:"force,omitempty" protobuf:"varint,3,opt,name=force"`
	// prerequisites are conditions on the zone before the changes, at most 100. If any is unmet, nothing is written
	// (412, PrerequisiteFailed).
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	Prerequisites []ChangeSetPrerequisite `json:"prerequisites,omitempty" protobuf:"bytes,4,rep,name=prerequisites"`
}

// ChangeSetPrerequisite is a condition on a name or an RRset, by either exists or values. Wildcards and empty
// non-terminals (RFC 4592) do not count.
type ChangeSetPrerequisite struct {
	// name is absolute, and allowed to the namespace by a rule.
	// +k8s:validation:minLength=1
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// type of the RRset. Absent: any RRset at the name.
	// +optional
	Type string `json:"type,omitempty" protobuf:"bytes,2,opt,name=type"`
	// exists requires that the RRset, or any at the name, exists (true) or not (false).
	// +optional
	Exists *bool `json:"exists,omitempty" protobuf:"varint,3,opt,name=exists"`
	// values are all values of the RRset, in any order, as in a Record. The TTL does not count.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	Values []string `json:"values,omitempty" protobuf:"bytes,4,rep,name=values"`
}

// ChangeSetItem is a change, in exactly one field.
type ChangeSetItem struct {
	// apply is a Record for server-side apply: apiVersion, kind, metadata.name and the manager's fields. Refused if
	// metadata.uid or metadata.resourceVersion is set and not the Record's.
	// +optional
	Apply *runtime.RawExtension `json:"apply,omitempty" protobuf:"bytes,1,opt,name=apply"`
	// delete names a Record to delete.
	// +optional
	Delete *ChangeSetDelete `json:"delete,omitempty" protobuf:"bytes,2,opt,name=delete"`
	// create is a Record to create, with apiVersion, kind and metadata.name. Refused if the name is taken.
	// +optional
	Create *runtime.RawExtension `json:"create,omitempty" protobuf:"bytes,3,opt,name=create"`
	// fieldManager of the item. Absent: spec.fieldManager.
	// +optional
	// +k8s:validation:maxLength=128
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,4,opt,name=fieldManager"`
}

// ChangeSetDelete names a Record without finalizers.
type ChangeSetDelete struct {
	// name of the Record.
	// +required
	// +k8s:validation:minLength=1
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// uid required of the Record.
	// +optional
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,2,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
	// resourceVersion required of the Record.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,3,opt,name=resourceVersion"`
}

// ChangeSetStatus has the outcome.
type ChangeSetStatus struct {
	// zoneRef names the zone.
	// +optional
	ZoneRef *AdoptingZone `json:"zoneRef,omitempty" protobuf:"bytes,1,opt,name=zoneRef"`
	// serial of the zone with the changes, absent if the set changes no content.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,2,opt,name=serial"`
	// items in the order of spec.items.
	// +optional
	// +listType=atomic
	Items []ChangeSetItemStatus `json:"items,omitempty" protobuf:"bytes,3,rep,name=items"`
}

// ChangeSetItemStatus is an item's outcome.
type ChangeSetItemStatus struct {
	// name of the Record.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// uid of the Record.
	// +optional
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,2,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
	// resourceVersion of the Record. Absent if deleted.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,3,opt,name=resourceVersion"`
	// generation of the Record. Absent if deleted.
	// +optional
	Generation int64 `json:"generation,omitempty" protobuf:"varint,4,opt,name=generation"`
	// operation is Created, Updated, Unchanged or Deleted.
	Operation string `json:"operation" protobuf:"bytes,5,opt,name=operation"`
}
