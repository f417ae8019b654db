// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applier is the sub-command to apply and delete Records together.
//
// Guarantees:
//
//	P1. All Records of a call change in a single transaction, or none (S10.1).
//	P2. A call with too many Records for a transaction is refused, never split.
//	P3. A refusal names each refused Record with its file.
//
// Out of scope: the decision on a change set.
//
// Read applier.go.
package applier
