// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules evaluates the delegations of a zone: the names and types of a namespace (S4.1 to S4.6), the kinds of
// rules (S4.7), and delegated zones (S3.1).
//
// Guarantees: (1) Rules add: a new rule takes nothing from another. (2) The stored form of a rule is complete, and
// rules with the same text allow the same (S4.3).
//
// Out of scope: the data of a zone, in package claims.
//
// Read first: set.go, then reach.go and rule.go.
package rules
