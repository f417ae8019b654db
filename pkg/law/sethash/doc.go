// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sethash holds the multiset hash that stands in status.contentState:
// thirty-two bytes that change by one addition when one value of a zone
// changes, whatever the size of the zone (S6.7).
//
// It promises:
//  1. The state depends on the multiset of elements alone, never on the order
//     in which they came or on what came and went in between.
//  2. Two different multisets with one state cannot be found without solving
//     discrete logarithms in ristretto255 (about 126 bits, hash-to-group taken
//     as a random oracle; not against a quantum computer). A tenant chooses
//     the elements of a zone, so sums or XOR of ordinary hashes would not do.
//  3. The encoding is canonical: equal multisets give equal bytes, and bytes
//     that encode nothing are refused. The empty set is thirty-two zero bytes.
//
// It does not know what an element means, nor which elements are in a set:
// removing what was never added gives a valid state of no real set. The owner of
// the set (the ledger, a snapshot) checks membership.
//
// Read state.go first.
package sethash
