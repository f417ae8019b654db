// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sethash computes status.contentState of a Zone, a hash of 32 octets over all values in the zone. A value, an
// element of this multiset hash, is added when it enters the zone and subtracted when it leaves, so only changed values
// are hashed.
//
// Guarantees:
//
//  1. The state depends only on the elements and their counts, not on their order or history.
//  2. Finding two multisets with the same state is as hard as discrete logarithms in ristretto255 (about 126 bits).
//     Sums or XOR of ordinary hashes would be too weak, because tenants choose elements.
//  3. Equal multisets have equal octets. The empty set is all zeros.
//
// Limits: A state proves no membership, because an element can be removed without having been added.
//
// Read state.go first.
package sethash
