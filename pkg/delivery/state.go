// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Key identifies a delivery: a Zone object and a class.
type Key struct {
	UID   string
	Class string
}

// State is the stored state of a delivery.
type State struct {
	// Version is the Store's version of this state; empty if it is not stored.
	Version string
	// Zone is the name of the zone at the provider; zero if nothing was begun there.
	Zone name.Name
	// Target is the Class.Target for which Serial was confirmed.
	Target string
	// Serial is the last serial confirmed by everything in the class, 0 for none. Hash is of the content then; empty
	// if some of the content may have been removed since.
	Serial serial.Serial
	Hash   string
	// SyncTime is when Serial was confirmed. DriftCheckTime is when provider and zone were compared last, as of the
	// last write for another reason: a comparison without findings is not stored.
	SyncTime, DriftCheckTime time.Time
	// Intent has the RRsets possibly half written, or still owed; nil for none.
	Intent *Intent
	// Servers are the rows of the last report.
	Servers []Server
	// Failed counts refused RRsets, Skipped those without a form at the provider.
	Failed, Skipped int
	// Refused are RRsets refused in the last attempt, MaxRefused at most. FailedWhole: that attempt failed for more
	// than single RRsets.
	Refused     []Failure
	FailedWhole bool
	// Digests has RRsetKey.Digest of the RRsets refused beyond Refused, MaxDigests at most, in ascending order.
	Digests []uint64
	// Error is the last failure, nil after a success.
	Error *StateError
	// Ready is the condition of that name. Drifted has the drift not repaired yet; its absence is stored with the
	// next write for another reason. Drift has the RRsets, only some if there are many.
	Ready, Drifted Condition
	Drift          []RRsetKey
	// Request is the last Zone.Request carried out.
	Request string
	// Holder is the Config.Identity of the worker that confirmed Serial. It delivers the next serials without an
	// intent. Another worker records an intent first, and finds half-written RRsets of the Holder among the changes
	// since Serial.
	Holder string
}

// MaxRefused bounds State.Refused, and MaxRefusal the message of each there, in octets. MaxDigests bounds
// State.Digests: so many RRsets that a provider refuses leave the others of a zone as they are (attack 8).
const (
	MaxDigests = 8192
	MaxRefused = 256
	MaxRefusal = 256
)

// ServerNames returns the names of the rows.
func (s State) ServerNames() (names []string) {
	for _, server := range s.Servers {
		names = append(names, server.Name)
	}
	return names
}

// Intent of a worker is written before its first call with side effects outside, and read before each further call.
type Intent struct {
	Serial serial.Serial
	// From is the earliest serial of which RRsets may be at the provider. 0 with a State.Serial: more RRsets than
	// listed were refused, so the whole zone is written.
	From serial.Serial
	// Holder is the Config.Identity of the writing worker; empty if none is writing and RRsets are still owed.
	Holder string
	// Time is when the holder began.
	Time time.Time
	// RRsets may be half written, or are owed after a refusal. All others are as at State.Serial. Unlisted: there
	// are more, among the changes since From.
	RRsets   []RRsetKey
	Unlisted bool
}

// Earliest returns the earliest serial of which RRsets may be at the provider, 0 if unknown.
func (s State) Earliest() serial.Serial {
	if s.Intent != nil && s.Intent.From != 0 {
		return s.Intent.From
	}
	return s.Serial
}

// Same reports whether both are of one worker and serial. A worker has one attempt at a time.
func (i *Intent) Same(other *Intent) bool {
	if i == nil || other == nil {
		return i == other
	}
	return i.Serial == other.Serial && i.Holder == other.Holder
}

// Alike compares all fields but the time.
func (i *Intent) Alike(other *Intent) bool {
	return i.Same(other) && (i == nil || i.From == other.From && i.Unlisted == other.Unlisted && slices.Equal(i.RRsets, other.RRsets))
}

// Alike compares all fields but times, Version and Holder.
func (s State) Alike(other State) bool {
	return s.Zone == other.Zone && s.Target == other.Target && s.Serial == other.Serial && s.Hash == other.Hash &&
		s.Intent.Alike(other.Intent) && s.Error.Alike(other.Error) &&
		s.Request == other.Request && s.Drifted == other.Drifted && slices.Equal(s.Drift, other.Drift) &&
		s.Failed == other.Failed && s.Skipped == other.Skipped && s.Ready == other.Ready &&
		s.FailedWhole == other.FailedWhole && slices.EqualFunc(s.Refused, other.Refused, Failure.Alike) &&
		slices.Equal(s.Digests, other.Digests) &&
		slices.EqualFunc(s.Servers, other.Servers, Server.Alike)
}

// StateError is a failure as users read it.
type StateError struct {
	Reason  Reason
	Code    string
	Message string
	// Said is Error.Said, and not stored. Stored: the failure was read from a place open to tenants.
	Said   string
	Stored bool
	// Time of the first failure in a row with this reason.
	Time time.Time
}

// Alike compares all fields but Time, Said and Stored.
func (e *StateError) Alike(other *StateError) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.Reason == other.Reason && e.Code == other.Code && e.Message == other.Message
}

// Status of a condition, as in Kubernetes.
type Status string

const (
	True    Status = "True"
	False   Status = "False"
	Unknown Status = "Unknown"
)

type Condition struct {
	Status  Status
	Reason  Reason
	Message string
}
