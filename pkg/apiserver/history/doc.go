// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history answers zones/changes in the form history, and records/changes, from the ledger, finds the Records of
// entries for sources=true, and sends steps to a file or receiver.
//
// Guarantees:
//
//  1. An answer for a namespace has only steps made by its Records (S1.8), none from before the namespace's creation.
//  2. An answer reads a bounded number of zones and segments.
//  3. A Sender delays no write, and its memory is bounded. It counts lost steps.
//
// Out of scope: the rights of readers, and the form of the answer (package registry/zone).
//
// Read first: history.go, sources.go, sender.go.
package history
