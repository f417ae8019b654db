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
	// Generation changes with every setting that may resolve a failure, including credentials.
	Generation string
	// Target identifies the destination. After a change, the whole zone is delivered again.
	Target string
	// The Loop, the scheduler of deliveries, closes Provider. If nil, Err is the reason.
	Provider Provider
	Err      *Error
	// RequestsPerSecond limits writes and comparisons; 0 means 50.
	RequestsPerSecond float64
	Paused            bool
	// DriftInterval is the time between comparisons of a zone; 0 means 1 h.
	DriftInterval time.Duration
	// Servers is sorted. If nil, servers change only with Target.
	Servers []string
	// AllowRetain lets zones with Retain stay at the provider after their deletion.
	AllowRetain bool
}

type Zone struct {
	UID     string
	Tenant  string
	Classes []string
	// FormerClasses are other classes that may still have the zone.
	FormerClasses []string
	// ExpelledClasses are former classes. They lose the zone at once.
	ExpelledClasses []string
	// Remove is true if the Zone object is being deleted.
	Remove bool
	Retain bool
	Paused bool
	// Request, if new, asks for an immediate comparison and retry.
	Request string
	// FrozenSerial is the serial to deliver while a terminating namespace deletes its records; 0 means none.
	FrozenSerial serial.Serial
}
