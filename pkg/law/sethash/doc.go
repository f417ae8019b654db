// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sethash computes status.contentState, a multiset hash of thirty-two octets: each value that enters or leaves
// a zone costs a single addition (S6.7).
//
// Guarantees:
//  1. The state depends on the multiset of elements alone, not on order or history.
//  2. Two multisets with the same state cannot be found without solving discrete logarithms in ristretto255: about 126
//     bits, with hash-to-group as a random oracle. A tenant chooses the elements of a zone, so sums or XOR of ordinary
//     hashes would not do.
//  3. The encoding is canonical: equal multisets give equal octets, other octets are refused, and the empty set is all
//     zeros.
//
// Out of scope: the meaning of elements, and membership: the removal of an element never added gives the valid state of
// no real set.
//
// Read state.go first.
package sethash
