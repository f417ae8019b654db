// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of Zones and Records (S6.13).
const (
	// ConditionAdopted of a Record: True while its data is part of a zone.
	ConditionAdopted = "Adopted"
	// ConditionReady of a Record: True when every class in force has confirmed a serial at or after status.serial.
	// Of a Zone: True when Delegated, Servable and Settled are True and its serial is delivered everywhere. Of a
	// Delegation: as Accepted.
	ConditionReady = "Ready"
	// ConditionStalled of a Zone, a Record or a DNSClass: True if it has waited for a person for two minutes (S7.4),
	// else absent.
	ConditionStalled = "Stalled"
	// ConditionDelegated of a Zone: True while its parent delegates it, or while it is standalone and established.
	ConditionDelegated = "Delegated"
	// ConditionServable of a Zone: True when name servers accept its content: NS at the apex, addresses for those in
	// the zone; or when every class has name servers of its own.
	ConditionServable = "Servable"
	// ConditionSettled of a Zone: False while the consequences of a change of it are still being carried out (S7.2),
	// and while a mass deletion is not let through (S7.5).
	ConditionSettled = "Settled"
)

// ConditionAccepted of a Delegation: True while its rule is in force in the Zone that it names.
const ConditionAccepted = "Accepted"

// ConditionDrifted of a Delivery: True while the provider's records differ from those that it had confirmed, Unknown
// while they cannot be compared.
const ConditionDrifted = "Drifted"

// ReasonAccepted of the condition Accepted: the rule is in force. The others are ZoneNotFound, if the Zone does not
// exist or is pending, and LimitExceeded, if a namespace would have more rules than the limit (S4.4).
const ReasonAccepted = "Accepted"

// ReasonKeyNameTaken of the condition Ready of an UpdateKey: the name of its TSIG key is that of another key, of
// another namespace, or not that of its first use (S13.3).
const ReasonKeyNameTaken = "KeyNameTaken"

// Reasons of the condition Adopted.
const (
	// ReasonAdopted: the zone's delegations allow the Record and its data is part of the zone.
	ReasonAdopted = "Adopted"
	// ReasonNoEnclosingZone: no Zone of the Record's view encloses its name (S2.3).
	ReasonNoEnclosingZone = "NoEnclosingZone"
	// ReasonBelowZoneCut: the zoneRef names a zone, but a longer zone encloses the name (S2.1).
	ReasonBelowZoneCut = "BelowZoneCut"
	// ReasonNameHeld: another namespace holds the name; tried again when it is free (S2.7, S4.8).
	ReasonNameHeld = "NameHeld"
	// ReasonCNAMEConflict: other data at the name excludes this Record, or this Record would exclude it; tried again
	// when it is gone (S2.7, S5.6).
	ReasonCNAMEConflict = "CNAMEConflict"
	// ReasonLimitExceeded: a limit of the name, the RRset, the zone or the namespace is reached (S5.8).
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonNameTooLong: the name would have more than 255 octets (S1.3).
	ReasonNameTooLong = "NameTooLong"
	// ReasonMoving: the Record has left one zone and its adoption by the next is under way (S2.9).
	ReasonMoving = "Moving"
	// ReasonZoneTerminating: the zone is being deleted and adopts nothing new (S8.2).
	ReasonZoneTerminating = "ZoneTerminating"
	// ReasonTerminating: the Record or its namespace is being deleted, so no zone takes it in (S2.6).
	ReasonTerminating = "Terminating"
	// ReasonValidationFailed: some DNS server would refuse the zone for the data (S5.11); write it anew.
	ReasonValidationFailed = "ValidationFailed"
	// ReasonInvalid: the rules of the zone's content refuse the Record; the message says which.
	ReasonInvalid = "Invalid"
)

// Reasons shared by Adopted and Delegated.
const (
	// ReasonZoneNotFound: the Zone named by zoneRef does not exist, or delegates nothing to the namespace of the
	// object (S2.3, S3.1).
	ReasonZoneNotFound = "ZoneNotFound"
	// ReasonDelegationWithdrawn: the zone once allowed this object and no longer does (S2.5, S3.5).
	ReasonDelegationWithdrawn = "DelegationWithdrawn"
)

