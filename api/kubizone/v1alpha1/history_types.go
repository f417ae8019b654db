// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// FormHistory of ZoneChanges has the user of each change, and the Records before, newest first.
const FormHistory = "history"

// Bounds of the query parameter limit of a history.
const (
	DefaultHistoryLimit = 500
	MaxHistoryLimit     = 1000
)

// AllRecords is the name under which `records/changes` answers for all Records of a namespace. No Record has it.
const AllRecords = "-"

// AnyZone is the name under which `zones/changes` answers for a deleted Zone by its DNS name. No Zone has it.
const AnyZone = "-"

// Way is how a change came.
type Way string

// Ways of changes.
const (
	WayRequest     Way = "Request"
	WayUpdateKey   Way = "UpdateKey"
	WayChallenge   Way = "Challenge"
	WayExternalDNS Way = "ExternalDNS"
	// WayCascade: by a change of rules or zones, named in cause.
	WayCascade Way = "Cascade"
	// WayRestore: by kubizone restore, which raises the serials of a backup's zones.
	WayRestore Way = "Restore"
)

// Writers of changes, beside users.
const (
	// UpdateKeyUserPrefix precedes NAMESPACE:NAME of an UpdateKey, ChallengeUserPrefix the namespace of a challenge.
	UpdateKeyUserPrefix = "kubi.zone:updatekey:"
	ChallengeUserPrefix = "kubi.zone:acme:"
	// ExternalDNSFieldManager is the field manager of kubizone external-dns.
	ExternalDNSFieldManager = "kubizone-external-dns"
	// RestoreUser is kubizone restore.
	RestoreUser = "kubi.zone:restore"
)

// HistoryStep is a change of a zone with one serial.
type HistoryStep struct {
	// fqdn is the zone's name at the change.
	FQDN string `json:"fqdn" protobuf:"bytes,1,opt,name=fqdn"`
	// view of the zone, empty for default.
	// +optional
	View string `json:"view,omitempty" protobuf:"bytes,2,opt,name=view"`
	// from is the serial before the change, 0 for the first.
	// +optional
	From int64 `json:"from,omitempty" protobuf:"varint,3,opt,name=from"`
	// serial after the change.
	Serial int64 `json:"serial" protobuf:"varint,4,opt,name=serial"`
	// contentGeneration after the change.
	ContentGeneration int64 `json:"contentGeneration" protobuf:"varint,5,opt,name=contentGeneration"`
	// time of the commit.
	// +optional
	Time *metav1.Time `json:"time,omitempty" protobuf:"bytes,6,opt,name=time"`

	// way in which the change came.
	Way Way `json:"way" protobuf:"bytes,7,opt,name=way,casttype=Way"`
	// anotherNamespace is true if the reader may not know the namespace of the change: user, manager, audit ID, cause
	// and records are absent.
	// +optional
	AnotherNamespace bool `json:"anotherNamespace,omitempty" protobuf:"varint,8,opt,name=anotherNamespace"`
	// by is the user.
	// +optional
	By string `json:"by,omitempty" protobuf:"bytes,9,opt,name=by"`
	// fieldManager of the write.
	// +optional
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,10,opt,name=fieldManager"`
	// auditID of the request.
	// +optional
	AuditID string `json:"auditID,omitempty" protobuf:"bytes,11,opt,name=auditID"`
	// cause of a cascade: the zone or rule that changed.
	// +optional
	Cause string `json:"cause,omitempty" protobuf:"bytes,12,opt,name=cause"`

	// records are the Records written, several for a change set, none for a change of the zone itself.
	// +optional
	// +listType=atomic
	Records []HistoryRecord `json:"records,omitempty" protobuf:"bytes,13,rep,name=records"`
	// headerBefore is the former header, if changed.
	// +optional
	HeaderBefore *ZoneHeader `json:"headerBefore,omitempty" protobuf:"bytes,14,opt,name=headerBefore"`
	// headerAfter is the new header, if changed.
	// +optional
	HeaderAfter *ZoneHeader `json:"headerAfter,omitempty" protobuf:"bytes,15,opt,name=headerAfter"`
	// removed values.
	// +optional
	// +listType=atomic
	Removed []Row `json:"removed,omitempty" protobuf:"bytes,16,rep,name=removed"`
	// added values.
	// +optional
	// +listType=atomic
	Added []Row `json:"added,omitempty" protobuf:"bytes,17,rep,name=added"`
	// ttls are the changes of RRsets' ttl, or all RRsets that a condensed change touched, without ttl.
	// +optional
	// +listType=atomic
	TTLs []TTLChange `json:"ttls,omitempty" protobuf:"bytes,18,rep,name=ttls"`

	// condensed is true if values, headers and states are no longer kept.
	// +optional
	Condensed bool `json:"condensed,omitempty" protobuf:"varint,19,opt,name=condensed"`
	// zone is the Zone that the change removed.
	// +optional
	Zone *HistoryZone `json:"zone,omitempty" protobuf:"bytes,20,opt,name=zone"`
	// otherRecords counts the Records that `kubectl kubizone log NAME` leaves out, since they have another name.
	// +optional
	OtherRecords int64 `json:"otherRecords,omitempty" protobuf:"varint,21,opt,name=otherRecords"`
}

