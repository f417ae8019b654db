// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery defines zone delivery to name servers: providers, desired classes and zones, stored states, and
// events. Packages below keep every (zone, class) at the zone's settled serial:
//
//	decision   the next action of a delivery, and its result: pure, with stories
//	plan       the plans from a provider's content to the zone's
//	lease      the right to write a delivery: the stored intent, and the fence before each call outside
//	schedule   the Loop, with its attempts
//
// Beside them: the kinds of providers, and dial, the bound on their connections.
//
// Guarantees with these: (1) A provider gets one plan of a zone at a time, and never an older plan after a later
// one: a fence precedes every write outside. (2) Data not written by us is never removed by us: an empty or foreign
// list answer deletes nothing. (3) An error tells the time of the next retry; no delivery is given up for good. (4)
// One slow or broken zone, class or record delays no other. (5) RRsets possibly half written are known after every
// crash, and overwritten even if the zone has changed back. (6) Without changes, nothing is written, and only
// scheduled checks ask providers. (7) A zone moving to another class is delivered there before it is removed here.
// (8) A class has one zone of a name: another zone of that name touches nothing until the first is removed.
//
// Out of scope: Kubernetes or the origin of zones: it imports the packages of DNS alone. A provider imports this
// package and nothing that acts on it; deliverytest tests it.
//
// Read provider.go first, then errors.go and backoff.go; for the acting packages class.go, state.go and event.go.
package delivery
