// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

type Outcome string

const (
	// OutcomeDelivered is the confirmation of Serial by all servers of the class, except of the RRsets in Failed.
	OutcomeDelivered Outcome = "Delivered"
	OutcomePending   Outcome = "Pending"
	// OutcomeFailed has its reason in State.Error. RRsets beyond Failed may be missing, too.
	OutcomeFailed   Outcome = "Failed"
	OutcomeDrifted  Outcome = "Drifted"
	OutcomeCompared Outcome = "Compared"
	OutcomeRemoved  Outcome = "Withdrawn"
)

// Event reports the end of an attempt to deliver, compare or remove a zone. The Loop, the scheduler, sends an Event
// once the new State is stored.
type Event struct {
	Key Key
	// Generation is that of the Class (Class.Generation) at the begin of the attempt.
	Generation string
	Outcome    Outcome
	Serial     serial.Serial // of the content written, compared or removed
	State      State
	Failed     []Failure // the RRsets that the provider refused
	// First is true for the first failure after a success, Recovered for the first success after a failure.
	First, Recovered bool
	// Proven is true if the provider accepted the credentials.
	Proven bool
	// ClassError concerns all zones of the class, for example wrong credentials; nil for none.
	ClassError *Error
	Drift      Drift
	// AbsentZone is set if a removal ended because the provider has lacked the zone for a day.
	AbsentZone name.Name
	// LeftoverZone is set if the provider may still have RRsets removed from the zone.
	LeftoverZone name.Name
}
