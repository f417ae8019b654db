// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package house checks the repository's own rules: which package may import which, how packages and files
// are named, and that what the documents point at exists.
//
// It promises:
//  1. Every package of the module has exactly one row in the import table, with the reason for its arrows.
//  2. A row or an allowance that matches nothing fails, so the table cannot outlive what it describes.
//  3. Every sentence of docs/semantics.md that a file cites (S2.3) exists there.
//
// It does not know what the packages do; it reads their imports, names and comments only.
//
// Read imports_test.go first: its table is the only home of the import rules.
package house
