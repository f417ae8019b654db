// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reasons looks up the reasons of conditions, Warnings and Events in docs/reasons.md.
//
// Guarantees:
//
//	R1. Each reason of the API has a meaning, the role that can mend it, and a next step.
//
// Out of scope: the text of rules (docs/semantics.md).
//
// Read reasons.go.
package reasons
