// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal reads and trims the journals of zones, which have the changes of a zone's content as steps
// (journal.go). It condenses the oldest steps of a held zone (condense.go), lists the RRsets of an ended zone
// (ended.go), and caches the journal values written by this server (made.go).
//
// Promises. (1) A journal has no gap: the oldest steps go first. (2) Steps since the delivered content, and steps
// that a Delivery has not confirmed, stay up to a bound of octets. Beyond it, the former are condensed. (3) No write
// waits for a trim.
//
// Out of scope: decisions, and the writing of steps, done by package commit in the transaction of the change.
//
// Read first: journal.go, then condense.go.
package journal
