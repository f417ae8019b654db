// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history keeps the steps of zones longer than the journal does. A write of a Record stores the former Record
// as a state (state.go). In the background, steps move from the journal into compressed segments (segment.go, line.go)
// of an account (archive.go), within the account's share of etcd (share.go). A namespace has an account for its own
// steps, and another for the steps that each other namespace causes. Readers get the steps of a zone (read.go), or of a
// namespace's Records (own.go, descent.go), newest first.
//
// Guarantees:
//
//  1. A step is in the journal or a segment until its time or its account's share is over.
//  2. The state before a step is the Record at its last write, or names the missing parts.
//  3. A namespace's share pays for the steps that it causes: above the share, their oldest segments are condensed.
//  4. An answer gives the time since which no step is missing: for a namespace, of its own account.
//  5. No write waits for an archive, and no decision reads one.
//
// Read first: archive.go, share.go, own.go, descent.go, read.go, segment.go, line.go, state.go
package history
