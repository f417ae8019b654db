// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names has sub-commands for questions about names: may, names, tree, and the search of Records.
//
// Guarantees:
//
//	N1. Requests have the rights of the user. If objects are hidden, a line names the missing right.
//	N2. The command may exits with code 1 if the answer is no, who and tree if nothing is found. Exit code 2 is an
//	    error.
//
// Out of scope: decisions. The command may prints a NameReview of the API server.
//
// Read names.go, then who.go and tree.go.
package names
