// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// DNSClass is a way by which zones reach name servers. It has exactly one provider block. Cluster admins write
// classes; tenants name them in spec.dnsClassRefs of their zones.
type DNSClass struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata. The annotation kubi.zone/is-default-class: "true" makes it a default class, which
	// delivers every zone that names no class.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the class.
	Spec DNSClassSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state of the class. The controller writes it.
	// +optional
	Status DNSClassStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DNSClassSpec is the desired state of a class. It has exactly one provider block.
type DNSClassSpec struct {
	// defaultTTL is the ttl in seconds, 0 to 2147483647, that is written into a Zone of the class created without
	// one. A change of it changes no existing Zone. Absent: the default of Zones.
	// +optional
	// +k8s:validation:minimum=0
	// +k8s:validation:maximum=2147483647
	DefaultTTL *int32 `json:"defaultTTL,omitempty" protobuf:"varint,1,opt,name=defaultTTL"`

	// nameServers are written into a Zone of the class created without any. A change of them changes no existing
	// Zone. Only names relative to the zone may have addresses.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=100
	NameServers []NameServer `json:"nameServers,omitempty" protobuf:"bytes,9,rep,name=nameServers"`

	// namespaces selects the namespaces whose zones the class may deliver. Absent: all of them for a default class,
	// none for any other.
	// +optional
	Namespaces *NamespaceSelection `json:"namespaces,omitempty" protobuf:"bytes,2,opt,name=namespaces"`

	// views are the views whose zones the class delivers: "" is the default view, "*" is every one. Absent or empty:
	// the default view alone. A class delivers one zone of a name, that of the default view before any other.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=100
	Views []string `json:"views,omitempty" protobuf:"bytes,12,rep,name=views"`

	// allowLocalAddresses lets the class reach loopback, link-local and metadata addresses. Without it the class does
	// not connect to a host that resolves to one of them.
	// +optional
	AllowLocalAddresses bool `json:"allowLocalAddresses,omitempty" protobuf:"varint,3,opt,name=allowLocalAddresses"`

	// paused stops the delivery of every zone of the class. Delivered content stays.
	// +optional
	Paused bool `json:"paused,omitempty" protobuf:"varint,4,opt,name=paused"`

	// requestsPerSecond bounds the requests to the provider for all zones of the class together, 1 to 10000. Absent:
	// 50.
	// +optional
	// +k8s:validation:minimum=1
	// +k8s:validation:maximum=10000
	RequestsPerSecond *int32 `json:"requestsPerSecond,omitempty" protobuf:"varint,5,opt,name=requestsPerSecond"`

	// driftInterval is how often each zone is compared with what the provider has, and with transfer and bind9 how
	// often servers are asked whether they still have what they confirmed, whole seconds from 1m to 168h. Differences
	// are repaired. If this would take more than half of requestsPerSecond, zones are compared less often. Absent:
	// 1h, with transfer and bind9 1m.
	// +optional
	DriftInterval *metav1.Duration `json:"driftInterval,omitempty" protobuf:"bytes,13,opt,name=driftInterval"`

	// transfer hands zones to secondaries by the hidden primary: AXFR, IXFR, NOTIFY and a catalog zone (RFC 9432).
	// +optional
	Transfer *TransferProvider `json:"transfer,omitempty" protobuf:"bytes,6,opt,name=transfer"`

	// rfc2136 writes into an existing primary by dynamic update (RFC 2136).
	// +optional
	RFC2136 *RFC2136Provider `json:"rfc2136,omitempty" protobuf:"bytes,7,opt,name=rfc2136"`

	// webhook calls an HTTP service that writes into a DNS provider.
	// +optional
	Webhook *WebhookProvider `json:"webhook,omitempty" protobuf:"bytes,8,opt,name=webhook"`

	// bind9 hands zones to BIND 9 servers that are objects: the Bind9Instances of a Bind9Cluster, and those that labels
	// select. They follow the class's catalog zone.
	// +optional
	Bind9 *Bind9Provider `json:"bind9,omitempty" protobuf:"bytes,15,opt,name=bind9"`

	// allowRetain lets Zones of the class have deletionPolicy Retain: their data stays at the provider, also under
	// the next zone of that name. Absent: such a Zone is refused, and an existing one is withdrawn as if its policy
	// were Delete.
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
	// answers with its serial; one with signs, or with signer, when it has the data of that serial.
	// +optional
	// +listType=map
	// +listMapKey=address
	// +k8s:validation:maxItems=100
	Secondaries []Secondary `json:"secondaries,omitempty" protobuf:"bytes,1,rep,name=secondaries"`

	// alsoNotify are further addresses ("192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53") that get NOTIFY for new
	// serials. Ready does not wait for them.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=100
	AlsoNotify []string `json:"alsoNotify,omitempty" protobuf:"bytes,2,rep,name=alsoNotify"`

	// tsigSecretRef names the Secret with the TSIG key of the class: data name, algorithm (hmac-sha256, hmac-sha384
	// or hmac-sha512; absent: hmac-sha256) and secret (base64, as BIND writes it). Absent: the addresses of
	// secondaries alone may transfer.
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
	// catalog is Follow or Ignore: whether the server follows the class's catalog zone. A server that ignores it has
	// the zones that it is configured for, and gets no NOTIFY for the catalog. Defaults to Follow.
	// +optional
	// +default=ref(CatalogFollow)
	Catalog CatalogUse `json:"catalog,omitempty" protobuf:"bytes,3,opt,name=catalog,casttype=CatalogUse"`
	// signs says that the server signs the zones that it transfers (DNSSEC), so that its serials are its own: they are
	// not compared with those of the zone and never raise them. The server has a serial when its data equals that of
	// the serial, without the records of DNSSEC; this is found out by transfers from the server, which it has to allow
	// to its TSIG key, or without one to the controller's address.
	// +optional
	Signs bool `json:"signs,omitempty" protobuf:"varint,4,opt,name=signs"`
	// signer is the address of the secondary in this list, with signs, from which the server transfers its zones, as
	// that one writes it. The server has a serial when it answers with a serial of the signer that has it, and gets
	// NOTIFY for the catalog zone alone. Absent: the server transfers its zones from Kubizone.
	// +optional
	Signer string `json:"signer,omitempty" protobuf:"bytes,5,opt,name=signer"`
}

