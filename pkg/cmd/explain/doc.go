// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain prints the rules that messages cite.
//
// It promises:
//
//	X1. Each rule of docs/semantics.md is printed whole: why it is, and its examples.
//	X2. A number that no rule has is refused with the numbers of that section.
//
// It does not know what a rule means, and asks no server.
//
// Read explain.go.
package explain
