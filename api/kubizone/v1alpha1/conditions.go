// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of Zones and Records (S6.12).
const (
	// ConditionAdopted of a Record: True while its data is part of a zone.
	ConditionAdopted = "Adopted"
	// ConditionReady of a Record: True when every class in force has confirmed status.serial or a later serial. Of a
	// Zone: True when Delegated, Servable and Settled are True and its serial is delivered everywhere. Of a Delegation:
	// same as Accepted.
	ConditionReady = "Ready"
	// ConditionStalled: True after two minutes of waiting for a person (S7.4), else absent.
	ConditionStalled = "Stalled"
	// ConditionDelegated of a Zone: True while its parent delegates it, or it is standalone and established.
	ConditionDelegated = "Delegated"
	// ConditionServable of a Zone: True when the zone has name servers, with addresses of those in the zone, or every
	// class has its own (S6.15).
	ConditionServable = "Servable"
	// ConditionSettled of a Zone: False while a change still cascades (S7.2), or a mass deletion is held (S7.5).
	ConditionSettled = "Settled"
)

// ConditionAccepted of a Delegation: True while its rule is in force.
const ConditionAccepted = "Accepted"

// ConditionDrifted of a Delivery: True while the provider's records differ from those confirmed, Unknown while they
// cannot be compared.
const ConditionDrifted = "Drifted"

// ReasonAccepted: the rule is in force. Others: ZoneNotFound for a missing or pending Zone, LimitExceeded for a
// namespace at its limit of rules (S4.4).
const ReasonAccepted = "Accepted"

// ReasonKeyNameTaken: the name of an UpdateKey's TSIG key belongs to another key or namespace, or is not the name at
// first use (S13.3).
const ReasonKeyNameTaken = "KeyNameTaken"

// Reasons of the condition Adopted.
const (
	ReasonAdopted = "Adopted"
	// ReasonNoEnclosingZone: no Zone of the view encloses the name (S2.3).
	ReasonNoEnclosingZone = "NoEnclosingZone"
	// ReasonBelowZoneCut: a zone below the Zone of zoneRef encloses the name (S2.1).
	ReasonBelowZoneCut = "BelowZoneCut"
	// ReasonNameHeld: another namespace holds the name; retried when free (S2.7, S4.8).
	ReasonNameHeld = "NameHeld"
	// ReasonCNAMEConflict: other data at the name excludes the Record; retried when gone (S2.7, S5.6).
	ReasonCNAMEConflict = "CNAMEConflict"
	// ReasonLimitExceeded: the name, RRset, zone or namespace is at a limit (S5.8).
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonNameTooLong: the absolute name exceeds 255 octets (S1.3).
	ReasonNameTooLong = "NameTooLong"
	// ReasonMoving: the Record has left its zone for another (S2.9).
	ReasonMoving = "Moving"
	// ReasonZoneTerminating: the zone is being deleted (S8.2).
	ReasonZoneTerminating = "ZoneTerminating"
	// ReasonTerminating: the Record or its namespace is being deleted (S2.6).
	ReasonTerminating = "Terminating"
	// ReasonValidationFailed: some DNS server would reject the data (S5.11).
	ReasonValidationFailed = "ValidationFailed"
	// ReasonInvalid: the rules for zone content refuse the Record.
	ReasonInvalid = "Invalid"
)

// Reasons shared by Adopted and Delegated.
const (
	// ReasonZoneNotFound: the Zone of zoneRef does not exist, or delegates nothing to the namespace (S2.3, S3.2).
	ReasonZoneNotFound = "ZoneNotFound"
	// ReasonDelegationWithdrawn: the zone no longer allows the object (S2.5, S3.5).
	ReasonDelegationWithdrawn = "DelegationWithdrawn"
)

// Reasons of the condition Delegated.
const (
	ReasonDelegated = "Delegated"
	// ReasonStandalone: no zone encloses the zone, which is established (S3.3).
	ReasonStandalone = "Standalone"
	// ReasonNotDelegated: a newer zone above does not list this zone (S3.4).
	ReasonNotDelegated = "NotDelegated"
	// ReasonParentRenamed: the Zone of spec.zoneRef was recreated with another name, and this zone keeps its own
	// (S1.6).
	ReasonParentRenamed = "ParentRenamed"
)

// Reasons of the condition Servable.
const (
	ReasonServable = "Servable"
	// ReasonClassNameServers: every class has its own name servers, for example by apexNS: Skip.
	ReasonClassNameServers = "ClassNameServers"
	ReasonNoNameServers    = "NoNameServers"
	// ReasonNameServerWithoutAddress: a host of an apex NS, in this zone, has no A or AAAA.
	ReasonNameServerWithoutAddress = "NameServerWithoutAddress"
	// ReasonNameServerIsAlias: a host of an apex NS, in this zone, has a CNAME (RFC 2181 §10.3).
	ReasonNameServerIsAlias = "NameServerIsAlias"
	// ReasonTooManyNameServers: the hosts in this zone, with the names above them, are too many to check (S6.15).
	ReasonTooManyNameServers = "TooManyNameServers"
)

// Reasons of Warnings that another write may resolve, sent as warn-agent. Reasons of conditions, such as NoNameServers,
// occur too. Clients can drop a Warning resolved by another of their writes.
const (
	// WarningNoRules: a new Zone has neither rules nor Delegations.
	WarningNoRules = "NoRules"
	// WarningUnnamedGlue: an address is below NS records that do not name its host; NS records elsewhere may.
	WarningUnnamedGlue = "UnnamedGlue"
	// WarningUnclaimedHost: records name a host not claimed by any namespace.
	WarningUnclaimedHost = "UnclaimedHost"
	// WarningAbsentHost: a Record names a host of its zone that has no records yet.
	WarningAbsentHost = "AbsentHost"
	// WarningTakesAway: the write takes names or records from others, or withdraws zones from servers.
	WarningTakesAway = "TakesAway"
)

