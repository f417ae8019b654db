// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// UpdateKey allows messages signed with one TSIG key to write Records of its namespace by dynamic update (RFC 2136),
// within spec.records and the zone's rules. Write access to the Secret gives this right, and no other.
type UpdateKey struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the key and its permissions.
	Spec UpdateKeySpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state.
	// +optional
	Status UpdateKeyStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// UpdateKeySpec is a key and its permissions.
type UpdateKeySpec struct {
	// tsigSecretRef names the Secret with the key, in this namespace. Data as written by tsig-keygen: name, algorithm
	// (default hmac-sha256) and secret, in base64.
	TSIGSecretRef UpdateKeySecret `json:"tsigSecretRef" protobuf:"bytes,1,opt,name=tsigSecretRef"`
	// view of the updated zones. Empty: the default view. Immutable.
	// +optional
	// +k8s:validation:maxLength=63
	View string `json:"view,omitempty" protobuf:"bytes,2,opt,name=view"`
	// records are the names and types the key may write, 1 to 16 elements.
	// +required
	// +listType=atomic
	// +k8s:validation:minItems=1
	// +k8s:validation:maxItems=16
	Records []UpdateKeyRecords `json:"records" protobuf:"bytes,3,rep,name=records"`
	// transfer is the permission for AXFR. Defaults to None.
	// +optional
	// +default=ref(UpdateTransferNone)
	Transfer UpdateTransfer `json:"transfer,omitempty" protobuf:"bytes,4,opt,name=transfer,casttype=UpdateTransfer"`
	// suspended refuses messages of the key.
	// +optional
	Suspended bool `json:"suspended,omitempty" protobuf:"varint,5,opt,name=suspended"`
	// recordsExpireAfter is the time after which an RRset that the key wrote is deleted, unless the key writes or adds
	// its values again, 1m to 87600h. Absent: never.
	// +optional
	RecordsExpireAfter *metav1.Duration `json:"recordsExpireAfter,omitempty" protobuf:"bytes,6,opt,name=recordsExpireAfter"`
}

