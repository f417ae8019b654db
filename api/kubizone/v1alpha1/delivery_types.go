// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Delivery is the progress of delivering a zone to a class. The controller creates it in the zone's namespace, named
// `<zone>-<hash>`.
type Delivery struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec names the zone and the class. Immutable.
	Spec DeliverySpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the progress.
	// +optional
	Status DeliveryStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DeliverySpec names a zone and a class.
type DeliverySpec struct {
	// zone names the Zone, in this namespace.
	Zone DeliveredZone `json:"zone" protobuf:"bytes,1,opt,name=zone"`
	// classRef names the class.
	ClassRef DNSClassReference `json:"classRef" protobuf:"bytes,2,opt,name=classRef"`
}

// DeliveredZone names a Zone of the same namespace.
type DeliveredZone struct {
	// name of the Zone.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// uid of the Zone.
	UID types.UID `json:"uid" protobuf:"bytes,2,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
	// fqdn of the zone at the start of delivery.
	FQDN string `json:"fqdn" protobuf:"bytes,3,opt,name=fqdn"`
}

// DeliveryStatus is the progress of a delivery.
type DeliveryStatus struct {
	// serial is the last serial confirmed by all servers of the class, 0 for none.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,1,opt,name=serial"`
	// hash is the zone's hash at serial.
	// +optional
	Hash string `json:"hash,omitempty" protobuf:"bytes,2,opt,name=hash"`
	// lastSyncTime is the time of the confirmation.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty" protobuf:"bytes,3,opt,name=lastSyncTime"`
	// lastDriftCheckTime is the last comparison with the provider.
	// +optional
	LastDriftCheckTime *metav1.Time `json:"lastDriftCheckTime,omitempty" protobuf:"bytes,4,opt,name=lastDriftCheckTime"`
	// intent is the write in progress, stored before the first call. Absent: none.
	// +optional
	Intent *DeliveryIntent `json:"intent,omitempty" protobuf:"bytes,5,opt,name=intent"`
	// servers has a row for each server of the class.
	// +optional
	// +listType=map
	// +listMapKey=name
	Servers []DeliveryServer `json:"servers,omitempty" protobuf:"bytes,6,rep,name=servers"`
	// error is the last failure. Absent after success.
	// +optional
	Error *DeliveryError `json:"error,omitempty" protobuf:"bytes,7,opt,name=error"`
	// failedRecords counts the RRsets refused by the provider.
	// +optional
	FailedRecords int32 `json:"failedRecords,omitempty" protobuf:"varint,8,opt,name=failedRecords"`
	// skippedRecords counts the RRsets that the provider does not support.
	// +optional
	SkippedRecords int32 `json:"skippedRecords,omitempty" protobuf:"varint,9,opt,name=skippedRecords"`
	// conditions: Ready; Drifted is True while the provider's records differ from those confirmed, Unknown without a
	// comparison.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,10,rep,name=conditions"`
	// fqdn is the zone's name at the provider. Absent before the first write.
	// +optional
	FQDN string `json:"fqdn,omitempty" protobuf:"bytes,11,opt,name=fqdn"`
	// target identifies the target that confirmed serial. If the class has another target now, serial and hash do not
	// count.
	// +optional
	Target string `json:"target,omitempty" protobuf:"bytes,12,opt,name=target"`
	// holder is the worker that confirmed serial. Only it may deliver the next serial without an intent.
	// +optional
	Holder string `json:"holder,omitempty" protobuf:"bytes,13,opt,name=holder"`
	// drift lists RRsets, as "name type", that the last comparison found missing or different and did not repair. At
	// most 256.
	// +optional
	// +listType=atomic
	Drift []string `json:"drift,omitempty" protobuf:"bytes,15,rep,name=drift"`
	// lastVerifyRequest is the last completed value of the Zone's annotation kubi.zone/verify-requested-at.
	// +optional
	LastVerifyRequest string `json:"lastVerifyRequest,omitempty" protobuf:"bytes,16,opt,name=lastVerifyRequest"`
	// refused are RRsets that the provider refused in the last attempt, at most 256. Their Records are not Ready.
	// +optional
	// +listType=atomic
	Refused []DeliveryRefusal `json:"refused,omitempty" protobuf:"bytes,17,rep,name=refused"`
	// failedWhole is true if error concerns the whole zone.
	// +optional
	FailedWhole bool `json:"failedWhole,omitempty" protobuf:"varint,18,opt,name=failedWhole"`
	// refusedDigests has the first eight octets of the SHA-256 of "name type" of each further refused RRset, ascending,
	// at most 8192.
	// +optional
	RefusedDigests []byte `json:"refusedDigests,omitempty" protobuf:"bytes,19,opt,name=refusedDigests"`
	// notify lists the servers that delay the zone and answer NOTIFY (RFC 1996) not with NOERROR, at most 16. Primaries
	// write it at the subresource notify.
	// +optional
	// +listType=map
	// +listMapKey=server
	Notify []DeliveryNotify `json:"notify,omitempty" protobuf:"bytes,20,rep,name=notify"`
}

