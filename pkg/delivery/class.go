// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
)

type Class struct {
	Name string
	Kind string
	// Generation changes with every setting that may resolve a failure, credentials included.
	Generation string
	// Target identifies the destination. After a change, the whole zone is delivered again.
	Target string
	// Provider belongs to the Loop, which closes it. If nil, the class cannot work; Err is the reason.
	Provider Provider
	Err      *Error
	// RequestsPerSecond limits the writes and comparisons of all zones together; 0 means 50.
	RequestsPerSecond float64
	Paused            bool
	// DriftInterval is the time between comparisons of a zone; 0 means 1 h.
	DriftInterval time.Duration
	// Servers names the present servers, sorted; nil means that servers change only with Target.
	Servers []string
	// AllowRetain permits zones with Retain to stay at the provider after their deletion (S8.4).
	AllowRetain bool
}

type Zone struct {
	UID string
	// Tenant has a share of the workers of each class.
	Tenant  string
	Classes []string
	// Former are other classes that still have the zone, to remove it from. The Loop itself remembers earlier Classes.
	Former []string
	// Expelled are former classes that lose the zone at once. Other former classes keep it until all of Classes have
	// it.
	Expelled []string
	// Remove is true if the Zone is being deleted: the zone leaves Classes, too.
	Remove bool
	Retain bool
	Paused bool
	// Request asks for an immediate comparison and retry, if different from State.Request.
	Request string
	// Frozen is the serial to keep delivering while a terminating namespace deletes its records; 0 means none.
	Frozen serial.Serial
}
