// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decision decides what is done next for a delivery, and what comes of it.
//
// An attempt asks Next, carries the Action out, adds to the Facts what it found and asks again. What a provider
// answered it hands to RecordAnswer or RecordComparison, whose Result it stores and tells. In between the Memory keeps
// what the process knows of the delivery.
//
// It promises: (1) A decision is a function of the Memory and the Facts: of what is stored, what this process
// remembers, what is desired, the zone, the names of others and the time. testdata tells it in stories. (2) What
// failed has a time at which it is tried again, or a change that it waits for. (3) What may stand half written is in
// the state that an attempt records before its first call outside, or follows from it and the changes of the zone.
//
// It does not know stores, providers, views or clocks: it imports the words of a delivery and of DNS, and blocks
// nowhere.
//
// Read memory.go and facts.go first, then decide.go; outcome.go has what comes of an attempt, refused.go what of it is
// tried again, tried.go what it carries out, takeover.go what another worker left.
package decision
