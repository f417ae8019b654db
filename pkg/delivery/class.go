// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// Class is a destination of zones: a provider with its settings.
type Class struct {
	// Name is unique among all classes of all kinds.
	Name string
	// Kind of the provider is for people, from a short list.
	Kind string
	// Generation changes with every setting that may end a failure, credentials included.
	Generation string
	// Target identifies the destination of zones. If it differs from State.Target, the whole zone is delivered
	// again.
	Target string
	// Provider belongs to the Loop, and is closed there. A new pointer is a new provider. nil: the class cannot
	// work, and Err tells why; retained zones can be forgotten nevertheless.
	Provider Provider
	Err      *Error
	// RequestsPerSecond bounds the writes and comparisons of all zones of the class together. 0: 50.
	RequestsPerSecond float64
	// Paused: the provider is not called.
	Paused bool
	// DriftInterval is the time between two comparisons of a zone. 0: 1 h.
	DriftInterval time.Duration
	// Servers names the present servers of the class, sorted. nil: they change only with Target. After a change,
	// every delivery with other rows is compared soon.
	Servers []string
	// AllowRetain keeps zones with Retain at the provider. Otherwise they are removed like others (S8.4).
	AllowRetain bool
}

// Zone is the desired state of a Zone object. The content comes from Config.Views.
type Zone struct {
	UID string
	// Tenant owns the zone. Tenants take turns, and each has a share of a class's workers.
	Tenant  string
	Classes []string
	// Former are other classes with a stored state of the zone, to be removed there. Classes once in Classes of this
	// Loop may be omitted.
	Former []string
	// Expelled are classes to remove the zone from at once. Other classes keep it until all of Classes have it.
	Expelled []string
	// Remove: the Zone is being deleted, and leaves Classes too.
	Remove bool
	// Retain: classes with AllowRetain keep the zone at the provider and forget it (S8.4).
	Retain bool
	// Paused: nothing is delivered. Removals go on.
	Paused bool
	// Request asks for an immediate comparison and retry, if it differs from State.Request.
	Request string
	// Frozen is the serial to stay at, 0 for none: the zone's namespace is terminating, and deletes the records
	// first.
	Frozen serial.Serial
}
