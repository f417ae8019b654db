// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"crypto/sha256"
	"fmt"
	"strings"

	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
)

// faults are what a tenant is told of a class that does not deliver, by reason. The words of the provider or its
// client have addresses and names of the operators' network in them, and stand in the status of the DNSClass, where
// the whole class fails, and in the controller's log.
var faults = map[delivery.Reason]string{
	delivery.ReasonServerUnreachable:    "its server does not answer",
	delivery.ReasonServerError:          "its server could not do it",
	delivery.ReasonAuthenticationFailed: "its server does not let the controller in",
	delivery.ReasonSecretNotFound:       "a Secret that it needs is not there",
	delivery.ReasonInvalidConfiguration: "it cannot deliver the zone as it is configured",
	delivery.ReasonZoneNotFound:         "its server does not have the zone",
	delivery.ReasonRateLimited:          "its server wants fewer requests, and the zone is tried again",
	delivery.ReasonQuotaExceeded:        "the quota at its provider is used up, and fewer records may fit",
	delivery.ReasonSerialBehind:         "a server of it has a later serial than the zone",
	delivery.ReasonInternalError:        "its provider failed at this zone",
}

// publicFault is what a Zone, a Record or an Event says of a failure of a class. Tenants read these, so it has a
// message about the tenant's own data in full, and of a failure of the class itself its kind and the next step.
func publicFault(class string, reason delivery.Reason, message string) string {
	return class + ": " + publicMessage(class, reason, message)
}

// publicMessage is the same where the class is named already, as in a Delivery.
func publicMessage(class string, reason delivery.Reason, message string) string {
	fault, ofClass := faults[reason]
	if !ofClass {
		return message
	}
	if _, _, ok := apiclass.SplitCluster(class); ok {
		return fmt.Sprintf("%s%sthe controller's log; the conditions of %s and of its Bind9Instances say how the servers are", fault,
			whereCause, describeClass(class))
	}
	return fmt.Sprintf("%s%sthe controller's log, and in the status of DNSClass %s where that is not Ready", fault, whereCause, class)
}

// whereCause stands between the kind of a fault and the places where the provider's words are.
const whereCause = "; a cluster admin finds the cause in "

// kindOfFault is what a Record says of a failure that is not of its own RRset: the class and the kind of fault, and
// nothing about the data of other Records or about the provider.
func kindOfFault(class string, reason delivery.Reason) string {
	switch reason {
	case delivery.ReasonConflict:
		return class + ": another zone has the name there; the status of the Zone says more"
	case delivery.ReasonValidationFailed:
		return class + ": it refuses the change that the Record is part of; the status of the Zone says more"
	}
	if _, ofClass := faults[reason]; !ofClass {
		return class + ": it does not deliver the zone; the status of the Zone says more"
	}
	return publicFault(class, reason, "")
}

// fingerprint stands for the target of a class in a Delivery, which tenants read: two are equal where the targets
// are, and none has the address in it. The fingerprint of a fingerprint is itself, so that a Delivery of an older
// version, which has the address, stays confirmed.
func fingerprint(target string) string {
	kind, rest, _ := strings.Cut(target, " ")
	if target == "" || strings.HasPrefix(rest, fingerprinted) {
		return target
	}
	return fmt.Sprintf("%s %s%x", kind, fingerprinted, sha256.Sum256([]byte(target)))
}

const fingerprinted = "sha256:"

const (
	// maxMessage is what validation allows, and the API of Events for a note.
	maxMessage = 1024
	// maxZoneMessage is what a Zone keeps of it, to stay small beside its spec (S6.13); a Delivery has all of it.
	maxZoneMessage = 300
)

func cutMessage(text string) string { return shortenText(text, maxMessage) }

func shortenText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}
