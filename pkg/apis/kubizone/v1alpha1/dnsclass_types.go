// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DNSClass is one way by which zones reach name servers: exactly one of its provider blocks says which. Cluster
// admins write classes; tenants name them in spec.dnsClassRefs of their zones.
type DNSClass struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata. The annotation kubi.zone/is-default-class: "true" makes the class one that delivers
	// every zone which names none.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is what the class is meant to be.
	Spec DNSClassSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is how it is. The controller writes it.
	// +optional
	Status DNSClassStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DNSClassSpec is what a class is meant to be. Exactly one of its provider blocks is given.
type DNSClassSpec struct {
	// defaultTTL is the ttl in seconds of zones of the class that say none, 0 to 2147483647. It is written into a
	// Zone that is made without one: a change of it changes no Zone. Absent: the default of Zones.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	DefaultTTL *int32 `json:"defaultTTL,omitempty" protobuf:"varint,1,opt,name=defaultTTL"`

	// nameServers are those of zones of the class that say none. They are written into a Zone that is made without: a
	// change of them changes no Zone. Addresses belong to names relative to the zone alone.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	NameServers []NameServer `json:"nameServers,omitempty" protobuf:"bytes,9,rep,name=nameServers"`

	// namespaces say whose zones the class may deliver. Absent: every namespace's, in a default class; no namespace's
	// in any other.
	// +optional
	Namespaces *NamespaceSelection `json:"namespaces,omitempty" protobuf:"bytes,2,opt,name=namespaces"`

	// views are those whose zones the class delivers: "" is the default view, "*" is every one. Absent or empty: the
	// default view alone. A class has one zone of a name, that of the default view before any other.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=100
	Views []string `json:"views,omitempty" protobuf:"bytes,12,rep,name=views"`

	// allowLocalAddresses lets the class reach loopback, link-local and metadata addresses. Without it what resolves
	// to one of them is not connected to.
	// +optional
	AllowLocalAddresses bool `json:"allowLocalAddresses,omitempty" protobuf:"varint,3,opt,name=allowLocalAddresses"`

	// paused stops the delivery of every zone of the class. What is delivered stays as it is.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,4,opt,name=paused"`

	// requestsPerSecond bounds what the class is asked for, all its zones together, 1 to 10000. Absent: 50.
	// +optional
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=10000
	RequestsPerSecond *int32 `json:"requestsPerSecond,omitempty" protobuf:"varint,5,opt,name=requestsPerSecond"`

	// driftInterval is how often each zone is compared with what the provider has, and with transfer how often
	// secondaries are asked whether they still have what they confirmed, whole seconds from 1m to 168h. What differs
	// is mended. Where the class has so many zones that this would be more than half of requestsPerSecond it is less
	// often. Absent: 1h, with transfer 1m.
	// +optional
	DriftInterval *metav1.Duration `json:"driftInterval,omitempty" protobuf:"bytes,13,opt,name=driftInterval"`

	// transfer hands zones to secondaries by the hidden primary: AXFR, IXFR, NOTIFY and a catalog zone (RFC 9432).
	// +optional
	Transfer *TransferProvider `json:"transfer,omitempty" protobuf:"bytes,6,opt,name=transfer"`

	// rfc2136 writes into a primary of somebody else by dynamic update (RFC 2136).
	// +optional
	RFC2136 *RFC2136Provider `json:"rfc2136,omitempty" protobuf:"bytes,7,opt,name=rfc2136"`

	// webhook calls an HTTP service that writes into whatever it stands before.
	// +optional
	Webhook *WebhookProvider `json:"webhook,omitempty" protobuf:"bytes,8,opt,name=webhook"`

	// allowRetain lets Zones of the class have deletionPolicy Retain: what they leave stays at the provider, under
	// the next zone of that name too. Absent: such a Zone is refused, and one that stands already is withdrawn as if
	// its policy were Delete.
	// +optional
	AllowRetain bool `json:"allowRetain,omitempty" protobuf:"varint,11,opt,name=allowRetain"`

	// deletionProtection refuses the deletion of the class until it is set to false. Without it the deletion
	// withdraws every zone of the class from its servers.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty" protobuf:"varint,14,opt,name=deletionProtection"`
}

