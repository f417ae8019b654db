// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applier is the sub-command to apply and delete Records together.
//
// Guarantees:
//
//	P1. All Records of a call change in a single transaction, or none does (S10.1).
//	P2. More than the limit of a transaction is refused before anything is sent, and never split.
//	P3. A refusal names each refused Record with its file.
//
// Out of scope: how a change set is decided: the API does.
//
// Read applier.go.
package applier