// Reasons of the condition Delegated.
const (
	// ReasonDelegated: the parent delegates this zone and lists its name servers.
	ReasonDelegated = "Delegated"
	// ReasonStandalone: no zone encloses this one; a user with the permission established it (S3.3).
	ReasonStandalone = "Standalone"
	// ReasonNotDelegated: a zone that appeared above does not list this one (S3.4).
	ReasonNotDelegated = "NotDelegated"
	// ReasonParentRenamed: the Zone of spec.zoneRef was made anew with another name, and this one keeps its name; the
	// message says how to take it along (S1.6).
	ReasonParentRenamed = "ParentRenamed"
)

// Reasons of the condition Servable.
const (
	// ReasonServable: name servers load the zone.
	ReasonServable = "Servable"
	// ReasonClassNameServers: every class has name servers of its own for the zone, such as one with apexNS: Skip.
	ReasonClassNameServers = "ClassNameServers"
	// ReasonNoNameServers: there is no NS at the apex.
	ReasonNoNameServers = "NoNameServers"
	// ReasonNameServerWithoutAddress: an NS at the apex names a host of this zone that has no A or AAAA.
	ReasonNameServerWithoutAddress = "NameServerWithoutAddress"
	// ReasonNameServerIsAlias: an NS at the apex names a host of this zone that is a CNAME (RFC 2181 §10.3).
	ReasonNameServerIsAlias = "NameServerIsAlias"
	// ReasonTooManyNameServers: the name servers in this zone have more names than a decision can look at.
	ReasonTooManyNameServers = "TooManyNameServers"
)

// Reasons of Warnings. The warn-agent of a Warning that another write may answer is its reason: one of these, or that
// of a condition, as NoNameServers. A client that writes many objects can leave out those that its other writes answer.
const (
	// WarningNoRules: a new Zone has no rules, and no Delegation gives it any yet.
	WarningNoRules = "NoRules"
	// WarningUnnamedGlue: an address lies below NS records that do not name its host. NS records elsewhere may.
	WarningUnnamedGlue = "UnnamedGlue"
	// WarningUnclaimedHost: records name a host that no namespace has yet.
	WarningUnclaimedHost = "UnclaimedHost"
	// WarningAbsentHost: a Record names a host of its zone at which nothing stands yet.
	WarningAbsentHost = "AbsentHost"
	// WarningTakesAway: the write takes something away from others, or withdraws it from servers.
	WarningTakesAway = "TakesAway"
)

// Reasons of the condition Settled.
const (
	// ReasonSettled: every consequence of the changes so far is carried out.
	ReasonSettled = "Settled"
	// ReasonCascading: Records or zones are being adopted or released.
	ReasonCascading = "Cascading"
	// ReasonMassDeletion: the zone's own namespace has removed so much that later content is not delivered (S7.5).
	ReasonMassDeletion = "MassDeletion"
)

// Reasons of the condition Ready.
const (
	// ReasonPending: written into the zone, not yet confirmed by every class in force (S6.13). Of another object: no
	// controller has judged it yet (S7.11).
	ReasonPending = "Pending"
	// ReasonNoClass: no class is in force for the zone, so it is not delivered, and was withdrawn from classes that
	// had it (S6.13).
	ReasonNoClass = "NoClass"
	// ReasonDelivered: every class in force has confirmed the serial.
	ReasonDelivered = "Delivered"
	// ReasonAllInstancesConfigured: of a Delivery, every Bind9Instance that the class selects has confirmed the serial.
	ReasonAllInstancesConfigured = "AllInstancesConfigured"
	// ReasonNotAdopted: the Record is in no zone, so there is nothing to deliver.
	ReasonNotAdopted = "NotAdopted"
	// ReasonNotDelegatedOrServable: the zone is held back by another condition, which says more.
	ReasonNotDelegatedOrServable = "NotDelegatedOrServable"
	// ReasonSerialBehind: a secondary serves a serial ahead of the zone's (S6.11).
	ReasonSerialBehind = "SerialBehind"
	// ReasonFrozen: the stored content of the zone does not match its hash, so the last proven content is served, or
	// none.
	ReasonFrozen = "Frozen"
)