// Reasons of the condition Settled.
const (
	ReasonSettled = "Settled"
	// ReasonCascading: Records or zones are being adopted or released.
	ReasonCascading = "Cascading"
	// ReasonMassDeletion: the zone's own namespace has removed so much that delivery stops (S7.5).
	ReasonMassDeletion = "MassDeletion"
)

// Reasons of the condition Ready.
const (
	// ReasonPending: not yet confirmed by every class in force (S6.13), or not yet judged by a controller (S7.11).
	ReasonPending = "Pending"
	// ReasonPaused, instead of Pending: the annotation kubi.zone/paused of the Zone stops delivery. ReasonClassPaused:
	// spec.paused of a class does. ReasonNoController: no controller works. ReasonNoPrimary: servers of a class
	// transfer from primaries, and none works. ReasonServerWentBack: a server answers an earlier serial than the class
	// has confirmed. ReasonAwaitsClass: a class does not confirm, without a known fault.
	ReasonPaused         = "Paused"
	ReasonClassPaused    = "ClassPaused"
	ReasonNoController   = "NoController"
	ReasonNoPrimary      = "NoPrimary"
	ReasonServerWentBack = "ServerWentBack"
	ReasonAwaitsClass    = "AwaitsClass"
	// ReasonNoClass: no class is in force, so the zone is withdrawn from former classes (S6.13).
	ReasonNoClass   = "NoClass"
	ReasonDelivered = "Delivered"
	// ReasonAllInstancesConfigured: every Bind9Instance has confirmed the serial.
	ReasonAllInstancesConfigured = "AllInstancesConfigured"
	ReasonNotAdopted             = "NotAdopted"
	ReasonNotDelegatedOrServable = "NotDelegatedOrServable"
	// ReasonSerialBehind: a secondary serves a serial ahead of the zone's (S6.11).
	ReasonSerialBehind = "SerialBehind"
	// ReasonContentDiffers: a secondary has the zone's serial with other data (S6.11).
	ReasonContentDiffers = "ContentDiffers"
	// ReasonFrozen: the zone's stored content does not match its hash; the last proven content is served, or none.
	ReasonFrozen = "Frozen"
)

// LabelParentZone of an adopted object is `<zone>.<namespace>`, shortened with a hash above 63 characters. Setting the
// label has no effect (S6.12).
const LabelParentZone = "kubi.zone/parent-zone"

// LabelDynamic is "true" on Records made by updates (RFC 2136). AnnotationUpdateKey names the UpdateKey of the last
// update, AnnotationUpdateID the id of its message.
const (
	LabelDynamic        = "kubi.zone/dynamic"
	AnnotationUpdateKey = "kubi.zone/update-key"
	AnnotationUpdateID  = "kubi.zone/update-id"
)

// LabelExternalDNS is the owner on Records made for external-dns. LabelCluster names their cluster if it is another,
// and marks namespaces that cluster may use. AnnotationExternalDNSResource is KIND/NAMESPACE/NAME of the Record's
// source, AnnotationExternalDNSTexts the content of external-dns's TXT registry.
const (
	LabelExternalDNS              = "kubi.zone/external-dns"
	LabelCluster                  = "kubi.zone/cluster"
	AnnotationExternalDNSResource = "kubi.zone/external-dns-resource"
	AnnotationExternalDNSTexts    = "kubi.zone/external-dns-texts"
)

// FinalizerDelivery keeps an object until its data at providers is withdrawn or retained (S8.3).
const FinalizerDelivery = "kubi.zone/delivery"

// AnnotationAcceptSerial of a Zone accepts a jump of its serial by more than 2²⁴ to a secondary's (S6.11).
const AnnotationAcceptSerial = "kubi.zone/accept-serial"

// AnnotationPublishDeletions of a Zone names a serial of the zone. Changing the value delivers deletions by the zone's
// own namespace since that serial, and during the next ten minutes (S7.9).
const AnnotationPublishDeletions = "kubi.zone/publish-deletions"

// AnnotationReleaseNow of a Zone or a Delegation names at most 16 namespaces, as "team-a,team-b". A newly named
// namespace loses at once the Records and zones that the rules no longer allow (S3.6).
const AnnotationReleaseNow = "kubi.zone/release-now"

// AnnotationDelete of a Zone, with the Zone's uid, allows deletion despite Records or child zones of other namespaces
// (S8.1).
const AnnotationDelete = "kubi.zone/delete"

// AnnotationOnConflict of a Record, "wait": if data at its name refuses the creation, the Record waits for the data to
// go (S2.14).
const AnnotationOnConflict = "kubi.zone/on-conflict"

const OnConflictWait = "wait"

// AnnotationDefaultClass of a DNSClass, "true": the class delivers every zone without dnsClassRefs.
const AnnotationDefaultClass = "kubi.zone/is-default-class"

// AnnotationBudget of a Namespace overrides the server's flags for its budget, with any of
// "stored=1Gi,written=4Mi,clusters=50"; "unlimited" is a value of each (S9.3).
const AnnotationBudget = "kubi.zone/budget"

// AnnotationPaused of a Zone, "true": nothing of the zone is delivered.
const AnnotationPaused = "kubi.zone/paused"

// AnnotationVerifyRequestedAt of a Zone requests, with each new value, an immediate comparison with its providers and a
// retry of failures.
const AnnotationVerifyRequestedAt = "kubi.zone/verify-requested-at"
