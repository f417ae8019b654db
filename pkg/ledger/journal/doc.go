// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal reads and trims the journals of zones, with the changes of content as steps (journal.go). It
// condenses (merges) the oldest steps of a zone held by a mass deletion (condense.go), lists the RRsets of a zone
// without a name (ended.go), and caches values written by this server (made.go).
//
// Guarantees:
//
//  1. A journal has no gap: the oldest steps go first.
//  2. Steps since the delivered content, and steps not confirmed by a Delivery, stay up to a bound of octets; beyond
//     it, the former are condensed.
//  3. No write waits for a trim.
//
// Out of scope: decisions, and the writing of steps (package commit).
//
// Read first: journal.go, then condense.go.
package journal
