// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DNSClass configures the delivery of zones to name servers, in exactly one provider block. Cluster admins write
// classes; Zones name them in spec.dnsClassRefs.
type DNSClass struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata. With the annotation kubi.zone/is-default-class: "true", the class delivers every zone
	// without dnsClassRefs.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state.
	Spec DNSClassSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state. The controller writes it.
	// +optional
	Status DNSClassStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DNSClassSpec is the desired state of a class.
type DNSClassSpec struct {
	// defaultTTL is the ttl of new Zones without a ttl, in seconds, 0 to 2147483647. Absent: the default of Zones.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	DefaultTTL *int32 `json:"defaultTTL,omitempty" protobuf:"varint,1,opt,name=defaultTTL"`

	// nameServers are those of new Zones without any. Only names relative to the zone may have addresses.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	NameServers []NameServer `json:"nameServers,omitempty" protobuf:"bytes,9,rep,name=nameServers"`

	// namespaces are those whose zones the class may deliver. Absent: all for a default class, none for others.
	// +optional
	Namespaces *NamespaceSelection `json:"namespaces,omitempty" protobuf:"bytes,2,opt,name=namespaces"`

	// views are the views of delivered zones: "" is the default view, "*" every view. Absent or empty: the default
	// view. Among zones of one name the class delivers the default view's, else the first.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=100
	Views []string `json:"views,omitempty" protobuf:"bytes,12,rep,name=views"`

	// allowLocalAddresses allows connections to loopback, link-local and metadata addresses, also by name. Otherwise
	// refused.
	// +optional
	AllowLocalAddresses bool `json:"allowLocalAddresses,omitempty" protobuf:"varint,3,opt,name=allowLocalAddresses"`

	// paused stops delivery of the class's zones. Delivered content stays.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,4,opt,name=paused"`

	// requestsPerSecond is the maximum rate of requests to the provider, for all zones together, 1 to 10000. Absent:
	// 50.
	// +optional
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=10000
	RequestsPerSecond *int32 `json:"requestsPerSecond,omitempty" protobuf:"varint,5,opt,name=requestsPerSecond"`

	// driftInterval is the interval of comparisons with the provider's records, and, with transfer and bind9, of checks
	// for the confirmed serial on each server. Differences are repaired. Whole seconds from 1m to 168h; longer if
	// comparisons would take more than half of requestsPerSecond. Absent: 1h; with transfer and bind9 1m.
	// +optional
	DriftInterval *metav1.Duration `json:"driftInterval,omitempty" protobuf:"bytes,13,opt,name=driftInterval"`

	// transfer serves zones to secondaries from the hidden primary by AXFR, IXFR, NOTIFY and a catalog zone (RFC 9432).
	// +optional
	Transfer *TransferProvider `json:"transfer,omitempty" protobuf:"bytes,6,opt,name=transfer"`

	// rfc2136 writes to an existing primary by dynamic update (RFC 2136).
	// +optional
	RFC2136 *RFC2136Provider `json:"rfc2136,omitempty" protobuf:"bytes,7,opt,name=rfc2136"`

	// webhook calls an HTTP service for a DNS provider.
	// +optional
	Webhook *WebhookProvider `json:"webhook,omitempty" protobuf:"bytes,8,opt,name=webhook"`

	// bind9 delivers to Bind9Instances: of a Bind9Cluster, or selected by labels.
	// +optional
	Bind9 *Bind9Provider `json:"bind9,omitempty" protobuf:"bytes,15,opt,name=bind9"`

	// allowRetain allows deletionPolicy Retain for Zones of the class: their data stays at the provider, even under a
	// later zone of the name. If false, new Zones with Retain are refused, and existing zones withdrawn as with Delete.
	// +optional
	AllowRetain bool `json:"allowRetain,omitempty" protobuf:"varint,11,opt,name=allowRetain"`

	// deletionProtection refuses deletion of the class, which would withdraw all its zones.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty" protobuf:"varint,14,opt,name=deletionProtection"`
}

