// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects translates between API objects and package law, which decides writes without Kubernetes types.
// ZoneAsk and DelegationAsk make the law's input from a written object. Package ledger makes the input for Records. A
// Placer writes the law's decision into the object's status, as fields and conditions. ObjectCodec encodes objects for
// etcd.
//
// Guarantees:
//
//  1. A value made from a stored object depends on nothing else: no clock, no other object.
//  2. Each condition written by a Placer has the object's metadata.generation as observedGeneration.
//
// Read first: object.go.
package objects