// UpdateKeySecret names a Secret of the same namespace.
type UpdateKeySecret struct {
	// name of the Secret.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// UpdateKeyRecords are names and types a key may write.
type UpdateKeyRecords struct {
	// pattern of absolute names, with a trailing dot ("_acme-challenge.*.apps.example.org."). A leading label "*"
	// matches one or more labels, any other "*" exactly one.
	// +k8s:validation:minLength=1
	Pattern string `json:"pattern" protobuf:"bytes,1,opt,name=pattern"`
	// types are RR types: mnemonics in any case, or TYPE123 (RFC 3597). Absent: every type except NS, DS, DNSKEY, CDS,
	// CDNSKEY, CSYNC and DNAME.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	Types []string `json:"types,omitempty" protobuf:"bytes,2,rep,name=types"`
}

// UpdateTransfer is an UpdateKey's permission for AXFR.
// +enum
type UpdateTransfer string

const (
	// UpdateTransferNone refuses AXFR.
	UpdateTransferNone UpdateTransfer = "None"
	// UpdateTransferOwn: Records of the namespace made by updates, of names the key may write.
	UpdateTransferOwn UpdateTransfer = "Own"
	// UpdateTransferZone: each zone of the namespace.
	UpdateTransferZone UpdateTransfer = "Zone"
)

// UpdateKeyStatus is the state of an UpdateKey, written by a primary.
type UpdateKeyStatus struct {
	// observedGeneration is the generation of the condition.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// keyName is the TSIG key's name at first use. A Secret with another name is not accepted.
	// +optional
	KeyName string `json:"keyName,omitempty" protobuf:"bytes,2,opt,name=keyName"`
	// lastUpdate is the last update with changes. Lags by about ten seconds.
	// +optional
	LastUpdate *UpdateKeyUpdate `json:"lastUpdate,omitempty" protobuf:"bytes,3,opt,name=lastUpdate"`
	// lastRefusal is the last refused update. Lags by about ten seconds.
	// +optional
	LastRefusal *UpdateKeyRefusal `json:"lastRefusal,omitempty" protobuf:"bytes,4,opt,name=lastRefusal"`
	// conditions: Ready is True while a primary accepts the key.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,5,rep,name=conditions"`
}

// UpdateKeyUpdate is an update that changed a zone.
type UpdateKeyUpdate struct {
	// time of the update.
	Time metav1.Time `json:"time" protobuf:"bytes,1,opt,name=time"`
	// serial of the zone with the update.
	Serial int64 `json:"serial" protobuf:"varint,2,opt,name=serial"`
}

// UpdateKeyRefusal is a refused update.
type UpdateKeyRefusal struct {
	// time of the update.
	Time metav1.Time `json:"time" protobuf:"bytes,1,opt,name=time"`
	// rcode of the answer.
	RCode string `json:"rcode" protobuf:"bytes,2,opt,name=rcode"`
	// message is the reason.
	Message string `json:"message" protobuf:"bytes,3,opt,name=message"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// UpdateKeyList lists UpdateKeys.
type UpdateKeyList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the UpdateKeys.
	Items []UpdateKey `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// UpdateRequest is a DNS UPDATE message signed by an UpdateKey. A primary creates it at updatekeys/update; the server
// applies it, answers with the RCODE, and stores nothing.
type UpdateRequest struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is empty and not stored.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the message.
	Spec UpdateRequestSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status has the outcome, in the answer.
	// +optional
	Status UpdateRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// UpdateRequestSpec is the message.
type UpdateRequestSpec struct {
	// zone of the message, absolute.
	// +k8s:validation:minLength=1
	Zone string `json:"zone" protobuf:"bytes,1,opt,name=zone"`
	// from is the sender's address.
	// +optional
	From string `json:"from,omitempty" protobuf:"bytes,2,opt,name=from"`
	// prerequisites are the Prerequisite section (RFC 2136 §2.4).
	// +optional
	// +listType=atomic
	Prerequisites []UpdateRequestRecord `json:"prerequisites,omitempty" protobuf:"bytes,3,rep,name=prerequisites"`
	// updates are the Update section (RFC 2136 §2.5).
	// +optional
	// +listType=atomic
	Updates []UpdateRequestRecord `json:"updates,omitempty" protobuf:"bytes,4,rep,name=updates"`
	// id identifies the signed octets: a repeated message has the same id. Records that it wrote have the annotation
	// kubi.zone/update-id.
	// +optional
	// +k8s:validation:maxLength=64
	ID string `json:"id,omitempty" protobuf:"bytes,5,opt,name=id"`
}

// UpdateRequestRecord is a record of a message.
type UpdateRequestRecord struct {
	// name of the record, absolute.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// type of the record: a mnemonic, or TYPE123.
	Type string `json:"type" protobuf:"bytes,2,opt,name=type"`
	// class is IN, ANY or NONE.
	Class string `json:"class" protobuf:"bytes,3,opt,name=class"`
	// ttl in seconds.
	// +optional
	TTL int64 `json:"ttl,omitempty" protobuf:"varint,4,opt,name=ttl"`
	// data in presentation format, if any.
	// +optional
	Data string `json:"data,omitempty" protobuf:"bytes,5,opt,name=data"`
}

// UpdateRequestStatus is the outcome of a message.
type UpdateRequestStatus struct {
	// rcode of the answer, such as NOERROR or REFUSED.
	RCode string `json:"rcode" protobuf:"bytes,1,opt,name=rcode"`
	// message is the reason for an rcode other than NOERROR.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// serial of the zone with the update. Absent without a change.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,3,opt,name=serial"`
	// share has the records made by updates in the zone, of names the key may write, for updatekeys/share.
	// +optional
	// +listType=atomic
	Share []UpdateRequestRecord `json:"share,omitempty" protobuf:"bytes,4,rep,name=share"`
}
