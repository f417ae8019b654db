// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Delivery is the progress of delivering one zone by one class. The controller makes it in the zone's namespace,
// named `<zone>-<hash>`, and owned by the Zone; tenants read it.
type Delivery struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec names the zone and the class. Immutable.
	Spec DeliverySpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the progress of the delivery.
	// +optional
	Status DeliveryStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DeliverySpec names a zone and a class.
type DeliverySpec struct {
	// zone is the Zone of this namespace that is delivered.
	Zone DeliveredZone `json:"zone" protobuf:"bytes,1,opt,name=zone"`
	// classRef is the class that delivers it.
	ClassRef DNSClassReference `json:"classRef" protobuf:"bytes,2,opt,name=classRef"`
}

// DeliveredZone names a Zone of the same namespace.
type DeliveredZone struct {
	// name of the Zone.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// uid of the Zone: a Zone deleted and made again under the same name is another one.
	UID types.UID `json:"uid" protobuf:"bytes,2,opt,name=uid,casttype=k8s.io/apimachinery/pkg/types.UID"`
	// fqdn of the zone when its delivery began.
	FQDN string `json:"fqdn" protobuf:"bytes,3,opt,name=fqdn"`
}

// DeliveryStatus is the progress of a delivery.
type DeliveryStatus struct {
	// serial is the last serial that all servers of the class have confirmed, 0 while there is none.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,1,opt,name=serial"`
	// hash is the zone's hash at that serial.
	// +optional
	Hash string `json:"hash,omitempty" protobuf:"bytes,2,opt,name=hash"`
	// lastSyncTime is the time at which the serial was confirmed.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty" protobuf:"bytes,3,opt,name=lastSyncTime"`
	// lastDriftCheckTime is the time at which the provider was last compared with the zone.
	// +optional
	LastDriftCheckTime *metav1.Time `json:"lastDriftCheckTime,omitempty" protobuf:"bytes,4,opt,name=lastDriftCheckTime"`
	// intent is the write in progress, set before the first call and checked before every further one. Absent: no
	// write is in progress.
	// +optional
	Intent *DeliveryIntent `json:"intent,omitempty" protobuf:"bytes,5,opt,name=intent"`
	// servers has a row for each server or instance of the class, if it has any.
	// +optional
	// +listType=map
	// +listMapKey=name
	Servers []DeliveryServer `json:"servers,omitempty" protobuf:"bytes,6,rep,name=servers"`
	// error is the last failure; absent after a success.
	// +optional
	Error *DeliveryError `json:"error,omitempty" protobuf:"bytes,7,opt,name=error"`
	// failedRecords counts the RRsets that the provider refused.
	// +optional
	FailedRecords int32 `json:"failedRecords,omitempty" protobuf:"varint,8,opt,name=failedRecords"`
	// skippedRecords counts the RRsets that the provider does not support.
	// +optional
	SkippedRecords int32 `json:"skippedRecords,omitempty" protobuf:"varint,9,opt,name=skippedRecords"`
	// conditions: Ready; Drifted is True while the provider's records differ from those that it had confirmed, and
	// Unknown while they cannot be compared.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,10,rep,name=conditions"`
	// fqdn is the name under which the provider has the zone. Absent: nothing was ever written there.
	// +optional
	FQDN string `json:"fqdn,omitempty" protobuf:"bytes,11,opt,name=fqdn"`
	// target identifies the target that confirmed the serial. If the class delivers to another target by now, serial
	// and hash do not count.
	// +optional
	Target string `json:"target,omitempty" protobuf:"bytes,12,opt,name=target"`
	// holder is the worker that confirmed the serial. It may deliver the next one without an intent; any other one
	// records an intent first.
	// +optional
	Holder string `json:"holder,omitempty" protobuf:"bytes,13,opt,name=holder"`
	// drift are the RRsets, as "name type", that the last comparison found missing or different at the provider and
	// that are not repaired, 256 at most.
	// +optional
	// +listType=atomic
	Drift []string `json:"drift,omitempty" protobuf:"bytes,15,rep,name=drift"`
	// lastVerifyRequest is the last value of the Zone's annotation kubi.zone/verify-requested-at that was carried
	// out.
	// +optional
	LastVerifyRequest string `json:"lastVerifyRequest,omitempty" protobuf:"bytes,16,opt,name=lastVerifyRequest"`
	// refused are RRsets that the provider refused in the last attempt, 256 at most. Their Records are not Ready.
	// +optional
	// +listType=atomic
	Refused []DeliveryRefusal `json:"refused,omitempty" protobuf:"bytes,17,rep,name=refused"`
	// failedWhole: the last attempt failed for more than single RRsets, so error concerns the whole zone.
	// +optional
	FailedWhole bool `json:"failedWhole,omitempty" protobuf:"varint,18,opt,name=failedWhole"`
}

