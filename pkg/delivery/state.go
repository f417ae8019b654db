// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

type Key struct {
	UID   string
	Class string
}

type State struct {
	Version string
	// Zone is the zone's name at the provider; zero before the first call.
	Zone   name.Name
	Target string
	// Serial is the last serial confirmed by all servers of the class; 0 means none. Hash is the content hash at
	// Serial, or "" if RRsets may have been removed since.
	Serial serial.Serial
	Hash   string
	// SyncTime is the first confirmation of Serial. DriftCheckTime is the last comparison, stored only with other
	// changes.
	SyncTime, DriftCheckTime time.Time
	Intent                   *Intent
	Servers                  []Server
	// AskedSerial is the zone's serial at the last query of Servers; 0 after a load.
	AskedSerial     serial.Serial
	Failed, Skipped int
	// Refused are the RRsets refused in the last attempt. FailedWhole is true if the attempt failed for another reason.
	Refused     []Failure
	FailedWhole bool
	// Digests has the RRsetKey.Digest of refused RRsets beyond Refused, ascending.
	Digests []uint64
	Error   *StateError
	// Drifted is True until the repair, which is stored with the next other change. Drift lists some of the RRsets.
	Ready, Drifted Condition
	Drift          []RRsetKey
	Request        string
	// Holder is the Config.Identity of the worker that confirmed Serial. This worker delivers the next serial without
	// an intent. Another worker records an intent first, and finds the Holder's half-written RRsets among the changes
	// since Serial.
	Holder string
}

// Bounds of a State. MaxRefusal is in octets of a message in Refused.
const (
	MaxDigests = 8192
	MaxRefused = 256
	MaxRefusal = 256
)

func (s State) ServerNames() []string { return namesOf(s.Servers) }

// LaggingServers returns the servers that failed, or whose serial precedes the latest of Serial, Intent.Serial and
// AskedSerial. If all three are 0, every server lags.
func (s State) LaggingServers() (names []string) {
	latest := s.latestSerial()
	for _, server := range s.Servers {
		isBehind := server.Serial == 0 || latest == 0 || latest.Ahead(server.Serial)
		if server.Err != nil || isBehind {
			names = append(names, server.Name)
		}
	}
	return names
}

func (s State) latestSerial() serial.Serial {
	latest := s.Serial
	if s.Intent != nil && (latest == 0 || s.Intent.Serial.Ahead(latest)) {
		latest = s.Intent.Serial
	}
	if s.AskedSerial != 0 && (latest == 0 || s.AskedSerial.Ahead(latest)) {
		latest = s.AskedSerial
	}
	return latest
}

// WentBack reports whether a server answers an earlier serial than the confirmed serial, for example after a restart
// from an old disk.
func (s State) WentBack(server Server) bool {
	return server.Err == nil && server.Serial != 0 && s.Serial != 0 && s.Serial.Ahead(server.Serial)
}

// Served returns the earliest serial that a server answers, or Serial if none went back.
func (s State) Served() serial.Serial {
	least := s.Serial
	for _, server := range s.Servers {
		if s.WentBack(server) && least.Ahead(server.Serial) {
			least = server.Serial
		}
	}
	return least
}

// Intent records in the store the RRsets that a worker is about to write, so that the next worker can write them again
// after a crash.
type Intent struct {
	// Serial is the serial being written; State.Serial is the last confirmed.
	Serial serial.Serial
	// From is the earliest serial whose RRsets may be at the provider. If From is 0 although State.Serial is set, more
	// RRsets were refused than RRsets can list, and the whole zone is written again.
	From serial.Serial
	// Holder is the Config.Identity of the writing worker; "" if any worker may continue.
	Holder string
	Time   time.Time
	// RRsets are half written, or were refused and wait for a retry. All others have the content of State.Serial.
	RRsets []RRsetKey
	// Unlisted is true if any other RRset changed since From may be half written, too.
	Unlisted bool
}

// Earliest returns the earliest serial whose RRsets may be at the provider; 0 if unknown.
func (s State) Earliest() serial.Serial {
	if s.Intent != nil && s.Intent.From != 0 {
		return s.Intent.From
	}
	return s.Serial
}

// Equal reports whether both are the same worker's attempt at the same serial.
func (i *Intent) Equal(other *Intent) bool {
	if i == nil || other == nil {
		return i == other
	}
	return i.Serial == other.Serial && i.Holder == other.Holder
}

func (i *Intent) Alike(other *Intent) bool {
	return i.Equal(other) && (i == nil || i.From == other.From && i.Unlisted == other.Unlisted && slices.Equal(i.RRsets, other.RRsets))
}

// Alike ignores times, Version and Holder. AskedSerial counts only by its effect on LaggingServers.
func (s State) Alike(other State) bool {
	return s.Zone == other.Zone && s.Target == other.Target && s.Serial == other.Serial && s.Hash == other.Hash &&
		s.Intent.Alike(other.Intent) && s.Error.Alike(other.Error) &&
		s.Request == other.Request && s.Drifted == other.Drifted && slices.Equal(s.Drift, other.Drift) &&
		s.Failed == other.Failed && s.Skipped == other.Skipped && s.Ready == other.Ready &&
		s.FailedWhole == other.FailedWhole && slices.EqualFunc(s.Refused, other.Refused, Failure.Alike) &&
		slices.Equal(s.Digests, other.Digests) &&
		slices.EqualFunc(s.Servers, other.Servers, Server.Alike) && slices.Equal(s.LaggingServers(), other.LaggingServers())
}

type StateError struct {
	Reason  Reason
	Code    string
	Message string
	// Detail is Error.Detail, and is not stored. Stored is true if the error was read from an object that tenants can
	// write.
	Detail string
	Stored bool
	Time   time.Time
}

func (e *StateError) Alike(other *StateError) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.Reason == other.Reason && e.Code == other.Code && e.Message == other.Message
}

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
