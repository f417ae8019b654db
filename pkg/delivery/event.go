// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Outcome of an attempt.
type Outcome string

const (
	// OutcomeDelivered means that everything in the class confirmed Serial, but for the RRsets in Failed.
	OutcomeDelivered Outcome = "Delivered"
	// OutcomePending means that it is written, and servers are on their way.
	OutcomePending Outcome = "Pending"
	// OutcomeFailed means that State.Error says why, and that what is not in Failed may be missing too.
	OutcomeFailed Outcome = "Failed"
	// OutcomeDrifted means that the provider held something else than was confirmed; it is repaired next.
	OutcomeDrifted Outcome = "Drifted"
	// OutcomeCompared means that provider and zone were compared, and nothing is to be repaired; State.Drifted says
	// more.
	OutcomeCompared Outcome = "Compared"
	// OutcomeRemoved means that nothing of the zone is at the provider any more, or it is left there (Retain); the
	// state is gone.
	OutcomeRemoved Outcome = "Withdrawn"
)

// Event is the end of an attempt, told after it is stored.
type Event struct {
	Key     Key
	Outcome Outcome
	// Serial that the attempt was for.
	Serial serial.Serial
	State  State
	// Failed are the RRsets refused in this attempt.
	Failed []Failure
	// First failure since a success, or Recovered: the first success since a failure. Both are for Events; what comes
	// in between is not.
	First, Recovered bool
	// Proven says that the provider lets us in (Report.Proven). OfClass is why every zone of the class waits, nil
	// where it does not.
	Proven  bool
	OfClass *Error
	// Drift of OutcomeDrifted.
	Drift Drift
	// Absent is the name of OutcomeRemoved where the provider said for so long that it has no such zone that it was
	// not asked further.
	Absent name.Name
	// Remains is the name of a zone of which RRsets that it has no more may still stand at the provider, and nothing
	// knows which (Report.Remains).
	Remains name.Name
}