// DeliveryRefusal is an RRset that the provider refused.
type DeliveryRefusal struct {
	// rrset is the RRset as "name type".
	RRset string `json:"rrset" protobuf:"bytes,1,opt,name=rrset"`
	// reason is the kind of the refusal, as in error.
	Reason string `json:"reason" protobuf:"bytes,2,opt,name=reason"`
	// code is the code of the provider or its protocol, such as an RCODE.
	// +optional
	Code string `json:"code,omitempty" protobuf:"bytes,3,opt,name=code"`
	// message says what is wrong with the RRset, in 256 characters at most.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
}

// DeliveryIntent is a write in progress. A worker that finds the intent of another one knows that its calls may still
// arrive.
type DeliveryIntent struct {
	// serial is the serial that is being delivered.
	Serial int64 `json:"serial" protobuf:"varint,1,opt,name=serial"`
	// holder is the identity of the worker. Absent: no worker is writing, and the RRsets are still to be delivered.
	// +optional
	Holder string `json:"holder,omitempty" protobuf:"bytes,2,opt,name=holder"`
	// time is the time at which the write began.
	Time metav1.Time `json:"time" protobuf:"bytes,3,opt,name=time"`
	// rrsets are the RRsets being written, if they are few, and those that were refused and are still to be
	// delivered, as "name type".
	// +optional
	// +listType=atomic
	RRsets []string `json:"rrsets,omitempty" protobuf:"bytes,4,rep,name=rrsets"`
	// from is the earliest serial whose records the provider may still have. Absent beside a confirmed serial: more
	// RRsets were refused than are listed.
	// +optional
	From int64 `json:"from,omitempty" protobuf:"varint,5,opt,name=from"`
	// unlisted: more RRsets than those listed are being written; the provider may have partial writes of all that
	// changed since from.
	// +optional
	Unlisted bool `json:"unlisted,omitempty" protobuf:"varint,6,opt,name=unlisted"`
}

// DeliveryServer is one server or instance of a class.
type DeliveryServer struct {
	// name is the name of the server in the class.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// serial is the serial of the zone that it has confirmed, 0 while there is none. message has the serial that a
	// server with signs or signer answers with.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,2,opt,name=serial"`
	// state is Current, Behind, Ahead or Failed.
	// +optional
	State ServerState `json:"state,omitempty" protobuf:"bytes,3,opt,name=state,casttype=ServerState"`
	// lastProbeTime is the time at which it was last asked.
	// +optional
	LastProbeTime *metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,4,opt,name=lastProbeTime"`
	// message is for people.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// ServerState compares a server with the zone.
// +enum
type ServerState string

const (
	// ServerCurrent: it has the zone's settled serial.
	ServerCurrent ServerState = "Current"
	// ServerBehind: it has an earlier one, or none yet.
	ServerBehind ServerState = "Behind"
	// ServerAhead: it has a serial ahead of the zone's (S6.11).
	ServerAhead ServerState = "Ahead"
	// ServerFailed: it does not answer, or does not have the zone.
	ServerFailed ServerState = "Failed"
)

// DeliveryError is the last failure of a delivery.
type DeliveryError struct {
	// code is the provider's error code, an RCODE or an HTTP status.
	// +optional
	Code string `json:"code,omitempty" protobuf:"bytes,1,opt,name=code"`
	// message is for people: what happened and the next step.
	Message string `json:"message" protobuf:"bytes,2,opt,name=message"`
	// timestamp is the time of the first failure since which each attempt failed for this reason.
	Timestamp metav1.Time `json:"timestamp" protobuf:"bytes,3,opt,name=timestamp"`
	// reason is the reason of the condition Ready at that time.
	// +optional
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DeliveryList is a list of Deliveries.
type DeliveryList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Deliveries.
	Items []Delivery `json:"items" protobuf:"bytes,2,rep,name=items"`
}
