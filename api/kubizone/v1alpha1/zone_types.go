// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:method=GetEntries,verb=get,subresource=entries,result=ZoneEntries
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Zone is one DNS zone: a name, the rules by which it takes in Records and child zones, and the parameters of its
// SOA. Its content is read at the subresource entries (`kubectl get zone NAME --subresource=entries`).
type Zone struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the zone.
	Spec ZoneSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state of the zone. The server writes it in the transaction that changes the zone, and
	// ignores what a client sends here.
	// +optional
	Status ZoneStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ZoneSpec is the desired state of a zone.
type ZoneSpec struct {
	// domainName is the name of the zone. Ending in a dot ("example.org.", "." for the root) it is absolute;
	// otherwise ("dev") it is relative to the zone of zoneRef, which is then required. A
	// zone that has a name keeps it: domainName, view and zoneRef do not change then.
	// +k8s:validation:minLength=1
	// +k8s:validation:pattern="^[^\\s\"\\\\$;]+$"
	DomainName string `json:"domainName" protobuf:"bytes,1,opt,name=domainName"`

	// view is the view (split horizon) the zone belongs to: an RFC 1123 label, empty for the default view. With a
	// zoneRef it is empty or the view of that zone. Immutable.
	// +optional
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	View string `json:"view,omitempty" protobuf:"bytes,2,opt,name=view"`

	// zoneRef names the parent that domainName is relative to, and the only zone that may be the parent.
	// +optional
	ZoneRef *ZoneReference `json:"zoneRef,omitempty" protobuf:"bytes,3,opt,name=zoneRef"`

	// delegations are the rules by which the zone takes in Records and child zones. A name, type or zone that no rule
	// lists is refused, also from the zone's own namespace.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	Delegations []DelegationRule `json:"delegations,omitempty" protobuf:"bytes,4,rep,name=delegations"`

	// nameServers are the zone's own name servers. They make NS at the apex and, for hosts in the zone, their
	// addresses, without a delegation. NS Records at "@" add to them. Absent: the nameServers of the zone's first
	// class, written here when the Zone is made; [] is none.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	NameServers []NameServer `json:"nameServers,omitempty" protobuf:"bytes,5,rep,name=nameServers"`

	// ttl is the time to live in seconds of the SOA and of every Record that has none, 0 to 2147483647 (RFC 2181 §8).
	// Absent: the defaultTTL of the zone's first class, else 360; it is written here when the Zone is made.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	TTL *int32 `json:"ttl,omitempty" protobuf:"varint,6,opt,name=ttl"`

	// refresh is the number of seconds after which a secondary asks for a new serial (SOA REFRESH, RFC 1035 §3.3.13).
	// Defaults to 86400.
	// +optional
	// +default=ref(DefaultRefresh)
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=2147483647
	Refresh *int32 `json:"refresh,omitempty" protobuf:"varint,7,opt,name=refresh"`

	// retry is the number of seconds after which a secondary asks again if a refresh failed (SOA RETRY); less than
	// refresh. Defaults to 7200.
	// +optional
	// +default=ref(DefaultRetry)
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=2147483647
	Retry *int32 `json:"retry,omitempty" protobuf:"varint,8,opt,name=retry"`

	// expire is the number of seconds after which a secondary stops serving a zone it could not refresh (SOA EXPIRE);
	// more than refresh + retry. Defaults to 3600000.
	// +optional
	// +default=ref(DefaultExpire)
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=2147483647
	Expire *int32 `json:"expire,omitempty" protobuf:"varint,9,opt,name=expire"`

	// negativeResponseCache is the number of seconds that resolvers may remember that a name does not exist (SOA
	// MINIMUM, RFC 2308 §4). Defaults to 360.
	// +optional
	// +default=ref(DefaultNegativeResponseCache)
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	NegativeResponseCache *int32 `json:"negativeResponseCache,omitempty" protobuf:"varint,10,opt,name=negativeResponseCache"`

	// primaryNameServer is the name server in the SOA (MNAME), relative to the zone without a trailing dot. Absent:
	// the first of nameServers, else the first NS at the apex, else "ns" in the zone.
	// +optional
	PrimaryNameServer string `json:"primaryNameServer,omitempty" protobuf:"bytes,11,opt,name=primaryNameServer"`

	// contact is the mailbox of the person responsible for the zone (SOA RNAME), as mail address
	// ("hostmaster@example.org") or as name ("hostmaster.example.org."). Absent: hostmaster in the zone.
	// +optional
	// +k8s:validation:maxLength=1024
	Contact string `json:"contact,omitempty" protobuf:"bytes,12,opt,name=contact"`

	// minimumSerial raises the serial: the next one is at least this, 1 to 4294967295, when it is ahead of the
	// present one by RFC 1982. Each value is consumed once.
	// +optional
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=4294967295
	MinimumSerial *int64 `json:"minimumSerial,omitempty" protobuf:"varint,13,opt,name=minimumSerial"`

	// dnsClassRefs are the classes that deliver the zone. Absent: the default classes.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	DNSClassRefs []DNSClassReference `json:"dnsClassRefs,omitempty" protobuf:"bytes,14,rep,name=dnsClassRefs"`

	// limits bound how much other namespaces may add to the zone, and how much its own may remove at once.
	// +optional
	Limits *ZoneLimits `json:"limits,omitempty" protobuf:"bytes,15,opt,name=limits"`

	// deletionProtection refuses the deletion of the Zone until it is set to false.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty" protobuf:"varint,16,opt,name=deletionProtection"`

	// deletionPolicy says what happens to the data at providers when the Zone is deleted: Delete removes it, Retain
	// leaves it, which each class of the zone has to allow (spec.allowRetain of the DNSClass). Defaults to Delete.
	// +optional
	// +default=ref(DeletionPolicyDelete)
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty" protobuf:"bytes,17,opt,name=deletionPolicy,casttype=DeletionPolicy"`

	// withdrawalGracePeriod is how long Records and child zones remain that the rules of this zone allow no more, 0s
	// to 720h. Then the Records are released, and the zones end: they are pending, until a rule delegates them again.
	// Only time during which a server runs counts. A changed period concerns later withdrawals. The annotation
	// kubi.zone/release-now ends it. Defaults to 24h.
	// +optional
	// +default="24h"
	WithdrawalGracePeriod *metav1.Duration `json:"withdrawalGracePeriod,omitempty" protobuf:"bytes,18,opt,name=withdrawalGracePeriod"`

	// dnssec has the zone signed by the class that delivers it. Absent: it is not signed.
	// +optional
	DNSSEC *ZoneDNSSEC `json:"dnssec,omitempty" protobuf:"bytes,19,opt,name=dnssec"`
}

