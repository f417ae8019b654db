// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
)

// faults are texts for tenants, by reason, of a class at fault. Errors of provider and client may have addresses of the
// operators' network. Only a failed DNSClass's status and the controller's log have them.
var faults = map[delivery.Reason]string{
	delivery.ReasonServerUnreachable:    "its server does not answer",
	delivery.ReasonServerError:          "its server failed",
	delivery.ReasonAuthenticationFailed: "its server refuses the controller's key or credentials",
	delivery.ReasonSecretNotFound:       "a Secret that it needs is missing",
	delivery.ReasonInvalidConfiguration: "it cannot deliver the zone as it is configured",
	delivery.ReasonZoneNotFound:         "its server does not have the zone",
	delivery.ReasonRateLimited:          "its server limits requests, and the zone is retried",
	delivery.ReasonQuotaExceeded:        "the quota at its provider is used up, and fewer records may fit",
	delivery.ReasonServerWentBack:       "a server of it answers an earlier serial than it had confirmed: it went back",
	delivery.ReasonSerialBehind:         "a server of it has a later serial than the zone",
	delivery.ReasonContentDiffers:       "a server of it has other data than the zone at the same serial",
	delivery.ReasonInternalError:        "its provider failed at this zone",
}

// PublicFault returns a class's failure for Zones, Records and Events, which tenants read. It has a message about the
// tenants' data in full, but only kind and next step of a failure of the class.
func PublicFault(class string, reason delivery.Reason, message string) string {
	return class + ": " + PublicMessage(class, reason, message)
}

// PublicMessage is PublicFault without the class's name, for a Delivery.
func PublicMessage(of string, reason delivery.Reason, message string) string {
	fault, ofClass := faults[reason]
	// The failure is about the tenant's own data, for example a Conflict at www: the message helps, and betrays
	// nothing.
	if !ofClass {
		return message
	}
	switch reason {
	// Each of the three concerns a single server. The platform finds the server in the Delivery's rows.
	case delivery.ReasonServerWentBack, delivery.ReasonSerialBehind, delivery.ReasonContentDiffers:
		return fault + "; " + RolePlatform + " " + class.StepFindServer
	}
	return fmt.Sprintf("%s%skubectl describe %s, or else in the controller's log", fault, WhereCause,
		strings.ToLower(Describe(of)))
}

// RolePlatform is the role that mends classes and processes, at the start of a next step.
const RolePlatform = "the platform"

const WhereCause = "; " + RolePlatform + " finds the cause with "

// KindOfFault is PublicFault for a Record, without data of other Records.
func KindOfFault(class string, reason delivery.Reason) string {
	switch reason {
	// The message of the Zone may name RRsets of other tenants, so a Record only points there.
	case delivery.ReasonConflict:
		return class + ": another zone has the name there; the status of the Zone says more"
	case delivery.ReasonValidationFailed:
		return class + ": it refuses the change that the Record is part of; the status of the Zone says more"
	}
	if _, ofClass := faults[reason]; !ofClass {
		return class + ": it does not deliver the zone; the status of the Zone says more"
	}
	return PublicFault(class, reason, "")
}

// Fingerprint returns a hash of a class's target, which hides the address from tenants. A hash stays the same.
func Fingerprint(target string) string {
	kind, rest, _ := strings.Cut(target, " ")
	if target == "" || strings.HasPrefix(rest, fingerprinted) {
		return target
	}
	return fmt.Sprintf("%s %s%x", kind, fingerprinted, sha256.Sum256([]byte(target)))
}

const fingerprinted = "sha256:"

const (
	// maxMessage is the limit of validation, and of an Event's note.
	maxMessage = 1024
	// MaxZoneMessage bounds a message in a Zone, to keep the Zone small.
	MaxZoneMessage = 300
)

func ShortenMessage(text string) string { return Shorten(text, maxMessage) }

// Shorten cuts a text to limit octets, with "..." at the end.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}