// DeliveryNotify is a server that does not confirm NOTIFY, so that it learns of changes only at its own refresh, or
// that transfers nothing over TLS.
type DeliveryNotify struct {
	// server is the name of the server in the class.
	Server string `json:"server" protobuf:"bytes,1,opt,name=server"`
	// from is the address from which the primary sent the NOTIFY. Absent: unknown.
	// +optional
	From string `json:"from,omitempty" protobuf:"bytes,2,opt,name=from"`
	// answer is the RCODE, such as REFUSED, or NoAnswer or BadSignature, or the fault of TLS, such as
	// TLSUnknownAuthority.
	Answer string `json:"answer" protobuf:"bytes,3,opt,name=answer"`
	// catalog is the class's catalog zone, if the NOTIFY was for that instead of the zone.
	// +optional
	Catalog string `json:"catalog,omitempty" protobuf:"bytes,4,opt,name=catalog"`
	// message has the fault.
	Message string `json:"message" protobuf:"bytes,5,opt,name=message"`
	// remedy is the line to write in the server's configuration, or another next step.
	Remedy string `json:"remedy" protobuf:"bytes,7,opt,name=remedy"`
	// time is the first of the unbroken series of such answers.
	Time metav1.Time `json:"time" protobuf:"bytes,6,opt,name=time"`
}

// DeliveryRefusal is an RRset that the provider refused.
type DeliveryRefusal struct {
	// rrset is the RRset as "name type".
	RRset string `json:"rrset" protobuf:"bytes,1,opt,name=rrset"`
	// reason is the kind of the refusal, as in error.
	Reason string `json:"reason" protobuf:"bytes,2,opt,name=reason"`
	// code of the provider or its protocol, such as an RCODE.
	// +optional
	Code string `json:"code,omitempty" protobuf:"bytes,3,opt,name=code"`
	// message explains the refusal, in at most 256 characters.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
}

// DeliveryIntent is a write in progress. Its holder's calls may still arrive at the provider.
type DeliveryIntent struct {
	// serial is the serial being delivered.
	Serial int64 `json:"serial" protobuf:"varint,1,opt,name=serial"`
	// holder identifies the worker. Absent: no worker is writing, and the RRsets are still undelivered.
	// +optional
	Holder string `json:"holder,omitempty" protobuf:"bytes,2,opt,name=holder"`
	// time is the start of the write.
	Time metav1.Time `json:"time" protobuf:"bytes,3,opt,name=time"`
	// rrsets lists, as "name type", the RRsets being written, if few, and refused RRsets still undelivered.
	// +optional
	// +listType=atomic
	RRsets []string `json:"rrsets,omitempty" protobuf:"bytes,4,rep,name=rrsets"`
	// from is the earliest serial whose records the provider may still have. Absent with a confirmed serial: rrsets has
	// no room for all refused RRsets.
	// +optional
	From int64 `json:"from,omitempty" protobuf:"varint,5,opt,name=from"`
	// unlisted is true if further RRsets are being written: the provider may have partial writes of any change since
	// from.
	// +optional
	Unlisted bool `json:"unlisted,omitempty" protobuf:"varint,6,opt,name=unlisted"`
}

// DeliveryServer is the progress of a server.
type DeliveryServer struct {
	// name of the server in the class.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// serial is the last serial confirmed by the server, 0 for none. With signs or signer, message has the serial in
	// its answers.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,2,opt,name=serial"`
	// state compares the server with the zone.
	// +optional
	State ServerState `json:"state,omitempty" protobuf:"bytes,3,opt,name=state,casttype=ServerState"`
	// lastProbeTime is the time of the last query.
	// +optional
	LastProbeTime *metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,4,opt,name=lastProbeTime"`
	// message explains the state.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
	// content is Differs or NotCompared. Absent: equal to the zone at the last comparison, or not compared yet.
	// +optional
	Content ServerContent `json:"content,omitempty" protobuf:"bytes,6,opt,name=content,casttype=ServerContent"`
	// differsSince is the zone's serial when content was first found Differs.
	// +optional
	DiffersSince int64 `json:"differsSince,omitempty" protobuf:"varint,7,opt,name=differsSince"`
	// awaitsSerial is true if the server transfers the zone again at a later serial (S6.11): two signed answers prove
	// that the server is Ahead, or its content Differs and it has not transferred the zone whole since.
	// +optional
	AwaitsSerial bool `json:"awaitsSerial,omitempty" protobuf:"varint,8,opt,name=awaitsSerial"`
}

// ServerContent compares a server's data with the zone's at the server's serial.
// +enum
type ServerContent string

const (
	// ContentDiffers: the server has other data than the zone at the same serial (S6.11).
	ContentDiffers ServerContent = "Differs"
	// ContentNotCompared: the server refuses transfers to the controller, or transferred no whole zone in time.
	ContentNotCompared ServerContent = "NotCompared"
)

// ServerState compares a server with the zone.
// +enum
type ServerState string

const (
	// ServerCurrent: the server has the settled serial.
	ServerCurrent ServerState = "Current"
	// ServerBehind: the server has an earlier serial, or none yet.
	ServerBehind ServerState = "Behind"
	// ServerAhead: the server has a serial ahead of the zone's (S6.11).
	ServerAhead ServerState = "Ahead"
	// ServerFailed: the server does not answer, lacks the zone, or has other data.
	ServerFailed ServerState = "Failed"
)

// DeliveryError is the last failure of a delivery.
type DeliveryError struct {
	// code is the provider's: an RCODE or an HTTP status.
	// +optional
	Code string `json:"code,omitempty" protobuf:"bytes,1,opt,name=code"`
	// message has the fault and the next step.
	Message string `json:"message" protobuf:"bytes,2,opt,name=message"`
	// timestamp is the first failure in the unbroken series with this reason.
	Timestamp metav1.Time `json:"timestamp" protobuf:"bytes,3,opt,name=timestamp"`
	// reason is that of the condition Ready at the failure.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DeliveryList lists Deliveries.
type DeliveryList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Deliveries.
	Items []Delivery `json:"items" protobuf:"bytes,2,rep,name=items"`
}
