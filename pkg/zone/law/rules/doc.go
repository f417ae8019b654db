// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules evaluates the rules of a zone: the names and types for a namespace to write, the child zones, and the
// kind of a rule. For example, the pattern "*.apps" allows records below apps.
//
// Guarantees:
//
//  1. A name is allowed if any rule allows the name. However, a pattern without "*" reserves its name, so that patterns
//     such as "*" of other namespaces no longer reach the name.
//  2. The stored form of a rule is complete, and rules with the same text allow the same.
//
// Read first: set.go, then reach.go and rule.go. scope.go has the names and types of an UpdateKey.
package rules
