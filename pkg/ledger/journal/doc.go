// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal reads and trims the journals of zones. A journal has the recent steps (changes of content) of a zone,
// for servers with a copy of the zone.
//
//   - journal.go reads steps, and deletes old steps in the background.
//   - condense.go merges the oldest steps of a zone while name servers still have earlier content.
//   - ended.go lists the RRsets of a zone that has lost its name, for their removal from providers.
//
// Guarantees:
//
//  1. A journal has no gap: the oldest steps go first.
//  2. Steps since the delivered content, and steps not confirmed by a Delivery, stay up to a bound of octets. Beyond
//     the bound, steps since the delivered content are merged.
//  3. No write waits for a trim.
//
// Package commit writes the steps.
//
// Read first: journal.go, then condense.go.
package journal
