// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects converts API objects to requests of package law (LawZone, LawRecord, DelegationRule), objects to
// their stored form and back (ObjectCodec), and decisions to status (Placer).
//
// Guarantees:
//
//  1. A value made from a stored object depends on nothing else: no clock, no other object.
//  2. Each condition written by a Placer has the generation at which it was observed.
//  3. The law gets every field of a spec, or fields_test.go says why not.
//
// Out of scope: keys, transactions and queues.
//
// Read first: object.go.
package objects