// ZoneDNSSEC says how a zone is signed.
type ZoneDNSSEC struct {
	// policy by which the zone is signed: default, which is the default policy of BIND, or the name of one that the
	// Bind9Cluster of the zone's class has.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Policy string `json:"policy" protobuf:"bytes,1,opt,name=policy"`
}

// DeletionPolicy is what happens to a zone's data at its providers when the Zone is deleted.
// +enum
type DeletionPolicy string

const (
	// DeletionPolicyDelete removes the zone's data from its providers.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyRetain leaves the zone's data at its providers as it is.
	DeletionPolicyRetain DeletionPolicy = "Retain"
)

// DelegationRule is one rule: the names and types, or the child zones, that the namespaces of the rule may have. A
// rule without namespaces applies to every namespace.
type DelegationRule struct {
	// records are the Records the rule allows.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	Records []RecordDelegation `json:"records,omitempty" protobuf:"bytes,1,rep,name=records"`

	// zones are patterns of the child zones the rule allows, written as records[].pattern.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:minLength=1
	Zones []string `json:"zones,omitempty" protobuf:"bytes,2,rep,name=zones"`

	// namespace is one namespace that the rule applies to.
	// +optional
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,3,opt,name=namespace"`

	// namespaces are further namespaces that the rule applies to.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:maxLength=63
	// +k8s:validation:items:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Namespaces []string `json:"namespaces,omitempty" protobuf:"bytes,4,rep,name=namespaces"`

	// ds has the zone contain the DS records of the child zones that the rule allows, as their status.dnssec.ds says.
	// Without it they are Records.
	// +optional
	DS bool `json:"ds,omitempty" protobuf:"varint,5,opt,name=ds"`
}

