// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"fmt"

	"kubi.zone/kubizone/pkg/delivery"
)

// faults are what a tenant is told of a class that does not deliver, by reason. What the provider or its client says has addresses and names of the
// operators' network in it, and stands in the status of the Delivery and the DNSClass and in the log.
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

// public is what a Zone or a Record, which tenants read, says of a failure of a class: what is about its own data in full, of the class what to do.
func public(class string, reason delivery.Reason, message string) string {
	fault, ofClass := faults[reason]
	if !ofClass {
		return class + ": " + message
	}
	return fmt.Sprintf("%s: %s; a cluster admin finds the cause in the status of DNSClass and Delivery", class, fault)
}
