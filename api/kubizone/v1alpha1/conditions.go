// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of Zones and Records (S6.12). docs/reasons.md explains the reasons.
const (
	// ConditionAdopted of a Record: True while its data is part of a zone.
	ConditionAdopted = "Adopted"
	// ConditionReady of a Record: True when every class in force has confirmed status.serial or a later serial. Of a
	// Zone: True when Delegated, Servable and Settled are True and its serial is delivered everywhere. Of a Delegation:
	// as Accepted.
	ConditionReady = "Ready"
	// ConditionStalled: True after two minutes of waiting for a person (S7.4), else absent.
	ConditionStalled = "Stalled"
	// ConditionDelegated of a Zone: True while its parent delegates it, or it is standalone and established.
	ConditionDelegated = "Delegated"
	// ConditionServable of a Zone: True when the zone has name servers, with addresses of those in the zone, or every
	// class has its own (S6.15).
	ConditionServable = "Servable"
	// ConditionSettled of a Zone: False while a change cascades (S7.2), or a mass deletion is held (S7.5).
	ConditionSettled = "Settled"
)

// ConditionAccepted of a Delegation: True while its rule is in force.
const ConditionAccepted = "Accepted"

// ConditionDrifted of a Delivery: True while the provider's records differ from those confirmed, Unknown without a
// comparison.
const ConditionDrifted = "Drifted"

// ReasonAccepted: the rule is in force. Other reasons are ZoneNotFound and LimitExceeded (S4.4).
const ReasonAccepted = "Accepted"

// ReasonKeyNameTaken: another key or namespace has the TSIG key's name, or the name has changed (S13.3).
const ReasonKeyNameTaken = "KeyNameTaken"

// Reasons of the condition Adopted.
const (
	ReasonAdopted = "Adopted"
	// ReasonNoEnclosingZone: no Zone of the view encloses the name (S2.3).
	ReasonNoEnclosingZone = "NoEnclosingZone"
	// ReasonBelowZoneCut: a zone below that of zoneRef encloses the name (S2.1).
	ReasonBelowZoneCut = "BelowZoneCut"
	// ReasonNameHeld: another namespace holds the name (S4.8), retried when free (S2.7).
	ReasonNameHeld = "NameHeld"
	// ReasonCNAMEConflict: other data excludes the Record (S5.6), retried when gone (S2.7).
	ReasonCNAMEConflict = "CNAMEConflict"
	// ReasonLimitExceeded: name, RRset, zone or namespace is at a limit (S5.8).
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonNameTooLong: the name exceeds 255 octets (S1.3).
	ReasonNameTooLong = "NameTooLong"
	// ReasonMoving: the Record leaves its zone for another (S2.9).
	ReasonMoving = "Moving"
	// ReasonZoneTerminating: the zone is being deleted (S8.2).
	ReasonZoneTerminating = "ZoneTerminating"
	// ReasonTerminating: the Record or its namespace is being deleted (S2.6).
	ReasonTerminating = "Terminating"
	// ReasonExpired: spec.expiresAt of the Record has passed (S15.1).
	ReasonExpired = "Expired"
	// ReasonValidationFailed: some DNS server would reject the data (S5.11).
	ReasonValidationFailed = "ValidationFailed"
	// ReasonInvalid: zone content excludes the Record.
	ReasonInvalid = "Invalid"
)

// Reasons shared by Adopted and Delegated.
const (
	// ReasonZoneNotFound: no Zone of zoneRef, or no rule for the namespace (S2.3, S3.2).
	ReasonZoneNotFound = "ZoneNotFound"
	// ReasonDelegationWithdrawn: the zone no longer allows the object (S2.5, S3.5).
	ReasonDelegationWithdrawn = "DelegationWithdrawn"
)

// Reasons of the condition Delegated.
const (
	ReasonDelegated = "Delegated"
	// ReasonStandalone: no zone encloses the established zone (S3.3).
	ReasonStandalone = "Standalone"
	// ReasonNotDelegated: a newer zone above does not list this zone (S3.4).
	ReasonNotDelegated = "NotDelegated"
	// ReasonParentRenamed: the Zone of zoneRef has another name now, and this zone keeps its own (S1.6).
	ReasonParentRenamed = "ParentRenamed"
)

// Reasons of the condition Servable.
const (
	ReasonServable = "Servable"
	// ReasonClassNameServers: every class has its own name servers, as by apexNS: Skip.
	ReasonClassNameServers = "ClassNameServers"
	ReasonNoNameServers    = "NoNameServers"
	// ReasonNameServerWithoutAddress: an apex NS host in this zone has no A or AAAA.
	ReasonNameServerWithoutAddress = "NameServerWithoutAddress"
	// ReasonNameServerIsAlias: an apex NS host in this zone has a CNAME (RFC 2181 §10.3).
	ReasonNameServerIsAlias = "NameServerIsAlias"
	// ReasonTooManyNameServers: the hosts in this zone, with the names above them, are too many to check (S6.15).
	ReasonTooManyNameServers = "TooManyNameServers"
)

