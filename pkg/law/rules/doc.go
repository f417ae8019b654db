// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules says what the delegations of a zone allow: which names and types a pattern gives a namespace (S4.1 to
// S4.6), by which kind of rule (S4.7), and which zones (S3.1).
//
// Promises. (1) Rules add: a rule that comes takes nothing from what another one gives. (2) The stored form of a rule
// has all of it, and rules with one text allow the same (S4.3).
//
// It does not know what stands in the zone: whether another namespace has the name is the question of package claims.
//
// Read first: set.go, then reach.go and rule.go.
package rules