// CatalogUse is how a secondary uses the class's catalog zone.
// +enum
type CatalogUse string

const (
	CatalogFollow CatalogUse = "Follow"
	CatalogIgnore CatalogUse = "Ignore"
)

// Bind9Provider is a set of BIND 9 servers. A server is in it if clusterRef or an element of instancesFrom selects it,
// and if it takes the zones of every namespace that the class may deliver (spec.zoneNamespaces of the Bind9Instance, or
// of its Bind9Cluster). A zone is Ready when every one of them answers with its serial.
type Bind9Provider struct {
	// clusterRef selects the Bind9Instances of a Bind9Cluster.
	// +optional
	ClusterRef *Bind9ClusterReference `json:"clusterRef,omitempty" protobuf:"bytes,1,opt,name=clusterRef"`

	// instancesFrom select Bind9Instances of namespaces by their labels.
	// +optional
	// +listType=atomic
	// +k8s:validation:maxItems=16
	InstancesFrom []Bind9InstanceSelection `json:"instancesFrom,omitempty" protobuf:"bytes,2,rep,name=instancesFrom"`

	// catalogZone is the name of the class's catalog zone (RFC 9432), which the servers follow, absolute with a
	// trailing dot. The mode Catalog needs it, and the others have none.
	// +optional
	CatalogZone string `json:"catalogZone,omitempty" protobuf:"bytes,3,opt,name=catalogZone"`

	// mode is how zones reach the servers. It is immutable: a zone that came in one way does not leave in another.
	// +optional
	// +default=ref(Bind9ModeCatalog)
	Mode Bind9Mode `json:"mode,omitempty" protobuf:"bytes,4,opt,name=mode,casttype=Bind9Mode"`

	// primaries are the addresses of the hidden primary as the servers reach it, each an IP address with or without a
	// port (53): "192.0.2.1", "[2001:db8::1]:5353". The mode Transfer needs them, and the others have none.
	// +optional
	// +listType=set
	// +k8s:validation:maxItems=16
	Primaries []string `json:"primaries,omitempty" protobuf:"bytes,5,rep,name=primaries"`
}

// Bind9Mode is how zones reach BIND 9 servers.
// +enum
type Bind9Mode string

