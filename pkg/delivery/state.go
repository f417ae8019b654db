// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
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
	// where some of that may have been withdrawn since.
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

// serverNames are the names of the rows.
func (s State) serverNames() (names []string) {
	for _, server := range s.Servers {
		names = append(names, server.Name)
	}
	return names
}

// maxListed bounds the RRsets that an Intent lists, and so what a State can weigh.
const maxListed = 256

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

// exhaustive is RRsets, nil where they are not all.
func (i *Intent) exhaustive() []RRsetKey {
	if i.Unlisted {
		return nil
	}
	return slices.Concat([]RRsetKey{}, i.RRsets)
}

// from is the earliest serial of which something may stand at the provider, 0 where none is known.
func (s State) from() serial.Serial {
	if s.Intent != nil && s.Intent.From != 0 {
		return s.Intent.From
	}
	return s.Serial
}

// same reports whether no other worker has written an intent since this one was read. A holder has one attempt at a
// time.
func (i *Intent) same(other *Intent) bool {
	if i == nil || other == nil {
		return i == other
	}
	return i.Serial == other.Serial && i.Holder == other.Holder
}

// alike reports whether both are the same, and nothing else is owed.
func (i *Intent) alike(other *Intent) bool {
	return i.same(other) && (i == nil || i.From == other.From && i.Unlisted == other.Unlisted && slices.Equal(i.RRsets, other.RRsets))
}

// alike reports whether they differ in nothing but times.
func (s State) alike(other State) bool {
	if s.Error == nil != (other.Error == nil) || s.Error != nil && (s.Error.Reason != other.Error.Reason ||
		s.Error.Code != other.Error.Code || s.Error.Message != other.Error.Message) {
		return false
	}
	return s.Zone == other.Zone && s.Target == other.Target && s.Serial == other.Serial && s.Hash == other.Hash &&
		s.Intent.alike(other.Intent) &&
		s.Request == other.Request && s.Drifted == other.Drifted && slices.Equal(s.Drift, other.Drift) &&
		s.Failed == other.Failed && s.Skipped == other.Skipped && s.Ready == other.Ready &&
		slices.EqualFunc(s.Servers, other.Servers, Server.alike)
}

func (s Server) alike(other Server) bool {
	if s.Err == nil != (other.Err == nil) || s.Err != nil && s.Err.Message != other.Err.Message {
		return false
	}
	return s.Name == other.Name && s.Serial == other.Serial
}

// StateError is a failure as users read it.
type StateError struct {
	Reason  Reason
	Code    string
	Message string
	// Time of the first attempt since which each one failed for this reason.
	Time time.Time
}

// same reports whether both have the same reason. The Message that a Store keeps is not the provider's.
func (s *StateError) same(e *Error) bool { return s.Reason == e.Reason && s.Code == e.Code }

// Status of a condition, in the words of Kubernetes.
type Status string

const (
	True    Status = "True"
	False   Status = "False"
	Unknown Status = "Unknown"
)

// drift says what provider and zone differ in, as far as is known.
func (s *State) drift(keys []RRsetKey) {
	s.Drift = keys[:min(len(keys), maxListed):min(len(keys), maxListed)]
	if len(keys) == 0 {
		s.Drift, s.Drifted = nil, Condition{False, ReasonCompared, "the provider held the zone when they were compared last, " +
			"or was given what it lacked"}
		return
	}
	s.Drifted = Condition{True, ReasonDriftFound, fmt.Sprintf("the provider does not hold %s, which it did", keys[0])}
	s.Drifted.Message += moreRRsets(len(keys)-1) + "; Ready says why it is not mended"
}

// moreRRsets is what follows the first of several.
func moreRRsets(more int) string {
	if more < 1 {
		return ""
	}
	return fmt.Sprintf(" (and %d more RRsets)", more)
}

// Condition of a delivery.
type Condition struct {
	Status  Status
	Reason  Reason
	Message string
}

// ErrConflict says that another worker wrote the state since it was loaded. Nothing was changed.
var ErrConflict = errors.New("another worker or client changed the delivery")

// Store keeps states. It may be used from any number of goroutines, one for each Key.
type Store interface {
	// Load returns what stands there now, past every cache: the fence rests on it. A delivery that is not stored is the
	// zero State and no error.
	Load(ctx context.Context, key Key) (State, error)
	// Save writes a state and returns its new version. An empty Version makes the delivery, and with it what keeps
	// the zone from going while the provider has its data (S8.4). ErrConflict: what stands there is not of
	// state.Version, or there is something where Version is empty, or nothing where it is not.
	Save(ctx context.Context, key Key, state State) (version string, err error)
	// Delete lets go of a delivery whose data is withdrawn or left (S8.4). One that is not there is no error.
	Delete(ctx context.Context, key Key) error
}

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
	// OutcomeWithdrawn means that nothing of the zone is at the provider any more, or it is left there (Retain); the
	// state is gone.
	OutcomeWithdrawn Outcome = "Withdrawn"
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
	// Absent is the name of OutcomeWithdrawn where the provider said for so long that it has no such zone that it was
	// not asked further.
	Absent name.Name
	// Remains is the name of a zone of which RRsets that it has no more may still stand at the provider, and nothing
	// knows which (Report.Remains).
	Remains name.Name
}

// Observer is told how attempts ended. It is called from the worker of the item: it may not block for long.
type Observer interface {
	Observe(event Event)
}

// Metrics counts what the loop does. It is called from many goroutines.
type Metrics interface {
	// Called is one call of a provider's method.
	Called(call Call)
	// Delivered is a confirmed serial: how long after the loop first saw it settled.
	Delivered(class string, lag time.Duration)
	// Drifted counts RRsets that a comparison found: missing and differing ones once until they are mended, and by
	// how many those of others grew since the comparison before.
	Drifted(class string, missing, differing, foreign int)
	// Fenced is an attempt given up because another worker had the zone.
	Fenced(class string)
}

// Call of a provider's method.
type Call struct {
	Class, Provider string
	// Method is "Deliver", "Withdraw", "Verify", "Health" or "Close".
	Method string
	// Reason and Code are those of its Error, both empty on success.
	Reason Reason
	Code   string
}

type noMetrics struct{}

func (noMetrics) Called(Call)                     {}
func (noMetrics) Delivered(string, time.Duration) {}
func (noMetrics) Drifted(string, int, int, int)   {}
func (noMetrics) Fenced(string)                   {}