// RecordDelegation allows Records by name and type.
type RecordDelegation struct {
	// pattern is matched against the owner name: relative to the zone, absolute with a trailing dot, "@" alone or as
	// the last label for the zone's own name. A leading label "*" stands for one or more labels, "*" as any other
	// label for exactly one, "*" within a label for any part of it. "*" never stands for the zone's own name.
	// +k8s:validation:minLength=1
	Pattern string `json:"pattern" protobuf:"bytes,1,opt,name=pattern"`

	// types are the RR types the rule allows: mnemonics in any case, or TYPE123 (RFC 3597). Absent: every type for
	// the zone's own namespace; for others every type but NS, DS, DNSKEY, CDS, CDNSKEY, CSYNC and DNAME,
	// which must be named.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:pattern="^[A-Za-z][0-9A-Za-z-]*$"
	Types []string `json:"types,omitempty" protobuf:"bytes,2,rep,name=types"`

	// shared makes the namespaces of the rule one tenant: they may have Records at one name, and below each other's.
	// Without it a name belongs, with all below it, to the namespace that has Records there.
	// +optional
	Shared bool `json:"shared,omitempty" protobuf:"varint,3,opt,name=shared"`
}

// NameServer is one name server of a zone.
type NameServer struct {
	// name is the host name, relative to the zone without a trailing dot ("ns1").
	// +k8s:validation:minLength=1
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// addresses are the IPv4 and IPv6 addresses of a host in the zone. They may be Records instead, or be in both.
	// Refused for a host outside of the zone.
	// +optional
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty" protobuf:"bytes,2,rep,name=addresses"`
}

