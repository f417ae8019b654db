// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivery has the words in which zones are carried out to name servers and providers: the contract that a
// provider keeps, what shall be delivered, what is known of each delivery, and what is told of it. It only says;
// packages below it act, and together they keep every (zone, class) at the zone's settled serial:
//
//	decision   what is done next for a delivery, and what comes of it: pure, with its stories
//	plan       what leads a provider from what it has to what a zone contains
//	lease      the right to write a delivery: the intent that is stored, and the fence before each call outside
//	schedule   the Loop: when a delivery has an attempt, and the attempt
//
// Beside them stand the kinds of providers, and dial, which bounds where they connect to.
//
// It promises with these: (1) A provider is asked for one plan of a zone at a time, and for none older than one it
// was asked for before: every write outside is fenced. (2) Data that a provider did not get from us is never removed by
// us: an empty or foreign list answer deletes nothing. (3) An error says when the same thing is tried again; nothing is
// given up for good. (4) One slow or broken zone, class or record holds up no other. (5) What may stand half written
// is known after every crash, and written over, also where the zone has changed back since. (6) Where nothing changes
// nothing is written, and nothing is asked but the scheduled checks. (7) A zone that goes to another class is
// delivered by that before it is removed. (8) In a class one zone has a name: another one of that name touches
// nothing until the first has been removed.
//
// It does not know Kubernetes, nor where zones come from: it imports the words of DNS alone. A provider imports this
// package and nothing that acts on it, and is held to deliverytest.
//
// Read provider.go first, then errors.go and backoff.go; for what acts class.go, state.go and event.go.
package delivery
