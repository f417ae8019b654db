// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names has sub-commands for questions about names: may, names, tree, and the search of Records.
//
// Guarantees:
//
//	N1. Requests have the rights of the user. If objects are hidden, a line names the missing right.
//	N2. The command may exits with code 1 if the answer is no, who and tree if nothing is found.
//
// Out of scope: decisions, which the API server makes (NameReview).
//
// Read names.go, then who.go and tree.go.
package names
