// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names has the sub-commands with questions of a team about names: may, names, tree, who and why.
//
// Guarantees:
//
//	N1. Requests have the rights of the user. A line reports hidden objects, with the missing right.
//	N2. may exits with 1 if the answer is no, and why if a step fails; 2 is an error.
//	N3. why prints the first failed step before all others.
//
// Out of scope: decisions. The command may prints a NameReview of the API server, and why conditions and Deliveries.
//
// Read names.go, then who.go, tree.go and why.go.
package names
