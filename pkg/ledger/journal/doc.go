// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal reads and trims the journals of zones. A journal has the changes of a zone's content as steps
// (journal.go). The package also condenses (merges) the oldest steps of a zone held by a mass deletion (condense.go),
// lists the RRsets of a zone that has lost its name (ended.go), and caches the journal values written by this server
// (made.go).
//
// Guarantees:
//
//  1. A journal has no gap: the oldest steps go first.
//  2. Steps since the delivered content, and steps not confirmed by a Delivery, stay up to a bound of octets. Beyond
//     the bound, steps since the delivered content are condensed.
//  3. No write waits for a trim.
//
// Out of scope: decisions, and the writing of steps, which package commit does in the transaction of the change.
//
// Read first: journal.go, then condense.go.
package journal
