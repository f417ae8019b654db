// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applier is the sub-command to apply and delete Records together.
//
// Guarantees:
//
//	P1. All Records of a call change in a single transaction, or none does (S10.1).
//	P2. A call with more Records than the limit of a transaction is refused before anything is sent, and never split.
//	P3. A refusal names each refused Record with its file.
//
// Out of scope: the decision on a change set, which is the API's.
//
// Read applier.go.
package applier
