// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InstallationName is the name of the only Installation.
const InstallationName = "kubizone"

// +genclient
// +genclient:nonNamespaced
// +genclient:onlyVerbs=get
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Installation is the state of Kubizone's processes, etcd, certificates and backups, for the platform. The answering
// server computes it, and stores nothing.
type Installation struct {
	metav1.TypeMeta `json:",inline"`
	// metadata has the name kubizone.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// status is the state.
	// +optional
	Status InstallationStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
}

// Parts of an Installation that a server may not know.
const (
	InstallationProcesses    = "processes"
	InstallationEtcdMembers  = "etcd"
	InstallationCertificates = "certificates"
	InstallationBackup       = "backup"
)

// InstallationStatus is the state of an installation.
type InstallationStatus struct {
	// version of the answering server.
	// +optional
	Version string `json:"version,omitempty" protobuf:"bytes,1,opt,name=version"`
	// processes are the answering server, each working replica of the other processes, and the last replica of each
	// process that ended.
	// +optional
	// +listType=atomic
	Processes []InstallationProcess `json:"processes,omitempty" protobuf:"bytes,2,rep,name=processes"`
	// etcd is the state at the server's last check.
	// +optional
	Etcd *InstallationEtcd `json:"etcd,omitempty" protobuf:"bytes,3,opt,name=etcd"`
	// certificates of the answering server.
	// +optional
	// +listType=atomic
	Certificates []InstallationCertificate `json:"certificates,omitempty" protobuf:"bytes,4,rep,name=certificates"`
	// lastBackup is the time of the last backup by kubizone backup. Absent if unknown.
	// +optional
	LastBackup *metav1.Time `json:"lastBackup,omitempty" protobuf:"bytes,5,opt,name=lastBackup"`
	// unknown are the parts that the server does not know.
	// +optional
	// +listType=atomic
	Unknown []InstallationUnknown `json:"unknown,omitempty" protobuf:"bytes,6,rep,name=unknown"`
	// namespacesGone are deleted namespaces that left Zones, Delegations or Records, still served (S8.5).
	// +optional
	// +listType=atomic
	NamespacesGone []string `json:"namespacesGone,omitempty" protobuf:"bytes,7,rep,name=namespacesGone"`
	// namespacesTerminating are namespaces under deletion that still have Zones, Delegations or Records here (S8.1).
	// +optional
	// +listType=atomic
	NamespacesTerminating []string `json:"namespacesTerminating,omitempty" protobuf:"bytes,9,rep,name=namespacesTerminating"`
	// missingPermissions are RBAC rules that the server lacks at kube-apiserver, with the effect.
	// +optional
	// +listType=atomic
	MissingPermissions []string `json:"missingPermissions,omitempty" protobuf:"bytes,8,rep,name=missingPermissions"`
}

// InstallationProcess is a replica of a process.
type InstallationProcess struct {
	// name of the process, such as controller.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// replica is the identity in the Lease, beginning with the host name.
	// +optional
	Replica string `json:"replica,omitempty" protobuf:"bytes,2,opt,name=replica"`
	// started is the replica's first renewal.
	// +optional
	Started *metav1.Time `json:"started,omitempty" protobuf:"bytes,3,opt,name=started"`
	// renewed is the last renewal, by the replica's clock.
	// +optional
	Renewed *metav1.Time `json:"renewed,omitempty" protobuf:"bytes,4,opt,name=renewed"`
	// ended is true if no replica of the process works.
	// +optional
	Ended bool `json:"ended,omitempty" protobuf:"varint,5,opt,name=ended"`
}

// InstallationEtcd is the state of etcd.
type InstallationEtcd struct {
	// checked is the time of the check, at most 15 seconds ago while etcd answers.
	Checked metav1.Time `json:"checked" protobuf:"bytes,1,opt,name=checked"`
	// members are those in the server's flags.
	// +optional
	// +listType=atomic
	Members []InstallationEtcdMember `json:"members,omitempty" protobuf:"bytes,2,rep,name=members"`
	// alarms are NOSPACE, while etcd takes no writes, and CORRUPT, while members hold different data.
	// +optional
	// +listType=atomic
	Alarms []string `json:"alarms,omitempty" protobuf:"bytes,3,rep,name=alarms"`
}

// InstallationEtcdMember is a member of etcd.
type InstallationEtcdMember struct {
	// endpoint is the member's client URL.
	Endpoint string `json:"endpoint" protobuf:"bytes,1,opt,name=endpoint"`
	// leader is true at the leader.
	// +optional
	Leader bool `json:"leader,omitempty" protobuf:"varint,2,opt,name=leader"`
	// version of etcd.
	// +optional
	Version string `json:"version,omitempty" protobuf:"bytes,3,opt,name=version"`
	// sizeBytes is the size of the database on disk.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty" protobuf:"varint,4,opt,name=sizeBytes"`
	// inUseBytes is the part with data.
	// +optional
	InUseBytes int64 `json:"inUseBytes,omitempty" protobuf:"varint,5,opt,name=inUseBytes"`
	// quotaBytes is the size above which the member takes no writes. 0: not reported (before etcd 3.6).
	// +optional
	QuotaBytes int64 `json:"quotaBytes,omitempty" protobuf:"varint,6,opt,name=quotaBytes"`
	// error of a member that did not answer the check.
	// +optional
	Error string `json:"error,omitempty" protobuf:"bytes,7,opt,name=error"`
}

// InstallationCertificate is a certificate of the server.
type InstallationCertificate struct {
	// name is the use: serving, serving-ca, etcd-client, etcd-ca or etcd-peer.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// notAfter is the end of the certificate, the first in a file of several.
	NotAfter metav1.Time `json:"notAfter" protobuf:"bytes,2,opt,name=notAfter"`
}

// InstallationUnknown is a part that the server does not know.
type InstallationUnknown struct {
	// part is processes, etcd, certificates or backup.
	Part string `json:"part" protobuf:"bytes,1,opt,name=part"`
	// reason with the next step.
	Reason string `json:"reason" protobuf:"bytes,2,opt,name=reason"`
}