// LabelParentZone is set on every adopted object to `<zone>.<namespace>`, cut with a short hash over 63 characters.
// It is output: setting it associates nothing (S6.12).
const LabelParentZone = "kubi.zone/parent-zone"

// LabelDynamic is "true" on Records that updates (RFC 2136) made. AnnotationUpdateKey names the UpdateKey of the last
// update, and AnnotationUpdateID is the id of its message.
const (
	LabelDynamic        = "kubi.zone/dynamic"
	AnnotationUpdateKey = "kubi.zone/update-key"
	AnnotationUpdateID  = "kubi.zone/update-id"
)

// LabelExternalDNS is on Records that endpoints of external-dns became: the owner. LabelCluster names the cluster that
// they come from, where that is another one, and is on namespaces that such a cluster may use.
// AnnotationExternalDNSResource is KIND/NAMESPACE/NAME of the object that a Record comes from,
// AnnotationExternalDNSTexts what the TXT registry of external-dns has written about it.
const (
	LabelExternalDNS              = "kubi.zone/external-dns"
	LabelCluster                  = "kubi.zone/cluster"
	AnnotationExternalDNSResource = "kubi.zone/external-dns-resource"
	AnnotationExternalDNSTexts    = "kubi.zone/external-dns-texts"
)

// FinalizerDelivery keeps an object until its data at providers is withdrawn or retained (S8.3).
const FinalizerDelivery = "kubi.zone/delivery"

// AnnotationAcceptSerial of a Zone accepts a jump of its serial over 2²⁴ to the value of a secondary (S6.11).
const AnnotationAcceptSerial = "kubi.zone/accept-serial"

// AnnotationPublishDeletions of a Zone names a serial that it had. When it changes, what the zone's own namespace
// removed since that serial, and removes within ten minutes, is delivered (S7.5).
const AnnotationPublishDeletions = "kubi.zone/publish-deletions"

// AnnotationReleaseNow of a Zone or a Delegation names at most 16 namespaces, as "team-a,team-b". What the rules of the
// zone allow these no more is released when the annotation begins to name them, before the withdrawalGracePeriod is
// over (S3.6).
const AnnotationReleaseNow = "kubi.zone/release-now"

// AnnotationDelete of a Zone has the uid of that Zone as its value. Only with it a Zone is deleted that has Records or
// child zones of other namespaces (S8.1).
const AnnotationDelete = "kubi.zone/delete"

// AnnotationOnConflict of a Record, "wait": where the data at its name would refuse its creation, it is stored and
// waits until that goes (S2.14). For tools that make new objects before they delete old ones.
const AnnotationOnConflict = "kubi.zone/on-conflict"

// OnConflictWait is the only value of AnnotationOnConflict.
const OnConflictWait = "wait"

// AnnotationDefaultClass of a DNSClass, "true": it delivers every zone that names no class.
const AnnotationDefaultClass = "kubi.zone/is-default-class"

// AnnotationBudget of a Namespace says what its Records and Zones may take instead of what the server's flags say:
// "stored=1Gi,written=4Mi", either or both, each may be "unlimited" (S9).
const AnnotationBudget = "kubi.zone/budget"

// AnnotationPaused of a Zone, "true": nothing of it is delivered until it is gone.
const AnnotationPaused = "kubi.zone/paused"

// AnnotationVerifyRequestedAt of a Zone asks for it to be compared with what its providers have, and for what failed
// to be tried again, now. Any other value than before is another request; status.lastVerifyRequest of its Deliveries
// is the one that was carried out.
const AnnotationVerifyRequestedAt = "kubi.zone/verify-requested-at"
