// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Record is an RRset, or part of an RRset. The zone with the longest enclosing name adopts it, if its rules allow name,
// type and namespace.
type Record struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state.
	Spec RecordSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state. Only the server writes it.
	// +optional
	Status RecordStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// RecordSpec is the desired state of a Record: a name, a type and data.
type RecordSpec struct {
	// domainName is the owner name: absolute with a trailing dot ("www.example.org."), otherwise ("www", "@" for the
	// zone's own name) relative to zoneRef, which is then required. "*" as leftmost label is a wildcard (RFC 4592).
	// Labels have letters, digits, "-", "_" and "/"; other scripts become A-labels (RFC 5891). At most 63 octets a
	// label, 255 a name.
	// +k8s:validation:minLength=1
	// +k8s:validation:pattern="^[^\\s\"\\\\$;]+$"
	DomainName string `json:"domainName" protobuf:"bytes,1,opt,name=domainName"`

	// view is the Record's view (split horizon): an RFC 1123 label, empty for default. With a zoneRef, only empty or
	// that zone's view. Immutable.
	// +optional
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	View string `json:"view,omitempty" protobuf:"bytes,2,opt,name=view"`

	// zoneRef names the only Zone that may adopt the Record, the origin of a relative domainName. Absent: the zone with
	// the longest enclosing name.
	// +optional
	ZoneRef *ZoneReference `json:"zoneRef,omitempty" protobuf:"bytes,3,opt,name=zoneRef"`

	// type is the RR type: a mnemonic such as AAAA or TXT, in any case, or TYPE123 (RFC 3597). Not SOA, DNSSEC
	// signatures or meta types.
	// +k8s:validation:minLength=1
	// +k8s:validation:pattern="^[A-Za-z][0-9A-Za-z-]*$"
	Type string `json:"type" protobuf:"bytes,4,opt,name=type"`

	// class is the DNS class. Defaults to IN, the only class.
	// +optional
	// +default=ref(ClassIN)
	Class RRClass `json:"class,omitempty" protobuf:"bytes,5,opt,name=class,casttype=RRClass"`

	// ttl is the time to live in seconds, 0 to 2147483647 (RFC 2181 §8). Absent: the zone's ttl. Of Records in one
	// RRset, the smallest counts.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	TTL *int32 `json:"ttl,omitempty" protobuf:"varint,6,opt,name=ttl"`

	// rdata is one value in presentation format (RFC 1035 §5.1), such as "192.0.2.1", "10 mail" or "v=spf1 -all". Names
	// without a trailing dot are relative to the zone. Bare text of a TXT is one string. At most 4 KiB. Set rdata or
	// values.
	// +optional
	RData string `json:"rdata,omitempty" protobuf:"bytes,7,opt,name=rdata"`

	// values are several values of one RRset, each as in rdata, at most 100. Set rdata or values.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	Values []string `json:"values,omitempty" protobuf:"bytes,8,rep,name=values"`

	// description is free text, at most 1024 characters, without effect in DNS.
	// +optional
	// +k8s:validation:maxLength=1024
	Description string `json:"description,omitempty" protobuf:"bytes,9,opt,name=description"`

	// expiresAt is the time at which the Record leaves its zone (RFC 3339, whole seconds). The object stays, with
	// Adopted=False, reason Expired; a Record that an update or a challenge made is deleted. A new value is in the
	// future.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty" protobuf:"bytes,10,opt,name=expiresAt"`
}

// ZoneReference names a Zone.
type ZoneReference struct {
	// name of the Zone.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	// +k8s:validation:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// namespace of the Zone. Absent: the referring object's.
	// +optional
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
}

// RecordStatus is the observed state of a Record.
type RecordStatus struct {
	// observedGeneration is the generation of this status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// fqdn is the absolute owner name in canonical form: lower case, A-labels, trailing dot. Empty without the Zone of
	// zoneRef.
	// +optional
	FQDN string `json:"fqdn,omitempty" protobuf:"bytes,2,opt,name=fqdn"`

	// view in effect.
	// +optional
	View string `json:"view,omitempty" protobuf:"bytes,3,opt,name=view"`

	// zoneRef names the adopting Zone. Absent: none.
	// +optional
	ZoneRef *AdoptingZone `json:"zoneRef,omitempty" protobuf:"bytes,4,opt,name=zoneRef"`

	// serial is the zone's first serial with the Record's current data. 0 while not adopted.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,5,opt,name=serial"`

	// lastDeliveryError is a provider's last error. Empty after a successful delivery.
	// +optional
	LastDeliveryError string `json:"lastDeliveryError,omitempty" protobuf:"bytes,6,opt,name=lastDeliveryError"`

	// conditions: Adopted (part of a zone) and Ready (delivered everywhere).
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,7,rep,name=conditions"`

	// endsAt is the approximate time of release from a zone whose rules no longer allow the Record; later, if no server
	// runs meanwhile. Absent: the rules allow the Record.
	// +optional
	EndsAt *metav1.Time `json:"endsAt,omitempty" protobuf:"bytes,8,opt,name=endsAt"`

	// admission is the kind of the admitting rule, and decides the Record's claim: Underscore (names every underscore
	// label), Shared (shared: true), Literal (names exactly this name) or Plain (any other). Absent: not adopted.
	// +optional
	Admission string `json:"admission,omitempty" protobuf:"bytes,9,opt,name=admission"`
}

// AdoptingZone names the Zone that adopted an object.
type AdoptingZone struct {
	// namespace of the Zone.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// name of the Zone.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
	// uid of the Zone.
	UID types.UID `json:"uid" protobuf:"bytes,3,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RecordList lists Records.
type RecordList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Records.
	Items []Record `json:"items" protobuf:"bytes,2,rep,name=items"`
}
