// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names has the sub-commands by which a team asks about names: may, names, tree, who and why.
//
// It promises:
//
//	N1. Each question is asked with the rights of its caller. What these do not show is said in a line of its own,
//	    with the right that would show it.
//	N2. may exits with 1 where the answer is no, and why where a step fails; 2 is an error.
//	N3. why prints the first step that fails before all others.
//
// It decides nothing: may prints what the API server answers to a NameReview, and why what conditions and Deliveries
// say.
//
// Read names.go, then who.go, tree.go and why.go.
package names
