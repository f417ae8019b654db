// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain prints the rules that messages cite, the reasons of conditions, Warnings and Events, and the remedies
// of alerts.
//
// Guarantees:
//
//	X1. Each rule of docs/semantics.md is printed whole, with reason and examples.
//	X2. An unknown number is an error with the section's numbers, an unknown reason with similar reasons.
//	X3. Each reason of the API is explained, as in docs/reasons.md.
//	X4. Each alert is explained, as in docs/operations.md.
//
// Out of scope: the meaning of a rule.
//
// Read explain.go.
package explain
