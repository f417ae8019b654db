// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pattern parses and matches the patterns of delegations (S4.6).
//
// Guarantees:
//  1. A pattern never matches a name outside the zone. A pattern with "*" never matches the apex, even if absolute.
//  2. Matching is linear in the length of the name: only a leading label "*" matches several labels.
//  3. Names and patterns are compared in canonical form (S1.2): lower case, A-labels.
//  4. CanMatch is false exactly when no legal name matches.
//
// Out of scope: types, namespaces and claims.
//
// Read pattern.go first.
package pattern
