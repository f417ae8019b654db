// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery carries zones out to name servers and providers: the contract that a provider keeps, and the loop
// that keeps every (zone, class) at the zone's settled serial.
//
// It promises: (1) A provider is asked for one plan of a zone at a time, and for none older than one it was asked for
// before: every write outside is fenced. (2) Data that a provider did not get from us is never removed by us: an
// empty or foreign list answer deletes nothing. (3) An error says when the same thing is tried again; nothing is
// given up for good. (4) One slow or broken zone, class or record holds up no other. (5) What may stand half written
// is known after every crash, and written over, also where the zone has changed back since. (6) Where nothing changes
// nothing is written, and nothing is asked but the scheduled checks. (7) A zone that goes to another class is
// delivered by that before it is withdrawn. (8) In a class one zone has a name: another one of that name touches
// nothing until the first has been withdrawn.
//
// It does not know Kubernetes: classes come in as values, statuses go out through an interface it declares. It does not
// know any provider: those are packages below it, each held to deliverytest.
//
// An attempt at a delivery asks next (decide.go) what to do, carries that out (attempt.go) and asks again. The
// decision is a function of what is stored, what this process remembers, what is desired, the zone, the names of
// others and the time; testdata tells it in stories.
//
// Read provider.go first, then errors.go; for the loop state.go, memory.go, decide.go, attempt.go.
package delivery
