// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal keeps the journals of zones: which steps stay for how long (journal.go), the oldest steps of a zone
// that is held as one (condense.go), what an ended zone had (ended.go), and the transactions that this server has
// made itself (made.go).
//
// Promises. (1) A journal has no gap: the oldest steps go first. (2) Steps that some Delivery has not confirmed, and
// those since the content that is delivered, stay up to a bound of octets; then they are condensed. (3) No write
// waits for a trim.
//
// It does not know decisions, and writes no step: a step is part of the transaction that makes it true (package
// commit).
//
// Read first: journal.go, then condense.go.
package journal
