// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// Class is a provider with its settings.
type Class struct {
	// Name is unique among all classes.
	Name string
	// Kind is for people.
	Kind string
	// Generation changes with every setting that may end a failure, credentials included.
	Generation string
	// Target identifies the destination. If State.Target differs, the whole zone is delivered again.
	Target string
	// Provider belongs to the Loop, which closes it. A new pointer is a new provider. nil: the class cannot work
	// (Err).
	Provider Provider
	Err      *Error
	// RequestsPerSecond bounds the writes and comparisons of all zones together. 0: 50.
	RequestsPerSecond float64
	Paused            bool
	// DriftInterval between comparisons of a zone. 0: 1 h.
	DriftInterval time.Duration
	// Servers names the present servers, sorted. nil: they change only with Target.
	Servers []string
	// AllowRetain keeps zones with Retain at the provider (S8.4).
	AllowRetain bool
}

// Zone is the desired state of a Zone object.
type Zone struct {
	UID string
	// Tenant has a share of a class's workers.
	Tenant  string
	Classes []string
	// Former are other classes to remove the zone from. Classes once in Classes of this Loop may be omitted.
	Former []string
	// Expelled are classes to remove the zone from at once; others keep it until all of Classes have it.
	Expelled []string
	// Remove: the Zone is being deleted, and leaves Classes too.
	Remove bool
	// Retain: classes with AllowRetain keep the zone at the provider (S8.4).
	Retain bool
	// Paused: nothing is delivered. Removals go on.
	Paused bool
	// Request, if different from State.Request, asks for an immediate comparison and retry.
	Request string
	// Frozen is the serial to stay at, 0 for none: a terminating namespace deletes its records first.
	Frozen serial.Serial
}
