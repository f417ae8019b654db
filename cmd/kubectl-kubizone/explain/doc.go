// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain is the command kubectl kubizone explain. It prints the text of a rule that a message cites, such as
// S4.8, the meaning of a reason in a condition, Warning or Event, such as NameHeld, or the remedy of an alert.
//
// Guarantees:
//
//	X1. A rule of docs/semantics.md is printed whole, with its reason and examples.
//	X2. For an unknown rule, the error lists the numbers in its section; for an unknown reason, similar reasons.
//	X3. Each reason of the API is explained.
//	X4. Each alert is explained.
package explain