// NamespaceSelection selects namespaces by name, by label, or by either.
type NamespaceSelection struct {
	// names of namespaces.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=1000
	// +k8s:validation:items:maxLength=63
	// +k8s:validation:items:pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Names []string `json:"names,omitempty" protobuf:"bytes,1,rep,name=names"`
	// selector selects namespaces by their labels. Empty ({}) selects all.
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

// SecretKeyReference names one value in a Secret.
type SecretKeyReference struct {
	// name of the Secret.
	// +k8s:validation:minLength=1
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// namespace of the Secret.
	// +k8s:validation:minLength=1
	Namespace string `json:"namespace" protobuf:"bytes,2,opt,name=namespace"`
	// key of the value in the Secret's data.
	// +k8s:validation:minLength=1
	Key string `json:"key" protobuf:"bytes,3,opt,name=key"`
}

// TransferProvider is the hidden primary.
type TransferProvider struct {
	// secondaries are the name servers that serve the zones of the class. A zone is Ready when every one of them
	// answers with its serial.
	// +optional
	// +listType=map
	// +listMapKey=address
	// +k8s:validation:maxItems=100
	Secondaries []Secondary `json:"secondaries,omitempty" protobuf:"bytes,1,rep,name=secondaries"`

	// alsoNotify are further addresses ("192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53") that are told of new
	// serials and not waited for.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=100
	AlsoNotify []string `json:"alsoNotify,omitempty" protobuf:"bytes,2,rep,name=alsoNotify"`

	// tsigSecretRef names the Secret with the TSIG key of the class: data name, algorithm (hmac-sha256, hmac-sha384
	// or hmac-sha512; absent: hmac-sha256) and secret (base64, as BIND writes it). Absent: the addresses of
	// secondaries alone say who may transfer.
	// +optional
	TSIGSecretRef *SecretReference `json:"tsigSecretRef,omitempty" protobuf:"bytes,3,opt,name=tsigSecretRef"`

	// catalogZone is the name of the class's catalog zone (RFC 9432), absolute with a trailing dot. Absent: none is
	// served.
	// +optional
	CatalogZone string `json:"catalogZone,omitempty" protobuf:"bytes,4,opt,name=catalogZone"`
}

// Secondary is one name server that transfers zones.
type Secondary struct {
	// address of the server, an IP address with or without a port: "192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53".
	// +k8s:validation:minLength=1
	Address string `json:"address" protobuf:"bytes,1,opt,name=address"`
	// tsigSecretRef names the Secret with the server's own TSIG key. Absent: the key of the class.
	// +optional
	TSIGSecretRef *SecretReference `json:"tsigSecretRef,omitempty" protobuf:"bytes,2,opt,name=tsigSecretRef"`
	// catalog is Follow or Ignore: whether the server follows the class's catalog zone. One that ignores it has the
	// zones that it is configured for, and is not told of the catalog. Defaults to Follow.
	// +optional
	// +default=ref(CatalogFollow)
	Catalog CatalogUse `json:"catalog,omitempty" protobuf:"bytes,3,opt,name=catalog,casttype=CatalogUse"`
}

// CatalogUse says what a secondary makes of the class's catalog zone.
// +enum
type CatalogUse string

const (
	CatalogFollow CatalogUse = "Follow"
	CatalogIgnore CatalogUse = "Ignore"
)

// RFC2136Provider is a primary that takes dynamic updates.
type RFC2136Provider struct {
	// server is the host name or IP address, with or without a port (53), that takes the updates, over TCP.
	// +k8s:validation:minLength=1
	Server string `json:"server" protobuf:"bytes,1,opt,name=server"`
	// transferServer is where the zone is transferred from to be compared. Absent: server.
	// +optional
	TransferServer string `json:"transferServer,omitempty" protobuf:"bytes,2,opt,name=transferServer"`
	// tsigSecretRef names the Secret with the TSIG key: data name, algorithm (hmac-sha256, hmac-sha384 or
	// hmac-sha512; absent: hmac-sha256) and secret (base64, as BIND writes it).
	TSIGSecretRef SecretReference `json:"tsigSecretRef" protobuf:"bytes,3,opt,name=tsigSecretRef"`
	// foreignRecords is Keep or Replace: what becomes of records that others have in the place of the zone's, at the
	// same name and of the same type. Keep leaves them, and the zone's are not Ready, with the reason Conflict;
	// Replace has the zone's take their place. What others have at other names, or of other types, stays either way.
	// Defaults to Keep.
	// +optional
	// +default=ref(ForeignRecordsKeep)
	ForeignRecords ForeignRecords `json:"foreignRecords,omitempty" protobuf:"bytes,4,opt,name=foreignRecords,casttype=ForeignRecords"`
}

// ForeignRecords says what becomes of records of others in the place of the zone's.
// +enum
type ForeignRecords string

const (
	ForeignRecordsKeep    ForeignRecords = "Keep"
	ForeignRecordsReplace ForeignRecords = "Replace"
)

// WebhookProvider is an HTTP service that speaks the webhook protocol.
type WebhookProvider struct {
	// server is the base URL, http or https.
	// +k8s:validation:pattern="^[Hh][Tt][Tt][Pp][Ss]?://."
	// +k8s:validation:maxLength=2048
	Server string `json:"server" protobuf:"bytes,1,opt,name=server"`
	// timeoutSeconds bounds one request, 1 to 30. Defaults to 30.
	// +optional
	// +default=ref(DefaultWebhookTimeout)
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=30
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,2,opt,name=timeoutSeconds"`
	// hmacAuth signs requests.
	// +optional
	HMACAuth *HMACAuth `json:"hmacAuth,omitempty" protobuf:"bytes,3,opt,name=hmacAuth"`
	// tls says how the server proves itself and how we do.
	// +optional
	TLS *WebhookTLS `json:"tls,omitempty" protobuf:"bytes,4,opt,name=tls"`
	// bearerTokenFrom names a token sent in the Authorization header; only with https.
	// +optional
	BearerTokenFrom *SecretKeyReference `json:"bearerTokenFrom,omitempty" protobuf:"bytes,5,opt,name=bearerTokenFrom"`
	// apexNS is Deliver or Skip: what becomes of the NS RRset at the zone's apex. Skip never sends, removes or
	// compares it: for a provider that has its own there, or knows no NS. Defaults to Deliver.
	// +optional
	// +default=ref(ApexNSDeliver)
	ApexNS ApexNS `json:"apexNS,omitempty" protobuf:"bytes,6,opt,name=apexNS,casttype=ApexNS"`
}

// ApexNS says what becomes of the NS RRset at the apex of zones.
// +enum
type ApexNS string

const (
	ApexNSDeliver ApexNS = "Deliver"
	ApexNSSkip    ApexNS = "Skip"
)

// HMACAuth signs requests with a shared secret. Exactly one of secretRef and secret is given.
type HMACAuth struct {
	// secretRef names the shared secret.
	// +optional
	SecretRef *SecretKeyReference `json:"secretRef,omitempty" protobuf:"bytes,1,opt,name=secretRef"`
	// secret is the shared secret itself, which everybody reads who may read the class: for tests. The server takes
	// it with --allow-inline-secrets alone.
	// +optional
	Secret string `json:"secret,omitempty" protobuf:"bytes,2,opt,name=secret"`
	// algorithm is SHA256 or SHA512. Defaults to SHA256.
	// +optional
	// +default=ref(HMACAlgorithmSHA256)
	Algorithm HMACAlgorithm `json:"algorithm,omitempty" protobuf:"bytes,3,opt,name=algorithm,casttype=HMACAlgorithm"`
}

// HMACAlgorithm is the hash of an HMAC.
// +enum
type HMACAlgorithm string

const (
	HMACAlgorithmSHA256 HMACAlgorithm = "SHA256"
	HMACAlgorithmSHA512 HMACAlgorithm = "SHA512"
)

// WebhookTLS says how the ends of a connection prove themselves.
type WebhookTLS struct {
	// caBundle are the PEM certificates that the server's is checked with. Absent: the system's.
	// +optional
	CABundle []byte `json:"caBundle,omitempty" protobuf:"bytes,1,opt,name=caBundle"`
	// clientSecretRef names a Secret of type kubernetes.io/tls with the client's certificate and key.
	// +optional
	ClientSecretRef *SecretReference `json:"clientSecretRef,omitempty" protobuf:"bytes,2,opt,name=clientSecretRef"`
}

// DNSClassStatus is how a class is.
type DNSClassStatus struct {
	// observedGeneration is the metadata.generation that the rest of the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// lastHealthCheck is when the provider was last asked whether it works.
	// +optional
	LastHealthCheck *metav1.Time `json:"lastHealthCheck,omitempty" protobuf:"bytes,2,opt,name=lastHealthCheck"`
	// health is what it said. It informs and holds up nothing.
	// +optional
	Health *ClassHealth `json:"health,omitempty" protobuf:"bytes,3,opt,name=health"`
	// conditions: Ready and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,4,rep,name=conditions"`
}

// HealthStatus is what a health check found.
// +enum
type HealthStatus string

const (
	HealthStatusHealthy   HealthStatus = "Healthy"
	HealthStatusUnhealthy HealthStatus = "Unhealthy"
	HealthStatusUnknown   HealthStatus = "Unknown"
)

// ClassHealth is the answer to a health check.
type ClassHealth struct {
	// status is Healthy, Unhealthy or Unknown.
	Status HealthStatus `json:"status" protobuf:"bytes,1,opt,name=status,casttype=HealthStatus"`
	// lastCheck is when.
	// +optional
	LastCheck *metav1.Time `json:"lastCheck,omitempty" protobuf:"bytes,2,opt,name=lastCheck"`
	// message is for people.
	// +optional
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DNSClassList is a list of DNSClasses.
type DNSClassList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// items are the DNSClasses.
	Items []DNSClass `json:"items" protobuf:"bytes,2,rep,name=items"`
}
