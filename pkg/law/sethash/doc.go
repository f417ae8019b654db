// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sethash computes status.contentState, a multiset hash of thirty-two octets: each value that enters or leaves
// a zone costs a single addition (S6.7).
//
// Guarantees:
//  1. The state depends on the multiset of elements alone, not on order or history.
//  2. Two multisets with the same state cannot be found without solving discrete logarithms in ristretto255 (about 126
//     bits). Tenants choose elements, so sums or XOR of ordinary hashes would not do.
//  3. The encoding is canonical: equal multisets give equal octets, other octets are refused, and the empty set is all
//     zeros.
//
// Out of scope: the meaning of elements, and membership: an element never added can be removed.
//
// Read state.go first.
package sethash
