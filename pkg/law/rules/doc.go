// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules evaluates the rules of a zone: the names and types that a namespace may write (S4.1 to S4.6), its child
// zones (S3.1), and the kind of a rule (S4.7). For example, the pattern "*.apps" allows records below apps.
//
// Guarantees: (1) A name is allowed if any rule allows it. But a pattern without "*" reserves its name: patterns such
// as "*" of other namespaces no longer reach the name (S4.20). (2) The stored form of a rule is complete, and rules
// with the same text allow the same (S4.3).
//
// Package claims decides about a zone's data.
//
// Read first: set.go, then reach.go and rule.go.
package rules
