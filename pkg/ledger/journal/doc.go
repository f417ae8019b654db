// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal bounds the journals of zones (journal.go), condenses the oldest steps of a held zone (condense.go),
// lists the RRsets of an ended zone (ended.go), and caches the journal values written by this server (made.go).
//
// Promises. (1) A journal has no gap: the oldest steps go first. (2) Steps since the delivered content, and steps
// that a Delivery has not confirmed, stay up to a bound of octets, and are condensed beyond. (3) No write waits for a
// trim.
//
// Out of scope: decisions, and writes no step: a step is part of the transaction that makes it true
// (package commit).
//
// Read first: journal.go, then condense.go.
package journal
