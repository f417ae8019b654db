// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"time"

	"kubi.zone/kubizone/pkg/dns/serial"
)

// Class is one way by which zones reach name servers.
type Class struct {
	// Name is unique among all classes of all kinds.
	Name string
	// Kind of the provider, for people: one of a handful of words.
	Kind string
	// Generation changes with everything that a failed delivery may have waited for, credentials included.
	Generation string
	// Target stands for where zones go. When it is not the one of a State, what that confirmed is void and the whole
	// zone is delivered.
	Target string
	// Provider belongs to the Loop from now on, which closes it. It is a pointer: another one is another provider.
	// Without it the class cannot work, and Err says why; what is retained can be let go of nevertheless.
	Provider Provider
	Err      *Error
	// RequestsPerSecond bounds calls that write, all zones of the class together. 0: 50.
	RequestsPerSecond float64
	// Paused says that nothing is asked of the provider.
	Paused bool
	// DriftInterval is how often each zone is compared. 0: 1 h.
	DriftInterval time.Duration
	// Servers are the names of the servers that the class has now, sorted; nil: they change with the Target alone. A
	// delivery with rows of others is compared soon.
	Servers []string
	// AllowRetain lets zones that say Retain stay at the provider. Without it they are removed like others (S8.4).
	AllowRetain bool
}

// Zone is what shall be done with a Zone object. Its content comes from Config.Views.
type Zone struct {
	UID string
	// Tenant owns the zone. Zones of tenants alternate, and each tenant has a share of a class's workers.
	Tenant string
	// Classes deliver the zone.
	Classes []string
	// Former are classes that delivered it once and have a state of it left: it is removed from them. Classes
	// that the Loop has seen in Classes itself need not be named.
	Former []string
	// Expelled are classes that the zone is removed from at once. From others it is when the Classes have it.
	Expelled []string
	// Remove says that the zone is going. It is removed from Classes too.
	Remove bool
	// Retain says that at classes with AllowRetain, what is removed stays at the provider and is only let go of
	// (S8.4).
	Retain bool
	// Paused says that nothing is delivered. Removing goes on.
	Paused bool
	// Request asks, where it is another than State.Request, for the zone to be compared now, and for what failed to
	// be tried again.
	Request string
	// Frozen is the serial to stay at, 0 for none: the namespace of the zone terminates, and its records go before it.
	Frozen serial.Serial
}