// NamespaceSelection selects namespaces by name or label.
type NamespaceSelection struct {
	// names of namespaces.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:maxLength=63
	// +k8s:validation:items:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Names []string `json:"names,omitempty" protobuf:"bytes,1,rep,name=names"`
	// selector selects namespaces by label. Empty ({}) selects all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// name of the Secret.
	// +k8s:validation:minLength=1
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// namespace of the Secret.
	// +k8s:validation:minLength=1
	Namespace string `json:"namespace" protobuf:"bytes,2,opt,name=namespace"`
}

// SecretKeyReference names a value in a Secret.
type SecretKeyReference struct {
	// name of the Secret.
	// +k8s:validation:minLength=1
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// namespace of the Secret.
	// +k8s:validation:minLength=1
	Namespace string `json:"namespace" protobuf:"bytes,2,opt,name=namespace"`
	// key in the Secret's data.
	// +k8s:validation:minLength=1
	Key string `json:"key" protobuf:"bytes,3,opt,name=key"`
}

// TransferProvider configures the hidden primary.
type TransferProvider struct {
	// secondaries are name servers. A zone is Ready when every secondary answers with its serial, or, with signs or
	// signer, has the data of that serial.
	// +optional
	// +listType=map
	// +listMapKey=address
	// +k8s:validation:maxItems=100
	Secondaries []Secondary `json:"secondaries,omitempty" protobuf:"bytes,1,rep,name=secondaries"`

	// alsoNotify are further addresses for NOTIFY ("192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53"). Ready does not
	// wait for them.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=100
	AlsoNotify []string `json:"alsoNotify,omitempty" protobuf:"bytes,2,rep,name=alsoNotify"`

	// tsigSecretRef names the Secret with the class's TSIG key: data name, algorithm (hmac-sha256, the default,
	// hmac-sha384 or hmac-sha512) and secret (base64, as in BIND). Absent: secondaries may transfer by address alone.
	// +optional
	TSIGSecretRef *SecretReference `json:"tsigSecretRef,omitempty" protobuf:"bytes,3,opt,name=tsigSecretRef"`

	// catalogZone is the catalog zone (RFC 9432), absolute with a trailing dot. Absent: none.
	// +optional
	CatalogZone string `json:"catalogZone,omitempty" protobuf:"bytes,4,opt,name=catalogZone"`

	// catalogGroup is the property group (RFC 9432 §4.3.2) of each zone in the catalog, such as the name of a Knot
	// template: at most 255 printable ASCII characters. Immutable. Absent: no property.
	// +optional
	// +k8s:validation:maxLength=255
	CatalogGroup string `json:"catalogGroup,omitempty" protobuf:"bytes,5,opt,name=catalogGroup"`

	// tls serves the class over TLS alone (RFC 9103), on the port of kubizone primary --dns-tls-listen. A secondary
	// needs a certificate, and its TSIG key if it has one; without a key its address does not matter.
	// +optional
	TLS *TransferTLS `json:"tls,omitempty" protobuf:"bytes,6,opt,name=tls"`
}

// TransferTLS configures mutual TLS of transfers. Changed Secrets need no restart.
type TransferTLS struct {
	// serverSecretRef names a Secret of type kubernetes.io/tls, whose certificate the primary shows.
	ServerSecretRef SecretReference `json:"serverSecretRef" protobuf:"bytes,1,opt,name=serverSecretRef"`
	// clientCASecretRef names a Secret with the authorities (ca.crt) of the secondaries' certificates. Use an authority
	// of your own, or list clientNames: any certificate of these authorities opens the class.
	ClientCASecretRef SecretReference `json:"clientCASecretRef" protobuf:"bytes,2,opt,name=clientCASecretRef"`
	// clientNames are the DNS names of which a secondary's certificate must have one. Absent: any certificate of the
	// authorities will do.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=100
	ClientNames []string `json:"clientNames,omitempty" protobuf:"bytes,3,rep,name=clientNames"`
}

