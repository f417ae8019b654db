// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain prints the rules that messages cite.
//
// Guarantees:
//
//	X1. Each rule of docs/semantics.md is printed whole, with reason and examples.
//	X2. An unknown number is an error with the numbers of the section.
//
// Out of scope: the meaning of a rule.
//
// Read explain.go.
package explain
