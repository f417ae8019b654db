// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:method=GetEntries,verb=get,subresource=entries,result=ZoneEntries
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Zone is a DNS zone: its name, rules for Records and child zones, and SOA parameters. `kubectl get zone NAME
// --subresource=entries` lists its content.
type Zone struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state.
	Spec ZoneSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state. Only the server writes it.
	// +optional
	Status ZoneStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ZoneSpec is the desired state of a zone.
type ZoneSpec struct {
	// domainName is the zone's name: absolute with a trailing dot ("example.org.", "." for the root), otherwise ("dev")
	// relative to zoneRef, which is then required. Immutable once the zone has a name, as are view and zoneRef.
	// +k8s:validation:minLength=1
	// +k8s:validation:pattern="^[^\\s\"\\\\$;]+$"
	DomainName string `json:"domainName" protobuf:"bytes,1,opt,name=domainName"`

	// view is the zone's view (split horizon): an RFC 1123 label, empty for default. With a zoneRef, only empty or that
	// zone's view.
	// +optional
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	View string `json:"view,omitempty" protobuf:"bytes,2,opt,name=view"`

	// zoneRef names the only possible parent Zone, the origin of a relative domainName.
	// +optional
	ZoneRef *ZoneReference `json:"zoneRef,omitempty" protobuf:"bytes,3,opt,name=zoneRef"`

	// delegations are the rules for Records and child zones. Without a rule, even the zone's own namespace may have
	// none.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	Delegations []DelegationRule `json:"delegations,omitempty" protobuf:"bytes,4,rep,name=delegations"`

	// nameServers become NS records at the apex, with address records for hosts in the zone; no rule is needed. NS
	// Records at "@" add to them. Absent: copied from the zone's first class at creation. []: none.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	NameServers []NameServer `json:"nameServers,omitempty" protobuf:"bytes,5,rep,name=nameServers"`

	// ttl is the TTL in seconds of the SOA and of Records without ttl, 0 to 2147483647 (RFC 2181 §8). Absent: copied
	// from defaultTTL of the zone's first class at creation, else 360.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	TTL *int32 `json:"ttl,omitempty" protobuf:"varint,6,opt,name=ttl"`

	// refresh is the interval in seconds at which secondaries check the serial (SOA REFRESH, RFC 1035 §3.3.13).
	// Defaults to 86400.
	// +optional
	// +default=ref(DefaultRefresh)
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=2147483647
	Refresh *int32 `json:"refresh,omitempty" protobuf:"varint,7,opt,name=refresh"`

	// retry is the delay in seconds before secondaries repeat a failed refresh (SOA RETRY); less than refresh. Defaults
	// to 7200.
	// +optional
	// +default=ref(DefaultRetry)
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=2147483647
	Retry *int32 `json:"retry,omitempty" protobuf:"varint,8,opt,name=retry"`

	// expire is the time in seconds after which secondaries without a refresh stop serving the zone (SOA EXPIRE); more
	// than refresh + retry. Defaults to 3600000.
	// +optional
	// +default=ref(DefaultExpire)
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=2147483647
	Expire *int32 `json:"expire,omitempty" protobuf:"varint,9,opt,name=expire"`

	// negativeResponseCache is the time in seconds for caching negative answers (SOA MINIMUM, RFC 2308 §4). Defaults to
	// 360.
	// +optional
	// +default=ref(DefaultNegativeResponseCache)
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	NegativeResponseCache *int32 `json:"negativeResponseCache,omitempty" protobuf:"varint,10,opt,name=negativeResponseCache"`

	// primaryNameServer is the SOA MNAME; without a trailing dot, relative to the zone. Absent: the first of
	// nameServers, else the first NS at the apex, else "ns" in the zone.
	// +optional
	PrimaryNameServer string `json:"primaryNameServer,omitempty" protobuf:"bytes,11,opt,name=primaryNameServer"`

	// contact is the zone's mailbox (SOA RNAME): a mail address ("hostmaster@example.org") or a domain name
	// ("hostmaster.example.org."). Absent: hostmaster in the zone.
	// +optional
	// +k8s:validation:maxLength=1024
	Contact string `json:"contact,omitempty" protobuf:"bytes,12,opt,name=contact"`

	// minimumSerial is a lower bound of the next serial, 1 to 4294967295, if ahead of the current serial (RFC 1982).
	// Each value takes effect once.
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

	// limits bound other namespaces' additions, and deletions by the zone's own.
	// +optional
	Limits *ZoneLimits `json:"limits,omitempty" protobuf:"bytes,15,opt,name=limits"`

	// deletionProtection refuses deletion of the Zone.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty" protobuf:"varint,16,opt,name=deletionProtection"`

	// deletionPolicy decides about the data at providers when the Zone is deleted. Defaults to Delete.
	// +optional
	// +default=ref(DeletionPolicyDelete)
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty" protobuf:"bytes,17,opt,name=deletionPolicy,casttype=DeletionPolicy"`

	// withdrawalGracePeriod is how long Records and child zones remain after rules stop allowing them, 0s to 720h. Then
	// Records are released, and child zones are pending until delegated again. Only time with a running server counts.
	// A new value applies to later withdrawals. The annotation kubi.zone/release-now ends it early. Defaults to 24h.
	// +optional
	// +default="24h"
	WithdrawalGracePeriod *metav1.Duration `json:"withdrawalGracePeriod,omitempty" protobuf:"bytes,18,opt,name=withdrawalGracePeriod"`

	// dnssec has the servers of the zone's class sign the zone. Absent: unsigned.
	// +optional
	DNSSEC *ZoneDNSSEC `json:"dnssec,omitempty" protobuf:"bytes,19,opt,name=dnssec"`

	// historyRetention is how long the server keeps changes of the zone, with their users and the Records before them,
	// 0s to 2160h. A shorter time deletes older changes for good, also tenants'. Above its share of etcd a namespace's
	// oldest changes are condensed. 0s keeps none. Defaults to the server's --history-retention, 168h.
	// +optional
	HistoryRetention *metav1.Duration `json:"historyRetention,omitempty" protobuf:"bytes,20,opt,name=historyRetention"`

	// reverse gives a zone below in-addr.arpa or ip6.arpa a PTR record for each address in A and AAAA Records of other
	// zones. A written PTR Record replaces it. Absent: none.
	// +optional
	Reverse *ZoneReverse `json:"reverse,omitempty" protobuf:"bytes,21,opt,name=reverse"`
}

