// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applier is the command kubectl kubizone apply. It creates, changes and deletes several Records of a zone by
// a ChangeSet, a request that the API server executes in a single transaction.
//
// Guarantees:
//
//	P1. All Records of a call change, or none (S10.1).
//	P2. A call with more than 100 changes is refused, never split.
//	P3. A refusal names each refused Record with its file.
package applier
