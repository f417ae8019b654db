// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replay prevents signed DNS messages from being applied twice.
//
// Guarantees: (1) Copies of a message get the same answer. After an unknown outcome the next copy is applied. (2) A
// message that may have been applied before is refused: it was signed before Memory.AcceptsFrom, or no later than a
// message whose answer was evicted. (3) Memory is bounded, and a tenant evicts only its own answers.
//
// Out of scope: messages and signatures. The caller rejects expired signatures.
//
// Read memory.go.
package replay
