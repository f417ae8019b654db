// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replay prevents signed DNS messages from being applied twice if a client or an attacker repeats a message.
// The caller rejects expired signatures, and asks Memory.Begin whether a message is the first copy.
//
// Guarantees:
//
//  1. Copies of a message get the same answer. After an unknown outcome the next copy is applied.
//  2. A message is refused if a forgotten copy may have been applied: a message signed before Memory.AcceptsFrom (the
//     start of the process), or no later than a message whose answer was evicted for space.
//  3. Memory is limited, and a tenant evicts only its own answers.
package replay
