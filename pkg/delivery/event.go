// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

type Outcome string

const (
	// OutcomeDelivered means that all servers of the class confirmed Serial, except the RRsets in Failed.
	OutcomeDelivered Outcome = "Delivered"
	OutcomePending   Outcome = "Pending"
	// OutcomeFailed has its reason in State.Error. RRsets beyond Failed may be missing, too.
	OutcomeFailed   Outcome = "Failed"
	OutcomeDrifted  Outcome = "Drifted"
	OutcomeCompared Outcome = "Compared"
	OutcomeRemoved  Outcome = "Withdrawn"
)

// Event is the end of an attempt, sent after its state is stored.
type Event struct {
	Key     Key
	Outcome Outcome
	Serial  serial.Serial
	State   State
	Failed  []Failure
	// First is true for the first failure after a success, Recovered for the first success after a failure.
	First, Recovered bool
	Proven           bool
	ClassError       *Error
	Drift            Drift
	// AbsentZone counts as removed: the provider lacked the zone for too long.
	AbsentZone name.Name
	// LeftoverZone may have removed RRsets at the provider.
	LeftoverZone name.Name
}