const (
	// Bind9ModeCatalog: the servers follow the catalog zone of the class.
	Bind9ModeCatalog Bind9Mode = "Catalog"
	// Bind9ModeTransfer: the agent of each server makes each zone a secondary of the hidden primary.
	Bind9ModeTransfer Bind9Mode = "Transfer"
	// Bind9ModeUpdate: the agent of each server with the role Primary makes each zone there, and dynamic updates
	// (RFC 2136) write its records. Servers with the role Secondary are secondaries of one of these.
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

// Bind9InstanceSelection selects Bind9Instances.
type Bind9InstanceSelection struct {
	// selector is compared with their labels. An empty one selects all instances of the namespaces.
	Selector metav1.LabelSelector `json:"selector" protobuf:"bytes,1,opt,name=selector"`
	// namespaces are the names of the namespaces of the instances. A server of a class gets all zones of the class, and
	// the authors of an instance choose its labels: an instance of another namespace is not in the class, whatever
	// labels it has.
	// +listType=set
	// +k8s:validation:minItems=1
	// +k8s:validation:maxItems=64
	Namespaces []string `json:"namespaces" protobuf:"bytes,2,rep,name=namespaces"`
}

// RFC2136Provider is a primary that takes dynamic updates.
type RFC2136Provider struct {
	// server is the host name or IP address, with or without a port (53), that takes the updates, over TCP.
	// +k8s:validation:minLength=1
	Server string `json:"server" protobuf:"bytes,1,opt,name=server"`
	// transferServer is the server from which the zone is transferred for comparison. Absent: server.
	// +optional
	TransferServer string `json:"transferServer,omitempty" protobuf:"bytes,2,opt,name=transferServer"`
	// tsigSecretRef names the Secret with the TSIG key: data name, algorithm (hmac-sha256, hmac-sha384 or
	// hmac-sha512; absent: hmac-sha256) and secret (base64, as BIND writes it).
	TSIGSecretRef SecretReference `json:"tsigSecretRef" protobuf:"bytes,3,opt,name=tsigSecretRef"`
	// foreignRecords is Keep or Replace: what happens to records of others at a name and type of the zone. Keep
	// leaves them, and the zone is not Ready, with the reason Conflict; Replace overwrites them. Records of others at
	// other names or of other types stay either way. Defaults to Keep.
	// +optional
	// +default=ref(ForeignRecordsKeep)
	ForeignRecords ForeignRecords `json:"foreignRecords,omitempty" protobuf:"bytes,4,opt,name=foreignRecords,casttype=ForeignRecords"`
}

// ForeignRecords is what happens to records of others at a name and type of the zone.
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
	// tls configures how server and client authenticate.
	// +optional
	TLS *WebhookTLS `json:"tls,omitempty" protobuf:"bytes,4,opt,name=tls"`
	// bearerTokenFrom names a token sent in the Authorization header; only with https.
	// +optional
	BearerTokenFrom *SecretKeyReference `json:"bearerTokenFrom,omitempty" protobuf:"bytes,5,opt,name=bearerTokenFrom"`
	// apexNS is Deliver or Skip: whether the NS RRset at the zone's apex is delivered. Skip never sends, removes or
	// compares it: for a provider that has its own there, or does not support NS. Defaults to Deliver.
	// +optional
	// +default=ref(ApexNSDeliver)
	ApexNS ApexNS `json:"apexNS,omitempty" protobuf:"bytes,6,opt,name=apexNS,casttype=ApexNS"`
}

// ApexNS is whether the NS RRset at the apex of zones is delivered.
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
	// secret is the shared secret itself, for tests: every user with read permission for classes sees it.
	// kubizone up accepts it with --allow-inline-secrets, and no other server.
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

// WebhookTLS configures how server and client authenticate.
type WebhookTLS struct {
	// caBundle are the PEM certificates of the authorities that the server's certificate is verified with. Absent:
	// those of the system.
	// +optional
	CABundle []byte `json:"caBundle,omitempty" protobuf:"bytes,1,opt,name=caBundle"`
	// clientSecretRef names a Secret of type kubernetes.io/tls with the client's certificate and key.
	// +optional
	ClientSecretRef *SecretReference `json:"clientSecretRef,omitempty" protobuf:"bytes,2,opt,name=clientSecretRef"`
}

// DNSClassStatus is the observed state of a class.
type DNSClassStatus struct {
	// observedGeneration is the metadata.generation that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// lastHealthCheck is the time of the last health check of the provider.
	// +optional
	LastHealthCheck *metav1.Time `json:"lastHealthCheck,omitempty" protobuf:"bytes,2,opt,name=lastHealthCheck"`
	// health is its result. It is information and delays no delivery.
	// +optional
	Health *ClassHealth `json:"health,omitempty" protobuf:"bytes,3,opt,name=health"`
	// conditions: Ready and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,4,rep,name=conditions"`
	// keyNames are the names of the TSIG keys of transfer that are in use. Another class with another key of one of
	// these names is not served, whichever was made first; a class keeps the names while it is paused and while its
	// Secrets are away.
	// +optional
	// +listType=atomic
	KeyNames []string `json:"keyNames,omitempty" protobuf:"bytes,5,rep,name=keyNames"`
	// target identifies the place to which the class delivers, without its address. A Delivery with another target
	// confirms nothing.
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

// ClassHealth is the answer to a health check.
type ClassHealth struct {
	// status is Healthy, Unhealthy or Unknown.
	Status HealthStatus `json:"status" protobuf:"bytes,1,opt,name=status,casttype=HealthStatus"`
	// lastCheck is the time of the check.
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
