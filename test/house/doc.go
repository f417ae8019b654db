// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package house checks the repository's own rules: imports between packages, names of packages and files, and
// references in documents.
//
// It promises:
//  1. Every package of the module has exactly one row in the import table, with the reason for its arrows.
//  2. A row or an allowance that matches nothing fails, so the table cannot become stale.
//  3. Every sentence of docs/semantics.md that a file cites (S2.3) exists there.
//
// It does not know the code's behaviour; it reads only imports, names and comments.
//
// Read imports_test.go first: its table is the only home of the import rules.
package house
