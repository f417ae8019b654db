// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package house checks the repository's rules: imports, names, and references in documents.
//
// Guarantees:
//
//  1. Every package has exactly one row in the import table, with the reason for its imports.
//  2. A row or an allowance that matches nothing is an error.
//  3. Every cited sentence of docs/semantics.md (S2.3) exists.
//
// Read imports_test.go first.
package house