// Effect of a change on a Record of a zone.
type Effect string

// Effects of a change.
const (
	EffectAdded   Effect = "Added"
	EffectChanged Effect = "Changed"
	EffectRemoved Effect = "Removed"
)

// HistoryRecord is a Record of a change.
type HistoryRecord struct {
	// namespace of the Record.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// name of the Record.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
	// uid of the Record.
	UID string `json:"uid" protobuf:"bytes,3,opt,name=uid"`
	// effect on the zone: Added, Changed or Removed.
	Effect Effect `json:"effect" protobuf:"bytes,4,opt,name=effect,casttype=Effect"`
	// before is the Record before the change, if the zone had it.
	// +optional
	Before *HistoryState `json:"before,omitempty" protobuf:"bytes,5,opt,name=before"`
	// owner is the DNS name relative to the zone, after the change, or before the change for a removed Record.
	// +optional
	Owner string `json:"owner,omitempty" protobuf:"bytes,6,opt,name=owner"`
}

// HistoryState is an object before a change.
type HistoryState struct {
	// labels of the object.
	// +optional
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,1,rep,name=labels"`
	// annotations of the object.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,2,rep,name=annotations"`
	// spec of the object.
	// +optional
	Spec *runtime.RawExtension `json:"spec,omitempty" protobuf:"bytes,3,opt,name=spec"`
	// leftOut are the fields for which the history has no room: annotations, labels, values or rdata (which the change
	// has in removed), spec.
	// +optional
	// +listType=atomic
	LeftOut []string `json:"leftOut,omitempty" protobuf:"bytes,4,rep,name=leftOut"`
	// managers of the spec.
	// +optional
	// +listType=atomic
	Managers []HistoryManager `json:"managers,omitempty" protobuf:"bytes,5,rep,name=managers"`
}

// HistoryManager is a field manager of an object's spec.
type HistoryManager struct {
	// name of the field manager.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// operation is Apply or Update.
	Operation string `json:"operation" protobuf:"bytes,2,opt,name=operation"`
}

// HistoryZone is a removed Zone.
type HistoryZone struct {
	// namespace of the Zone.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// name of the Zone.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
	// uid of the Zone.
	UID string `json:"uid" protobuf:"bytes,3,opt,name=uid"`
	// before is the Zone before its removal. Absent if the object stayed, pending.
	// +optional
	Before *HistoryState `json:"before,omitempty" protobuf:"bytes,4,opt,name=before"`
	// delegations that left with the Zone: at its removal, with their namespace, or by the same user a minute before.
	// +optional
	// +listType=atomic
	Delegations []HistoryDelegation `json:"delegations,omitempty" protobuf:"bytes,5,rep,name=delegations"`
	// delegationsLeftOut is true if the history has no room for all Delegations.
	// +optional
	DelegationsLeftOut bool `json:"delegationsLeftOut,omitempty" protobuf:"varint,6,opt,name=delegationsLeftOut"`
}

// HistoryDelegation is a Delegation of a removed Zone.
type HistoryDelegation struct {
	// name of the Delegation.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// before is the Delegation before it went.
	Before HistoryState `json:"before" protobuf:"bytes,2,opt,name=before"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RecordChanges are the changes that a namespace's Records, also deleted ones, made in zones, newest first.
type RecordChanges struct {
	metav1.TypeMeta `json:",inline"`
	// metadata has namespace and name of the Record, and `continue` if there is more.
	// +optional
	Metadata ZoneViewMeta `json:"metadata,omitempty,omitzero" protobuf:"bytes,1,opt,name=metadata"`
	// wholeSince is the time since which no change is missing or condensed: none by the namespace itself in the zones
	// of its Records and of these changes.
	// +optional
	WholeSince *metav1.Time `json:"wholeSince,omitempty" protobuf:"bytes,2,opt,name=wholeSince"`
	// history are the changes of this page, newest first.
	// +optional
	// +listType=atomic
	History []HistoryStep `json:"history,omitempty" protobuf:"bytes,3,rep,name=history"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RecordChangesOptions are query parameters of `GET records/{name}/changes`. The name `-` is all Records of the
// namespace.
type RecordChangesOptions struct {
	metav1.TypeMeta `json:",inline"`

	// fqdn selects changes at an absolute name.
	// +optional
	FQDN string `json:"fqdn,omitempty" protobuf:"bytes,1,opt,name=fqdn"`
	// limit is the number of changes after which an answer may end, 500 by default, at most 1000.
	// +optional
	Limit int64 `json:"limit,omitempty" protobuf:"varint,2,opt,name=limit"`
	// continue is the token from the previous answer.
	// +optional
	Continue string `json:"continue,omitempty" protobuf:"bytes,3,opt,name=continue"`
	// sinceTime leaves out changes before a time (RFC 3339).
	// +optional
	SinceTime string `json:"sinceTime,omitempty" protobuf:"bytes,4,opt,name=sinceTime"`
	// enclosing selects changes of the zones that have an absolute name, and their wholeSince.
	// +optional
	Enclosing string `json:"enclosing,omitempty" protobuf:"bytes,5,opt,name=enclosing"`
}