// Secondary is a secondary name server.
type Secondary struct {
	// address is the server's IP address with or without a port: "192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53".
	// +k8s:validation:minLength=1
	Address string `json:"address" protobuf:"bytes,1,opt,name=address"`
	// tsigSecretRef names the Secret with the server's own TSIG key. Absent: the class's key.
	// +optional
	TSIGSecretRef *SecretReference `json:"tsigSecretRef,omitempty" protobuf:"bytes,2,opt,name=tsigSecretRef"`
	// catalog is the use of the catalog zone. Defaults to Follow.
	// +optional
	// +default=ref(CatalogFollow)
	Catalog CatalogUse `json:"catalog,omitempty" protobuf:"bytes,3,opt,name=catalog,casttype=CatalogUse"`
	// signs marks a server that signs transferred zones (DNSSEC) under its own serials, which never raise the zone's.
	// It has a serial when its data, without DNSSEC records, equals the data of that serial. For the comparison it must
	// allow the controller transfers, by its TSIG key, or without a key by address.
	// +optional
	Signs bool `json:"signs,omitempty" protobuf:"varint,4,opt,name=signs"`
	// signer is the address, spelled alike, of a secondary with signs, from which the server transfers. The server has
	// a serial when its answers have a serial under which the signer has that data. It gets NOTIFY for the catalog zone
	// alone. Absent: the server transfers from Kubizone.
	// +optional
	Signer string `json:"signer,omitempty" protobuf:"bytes,5,opt,name=signer"`
	// tlsServer, of a class with tls, is the host name in the server's certificate. The controller then asks the server
	// over TLS at port 853, shows the primary's certificate, and trusts the authorities of clientCASecretRef. Absent:
	// it asks for serials in clear, and compares no content. Required with signs. +optional
	// +k8s:validation:maxLength=253
	TLSServer string `json:"tlsServer,omitempty" protobuf:"bytes,6,opt,name=tlsServer"`
}

// CatalogUse is a secondary's use of the catalog zone.
// +enum
type CatalogUse string

const (
	CatalogFollow CatalogUse = "Follow"
	// CatalogIgnore: the server has the zones in its own configuration, and gets no NOTIFY for the catalog.
	CatalogIgnore CatalogUse = "Ignore"
)

// Bind9Provider is the set of BIND 9 servers selected by clusterRef or instancesFrom that accept the zones of every
// namespace the class may deliver (spec.zoneNamespaces of the Bind9Instance or its Bind9Cluster). A zone is Ready when
// every server answers with its serial.
type Bind9Provider struct {
	// clusterRef selects the Bind9Instances of a Bind9Cluster.
	// +optional
	ClusterRef *Bind9ClusterReference `json:"clusterRef,omitempty" protobuf:"bytes,1,opt,name=clusterRef"`

	// instancesFrom select Bind9Instances.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=16
	InstancesFrom []Bind9InstanceSelection `json:"instancesFrom,omitempty" protobuf:"bytes,2,rep,name=instancesFrom"`

	// catalogZone is the catalog zone (RFC 9432), absolute with a trailing dot. Required in mode Catalog, refused in
	// others.
	// +optional
	CatalogZone string `json:"catalogZone,omitempty" protobuf:"bytes,3,opt,name=catalogZone"`

	// mode selects how servers get zones. Immutable. Defaults to Catalog.
	// +optional
	// +default=ref(Bind9ModeCatalog)
	Mode Bind9Mode `json:"mode,omitempty" protobuf:"bytes,4,opt,name=mode,casttype=Bind9Mode"`

	// primaries are the hidden primary's IP addresses as the servers reach them, with or without a port (53):
	// "192.0.2.1", "[2001:db8::1]:5353". Required in mode Transfer, refused in others.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=16
	Primaries []string `json:"primaries,omitempty" protobuf:"bytes,5,rep,name=primaries"`
}

// Bind9Mode selects how servers get zones.
// +enum
type Bind9Mode string

