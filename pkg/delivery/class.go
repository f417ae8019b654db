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
	// Generation changes with every setting that may resolve a failure, also credentials.
	Generation string
	// Target identifies the destination. After a change, the whole zone is delivered again.
	Target string
	// Provider is closed by the Loop. If nil, Err is the reason.
	Provider Provider
	Err      *Error
	// RequestsPerSecond limits the writes and comparisons of all zones together; 0 means 50.
	RequestsPerSecond float64
	Paused            bool
	// DriftInterval is the time between comparisons of a zone; 0 means 1 h.
	DriftInterval time.Duration
	// Servers is sorted; nil means that servers change only with Target.
	Servers []string
	// AllowRetain lets zones with Retain stay at the provider after their deletion (S8.4).
	AllowRetain bool
}

type Zone struct {
	UID string
	// Tenant has a share of the workers of each class.
	Tenant  string
	Classes []string
	// FormerClasses still have the zone. The Loop also remembers the classes of earlier calls.
	FormerClasses []string
	// ExpelledClasses are former classes that lose the zone at once.
	ExpelledClasses []string
	// Remove is true if the Zone object is being deleted: the zone leaves Classes, too.
	Remove bool
	// Retain keeps the zone at providers whose class has AllowRetain.
	Retain bool
	Paused bool
	// Request asks for an immediate comparison and retry, if different from State.Request.
	Request string
	// FrozenSerial is delivered while a terminating namespace deletes its records; 0 means none.
	FrozenSerial serial.Serial
}
