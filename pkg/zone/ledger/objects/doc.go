// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects translates between API objects and package law, which decides writes without Kubernetes types.
// ZoneAsk and DelegationAsk convert a written object to the input of a decision; package ledger does so for Records.
//
// Guarantees:
//
//  1. A value made from a stored object depends on nothing else: no clock, no other object.
//  2. Each condition that a Placer writes has the object's metadata.generation as observedGeneration.
//
// Read first: object.go.
package objects