// ZoneReverse selects the Records whose addresses have PTR records in a reverse zone.
type ZoneReverse struct {
	// zones are Zone objects of this Zone's namespace, and of its view, whose A and AAAA Records count.
	// +listType=set
	// +k8s:validation:minItems=1
	// +k8s:validation:maxItems=16
	// +k8s:validation:items:minLength=1
	// +k8s:validation:items:maxLength=253
	Zones []string `json:"zones" protobuf:"bytes,1,rep,name=zones"`

	// namespaces are those whose Records in zones count. Absent: this Zone's namespace alone.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=100
	// +k8s:validation:items:maxLength=63
	// +k8s:validation:items:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Namespaces []string `json:"namespaces,omitempty" protobuf:"bytes,2,rep,name=namespaces"`

	// prefixes are the networks whose addresses count, such as 192.0.2.0/28. Absent: all addresses in this zone.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=100
	// +k8s:validation:items:maxLength=43
	Prefixes []string `json:"prefixes,omitempty" protobuf:"bytes,3,rep,name=prefixes"`

	// all gives an address a PTR record for each name, up to 100, and not for the first name alone.
	// +optional
	All bool `json:"all,omitempty" protobuf:"varint,4,opt,name=all"`
}

// ZoneDNSSEC configures signing.
type ZoneDNSSEC struct {
	// policy is the signing policy: "default", BIND's own, or a policy of the Bind9Cluster of the zone's class.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Policy string `json:"policy" protobuf:"bytes,1,opt,name=policy"`
}

// DeletionPolicy decides about a deleted Zone's data.
// +enum
type DeletionPolicy string

const (
	// DeletionPolicyDelete removes the data.
	DeletionPolicyDelete DeletionPolicy = "Delete"
	// DeletionPolicyRetain leaves the data, and needs spec.allowRetain of each DNSClass.
	DeletionPolicyRetain DeletionPolicy = "Retain"
)