// Reasons of Warnings, sent as warn-agent. Reasons of conditions, such as NoNameServers, occur too. A client can drop a
// Warning that another of its writes resolves.
const (
	// WarningNoRules: a new Zone has neither rules nor Delegations.
	WarningNoRules = "NoRules"
	// WarningNoZones: no zone has a view of a DNSClass.
	WarningNoZones = "NoZones"
	// WarningUnnamedGlue: no NS record above an address names its host; NS records elsewhere may.
	WarningUnnamedGlue = "UnnamedGlue"
	// WarningUnclaimedHost: records name a host that no namespace has claimed.
	WarningUnclaimedHost = "UnclaimedHost"
	// WarningAbsentHost: a Record names a host of its zone without records.
	WarningAbsentHost = "AbsentHost"
	// WarningTakesAway: the write takes names or records from others, or withdraws zones from servers.
	WarningTakesAway = "TakesAway"
)

// Reasons of the condition Settled.
const (
	ReasonSettled = "Settled"
	// ReasonCascading: Records or zones are being adopted or released.
	ReasonCascading = "Cascading"
	// ReasonMassDeletion: the zone's own namespace removed so much that delivery stops (S7.5).
	ReasonMassDeletion = "MassDeletion"
)

// Reasons of the condition Ready.
const (
	// ReasonPending: a class in force has not confirmed (S6.13), or no controller has judged yet (S7.11).
	ReasonPending = "Pending"
	// ReasonPaused, instead of Pending: the Zone's annotation kubi.zone/paused stops delivery. ReasonClassPaused: a
	// class's spec.paused does. ReasonNoController: no controller works. ReasonNoPrimary: servers of a class transfer
	// from primaries, and none works. ReasonServerWentBack: a server answers an earlier serial than its class has
	// confirmed. ReasonNotifyFailing: a server that does not confirm NOTIFY delays the zone. ReasonTLSFailing: a server
	// fails to transfer over TLS. ReasonAwaitsClass: a class does not confirm, without a known fault.
	ReasonPaused         = "Paused"
	ReasonClassPaused    = "ClassPaused"
	ReasonNoController   = "NoController"
	ReasonNoPrimary      = "NoPrimary"
	ReasonServerWentBack = "ServerWentBack"
	ReasonNotifyFailing  = "NotifyFailing"
	ReasonTLSFailing     = "TLSFailing"
	ReasonAwaitsClass    = "AwaitsClass"
	// ReasonNoClass: no class is in force, so former classes withdraw the zone (S6.13).
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
	// ReasonFrozen: stored content does not match its hash; the last proven content is served, or none.
	ReasonFrozen = "Frozen"
)

// LabelParentZone of an adopted object is `<zone>.<namespace>`, shortened with a hash above 63 characters. Setting it
// has no effect (S6.12).
const LabelParentZone = "kubi.zone/parent-zone"

// LabelDynamic is "true" on Records made by updates (RFC 2136). AnnotationUpdateKey names the last update's UpdateKey,
// AnnotationUpdateID has its message's id.
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

// FinalizerDelivery keeps an object until providers have withdrawn or retained its data (S8.3).
const FinalizerDelivery = "kubi.zone/delivery"

// AnnotationAcceptSerial of a Zone accepts a jump of its serial by more than 2²⁴ to a secondary's (S6.11).
const AnnotationAcceptSerial = "kubi.zone/accept-serial"

// AnnotationPublishDeletions of a Zone names a serial of the zone. A new value delivers deletions by the zone's own
// namespace since that serial, and during the next ten minutes (S7.9).
const AnnotationPublishDeletions = "kubi.zone/publish-deletions"

// AnnotationReleaseNow of a Zone or a Delegation names at most 16 namespaces, as "team-a,team-b". A newly named
// namespace loses at once the Records and zones that the rules no longer allow (S3.6).
const AnnotationReleaseNow = "kubi.zone/release-now"

// AnnotationDelete of a Zone, with its uid, allows deletion despite Records or child zones of other namespaces (S8.1).
const AnnotationDelete = "kubi.zone/delete"

// AnnotationOnConflict of a Record, "wait": the Record waits until data that excludes it at its name is gone (S2.14).
const AnnotationOnConflict = "kubi.zone/on-conflict"

const OnConflictWait = "wait"

// AnnotationDefaultClass of a DNSClass, "true": the class delivers every zone without dnsClassRefs.
const AnnotationDefaultClass = "kubi.zone/is-default-class"

// AnnotationBudget of a Namespace overrides the server's flags for its budget, with any of
// "stored=1Gi,written=4Mi,clusters=50"; each may be "unlimited" (S9.3).
const AnnotationBudget = "kubi.zone/budget"

// AnnotationPaused of a Zone, "true", stops its delivery.
const AnnotationPaused = "kubi.zone/paused"

// AnnotationVerifyRequestedAt of a Zone: each new value requests an immediate comparison with its providers and a retry
// of failures.
const AnnotationVerifyRequestedAt = "kubi.zone/verify-requested-at"