// DNSClassReference names a class that delivers a zone.
type DNSClassReference struct {
	// kind is DNSClass, or Bind9Cluster for one in the zone's own namespace. Defaults to DNSClass.
	// +optional
	// +default=ref(KindDNSClass)
	Kind ClassKind `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind,casttype=ClassKind"`
	// name of the object.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	// +k8s:validation:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// ClassKind is a kind that a DNSClassReference may name.
// +enum
type ClassKind string

const (
	KindDNSClass     ClassKind = "DNSClass"
	KindBind9Cluster ClassKind = "Bind9Cluster"
)

// ZoneLimits bound how much other namespaces may add to a zone, and how much its own may remove.
type ZoneLimits struct {
	// recordsPerNamespace is the number of Records that each namespace but the zone's own may have in the zone. At
	// least 1. Absent: no limit. Lowering it removes nothing.
	// +optional
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=2147483647
	RecordsPerNamespace *int32 `json:"recordsPerNamespace,omitempty" protobuf:"varint,1,opt,name=recordsPerNamespace"`

	// maxDeletePercent is the share of the zone's RRsets that the zone's own namespace may remove within ten minutes,
	// in percent, 0 to 100. When it removes more than that of a zone of at least ten RRsets, or the last NS at the apex
	// of any zone, no later content is delivered until the annotation kubi.zone/publish-deletions lets the deletions
	// through, or enough RRsets are put back. 100: no limit. Absent: 30.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=100
	MaxDeletePercent *int32 `json:"maxDeletePercent,omitempty" protobuf:"varint,2,opt,name=maxDeletePercent"`
}

// ZoneStatus is the observed state of a zone.
type ZoneStatus struct {
	// observedGeneration is the metadata.generation that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// fqdn is the zone's absolute name in canonical form: lower case, A-labels, trailing dot. Empty while the zone it
	// is relative to does not exist.
	// +optional
	FQDN string `json:"fqdn,omitempty" protobuf:"bytes,2,opt,name=fqdn"`

	// view is the view in force.
	// +optional
	View string `json:"view,omitempty" protobuf:"bytes,3,opt,name=view"`

	// serial is the SOA serial, 1 to 4294967295; it changes with every change of the zone's content. 0 while the zone
	// is pending.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,4,opt,name=serial"`

	// settledSerial is the serial that is delivered: the last one at which no cascade was outstanding and no mass
	// deletion held the zone.
	// +optional
	SettledSerial int64 `json:"settledSerial,omitempty" protobuf:"varint,5,opt,name=settledSerial"`

	// hash is the SHA-256 in hexadecimal over the zone's content, in any order, and its SOA parameters, without the
	// serial. Two zones of one name with equal hashes have equal content.
	// +optional
	Hash string `json:"hash,omitempty" protobuf:"bytes,6,opt,name=hash"`

	// contentState is the set hash over the zone's content, which hash is computed from.
	// +optional
	ContentState string `json:"contentState,omitempty" protobuf:"bytes,7,opt,name=contentState"`

	// contentGeneration counts the changes of the zone's content: each has a serial of its own, and this number never
	// wraps.
	// +optional
	ContentGeneration int64 `json:"contentGeneration,omitempty" protobuf:"varint,8,opt,name=contentGeneration"`

	// entryCount is the number of values the zone contains, its SOA and name servers included.
	// +optional
	EntryCount int64 `json:"entryCount,omitempty" protobuf:"varint,9,opt,name=entryCount"`

	// parentRef names the zone that delegates this one; absent where it has none.
	// +optional
	ParentRef *ZoneParent `json:"parentRef,omitempty" protobuf:"bytes,10,opt,name=parentRef"`

	// conditions: Delegated, Servable, Settled, and Ready when all of them are True and the zone is delivered
	// everywhere.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,11,rep,name=conditions"`

	// endsAt is the approximate time at which the zone ends because the zone above it delegates it no more
	// (Delegated=True, reason DelegationWithdrawn). It ends later if no server runs meanwhile. Absent: it does not
	// end.
	// +optional
	EndsAt *metav1.Time `json:"endsAt,omitempty" protobuf:"bytes,12,opt,name=endsAt"`

	// rrsetCount is the number of RRsets that Records and delegated zones give the zone.
	// +optional
	RRsetCount int64 `json:"rrsetCount,omitempty" protobuf:"varint,13,opt,name=rrsetCount"`

	// dnssec says how far the zone is signed. A controller writes it, at the subresource dnssec. It goes when the zone
	// ends.
	// +optional
	DNSSEC *ZoneDNSSECStatus `json:"dnssec,omitempty" protobuf:"bytes,14,opt,name=dnssec"`

	// deletions are the numbers by which the server finds a mass deletion; absent until it counts.
	// +optional
	Deletions *ZoneDeletions `json:"deletions,omitempty" protobuf:"bytes,15,opt,name=deletions"`
}

// ZoneDeletions are the numbers by which a mass deletion is found.
type ZoneDeletions struct {
	// own is the number of RRsets that the zone's own namespace has added, less those that it has removed. It may be
	// negative.
	Own int64 `json:"own" protobuf:"varint,1,opt,name=own"`

	// periodStart is when the present period of ten minutes began, in seconds since 1970.
	PeriodStart int64 `json:"periodStart" protobuf:"varint,2,opt,name=periodStart"`

	// least are the least numbers of the present period, of the one before, and of the one before that. The zone is
	// held when own has fallen below that of one of the last two by more than spec.limits.maxDeletePercent of its
	// rrsets.
	// +listType=atomic
	// +k8s:validation:maxItems=3
	Least []ZoneStock `json:"least" protobuf:"bytes,3,rep,name=least"`

	// most is what the zone had in the present period when own was greatest. It is absent until the period ends in
	// which the annotation kubi.zone/publish-deletions let deletions through beforehand: none of that period holds the
	// zone.
	// +optional
	Most *ZoneStock `json:"most,omitempty" protobuf:"bytes,4,opt,name=most"`
}

// ZoneStock is what a zone had.
type ZoneStock struct {
	// rrsets is the number of RRsets.
	RRsets int64 `json:"rrsets" protobuf:"varint,1,opt,name=rrsets"`

	// own is that of ZoneDeletions.
	Own int64 `json:"own" protobuf:"varint,2,opt,name=own"`
}

// ZoneDNSSECStatus says how far a zone is signed.
type ZoneDNSSECStatus struct {
	// fqdn is the name of the zone that is signed. A write is refused where the zone has another name.
	FQDN string `json:"fqdn" protobuf:"bytes,1,opt,name=fqdn"`

	// phase is Signing and Moving until every server of the class has the signed zone, then Signed. From the removal of
	// spec.dnssec on it is Withdrawing, Expiring and Returning, until every server has the unsigned zone again.
	// +optional
	Phase DNSSECPhase `json:"phase,omitempty" protobuf:"bytes,2,opt,name=phase,casttype=DNSSECPhase"`

	// message says what the phase waits for.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`

	// policy by which the zone is signed.
	// +optional
	Policy string `json:"policy,omitempty" protobuf:"bytes,4,opt,name=policy"`

	// signer is the Bind9Instance that signs the zone and has its keys.
	// +optional
	Signer *ZoneSigner `json:"signer,omitempty" protobuf:"bytes,5,opt,name=signer"`

	// lastTransitionTime is when phase or ds changed last.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,6,opt,name=lastTransitionTime"`

	// ds are the DS records that the parent of the zone is to have. The zone that delegates this one by a rule with
	// ds: true contains them; elsewhere they are to be entered by hand.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=16
	DS []DelegationSigner `json:"ds,omitempty" protobuf:"bytes,7,rep,name=ds"`
}

// DNSSECPhase is how far a zone is signed.
// +enum
type DNSSECPhase string

const (
	// DNSSECSigning: the signer makes the zone; the servers of the class have it unsigned.
	DNSSECSigning DNSSECPhase = "Signing"
	// DNSSECMoving: the servers of the class go over to the signed zone, which they transfer from the signer.
	DNSSECMoving DNSSECPhase = "Moving"
	// DNSSECSigned: every server of the class has the signed zone.
	DNSSECSigned DNSSECPhase = "Signed"
	// DNSSECWithdrawing: the DS leaves the servers of the parent; the zone is signed as before.
	DNSSECWithdrawing DNSSECPhase = "Withdrawing"
	// DNSSECExpiring: the DS leaves the caches of resolvers; the zone is signed as before.
	DNSSECExpiring DNSSECPhase = "Expiring"
	// DNSSECReturning: the servers of the class go back to the unsigned zone.
	DNSSECReturning DNSSECPhase = "Returning"
)

// ZoneSigner names the Bind9Instance that signs a zone.
type ZoneSigner struct {
	// namespace of the Bind9Instance.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// name of the Bind9Instance.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// DelegationSigner is the data of one DS record (RFC 4034 §5.1).
type DelegationSigner struct {
	// keyTag is the key tag of the DNSKEY, 0 to 65535.
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=65535
	KeyTag int32 `json:"keyTag" protobuf:"varint,1,opt,name=keyTag"`
	// algorithm is the number of the algorithm of the DNSKEY, 1 to 255, such as 13 for ECDSAP256SHA256.
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=255
	Algorithm int32 `json:"algorithm" protobuf:"varint,2,opt,name=algorithm"`
	// digestType is 1 for SHA-1, 2 for SHA-256 or 4 for SHA-384.
	DigestType int32 `json:"digestType" protobuf:"varint,3,opt,name=digestType"`
	// digest of the DNSKEY, in hexadecimal: 40, 64 or 96 digits.
	// +k8s:validation:maxLength=96
	// +k8s:validation:pattern="^[0-9A-Fa-f]+$"
	Digest string `json:"digest" protobuf:"bytes,4,opt,name=digest"`
}

// ZoneParent names the Zone object that is the parent of another.
type ZoneParent struct {
	// namespace of the parent.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// name of the parent.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ZoneList is a list of Zones.
type ZoneList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Zones.
	Items []Zone `json:"items" protobuf:"bytes,2,rep,name=items"`
}