// DelegationRule allows Records by name and type, or child zones, to its namespaces; without namespaces, to all.
type DelegationRule struct {
	// records are the allowed Records.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	Records []RecordDelegation `json:"records,omitempty" protobuf:"bytes,1,rep,name=records"`

	// zones are patterns of the allowed child zones, as in records[].pattern.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:minLength=1
	Zones []string `json:"zones,omitempty" protobuf:"bytes,2,rep,name=zones"`

	// namespace is a namespace of the rule.
	// +optional
	// +k8s:validation:maxLength=63
	// +k8s:validation:pattern="^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,3,opt,name=namespace"`

	// namespaces are further namespaces of the rule.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:maxLength=63
	// +k8s:validation:items:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Namespaces []string `json:"namespaces,omitempty" protobuf:"bytes,4,rep,name=namespaces"`

	// ds adds the allowed child zones' DS records, from status.dnssec.ds. If false, DS records need Records.
	// +optional
	DS bool `json:"ds,omitempty" protobuf:"varint,5,opt,name=ds"`
}

// RecordDelegation allows Records by name and type.
type RecordDelegation struct {
	// pattern matches owner names: relative to the zone, absolute with a trailing dot, "@" alone or as last label for
	// the zone's own name. A leading label "*" matches one or more labels, another label "*" exactly one, "*" within a
	// label any part. No "*" matches the zone's own name.
	// +k8s:validation:minLength=1
	Pattern string `json:"pattern" protobuf:"bytes,1,opt,name=pattern"`

	// types are the allowed RR types: mnemonics in any case, or TYPE123 (RFC 3597). Absent: every type for the zone's
	// own namespace; for others every type except NS, DS, DNSKEY, CDS, CDNSKEY, CSYNC and DNAME.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:pattern="^[A-Za-z][0-9A-Za-z-]*$"
	Types []string `json:"types,omitempty" protobuf:"bytes,2,rep,name=types"`

	// shared allows the rule's namespaces Records at the same name, and below each other's names. Otherwise a name,
	// with all below, belongs to the namespace with Records there.
	// +optional
	Shared bool `json:"shared,omitempty" protobuf:"varint,3,opt,name=shared"`
}

// NameServer is a name server.
type NameServer struct {
	// name is the host name; without a trailing dot ("ns1"), relative to the zone.
	// +k8s:validation:minLength=1
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// addresses are the IPv4 and IPv6 addresses of a host in the zone; Records may add others. Refused for other hosts.
	// +optional
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty" protobuf:"bytes,2,rep,name=addresses"`
}

