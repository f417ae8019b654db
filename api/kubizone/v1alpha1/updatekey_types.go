// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// UpdateKey lets what signs with one TSIG key write Records of its namespace by dynamic update (RFC 2136): those that
// its records allow and that the rules of the zone allow the namespace. It is a narrow right: a writer of the Secret
// has it, and no other right.
type UpdateKey struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says which key may write what.
	Spec UpdateKeySpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status tells whether the key is taken, and what came of its updates.
	// +optional
	Status UpdateKeyStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// UpdateKeySpec says which key may write what.
type UpdateKeySpec struct {
	// tsigSecretRef names the Secret of the key, in the namespace of the UpdateKey. Its data are those of a TSIG key as
	// tsig-keygen writes it: name, algorithm (default hmac-sha256) and secret, in base64.
	TSIGSecretRef UpdateKeySecret `json:"tsigSecretRef" protobuf:"bytes,1,opt,name=tsigSecretRef"`
	// view of the zones that are updated. Empty: the default view. Immutable.
	// +optional
	// +k8s:validation:maxLength=63
	View string `json:"view,omitempty" protobuf:"bytes,2,opt,name=view"`
	// records are what the key may write, 1 to 16 elements.
	// +required
	// +listType=atomic
	// +k8s:validation:minItems=1
	// +k8s:validation:maxItems=16
	Records []UpdateKeyRecords `json:"records" protobuf:"bytes,3,rep,name=records"`
	// transfer says what the key may transfer by AXFR: None; Own, what updates made for the namespace and the key may
	// write; Zone, each zone of the namespace. Defaults to None.
	// +optional
	// +default=ref(UpdateTransferNone)
	Transfer UpdateTransfer `json:"transfer,omitempty" protobuf:"bytes,4,opt,name=transfer,casttype=UpdateTransfer"`
	// suspended refuses what the key signs.
	// +optional
	Suspended bool `json:"suspended,omitempty" protobuf:"varint,5,opt,name=suspended"`
}

// UpdateKeySecret names a Secret of the same namespace.
type UpdateKeySecret struct {
	// name of the Secret.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// UpdateKeyRecords are names and types that a key may write.
type UpdateKeyRecords struct {
	// pattern of names, absolute: it ends in a dot ("_acme-challenge.*.apps.example.org."). A leading label "*" stands
	// for one or more labels, any other one for exactly one.
	// +k8s:validation:minLength=1
	Pattern string `json:"pattern" protobuf:"bytes,1,opt,name=pattern"`
	// types are RR types: mnemonics in any case, or TYPE123 (RFC 3597). Absent: every type but NS, DS, DNSKEY, CDS,
	// CDNSKEY, CSYNC and DNAME, which must be named.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	Types []string `json:"types,omitempty" protobuf:"bytes,2,rep,name=types"`
}

// UpdateTransfer says what an UpdateKey may transfer.
// +enum
type UpdateTransfer string

const (
	// UpdateTransferNone is nothing.
	UpdateTransferNone UpdateTransfer = "None"
	// UpdateTransferOwn is what updates made for the namespace, of what the key may write.
	UpdateTransferOwn UpdateTransfer = "Own"
	// UpdateTransferZone is each zone of the namespace.
	UpdateTransferZone UpdateTransfer = "Zone"
)

// UpdateKeyStatus is the observed state of an UpdateKey. A primary writes it.
type UpdateKeyStatus struct {
	// observedGeneration is the metadata.generation that the condition is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// keyName is the name of the TSIG key at its first use. Another name in the Secret is not taken.
	// +optional
	KeyName string `json:"keyName,omitempty" protobuf:"bytes,2,opt,name=keyName"`
	// lastUpdate is the last update that changed something, as it was some ten seconds ago.
	// +optional
	LastUpdate *UpdateKeyUpdate `json:"lastUpdate,omitempty" protobuf:"bytes,3,opt,name=lastUpdate"`
	// lastRefusal is the last update that was refused, as it was some ten seconds ago.
	// +optional
	LastRefusal *UpdateKeyRefusal `json:"lastRefusal,omitempty" protobuf:"bytes,4,opt,name=lastRefusal"`
	// conditions: Ready is True while a primary takes the key.
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
	// serial of the zone with it.
	Serial int64 `json:"serial" protobuf:"varint,2,opt,name=serial"`
}

// UpdateKeyRefusal is an update that changed nothing.
type UpdateKeyRefusal struct {
	// time of the update.
	Time metav1.Time `json:"time" protobuf:"bytes,1,opt,name=time"`
	// rcode of the answer.
	RCode string `json:"rcode" protobuf:"bytes,2,opt,name=rcode"`
	// message says why.
	Message string `json:"message" protobuf:"bytes,3,opt,name=message"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// UpdateKeyList is a list of UpdateKeys.
type UpdateKeyList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the UpdateKeys.
	Items []UpdateKey `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// UpdateRequest is a message of DNS UPDATE that an UpdateKey signed. A primary creates it at updatekeys/update, and the
// server carries it out and answers with the RCODE. It is not stored.
type UpdateRequest struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is empty: nothing of it is stored.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what the message says.
	Spec UpdateRequestSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status of the answer has the outcome.
	// +optional
	Status UpdateRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// UpdateRequestSpec is what a message says.
type UpdateRequestSpec struct {
	// zone of the message, absolute.
	// +k8s:validation:minLength=1
	Zone string `json:"zone" protobuf:"bytes,1,opt,name=zone"`
	// from is the address that sent the message.
	// +optional
	From string `json:"from,omitempty" protobuf:"bytes,2,opt,name=from"`
	// prerequisites are the records of the section of that name (RFC 2136 §2.4).
	// +optional
	// +listType=atomic
	Prerequisites []UpdateRequestRecord `json:"prerequisites,omitempty" protobuf:"bytes,3,rep,name=prerequisites"`
	// updates are the records of the section of that name (RFC 2136 §2.5).
	// +optional
	// +listType=atomic
	Updates []UpdateRequestRecord `json:"updates,omitempty" protobuf:"bytes,4,rep,name=updates"`
	// id identifies the signed octets: a message that comes again has the same one. Records that it writes carry it as
	// the annotation kubi.zone/update-id.
	// +optional
	// +k8s:validation:maxLength=64
	ID string `json:"id,omitempty" protobuf:"bytes,5,opt,name=id"`
}

// UpdateRequestRecord is one record of a message.
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
	// data in presentation format; absent where the record has none.
	// +optional
	Data string `json:"data,omitempty" protobuf:"bytes,5,opt,name=data"`
}

// UpdateRequestStatus is the outcome of a message.
type UpdateRequestStatus struct {
	// rcode of the answer, as NOERROR or REFUSED.
	RCode string `json:"rcode" protobuf:"bytes,1,opt,name=rcode"`
	// message says why it is not NOERROR.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// serial of the zone with the update; absent where nothing was to change.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,3,opt,name=serial"`
	// share is what updates made in the zone of what the key may write, in the answer of updatekeys/share.
	// +optional
	// +listType=atomic
	Share []UpdateRequestRecord `json:"share,omitempty" protobuf:"bytes,4,rep,name=share"`
}
