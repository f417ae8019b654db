// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Record is one RRset, or a part of one, at one name of a zone. The zone with the longest name that encloses it
// adopts it, when that zone's delegations allow the name, the type and the namespace.
type Record struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the Record: a name, a type and its data.
	Spec RecordSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state of the Record. The server writes it, and ignores what a client sends here.
	// +optional
	Status RecordStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// RecordSpec is the desired state of a Record.
type RecordSpec struct {
	// domainName is the owner name. Ending in a dot ("www.example.org.") it is absolute; otherwise ("www", "@" for
	// the zone's own name) it is relative to the zone of zoneRef, which is then required. "*" as the leftmost label
	// is a wildcard (RFC 4592). Letters, digits, "-", "_" and "/" make a label; other scripts are mapped to their
	// A-labels (RFC 5891). At most 63 octets a label and 255 a name.
	// +k8s:validation:minLength=1
	// +k8s:validation:pattern="^[^\\s\"\\\\$;]+$"
	DomainName string `json:"domainName" protobuf:"bytes,1,opt,name=domainName"`

	// view is the view (split horizon) the Record belongs to: an RFC 1123 label, empty for the default view. With a
	// zoneRef it is empty or the view of that zone. Immutable.
	// +optional
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	View string `json:"view,omitempty" protobuf:"bytes,2,opt,name=view"`

	// zoneRef names the Zone that domainName is relative to, and the only one that may adopt the Record. Without it
	// the zone with the longest name that encloses domainName is taken.
	// +optional
	ZoneRef *ZoneReference `json:"zoneRef,omitempty" protobuf:"bytes,3,opt,name=zoneRef"`

	// type is the RR type: a mnemonic such as A, AAAA, CNAME, MX, TXT or SRV, in any case, or TYPE123 (RFC 3597). Not
	// SOA (the Zone makes it), DNSSEC signatures or meta types.
	// +k8s:validation:minLength=1
	// +k8s:validation:pattern="^[A-Za-z][0-9A-Za-z-]*$"
	Type string `json:"type" protobuf:"bytes,4,opt,name=type"`

	// class is the DNS class. Only IN is supported. Defaults to IN.
	// +optional
	// +default=ref(ClassIN)
	Class RRClass `json:"class,omitempty" protobuf:"bytes,5,opt,name=class,casttype=RRClass"`

	// ttl is the time to live in seconds, 0 to 2147483647 (RFC 2181 §8). Absent: the ttl of the zone. If several
	// Records make one RRset, the smallest is served.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	TTL *int32 `json:"ttl,omitempty" protobuf:"varint,6,opt,name=ttl"`

	// rdata is the data of one value in presentation format (RFC 1035 §5.1), such as "192.0.2.1", "10 mail" or
	// "v=spf1 -all". Names in it without a trailing dot are relative to the zone. Bare text of a TXT is one string.
	// At most 4 KiB. Exactly one of rdata and values is given.
	// +optional
	RData string `json:"rdata,omitempty" protobuf:"bytes,7,opt,name=rdata"`

	// values holds the data of several values of one RRset, each as in rdata. At most 100.
	// Exactly one of rdata and values is given.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	Values []string `json:"values,omitempty" protobuf:"bytes,8,rep,name=values"`

	// description is free text for people, at most 1024 characters. It has no effect in DNS.
	// +optional
	// +k8s:validation:maxLength=1024
	Description string `json:"description,omitempty" protobuf:"bytes,9,opt,name=description"`
}

// ZoneReference names a Zone.
type ZoneReference struct {
	// name of the Zone object.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	// +k8s:validation:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// namespace of the Zone object. Absent: the namespace of the object that refers to it.
	// +optional
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
}

// RecordStatus is the observed state of a Record.
type RecordStatus struct {
	// observedGeneration is the metadata.generation that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// fqdn is the absolute owner name in canonical form: lower case, A-labels, trailing dot. Empty while the zone it
	// is relative to does not exist.
	// +optional
	FQDN string `json:"fqdn,omitempty" protobuf:"bytes,2,opt,name=fqdn"`

	// view is the view in force.
	// +optional
	View string `json:"view,omitempty" protobuf:"bytes,3,opt,name=view"`

	// zoneRef names the Zone that has adopted the Record. Absent: no Zone has.
	// +optional
	ZoneRef *AdoptingZone `json:"zoneRef,omitempty" protobuf:"bytes,4,opt,name=zoneRef"`

	// serial is the first serial of the zone with the Record's present data; 0 while no zone has adopted it.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,5,opt,name=serial"`

	// lastDeliveryError is the last error that a provider reported for this Record, for people. Empty after a
	// successful delivery.
	// +optional
	LastDeliveryError string `json:"lastDeliveryError,omitempty" protobuf:"bytes,6,opt,name=lastDeliveryError"`

	// conditions: Adopted (is it part of a zone, and if not, why) and Ready (is it delivered everywhere).
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,7,rep,name=conditions"`

	// endsAt is the approximate time at which the zone releases the Record because its rules allow it no more
	// (Adopted=True, reason DelegationWithdrawn). It is later if no server runs meanwhile. Absent: the rules allow it.
	// +optional
	EndsAt *metav1.Time `json:"endsAt,omitempty" protobuf:"bytes,8,opt,name=endsAt"`

	// admission is how the rule that let the Record in is written: Underscore (it names every underscore label),
	// Shared (shared: true), Literal (it names this very name) or Plain (any other). It says what the Record claims.
	// Absent: no Zone has adopted the Record.
	// +optional
	Admission string `json:"admission,omitempty" protobuf:"bytes,9,opt,name=admission"`
}

// AdoptingZone names the Zone object that adopted another object.
type AdoptingZone struct {
	// namespace of the Zone.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// name of the Zone.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
	// uid of the Zone: a Zone deleted and made again under the same name is another one.
	UID types.UID `json:"uid" protobuf:"bytes,3,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RecordList is a list of Records.
type RecordList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Records.
	Items []Record `json:"items" protobuf:"bytes,2,rep,name=items"`
}