// DNSClassReference names a class.
type DNSClassReference struct {
	// kind is DNSClass, or Bind9Cluster for a cluster in the zone's own namespace. Defaults to DNSClass.
	// +optional
	// +default=ref(KindDNSClass)
	Kind ClassKind `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind,casttype=ClassKind"`
	// name of the object.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	// +k8s:validation:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// ClassKind is a kind of class.
// +enum
type ClassKind string

const (
	KindDNSClass     ClassKind = "DNSClass"
	KindBind9Cluster ClassKind = "Bind9Cluster"
)

// ZoneLimits are limits of a zone.
type ZoneLimits struct {
	// recordsPerNamespace is the maximum number of Records of each namespace except the zone's own, at least 1. A lower
	// value removes nothing. Absent: no limit.
	// +optional
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=2147483647
	RecordsPerNamespace *int32 `json:"recordsPerNamespace,omitempty" protobuf:"varint,1,opt,name=recordsPerNamespace"`

	// minTTL is the least ttl in seconds of a Record of each namespace except the zone's own, at most the zone's ttl.
	// Underscore names, such as _acme-challenge.www, have none. A higher value changes no stored Record. Absent: 0.
	// +optional
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=2147483647
	MinTTL *int32 `json:"minTTL,omitempty" protobuf:"varint,3,opt,name=minTTL"`

	// maxDeletePercent is the percentage of RRsets that the zone's own namespace may remove within ten minutes, 0 to
	// 100. Removing more from a zone of at least ten RRsets, or the last NS at any zone's apex, stops delivery until
	// the annotation kubi.zone/publish-deletions allows the deletions, or enough are back. 100: no limit. Absent: 30.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=100
	MaxDeletePercent *int32 `json:"maxDeletePercent,omitempty" protobuf:"varint,2,opt,name=maxDeletePercent"`
}

// ZoneStatus is the observed state of a zone.
type ZoneStatus struct {
	// observedGeneration is the generation of this status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// fqdn is the zone's absolute name in canonical form: lower case, A-labels, trailing dot. Empty without the Zone of
	// zoneRef.
	// +optional
	FQDN string `json:"fqdn,omitempty" protobuf:"bytes,2,opt,name=fqdn"`

	// view in effect.
	// +optional
	View string `json:"view,omitempty" protobuf:"bytes,3,opt,name=view"`

	// serial is the SOA serial, 1 to 4294967295, new with each change of the content. 0 while the zone is pending.
	// +optional
	Serial int64 `json:"serial,omitempty" protobuf:"varint,4,opt,name=serial"`

	// settledSerial is the serial for delivery: the last without an unfinished cascade or a hold for mass deletion.
	// +optional
	SettledSerial int64 `json:"settledSerial,omitempty" protobuf:"varint,5,opt,name=settledSerial"`

	// hash is the hexadecimal SHA-256 of the zone's content, in any order, and its SOA parameters except the serial.
	// Zones of one name with equal hashes have equal content.
	// +optional
	Hash string `json:"hash,omitempty" protobuf:"bytes,6,opt,name=hash"`

	// contentState is the set hash of the content, an input of hash.
	// +optional
	ContentState string `json:"contentState,omitempty" protobuf:"bytes,7,opt,name=contentState"`

	// contentGeneration counts the changes of the content, and never wraps.
	// +optional
	ContentGeneration int64 `json:"contentGeneration,omitempty" protobuf:"varint,8,opt,name=contentGeneration"`

	// entryCount is the number of values, including SOA and name servers.
	// +optional
	EntryCount int64 `json:"entryCount,omitempty" protobuf:"varint,9,opt,name=entryCount"`

	// parentRef names the parent Zone. Absent: none.
	// +optional
	ParentRef *ZoneParent `json:"parentRef,omitempty" protobuf:"bytes,10,opt,name=parentRef"`

	// conditions: Delegated, Servable, Settled; Ready, if all three are True and every class has confirmed the serial.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,11,rep,name=conditions"`

	// endsAt is the approximate end of a zone no longer delegated; later, if no server runs meanwhile. Absent: no end.
	// +optional
	EndsAt *metav1.Time `json:"endsAt,omitempty" protobuf:"bytes,12,opt,name=endsAt"`

	// rrsetCount is the number of RRsets from Records and delegated zones.
	// +optional
	RRsetCount int64 `json:"rrsetCount,omitempty" protobuf:"varint,13,opt,name=rrsetCount"`

	// dnssec is the progress of signing, written at the subresource dnssec. Absent after the zone ends.
	// +optional
	DNSSEC *ZoneDNSSECStatus `json:"dnssec,omitempty" protobuf:"bytes,14,opt,name=dnssec"`

	// deletions are counters of RRsets, for limits.maxDeletePercent. Absent until the first count.
	// +optional
	Deletions *ZoneDeletions `json:"deletions,omitempty" protobuf:"bytes,15,opt,name=deletions"`

	// serialTime is the time of serial, never before that of an earlier serial.
	// +optional
	SerialTime *metav1.Time `json:"serialTime,omitempty" protobuf:"bytes,16,opt,name=serialTime"`
}

// ZoneDeletions are counters of RRsets.
type ZoneDeletions struct {
	// own is the number of RRsets added, less those removed, by the zone's own namespace. May be negative.
	Own int64 `json:"own" protobuf:"varint,1,opt,name=own"`

	// periodStart begins the current ten-minute period, in seconds since 1970.
	PeriodStart int64 `json:"periodStart" protobuf:"varint,2,opt,name=periodStart"`

	// least are the stocks at the minimum of own in the current period and in each of the two before.
	// +listType=atomic
	// +k8s:validation:maxItems=3
	Least []ZoneStock `json:"least" protobuf:"bytes,3,rep,name=least"`

	// most is the stock at the period's maximum of own. Absent if the annotation kubi.zone/publish-deletions allowed
	// the period's deletions in advance.
	// +optional
	Most *ZoneStock `json:"most,omitempty" protobuf:"bytes,4,opt,name=most"`
}

// ZoneStock counts RRsets at one time.
type ZoneStock struct {
	// rrsets is the number of RRsets.
	RRsets int64 `json:"rrsets" protobuf:"varint,1,opt,name=rrsets"`

	// own as in ZoneDeletions.
	Own int64 `json:"own" protobuf:"varint,2,opt,name=own"`
}

// ZoneDNSSECStatus is the progress of signing.
type ZoneDNSSECStatus struct {
	// fqdn is the name of the signed zone. Writes with another name than the zone's are refused.
	FQDN string `json:"fqdn" protobuf:"bytes,1,opt,name=fqdn"`

	// phase is Signing, Moving, then Signed; after removal of spec.dnssec Withdrawing, Expiring, then Returning.
	// +optional
	Phase DNSSECPhase `json:"phase,omitempty" protobuf:"bytes,2,opt,name=phase,casttype=DNSSECPhase"`

	// message is the condition for leaving the phase.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`

	// policy in use.
	// +optional
	Policy string `json:"policy,omitempty" protobuf:"bytes,4,opt,name=policy"`

	// signer is the Bind9Instance that signs the zone and holds its keys.
	// +optional
	Signer *ZoneSigner `json:"signer,omitempty" protobuf:"bytes,5,opt,name=signer"`

	// lastTransitionTime is the last change of phase or ds.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,6,opt,name=lastTransitionTime"`

	// ds are the DS records for the parent zone. A parent with ds: true in its rule adds them; otherwise enter them by
	// hand.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=16
	DS []DelegationSigner `json:"ds,omitempty" protobuf:"bytes,7,rep,name=ds"`

	// passSerial is above the serials that servers have from the signer at the end of signing. The zone's serial is
	// raised past it, so that servers transfer the unsigned zone (S6.11).
	// +optional
	PassSerial int64 `json:"passSerial,omitempty" protobuf:"varint,8,opt,name=passSerial"`

	// longestDSTTL is the longest TTL of the DS seen at the parent, in seconds. The phase Expiring lasts at least this
	// long, because resolvers may still cache the DS. A TTL above a week counts as a week, or as timing.parentDSTTL if
	// longer.
	// +optional
	// +k8s:validation:minimum=0
	LongestDSTTL int32 `json:"longestDSTTL,omitempty" protobuf:"varint,9,opt,name=longestDSTTL"`
}

// DNSSECPhase is a phase of signing.
// +enum
type DNSSECPhase string

const (
	// DNSSECSigning: the signer signs the zone; servers serve it unsigned.
	DNSSECSigning DNSSECPhase = "Signing"
	// DNSSECMoving: servers switch to the signed zone.
	DNSSECMoving DNSSECPhase = "Moving"
	// DNSSECSigned: every server serves the signed zone.
	DNSSECSigned DNSSECPhase = "Signed"
	// DNSSECWithdrawing: the parent's servers drop the DS; the zone remains signed.
	DNSSECWithdrawing DNSSECPhase = "Withdrawing"
	// DNSSECExpiring: the DS expires in resolvers' caches; the zone remains signed.
	DNSSECExpiring DNSSECPhase = "Expiring"
	// DNSSECReturning: servers switch to the unsigned zone.
	DNSSECReturning DNSSECPhase = "Returning"
)

// ZoneSigner names the Bind9Instance that signs a zone.
type ZoneSigner struct {
	// namespace of the Bind9Instance.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// name of the Bind9Instance.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// DelegationSigner is the data of a DS record (RFC 4034 §5.1).
type DelegationSigner struct {
	// keyTag, 0 to 65535.
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=65535
	KeyTag int32 `json:"keyTag" protobuf:"varint,1,opt,name=keyTag"`
	// algorithm is the DNSKEY's algorithm number, 1 to 255, such as 13 for ECDSAP256SHA256.
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=255
	Algorithm int32 `json:"algorithm" protobuf:"varint,2,opt,name=algorithm"`
	// digestType is 1 for SHA-1, 2 for SHA-256 or 4 for SHA-384.
	DigestType int32 `json:"digestType" protobuf:"varint,3,opt,name=digestType"`
	// digest of the DNSKEY in hexadecimal: 40, 64 or 96 digits.
	// +k8s:validation:maxLength=96
	// +k8s:validation:pattern="^[0-9A-Fa-f]+$"
	Digest string `json:"digest" protobuf:"bytes,4,opt,name=digest"`
}

// ZoneParent names the parent Zone.
type ZoneParent struct {
	// namespace of the parent.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// name of the parent.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ZoneList lists Zones.
type ZoneList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the Zones.
	Items []Zone `json:"items" protobuf:"bytes,2,rep,name=items"`
}
