// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sethash computes status.contentState of a Zone, a hash of 32 octets of the values in the zone. It is a
// multiset hash: a value that enters or leaves the zone is added or subtracted, so a change costs nothing for the other
// values (S6.7).
//
// Guarantees:
//
//  1. The state depends only on the elements and their counts, not on order or history.
//  2. Two multisets with the same state cannot be found without solving discrete logarithms in ristretto255 (about 126
//     bits). Sums or XOR of ordinary hashes would be too weak, because tenants choose elements.
//  3. Equal multisets give equal octets. The empty set is all zeros.
//
// A state proves no membership: an element that was never added can be removed.
//
// Read state.go first.
package sethash
