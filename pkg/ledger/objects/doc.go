// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects converts writes of API objects to requests of package law (ZoneAsk, DelegationAsk), objects to their
// stored form and back (ObjectCodec), and decisions to status (Placer).
//
// Guarantees:
//
//  1. A value made from a stored object depends on nothing else: no clock, no other object.
//  2. Each condition written by a Placer has the generation that the Placer observed.
//
// Out of scope: keys, transactions, queues, and the law's form of objects (package lawform).
//
// Read first: object.go.
package objects