const (
	// Bind9ModeCatalog: servers follow the catalog zone.
	Bind9ModeCatalog Bind9Mode = "Catalog"
	// Bind9ModeTransfer: each server's agent configures each zone as a secondary of the hidden primary.
	Bind9ModeTransfer Bind9Mode = "Transfer"
	// Bind9ModeUpdate: each Primary's agent creates the zone, and dynamic updates (RFC 2136) write its records.
	// Secondaries transfer from Primaries.
	Bind9ModeUpdate Bind9Mode = "Update"
)

// Bind9ClusterReference names a Bind9Cluster.
type Bind9ClusterReference struct {
	// namespace of the Bind9Cluster.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=63
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// name of the Bind9Cluster.
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// Bind9InstanceSelection selects Bind9Instances by namespace and label.
type Bind9InstanceSelection struct {
	// selector selects Bind9Instances by label. Empty selects all of the namespaces.
	Selector metav1.LabelSelector `json:"selector" protobuf:"bytes,1,opt,name=selector"`
	// namespaces of the instances. Others are never selected: authors of an instance choose its labels.
	// +listType=set
	// +k8s:validation:minItems=1
	// +k8s:validation:maxItems=64
	Namespaces []string `json:"namespaces" protobuf:"bytes,2,rep,name=namespaces"`
}

// RFC2136Provider is a primary.
type RFC2136Provider struct {
	// server is the host name or IP address for updates, over TCP, with or without a port (53).
	// +k8s:validation:minLength=1
	Server string `json:"server" protobuf:"bytes,1,opt,name=server"`
	// transferServer is for zone transfers, for comparisons. Absent: server.
	// +optional
	TransferServer string `json:"transferServer,omitempty" protobuf:"bytes,2,opt,name=transferServer"`
	// tsigSecretRef names the Secret with the TSIG key, as in transfer.tsigSecretRef.
	TSIGSecretRef SecretReference `json:"tsigSecretRef" protobuf:"bytes,3,opt,name=tsigSecretRef"`
	// foreignRecords is the treatment of foreign records with a name and type of the zone. Others stay. Defaults to
	// Keep.
	// +optional
	// +default=ref(ForeignRecordsKeep)
	ForeignRecords ForeignRecords `json:"foreignRecords,omitempty" protobuf:"bytes,4,opt,name=foreignRecords,casttype=ForeignRecords"`
}

// ForeignRecords is the treatment of foreign records.
// +enum
type ForeignRecords string

const (
	// ForeignRecordsKeep keeps them; the zone is not Ready (reason Conflict).
	ForeignRecordsKeep ForeignRecords = "Keep"
	// ForeignRecordsReplace overwrites them.
	ForeignRecordsReplace ForeignRecords = "Replace"
)

// WebhookProvider is an HTTP service with the webhook protocol.
type WebhookProvider struct {
	// server is the base URL, http or https.
	// +k8s:validation:pattern="^[Hh][Tt][Tt][Pp][Ss]?://."
	// +k8s:validation:maxLength=2048
	Server string `json:"server" protobuf:"bytes,1,opt,name=server"`
	// timeoutSeconds is the timeout of a request, 1 to 30. Defaults to 30.
	// +optional
	// +default=ref(DefaultWebhookTimeout)
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=30
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,2,opt,name=timeoutSeconds"`
	// hmacAuth signs requests.
	// +optional
	HMACAuth *HMACAuth `json:"hmacAuth,omitempty" protobuf:"bytes,3,opt,name=hmacAuth"`
	// tls configures TLS authentication.
	// +optional
	TLS *WebhookTLS `json:"tls,omitempty" protobuf:"bytes,4,opt,name=tls"`
	// bearerTokenFrom names a token for the Authorization header; https only.
	// +optional
	BearerTokenFrom *SecretKeyReference `json:"bearerTokenFrom,omitempty" protobuf:"bytes,5,opt,name=bearerTokenFrom"`
	// apexNS decides about the apex NS RRset. Defaults to Deliver.
	// +optional
	// +default=ref(ApexNSDeliver)
	ApexNS ApexNS `json:"apexNS,omitempty" protobuf:"bytes,6,opt,name=apexNS,casttype=ApexNS"`
}

// ApexNS decides about the apex NS RRset.
// +enum
type ApexNS string

const (
	ApexNSDeliver ApexNS = "Deliver"
	// ApexNSSkip never sends, removes or compares the RRset, for providers with their own apex NS, or without NS.
	ApexNSSkip ApexNS = "Skip"
)

// HMACAuth has the shared secret in exactly one of secretRef and secret.
type HMACAuth struct {
	// secretRef names the shared secret.
	// +optional
	SecretRef *SecretKeyReference `json:"secretRef,omitempty" protobuf:"bytes,1,opt,name=secretRef"`
	// secret is the shared secret in plain text, for tests: every reader of the class sees it. Only kubizone up with
	// --allow-inline-secrets accepts it.
	// +optional
	Secret string `json:"secret,omitempty" protobuf:"bytes,2,opt,name=secret"`
	// algorithm of the HMAC. Defaults to SHA256.
	// +optional
	// +default=ref(HMACAlgorithmSHA256)
	Algorithm HMACAlgorithm `json:"algorithm,omitempty" protobuf:"bytes,3,opt,name=algorithm,casttype=HMACAlgorithm"`
}

// HMACAlgorithm is the hash function of an HMAC.
// +enum
type HMACAlgorithm string

const (
	HMACAlgorithmSHA256 HMACAlgorithm = "SHA256"
	HMACAlgorithmSHA512 HMACAlgorithm = "SHA512"
)

// WebhookTLS configures TLS authentication.
type WebhookTLS struct {
	// caBundle has PEM certificates of authorities for the server's certificate. Absent: the system's.
	// +optional
	CABundle []byte `json:"caBundle,omitempty" protobuf:"bytes,1,opt,name=caBundle"`
	// clientSecretRef names a Secret of type kubernetes.io/tls for the client.
	// +optional
	ClientSecretRef *SecretReference `json:"clientSecretRef,omitempty" protobuf:"bytes,2,opt,name=clientSecretRef"`
}

// DNSClassStatus is the observed state of a class.
type DNSClassStatus struct {
	// observedGeneration is the generation of this status.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// lastHealthCheck is the provider's last health check.
	// +optional
	LastHealthCheck *metav1.Time `json:"lastHealthCheck,omitempty" protobuf:"bytes,2,opt,name=lastHealthCheck"`
	// health is the result of this check, without effect on delivery.
	// +optional
	Health *ClassHealth `json:"health,omitempty" protobuf:"bytes,3,opt,name=health"`
	// conditions: Ready and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,4,rep,name=conditions"`
	// keyNames are the TSIG key names in use by transfer, even if the class is paused or its Secrets are missing.
	// Another class with a different key of the same name is not served, even if older.
	// +optional
	// +listType=atomic
	KeyNames []string `json:"keyNames,omitempty" protobuf:"bytes,5,rep,name=keyNames"`
	// target identifies where the class delivers, without the address. A Delivery with another target confirms nothing.
	// +optional
	Target string `json:"target,omitempty" protobuf:"bytes,6,opt,name=target"`
}

// HealthStatus is the result of a health check.
// +enum
type HealthStatus string

const (
	HealthStatusHealthy   HealthStatus = "Healthy"
	HealthStatusUnhealthy HealthStatus = "Unhealthy"
	HealthStatusUnknown   HealthStatus = "Unknown"
)

// ClassHealth is the result of a health check.
type ClassHealth struct {
	// status is the result.
	Status HealthStatus `json:"status" protobuf:"bytes,1,opt,name=status,casttype=HealthStatus"`
	// lastCheck is the time of the check.
	// +optional
	LastCheck *metav1.Time `json:"lastCheck,omitempty" protobuf:"bytes,2,opt,name=lastCheck"`
	// message explains the status.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DNSClassList lists DNSClasses.
type DNSClassList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the DNSClasses.
	Items []DNSClass `json:"items" protobuf:"bytes,2,rep,name=items"`
}
