// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names has the sub-commands that answer a team's questions about names: may, names, tree, who and why.
//
// Guarantees:
//
//	N1. Requests have the rights of the user. If objects are hidden, a line names the missing right.
//	N2. may exits with 1 if the answer is no, why if a step fails. Exit code 2 is an error.
//	N3. why prints the first failed step before all others.
//
// Out of scope: decisions. may prints a NameReview of the API server, why prints conditions and Deliveries.
//
// Read names.go, then who.go, tree.go and why.go.
package names
