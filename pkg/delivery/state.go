// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Key names one delivery: a Zone object and a class.
type Key struct {
	// UID of the Zone object.
	UID string
	// Class is Class.Name.
	Class string
}

// State is what is known of one delivery and outlives the process.
type State struct {
	// Version is the Store's, and stands for this state being the newest; empty for one that is not stored.
	Version string
	// Zone is the name under which the provider has the zone; the zero Name: nothing was ever begun there.
	Zone name.Name
	// Target is the Class.Target that Serial was confirmed for.
	Target string
	// Serial is what everything in the class confirmed last, 0 for none, Hash what the zone contained then; empty
	// where some of that may have been removed since.
	Serial serial.Serial
	Hash   string
	// SyncTime is when Serial was confirmed, DriftCheckTime when provider and zone were compared last, as of the last
	// write for another reason: a comparison that finds nothing is not written down.
	SyncTime, DriftCheckTime time.Time
	// Intent is what may stand at the provider in part, or is still owed to it; nil for nothing.
	Intent *Intent
	// Servers are those of the last report.
	Servers []Server
	// Failed counts RRsets that the provider refused, Skipped those that it has no form for.
	Failed, Skipped int
	// Error is the last failure, nil after a success.
	Error *StateError
	// Ready is the condition of that name. Drifted says what the last comparison found and is not mended; that it found
	// nothing is written down with the next write for another reason. Drift are the RRsets that it found, some where
	// they are many.
	Ready, Drifted Condition
	Drift          []RRsetKey
	// Request is the Zone.Request that was carried out last.
	Request string
	// Holder is the Config.Identity of the worker that confirmed Serial. It delivers what follows without recording an
	// intent, because another worker that begins records one first: what it may have left half written is what the zone
	// changed since Serial.
	Holder string
}

// ServerNames are the names of the rows.
func (s State) ServerNames() (names []string) {
	for _, server := range s.Servers {
		names = append(names, server.Name)
	}
	return names
}

// Intent of a worker: written before the first call that changes something outside, read before each further one.
type Intent struct {
	// Serial that is being delivered.
	Serial serial.Serial
	// From is the earliest serial of which something may stand at the provider. 0 beside a State.Serial: that one,
	// and more RRsets than are listed were refused, so the whole zone is written.
	From serial.Serial
	// Holder is the Config.Identity of the worker that writes; empty when none does and RRsets are still owed.
	Holder string
	// Time is when the holder began.
	Time time.Time
	// RRsets are those that may stand half written, or that were refused and are owed still. All others are as
	// State.Serial has them; Unlisted: all that was touched since From may stand half written or be owed, which is
	// more than are listed.
	RRsets   []RRsetKey
	Unlisted bool
}

// Earliest is the earliest serial of which something may stand at the provider, 0 where none is known.
func (s State) Earliest() serial.Serial {
	if s.Intent != nil && s.Intent.From != 0 {
		return s.Intent.From
	}
	return s.Serial
}

// Same reports whether no other worker has written an intent since this one was read. A holder has one attempt at a
// time.
func (i *Intent) Same(other *Intent) bool {
	if i == nil || other == nil {
		return i == other
	}
	return i.Serial == other.Serial && i.Holder == other.Holder
}

// Alike reports whether both are the same, and nothing else is owed.
func (i *Intent) Alike(other *Intent) bool {
	return i.Same(other) && (i == nil || i.From == other.From && i.Unlisted == other.Unlisted && slices.Equal(i.RRsets, other.RRsets))
}

// Alike reports whether they differ in nothing but times.
func (s State) Alike(other State) bool {
	return s.Zone == other.Zone && s.Target == other.Target && s.Serial == other.Serial && s.Hash == other.Hash &&
		s.Intent.Alike(other.Intent) && s.Error.Alike(other.Error) &&
		s.Request == other.Request && s.Drifted == other.Drifted && slices.Equal(s.Drift, other.Drift) &&
		s.Failed == other.Failed && s.Skipped == other.Skipped && s.Ready == other.Ready &&
		slices.EqualFunc(s.Servers, other.Servers, Server.Alike)
}

// StateError is a failure as users read it.
type StateError struct {
	Reason  Reason
	Code    string
	Message string
	// Said is Error.Said. It is not stored: Stored says that the failure was read from where tenants read it.
	Said   string
	Stored bool
	// Time of the first attempt since which each one failed for this reason.
	Time time.Time
}

// Alike reports whether both are nil, or differ in nothing but the time.
func (e *StateError) Alike(other *StateError) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.Reason == other.Reason && e.Code == other.Code && e.Message == other.Message
}

// Status of a condition, in the words of Kubernetes.
type Status string

const (
	True    Status = "True"
	False   Status = "False"
	Unknown Status = "Unknown"
)

// Condition of a delivery.
type Condition struct {
	Status  Status
	Reason  Reason
	Message string
}
