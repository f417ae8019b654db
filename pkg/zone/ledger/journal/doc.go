// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal reads and trims the journals of zones. A journal holds the recent steps (changes of content) of a
// zone, for servers with a copy of the zone.
//
// Guarantees:
//
//  1. A journal has no gap, because the oldest steps go first.
//  2. Steps since the delivered content, and steps not confirmed by a Delivery, stay up to a bound of octets. Beyond
//     the bound, steps since the delivered content are merged.
//  3. No write waits for a trim.
//
// Read first: journal.go, then condense.go.
package journal
